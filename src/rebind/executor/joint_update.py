"""Forward, backward and update in one call of compiled code, which writes weights and states in place."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Hashable, MutableMapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from .._torch.compiler import is_of_compiler
from ..draws import Source
from ..grad_mode import grad_mode
from ..ndarray.storage import DenseStorage
from ..nested import map_leaves
from .backward import Backward
from .bound import BoundArrays
from .compiling import CompiledCode, reason_of, with_own_code
from .fixed_shape import FixedShapeCode, ShapeSpecializer, reads_inputs_alone, tensors_in
from .lower import Plan
from .programs import Results
from .runner import Runner
from .step import Gradients, Step, UpdatePart, compiled

__all__ = ["BoundJointStep", "JointStep", "Update", "joint_step", "run_with_update"]


_shape_of = operator.attrgetter("shape")


class NotCompiledError(Exception):
    """A compiled step that failed and changed nothing; it says why."""


class JoinedPart(UpdatePart[Any, Any], Protocol):
    """A rule whose settings, which are constants of compiled code, may change."""

    @property
    def settings(self) -> tuple[object, ...]:
        """What it depends on besides its arguments."""
        ...


class Update(Protocol):
    """An update of arguments by their gradients that may be compiled with forward and backward."""

    @property
    def steps(self) -> MutableMapping[CompiledCode, JointStep | None]:
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


def joint_step(runner: Runner, update: Update) -> JointStep | None:
    """Return forward, backward and an update of a network as one function, made once for an update; None without one.

    The network must be compiled, nothing may observe it, and the update must be of all arguments that get gradients.
    """
    wanted, plans = runner.arrays.wanted_positions, runner.plans
    if runner.is_observed or runner.handles is None or not plans.compiles or plans.freezing:
        return None
    plan = plans.get(is_train=True)
    if plan.compiled is None or not wanted or not _are_updated(runner.arrays, update.names):
        return None
    if plan.compiled not in update.steps:
        is_one = not (plan.compiled.is_captured or plan.compiled.uncompiled)
        goes = is_one and plan.why_needs_head_gradients(wanted) is None
        update.steps[plan.compiled] = JointStep(plan, wanted, update.part) if goes else None
    return update.steps[plan.compiled]


def run_with_update(runner: Runner, step: JointStep, update: Update) -> None:
    """Run forward, backward and an update; one after the other where the compiler fails on them as one."""
    states, rates = update.begin()
    program = runner.programs.training(backward_follows=True)
    plan = program.plan
    runner.begin(program, backward_follows=True)
    tensors = [each.detach() for each in runner.arrays.memory()]  # of arrays that autograd recorded, too
    try:
        last, values = runner.call(program, lambda source: Results.of(step(states, rates, tensors, source)))
    except NotCompiledError as error:
        reason = str(error)
    else:
        outputs = runner.end(last, values)
        runner.backward([None] * len(outputs))
        return
    # The user's mistake, if it is one, is an error here too.
    outputs = runner.forward(is_train=True, backward_follows=True)
    runner.backward([None] * len(outputs))
    update.finish(states, rates)
    assert plan.compiled is not None
    update.steps[plan.compiled] = None
    runner.plans.say_not_joined("forward, backward and update", plan, reason)


class JointStep:
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
            results = step(tensors, (), part, states, rates, seed=source)
            # An output may be an argument, or a view of one, as it was before the update.
            outputs = tuple(output.clone() for output in results.outputs)
            with grad_mode(False):
                _write(([tensors[i] for i in wanted], states), (results.new_weights, results.new_states))
            return Gradients(outputs, results.gradients, results.new_aux)

        self._wanted, self._draws = wanted, plan.draws
        self._part, self._settings = part, part.settings
        #: What ran, so that it works: with whose settings, and for which sizes.
        self._ran: set[Hashable] = set()
        updating_by = functools.partial(updating, part)
        self._exact = ShapeSpecializer(updating_by, plan.compiled.compiler, reads_inputs_alone(plan.code))
        self._fast = compiled(with_own_code(updating), backend=plan.compiled.compiler)

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

        Raises
        ------
        NotCompiledError
            Where it cannot be compiled, or what was compiled fails in its first run for these sizes.
        """
        written = [tensors[i] for i in self._wanted], states
        kind = self.has_its_settings, tuple(map(_shape_of, tensors))
        # Compiled code has conditions of its own, of which some are seen only when it runs.
        before = None if kind in self._ran else map_leaves(_copied, written)
        try:
            with grad_mode(False):
                found = self._run(states, rates, tensors, source)
        except Exception as error:
            if before is not None:
                _write(written, before)
            elif not is_of_compiler(error):
                raise
            raise NotCompiledError(reason_of(error)) from error
        self._ran.add(kind)
        self.note_written(tensors)
        return found.with_own_memory()

    def _run(self, states: Any, rates: Any, tensors: Sequence[Tensor], source: Source | None) -> Gradients:
        exactly = self._exact.run(states, rates, tensors, source) if self.has_its_settings else None
        return (
            self._fast(self._part, states, rates, tensors, source) if exactly is None else Gradients(*exactly)
        )

    @property
    def has_its_settings(self) -> bool:
        """Whether the optimizer's settings are those of the exact code, whose constants they are."""
        return self._part.settings == self._settings

    def note_written(self, tensors: Sequence[Tensor]) -> None:
        """Note that weights among the tensors that it ran on were written."""
        # What is retained from run to run is computed again where a version is new.
        torch.autograd.graph.increment_version([tensors[i] for i in self._wanted])

    def bound(self, states: Any, tensors: Sequence[Tensor]) -> BoundJointStep | None:
        """Return the step on the same states and tensors; None where there is no exact code for them."""
        code, state_tensors = self._exact.code, tensors_in(states)
        if code is None:
            return None
        # Rates are between them, and a seed may follow.
        position = len(code) - len(tensors) - self._draws
        if not (code.takes_at(0, state_tensors) and code.takes_at(position, tensors)):
            return None
        return BoundJointStep(self, code, state_tensors)


