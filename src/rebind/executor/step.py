"""A whole training step as one pure function, composed of forward, backward and update.

::

    arguments, auxiliary states, head gradients, optimizer states, rates, seed
        -> outputs, gradients, new auxiliary states, new weights, new optimizer states

These are what the default mode runs one by one, as `Executor.forward`, `Executor.backward` and
`Optimizer.update`. Here they are one function of tensors, without side effects, which `torch.compile` takes whole.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, ParamSpec, Protocol, TypeVar

import torch
from torch import Tensor

from .._torch.compiler import dynamo_settings
from ..draws import Source
from ..flags import flag
from ..grad_mode import grad_mode
from ..graph import Facts, Graph, Target
from ..graph.passes import Compiler
from .backward import Backward, Record, dealiased
from .compiling import compile_whole
from .lower import Plan, lower

__all__ = ["Gradients", "Outputs", "Step", "StepResult", "UpdatePart", "compiled", "make_step"]

P = ParamSpec("P")
R = TypeVar("R")
States = TypeVar("States")
Rates_contra = TypeVar("Rates_contra", contravariant=True)


class UpdatePart(Protocol[States, Rates_contra]):
    """The update part: an optimizer's rule on tensors, as `Optimizer.update_part` returns it."""

    def __call__(
        self, weights: Sequence[Tensor], grads: Sequence[Tensor], states: States, rates: Rates_contra, /
    ) -> tuple[Sequence[Tensor], States]:
        """Return new weights and new states; rates are what changes from step to step, as tensors."""
        ...


class Outputs(NamedTuple):
    """The results of a forward pass."""

    outputs: tuple[Tensor, ...]
    new_aux: tuple[Tensor | None, ...]  # None: unchanged


class Gradients(NamedTuple):
    """What forward and backward give together."""

    outputs: tuple[Tensor, ...]
    gradients: tuple[Tensor | None, ...]  # of the arguments at `Step.wanted`
    new_aux: tuple[Tensor | None, ...]

    def with_own_memory(self) -> Gradients:
        """Give each gradient memory of its own: compiled code returns that of ``x + y`` twice.

        >>> ones = torch.ones(1)
        >>> found = Gradients((), (ones, ones), ()).with_own_memory().gradients
        >>> found[0] is ones, found[1] is ones
        (True, False)
        """
        return self._replace(gradients=dealiased(self.gradients))


class StepResult(NamedTuple):
    """The results of a whole step."""

    outputs: tuple[Tensor, ...]
    gradients: tuple[Tensor | None, ...]
    new_aux: tuple[Tensor | None, ...]
    new_weights: Sequence[Tensor]
    new_states: object  # of the kind that `update_part` takes; Python 3.10 has no generic named tuples


