"""Optimizers as plain data, to be sent to servers as JSON: the name of the class, and its attributes.

A pickle would run what it names; here a class is one that is registered, and attributes are numbers, texts, arrays, and
lists and dicts of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Mapping
from types import SimpleNamespace
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import torch

from .. import dtypes, lr_scheduler
from ..errors import ArgumentError, NameLookupError, near_names
from ..lr_scheduler import LRScheduler
from ..ndarray import NDArray
from ..registry import Registry
from .base import Optimizer, optimizers

__all__ = ["Plain", "add_counts", "counts_of", "from_plain", "settings_of", "to_plain"]

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"

_WHO = "KVStore.set_optimizer"
#: The counts that are in use: one of the dicts in `_all_index_update_counts`.
_COUNTS = "_index_update_count"
_ALL_COUNTS = "_all_index_update_counts"


@runtime_checkable
class StandsFor(Protocol):
    """An optimizer around another one, which servers update with; `SVRGModule` has such."""

    @property
    def default_opt(self) -> Optimizer:
        """The optimizer of the weights."""


def to_plain(optimizer: Optimizer) -> dict[str, Plain]:
    """Return an optimizer as data that can be written as JSON.

    Raises
    ------
    ArgumentError
        When the class is not registered, or an attribute is of another kind than those above.

    Examples
    --------
    >>> from rebind.optimizer import create
    >>> plain = to_plain(create("sgd", learning_rate=0.5))
    >>> plain["class"], plain["attributes"]["lr"]
    ('SGD', 0.5)
    """
    if isinstance(optimizer, StandsFor):
        optimizer = optimizer.default_opt
    kind = type(optimizer)
    if not any(optimizers[name] is kind for name in optimizers):
        raise ArgumentError(
            f"{_WHO}: the class of the optimizer must be registered, so that the servers find it; got "
            f"{kind.__qualname__}. Decorate it with mx.optimizer.register."
        )
    attributes = {name: value for name, value in vars(optimizer).items() if name != _COUNTS}
    return _object(optimizer, attributes)


def settings_of(optimizer: Optimizer) -> dict[str, Plain]:
    """Return the settings that are single numbers or texts, which a program may change while it trains.

    >>> from rebind.optimizer import create
    >>> settings_of(create("sgd", learning_rate=0.5))["lr"]
    0.5
    """
    if isinstance(optimizer, StandsFor):
        optimizer = optimizer.default_opt
    return {
        name: value
        for name, value in vars(optimizer).items()
        if isinstance(value, (bool, int, float, str)) and name not in ("num_update", "rescale_grad")
    }


def from_plain(plain: Mapping[str, Plain]) -> Optimizer:
    """Return the optimizer that `to_plain` described.

    Raises
    ------
    NameLookupError
        When its class is not known in this process, nor in a module of that name.

    Examples
    --------
    >>> from rebind.optimizer import create
    >>> made = from_plain(to_plain(create("adam", beta1=0.5, param_idx2name={0: "w_weight"})))
    >>> made.beta1, made.idx2name
    (0.5, {0: 'w_weight'})
    """
    kind = _class_of(plain, optimizers, "optimizer")
    optimizer = object.__new__(kind)
    attributes = _decode_attributes(plain)
    vars(optimizer).update(attributes)
    counts = attributes.get(_ALL_COUNTS)
    if isinstance(counts, dict):
        vars(optimizer)[_COUNTS] = counts.setdefault(0, {})
    return optimizer


def counts_of(optimizer: Optimizer) -> tuple[dict[Hashable, int], int]:
    """Return how often an optimizer has updated each weight, and how often any of them: schedules go by the latter.

    >>> from rebind.optimizer import create
    >>> made = create("sgd")
    >>> _ = made.rates(["w"])
    >>> counts_of(made)
    ({'w': 1}, 1)
    """
    return dict(getattr(optimizer, _COUNTS)), optimizer.num_update


def add_counts(
    optimizer: Optimizer, counts: Mapping[Hashable, int], num_update: int, *, start_over: bool = False
) -> None:
    """Let an optimizer have these counts, and its own of other weights too unless it is to start over.

    >>> from rebind.optimizer import create
    >>> made = create("sgd")
    >>> add_counts(made, {"w": 3}, 3)
    >>> counts_of(made)
    ({'w': 3}, 3)
    """
    in_use = getattr(optimizer, _COUNTS)  # the optimizer holds this dict under two names
    if start_over:
        in_use.clear()
        optimizer.num_update = 0
    in_use.update(counts)
    optimizer.num_update = max(optimizer.num_update, num_update)


# Writing.


def _object(value: object, attributes: Mapping[str, object]) -> dict[str, Plain]:
    kind = type(value)
    return {
        "class": _name_of(kind),
        "module": kind.__module__,
        "attributes": {
            name: _encode(each, f"{kind.__name__}.{name}")
            for name, each in attributes.items()
            if not name.startswith("__")
        },
    }


def _name_of(kind: type) -> str:
    """Return the name under which a class is registered; that of the class itself if it is one of them."""
    names = [name for name in optimizers if optimizers[name] is kind]
    return kind.__name__ if not names or kind.__name__.lower() in names else names[0]


def _encode(value: object, who: str) -> Plain:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list):
        return [_encode(each, who) for each in value]
    if isinstance(value, (tuple, set, frozenset)):
        return {
            "set" if isinstance(value, (set, frozenset)) else "tuple": [_encode(each, who) for each in value]
        }
    if isinstance(value, Mapping):
        return {"dict": [[_encode(key, who), _encode(each, who)] for key, each in value.items()]}
    if isinstance(value, (NDArray, torch.Tensor, np.ndarray)):
        return _encode_array(value)
    if isinstance(value, LRScheduler):
        return {"schedule": _object(value, vars(value))}
    if hasattr(value, "lr_mult") and hasattr(value, "wd_mult"):  # of `param_dict`
        return {"multipliers": [float(value.lr_mult), float(value.wd_mult)]}
    raise ArgumentError(
        f"{_WHO}: {who} must be a number, a text, an array, a schedule of learning rates, or lists or dicts of them, "
        f"to be sent to the servers; got {type(value).__name__}. Without server processes (-s 0) each worker updates a "
        "part of the weights itself, and any optimizer works."
    )


def _encode_array(value: NDArray | torch.Tensor | np.ndarray) -> Plain:
    if isinstance(value, NDArray):
        return {"array": ["nd", *_pieces(value.tensor)]}
    if isinstance(value, torch.Tensor):
        return {"array": ["torch", *_pieces(value)]}
    return {"array": ["numpy", *_pieces(torch.from_numpy(value))]}


def _pieces(tensor: torch.Tensor) -> list[Plain]:
    return [dtypes.name(tensor.dtype), list(tensor.shape), tensor.detach().cpu().view(-1).tolist()]


# Reading.

_SCHEDULES: Registry[type[LRScheduler]] = Registry("schedule of learning rates")
for _schedule in lr_scheduler.__all__:
    _SCHEDULES.register(_schedule)(getattr(lr_scheduler, _schedule))


def _class_of(plain: Mapping[str, Plain], known: Registry[type[Optimizer]], what: str) -> type[Optimizer]:
    name, module = str(plain["class"]), str(plain["module"])
    if not _is_known(name, module, known) and module != "__main__":
        # Registered when its module is imported; who sent the name is a worker of this job.
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise NameLookupError(
                f"{_WHO}: the server must be able to import the module of the {what} {name!r}; got {error}"
            ) from None
    if _is_known(name, module, known):
        return known[name]
    raise NameLookupError(
        f"{_WHO}: the server must know the {what} {name!r} of the module {module}{near_names(name.lower(), known)} "
        "Put it into a module of its own, which the servers can import, or start no servers (-s 0): then each worker "
        "updates a part of the weights itself."
    )


def _is_known(name: str, module: str, known: Registry[type[Optimizer]]) -> bool:
    # A script may register another class under a name in use: that one is meant, not ours.
    return name in known and known[name].__module__ == module


def _decode_attributes(plain: Mapping[str, Plain]) -> dict[str, object]:
    attributes = plain["attributes"]
    assert isinstance(attributes, dict)
    return {name: _decode(each) for name, each in attributes.items()}


def _decode(value: Plain) -> object:
    if isinstance(value, list):
        return [_decode(each) for each in value]
    if isinstance(value, dict):
        ((kind, content),) = value.items()
        return _DECODERS[kind](content)
    return value


def _decode_schedule(content: dict[str, Plain]) -> LRScheduler:
    name, module = str(content["class"]), str(content["module"])
    kind = _SCHEDULES[name] if name in _SCHEDULES else _schedule_of_a_module(name, module)
    schedule = object.__new__(kind)
    vars(schedule).update(_decode_attributes(content))
    return schedule


def _schedule_of_a_module(name: str, module: str) -> type[LRScheduler]:
    # Schedules of a user's own are not registered anywhere: they are found in their module.
    try:
        found = None if module == "__main__" else getattr(importlib.import_module(module), name, None)
    except ImportError:
        found = None
    if not (isinstance(found, type) and issubclass(found, LRScheduler)):
        raise NameLookupError(
            f"{_WHO}: the server knows no schedule of learning rates {name!r}. It is defined in {module}: put it into "
            "a module of its own, which the servers can import, or start no servers (-s 0)."
        )
    return found


def _decode_array(content: list) -> object:
    kind, dtype, shape, values = content
    tensor = torch.tensor(values, dtype=dtypes.torch_dtype(dtype)).view(shape)
    if kind == "nd":
        return NDArray(tensor)
    return tensor.numpy() if kind == "numpy" else tensor


_DECODERS: dict[str, Callable[..., object]] = {
    "tuple": lambda content: tuple(map(_decode, content)),
    "set": lambda content: set(map(_decode, content)),
    "dict": lambda content: {_decode(key): _decode(each) for key, each in content},
    "array": _decode_array,
    "schedule": _decode_schedule,
    "multipliers": lambda content: SimpleNamespace(lr_mult=content[0], wd_mult=content[1]),
}
