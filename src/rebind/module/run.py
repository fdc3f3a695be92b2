"""A training run that can go on after a kill: what `fit` keeps in a checkpoint, and takes from it."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .. import generators
from ..checkpoint import Checkpoint, Place
from ..errors import StateError

if TYPE_CHECKING:
    from .base_module import BaseModule

__all__ = ["Run", "optimizer_progress", "set_optimizer_progress"]


class Run:
    """The parts of a run, and the checkpoint that they are kept in.

    Parameters
    ----------
    checkpoint
        Where and when.
    module
        What is trained; it has parameters and an optimizer.
    train_data, eval_data
        The iterators.
    metric
        The training metric.
    history
        The figures of the epochs that are finished.
    callbacks
        All callbacks; those with `state_dict` and `load_state_dict` go on from theirs.
    num_epoch
        The number of epochs of the whole run.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        module: BaseModule,
        train_data: Any,
        eval_data: Any,
        metric: Any,
        history: dict[str, dict[str, list[float]]],
        callbacks: Sequence[Any],
        num_epoch: int,
    ) -> None:
        self.checkpoint = checkpoint
        self.module = module
        self.train_data, self.eval_data = train_data, eval_data
        self.metric, self.history = metric, history
        self.callbacks = [callback for callback in callbacks if hasattr(callback, "state_dict")]
        self.num_epoch = num_epoch
        # For an iterator that cannot tell its place: whether it was reset before this epoch, and how random numbers
        # stood before that.
        self._rest: Iterable[Any] | None = None  # what an iterator that was read up to the place has left
        self._epoch_start: dict[str, Any] = {"reset": False, "random": random_state()}

    # ---- keeping -----------------------------------------------------------------------------------------

    def keep(self, place: Place, *, stopped: bool = False) -> None:
        """Write the run as it stands, if it is due."""
        if stopped or self.checkpoint.is_due(place, self.num_epoch):
            path = self.checkpoint.save(place, self._state(stopped))
            self.module.logger.info('Saved the run to "%s"', path)

    def batches(self) -> Iterable[Any]:
        """Return the batches of the epoch that begins, or of the rest of the one in whose middle the run goes on."""
        rest, self._rest = self._rest, None
        return self.train_data if rest is None else rest

    def before_reset(self) -> None:
        """Note how random numbers stand before the training data begins anew."""
        self._epoch_start = {"reset": True, "random": random_state()}

    def _state(self, stopped: bool) -> dict[str, Any]:
        return {
            "network": _network(self.module._whole_symbol),
            "module": self.module.run_state(),
            "metric": self.metric.state_dict(),
            "history": self.history,
            "random": random_state(),
            "train_data": _place_in(self.train_data),
            "eval_data": _place_in(self.eval_data),
            "epoch_start": self._epoch_start,
            "callbacks": [callback.state_dict() for callback in self.callbacks],
            "stopped": stopped,
        }

    # ---- going on ----------------------------------------------------------------------------------------

    def restore(self) -> tuple[Place, bool] | None:
        """Go back to the newest whole checkpoint: the place, and whether the run was stopped there.

        None when there is no checkpoint.

        Raises
        ------
        StateError
            When the checkpoint is of another network or another set of callbacks.
        """
        found = self.checkpoint.newest()
        if found is None:
            return None
        place, state = found
        path = self.checkpoint.path(place)
        if state["network"] != _network(self.module._whole_symbol):
            raise StateError(
                f"fit: {path} is a run of another network. Give checkpoint another prefix, or remove the old files "
                f"({self.checkpoint.prefix}-*.run)."
            )
        if len(state["callbacks"]) != len(self.callbacks):
            raise StateError(
                f"fit: {path} is a run with {len(state['callbacks'])} callbacks that keep a state; got "
                f"{len(self.callbacks)}. Give the same callbacks, or checkpoint another prefix."
            )
        self.module.load_run_state(state["module"])
        self.metric.load_state_dict(state["metric"])
        self.history.clear()
        self.history.update(state["history"])
        for callback, kept in zip(self.callbacks, state["callbacks"], strict=True):
            callback.load_state_dict(kept)
        self._epoch_start = state["epoch_start"]
        self._go_to(self.train_data, state["train_data"], place.batch)
        if state["eval_data"] is not None and self.eval_data is not None:
            self.eval_data.load_state_dict(state["eval_data"])
        set_random_state(state["random"])
        self.module.logger.info('Going on from "%s"', path)
        return place, state["stopped"]

    def _go_to(self, data: Any, place: Any, batches: int) -> None:
        """Go to a place in the training data; what cannot go there is read up to it."""
        if place is not None:
            data.load_state_dict(place)
            return
        if not batches and not self._epoch_start["reset"]:
            return
        logging.warning(
            "fit: %s cannot tell its place in the data (it has no state_dict), so %d batches are read and left out. "
            "The run is the same only if its reset() gives the same batches for the same random numbers.",
            type(data).__name__,
            batches,
        )
        set_random_state(self._epoch_start["random"])
        if self._epoch_start["reset"] and hasattr(data, "reset"):
            data.reset()
        rest = iter(data)
        for _ in range(batches):
            next(rest)
        self._rest = rest


def _network(symbol: Any) -> str | None:
    """Return what a network computes as text; automatic names of its operators do not count."""
    if symbol is None:
        return None
    content = json.loads(symbol.tojson())
    for node in content["nodes"]:
        if node["op"] != "null":
            node.pop("name")
    return json.dumps(content)


def _place_in(data: Any) -> Any:
    """Return the place in an iterator's data; None when it cannot tell."""
    if data is None or not hasattr(data, "state_dict"):
        return None
    try:
        return data.state_dict()
    except NotImplementedError:
        return None


def random_state() -> dict[str, Any]:
    """Return the state of everything that random numbers come from."""
    return {
        "rebind": generators.state_dict(),
        "numpy": np.random.get_state(),
        "python": random.getstate(),
        "torch": torch.get_rng_state(),
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Go back to a state that `random_state` returned."""
    generators.load_state_dict(state["rebind"])
    np.random.set_state(state["numpy"])
    random.setstate(state["python"])
    torch.set_rng_state(state["torch"])


_NUMBERS = (bool, int, float, type(None))


def _is_progress(value: Any) -> bool:
    """Tell whether an attribute is numbers, or lists and dicts of numbers: what an optimizer counts and remembers."""
    if isinstance(value, dict):
        return all(isinstance(key, (str, int)) and _is_progress(each) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(_is_progress, value))
    return isinstance(value, (*_NUMBERS, np.generic))


def optimizer_progress(optimizer: Any) -> dict[str, Any]:
    """Return how far an optimizer has come: counts, its own running numbers, the schedule's."""
    schedule = getattr(optimizer, "lr_scheduler", None)
    return {
        "numbers": {name: value for name, value in vars(optimizer).items() if _is_progress(value)},
        "schedule": None
        if schedule is None
        else {name: value for name, value in vars(schedule).items() if _is_progress(value)},
    }


def set_optimizer_progress(optimizer: Any, progress: dict[str, Any]) -> None:
    """Let an optimizer go on from where `optimizer_progress` found it."""
    for name, value in progress["numbers"].items():
        old = getattr(optimizer, name, None)
        if isinstance(old, dict) and isinstance(value, dict):  # others may hold the very dict
            old.clear()
            old.update(value)
        else:
            setattr(optimizer, name, value)
    if progress["schedule"] is not None and getattr(optimizer, "lr_scheduler", None) is not None:
        vars(optimizer.lr_scheduler).update(progress["schedule"])
