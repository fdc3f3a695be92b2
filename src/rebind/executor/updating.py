"""Forward, backward and update in one call of compiled code, which writes weights and states in place."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Hashable, MutableMapping, Sequence
from typing import Any, Protocol

import torch
import torch.utils._pytree as pytree
from torch import Tensor

from ..draws import Source
from ..grad_mode import grad_mode
from .backward import Backward
from .compiling import CompiledCode, reason_of, with_own_code
from .exact import ExactCode, FirstSizes, reads_inputs_alone, tensors_in
from .lower import Plan
from .step import Gradients, Step, UpdatePart, compiled
from .whole import needs_head_gradients

__all__ = ["NotCompiledError", "Update", "UpdatingAgain", "UpdatingStep", "updating_step"]


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


def updating_step(plan: Plan, wanted: tuple[int, ...], update: Update) -> UpdatingStep | None:
    """Return forward, backward and update of a compiled plan as one function, made once for an update.

    The arguments that get gradients, at the positions `wanted`, are those that are updated. They and the states are
    written in place. None where that does not go.
    """
    assert plan.compiled is not None
    if plan.compiled not in update.steps:
        goes = wanted and not plan.compiled.is_captured and not needs_head_gradients(plan, wanted)
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
        #: What ran, so that it works: with whose settings, and for which sizes.
        self._ran: set[Hashable] = set()
        updating_by = functools.partial(updating, part)
        self._exact = FirstSizes(updating_by, plan.compiled.compiler, reads_inputs_alone(plan.code))
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
        before = None if kind in self._ran else pytree.tree_map_only(Tensor, torch.clone, written)
        try:
            found = self._run(states, rates, tensors, source)
        except Exception as error:
            if before is not None:
                _write(written, before)
            elif not _is_of_compiler(error):
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
            self._are_apart = all(map(operator.is_, found.with_own_memory().gradients, found.gradients))
        if not self._notes_writing:
            self._step.note_written(self._tensors)
        return found if self._are_apart else found.with_own_memory()


def _write(targets: Any, values: Any) -> None:
    """Write tensors into those of a tree of the same form."""
    if isinstance(targets, Tensor):
        targets.copy_(values)
    elif targets is not None:
        for target, value in zip(targets, values, strict=True):
            _write(target, value)


def _is_of_compiler(error: Exception) -> bool:
    """Return whether an error is one of compiling, or of tracing, so that nothing was computed and written yet."""
    known = torch._dynamo.exc
    return isinstance(error, (known.TorchDynamoException, known.FailOnRecompileLimitHit))
