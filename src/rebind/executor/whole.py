"""Forward and backward in one call, for who announces that backward will follow; and, compiled, the update with them.

Where autograd runs compiled code, it calls it twice, and keeps in between what backward needs. One call does without
autograd: what is quick to compute gains most. It needs that backward is given no head gradients, as after losses.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
import types
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from ..draws import Source
from ..grad_mode import grad_mode
from .backward import Backward, apart
from .compiling import CompiledCode, with_results_of_its_own
from .exact import ExactCode, FirstSizes, tensors_in
from .explicit import Halves, explicit_halves, explicit_step
from .lower import Plan
from .outputs import detached
from .step import Gradients, Step, UpdatePart, compiled

__all__ = [
    "Update",
    "UpdatingAgain",
    "UpdatingStep",
    "WholeStep",
    "is_of_compiler",
    "two_halves",
    "updating_step",
    "whole_step",
]

F = TypeVar("F", bound=Callable[..., Any])

#: From arguments and auxiliary states, and where random numbers come from, to outputs, gradients and new states.
WholeStep = Callable[[Sequence[Tensor], "Source | None"], Gradients]

_numbers = itertools.count()


class JoinedPart(UpdatePart[Any, Any], Protocol):
    """A rule whose settings, which are constants of compiled code, may change."""

    @property
    def settings(self) -> tuple[object, ...]:
        """What it depends on besides its arguments."""
        ...


class Update(Protocol):
    """An update of arguments by their gradients that may be compiled with forward and backward."""

    @property
    def steps(self) -> MutableMapping[CompiledCode, UpdatingStep | None]:
        """What was compiled with it; None for a network that is not to be compiled so."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """The arguments, in their order."""
        ...

    @property
    def part(self) -> JoinedPart:
        """The rule."""
        ...

    def begin(self) -> tuple[Any, Any]:
        """Count an update; return the states, whose tensors are written in place, and the rates."""
        ...

    def finish(self, states: Any, rates: Any) -> None:
        """Make the update that was begun, by the gradients in their arrays."""
        ...


def whole_step(plan: Plan, wanted: tuple[int, ...]) -> WholeStep | None:
    """Return forward and backward of a plan as one function, made once; None where that does not go.

    That of a compiled plan is compiled; any other is code without autograd (`explicit_step`).

    Parameters
    ----------
    plan
        For training.
    wanted
        The positions of the arguments that get gradients.

    Examples
    --------
    >>> import torch, rebind as mx
    >>> from rebind.executor import Target, lower
    >>> target = Target(training=True, backend="eager", traced=True)
    >>> step = whole_step(lower(mx.sym.MakeLoss(mx.sym.var("x") ** 2).graph, target), (0,))
    >>> step([torch.tensor([3.0])], None).gradients
    (tensor([6.]),)
    """
    steps = plan.steps
    if wanted not in steps:
        make = explicit_step if plan.compiled is None else _compile
        steps[wanted] = make(plan, wanted) if wanted and not _needs_head_gradients(plan, wanted) else None
    return steps[wanted]


def two_halves(plan: Plan, wanted: tuple[int, ...]) -> Halves | None:
    """Return forward and backward of a plan that is not compiled as two functions without autograd, made once.

    None where that does not go.

    >>> import rebind as mx
    >>> from rebind.executor import Target, lower
    >>> nets = (mx.sym.MakeLoss(mx.sym.var("x") ** 2), mx.sym.MakeLoss(mx.sym.square(mx.sym.var("x"))))
    >>> [two_halves(lower(net.graph, Target(training=True)), (0,)) is None for net in nets]
    [True, False]
    """
    if wanted not in plan.halves:
        goes = wanted and plan.compiled is None and not _needs_head_gradients(plan, wanted)
        plan.halves[wanted] = explicit_halves(plan, wanted) if goes else None
    found: Halves | None = plan.halves[wanted]
    return found


def _needs_head_gradients(plan: Plan, wanted: tuple[int, ...]) -> bool:
    pairs = zip(plan.losses, plan.head_gradient_reaches, strict=True)
    return any(loss is None and not set(wanted).isdisjoint(reached) for loss, reached in pairs)


def _compile(plan: Plan, wanted: tuple[int, ...]) -> WholeStep:
    assert plan.compiled is not None
    step = Step(dataclasses.replace(plan, compiled=None), Backward.of(plan), wanted)

    def whole(tensors: Sequence[Tensor], source: Source | None) -> Gradients:
        return step.forward_backward(tensors, seed=source)

    exact = FirstSizes(whole, plan.compiled.compiler)
    fast = compiled(_with_own_code(whole), backend=plan.compiled.compiler)
    fast = with_results_of_its_own(fast, plan.compiled.compiler)

    def call(tensors: Sequence[Tensor], source: Source | None) -> Gradients:
        exactly = exact.run(tensors, source)
        found = _apart(fast(tensors, source) if exactly is None else Gradients(*exactly))
        # None of what exact code returns is in the memory of an input.
        known = None if exactly is None else ()
        return found._replace(outputs=tuple(detached(found.outputs, tensors, [known] * len(found.outputs))))

    return call


def _apart(found: Gradients) -> Gradients:
    """Give each gradient memory of its own: compiled code returns that of ``x + y`` twice."""
    return found._replace(gradients=apart(found.gradients))


def _with_own_code(function: F) -> F:
    """Return a copy of a function: the compiler counts, and limits, what it makes of one code."""
    code = function.__code__.replace(co_name=f"{function.__name__}{next(_numbers)}")
    return types.FunctionType(code, function.__globals__, code.co_name, None, function.__closure__)  # type: ignore[return-value]  # the same


def updating_step(plan: Plan, wanted: tuple[int, ...], update: Update) -> UpdatingStep | None:
    """Return forward, backward and update of a compiled plan as one function, made once for an update.

    The arguments that get gradients, at the positions `wanted`, are those that are updated. They and the states are
    written in place. None where that does not go.
    """
    assert plan.compiled is not None
    if plan.compiled not in update.steps:
        goes = wanted and not plan.compiled.keeps_memory and not _needs_head_gradients(plan, wanted)
        update.steps[plan.compiled] = UpdatingStep(plan, wanted, update.part) if goes else None
    return update.steps[plan.compiled]


class UpdatingStep:
    """Forward, backward and update of a compiled plan as one function, which writes weights and states in place.

    Parameters
    ----------
    plan
        For training, and compiled.
    wanted
        The positions of the arguments that get gradients, and are updated.
    part
        The rule.
    """

    def __init__(self, plan: Plan, wanted: tuple[int, ...], part: JoinedPart) -> None:
        assert plan.compiled is not None
        step = Step(dataclasses.replace(plan, compiled=None), Backward.of(plan), wanted)

        def updating(
            part: JoinedPart, states: Any, rates: Any, tensors: Sequence[Tensor], source: Source | None
        ) -> Gradients:
            found = step(tensors, (), part, states, rates, seed=source)
            # An output may be an argument, or a view of one, as it was before the update.
            outputs = tuple(output.clone() for output in found.outputs)
            with grad_mode(False):
                _write(([tensors[i] for i in wanted], states), (found.new_weights, found.new_states))
            return Gradients(outputs, found.gradients, found.new_aux)

        self._wanted, self._draws = wanted, plan.draws
        self._part, self._settings = part, part.settings
        self._exact = FirstSizes(functools.partial(updating, part), plan.compiled.compiler)
        self._fast = compiled(_with_own_code(updating), backend=plan.compiled.compiler)

    def __call__(
        self, states: Any, rates: Any, tensors: Sequence[Tensor], source: Source | None
    ) -> Gradients:
        """Run it.

        Parameters
        ----------
        states, rates
            As `Update.begin` returns them.
        tensors, source
            Arguments and auxiliary states, and where random numbers come from.
        """
        exactly = self._exact.run(states, rates, tensors, source) if self.has_its_settings else None
        if exactly is None:
            found = self._fast(self._part, states, rates, tensors, source)
        else:
            found = Gradients(*exactly)
        self.note_written(tensors)
        return _apart(found)

    @property
    def has_its_settings(self) -> bool:
        """Whether the optimizer's settings are those of the exact code, whose constants they are."""
        return self._part.settings == self._settings

    def note_written(self, tensors: Sequence[Tensor]) -> None:
        """Note that weights among the tensors that it ran on were written."""
        # What is kept from run to run is computed anew where a version is new.
        torch.autograd.graph.increment_version([tensors[i] for i in self._wanted])

    def are_newer(self, tensors: Sequence[Tensor], versions: Sequence[int]) -> bool:
        """Return whether weights have newer versions than these of the tensors."""
        return all(tensors[i]._version > versions[i] for i in self._wanted)

    def again(self, states: Any, tensors: Sequence[Tensor]) -> UpdatingAgain | None:
        """Return what runs it on the same states and tensors again; None where there is no exact code for them."""
        code, before = self._exact.code, tensors_in(states)
        if code is None:
            return None
        # Rates are between them, and a seed may follow.
        position = len(code) - len(tensors) - self._draws
        if not (code.takes_at(0, before) and code.takes_at(position, tensors)):
            return None
        return UpdatingAgain(self, code, before, tensors)


