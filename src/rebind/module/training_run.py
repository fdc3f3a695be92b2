"""A training run that can resume after a kill: what `fit` saves in a checkpoint, and restores from it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypedDict, cast

import numpy as np
import numpy.typing as npt
import torch

from .. import generators
from ..checkpoint import Position, SharedCheckpoint
from ..errors import StateError
from ..logs import log, resolve
from ..metric import EvalMetric
from ..protocols import Batch, DataSource, StateTree, is_resumable
from ..symbol import Symbol
from .batches import once, rewind
from .jobs import job_of
from .run_settings import (
    BATCH,
    DATA,
    RUN,
    Change,
    Settings,
    changes,
    restore_given,
    settings_of,
    state_form,
    table,
)
from .settings import FitSettings
from .steps import Steps

__all__ = ["History", "TrainingRun"]

#: ``{'train': {metric: [value of each epoch]}, 'validation': {...}}``
History: TypeAlias = dict[str, dict[str, list[float]]]


NumpyState: TypeAlias = tuple[str, npt.NDArray[np.uint32], int, int, float]


class RandomState(TypedDict):
    """The state of everything that random numbers come from."""

    rebind: generators.GeneratorsState
    numpy: NumpyState
    python: tuple[object, ...]
    torch: torch.Tensor


class EpochStart(TypedDict):
    """How an epoch began, for resuming a data source without a state."""

    reset: bool
    random: RandomState


class RunState(TypedDict):
    """The content of a run's file."""

    network: str | list[str] | None
    module: StateTree
    metric: dict[str, object]
    history: History
    random: RandomState
    train_data: StateTree | None
    eval_data: StateTree | None
    epoch_start: EpochStart
    callbacks: list[StateTree]
    stopped: bool
    settings: Settings  # not in files of before 0.2, as little as the next
    waiting: int
    stores: list[StateTree]  # likewise
    symbols: list[str]  # likewise; the networks with all names, for reports


