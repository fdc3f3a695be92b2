"""The optimizer's states, from all servers to a worker and back."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import cast

from ..distributed import JSON
from ..ndarray import NDArray
from ..optimizer import Optimizer
from ..optimizer.arrays import StoredState
from ..optimizer.plain import counts_of
from .base import Key
from .plan import PushPlan
from .servers import Servers
from .state_forms import Form, build_state, form_of, join_states, part_of, tensors_of

__all__ = ["gather_states", "give_states"]


def gather_states(
    servers: Servers, who: str, plans: Sequence[PushPlan], values: Mapping[Key, NDArray]
) -> dict[Hashable, StoredState]:
    """Return the states of keys, whole again where a key is in parts.

    Parameters
    ----------
    servers
        Where they are.
    who
        What it is for, as errors say it.
    plans
        Which server has which part of which key.
    values
        The keys' values.
    """
    parts: dict[Key, list[StoredState]] = {}
    for plan in plans:
        found = servers.ask(who, plan.server, {"do": "states", "keys": list(plan.keys)})
        arrays = iter(found.arrays)
        for key, form in cast("list[tuple[Key, Form]]", found.header["states"]):
            parts.setdefault(key, []).append(build_state(form, arrays))
    return {key: join_states(each, values[key].shape, key) for key, each in parts.items()}


def give_states(
    servers: Servers,
    who: str,
    plans: Sequence[PushPlan],
    values: Mapping[Key, NDArray],
    states: Mapping[Hashable, StoredState],
    optimizer: Optimizer,
) -> None:
    """Let the servers continue with these states, and with the counts of updates that an optimizer has.

    Parameters
    ----------
    servers, who, plans, values
        As in `gather_states`.
    states
        By key; servers forget all others.
    optimizer
        Whose counts they are to have.
    """
    counts, num_update = counts_of(optimizer)
    listed: list[JSON] = [[cast(Key, key), count] for key, count in counts.items()]
    servers.ask_all(who, {"do": "progress", "counts": listed, "num_update": num_update})
    for plan in plans:
        own = {
            key: part_of(states[key], values[key].shape, *bounds)
            for key, bounds in zip(plan.keys, plan.parts, strict=True)
            if key in states
        }
        forms: list[JSON] = [[key, form_of(state)] for key, state in own.items()]
        arrays = [each.cpu().contiguous() for state in own.values() for each in tensors_of(state)]
        servers.ask(who, plan.server, {"do": "set states", "states": forms}, arrays)
