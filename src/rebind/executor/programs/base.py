"""What a program is: one way to run a bound graph, behind one interface."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple, Protocol, TypeVar

from torch import Tensor

from ...draws import Source
from ..bound import BoundArrays
from ..lower import Plan, Values
from ..observer import Observer, observed_call, run_observed
from ..step import Gradients

__all__ = [
    "ComputedGradients", "OnGradient", "Program", "Results", "WayBack", "names_of_nodes", "observed_piece",
    "run_forward",
]  # fmt: skip

T = TypeVar("T")

#: Called with the name of each argument whose gradient is in its array.
OnGradient = Callable[[str], None]


class WayBack(Protocol):
    """The way back out of a run: what `Executor.backward` calls, once."""

    def __call__(
        self, arrays: BoundArrays, head_grads: Sequence[Tensor | None], on_gradient: OnGradient | None
    ) -> None:
        """Compute the gradients of the arguments, and put them into their arrays."""
        ...


class ComputedGradients:
    """The way back where the gradients do not depend on head gradients, and autograd recorded nothing.

    Parameters
    ----------
    compute
        Returns the gradients of the arguments that get one, in memory of their own.
    """

    __slots__ = ("compute",)

    def __init__(self, compute: Callable[[], Sequence[Tensor | None]]) -> None:
        self.compute = compute

    def __call__(
        self, arrays: BoundArrays, head_grads: Sequence[Tensor | None], on_gradient: OnGradient | None
    ) -> None:
        """Put the gradients into their arrays."""
        arrays.receive_gradients(self.compute(), on_gradient)


class Results(NamedTuple):
    """What a run gives.

    Attributes
    ----------
    outputs
        The values of the outputs, ordinary tensors in memory that no input has.
    new_aux
        The new values of auxiliary states; None where one does not change.
    way_back
        None for a run that nothing can be differentiated through.
    """

    outputs: Sequence[Tensor]
    new_aux: Sequence[Tensor | None] = ()
    way_back: WayBack | None = None

    @classmethod
    def of(cls, found: Gradients) -> Results:
        """Return what forward and backward gave together, with the gradients on the way back."""
        return cls(found.outputs, found.new_aux, ComputedGradients(lambda: found.gradients))


class Program(ABC):
    """One way to run a bound graph.

    Parameters
    ----------
    plan
        What the graph was lowered to.

    Attributes
    ----------
    name
        What it is called, in `Executor.describe` and in the documentation.
    chosen_when
        When it is chosen, in one line.
    is_inference
        Whether there is no way back out of its runs.
    is_recorded
        Whether autograd records its runs.
    computes_gradients
        Whether it computes gradients with the outputs.
    """

    name: ClassVar[str]
    chosen_when: ClassVar[str]
    is_inference: ClassVar[bool] = False
    is_recorded: ClassVar[bool] = False
    computes_gradients: ClassVar[bool] = False

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @property
    def is_valid(self) -> bool:
        """Whether it may be run: no executor has found that its code cannot be compiled."""
        compiled = self.plan.compiled
        return compiled is None or compiled.failure is None

    def inputs(self, arrays: BoundArrays) -> list[Tensor] | None:
        """Return the tensors that it runs on; None where it cannot run on what the arrays are at this moment."""
        return arrays.tensors(self.plan.channels_last)

    @abstractmethod
    def run(
        self, inputs: Sequence[Tensor], source: Source | None, observer: Observer | None = None
    ) -> Results:
        """Run it.

        Parameters
        ----------
        inputs
            What `inputs` returned.
        source
            Where random numbers come from; None if it draws none.
        observer
            What is notified of each operator.
        """

    def explain(self, error: Exception) -> Exception:
        """Return `error`, which a run raised, as one that names the node that failed and its inputs."""
        return self.plan.explain(error)


def run_forward(
    plan: Plan,
    inputs: Sequence[Tensor],
    source: Source | None,
    observer: Observer | None,
    *,
    infer: bool = False,
) -> Values:
    """Run a plan, node by node where an observer is notified of each.

    Compiled code is one piece. With `infer` nothing is differentiated: see `Plan.infer`.
    """
    run = functools.partial(plan.infer if infer else plan, source, inputs)
    if observer is None:
        return run()
    if plan.compiled is not None:
        return observed_piece(observer, plan, inputs, run)
    given = [source, *inputs] if plan.draws else inputs
    values: Values = run_observed(plan.code, observer, given, plan.target.training)
    return values


def observed_piece(
    observer: Observer | None, plan: Plan, inputs: Sequence[Tensor], run: Callable[[], T]
) -> T:
    """Run all that a plan computes as one piece, and notify an observer of it, if there is one.

    >>> import rebind as mx
    >>> from rebind.executor import Target, lower
    >>> observed_piece(None, lower(mx.sym.exp(mx.sym.var("x")).graph, Target()), [], lambda: 5)
    5
    """
    if observer is None:
        return run()
    names = names_of_nodes(plan)
    piece = " ... ".join(dict.fromkeys([*names[:1], *names[-1:]]))
    return observed_call(observer, piece, "compiled", inputs, run, plan.target.training, names)


def names_of_nodes(plan: Plan) -> tuple[str, ...]:
    """Return the names of the nodes that a plan computes, in order.

    >>> import rebind as mx
    >>> from rebind.executor import Target, lower
    >>> net = mx.sym.exp(mx.sym.sin(mx.sym.var("x"), name="sin"), name="exp")
    >>> names_of_nodes(lower(net.graph, Target()))
    ('sin', 'exp')
    """
    return tuple(step.meta["node"].name for step in plan.code.graph.nodes if "node" in step.meta)
