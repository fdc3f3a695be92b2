"""`Exchange`: sums over the workers of which each gets its row, and rows that each worker gives to all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import torch
from torch import Tensor

from .job import Job, Transfer
from .mesh import Mesh

__all__ = ["Exchange", "StagedExchange", "add_in_order", "join_in_order"]


class Exchange(ABC):
    """Reduce-scatter and all-gather of arrays of one size, which are divided into a row for each worker.

    An array has no further axes, and the rows lie in it one after the other. One reduce-scatter and one all-gather can
    be under way at a time; all workers make the same calls.

    Attributes
    ----------
    size
        How many elements an array has.
    is_ordered
        Whether all workers must begin all such exchanges in the same order, so from one thread.
    """

    size: int
    is_ordered: bool

    @abstractmethod
    def begin_reduce_scatter(self, source: Tensor) -> None:
        """Begin to sum the arrays of all workers; `source` must stay as it is until the end."""

    @abstractmethod
    def end_reduce_scatter(self, what: str) -> Tensor:
        """Return this worker's row of the sum, the same bits in each run; the next sum is written into its memory.

        Parameters
        ----------
        what
            What it is for, as errors say it.
        """

    @abstractmethod
    def begin_all_gather(self, target: Tensor) -> None:
        """Begin to give all workers this one's row of `target`, and to receive theirs into the other rows."""

    @abstractmethod
    def end_all_gather(self, what: str) -> None:
        """Wait until all rows are there; `what` is said in errors."""


def add_in_order(rows: Sequence[Tensor], own: int) -> Tensor:
    """Return the sum of rows, in their order, so that it has the same bits in each run; all but `own` are written into.

    >>> add_in_order([torch.ones(2), torch.ones(2)], 0)
    tensor([2., 2.])
    """
    first, second, *rest = rows
    target = second if own == 0 else first  # the own one may be the user's gradient
    torch.add(first, second, out=target)
    for row in rest:
        target += row
    return target


def join_in_order(rows: Sequence[Tensor], own: int) -> Tensor:
    """Return rows in one array, for what cannot be added.

    >>> join_in_order([torch.ones(1, 2), torch.ones(1, 2)], 0).shape
    torch.Size([2, 2])
    """
    return torch.cat(list(rows))


@dataclass(frozen=True)
class _Stage:
    """What is exchanged along one dimension of the mesh: the rows that the dimensions before have left to the line.

    Attributes
    ----------
    line
        Who exchanges, this worker among them.
    bounds
        Where in the whole array the part of each in the line begins, and the end of the last.
    """

    line: Sequence[int]
    bounds: Sequence[int]

    def parts(self, array: Tensor) -> dict[int, Tensor]:
        """Return the part of each in the line, by worker, of an array of what is left; it may have several rows."""
        lengths = [end - begin for begin, end in pairwise(self.bounds)]
        return dict(zip(self.line, array.split(lengths, -1), strict=True))


class StagedExchange(Exchange):
    """Messages between the workers that are in line in a mesh, along one dimension after the other.

    Along a dimension of f workers each sends f - 1 messages, each of 1/f of what is left of the array. All dimensions
    together carry as many bytes as a single one would, in fewer messages: of 4 x 4 x 4 workers each sends 9 in place of
    63. With one dimension each worker sends to every other one.

    Parameters
    ----------
    job
        The workers.
    mesh
        Who is in line with whom. Rows are in the order of its `ranks`.
    edges
        Where each row begins, and the end of the last one.
    tag
        The first of two tags for the messages, which no other exchange has.
    combine
        Makes one array of those that the workers in a line have of the same rows, in the order of the line.

    Examples
    --------
    >>> from rebind.distributed import current_job
    >>> exchange = StagedExchange(current_job(), Mesh.line_of(1), [0, 3], tag=0)
    >>> exchange.begin_reduce_scatter(torch.ones(3))
    >>> exchange.end_reduce_scatter("example")
    tensor([1., 1., 1.])
    """

    is_ordered = False

    def __init__(
        self,
        job: Job,
        mesh: Mesh,
        edges: Sequence[int],
        tag: int,
        combine: Callable[[Sequence[Tensor], int], Tensor] = add_in_order,
    ) -> None:
        self.job, self.size = job, edges[-1]
        self._tag, self._combine = tag, combine
        self._stages = list(_stages(mesh, job.rank, edges))
        # For each stage what is received into: fresh memory in each step would cost as much as the sums.
        self._room: dict[_Stage, dict[int, Tensor]] = {}
        self._held = torch.empty(
            0
        )  # what this worker has of the sums so far; a row for each that is not added
        self._summing: list[_Stage] = []  # the stages of the reduce-scatter that have not ended
        self._target = torch.empty(0)
        self._gathering: list[_Stage] = []
        self._sums: Transfer | None = None  # that of the first stage in `_summing`
        self._rows: Transfer | None = None

    def begin_reduce_scatter(self, source: Tensor) -> None:
        """Send what the first line sums."""
        self._held, self._summing = source.view(1, -1), list(self._stages)
        self._send_sums()

    def _send_sums(self) -> None:
        if not self._summing:
            return
        stage = self._summing[0]
        outgoing = {rank: part.contiguous() for rank, part in stage.parts(self._held).items()}
        own = outgoing[self.job.rank]
        if (room := self._room.get(stage)) is None:
            room = self._room[stage] = {
                rank: torch.empty_like(own) for rank in stage.line if rank != self.job.rank
            }
        self._held = own
        self._sums = self.job.transfer(outgoing, room, self._tag)

    def end_reduce_scatter(self, what: str) -> Tensor:
        """Sum what has come, and send what the next line sums, until there is none."""
        while self._summing:
            stage = self._summing.pop(0)
            assert self._sums is not None
            self._sums.wait(what)
            rows = {**self._room[stage], self.job.rank: self._held}
            self._held = self._combine([rows[rank] for rank in stage.line], stage.line.index(self.job.rank))
            self._send_sums()
        return self._held.view(-1)

    def begin_all_gather(self, target: Tensor) -> None:
        """Send this worker's row along the last line."""
        self._target, self._gathering = target, self._stages[::-1]
        self._send_rows()

    def _send_rows(self) -> None:
        if not self._gathering:
            return
        stage = self._gathering[0]
        parts = stage.parts(self._target[stage.bounds[0] : stage.bounds[-1]])
        own = dict.fromkeys(stage.line, parts[self.job.rank])
        self._rows = self.job.transfer(own, parts, self._tag + 1)

    def end_all_gather(self, what: str) -> None:
        """Receive rows, and send all of them along the line before, until there is none."""
        while self._gathering:
            assert self._rows is not None
            self._rows.wait(what)
            self._gathering.pop(0)
            self._send_rows()


def _stages(mesh: Mesh, rank: int, edges: Sequence[int]) -> Iterator[_Stage]:
    """Yield the stages of a reduce-scatter for one worker."""
    first, row = 0, mesh.row(rank)
    for dimension, size in enumerate(mesh.sizes):
        length = prod(mesh.sizes[dimension + 1 :])  # of a part, in rows
        if size > 1:
            bounds = tuple(edges[first + i * length] for i in range(size + 1))
            yield _Stage(mesh.line(rank, dimension), bounds)
        first += (row - first) // length * length
