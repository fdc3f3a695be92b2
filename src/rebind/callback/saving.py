"""Callbacks that save checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..checkpoint import save_checkpoint, states_path
from ..checks import NUMBER, Kind, check_kind, check_numbers
from ..protocols import ArrayDict
from ..symbol import Symbol
from .hooks import EpochRecord
from .records import EpochEnd
from .shared import ALONE, SharedRun, shared_run

__all__ = ["ALONE", "EpochEndFunction", "do_checkpoint", "module_checkpoint", "writes_or_assists"]


class SavesCheckpoints(Protocol):
    """A module that can be saved."""

    def save_checkpoint(self, prefix: str, epoch: int, *, save_optimizer_states: bool = False) -> None:
        """Write the network, the parameters and, if asked, the optimizer's states."""

    def save_optimizer_states(self, fname: str) -> None:
        """Write the optimizer's states."""


class EpochEndFunction:
    """A function for the end of an epoch; a member of `callbacks` too."""

    def __init__(
        self, function: EpochEnd, prefix: str, assist: Callable[[int], object] | None = None
    ) -> None:
        self.function = function
        #: Called with the epoch's number instead of the function, on workers that leave the files to another one.
        self.assist = assist
        #: Where its files go.
        self.writes_to = prefix
        self.slots = ("epoch_end_callback",)
        self.__qualname__ = function.__qualname__  # type: ignore[attr-defined]  # for messages

    def __call__(
        self,
        epoch: int,
        symbol: Symbol | None = None,
        arg_params: ArrayDict | None = None,
        aux_params: ArrayDict | None = None,
    ) -> object:
        """Call the function."""
        return self.function(epoch, symbol, arg_params or {}, aux_params or {})

    def on_epoch_end(self, record: EpochRecord) -> None:
        """Call the function with a module's parameters."""
        if writes_or_assists(shared_run(record.module), self, record.epoch):
            self(record.epoch, record.module.symbol, *record.module.get_params())


def writes_or_assists(run: SharedRun, callback: object, epoch: int) -> bool:
    """Return whether this worker is to call an epoch callback; if another one writes its files, assist that.

    >>> writes_or_assists(ALONE, print, epoch=0)
    True
    """
    path = getattr(callback, "writes_to", None)
    if not isinstance(path, str) or run.writes(path):
        return True
    assist = getattr(callback, "assist", None)
    if assist is not None:
        assist(epoch)
    return False


def do_checkpoint(prefix: str, period: int = 1) -> EpochEnd:
    """Return an epoch callback that saves a checkpoint every `period` epochs.

    Parameters
    ----------
    prefix
        Where the files go, and how their names begin.
    period
        Epochs from one checkpoint to the next.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     callback = do_checkpoint(f"{folder}/net", period=2)  # fit(..., epoch_end_callback=callback)
    ...     for epoch in range(3):
    ...         callback(epoch, None, {}, {})
    ...     os.listdir(folder)
    ['net-0002.params']
    """
    check_numbers("do_checkpoint", period=period)
    check_kind("do_checkpoint", NUMBER, period=period)
    period = max(1, int(period))

    # Epochs count from 0; a file has the number of finished epochs, which is `begin_epoch` to continue.
    def save(epoch: int, symbol: Symbol | None, arg_params: ArrayDict, aux_params: ArrayDict) -> None:
        if (epoch + 1) % period == 0:
            save_checkpoint(prefix, epoch + 1, symbol, arg_params, aux_params)

    return EpochEndFunction(save, prefix)


_MODULE = Kind("a module, with save_checkpoint()", lambda value: hasattr(value, "save_checkpoint"))


def module_checkpoint(
    mod: SavesCheckpoints, prefix: str, period: int = 1, save_optimizer_states: bool = False
) -> EpochEnd:
    """Return an epoch callback that saves a module every `period` epochs.

    Parameters
    ----------
    mod
        The module, which has `save_checkpoint`.
    prefix
        Where the files go, and how their names begin.
    period
        Epochs from one checkpoint to the next.
    save_optimizer_states
        Whether to save the optimizer's states too.

    Examples
    --------
    >>> class Saved:
    ...     def save_checkpoint(self, prefix, epoch, save_optimizer_states):
    ...         print(f"saved {prefix}, epoch {epoch}")
    >>> callback = module_checkpoint(Saved(), "digits", period=2)  # fit(..., epoch_end_callback=callback)
    >>> for epoch in range(3):
    ...     callback(epoch, None, {}, {})
    saved digits, epoch 2
    """
    check_numbers("module_checkpoint", period=period)
    check_kind("module_checkpoint", NUMBER, period=period)
    check_kind("module_checkpoint", _MODULE, mod=mod)
    period = max(1, int(period))

    def save(
        epoch: int,
        symbol: Symbol | None = None,
        arg_params: ArrayDict | None = None,
        aux_params: ArrayDict | None = None,
    ) -> None:
        if (epoch + 1) % period == 0:
            mod.save_checkpoint(prefix, epoch + 1, save_optimizer_states=save_optimizer_states)

    def assist(epoch: int) -> None:
        if save_optimizer_states and (epoch + 1) % period == 0:  # each worker has a share of them
            mod.save_optimizer_states(states_path(prefix, epoch + 1))

    return EpochEndFunction(save, prefix, assist)
