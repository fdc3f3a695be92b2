"""Random numbers: a generator for each device, all seeded by one call."""

from __future__ import annotations

import threading
from typing import Literal, TypedDict

import torch

from .device import Device, as_device, current_device, parse_device
from .errors import ArgumentError
from .forks import held_while_forking

__all__ = ["GeneratorsState", "generator", "load_state_dict", "seed", "state_dict", "step_seed"]


class GeneratorsState(TypedDict):
    """What `state_dict` returns: the seed of generators that are not in use yet, and the states of the others."""

    seed: int
    generators: list[tuple[str, torch.Tensor]]


_lock = held_while_forking(threading.Lock())
_generators: dict[Device, torch.Generator] = {}
_base_seed = 0  # MXNet's own default: a process that never calls seed() draws the same numbers each time


def generator(device: Device | None = None) -> torch.Generator:
    """Return the generator of `device` (default: the current one).

    >>> import rebind as mx
    >>> generator(mx.cpu(0)) is generator(mx.cpu(0)), generator(mx.cpu(0)) is generator(mx.cpu(1))
    (True, False)
    """
    device = device or current_device()
    found = _generators.get(device)
    if found is None:
        with _lock:
            # Two threads may both arrive here, and must get the same generator.
            found = _generators.setdefault(device, torch.Generator(device.torch))
            found.manual_seed(_seed_for(device))
    return found


def step_seed(device: Device | None = None) -> torch.Tensor:
    """Return a seed for one step of compiled code: an int64 tensor without axes, on the CPU.

    It is drawn from the device's generator, so that `seed`, or the state of a run that is resumed, determines it.

    >>> seed(1)
    >>> first = step_seed()
    >>> seed(1)
    >>> bool(first == step_seed())
    True
    """
    drawn = torch.randint(2**62, (), generator=generator(device), device=generator(device).device)
    return drawn.cpu()


def seed(seed_state: int, ctx: Device | Literal["all"] = "all") -> None:
    """Seed the generators of all devices, or of one.

    With ``'all'`` devices of one kind get different sequences (as in MXNet), and so do devices that are used for
    the first time later. The global generators of torch and NumPy are left as they are.

    Parameters
    ----------
    seed_state
        Any int.
    ctx
        ``'all'`` or a device.

    Examples
    --------
    >>> import rebind as mx
    >>> seed(3)
    >>> first = mx.nd.random.uniform(shape=2).asnumpy()
    >>> seed(3)
    >>> bool((mx.nd.random.uniform(shape=2).asnumpy() == first).all())
    True
    """
    global _base_seed
    if isinstance(seed_state, bool) or not hasattr(seed_state, "__index__"):
        raise ArgumentError(f"random.seed: seed_state must be an int; got {seed_state!r}")
    value = int(seed_state)
    if ctx == "all":
        with _lock:
            _base_seed = value
            for device, found in _generators.items():
                found.manual_seed(_seed_for(device))
    else:
        generator(as_device(ctx, "random.seed: ctx")).manual_seed(value & 0x7FFF_FFFF_FFFF_FFFF)


def _seed_for(device: Device) -> int:
    # Each device of a kind gets its own sequence: the step is 2**32 divided by the golden ratio. torch takes seeds of
    # 63 bits, which must not be negative.
    return (_base_seed + device.device_id * 0x9E37_79B9) & 0x7FFF_FFFF_FFFF_FFFF


def state_dict() -> GeneratorsState:
    """Return the state of all generators, for `load_state_dict`.

    >>> sorted(state_dict())
    ['generators', 'seed']
    """
    with _lock:
        states = [(str(device), found.get_state()) for device, found in _generators.items()]
    return {"seed": _base_seed, "generators": states}


def load_state_dict(state: GeneratorsState) -> None:
    """Restore a state that `state_dict` returned; generators that were not in use then are seeded again.

    >>> import rebind as mx
    >>> state = state_dict()
    >>> first = mx.nd.random.uniform(shape=2).asnumpy()
    >>> load_state_dict(state)
    >>> bool((mx.nd.random.uniform(shape=2).asnumpy() == first).all())
    True
    """
    global _base_seed
    _base_seed = state["seed"]
    with _lock:
        for device, found in _generators.items():
            found.manual_seed(_seed_for(device))
    for name, saved in state["generators"]:
        generator(parse_device(name)).set_state(saved)
