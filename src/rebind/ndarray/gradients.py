"""Gradients of arrays: where they go, and running backward through what was recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from .._torch.tensors import is_zero_tensor
from ..errors import ArgumentError, ParameterError, ShapeError, StateError
from . import integer_gradients
from .base import ArrayBase, Marking
from .history import free, marked_behind, nodes_behind
from .storage import DenseStorage
from .storage_tensor import StorageTensor, as_tensor

__all__ = ["GradReq", "explain_second_backward", "head_gradient", "mark", "roots", "run_backward"]

GradReq: TypeAlias = Literal["write", "add", "null"]


def mark(array: ArrayBase, grad: ArrayBase | None, grad_req: GradReq) -> None:
    """Let `backward` write (or add) the gradient of an array to `grad`: `autograd.mark_variables` for one array.

    >>> import rebind as mx
    >>> x, gradient = mx.nd.array([3]), mx.nd.zeros((1,))
    >>> mark(x, gradient, "write")
    >>> with mx.autograd.record():
    ...     y = x * x
    >>> y.backward()
    >>> gradient.item()
    6.0
    """
    if grad_req not in ("write", "add", "null"):
        raise ParameterError(f"NDArray: grad_req must be one of 'write', 'add', 'null'; got {grad_req!r}")
    tensor = as_tensor(array.storage).detach()
    if isinstance(array.storage, DenseStorage):
        array.storage.tensor = tensor
    # Gradients of what was recorded before stop here: the array is a leaf from now on.
    array.marking = None if grad is None else Marking(grad)
    array.leaf = array.history = None
    if array.marking is None or grad_req == "null":
        return
    if tensor.is_floating_point():
        # `.data` has a version counter of its own: as in MXNet, backward reads what is in memory then.
        array.leaf = (tensor if isinstance(tensor, StorageTensor) else tensor.data).requires_grad_()
    else:
        array.leaf = integer_gradients.as_floating(tensor).requires_grad_()
    array.marking.adds = grad_req == "add"
    _deliver(array.leaf, array.marking)


def _deliver(leaf: Tensor, marking: Marking) -> None:
    """Let torch write the gradient of `leaf` into the array for it."""
    grad = marking.grad

    def receive(leaf: Tensor) -> None:
        # Taken from the leaf, so that torch does not add the next gradient to it.
        gradient, leaf.grad = leaf.grad, None
        if gradient is None:
            return
        marking.fresh = marking.reached = True
        if is_zero_tensor(gradient):  # a zero of torch's without memory
            gradient = torch.zeros_like(leaf, requires_grad=False)
        # The gradient of whole numbers was computed in floating point.
        if not grad.storage.dtype.is_floating_point:
            gradient = gradient.detach().to(dtype=grad.storage.dtype)
        if marking.adds:
            grad.accumulate(gradient)
        elif gradient.requires_grad and isinstance(grad.storage, DenseStorage):
            grad.storage.tensor = gradient  # with its own record: it can be differentiated again
        else:
            grad.exchange(gradient.detach() if gradient.requires_grad else gradient)

    leaf.register_post_accumulate_grad_hook(receive)


def run_backward(
    heads: Sequence[ArrayBase], head_grads: Sequence[ArrayBase | None] | None, retain_graph: bool
) -> None:
    """Run backward from `heads`; without gradients for them, ones.

    Marked arrays that they were computed from, but whose gradient is blocked on the way, have a gradient of zeros.

    >>> import rebind as mx
    >>> x = mx.nd.array([3])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y, z = x * 2, x * 5
    >>> run_backward([y, z], None, retain_graph=False)
    >>> x.grad.item()
    7.0
    """
    head_grads = [None] * len(heads) if head_grads is None else head_grads
    if len(head_grads) != len(heads):
        raise ArgumentError(
            f"backward: needs as many head gradients as heads, {len(heads)}; got {len(head_grads)}"
        )
    tensors, gradients = roots(heads, head_grads, "backward")
    nodes = nodes_behind(heads)
    marked = marked_behind(nodes)
    for array in marked:
        if array.marking is not None:
            # Set by the hooks while torch runs.
            array.marking.reached = False
    with explain_second_backward():
        # The hooks that `_deliver` has set write the results into arrays.
        if tensors:
            torch.autograd.backward(tensors, gradients, retain_graph=retain_graph)
    for array in marked:
        if array.marking is not None and not array.marking.reached:
            array.marking.receive_nothing()
    # Its array gets zeros, or keeps what it has under 'add'.
    if not retain_graph:
        free(nodes)


def roots(
    heads: Sequence[ArrayBase], head_grads: Sequence[ArrayBase | None], who: str
) -> tuple[list[Tensor], list[Tensor]]:
    """Return the tensors that torch starts from and their gradients; none for heads from which no gradient flows.

    Raises
    ------
    StateError
        When a head does not depend on any marked array.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.nd.ones((2,))
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     heads = [x * 2, mx.nd.BlockGrad(x)]
    >>> roots(heads, [None, None], "backward")[1]
    [tensor([1., 1.])]
    """
    tensors, gradients = [], []
    for head, given in zip(heads, head_grads, strict=True):
        tensor = head.recorded_tensor
        gradient = None if given is None else head_gradient(tensor, given)
        if tensor.requires_grad:
            tensors.append(tensor)
            gradients.append(torch.ones_like(tensor) if gradient is None else gradient)
        # One that depends on marked arrays, but lets no gradient through, is no mistake: nothing starts from it.
        elif head.history is None or not head.history[0].depends:
            raise StateError(
                f"{who}: the array was not computed from marked arrays while recording. Mark them with "
                "x.attach_grad(), and compute in a block: with autograd.record(): y = f(x)."
            )
    return tensors, gradients


def head_gradient(head: Tensor, gradient: ArrayBase) -> Tensor:
    """Return the tensor of a gradient for `head`; ShapeError when it has another shape.

    >>> import rebind as mx
    >>> head_gradient(torch.zeros(2), mx.nd.ones((2,)))
    tensor([1., 1.])
    """
    if not isinstance(gradient, ArrayBase):
        raise ArgumentError(f"backward: a head gradient must be an NDArray or None; got {gradient!r}")
    if gradient.shape != tuple(head.shape):
        raise ShapeError(
            f"backward: a head gradient must have shape {tuple(head.shape)}; got {gradient.shape}"
        )
    # That of an array of whole numbers is recorded as of floating ones.
    return gradient.tensor.detach().to(dtype=head.dtype)


@contextlib.contextmanager
def explain_second_backward() -> Iterator[None]:
    """Raise a `StateError` with a remedy where torch finds that an earlier backward has freed the record."""
    try:
        yield
    except RuntimeError as error:
        if "second time" not in str(error):
            raise
        raise StateError(
            "backward: the recorded graph was freed by the first backward(); call that one with retain_graph=True"
        ) from None
