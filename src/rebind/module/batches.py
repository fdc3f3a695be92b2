"""Helpers for batches and data sources, for training, measuring and predicting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, TypeGuard, TypeVar, cast

import torch

from ..checks import FUNCTION, check_kind
from ..errors import StateError
from ..io import DataDesc
from ..ndarray import NDArray, array
from ..protocols import Batch, Callback

__all__ = [
    "AnyBatch",
    "as_callbacks",
    "first",
    "held_arrays",
    "is_sliced",
    "labels_of",
    "nonempty",
    "once",
    "padding",
    "rewind",
    "rows_per_sample",
    "whole",
    "without_padding",
]

#: A batch; or a list with a batch for each device.
AnyBatch: TypeAlias = Batch | Sequence[Batch]

T = TypeVar("T")


def is_sliced(batch: AnyBatch) -> TypeGuard[Sequence[Batch]]:
    """Return whether this is a list with a batch for each device; a batch itself may be a tuple that has `data`.

    >>> from rebind.io import DataBatch
    >>> is_sliced(DataBatch([])), is_sliced([DataBatch([]), DataBatch([])])
    (False, True)
    """
    return isinstance(batch, (list, tuple)) and not hasattr(batch, "data")


def whole(batch: AnyBatch) -> Batch | None:
    """Return the batch itself; None for a list with a batch for each device.

    >>> from rebind.io import DataBatch
    >>> whole([DataBatch([]), DataBatch([])]) is None
    True
    """
    return None if is_sliced(batch) else cast(Batch, batch)


def labels_of(batch: Batch) -> Sequence[NDArray]:
    """Return the labels of a batch; none where it has no `label`.

    >>> from collections import namedtuple
    >>> labels_of(namedtuple("Batch", "data")([]))
    ()
    """
    return getattr(batch, "label", None) or ()


def held_arrays(source: object, kind: str) -> list[tuple[str, NDArray]]:
    """Return the arrays that an iterator holds, by name, as `NDArrayIter` does; none of others.

    >>> from rebind import io, nd
    >>> [name for name, _ in held_arrays(io.NDArrayIter(nd.ones((2, 1))), "data")]
    ['data']
    """
    held = getattr(source, kind, None)
    pairs = isinstance(held, list) and all(isinstance(each, tuple) and len(each) == 2 for each in held)
    return cast("list[tuple[str, NDArray]]", held) if pairs else []


def padding(batch: AnyBatch) -> int:
    """Return how many samples at the end of a batch are padding.

    >>> from rebind.io import DataBatch
    >>> padding(DataBatch([], pad=3)), padding(DataBatch([]))
    (3, 0)
    """
    return getattr(batch, "pad", None) or 0


def rewind(data: Iterable[Batch]) -> None:
    """Reset a data source; a list starts over by itself.

    >>> from rebind import io, nd
    >>> data = io.NDArrayIter(nd.ones((2, 1)))
    >>> len(list(data)), len(list(data))
    (2, 0)
    >>> rewind(data)
    >>> len(list(data))
    2
    """
    if hasattr(data, "reset"):
        data.reset()


def nonempty(batches: Iterable[T], epoch: int, resumed_at: int = 0) -> Iterator[T]:
    """Yield the rest of an epoch's batches from number `resumed_at`; an error when the epoch has none.

    >>> list(nonempty("ab", epoch=0))
    ['a', 'b']
    """
    # A resumed epoch had some before.
    found = resumed_at > 0
    for batch in batches:
        found = True
        yield batch
    if not found:
        raise StateError(
            f"fit: train_data must yield at least one batch in epoch {epoch}; got none. Does its reset() start over?"
        )


def once(source: Iterable[T]) -> Iterator[T]:
    """Yield what a source does, and iterate it once however often this is iterated: some then start over.

    >>> class Restarting:
    ...     def __iter__(self):
    ...         self.left = ["b", "a"]
    ...         return self
    ...
    ...     def __next__(self):
    ...         return self.left.pop()
    >>> batches = once(Restarting())
    >>> next(batches), next(iter(batches))
    ('a', 'b')
    """
    yield from source


def first(batches: Iterable[T], count: int | None) -> Iterator[T]:
    """Yield the first `count` batches; as in MXNet, one more is then taken from the iterator, and is lost.

    >>> batches = iter("abcd")
    >>> list(first(batches, 2)), next(batches)
    (['a', 'b'], 'd')
    """
    for i, batch in enumerate(batches):
        if i == count:
            return
        yield batch


def rows_per_sample(output: NDArray, axis: int, batch_size: int) -> int:
    """Return how many rows of an output a sample has: more than one where time steps have become rows.

    >>> from rebind import nd
    >>> rows_per_sample(nd.ones((20, 4)), axis=0, batch_size=5)
    4
    """
    rows = output.shape[axis] if axis >= 0 and output.shape else 0
    # Time steps that became rows are whole multiples of the batch.
    return rows // batch_size if batch_size and rows % batch_size == 0 else 1


def without_padding(value: NDArray | Sequence[float], pad: int, axis: int) -> NDArray:
    """Return a copy without the last `pad` rows.

    >>> from rebind import nd
    >>> without_padding(nd.array([1, 2, 3]), 1, axis=0).asnumpy().tolist()
    [1.0, 2.0]
    """
    value = value if isinstance(value, NDArray) else array(value)
    if not pad or axis < 0:
        return value.copy()
    # A view would change with the next forward, which writes into the same memory.
    rows = value.tensor.narrow(axis, 0, value.shape[axis] - pad)
    return NDArray(rows.clone(memory_format=torch.contiguous_format), value.device)


def placeholder_descs(count: int) -> list[DataDesc]:
    """Return descriptions of labels about which nothing is known.

    >>> placeholder_descs(2)[1].name
    'label1'
    """
    return [DataDesc(f"label{i}", ()) for i in range(count)]


def as_callbacks(callbacks: Callback | Iterable[Callback] | None, who: str | None = None) -> list[Callback]:
    """Return none, one or several callbacks as a list; with `who`, which names the argument, each is checked.

    >>> as_callbacks(None), as_callbacks(print) == as_callbacks([print])
    ([], True)
    """
    if callbacks is None:
        return []
    found: list[Callback] = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]  # type: ignore[list-item]  # a callback that is iterable is one callback
    if who is not None:
        owner, _, name = who.rpartition(": ")
        for callback in found:
            check_kind(owner, FUNCTION, **{name: callback})
    return found
