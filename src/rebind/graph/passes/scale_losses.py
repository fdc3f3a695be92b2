"""Gradients of a network's losses, scaled: 16-bit numbers then hold what would be lost below their range.

The scale is read when `backward` runs, so that it changes from batch to batch and the network is lowered once. One that
is a tensor is an input of compiled code; a number would be part of it, and each new one be compiled again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from ...ops import Inference, Input, Kernels, Operator, Record, Signature, one_shape
from ...params import Params
from ..graph import Application, Entry, Graph, Node, rewrite

__all__ = ["scale_losses"]

#: Returns the factor: a number, or a tensor without axes.
Scale: TypeAlias = Callable[[], "float | Tensor"]


def scale_losses(graph: Graph, scale: Scale, *, outputs: bool = True) -> Graph:
    """Return `graph` with every gradient multiplied by ``scale()``; what it computes forward stays.

    The factor goes in where gradients begin: before each operator that is a loss, and at the outputs that are none.
    Without `outputs` these are left out, for a network whose outputs get gradients that are scaled already.
    Names of outputs stay.

    >>> import rebind as mx
    >>> loss = mx.sym.MakeLoss(mx.sym.var("x") * 3)
    >>> executor = loss.with_graph(scale_losses(loss.graph, lambda: 128.0)).simple_bind(mx.cpu(), x=(1,))
    >>> _ = executor.forward(is_train=True)
    >>> executor.backward()
    >>> executor.grad_dict["x"].item()
    384.0
    """

    def replace(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        if not _is_loss(node):
            return None
        op = node.operator
        assert op is not None
        scaled = [
            entry
            # The label, a variable, needs no gradient: a scale there would only cost.
            if op.signature.is_auxiliary(name) or (i and entry.node.is_variable)
            else _scaled(entry, scale)
            for i, (name, entry) in enumerate(zip(node.input_names, inputs, strict=True))
        ]
        new = node.with_inputs(scaled)
        return [Entry(new, i) for i in range(len(new.output_names))]

    changed = rewrite(graph, replace)
    if not outputs:
        return changed
    return Graph(
        entry if entry.node.is_variable or _is_loss(entry.node) else _scaled(entry, scale, as_output=True)
        for entry in changed.outputs
    )


def _times(gradient: Tensor, scale: float | Tensor) -> Tensor:
    # A compiler would round a tensor's number to the array's type first, and float16 ends before many a scale.
    wide = torch.compiler.is_compiling() and gradient.dtype in (torch.float16, torch.bfloat16)
    return (gradient.float() * scale).to(dtype=gradient.dtype) if wide else gradient * scale


def _is_loss(node: Node) -> bool:
    """Return whether gradients begin at a node: it does not look at what comes back to it."""
    op = node.operator
    return (
        op is not None and op.kernels.gradient is not None and not op.kernels.needs_head_gradient(node.params)
    )


def _scaled(entry: Entry, scale: Scale, as_output: bool = False) -> Entry:
    source = entry.node
    suffix, needs_head = "output", True
    if as_output and source.operator is not None:
        suffix = source.operator.record.output_names(source.params)[entry.index]
        needs_head = source.operator.kernels.needs_head_gradient(source.params)

    def gradient(
        p: Params, inputs: Sequence[Tensor], outputs: Sequence[Tensor], head_grads: Sequence[Tensor]
    ) -> tuple[Tensor]:
        return (_times(head_grads[0], scale()),)

    op = Operator(
        "_scaled_gradient",
        Signature((Input("data"),)),
        # A view: forward costs nothing, and autograd must not see the very same tensor.
        Kernels(
            lambda data: data.view_as(data), gradient=gradient, head_gradient=needs_head, reads_state=True
        ),
        # With a rule, as common operators have one: it spares a run on `meta` tensors.
        Inference(same_shape=True, types={"data": "T", suffix: "T"}, forward_rule=one_shape),
        Record((suffix,)),
    )
    # An output is called after its node, and programs look outputs up by name.
    name = source.name if as_output else f"{entry.name}_scaled"
    return Entry(Application(op, name, (entry,), attributes=source.attributes if as_output else {}))
