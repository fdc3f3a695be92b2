"""The backward part of a step, a pure function: from what forward recorded to the gradients of the arguments."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from .._torch.autograd import run_engine
from ..errors import StateError
from ..grad_mode import grad_mode
from ..graph import Entry
from ..ndarray.storage_tensor import StorageTensor
from .losses import Loss
from .lower import Plan

__all__ = ["Backward", "Record", "accumulated", "dealiased", "loss_gradients"]


class Record(NamedTuple):
    """What forward records for backward."""

    outputs: tuple[Tensor, ...]  # with autograd's record of how they were computed
    loss_inputs: tuple[tuple[Tensor | None, ...] | None, ...]
    tensors: Sequence[Tensor]  # what forward ran on: arguments, then auxiliary states


@dataclass(frozen=True)
class Backward:
    """Gradients of a plan's outputs with respect to tensors that forward was run on.

    An output that is a loss needs no head gradient: its operator's own rule gives the gradients of the loss's inputs,
    and those are what autograd starts from.

    Attributes
    ----------
    outputs
        The entries of the plan's outputs.
    losses
        For each of them its loss, or None.
    head_gradient_reaches
        See `Plan`.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.executor import Target, lower
    >>> plan = lower((mx.sym.var("x") ** 2).graph, Target(training=True))
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> outputs, _, loss_inputs = plan(None, [x])
    >>> Backward.of(plan)(Record(outputs, loss_inputs, [x]), [x], [torch.ones(1)])
    (tensor([6.]),)
    """

    outputs: tuple[Entry, ...]
    losses: tuple[Loss | None, ...]
    head_gradient_reaches: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, plan: Plan) -> Backward:
        """Return the backward part that belongs to a forward part."""
        return cls(plan.outputs, plan.losses, plan.head_gradient_reaches)

    def __call__(
        self,
        record: Record,
        leaves: Sequence[Tensor],
        head_grads: Sequence[Tensor | None] | None = None,
        added_to: Sequence[Tensor | None] | None = None,
    ) -> tuple[Tensor | None, ...]:
        """Return the gradients of `leaves`; None for one that no output with a gradient depends on.

        Parameters
        ----------
        record
            What forward recorded; it is freed.
        leaves
            Tensors that forward was run on, which require gradients.
        head_grads
            The gradients of the outputs. None for one that needs none.
        added_to
            For each leaf a gradient that the new one is added to, or None (``grad_req='add'``). In the default mode it
            is added to in place, and returned.

        Raises
        ------
        StateError
            When an output that needs a head gradient has none; it names the output.
        """
        roots, gradients = self._roots(record, head_grads or [None] * len(self.outputs))
        # `added_to` are the gradients of ``grad_req='add'``.
        before = added_to or [None] * len(leaves)
        if torch.compiler.is_compiling():
            return _traced(roots, gradients, leaves, before)
        return accumulated(roots, gradients, leaves, before)

    def _roots(
        self, record: Record, head_grads: Sequence[Tensor | None]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Return the tensors that autograd starts from, and their gradients."""
        roots: list[Tensor] = []
        gradients: list[Tensor] = []
        # A watched run has further outputs, which are not differentiated; hence no `strict`.
        given = zip(self.outputs, record.outputs, self.losses, record.loss_inputs, head_grads, strict=False)
        for i, (entry, output, loss, inputs, head_grad) in enumerate(given):
            if loss is not None and inputs is not None:
                # Autograd starts before the loss, at its inputs, with what the operator's own rule gives.
                for tensor, gradient in zip(inputs, _loss_gradients(loss, inputs, output), strict=False):
                    if tensor is not None and gradient is not None and tensor.requires_grad:
                        roots.append(tensor)
                        gradients.append(gradient)
                continue
            if not output.requires_grad:
                continue
            if head_grad is None:
                # Ones do where a loss on the way ignores them.
                if any(record.tensors[k].requires_grad for k in self.head_gradient_reaches[i]):
                    raise StateError(
                        f"Executor.backward: output {entry.name!r} is no loss, so out_grads must hold its head "
                        "gradient; it is missing. To train without, end the network in a loss layer, such as "
                        "SoftmaxOutput, LinearRegressionOutput or MakeLoss."
                    )
                head_grad = _ones_like(output)
            roots.append(output)
            gradients.append(head_grad)
        return roots, gradients


def _loss_gradients(loss: Loss, inputs: Sequence[Tensor | None], output: Tensor) -> Sequence[Tensor | None]:
    """Return the gradients of a loss's inputs, by the operator's own rule."""
    if not any(tensor is not None and tensor.requires_grad for tensor in inputs):
        return ()
    with grad_mode(False):
        return loss_gradients(loss, output, *inputs)


