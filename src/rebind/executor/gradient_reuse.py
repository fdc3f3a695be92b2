"""Which gradients stay in the memory that they were bound with, and what that asks of head gradients.

Where gradients are new arrays in each backward, they come to lie between the large arrays of a step, whose memory is
then not used again as a whole: training ResNet-50 takes a fifth more at its peak. Those that stay are added to zeros in
their place, which takes longer: of networks whose gradients are most of their memory, as of large dense layers, a
twentieth to a third of the step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from torch import Tensor

from ..ndarray import NDArray
from ..ndarray.storage import DenseStorage
from ..tuning import current
from .slot import Slot

__all__ = ["are_large", "dealiased_from", "reused_gradients"]


def reused_gradients(wanted: Sequence[Slot], arrays: Iterable[NDArray], results: float) -> set[int]:
    """Return the `id` of each slot whose gradient stays where it is.

    Parameters
    ----------
    wanted
        The slots that get gradients.
    arrays
        What the network reads. A gradient in the memory of one of these, or of another gradient, is replaced when
        backward is done: all of its parts see what was there before.
    results
        How many bytes the results of a step take together. None stay where gradients take more.

    Examples
    --------
    >>> import rebind as mx
    >>> slots = [Slot(mx.nd.ones((n,)), "write", grad=mx.nd.zeros((n,))) for n in (2, 2**21)]
    >>> [len(reused_gradients(slots[:n], [], results)) for n, results in ((2, 1e9), (1, 1e9), (2, 1e3))]
    [2, 0, 0]
    """
    grads = [(slot, _memory_of(slot.grad)) for slot in wanted if slot.grad is not None]
    if not current().large_gradient_bytes <= _bytes_of(wanted) <= results:
        return set()
    used = [*(_memory_of(array) for array in arrays), *(memory for _, memory in grads)]
    uses = Counter(_place(memory) for memory in used if memory is not None)
    return {
        id(slot)
        for slot, memory in grads
        if memory is not None and uses[_place(memory)] == 1 and _can_be_added_to(slot, memory)
    }


def are_large(wanted: Iterable[Slot]) -> bool:
    """Return whether the gradients of slots take much memory together.

    >>> import rebind as mx
    >>> [are_large([Slot(mx.nd.ones((n,)), "write", grad=mx.nd.zeros((n,)))]) for n in (2, 2**21)]
    [False, True]
    """
    return _bytes_of(wanted) >= current().large_gradient_bytes


def _bytes_of(wanted: Iterable[Slot]) -> int:
    memory = (_memory_of(slot.grad) for slot in wanted if slot.grad is not None)
    return sum(each.nbytes for each in memory if each is not None)


def _memory_of(array: NDArray) -> Tensor | None:
    return array.storage.memory if isinstance(array.storage, DenseStorage) else None


def _place(tensor: Tensor) -> int:
    """Return where the memory that a tensor is in, or is a part of, begins."""
    return tensor.untyped_storage().data_ptr()


def _can_be_added_to(slot: Slot, memory: Tensor) -> bool:
    """Return whether autograd can add to the memory; other devices have allocators that do not need it."""
    return slot.array is not None and memory.is_cpu and memory.dtype is slot.array.storage.dtype


def dealiased_from(head_grads: Sequence[Tensor | None], slots: Sequence[Slot]) -> list[Tensor | None]:
    """Return head gradients of which none is in the memory of gradients that stay; copies where one is.

    Programs that go back in time step by step hand the gradient of a state to the backward of the step before.

    >>> import rebind as mx
    >>> slot = Slot(mx.nd.ones((2,)), "write", grad=mx.nd.ones((2,)), reuses=True)
    >>> [head_grad] = dealiased_from([slot.grad.tensor], [slot])
    >>> slot.grad[:] = 0
    >>> head_grad
    tensor([1., 1.])
    """
    memory = [_memory_of(slot.grad) for slot in slots if slot.reuses and slot.grad is not None]
    places = {_place(each) for each in memory if each is not None}
    return [each.clone() if each is not None and _place(each) in places else each for each in head_grads]
