"""Forward and backward of a small network as straight-line code, by its operators' own derivatives, without autograd.

What autograd adds to an operator, when it records it and when it runs it backward, is more than a small operator
takes: of a step of a perceptron of three layers a fifth. Where each operator on the way from a loss to a parameter
declares its derivatives (`Operator.derivative`), backward is calls of these behind the calls of forward, with the same
numbers.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, fx

from ..draws import Source
from .backward import apart, loss_gradients
from .lower import Plan
from .outputs import detached
from .reach import blocks
from .step import Gradients

__all__ = ["explicit_step"]


def explicit_step(
    plan: Plan, wanted: tuple[int, ...]
) -> Callable[[Sequence[Tensor], Source | None], Gradients] | None:
    """Return forward and backward of a plan as one function of its tensors; None where an operator has no derivative.

    Parameters
    ----------
    plan
        For training; what its outputs need is no head gradient.
    wanted
        The positions of the arguments that get gradients.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.executor import Target, lower
    >>> net = mx.sym.LinearRegressionOutput(mx.sym.var("x") * mx.sym.var("w"), mx.sym.var("y"))
    >>> step = explicit_step(lower(net.graph, Target(training=True)), (1,))
    >>> step([torch.tensor([[3.0]]), torch.tensor([[2.0]]), torch.tensor([[5.0]])], None).gradients
    (tensor([[3.]]),)
    """
    if plan.recomputed or plan.target.spans_devices:
        return None
    code = _with_backward(plan, wanted)
    if code is None:
        return None
    run, draws = code.forward, plan.draws  # not the plan, which holds the step

    def step(tensors: Sequence[Tensor], source: Source | None) -> Gradients:
        outputs, new_aux, loss_inputs, found = run(source, *tensors) if draws else run(*tensors)
        # An argument's array may not share its memory, nor repeat one number.
        gradients = [each if each is None or each.is_contiguous() else each.contiguous() for each in found]
        return Gradients(tuple(detached(outputs, tensors, loss_inputs)), apart(gradients), new_aux)

    return step


def _with_backward(plan: Plan, wanted: tuple[int, ...]) -> fx.GraphModule | None:
    """Return a plan's code with backward behind it; the gradients of the arguments `wanted` are a further result."""
    code = fx.Graph()
    results: Any = code.graph_copy(plan.code.graph, {})
    outputs, new_aux, loss_inputs = results
    forward = list(code.nodes)
    inputs = [step for step in forward if step.op == "placeholder"]
    leaves = [inputs[i + plan.draws] for i in wanted]  # what numbers are drawn from is the first input
    depending = _depending(forward, leaves)
    gradients: dict[fx.Node, fx.Node] = {}

    def add(step: fx.Node, gradient: fx.Node) -> None:
        before = gradients.get(step)
        gradients[step] = gradient if before is None else code.call_function(torch.add, (before, gradient))

    labels: list[tuple[fx.Node, fx.Node]] = []
    for output, loss, sources in zip(outputs, plan.losses, loss_inputs, strict=True):
        if loss is None:
            if output in depending:  # a loss may be on the way, and give what its rule says
                return None
        elif not depending.isdisjoint(sources):
            found = code.call_function(types.MethodType(loss_gradients, loss), (output, *sources))
            parts = [
                (each, code.call_function(operator.getitem, (found, i))) for i, each in enumerate(sources)
            ]
            if parts[0][0] in depending:
                add(*parts[0])
            labels += [part for part in parts[1:] if part[0] in depending]
    for step in reversed(forward):
        gradient = gradients.get(step)
        if gradient is None or step.op == "placeholder":
            continue
        if step.target is operator.getitem:
            several, position = step.args
            if position != 0:
                return None
            add(several, gradient)
            continue
        node = step.meta["node"]
        signature = node.operator.signature
        if signature.variadic:  # any number of inputs of one name
            return None
        # What is absent at the end is left out.
        for name, each in zip(signature.input_names, step.args, strict=False):
            if each in depending:
                rule = node.operator.kernels.derivative_of(name, node.params)
                if rule is None:
                    return None
                bound = types.MethodType(rule, node.params)
                add(each, code.call_function(bound, (gradient, step, *step.args)))
    for label, gradient in labels:
        # Of most losses it is None, which cannot be added to others, nor handed on.
        if label not in leaves or label in gradients:
            return None
        gradients[label] = gradient
    code.output((outputs, new_aux, loss_inputs, tuple(gradients.get(leaf) for leaf in leaves)))
    return fx.GraphModule({}, code)


def _depending(steps: Sequence[fx.Node], leaves: Sequence[fx.Node]) -> set[fx.Node]:
    """Return the steps through which gradients go to `leaves`: what is computed from these, and they themselves."""
    found = set(leaves)
    for step in steps:
        node = step.meta.get("node")
        if not found.isdisjoint(step.all_input_nodes) and (node is None or not blocks(node)):
            found.add(step)
    return found
