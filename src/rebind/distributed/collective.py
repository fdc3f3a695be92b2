"""`CollectiveExchange`: PyTorch's own reduce-scatter and all-gather; `Exchanges` chooses between these and messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from ..tuning import current
from .exchange import Exchange, StagedExchange, add_in_order, join_in_order
from .job import Job, Transfer
from .mesh import Mesh

__all__ = ["CollectiveExchange", "Exchanges"]


class CollectiveExchange(Exchange):
    """One collective for the gradients and one for the weights, by what the backend knows of its network.

    Rows are equal, and in the order of the ranks.

    Parameters
    ----------
    job
        The workers.
    length
        How many elements a row has.

    Examples
    --------
    >>> from rebind.distributed import current_job
    >>> exchange = CollectiveExchange(current_job(), 3)
    >>> exchange.begin_reduce_scatter(torch.ones(3))
    >>> exchange.end_reduce_scatter("example")
    tensor([1., 1., 1.])
    """

    is_ordered = True

    def __init__(self, job: Job, length: int) -> None:
        self.job, self.size, self._length = job, length * job.size, length
        self._row = torch.empty(0)  # of the sum: the same memory in each step
        self._sums: Transfer | None = None
        self._rows: Transfer | None = None

    def begin_reduce_scatter(self, source: Tensor) -> None:
        """Begin the collective."""
        if self.job.size == 1:
            self._row = source
            return
        if self._row.dtype != source.dtype or self._row.numel() != self._length:
            self._row = source.new_empty(self._length)
        self._sums = self.job.reduce_scatter(self._row, source)

    def end_reduce_scatter(self, what: str) -> Tensor:
        """Wait for the collective."""
        if self._sums is not None:
            self._sums.wait(what)
        return self._row

    def begin_all_gather(self, target: Tensor) -> None:
        """Begin the collective."""
        if self.job.size > 1:
            own = self.job.rank * self._length
            self._rows = self.job.all_gather(target, target[own : own + self._length])

    def end_all_gather(self, what: str) -> None:
        """Wait for the collective."""
        if self._rows is not None:
            self._rows.wait(what)


class Exchanges:
    """Makes the exchanges of a job, by the table `Tuning.exchange_forms`.

    All workers make the same ones in the same order.

    Parameters
    ----------
    job
        The workers.
    devices
        Where the arrays are.
    first_tag
        The first of the tags for messages, two for each exchange.

    Attributes
    ----------
    mesh
        Who sends to whom. Rows are in the order of its `ranks`.
    passes_on
        Whether workers send on what they have received, which they do while they wait for the end of an exchange.

    Examples
    --------
    >>> from rebind.distributed import current_job
    >>> exchanges = Exchanges(current_job(), ["cpu"], first_tag=0)
    >>> type(exchanges.of_sums([0, 3], "cpu")).__name__
    'StagedExchange'
    """

    def __init__(self, job: Job, devices: Iterable[str], first_tag: int) -> None:
        self._job, self._next_tag = job, first_tag
        # A collective's rows are in the order of the ranks.
        is_free = not any(map(self._is_collective, devices))
        self.mesh = Mesh.over(job.machines) if is_free else Mesh.line_of(job.size)
        self.passes_on = len(self.mesh.sizes) > 1

    def _is_collective(self, device: str) -> bool:
        return dict(current().exchange_forms).get(self._job.backend_for(device)) == "collective"

    def of_sums(self, edges: Sequence[int], device: str) -> Exchange:
        """Return an exchange of arrays on a device, whose rows begin at `edges`.

        A collective takes equal rows, of which the last may be padded; there are others where a key is not cut.
        """
        length, size = edges[1], edges[-1]
        is_even = all(edge == min(i * length, size) for i, edge in enumerate(edges))
        if is_even and self._is_collective(device):
            return CollectiveExchange(self._job, length)
        return self._of_messages(edges, add_in_order)

    def of_bytes(self, edges: Sequence[int]) -> Exchange:
        """Return an exchange whose rows are not added, but joined."""
        return self._of_messages(edges, join_in_order)

    def _of_messages(self, edges: Sequence[int], combine: Callable[..., Tensor]) -> Exchange:
        tag, self._next_tag = self._next_tag, self._next_tag + 2
        return StagedExchange(self._job, self.mesh, edges, tag, combine)
