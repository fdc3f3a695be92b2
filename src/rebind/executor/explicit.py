"""Forward and backward of a network as straight-line code, by its operators' own derivatives, without autograd.

What autograd adds to an operator, when it records it and when it runs it backward, is more than a small operator
takes: of a step of a small perceptron of three layers a fifth, of one that takes 3 ms a twentieth. Where each operator
on the way from a loss to a parameter declares its derivatives (`Operator.derivative`), backward is calls of these
behind the calls of forward, with the same numbers.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, fx

from ..draws import Source
from .backward import apart, loss_gradients
from .lower import Plan, Values
from .outputs import detached
from .reach import blocks
from .step import Gradients

__all__ = ["Halves", "explicit_halves", "explicit_step"]


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
    joint = _joint(plan, wanted)
    if joint is None:
        return None
    joint.code.output((*joint.results, joint.gradients))
    run, draws = fx.GraphModule({}, joint.code).forward, plan.draws  # not the plan, which holds the step

    def step(tensors: Sequence[Tensor], source: Source | None) -> Gradients:
        outputs, new_aux, loss_inputs, found = run(source, *tensors) if draws else run(*tensors)
        return Gradients(tuple(detached(outputs, tensors, loss_inputs)), _of_arguments(found), new_aux)

    return step


class Halves:
    """Forward and backward of a plan as two functions, for who calls them one by one.

    Parameters
    ----------
    joint
        The code of both.
    draws
        Whether forward draws random numbers.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.executor import Target, lower
    >>> net = mx.sym.LinearRegressionOutput(mx.sym.var("x") * mx.sym.var("w"), mx.sym.var("y"))
    >>> halves = explicit_halves(lower(net.graph, Target(training=True)), (1,))
    >>> x, w, y = torch.tensor([[3.0]]), torch.tensor([[2.0]]), torch.tensor([[5.0]])
    >>> (outputs, _, _), kept = halves.forward(None, [x, w, y])
    >>> outputs, halves.backward(kept)
    ((tensor([[6.]]),), (tensor([[3.]]),))
    """

    def __init__(self, joint: _Joint, draws: bool) -> None:
        first, second = fx.Graph(), fx.Graph()
        places: dict[fx.Node, fx.Node] = {}
        steps = list(joint.code.nodes)
        for step in steps[: joint.forward]:
            places[step] = first.node_copy(step, places.__getitem__)
        behind = steps[joint.forward :]
        kept = dict.fromkeys(each for step in behind for each in step.all_input_nodes if each in places)
        first.output((_places_of(joint.results, places), tuple(places[each] for each in kept)))
        given = {each: second.placeholder(each.name) for each in kept}
        for step in behind:
            given[step] = second.node_copy(step, given.__getitem__)
        second.output(_places_of(joint.gradients, given))
        self._forward = fx.GraphModule({}, first).forward
        self._backward = fx.GraphModule({}, second).forward
        self._draws = draws

    def forward(self, source: Source | None, tensors: Sequence[Tensor]) -> tuple[Values, Sequence[Tensor]]:
        """Return what the plan returns, and what `backward` takes."""
        values, kept = self._forward(source, *tensors) if self._draws else self._forward(*tensors)
        return values, kept

    def backward(self, kept: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
        """Return the gradients."""
        return _of_arguments(self._backward(*kept))


def explicit_halves(plan: Plan, wanted: tuple[int, ...]) -> Halves | None:
    """Return forward and backward of a plan as two functions; None where an operator has no derivative."""
    joint = _joint(plan, wanted)
    return None if joint is None else Halves(joint, plan.draws)


def _places_of(tree: Any, places: Mapping[fx.Node, fx.Node]) -> Any:
    """Return results with their nodes replaced by others."""
    return fx.node.map_arg(tree, places.__getitem__)


def _of_arguments(found: Sequence[Tensor | None]) -> tuple[Tensor | None, ...]:
    """Return gradients as arguments' arrays take them: they share no memory, and repeat no number."""
    return apart([each if each is None or each.is_contiguous() else each.contiguous() for each in found])


class _Joint(NamedTuple):
    """The code of forward and backward without its output."""

    code: fx.Graph
    forward: int  # how many of its nodes are forward's
    results: tuple[Any, ...]  # of forward: what a plan returns
    gradients: tuple[fx.Node | None, ...]


def _joint(plan: Plan, wanted: tuple[int, ...]) -> _Joint | None:
    """Return a plan's code with backward behind it; None where an operator has no derivative."""
    if plan.recomputed or plan.target.spans_devices or not plan.target.training:
        return None
    code = fx.Graph()
    results: Any = code.graph_copy(plan.code.graph, {})
    outputs, _, loss_inputs = results
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
            for i, each in enumerate(sources):
                if each in depending:
                    part = code.call_function(operator.getitem, (found, i))
                    labels.append((each, part)) if i else add(each, part)
    for step in reversed(forward):
        gradient = gradients.get(step)
        if gradient is None or step.op == "placeholder":
            continue
        if step.target is operator.getitem:
            call, position = step.args
            if position != 0:
                return None
            add(call, gradient)
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
    return _Joint(code, len(forward), results, tuple(map(gradients.get, leaves)))


def _depending(steps: Sequence[fx.Node], leaves: Sequence[fx.Node]) -> set[fx.Node]:
    """Return the steps through which gradients go to `leaves`: what is computed from these, and they themselves."""
    found = set(leaves)
    for step in steps:
        node = step.meta.get("node")
        if not found.isdisjoint(step.all_input_nodes) and (node is None or not blocks(node)):
            found.add(step)
    return found