class TrainingRun:
    """Everything that a run consists of, and the checkpoint that it is saved in.

    Over several workers all make the same calls: what each has is in one file, which worker 0 writes and reads.

    Parameters
    ----------
    settings
        The arguments of `fit`, with a checkpoint: where and when to save.
    module
        What is trained; it has parameters and an optimizer.
    metric
        The training metric.
    history
        The figures of the epochs that are finished.

    Examples
    --------
    >>> import tempfile, rebind as mx
    >>> from rebind.checkpoint import Checkpoint
    >>> module, data = mx.mod.PythonLossModule(), mx.io.NDArrayIter(mx.nd.ones((4, 1)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     settings = FitSettings(train_data=data, num_epoch=3, checkpoint=Checkpoint(f"{folder}/net"))
    ...     run = TrainingRun(settings, module, mx.metric.create("mse"), {})
    ...     run.save(Position(epoch=1, batch=0))
    ...     run.restore()
    (Position(epoch=1, batch=0), False)
    """

    def __init__(self, settings: FitSettings, module: Steps, metric: EvalMetric, history: History) -> None:
        assert settings.checkpoint is not None
        self.checkpoint = checkpoint = settings.checkpoint
        job = job_of(module.stores())
        #: Whether the store is one of a job, which may go on with another number of workers.
        self._elastic = any(store.capabilities.spans_processes for store in module.stores())
        self._shared = SharedCheckpoint(checkpoint, job, elastic=self._elastic)
        self._is_new = True  # until `restore` has found where it was
        self._speaks = job is None or job.rank == 0  # for all
        self.module = module
        self.train_data, self.eval_data = settings.train_data, settings.eval_data
        self.metric, self.history = metric, history
        #: Those that have a state, which is saved and restored.
        self.callbacks = [callback for callback in settings.callbacks.all() if is_resumable(callback)]
        self.last_epoch = settings.last_epoch
        #: How many batches' gradients were summed but not used when the run was saved; and whether `accumulate` has
        #: changed since, so that they are to make an update of their own.
        self.waiting, self.regroups = 0, False
        self._settings = settings_of(
            module,
            settings.train_data,
            metric,
            num_epoch=settings.last_epoch,
            accumulate=settings.accumulate,
            workers=1 if job is None else job.size,
            update_every=min((store.update_every for store in module.stores()), default=1),
        )
        self._rest: Iterable[Batch] | None = None  # of the epoch in which the run resumes
        # For an iterator without a state: whether it was reset before this epoch, and the random state before that.
        self._epoch_start: EpochStart = {"reset": False, "random": random_state()}

    def save(self, position: Position, *, stopped: bool = False, waiting: int = 0) -> None:
        """Write the run as it is, if a checkpoint is due; `waiting` batches' gradients are summed but not used."""
        if stopped or self.checkpoint.is_due(position, self.last_epoch):
            self._write(position, stopped, waiting)

    def save_start(self, position: Position) -> None:
        """Write a new run of a job as it begins, if it is to be saved within its epochs.

        Another number of workers resumes between two epochs only: without this file it had none for the first one.
        """
        if self._is_new and self._elastic and self.checkpoint.every_n_batches is not None:
            self._write(position, stopped=False, waiting=0)

    def _write(self, position: Position, stopped: bool, waiting: int) -> None:
        path = self._shared.save(position, self._state(stopped, waiting))
        if self._speaks:
            resolve(self.module.logger).info('Saved the run to "%s"', path)

    def batches(self) -> Iterable[Batch]:
        """Return the batches of the epoch that begins, or the rest of the one in which the run resumes."""
        rest, self._rest = self._rest, None
        return self.train_data if rest is None else rest

    def before_reset(self) -> None:
        """Save the random state in which the training data starts over, for a source without a state."""
        # A source without a state is brought back by resetting it from this very state.
        self._epoch_start = {"reset": True, "random": random_state()}

    def _state(self, stopped: bool, waiting: int) -> RunState:
        return {
            "network": _networks(self.module.networks),
            "module": self.module.run_state(),
            "metric": self.metric.state_dict(),
            "history": self.history,
            "random": random_state(),
            "train_data": _state_of(self.train_data),
            "eval_data": _state_of(self.eval_data),
            "epoch_start": self._epoch_start,
            "callbacks": [callback.state_dict() for callback in self.callbacks],
            "stopped": stopped,
            "settings": self._settings,
            "waiting": waiting,
            "stores": [store.state_dict() for store in self.module.stores()],
            "symbols": [network.tojson() for network in self.module.networks],
        }

    def restore(self) -> tuple[Position, bool] | None:
        """Restore the newest whole checkpoint: return its position, and whether the run was stopped there.

        None when there is no checkpoint.

        Raises
        ------
        StateError
            When the checkpoint is of another network or another set of callbacks.
        """
        self._shared.agree()
        found = self._shared.newest()
        if found is None:
            return None
        self._is_new = False
        position, state = found.position, cast(RunState, found.state)
        path = self.checkpoint.path(position)
        if state["network"] != _networks(self.module.networks):
            raise StateError(
                f"fit: {path} is a run of another network. Give checkpoint another prefix, or remove the old files "
                f"({self.checkpoint.prefix}-*.run)."
            )
        # Callbacks have no names, so that their states are restored by their order.
        if len(state["callbacks"]) != len(self.callbacks):
            raise StateError(
                f"fit: {path} is a run with {len(state['callbacks'])} callbacks that have a state; got "
                f"{len(self.callbacks)}. Give the same callbacks, or checkpoint another prefix."
            )
        found_changes = self._compare(path, state.get("settings"))
        changed = {change.name for change in found_changes}
        self._load_module(path, state["module"], self._given_names(found_changes, changed))
        self._settings |= {change.name: change.value for change in found_changes}
        position = self._take_position(position, state, found_changes)
        if "eval_metric" not in changed:
            self.metric.load_state_dict(state["metric"])
        self.history.clear()  # in place: it is the dict that the training loop fills
        self.history.update(state["history"])
        for callback, saved in zip(self.callbacks, state["callbacks"], strict=True):
            callback.load_state_dict(saved)
        self._epoch_start = state["epoch_start"]
        if not changed & set(DATA):
            self._resume_data(state["train_data"], position.batch)
        if state["eval_data"] is not None and is_resumable(self.eval_data):
            self.eval_data.load_state_dict(state["eval_data"])
        if found.is_own:  # another worker's would draw the very numbers that it draws
            for store, saved in zip(self.module.stores(), state.get("stores", ()), strict=False):
                store.load_state_dict(saved)
            self.module.pull_weights()  # those of this worker, where it has its own
            set_random_state(state["random"])  # last, because resuming the data may have drawn numbers
        if self._speaks:
            self._log_position(path, position)
        return position, state["stopped"]

    def _log_position(self, path: str, position: Position) -> None:
        resolve(self.module.logger).info('Resuming from "%s"', path)
        if position.epoch > self.last_epoch or (position.epoch == self.last_epoch and position.batch):
            resolve(self.module.logger).warning(
                "fit: num_epoch=%d is less than the %d epochs that %s has done, so nothing is trained",
                self.last_epoch,
                position.epoch,
                path,
            )

    def _take_position(self, position: Position, state: RunState, found: Sequence[Change]) -> Position:
        """Return where the run resumes, with the gradients that wait there; other data have no such batch."""
        saved = next((change.saved for change in found if change.name == "accumulate"), None)
        per_update = self.module.batches_per_update if saved is None else cast(int, saved)
        self.waiting, self.regroups = state.get("waiting", position.batch % per_update), saved is not None
        if not position.batch or not {change.name for change in found} & set(DATA):
            if self.waiting and self.regroups and self._speaks:
                resolve(self.module.logger).warning(
                    "fit: accumulate has changed, so the gradients of the %d batches since the last update make one of "
                    "their own",
                    self.waiting,
                )
            return position
        if self.waiting:
            self.module.clear_gradients()  # sums of other batches
            self.waiting = 0
        if self._speaks:
            resolve(self.module.logger).warning(
                "fit: the data differ from those of the saved run, so epoch %d starts over, of which %d batches were "
                "done",
                *position,
            )
        return Position(position.epoch, 0)

    def _compare(self, path: str, saved: Settings | None) -> list[Change]:
        """Return what differs from the settings of the saved run, and log it as a table."""
        if saved is None:  # an older file
            return []
        for name, given in self._settings.items():
            if name.endswith("optimizer") and name in saved and saved[name] != given:
                raise StateError(
                    f"fit: {path} is a run with the optimizer {saved[name]}; got {given}, which cannot use its "
                    "states. Give the same optimizer, or checkpoint another prefix."
                )
        found = changes(saved, self._settings, use_new=self.checkpoint.on_change == "use new")
        if all(change.name == "num_epoch" and self.last_epoch > cast(int, change.saved) for change in found):
            return found  # to train for longer is no change of what was done
        text = f"{path} was saved with other settings:\n{table(found)}"
        if self.checkpoint.on_change == "error":
            raise StateError(
                f"fit: {text}\nGive the same, or Checkpoint(..., on_change='keep' or 'use new')."
            )
        retained = any(change.used == "saved" for change in found)
        hint = "\nTo use the given ones: Checkpoint(..., on_change='use new')." if retained else ""
        if self._speaks:
            resolve(self.module.logger).warning("fit: %s%s", text, hint)
        return found

    def _load_module(self, path: str, state: StateTree, given: set[str]) -> None:
        """Load the module's state, and set the settings that are those of this call."""
        form = state_form(self.module)
        self.module.load_run_state(state)
        if given and state_form(self.module) != form:
            raise StateError(
                f"fit: the states of the optimizer in {path} must fit its settings; the given ones "
                f"({', '.join(sorted(given - {*RUN, 'rescale_grad'}))}) need other states. Give those of the saved "
                "run, or checkpoint another prefix."
            )
        restore_given(self.module, given)

    def _given_names(self, found: Sequence[Change], changed: set[str]) -> set[str]:
        """Return the settings of optimizers that are those of this call."""
        names = {change.name for change in found if change.used == "given"}
        # The gradients' scale follows from the size of the batches, which are those of this call.
        if changed & set(BATCH):
            names |= {name for name in self._settings if name.endswith("rescale_grad")}
        return names

    def _resume_data(self, state: StateTree | None, batches: int) -> None:
        """Resume the training data after this many batches; a source without a state is read up to there."""
        data = self.train_data
        if state is not None and is_resumable(data):
            data.load_state_dict(state)
            return
        if not batches and not self._epoch_start["reset"]:  # nothing was read yet: a new source is the same
            return
        log().warning(
            "fit: %s has no state_dict, so the run resumes by reading and discarding %d batches. "
            "It is the same run only if reset() yields the same batches for the same random numbers.",
            type(data).__name__,
            batches,
        )
        # As when the epoch began: reset() may draw the order of the samples.
        set_random_state(self._epoch_start["random"])
        if self._epoch_start["reset"]:
            rewind(data)
        rest = once(data)
        for _ in range(batches):
            next(rest, None)  # one of several workers may have had fewer
        self._rest = rest


