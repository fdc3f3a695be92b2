"""Which rows of row_sparse values are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..errors import ArgumentError, ParameterError
from ..ndarray import NDArray

__all__ = ["distinct_rows", "ids_of_each_key"]


def ids_of_each_key(key: object, row_ids: Any, outs: Sequence[Sequence[NDArray]]) -> list[list[NDArray]]:
    """Return the row ids for each array to write into, by key.

    Parameters
    ----------
    key
        A key, or a list of them.
    row_ids
        For one key an array of ids, for all arrays to write into, or a list with one for each of these; for a list of
        keys a list with either for each key.
    outs
        The arrays to write into, by key.

    Examples
    --------
    >>> import rebind as mx
    >>> ids, out = mx.nd.array([3, 1]), mx.nd.zeros((4, 1))
    >>> [len(each) for each in ids_of_each_key("w", ids, [[out, out]])]
    [2]
    """
    several = isinstance(key, (list, tuple))
    by_key = row_ids if several else [row_ids]
    if not isinstance(by_key, (list, tuple)) or len(by_key) != len(outs):
        raise ArgumentError(
            f"KVStore.row_sparse_pull: a list of {len(outs)} keys needs as many row_ids; got {row_ids!r}"
        )
    return [_ids_of_each(ids, len(arrays)) for ids, arrays in zip(by_key, outs, strict=True)]


def _ids_of_each(ids: object, count: int) -> list[NDArray]:
    """Return the row ids for each of `count` arrays of a key."""
    given = [ids] * count if isinstance(ids, NDArray) else ids
    if not isinstance(given, (list, tuple)) or not all(isinstance(each, NDArray) for each in given):
        raise ArgumentError(
            f"KVStore.row_sparse_pull: row_ids must be an NDArray or a list of them; got {ids!r}"
        )
    if len(given) != count:
        raise ArgumentError(
            f"KVStore.row_sparse_pull: there must be row_ids for each of {count} arrays in out; got {len(given)}"
        )
    return list(given)


def distinct_rows(ids: NDArray, rows: int, who: str = "KVStore.row_sparse_pull: row_ids") -> Tensor:
    """Return the ids in ascending order, each once; they may be of any shape, and floats. Errors call them `who`.

    Raises
    ------
    ParameterError
        For an id that is no row.

    Examples
    --------
    >>> import rebind as mx
    >>> distinct_rows(mx.nd.array([[3, 1], [3, 0]]), rows=4)
    tensor([0, 1, 3])
    """
    found = ids.storage.to_dense().detach().to(torch.int64).unique()
    # They are sorted: the first and the last one are enough.
    for each in found[[0, -1]].tolist() if len(found) else ():
        if not 0 <= each < rows:
            raise ParameterError(f"{who} must be from 0 to {rows - 1}; got {each}")
    return found