def loss_gradients(loss: Loss, output: Tensor, *inputs: Tensor | None) -> Sequence[Tensor | None]:
    """Return the gradients of a loss's inputs, by the operator's own rule; called where nothing is recorded.

    >>> import rebind as mx
    >>> from rebind.executor import Target, lower
    >>> [loss] = lower(mx.sym.MakeLoss(mx.sym.var("x")).graph, Target(training=True)).losses
    >>> loss_gradients(loss, torch.ones(1), torch.ones(1))
    (tensor([1.]),)
    """
    first = inputs[0]
    # Where nothing else needs the first input, the gradient is written over it.
    memory = {}
    if (
        loss.reuse
        and loss.node.operator.kernels.gradient_takes_memory
        and first is not None
        and not torch.compiler.is_compiling()
    ):
        memory = {"into": first.detach()}
    return loss.gradient(loss.node.params, inputs, (output,), (_ones_like(output),), **memory)


def accumulated(
    roots: Sequence[Tensor],
    gradients: Sequence[Tensor],
    leaves: Sequence[Tensor],
    before: Sequence[Tensor | None],
) -> tuple[Tensor | None, ...]:
    """Let autograd accumulate into the leaves, and take the gradients from them.

    Unlike `torch.autograd.grad` this gives each gradient memory of its own: it copies what is shared (the gradient of
    ``x + y`` is the head gradient itself, twice), and nothing else. Of views it does not know (`dealiased`).
    """
    for leaf, gradient in zip(leaves, before, strict=True):
        if gradient is not None:
            leaf.grad = gradient
    try:
        if roots:
            # On the CPU the engine runs in this thread, without the context that a thread of another device would want.
            (run_engine if roots[0].is_cpu else torch.autograd.backward)(roots, gradients)
        return dealiased([leaf.grad for leaf in leaves], gradients)
    finally:
        # Leaves outlive this call: a gradient left in one would be added to the next.
        for leaf in leaves:
            leaf.grad = None


def dealiased(
    found: Sequence[Tensor | None], heads: Iterable[Tensor | None] = ()
) -> tuple[Tensor | None, ...]:
    """Return gradients of which none begins where another one does, nor is in the memory of a head gradient.

    That of ``reshape(x) + reshape(y)`` is the head gradient, which may be a caller's, in two other shapes.

    >>> head = torch.ones(4)
    >>> found = dealiased([head.view(2, 2), head[2:], None], [head])
    >>> [each is None or each.untyped_storage().data_ptr() == head.data_ptr() for each in found]
    [False, False, True]
    """
    memory = [
        each.untyped_storage() for each in heads if not (each is None or isinstance(each, StorageTensor))
    ]
    held = [(each.data_ptr(), each.data_ptr() + each.nbytes()) for each in memory]
    # Ordinary tensors are asked here: this is done for every argument in every step.
    places = [each.data_ptr() if type(each) is Tensor else _place(each) for each in found]
    taken = {place for place in places for begin, end in held if begin <= place < end}
    if not taken and len(set(places)) == len(places):  # so it nearly always is
        return tuple(found)
    result: list[Tensor | None] = []
    for each, place in zip(found, places, strict=True):
        if each is not None and place in taken:
            each = each.clone()
        elif place:
            taken.add(place)
        result.append(each)
    return tuple(result)


def _place(tensor: Tensor | None) -> int:
    """Return what differs for tensors that begin elsewhere in memory; 0 for those without elements."""
    if tensor is None:
        return 0
    return id(tensor.stored) if isinstance(tensor, StorageTensor) else tensor.data_ptr()


def _traced(
    roots: Sequence[Tensor],
    gradients: Sequence[Tensor],
    leaves: Sequence[Tensor],
    before: Sequence[Tensor | None],
) -> tuple[Tensor | None, ...]:
    """The same in a form that a compiler traces, which gives each result memory of its own."""
    if not roots:
        return tuple(before)
    found = torch.autograd.grad(roots, leaves, gradients, allow_unused=True)
    return tuple(
        new if old is None else old if new is None else old + new
        for old, new in zip(before, found, strict=True)
    )


def _ones_like(output: Tensor) -> Tensor:
    """Return a head gradient of ones, for a loss that ignores it; in eager mode all its elements share one."""
    # One element would be dense: autograd may hand it on, as the gradient of an argument.
    if torch.compiler.is_compiling() or output.numel() == 1:
        return torch.ones_like(output)
    return _ones(output.shape, output.dtype, output.device)


@functools.lru_cache(64)
def _ones(shape: torch.Size, dtype: torch.dtype, device: torch.device) -> Tensor:
    # One number in memory, whatever the shape.
    return torch.ones((), dtype=dtype, device=device).expand(shape)
