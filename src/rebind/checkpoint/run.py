"""`Checkpoint`: where and when a training run is kept, so that the same call goes on after a kill."""

from __future__ import annotations

import glob
import logging
import os
import re
from typing import Any, NamedTuple

from ..errors import ArgumentError, FormatError, ParameterError
from ..files import atomic_write
from .tree import read_tree, write_tree

__all__ = ["Checkpoint", "Place"]


class Place(NamedTuple):
    """Where a run stands: so many epochs are finished, and so many batches of the next."""

    epoch: int
    batch: int


class Checkpoint:
    """Keeps a training run in files, for ``fit(..., checkpoint=...)``.

    The same call of `fit` made again goes on exactly where the newest whole file stands: parameters, the optimizer's
    states and counts, the schedule, random generators, the place in the data, metric and history. A file appears whole
    or not at all; ``prefix-0003-000120.run`` is that after 3 epochs and 120 batches.

    Parameters
    ----------
    prefix
        Where the files go, and how their names begin; the folder must exist.
    every_n_batches
        Keep the run every so many batches of an epoch; None for not within epochs.
    every_n_epochs
        Keep the run every so many epochs; None for not at their ends. The last epoch is always kept.
    keep
        How many of the newest files stay; None for all.

    Examples
    --------
    >>> checkpoint = Checkpoint("digits", every_n_batches=500, keep=2)  # fit(..., checkpoint=checkpoint)
    """

    def __init__(
        self,
        prefix: str | os.PathLike[str],
        every_n_batches: int | None = None,
        every_n_epochs: int | None = 1,
        keep: int | None = 3,
    ) -> None:
        for name, value in (
            ("every_n_batches", every_n_batches),
            ("every_n_epochs", every_n_epochs),
            ("keep", keep),
        ):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ParameterError(f"Checkpoint: {name} must be an int >= 1 or None; got {value!r}")
        self.prefix = os.fspath(prefix)
        self.every_n_batches = every_n_batches
        self.every_n_epochs = every_n_epochs
        self.keep = keep

    @classmethod
    def of(cls, given: Any) -> Checkpoint:
        """Return `given` if it is a Checkpoint, else one with it as the prefix and all defaults."""
        if isinstance(given, Checkpoint):
            return given
        if isinstance(given, (str, os.PathLike)):
            return cls(given)
        raise ArgumentError(f"fit: checkpoint must be a path's prefix or a Checkpoint; got {given!r}")

    def __repr__(self) -> str:
        return (
            f"Checkpoint({self.prefix!r}, every_n_batches={self.every_n_batches}, "
            f"every_n_epochs={self.every_n_epochs}, keep={self.keep})"
        )

    # ---- when --------------------------------------------------------------------------------------------

    def is_due(self, place: Place, last_epoch: int) -> bool:
        """Tell whether the run is to be kept at a place; `last_epoch` is the number of epochs of the whole run."""
        if place.batch:
            return self.every_n_batches is not None and place.batch % self.every_n_batches == 0
        if place.epoch == last_epoch:
            return True
        return self.every_n_epochs is not None and place.epoch % self.every_n_epochs == 0

    # ---- files -------------------------------------------------------------------------------------------

    def path(self, place: Place) -> str:
        """Return the name of the file of a place.

        >>> Checkpoint("digits").path(Place(3, 120))
        'digits-0003-000120.run'
        """
        return f"{self.prefix}-{place.epoch:04d}-{place.batch:06d}.run"

    def places(self) -> list[Place]:
        """Return the places that there are files of, the newest last."""
        pattern = re.compile(re.escape(os.path.basename(self.prefix)) + r"-(\d{4,})-(\d{6,})\.run")
        found = []
        for path in glob.glob(glob.escape(self.prefix) + "-*.run"):
            match = pattern.fullmatch(os.path.basename(path))
            if match:
                found.append(Place(int(match[1]), int(match[2])))
        return sorted(found)

    def save(self, place: Place, state: Any) -> str:
        """Write the state of a run; then remove the oldest files beyond `keep`. Returns the file's name."""
        path = self.path(place)
        with atomic_write(path) as file:
            write_tree(file, state)
        if self.keep is not None:
            for old in self.places()[: -self.keep]:
                os.unlink(self.path(old))
        return path

    def newest(self) -> tuple[Place, Any] | None:
        """Return the newest place whose file is whole, and its state; None when there is none.

        A file that is damaged is passed over with a warning in the log.
        """
        for place in reversed(self.places()):
            try:
                return place, read_tree(self.path(place))
            except FormatError as error:
                logging.warning("Checkpoint: passed over a file. %s", error)
        return None