class BoundJointStep:
    """A `JointStep` on states and tensors that were looked at: each run takes what changes, and no other look.

    Parameters
    ----------
    step, code
        What runs.
    states
        The tensors of the states.
    """

    def __init__(self, step: JointStep, code: FixedShapeCode, states: Sequence[Tensor]) -> None:
        self._step, self._code, self._states = step, code, states

    @property
    def has_its_settings(self) -> bool:
        """Whether the optimizer's settings are those of the code."""
        return self._step.has_its_settings

    def __call__(self, rates: Any, tensors: Sequence[Tensor], source: Source | None) -> Gradients:
        """Run it on the same tensors, with a batch in them that may be another."""
        inputs = [*self._states, *tensors_in(rates), *tensors, *tensors_in((source,))]
        with grad_mode(False):
            results = Gradients(*self._code(inputs)).with_own_memory()
        self._step.note_written(tensors)
        return results


def _copied(leaf: Any) -> Any:
    return leaf.clone() if isinstance(leaf, Tensor) else leaf


def _write(targets: Any, values: Any) -> None:
    """Write tensors into those of a tree of the same form."""
    if isinstance(targets, Tensor):
        targets.copy_(values)
    elif targets is not None:
        for target, value in zip(targets, values, strict=True):
            _write(target, value)


def _are_updated(arrays: BoundArrays, names: Sequence[str]) -> bool:
    """Return whether the arguments that get gradients are these, each with memory of its own, to be written over.

    >>> import rebind as mx
    >>> exe = mx.sym.var("x").simple_bind(mx.cpu(), x=(2,))
    >>> _are_updated(exe.runner.arrays, ["x"]), _are_updated(exe.runner.arrays, [])
    (True, False)
    """
    found = [name for name, slot in arrays.slots.items() if slot.grad is not None]
    storages = [slot.array.storage for slot in arrays.wanted if slot.array is not None]
    memory = {id(each.memory) for each in storages if isinstance(each, DenseStorage)}
    return (
        found == list(names)
        and all(slot.request == "write" for slot in arrays.wanted)
        and len(memory) == len(found)
    )
