"""The choice of the program that runs a bound graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from torch.jit import is_tracing

from ..bound import BoundArrays
from ..lower import Plan
from ..plans import Plans
from ..prepared_parameters import PreparedParameters
from .base import Program
from .compiled import CompiledProgram, JointCode
from .explicit import ExplicitCode, ExplicitProgram, NoDerivativeError
from .frozen import FrozenProgram
from .inference import InferenceProgram
from .partly_compiled import PartlyJointCode
from .recorded import RecordedProgram

__all__ = ["PROGRAMS", "Programs"]

Code = TypeVar("Code")

#: All kinds, in the order in which the documentation has them.
PROGRAMS: tuple[type[Program], ...] = (
    InferenceProgram, FrozenProgram, RecordedProgram, ExplicitProgram, CompiledProgram,
)  # fmt: skip


class Programs:
    """Chooses the program of each mode, once: what is asked for again is the same object.

    Parameters
    ----------
    plans
        What the graph is lowered to.
    arrays
        What it is bound to.
    prepared
        Holds what inference computes from parameters alone.

    Examples
    --------
    >>> import rebind as mx
    >>> exe = mx.sym.MakeLoss(mx.sym.sin(mx.sym.var("x"))).simple_bind(mx.cpu(), x=(2,))
    >>> programs = exe.runner.programs
    >>> programs.training().name, programs.inference().name
    ('recorded', 'inference')
    >>> print(programs.why_not_explicit())
    the operator sin declares no derivative
    """

    def __init__(self, plans: Plans, arrays: BoundArrays, prepared: PreparedParameters) -> None:
        self.plans, self._arrays, self.prepared = plans, arrays, prepared
        self._chosen: dict[Hashable, Program] = {}

    def training(self, *, backward_follows: bool = False) -> Program:
        """Return the program of a run in training mode.

        Parameters
        ----------
        backward_follows
            Whether `backward` is the next call, without head gradients that the user chose, and nothing is written in
            between.
        """
        if is_tracing():  # what a trace computes has no backward here
            return InferenceProgram(self.plans.get(is_train=True), self.prepared)
        program = self._chosen.get(backward_follows)
        if program is None or not program.is_valid:
            program = self._chosen[backward_follows] = self._choose(backward_follows)
        return program

    def _choose(self, backward_follows: bool) -> Program:
        code = self._joint_code() if backward_follows else None
        if isinstance(code, JointCode):
            return CompiledProgram(self.plans.get(is_train=True), code)
        return self.differentiable(is_train=True)

    def inference(self, *, is_first: bool = False) -> Program:
        """Return the program of a run in inference.

        Parameters
        ----------
        is_first
            Whether it is the executor's first run, which may be its only one: see `lower`.
        """
        if self.plans.remembers:
            # Backward cannot run an operator once more that remembers something, and find it as it was.
            return self.differentiable(is_train=False)
        plan = self.plans.get(is_train=False, recorded=False, is_first=is_first)
        program = self._chosen.get("inference")
        if program is None or program.plan is not plan:
            kind = FrozenProgram if self.plans.freezing and plan.compiled is not None else InferenceProgram
            program = self._chosen["inference"] = kind(plan, self.prepared)
        return program

    def differentiable(self, is_train: bool, compiled: bool = True) -> Program:
        """Return a program that can be differentiated, if an argument gets a gradient, in either mode."""
        plan = self.plans.get(is_train, compiled=compiled)
        if not self._arrays.wanted or is_tracing():
            return InferenceProgram(plan, self.prepared)
        if plan.compiled is not None and plan.compiled.is_captured:
            plan = self.plans.get(is_train, compiled=False)
        code = self._explicit_code(plan)
        return RecordedProgram(plan) if isinstance(code, str) else ExplicitProgram(plan, code)

    def observed(self, is_train: bool) -> Program:
        """Return the program of a run that goes node by node, in the network as the user wrote it."""
        plan = self.plans.get(is_train, watched=True)
        records = self._arrays.wanted and not is_tracing()
        return RecordedProgram(plan) if records else InferenceProgram(plan, self.prepared)

    def instead_of(self, program: Program) -> Program | None:
        """Return what runs where a program failed, or cannot run on what the arrays are; None if there is nothing."""
        plan = program.plan
        training, is_compiled = plan.target.training, plan.compiled is not None
        if isinstance(program, ExplicitProgram):
            return RecordedProgram(plan)
        if isinstance(program, CompiledProgram):
            return self.differentiable(is_train=True)
        if isinstance(program, InferenceProgram):
            if is_compiled or plan.preparation is not None:
                return InferenceProgram(self.plans.get(training, compiled=not is_compiled), self.prepared)
            return None
        return self.differentiable(training, compiled=False) if is_compiled else None

    def give_up(self, program: Program, reason: str) -> None:
        """Never choose a program again that failed where another did not: the compiler is at fault."""
        plan = program.plan
        if isinstance(program, CompiledProgram):
            program.code.failure = reason
            self.plans.say_not_joined("forward and backward", plan, reason)
        elif plan.compiled is not None:
            self.plans.give_up(plan, reason)
        self._chosen.clear()

    # Why a faster program is not taken.

    def why_not_compiled(self) -> str | None:
        """Return why forward and backward are not one call of compiled code; None where they are."""
        return _reason_in(self._joint_code())

    def why_not_explicit(self) -> str | None:
        """Return why training is left to autograd; None where it is not."""
        return _reason_in(self._explicit_code(self.plans.get(is_train=True, compiled=False)))

    def _joint_code(self) -> JointCode | str:
        """Return forward and backward in one call of compiled code, or the reason why there is none."""
        if not self.plans.compiles:
            return f"the backend {self.plans.backend!r} has no compiler for it"
        if self.plans.freezing:
            return f"the backend {self.plans.backend!r} takes inference only"
        plan = self.plans.get(is_train=True)
        if plan.compiled is None:
            return "the network is not compiled"
        code = self._with_backward(plan, PartlyJointCode if plan.compiled.uncompiled else JointCode)
        return code if isinstance(code, str) or code.failure is None else code.failure

    def _explicit_code(self, plan: Plan) -> ExplicitCode | str:
        """Return forward and backward of a plan without autograd, or the reason why they are autograd's."""
        if plan.compiled is not None:
            return "the network is compiled"
        # It computes new gradients beside the old ones, and holds all that declared derivatives are given, of which
        # some read little. Of networks for which that is much, autograd's own time does not count.
        most = plan.target.tuning.explicit_result_bytes
        if self._arrays.has_large_gradients or self.plans.bytes_of_results > most:
            return "its results or gradients take so much memory that autograd's own time does not count"
        return self._with_backward(plan, ExplicitCode.of)

    def _with_backward(self, plan: Plan, make: Callable[[Plan, tuple[int, ...]], Code]) -> Code | str:
        """Return forward and backward of a plan, made once for all executors of its graph, or why there is no code."""
        wanted = self._arrays.wanted_positions
        if not wanted:
            return "no argument gets a gradient, or two variables of one name are one argument"
        if wanted not in plan.joint:
            try:
                plan.joint[wanted] = plan.why_needs_head_gradients(wanted) or make(plan, wanted)
            except NoDerivativeError as error:
                plan.joint[wanted] = str(error)
        code: Code | str = plan.joint[wanted]
        return code


def _reason_in(code: object) -> str | None:
    return code if isinstance(code, str) else None
