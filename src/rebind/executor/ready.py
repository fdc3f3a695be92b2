"""Batches and runs on the same arrays, of which it is found out once what they are like."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ..draws import Source
from ..mode import mode
from ..ndarray import NDArray
from ..ndarray.same_memory import SameMemory, are_dense
from ..ndarray.storage import DenseStorage
from ..threads import threads_for_copies
from .bound import BoundArrays
from .lower import Plan
from .outputs import detached
from .whole import WholeStep

__all__ = ["ReadyInference", "ReadyInputs", "ReadyPass", "ReadyRun"]

_shape_of = operator.attrgetter("shape")
_dense_shape_of = operator.attrgetter("storage.tensor.shape")

#: Inputs of fewer elements are copied.
_LEAST = 1 << 12
_CAN_LEND = hasattr(torch, "_lazy_clone") and hasattr(torch._C, "_is_cow_tensor")
_is_lazy: Callable[[Tensor], bool] = getattr(torch._C, "_is_cow_tensor", bool)


class ReadyInputs:
    """The arrays of an executor that batches of one form come into.

    A batch is lent where that can be done: the input's array is a lazy clone of the batch's, of which PyTorch makes a
    copy as soon as somebody writes into either of them.

    Parameters
    ----------
    arrays
        The arrays, in the order of the batch's.

    Examples
    --------
    >>> import rebind as mx
    >>> x, batch = mx.nd.zeros((2,)), [mx.nd.array([1, 2])]
    >>> inputs = ReadyInputs([x])
    >>> inputs.takes(batch), inputs.takes([mx.nd.array([1, 2, 3])])
    (True, False)
    >>> inputs.bring(batch)
    >>> x.asnumpy().tolist()
    [1.0, 2.0]
    """

    def __init__(self, arrays: Sequence[NDArray]) -> None:
        self.arrays = [*arrays]
        self._shapes = [*map(_shape_of, arrays)]
        # By position: what operators write to, or hand on by its address, is copied by them, and not lent again.
        self._lends = [array.size >= _LEAST and _CAN_LEND for array in arrays]
        self._is_sure = not any(self._lends)
        self._count_copied()

    def _count_copied(self) -> None:
        given = zip(self.arrays, self._lends, strict=True)
        self._copied = sum([array.size for array, is_lent in given if not is_lent])

    def takes(self, batch: Sequence[NDArray]) -> bool:
        """Return whether a batch is of dense arrays in these shapes, and no record of the user's has the inputs.

        It may have fewer arrays; the last inputs then stay as they are.
        """
        try:
            if mode.recording or [*map(_dense_shape_of, batch)] != self._shapes[: len(batch)]:
                return False
        except AttributeError:  # NumPy's, or of another storage
            return False
        return all([each.leaf is None and each.history is None for each in self.arrays])

    def bring(self, batch: Sequence[NDArray]) -> None:
        """Lend or copy a batch that it takes."""
        with threads_for_copies(self._copied):
            for i, (array, given) in enumerate(zip(self.arrays, batch, strict=False)):
                source, target = given.storage.tensor, array.storage.tensor
                assert source is not None
                # To a GPU, from a record, into other storage: as any array is written.
                if target is None or not target.is_cpu or source.requires_grad:
                    array.write(source)
                    continue
                if self._lends[i] and _can_be_lent(source, target, given, array):
                    try:
                        array.storage.tensor = torch._lazy_clone(source)
                        continue
                    except RuntimeError:  # the memory is not PyTorch's, as that of an iterator's only batch
                        self._lends[i] = False
                        self._count_copied()
                array.writable_tensor().copy_(source)

    def note_run(self) -> None:
        """Note, after the first run, which inputs are still lent."""
        if not self._is_sure:
            self._is_sure = True
            self._lends = [
                lends and _is_lazy(array.tensor)
                for lends, array in zip(self._lends, self.arrays, strict=True)
            ]
            self._count_copied()


class ReadyRun:
    """What was found out of an executor's plan and arrays, for runs on batches of one form.

    Attributes
    ----------
    plan
        What runs.
    inputs
        The arrays that batches come into.
    memory
        That of the arrays that are no inputs, which must not have changed.
    tensors
        What it runs on: arguments and auxiliary states.
    """

    def __init__(
        self, plan: Plan, arrays: BoundArrays, inputs: Sequence[NDArray], memory: SameMemory
    ) -> None:
        self.plan, self.tensors = plan, arrays.memory(plan.unread)
        self.inputs, self.memory = ReadyInputs(inputs), memory
        # Two variables may be one argument: an array may be there twice.
        known = {id(array) for array in inputs}
        self._places = [
            (i, slot.array)
            for i, slot in enumerate(arrays.order)
            if slot.array is not None and id(slot.array) in known
        ]

    def bring(self, batch: Sequence[NDArray]) -> None:
        """Bring a batch that the inputs take into them."""
        self.inputs.bring(batch)
        for i, array in self._places:
            self.tensors[i] = array.storage.tensor  # type: ignore[assignment]  # it is dense


class ReadyPass(ReadyRun):
    """What was found out for forward and backward together. Made by `of`.

    Attributes
    ----------
    step
        What runs them; None where only an update can be compiled with them.

    Examples
    --------
    >>> import rebind as mx
    >>> exe = mx.sym.MakeLoss(mx.sym.square(mx.sym.var("x"))).simple_bind(mx.cpu(), x=(1,))
    >>> _ = exe.forward_before_backward()
    >>> ready = exe.ready_pass([exe.arg_dict["x"]])
    >>> batch = [mx.nd.array([3])]
    >>> ready.inputs.takes(batch)
    True
    >>> exe.run_ready_pass(ready, batch, ready.step)
    >>> exe.outputs[0].item(), exe.grad_dict["x"].item()
    (9.0, 6.0)
    """

    def __init__(
        self,
        plan: Plan,
        step: WholeStep | None,
        arrays: BoundArrays,
        inputs: Sequence[NDArray],
        memory: SameMemory,
    ) -> None:
        super().__init__(plan, arrays, inputs, memory)
        self.step = step
        self._wanted = [
            (slot, slot.grad, slot.grad.storage.dtype) for slot in arrays.wanted if slot.grad is not None
        ]

    @classmethod
    def of(
        cls, plan: Plan, step: WholeStep | None, arrays: BoundArrays, inputs: Sequence[NDArray]
    ) -> ReadyPass | None:
        """Return it for passes into whose `inputs` batches are copied; None where each has more to look at."""
        wanted = arrays.wanted
        plain = all([slot.request == "write" and not slot.reorders and not slot.stays for slot in wanted])
        if not plain or not are_dense([slot.grad for slot in wanted if slot.grad is not None]):
            return None
        memory = _memory_beside(inputs, arrays)
        return None if memory is None else cls(plan, step, arrays, inputs, memory)

    def put(self, gradients: Sequence[Tensor | None]) -> None:
        """Put gradients into their arrays."""
        for (slot, array, dtype), found in zip(self._wanted, gradients, strict=True):
            storage = array.storage
            if (
                found is None
                or found.dtype is not dtype
                or storage.shared
                or type(storage) is not DenseStorage
            ):
                slot.take_gradient(found)
            else:  # as `take_gradient`, for every argument in every step
                storage.tensor = found


class ReadyInference(ReadyRun):
    """What was found out for runs of which nothing is differentiated. Made by `of`.

    Attributes
    ----------
    parameters
        Where those are from which the plan keeps something.

    Examples
    --------
    >>> import rebind as mx
    >>> exe = mx.sym.square(mx.sym.var("x")).simple_bind(mx.cpu(), grad_req="null", x=(1,))
    >>> _ = exe.forward()
    >>> ready = exe.ready_inference([exe.arg_dict["x"]])
    >>> exe.run_ready_inference(ready, [mx.nd.array([3])]), exe.outputs[0].item()
    (True, 9.0)
    """

    def __init__(
        self, plan: Plan, arrays: BoundArrays, inputs: Sequence[NDArray], memory: SameMemory
    ) -> None:
        super().__init__(plan, arrays, inputs, memory)
        # An array has the same storage as long as it lives.
        self.parameters = [] if plan.preparation is None else arrays.storages(plan.preparation.positions)

    @classmethod
    def of(cls, plan: Plan, arrays: BoundArrays, inputs: Sequence[NDArray]) -> ReadyInference | None:
        """Return it for runs into whose `inputs` batches are copied; None where each has more to look at."""
        memory = _memory_beside(inputs, arrays, released=bool(plan.unread))
        return None if memory is None else cls(plan, arrays, inputs, memory)

    def run(self, source: Source | None, kept: Sequence[Tensor]) -> list[Tensor]:
        """Return the values of the outputs, ordinary tensors in memory of their own."""
        tensors = [*self.tensors, *kept]
        outputs, _, loss_inputs = self.plan.infer(source, tensors)
        return detached(outputs, tensors, loss_inputs)


def _memory_beside(
    inputs: Sequence[NDArray], arrays: BoundArrays, released: bool = False
) -> SameMemory | None:
    """Return the memory of all arrays but the inputs; None where some are not dense.

    With `released`, some may have been given up.
    """
    if not are_dense(inputs):
        return None
    known = {id(array) for array in inputs}
    found = [*(slot.array for slot in arrays.order), *arrays.aux.values()]
    return SameMemory.of([each for each in found if each is not None and id(each) not in known], released)


def _can_be_lent(source: Tensor, target: Tensor, given: NDArray, array: NDArray) -> bool:
    """Return whether an input may be a lazy clone of a batch's array: nobody else knows the memory of either."""
    return (
        source.is_cpu
        and source.dtype is target.dtype
        and source.is_contiguous()
        and not given.storage.shared
        and not array.storage.shared
        and source.untyped_storage().nbytes() == source.nbytes
    )