@dataclass(frozen=True)
class Step:
    """Forward and backward of a network, and which arguments get gradients.

    Attributes
    ----------
    forward_part, backward_part
        As `lower` and `Backward.of` make them.
    wanted
        The positions of the arguments that get gradients.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.LinearRegressionOutput(mx.sym.var("w") * mx.sym.var("x"), mx.sym.var("y"))
    >>> step = make_step(net.graph, Target(training=True), wanted=[0])
    >>> w, x, y = torch.tensor([[1.0]]), torch.tensor([[2.0]]), torch.tensor([[0.0]])
    >>> def halve(weights, grads, states, rates):
    ...     return [weight - rates * grad for weight, grad in zip(weights, grads)], states
    >>> result = step([w, x, y], [], halve, None, torch.tensor(0.25))
    >>> result.gradients, result.new_weights
    ((tensor([[4.]]),), [tensor([[0.]])])
    """

    forward_part: Plan
    backward_part: Backward
    wanted: tuple[int, ...]

    def forward(
        self, arguments: Sequence[Tensor], auxiliary: Sequence[Tensor] = (), seed: Tensor | None = None
    ) -> Outputs:
        """Return the outputs, and the new auxiliary states.

        Parameters
        ----------
        arguments, auxiliary
            In the order of ``list_arguments()`` and ``list_auxiliary_states()``.
        seed
            For a step that draws: an int64 tensor without axes. All that is drawn follows from it.

        Examples
        --------
        >>> import rebind as mx
        >>> step = make_step((mx.sym.var("x") * 2).graph, Target())
        >>> step.forward([torch.ones(2)]).outputs
        (tensor([2., 2.]),)
        """
        with grad_mode(False):
            outputs, new_aux, _ = self.forward_part(seed, [*arguments, *auxiliary])
        return Outputs(outputs, new_aux)

    def forward_backward(
        self,
        arguments: Sequence[Tensor],
        auxiliary: Sequence[Tensor] = (),
        head_grads: Sequence[Tensor | None] | None = None,
        seed: Source | None = None,
        added_to: Sequence[Tensor | None] | None = None,
    ) -> Gradients:
        """Return outputs, the gradients of the arguments at `wanted`, and new auxiliary states.

        `head_grads` and `added_to` are those of `Backward`.

        >>> import rebind as mx
        >>> step = make_step((mx.sym.var("x") ** 2).graph, Target(training=True), wanted=[0])
        >>> step.forward_backward([torch.tensor([3.0])], head_grads=[torch.ones(1)]).gradients
        (tensor([6.]),)
        """
        tensors = list(arguments)
        with grad_mode(True):
            for i in self.wanted:
                # Leaves of their own: gradients stop at the arguments.
                tensors[i] = tensors[i].detach().requires_grad_()
            outputs, new_aux, loss_inputs = self.forward_part(seed, [*tensors, *auxiliary])
        leaves = [tensors[i] for i in self.wanted]
        gradients = self.backward_part(Record(outputs, loss_inputs, tensors), leaves, head_grads, added_to)
        # What comes out is data: nothing of the pass is held by it.
        return Gradients(
            tuple(output.detach() for output in outputs),
            gradients,
            tuple(None if value is None else value.detach() for value in new_aux),
        )

    def __call__(
        self,
        arguments: Sequence[Tensor],
        auxiliary: Sequence[Tensor],
        update_part: UpdatePart[States, Rates_contra],
        states: States,
        rates: Rates_contra,
        head_grads: Sequence[Tensor | None] | None = None,
        seed: Source | None = None,
    ) -> StepResult:
        """Run forward, backward, and the update of the arguments at `wanted`.

        Parameters
        ----------
        arguments, auxiliary, head_grads, seed
            As of `forward_backward`.
        update_part
            The optimizer's rule.
        states, rates
            What it takes: the optimizer's states, and learning rate, weight decay and count as tensors.
        """
        outputs, gradients, new_aux = self.forward_backward(arguments, auxiliary, head_grads, seed)
        # What is counted as a constant is updated from there, as the executor's array, which is filled with it.
        numbers = self.forward_part.constants
        weights = [
            torch.full_like(arguments[i], numbers[i]) if i in numbers else arguments[i] for i in self.wanted
        ]
        # What no output depends on has a gradient of zeros; weight decay acts on it all the same.
        grads = [
            torch.zeros_like(weight) if gradient is None else gradient
            for weight, gradient in zip(weights, gradients, strict=True)
        ]
        with grad_mode(False):
            new_weights, new_states = update_part(weights, grads, states, rates)
        return StepResult(outputs, gradients, new_aux, new_weights, new_states)


def make_step(graph: Graph, target: Target, wanted: Sequence[int] = (), facts: Facts | None = None) -> Step:
    """Return the step of a graph for a target.

    Parameters
    ----------
    graph
        The network.
    target
        With ``traced=True`` for a compiler.
    wanted
        The positions of the arguments that get gradients.
    facts
        Shapes and types, for the passes that use them.

    Examples
    --------
    >>> import rebind as mx
    >>> step = make_step(mx.sym.MakeLoss(mx.sym.var("x")).graph, Target(training=True), wanted=[0])
    >>> step.forward_backward([torch.tensor([3.0])]).gradients
    (tensor([1.]),)
    """
    plan = lower(graph, target, facts)
    return Step(plan, Backward.of(plan), tuple(wanted))


def compiled(function: Callable[P, R], backend: Compiler = "inductor", **options: object) -> Callable[P, R]:
    """Return a step, or one of its methods, compiled whole; its graph must be lowered with ``traced=True``.

    Dynamo follows gradients from PyTorch 2.12 on; before, it raises an error that says so when the step is called.

    Parameters
    ----------
    function
        `Step.forward`, `Step.forward_backward`, a `Step`, or a function of tensors that calls them.
    backend, **options
        For `torch.compile`.
    """
    fast = compile_whole(function, backend, **options)
    config = dynamo_settings()

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with flag(config, "trace_autograd_ops", True):  # `config.patch` would take 30 us a call
            return fast(*args, **kwargs)

    return call
