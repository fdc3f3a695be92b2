"""`SharedCheckpoint`: one file for all workers of a job, which worker 0 writes and reads."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import NamedTuple, cast

from ..distributed import JSON, Job, first_does, from_first, gather_bytes, scatter_bytes
from ..logs import log
from ..protocols import StateTree
from .differences import Difference, difference, digests, patched, shared_part
from .run import Checkpoint, Position
from .tree import read_tree, write_tree

__all__ = ["SavedRun", "SharedCheckpoint"]

#: Where a file has what the other workers' states differ in from that of worker 0.
_OTHERS = "workers"


class SavedRun(NamedTuple):
    """What a worker resumes from.

    Attributes
    ----------
    position
        How far the run is.
    state
        This worker's.
    workers
        How many workers saved the run.
    is_own
        Whether the worker of this number was among them, so that the state is its own.
    """

    position: Position
    state: StateTree
    workers: int
    is_own: bool


class SharedCheckpoint:
    """A `Checkpoint` of a job: a file has the state of worker 0, and what those of the others differ in.

    All workers must call its methods. Worker 0 writes and reads the files, so that machines need not share a file
    system; what it reads goes to the others, so that all resume from the same file.

    Parameters
    ----------
    checkpoint
        Where and when to save; worker 0's prefix counts.
    job
        The workers; None for a run of one.
    elastic
        Whether another number of workers may resume the run, which needs the newest file between two epochs.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shared = SharedCheckpoint(Checkpoint(f"{folder}/net"), None)
    ...     _ = shared.save(Position(3, 0), {"loss": 0.5})
    ...     shared.newest()
    SavedRun(position=Position(epoch=3, batch=0), state={'loss': 0.5}, workers=1, is_own=True)
    """

    def __init__(self, checkpoint: Checkpoint, job: Job | None, *, elastic: bool = False) -> None:
        self.checkpoint = checkpoint
        self.job = job if job is not None and job.size > 1 else None
        self.elastic = elastic

    def agree(self) -> None:
        """Check that all workers save at the same times."""
        if self.job is not None:
            given = self.checkpoint
            self.job.agree(
                "fit",
                "checkpoint",
                {
                    "every_n_batches": given.every_n_batches,
                    "every_n_epochs": given.every_n_epochs,
                    "on_change": given.on_change,
                },
            )

    def save(self, position: Position, state: StateTree) -> str:
        """Write the states of all workers, when all have come here; return the file's name."""
        if self.job is None:
            return self.checkpoint.save(position, state, keep_epoch_start=self.elastic)
        what = "fit, saving the run"
        first = self.job.rank == 0
        described = self.job.exchange(what, digests(state) if first else None)[0]
        change = None if first else difference(state, described)
        others = gather_bytes(self.job, what, b"" if first else _to_bytes(change))
        if first:
            state = {**state, _OTHERS: [_from_bytes(content) for content in others[1:]]}
        first_does(
            self.job, what, lambda: self.checkpoint.save(position, state, keep_epoch_start=self.elastic)
        )
        return self.checkpoint.path(position)

    def newest(self) -> SavedRun | None:
        """Return the newest run whose file is whole; None when there is none.

        On another number of workers than the run was saved with, it is the newest that is between two epochs, if there
        is one: within an epoch each worker was somewhere in its part of the data, and the parts are now others.
        """
        job = self.job
        if job is None:
            alone = self._read(1)
            return None if alone is None else alone._replace(state=_without_others(alone.state))
        found: list[SavedRun | None] = [None]
        what = "fit, resuming the run"
        first_does(job, what, lambda: found.append(self._read(job.size)))
        return _handed_out(job, what, found[-1])

    def _read(self, workers: int) -> SavedRun | None:
        """Return the newest run; its state is that of worker 0, with what the others' differ in."""
        found = _saved(self.checkpoint.newest())
        if found is None or found.workers == workers or not found.position.batch:
            return found
        whole = _saved(self.checkpoint.newest(between_epochs=True))
        if whole is None:
            return found
        log().warning(
            'Checkpoint: "%s" was saved by %d workers within an epoch; on %d the run resumes from "%s"',
            self.checkpoint.path(found.position),
            found.workers,
            workers,
            self.checkpoint.path(whole.position),
        )
        return whole


def _handed_out(job: Job, what: str, found: SavedRun | None) -> SavedRun | None:
    """Return what worker 0 has found, with this worker's state; all must call it."""
    position: JSON = None if found is None else [*found.position, found.workers]
    answer = job.exchange(what, position)[0]
    if answer is None:
        return None
    epoch, batch, workers = cast(list[int], answer)
    common: bytes | None = None
    changes: list[bytes] | None = None
    state: object = None
    if found is not None:
        state, known = _without_others(found.state), _others_of(found.state)
        # A worker that was not there begins with what another one than worker 0 had, which has all states.
        another: list[Difference] = [known[0] if known else None] * (job.size - workers)
        others = [*known[: job.size - 1], *another]
        common = _to_bytes(shared_part(state, others))
        changes = [b"", *map(_to_bytes, others)]
    content = from_first(job, what, common)
    own = scatter_bytes(job, what, changes)
    if found is None:
        state = patched(_from_bytes(content), _from_bytes(own))
    return SavedRun(Position(epoch, batch), cast(StateTree, state), workers, job.rank < workers)


def _saved(found: tuple[Position, StateTree] | None) -> SavedRun | None:
    if found is None:
        return None
    return SavedRun(*found, workers=1 + len(_others_of(found[1])), is_own=True)


def _others_of(state: StateTree) -> Sequence[Difference]:
    return cast("Sequence[Difference]", state.get(_OTHERS, ()))


def _without_others(state: StateTree) -> StateTree:
    return {name: each for name, each in state.items() if name != _OTHERS}


def _to_bytes(tree: object) -> bytes:
    file = io.BytesIO()
    write_tree(file, tree)
    return file.getvalue()


def _from_bytes(content: bytes) -> Difference:
    return cast(Difference, read_tree(io.BytesIO(content)))
