"""Arrays in the order of their axes, or with their channels last in memory, as `DenseStorage` has them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from torch import Tensor

from .base import ArrayBase
from .storage import CONTIGUOUS, DenseStorage

__all__ = ["are_reordered", "as_dense", "have_one_order", "is_reordered", "tensors_of"]


def have_one_order(one: Tensor, other: Tensor) -> bool:
    """Return whether two tensors of one shape lie in memory in the same order.

    >>> import torch
    >>> x = torch.ones(2, 3, 4, 4)
    >>> y = x.contiguous(memory_format=torch.channels_last)
    >>> have_one_order(x, x), have_one_order(x, y), have_one_order(torch.ones(1, 3), torch.ones(3, 1).T)
    (True, False, True)
    """
    if one.stride() == other.stride():
        return True
    # An axis of one element has no order.
    return all([a == b or n == 1 for a, b, n in zip(one.stride(), other.stride(), one.shape, strict=True)])


def are_reordered(arrays: Sequence[ArrayBase]) -> bool:
    """Return whether one of the arrays lies in another order of memory than that of its axes.

    >>> import rebind as mx
    >>> x, y = mx.nd.ones((2, 3, 4, 5)), mx.nd.ones((2,))
    >>> are_reordered([x, y]), x.storage.put_channels_last(), are_reordered([x, y])
    (False, True, True)
    """
    return any([is_reordered(array) for array in arrays])


def is_reordered(array: ArrayBase) -> bool:
    """Return whether an array has its channels last in memory."""
    storage = array.storage
    return isinstance(storage, DenseStorage) and storage.layout is not CONTIGUOUS


def tensors_of(arrays: Sequence[ArrayBase], channels_last: Collection[int] = ()) -> list[Tensor]:
    """Return the tensors of arrays; of those at the positions `channels_last` with their axes in the order of memory.

    These have their channels last. All that is returned is contiguous: kernels may walk over the memory.

    >>> import rebind as mx
    >>> x = mx.nd.ones((2, 3, 4, 5))
    >>> _ = x.storage.put_channels_last()
    >>> [tensors_of([x], positions)[0].shape for positions in ([0], [])]
    [torch.Size([2, 4, 5, 3]), torch.Size([2, 3, 4, 5])]
    """
    return [
        array.storage.memory.movedim(1, -1)  # type: ignore[attr-defined]  # it is dense
        if i in channels_last
        else array.tensor
        for i, array in enumerate(arrays)
    ]


class as_dense:  # a class: a generator in `contextlib.contextmanager` costs half as much again, at each update
    """Give the dense tensors of arrays to code that changes them in place, such as an optimizer's rule.

    Those of dense arrays are their memory; `channels_last` is that of `tensors_of`. What is not dense is converted, and
    written back after the ``with`` block.

    Examples
    --------
    >>> import rebind as mx
    >>> weights = [mx.nd.ones((2,))]
    >>> with as_dense(weights) as tensors:
    ...     _ = tensors[0].mul_(3)
    >>> weights[0].asnumpy().tolist()
    [3.0, 3.0]
    """

    __slots__ = ("_arrays", "_channels_last", "_tensors")

    def __init__(self, arrays: Sequence[ArrayBase], channels_last: Collection[int] = ()) -> None:
        self._arrays, self._channels_last = arrays, channels_last

    def __enter__(self) -> list[Tensor]:
        self._tensors = tensors_of(self._arrays, self._channels_last)
        return self._tensors

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            return
        for array, tensor in zip(self._arrays, self._tensors, strict=True):
            # The tensors of dense arrays are their memory.
            if not isinstance(array.storage, DenseStorage):
                array.write_unrecorded(tensor)
