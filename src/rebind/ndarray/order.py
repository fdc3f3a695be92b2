"""Dense values in another order of memory than that of their axes, until somebody asks for them.

Convolutions are quickest with the channels of their filters last in memory, and give gradients that lie so. Filters,
gradients and the optimizer's states stay in that order from step to step, as long as nothing else looks at them: their
storage is a `ReorderedStorage` then, whose `tensor` puts the values in order first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from ..ops.nn.memory_order import FORMATS
from .base import ArrayBase
from .deferred import DeferredStorage, held_tensor, memory_of
from .storage import DenseStorage, Storage

__all__ = [
    "ReorderedStorage",
    "are_reordered",
    "as_dense",
    "have_one_order",
    "note_order",
    "number_of_elements",
    "reorder",
    "tensors_of",
]


class ReorderedStorage(DeferredStorage):
    """A dense storage whose tensor is put in the order of its axes when it is asked for; it is a `DenseStorage` then.

    Storages become one by `reorder` and `note_order`.

    Examples
    --------
    >>> storage = DenseStorage(torch.ones(2, 3, 4, 4))
    >>> _ = reorder(storage)
    >>> type(storage).__name__, memory_of(storage).stride(), storage.shape
    ('ReorderedStorage', (48, 1, 12, 3), torch.Size([2, 3, 4, 4]))
    >>> storage.tensor.stride(), type(storage).__name__
    ((48, 16, 4, 1), 'DenseStorage')
    """

    __slots__ = ()

    def make_dense(self) -> Tensor:
        """Return the values in the order of the axes."""
        return held_tensor(self).contiguous()


def note_order(storage: Storage) -> None:
    """Note that a dense storage was given a tensor that may lie in another order.

    >>> storage = DenseStorage(torch.ones(2, 3).T)
    >>> note_order(storage)
    >>> storage.tensor.is_contiguous()
    True
    """
    if type(storage) is DenseStorage and not storage.tensor.is_contiguous():
        storage.__class__ = ReorderedStorage


def have_one_order(one: Tensor, other: Tensor) -> bool:
    """Return whether two tensors of one shape lie in memory in the same order.

    >>> x = torch.ones(2, 3, 4, 4)
    >>> y = x.contiguous(memory_format=torch.channels_last)
    >>> have_one_order(x, x), have_one_order(x, y), have_one_order(torch.ones(1, 3), torch.ones(3, 1).T)
    (True, False, True)
    """
    if one.stride() == other.stride():
        return True
    # An axis of one element has no order.
    return all([a == b or n == 1 for a, b, n in zip(one.stride(), other.stride(), one.shape, strict=True)])


def reorder(storage: Storage) -> bool:
    """Put the channels (axis 1) of a dense storage last in memory, and return whether they are.

    They are not where a view of the memory may exist, or a record of how the values were computed.

    >>> [reorder(DenseStorage(torch.ones(2, 3, 4, 4), shared=shared)) for shared in (False, True)]
    [True, False]
    """
    tensor = memory_of(storage)
    if tensor is None:
        return False
    channels_last: torch.memory_format | None = FORMATS.get(tensor.dim())
    if channels_last is None:
        return False
    if type(storage) is DenseStorage and not storage.shared and not tensor.requires_grad:
        storage.tensor = tensor = tensor.contiguous(memory_format=channels_last)
        note_order(storage)
    return tensor.is_contiguous(memory_format=channels_last)


def are_reordered(arrays: Sequence[ArrayBase]) -> bool:
    """Return whether one of the arrays lies in another order of memory than that of its axes.

    >>> import rebind as mx
    >>> x, y = mx.nd.ones((2, 3, 4, 5)), mx.nd.ones((2,))
    >>> are_reordered([x, y]), reorder(x.storage), are_reordered([x, y])
    (False, True, True)
    """
    return ReorderedStorage in [type(array.storage) for array in arrays]


def number_of_elements(arrays: Sequence[ArrayBase]) -> int:
    """Return how many elements arrays have together.

    >>> import rebind as mx
    >>> number_of_elements([mx.nd.ones((2, 3)), mx.nd.ones((4,))])
    10
    """
    tensors = [memory_of(array.storage) for array in arrays]
    return sum(
        [
            array.size if tensor is None else tensor.numel()
            for array, tensor in zip(arrays, tensors, strict=True)
        ]
    )


def tensors_of(arrays: Sequence[ArrayBase], as_they_lie: Collection[int] = ()) -> list[Tensor]:
    """Return the tensors of arrays; of those at the positions `as_they_lie` with their axes in the order of memory.

    These have their channels last (`reorder`). All that is returned is contiguous: kernels may walk over the memory.

    >>> import rebind as mx
    >>> x = mx.nd.ones((2, 3, 4, 5))
    >>> _ = reorder(x.storage)
    >>> [tensors_of([x], positions)[0].shape for positions in ([0], [])]
    [torch.Size([2, 4, 5, 3]), torch.Size([2, 3, 4, 5])]
    """
    if not as_they_lie:
        # As the property does, without a call for each.
        return [array.tensor if (found := array.storage.tensor) is None else found for array in arrays]
    return [
        held_tensor(array.storage).movedim(1, -1) if i in as_they_lie else array.tensor
        for i, array in enumerate(arrays)
    ]


class as_dense:  # a class: a generator in `contextlib.contextmanager` costs half as much again, at each update
    """Give the dense tensors of arrays to code that changes them in place, such as an optimizer's rule.

    Those of dense arrays are their memory; `as_they_lie` is that of `tensors_of`. What is not dense is converted, and
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

    __slots__ = ("_arrays", "_as_they_lie", "_tensors")

    def __init__(self, arrays: Sequence[ArrayBase], as_they_lie: Collection[int] = ()) -> None:
        self._arrays, self._as_they_lie = arrays, as_they_lie

    def __enter__(self) -> list[Tensor]:
        self._tensors = tensors_of(self._arrays, self._as_they_lie)
        return self._tensors

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            return
        for array, tensor in zip(self._arrays, self._tensors, strict=True):
            # The tensors of dense arrays are their memory.
            if memory_of(array.storage) is None:
                array.write_unrecorded(tensor)
