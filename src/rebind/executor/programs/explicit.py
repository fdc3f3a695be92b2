"""Forward and backward of a network as straight-line code, by its operators' own derivatives, without autograd.

What autograd adds to an operator, when it records it and when it runs it backward, is more than a small operator
takes: of a step of a small perceptron of three layers a fifth, of one that takes 3 ms a twentieth. Where each operator
on the way from a loss to a parameter declares its derivatives (`Operator.derivative`), backward is calls of these
behind the calls of forward, with the same numbers.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, fx

from ...draws import Source
from ...grad_mode import grad_mode
from ..backward import dealiased, loss_gradients
from ..gradient_flow import blocks
from ..lower import Plan, Values
from ..observer import Observer, run_observed
from ..outputs import detached
from .base import ComputedGradients, Program, Results

__all__ = ["ExplicitCode", "ExplicitProgram", "NoDerivativeError"]


class NoDerivativeError(Exception):
    """Says why a network has no explicit derivatives."""


class ExplicitProgram(Program):
    """Forward and backward as straight-line code, without autograd.

    Parameters
    ----------
    plan
        For training; what its outputs need is no head gradient.
    code
        Its forward and backward; see `ExplicitCode.of`.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.executor import Target, lower
    >>> net = mx.sym.LinearRegressionOutput(mx.sym.var("x") * mx.sym.var("w"), mx.sym.var("y"))
    >>> plan = lower(net.graph, Target(training=True))
    >>> program = ExplicitProgram(plan, ExplicitCode.of(plan, (1,)))
    >>> results = program.run([torch.tensor([[3.0]]), torch.tensor([[2.0]]), torch.tensor([[5.0]])], None)
    >>> results.outputs, results.way_back.compute()
    ([tensor([[6.]])], (tensor([[3.]]),))
    """

    name = "explicit"
    chosen_when = (
        "training of a small network that ends in losses and whose operators declare their derivatives"
    )

    def __init__(self, plan: Plan, code: ExplicitCode) -> None:
        super().__init__(plan)
        self._code = code

    def run(
        self, inputs: Sequence[Tensor], source: Source | None, observer: Observer | None = None
    ) -> Results:
        """Run forward."""
        with grad_mode(False):
            (outputs, new_aux, loss_inputs), saved = self._code.forward(source, inputs, observer)
            compute = functools.partial(self._code.backward, saved, observer)
            return Results(detached(outputs, inputs, loss_inputs), new_aux, ComputedGradients(compute))


class ExplicitCode:
    """Forward and backward of a plan as two functions without autograd. Made by `of`.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.executor import Target, lower
    >>> net = mx.sym.LinearRegressionOutput(mx.sym.var("x") * mx.sym.var("w"), mx.sym.var("y"))
    >>> code = ExplicitCode.of(lower(net.graph, Target(training=True)), (1,))
    >>> x, w, y = torch.tensor([[3.0]]), torch.tensor([[2.0]]), torch.tensor([[5.0]])
    >>> (outputs, _, _), saved = code.forward(None, [x, w, y])
    >>> outputs, code.backward(saved)
    ((tensor([[6.]]),), (tensor([[3.]]),))
    """

    def __init__(self, forward: fx.Graph, backward: fx.Graph, draws: bool) -> None:
        self._forward, self._backward = fx.GraphModule({}, forward), fx.GraphModule({}, backward)
        self._run_forward, self._run_backward = self._forward.forward, self._backward.forward
        self._draws = draws

    @classmethod
    def of(cls, plan: Plan, wanted: tuple[int, ...]) -> ExplicitCode:
        """Return the code for the gradients of the arguments at some positions.

        Raises
        ------
        NoDerivativeError
            Where there is none: an operator on the way may have no derivative of its own.
        """
        if plan.recomputed:
            raise NoDerivativeError("results are computed again in backward (recompute)")
        if plan.target.spans_devices:
            raise NoDerivativeError("its operators are on several devices")
        if not plan.is_dense:
            raise NoDerivativeError("not all arrays are dense")
        if not plan.target.training:
            raise NoDerivativeError("it runs in inference mode")
        writer = _BackwardWriter(plan, wanted)
        backward = writer.write()
        forward = fx.Graph()
        copies: dict[fx.Node, fx.Node] = {}
        results = forward.graph_copy(plan.code.graph, copies)
        forward.output((results, tuple([copies[step] for step in writer.read])))
        return cls(forward, backward, plan.draws)

    def forward(
        self, source: Source | None, tensors: Sequence[Tensor], observer: Observer | None = None
    ) -> tuple[Values, Sequence[Tensor]]:
        """Return what the plan returns, and what `backward` takes."""
        if observer is not None:
            given = [source, *tensors] if self._draws else tensors
            values, saved = run_observed(self._forward, observer, given, training=True)
        elif self._draws:
            values, saved = self._run_forward(source, *tensors)
        else:
            values, saved = self._run_forward(*tensors)
        return values, saved

    def backward(
        self, saved: Sequence[Tensor], observer: Observer | None = None
    ) -> tuple[Tensor | None, ...]:
        """Return the gradients, which share no memory, and repeat no number."""
        with grad_mode(False):
            if observer is None:
                gradients = self._run_backward(*saved)
            else:
                gradients = run_observed(self._backward, observer, saved, training=True)
        return dealiased([g if g is None or g.is_contiguous() else g.contiguous() for g in gradients])


class _BackwardWriter:
    """Writes backward of a plan's code, whose inputs are the results of forward that it reads."""

    def __init__(self, plan: Plan, wanted: tuple[int, ...]) -> None:
        self._plan, self._code = plan, fx.Graph()
        self._steps = [step for step in plan.code.graph.nodes if step.op != "output"]
        inputs = plan.code.graph.find_nodes(op="placeholder")
        self._leaves = [
            inputs[i + plan.draws] for i in wanted
        ]  # what numbers are drawn from is the first input
        self._depending = _depending(self._steps, self._leaves)
        self._gradients: dict[fx.Node, fx.Node] = {}
        self._inputs: dict[fx.Node, fx.Node] = {}

    @property
    def read(self) -> list[fx.Node]:
        """The steps of forward whose results are read, in the order of the inputs."""
        return [*reversed(self._inputs)]

    def write(self) -> fx.Graph:
        """Write it."""
        labels = self._start_from_losses()
        for step in reversed(self._steps):
            if step in self._gradients and step.op != "placeholder":
                self._go_back(step, self._gradients[step])
        for label, gradient in labels:
            # Of most losses it is None, which cannot be added to others, nor handed on.
            if label not in self._leaves or label in self._gradients:
                raise NoDerivativeError("a loss has a label that is computed")
            self._gradients[label] = gradient
        self._code.output(tuple(map(self._gradients.get, self._leaves)))
        return self._code

    def _read(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return inputs in the place of results of forward."""
        return fx.node.map_arg(results, self._input)

    def _input(self, step: fx.Node) -> fx.Node:
        if step not in self._inputs:
            with self._code.inserting_before():  # all that is there
                self._inputs[step] = self._code.placeholder(step.name)
        return self._inputs[step]

    def _add(self, step: fx.Node, gradient: fx.Node) -> None:
        before = self._gradients.get(step)
        self._gradients[step] = (
            gradient if before is None else self._code.call_function(torch.add, (before, gradient))
        )

    def _start_from_losses(self) -> list[tuple[fx.Node, fx.Node]]:
        """Write the gradients of the losses' inputs; return those of labels, which may be None."""
        values: Any = self._plan.code.graph.output_node().args[0]
        outputs, _, loss_inputs = values
        labels: list[tuple[fx.Node, fx.Node]] = []
        for output, loss, sources in zip(outputs, self._plan.losses, loss_inputs, strict=True):
            if loss is None:
                if output in self._depending:  # a loss may be on the way, and give what its rule says
                    raise NoDerivativeError("an output behind a loss is no loss")
            elif not self._depending.isdisjoint(sources):
                rule = types.MethodType(loss_gradients, loss)
                gradients = self._code.call_function(rule, self._read((output, *sources)))
                gradients.meta["gradient_of"] = loss.node
                for i, source in enumerate(sources):
                    if source in self._depending:
                        part = self._code.call_function(operator.getitem, (gradients, i))
                        labels.append((source, part)) if i else self._add(source, part)
        return labels

    def _go_back(self, step: fx.Node, gradient: fx.Node) -> None:
        """Write the gradients of a step's inputs."""
        if step.target is operator.getitem:
            call, position = step.args
            if position != 0:
                raise NoDerivativeError("the second output of an operator is used")
            assert isinstance(call, fx.Node)
            self._add(call, gradient)
            return
        node = step.meta["node"]
        signature = node.operator.signature
        if signature.variadic:
            raise NoDerivativeError(f"the operator {node.operator.name} takes any number of inputs")
        # What is absent at the end is left out.
        for name, source in zip(signature.input_names, step.args, strict=False):
            if source in self._depending:
                rule = node.operator.kernels.derivative_of(name, node.params)
                if rule is None:
                    raise NoDerivativeError(f"the operator {node.operator.name} declares no derivative")
                bound = types.MethodType(rule, node.params)
                derivative = self._code.call_function(bound, (gradient, *self._read((step, *step.args))))
                derivative.meta["gradient_of"] = node
                self._add(source, derivative)  # type: ignore[arg-type]  # it is in `_depending`, a set of nodes


def _depending(steps: Sequence[fx.Node], leaves: Sequence[fx.Node]) -> set[fx.Node]:
    """Return the steps through which gradients go to `leaves`: what is computed from these, and they themselves."""
    found = set(leaves)
    for step in steps:
        node = step.meta.get("node")
        if not found.isdisjoint(step.all_input_nodes) and (node is None or not blocks(node)):
            found.add(step)
    return found
