"""Observers: what is notified of each operator while a program runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from torch import Tensor, fx

from ..graph import Node
from ..nested import map_leaves
from ..observing import observing
from .stepwise import Stepwise

__all__ = ["Observation", "Observer", "current_observer", "observed_call", "run_observed"]

T = TypeVar("T")


class Observation(NamedTuple):
    """One call of an operator, or of a piece of compiled code.

    Attributes
    ----------
    name
        The node's name, such as ``fc1``, and ``fc1_backward`` for its derivatives; of compiled code the names of the
        first and the last of its nodes; ``backward`` for all that autograd runs backward.
    operator
        The operator's name, and ``_backward_FullyConnected`` for its derivatives; ``compiled`` and ``autograd`` for
        pieces.
    inputs, outputs
        Tensors, or None for what is absent.
    begin, end
        The observer's clock before and after.
    training
        Whether the network runs in training mode.
    nodes
        The names of the nodes that compiled code was made of.
    """

    name: str
    operator: str
    inputs: Sequence[Tensor | None]
    outputs: Sequence[Tensor | None]
    begin: float
    end: float
    training: bool
    nodes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """How long it took, by the observer's clock."""
        return self.end - self.begin


class Observer:
    """Is notified of each operator that a program runs; a subclass overrides the methods.

    >>> import rebind as mx
    >>> class Names(Observer):
    ...     def after(self, observation, node):
    ...         print(observation.name, observation.operator, tuple(observation.outputs[0].shape))
    >>> exe = mx.sym.exp(mx.sym.var("x"), name="e").simple_bind(mx.cpu(), x=(2,))
    >>> exe.set_observer(Names())
    >>> _ = exe.forward()
    e exp (2,)
    """

    #: Whether it is to see the network as the user wrote it, in place of what passes made of it.
    as_written = False

    def is_active(self) -> bool:
        """Whether the next run is to be observed; asked before each."""
        return True

    def clock(self) -> float:
        """Return the time in seconds: the processor's; a GPU may still compute what was called before."""
        return time.perf_counter()

    def begin_run(self, runner: object, direction: str) -> None:
        """Take notice that a runner begins to run ``'forward'`` or ``'backward'``."""

    def end_run(self) -> None:
        """Take notice that it has ended; not called after an error."""

    def before(self, node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
        """Return what the operator is to be called with: `inputs`, or aliases of them."""
        return inputs

    def after(self, observation: Observation, node: Node | None) -> None:
        """Take notice of a call; `node` is None for a piece of several operators."""


class _Both(Observer):
    """Two observers as one; each operator is called with what both return."""

    def __init__(self, first: Observer, second: Observer) -> None:
        self._both = (first, second)
        self.as_written = first.as_written or second.as_written

    def clock(self) -> float:
        return self._both[1].clock()

    def begin_run(self, runner: object, direction: str) -> None:
        for each in self._both:
            each.begin_run(runner, direction)

    def end_run(self) -> None:
        for each in reversed(self._both):
            each.end_run()

    def before(self, node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
        first, second = self._both
        return second.before(node, first.before(node, inputs))

    def after(self, observation: Observation, node: Node | None) -> None:
        second, first = self._both[1], self._both[0]
        second.after(observation, node)  # what the first one does is not to be in the second one's times
        first.after(observation, node)


def current_observer(own: Observer | None) -> Observer | None:
    """Return what observes the next run of an executor: its own observer, and that of the process.

    >>> current_observer(None) is None
    True
    """
    if own is not None and not own.is_active():
        own = None
    everywhere: Observer | None = observing.programs
    if everywhere is None or own is None:
        return own or everywhere
    return _Both(own, everywhere)


class _Observed(Stepwise):
    """Runs code node by node, and tells an observer of each operator."""

    def __init__(self, code: fx.GraphModule, observer: Observer, training: bool) -> None:
        super().__init__(code)
        self._observer, self._training = observer, training

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one step, and tell of it if it is an operator: others pick one of several results."""
        node: Node | None = self.step.meta.get("node")
        of: Node | None = self.step.meta.get("gradient_of")
        if node is not None and node.operator is not None:
            args = tuple(self._observer.before(node, args))
            name, operator = node.name, node.operator.name
        elif of is not None and of.operator is not None:
            name, operator = f"{of.name}_backward", f"_backward_{of.operator.name}"
        else:
            return self.compute(target, args, kwargs)
        begin = self._observer.clock()
        result = self.compute(target, args, kwargs)
        end = self._observer.clock()
        outputs = (result,) if result is None or isinstance(result, Tensor) else tuple(result)
        observation = Observation(name, operator, args, outputs, begin, end, self._training)
        self._observer.after(observation, node)
        return result


def run_observed(code: fx.GraphModule, observer: Observer, inputs: Sequence[Any], training: bool) -> Any:
    """Run code node by node, and tell an observer of each operator."""
    return _Observed(code, observer, training).run(*inputs)


def observed_call(
    observer: Observer | None,
    name: str,
    operator: str,
    inputs: Sequence[Any],
    call: Callable[[], T],
    training: bool,
    nodes: tuple[str, ...] = (),
) -> T:
    """Call a piece of several operators, and tell an observer of it, if there is one.

    >>> observed_call(None, "piece", "compiled", [], lambda: 5, training=False)
    5
    """
    if observer is None:
        return call()
    begin = observer.clock()
    result = call()
    end = observer.clock()
    outputs: list[Tensor] = []
    map_leaves(lambda leaf: outputs.append(leaf) if isinstance(leaf, Tensor) else None, result)
    observation = Observation(name, operator, inputs, outputs, begin, end, training, nodes)
    observer.after(observation, None)
    return result
