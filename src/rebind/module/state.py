"""What a `Module` needs to go on: arrays of all devices, the optimizer's states and counts, as a tree to keep.

States and counts are kept by the name of their parameter, so that a run goes on on another number of devices too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import optimizer as opt
from ..errors import StateError
from ..ndarray import NDArray
from .run import optimizer_progress, set_optimizer_progress

if TYPE_CHECKING:
    from .module import Module

__all__ = ["arrays_state", "in_use_updater", "load_arrays_state", "load_run_state", "run_state"]

_COUNTS = ("_index_update_count", "_all_index_update_counts")


def run_state(module: Module) -> dict[str, Any]:
    """Return all that training needs to go on."""
    optimizer = module._need_optimizer("run_state()")
    updater = in_use_updater(module)
    states, counts = dict(updater.states), dict(getattr(optimizer, _COUNTS[0], {}))
    by_name = {
        name: {
            "states": [states.pop(i) for i in indices if i in states],
            "counts": [counts.pop(i) for i in indices if i in counts],
        }
        for name, indices in _indices(module).items()
    }
    progress = optimizer_progress(optimizer)
    for name in _COUNTS:
        progress["numbers"].pop(name, None)
    return {
        **arrays_state(module),
        "gradients": _held_gradients(module),
        "optimizer": progress,
        "parameters": by_name,
        "other states": states,
        "other counts": counts,
        "loss scale": None if module._loss_scaler is None else module._loss_scaler.state_dict(),
    }


def load_run_state(module: Module, state: Mapping[str, Any]) -> None:
    """Go on from what `run_state` returned; the module is bound alike and has an optimizer of the same kind."""
    optimizer = module._need_optimizer("load_run_state()")
    load_arrays_state(module, state)
    _hold_gradients(module, state["gradients"])
    module._give_weights_to_store()
    set_optimizer_progress(optimizer, state["optimizer"])
    states, counts = dict(state["other states"]), dict(state["other counts"])
    for name, indices in _indices(module).items():
        kept = state["parameters"].get(name, {"states": [], "counts": []})
        states.update(_for_each(indices, kept["states"]))
        counts.update(_for_each(indices, kept["counts"]))
    updater = in_use_updater(module)
    updater.states, updater.states_synced = states, {}
    in_use = getattr(optimizer, _COUNTS[0], None)
    if in_use is not None:  # a dict that the optimizer may hold in two places
        in_use.clear()
        in_use.update(counts)
    if module._loss_scaler is not None and state["loss scale"] is not None:
        module._loss_scaler.load_state_dict(state["loss scale"])


def _for_each(indices: Sequence[Any], kept: Sequence[Any]) -> dict[Any, Any]:
    """Return what each index goes on with: its own, or on another number of devices the first one's."""
    if not kept:
        return {}
    return {i: kept[k] if len(kept) == len(indices) else _copied(kept[0]) for k, i in enumerate(indices)}


def _copied(state: Any) -> Any:
    """Return a state in memory of its own."""
    if isinstance(state, NDArray):
        return state.copy()
    return type(state)(map(_copied, state)) if isinstance(state, (list, tuple)) else state


def _indices(module: Module) -> dict[str, list[Any]]:
    """Return, for each parameter, the keys that what updates knows it by: one, or one for each device."""
    if module._update_on_kvstore:
        return {name: [name] for name in module._param_names}
    devices = range(len(module._context))
    return {name: [i + k for k in devices] for name, i in module._indices.items()}


def in_use_updater(module: Module) -> opt.Updater:
    """Return what updates the parameters: the module's own updater, or the store's."""
    store = module._kvstore
    updater = store._updater if module._update_on_kvstore and store is not None else module._updater
    if not isinstance(updater, opt.Updater):
        raise StateError(f"Module: only a run that an Updater updates can be kept; got {updater!r}")
    return updater


# ---- arrays --------------------------------------------------------------------------------------------------


def arrays_state(module: Module) -> dict[str, Any]:
    """Return the arrays of all devices: parameters, auxiliary states, states."""
    group = module._need_group("arrays_state()")
    return {
        "args": {
            name: arrays[0] for name, arrays in zip(module._param_names, group.param_arrays, strict=True)
        },
        "aux": {name: list(arrays) for name, arrays in zip(module._aux_names, group.aux_arrays, strict=True)},
        "states": [list(arrays) for arrays in group.state_arrays],
    }


def load_arrays_state(module: Module, state: Mapping[str, Any]) -> None:
    """Take arrays that `arrays_state` returned; the module is bound alike, and has parameters then.

    On another number of devices each gets the mean of the auxiliary states, as at the end of an epoch.
    """
    group = module._need_group("load_arrays_state()")
    args = {name: [value] for name, value in state["args"].items()}
    for names, arrays, kept in (
        (module._param_names, group.param_arrays, args),
        (module._aux_names, group.aux_arrays, state["aux"]),
    ):
        for name, targets in zip(names, arrays, strict=True):
            sources = kept[name]
            if len(sources) not in (1, len(targets)):
                sources = [sum(sources[1:], sources[0]) / len(sources)]
            for k, target in enumerate(targets):
                target._write(_value(sources[k if len(sources) > 1 else 0], target))
    for targets, sources in zip(group.state_arrays, state["states"], strict=True):
        if len(sources) != len(targets):
            raise StateError(
                f"Module.load_run_state: states of {len(sources)} devices cannot go on on {len(targets)}; bind to as "
                "many, or set_states()"
            )
        for target, source in zip(targets, sources, strict=True):
            target._write(_value(source, target))
    module._has_params = True


def _value(source: NDArray, target: NDArray) -> Any:
    return source._tensor.to(target._tensor.device)


# ---- gradients that wait for an update -----------------------------------------------------------------------


def _held_gradients(module: Module) -> list[list[NDArray | None]] | None:
    """Return the gradients that are being added up over several batches; None where none are."""
    group = module._need_group("gradients")
    return None if module.batches_per_update == 1 else group.grad_arrays


def _hold_gradients(module: Module, kept: Sequence[Sequence[Any]] | None) -> None:
    group = module._need_group("gradients")
    for targets, sources in zip(group.grad_arrays or (), kept or (), strict=False):
        if len(targets) != len(sources) and sources[0] is not None:  # what counts is their sum
            total = sum(sources[1:], sources[0])
            sources = [total, *[total * 0 for _ in targets[1:]]]
        for target, source in zip(targets, sources, strict=True):
            if target is not None and source is not None:
                target._write(_value(source, target))