def _networks(symbols: Sequence[Symbol]) -> str | list[str] | None:
    """Return as text what networks compute: a string for one, None for none."""
    texts = [_text_of(symbol) for symbol in symbols]
    return texts if len(texts) > 1 else texts[0] if texts else None


def _text_of(symbol: Symbol) -> str:
    """Return what a network computes as text; automatic names of its operators do not count."""
    content = json.loads(symbol.tojson())
    for node in content["nodes"]:
        if node["op"] != "null":
            node.pop("name")
    return json.dumps(content)


def _state_of(data: DataSource | None) -> StateTree | None:
    """Return the state of a data source; None when it has none."""
    if not is_resumable(data):
        return None
    try:
        return data.state_dict()
    except NotImplementedError:  # every io.DataIter has the method, but not every one knows its position
        return None


def random_state() -> RandomState:
    """Return the state of everything that random numbers come from."""
    return {
        "rebind": generators.state_dict(),
        "numpy": cast(NumpyState, np.random.get_state()),
        "python": random.getstate(),
        "torch": torch.get_rng_state(),
    }


def set_random_state(state: RandomState) -> None:
    """Restore a state that `random_state` returned."""
    generators.load_state_dict(state["rebind"])
    np.random.set_state(state["numpy"])
    random.setstate(state["python"])
    torch.set_rng_state(state["torch"])