class UpdatingAgain:
    """An `UpdatingStep` on states and tensors that were looked at: each run takes what changes, and no other look.

    Parameters
    ----------
    step, code
        What runs.
    states, tensors
        What it runs on.
    """

    def __init__(
        self, step: UpdatingStep, code: ExactCode, states: Sequence[Tensor], tensors: Sequence[Tensor]
    ) -> None:
        self._step, self._code, self._states, self._tensors = step, code, states, tensors
        # What the code's results share, and what it notes, is the same in each run: it is seen in the first.
        self._are_apart = self._notes_writing = self._ran = False

    def holds(self) -> bool:
        """Return whether the optimizer's settings are those of the code."""
        return self._step.has_its_settings

    def __call__(self, rates: Any, source: Source | None) -> Gradients:
        """Run it."""
        versions = [] if self._ran else [each._version for each in self._tensors]
        inputs = [*self._states, *tensors_in(rates), *self._tensors, *tensors_in((source,))]
        found = Gradients(*self._code(inputs))
        if not self._ran:
            self._ran = True
            self._notes_writing = self._step.are_newer(self._tensors, versions)
            self._are_apart = all(map(operator.is_, apart(found.gradients), found.gradients))
        if not self._notes_writing:
            self._step.note_written(self._tensors)
        return found if self._are_apart else _apart(found)


def _write(targets: Any, values: Any) -> None:
    """Write tensors into those of a tree of the same form."""
    if isinstance(targets, Tensor):
        targets.copy_(values)
    elif targets is not None:
        for target, value in zip(targets, values, strict=True):
            _write(target, value)


def is_of_compiler(error: Exception) -> bool:
    """Return whether an error is one of compiling, or of tracing, so that nothing was computed and written yet.

    >>> is_of_compiler(ValueError())
    False
    """
    known = torch._dynamo.exc
    return isinstance(error, (known.TorchDynamoException, getattr(known, "FailOnRecompileLimitHit", ())))
