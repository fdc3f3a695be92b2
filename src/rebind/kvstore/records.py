"""Arrays of any storage type on their way between processes: as records, which are those of files of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TypeVar, cast

import torch
from torch import Tensor

from ..device import cpu
from ..distributed import Job, Mesh, StagedExchange
from ..ndarray import NDArray
from ..ndarray.base import wrap
from ..ndarray.serialization import array_from_bytes, array_to_bytes
from ..ndarray.sparse.row_sparse import RowSparseStorage
from ..ndarray.storage import DenseStorage

__all__ = ["broadcast", "description", "from_record", "is_dense", "sum_over_workers", "to_record"]

Key = TypeVar("Key", bound="str | int")


def is_dense(array: NDArray) -> bool:
    """Return whether an array is dense, so that it can be cut, and its elements sent.

    >>> is_dense(NDArray(torch.ones(2)))
    True
    """
    return isinstance(array.storage, DenseStorage)


def description(array: NDArray) -> str:
    """Return what arrays of a key must have in common on all workers, as messages name it.

    >>> description(NDArray(torch.ones(2)))
    '(2,) torch.float32'
    """
    return f"{array.shape} {array.storage.dtype}{'' if is_dense(array) else f' {array.stype}'}"


def to_record(array: NDArray) -> Tensor:
    """Return the bytes of an array.

    >>> from_record(to_record(NDArray(torch.ones(2)))).asnumpy().tolist()
    [1.0, 1.0]
    """
    return torch.frombuffer(bytearray(array_to_bytes(array)), dtype=torch.uint8)


def from_record(record: Tensor) -> NDArray:
    """Return the array that `to_record` made bytes of."""
    return array_from_bytes(record.numpy().tobytes())


def broadcast(job: Job, what: str, array: NDArray) -> None:
    """Give all workers the values that worker 0 has in an array; all call it, with the same shape and storage type.

    >>> from rebind.distributed import current_job
    >>> broadcast(current_job(), "values", NDArray(torch.ones(2)))
    """
    if is_dense(array):
        job.broadcast(array.tensor)
        return
    storage = array.storage
    own = [each.contiguous() for each in storage.tensors.values()]
    shapes = job.exchange(what, [list(each.shape) for each in own])[0]  # storages differ
    if job.rank:
        own = [
            each.new_empty(shape) for each, shape in zip(own, cast("list[list[int]]", shapes), strict=True)
        ]
    for member in own:
        job.broadcast(member)
    if job.rank:
        array.exchange(type(storage).from_members(array.shape, own))


def sum_over_workers(job: Job, what: str, arrays: Mapping[Key, NDArray], tag: int) -> dict[Key, NDArray]:
    """Return the sums of arrays over the workers, which all call it with the same keys; all get the same sums.

    Parameters
    ----------
    job
        The workers.
    what
        What it is for, as errors say it.
    arrays
        This worker's.
    tag
        The first of two tags for the messages.

    Examples
    --------
    >>> from rebind.distributed import current_job
    >>> sum_over_workers(current_job(), "push", {"w": NDArray(torch.ones(2))}, 0)["w"].asnumpy().tolist()
    [1.0, 1.0]
    """
    if job.size == 1:
        return dict(arrays)
    records = [to_record(array) for array in arrays.values()]
    # How long they are is sent first: storages differ.
    lengths = torch.tensor([len(record) for record in records])
    all_lengths = _from_all(job, what, lengths, [len(records)] * job.size, tag)
    rows = _from_all(job, what, torch.cat(records), [int(each.sum()) for each in all_lengths], tag)
    # In the order of the workers, so that all have the same sum, to the last bit.
    by_worker = [row.split(of_worker.tolist()) for row, of_worker in zip(rows, all_lengths, strict=True)]
    return {
        key: _sum_in_order([from_record(record) for record in records]).as_in_context(own.context)
        for (key, own), records in zip(arrays.items(), zip(*by_worker, strict=True), strict=True)
    }


def _sum_in_order(arrays: Sequence[NDArray]) -> NDArray:
    """Return a sum that has the same bits in each run: on the CPU, and of rows at once, as each union sorts them."""
    storages = [each.storage for each in arrays if isinstance(each.storage, RowSparseStorage)]
    if len(storages) == len(arrays):
        data, indices = (torch.cat([each.tensors[name] for each in storages]) for name in ("data", "indices"))
        return wrap(RowSparseStorage(data, indices, arrays[0].shape).in_order(), cpu())
    total = arrays[0]
    for each in arrays[1:]:
        total.accumulate(each)
    return total


def _from_all(job: Job, what: str, own: Tensor, lengths: Sequence[int], tag: int) -> list[Tensor]:
    """Send a tensor to all other workers, and return those of all by rank, which have these lengths."""
    mesh = Mesh.over(job.machines)
    edges = [0, *accumulate(lengths[rank] for rank in mesh.ranks)]
    rows = own.new_empty(edges[-1])
    begin = edges[mesh.row(job.rank)]
    rows[begin : begin + len(own)] = own
    exchange = StagedExchange(job, mesh, edges, tag)
    exchange.begin_all_gather(rows)
    exchange.end_all_gather(what)
    by_rank = dict(zip(mesh.ranks, rows.split([lengths[rank] for rank in mesh.ranks]), strict=True))
    return [by_rank[rank] for rank in range(job.size)]
