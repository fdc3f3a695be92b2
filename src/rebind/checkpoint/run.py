"""`Checkpoint`: where and when a training run is saved, so that the same call resumes it after a kill."""

from __future__ import annotations

import glob
import os
import re
from typing import Literal, NamedTuple, TypeAlias, get_args

from ..checks import PATH, check_kind
from ..errors import ArgumentError, FormatError, ParameterError
from ..files import atomic_write
from ..logs import log
from ..protocols import StateTree
from .tree import read_tree, write_tree

__all__ = ["Checkpoint", "Position"]


#: What to do when a run is resumed with other settings.
OnChange: TypeAlias = Literal["keep", "use new", "error"]


class Position(NamedTuple):
    """How far a run is: the number of finished epochs, and of finished batches of the next.

    >>> Position(epoch=2, batch=0) > Position(1, 500)
    True
    """

    epoch: int
    batch: int


class Checkpoint:
    """Saves a training run in files, for ``fit(..., checkpoint=...)``.

    The same call of `fit` made again resumes exactly from the newest whole file: parameters, the optimizer's states and
    counts, the schedule, random generators, the position in the data, metric and history. A file appears whole or not
    at all; ``prefix-0003-000120.run`` is that after 3 epochs and 120 batches.

    Over several workers one file is that of all; worker 0 writes it when all have come there, and reads it, so that the
    machines of the others need not have the folder. As many workers resume exactly. Another number of workers resumes
    from the newest file between two epochs (which `keep` leaves in any case), with the same results and figures to
    rounding; each worker's data are then those that it is given. With `every_n_batches` a run over a job's store is
    therefore saved before its first batch too.

    Parameters
    ----------
    prefix
        Where the files go, and how their names begin; the folder must exist.
    every_n_batches
        Batches from one save to the next within an epoch; None to save only between epochs.
    every_n_epochs
        Epochs from one save to the next; None for none. The run is always saved after the last epoch.
    keep
        How many of the newest files to leave; None for all.
    on_change
        What to do when `fit` is called with other settings than those of the saved run; a table of setting, saved,
        given and used is logged. ``'keep'``: the optimizer's settings (learning rate, weight decay, schedule, ...)
        are those of the saved run, as an exact resume needs. ``'use new'``: they are those of this call; the weights,
        the optimizer's states and its counts are the saved ones, and a schedule gives the rates that it would have
        given from the start. ``'error'``: raise a StateError, but not for more epochs. The number of epochs, the
        data, the metric and `accumulate` are always those of the call. With other data an epoch that was begun begins
        again; that they are others is seen by shapes, types, the number of samples, and a hash of some of them
        (``content``, for arrays, lists of batches and tensors behind a loader). With another `accumulate` the gradients
        that wait for an update make one of their own.

    Examples
    --------
    >>> Checkpoint("digits", every_n_batches=500, keep=2)  # for fit(..., checkpoint=...)
    Checkpoint('digits', every_n_batches=500, every_n_epochs=1, keep=2, on_change='keep')
    """

    def __init__(
        self,
        prefix: str | os.PathLike[str],
        every_n_batches: int | None = None,
        every_n_epochs: int | None = 1,
        keep: int | None = 3,
        on_change: OnChange = "keep",
    ) -> None:
        for name, value in (
            ("every_n_batches", every_n_batches),
            ("every_n_epochs", every_n_epochs),
            ("keep", keep),
        ):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ParameterError(f"Checkpoint: {name} must be an int >= 1 or None; got {value!r}")
        if on_change not in get_args(OnChange):
            raise ParameterError(
                f"Checkpoint: on_change must be one of {', '.join(map(repr, get_args(OnChange)))}; got {on_change!r}"
            )
        check_kind("Checkpoint", PATH, prefix=prefix)
        self.prefix = os.fspath(prefix)
        self.on_change = on_change
        self.every_n_batches = every_n_batches
        self.every_n_epochs = every_n_epochs
        self.keep = keep

    @classmethod
    def of(cls, given: Checkpoint | str | os.PathLike[str]) -> Checkpoint:
        """Return `given` if it is a Checkpoint, else one with it as the prefix and all defaults.

        >>> Checkpoint.of("digits").keep
        3
        """
        if isinstance(given, Checkpoint):
            return given
        if isinstance(given, (str, os.PathLike)):
            return cls(given)
        raise ArgumentError(f"fit: checkpoint must be a path's prefix or a Checkpoint; got {given!r}")

    def __repr__(self) -> str:
        return (
            f"Checkpoint({self.prefix!r}, every_n_batches={self.every_n_batches}, "
            f"every_n_epochs={self.every_n_epochs}, keep={self.keep}, "
            f"on_change={self.on_change!r})"
        )

    def is_due(self, position: Position, last_epoch: int) -> bool:
        """Return whether to save at a position; `last_epoch` is the number of epochs of the whole run.

        >>> Checkpoint("digits", every_n_epochs=2).is_due(Position(3, 0), last_epoch=10)
        False
        """
        if position.batch:
            return self.every_n_batches is not None and position.batch % self.every_n_batches == 0
        # A finished run is saved, whatever the intervals.
        if position.epoch == last_epoch:
            return True
        return self.every_n_epochs is not None and position.epoch % self.every_n_epochs == 0

    def path(self, position: Position) -> str:
        """Return the name of the file of a position.

        >>> Checkpoint("digits").path(Position(3, 120))
        'digits-0003-000120.run'
        """
        return f"{self.prefix}-{position.epoch:04d}-{position.batch:06d}.run"

    def positions(self) -> list[Position]:
        """Return the positions of which there are files, the newest last.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoint = Checkpoint(f"{folder}/net")
        ...     for batch in 500, 0:
        ...         _ = checkpoint.save(Position(3, batch), {})
        ...     checkpoint.positions()
        [Position(epoch=3, batch=0), Position(epoch=3, batch=500)]
        """
        # glob also finds the files of longer prefixes, such as digits-big for digits.
        pattern = re.compile(re.escape(os.path.basename(self.prefix)) + r"-(\d{4,})-(\d{6,})\.run")
        found = []
        for path in glob.glob(glob.escape(self.prefix) + "-*.run"):
            match = pattern.fullmatch(os.path.basename(path))
            if match:
                found.append(Position(int(match[1]), int(match[2])))
        return sorted(found)

    def save(self, position: Position, state: StateTree, *, keep_epoch_start: bool = False) -> str:
        """Write the state of a run, then remove the oldest files beyond `keep`; return the file's name.

        With `keep_epoch_start` the newest file that is between two epochs is left in any case.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoint = Checkpoint(f"{folder}/net", keep=1)
        ...     for epoch in 1, 2:
        ...         _ = checkpoint.save(Position(epoch, 0), {"loss": 0.5})
        ...     os.listdir(folder)
        ['net-0002-000000.run']
        """
        path = self.path(position)
        with atomic_write(path) as file:
            write_tree(file, state)
        if self.keep is not None:  # only now that the new file is whole
            found = self.positions()
            between = [each for each in found if not each.batch] if keep_epoch_start else []
            for old in found[: -self.keep]:
                if old not in between[-1:]:
                    os.unlink(self.path(old))
        return path

    def newest(self, *, between_epochs: bool = False) -> tuple[Position, StateTree] | None:
        """Return the newest position whose file is whole, and its state; None when there is none.

        A damaged file is skipped with a warning in the log. With `between_epochs` those within an epoch do not count.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoint = Checkpoint(f"{folder}/net")
        ...     _ = checkpoint.save(Position(3, 0), {"loss": 0.5})
        ...     checkpoint.newest()
        (Position(epoch=3, batch=0), {'loss': 0.5})
        """
        for position in reversed(self.positions()):  # after a damaged file the one before will do
            if between_epochs and position.batch:
                continue
            try:
                return position, read_tree(self.path(position))
            except FormatError as error:
                log().warning("Checkpoint: skipped a damaged file. %s", error)
        return None
