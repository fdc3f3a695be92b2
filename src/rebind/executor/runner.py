"""`Runner`: runs the programs of a bound graph, forward and backward."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

from .. import generators
from .._torch import foreach
from ..device import Device
from ..draws import Source
from ..errors import ParameterError, StateError
from ..grad_mode import grad_mode
from ..graph import Facts, Graph
from ..graph.control_flow import is_stateful
from ..ndarray import NDArray
from ..ndarray.same_memory import are_dense
from ..observing import observing
from .bound import BoundArrays
from .compiling import reason_of
from .gradient_reuse import dealiased_from
from .observer import Observer, current_observer
from .outputs import OutputHandles
from .plans import Plans
from .prepared_parameters import PreparedParameters
from .programs import Program, Programs, Results
from .programs.base import OnGradient, WayBack

__all__ = ["Pass", "Runner"]


@dataclass
class Pass:
    """What one `forward` leaves for `backward`."""

    program: Program
    new_aux: Sequence[Tensor | None]
    random_state: Tensor | None  # the generator's, before the pass; None when nothing is drawn
    way_back: WayBack | None  # None: an inference pass has none, and backward uses up what is there


class Runner:
    """Runs a graph on its arrays: the program of each mode, and what a run leaves for `backward`.

    Parameters
    ----------
    graph, arrays
        What is run.
    plans
        What it is lowered to.
    prepared
        Holds what inference computes from parameters alone.

    Attributes
    ----------
    handles
        The outputs; None before the first run of an executor that lacks arrays.
    last
        The last pass; None before the first, and after `release`.
    has_run
        Whether `forward` has run; until then the outputs are zeros.
    observer
        What is notified of each operator, beside what observes the whole process; None: nothing is.
    """

    def __init__(self, graph: Graph, arrays: BoundArrays, plans: Plans, prepared: PreparedParameters) -> None:
        self.graph, self.arrays, self.plans, self.prepared = graph, arrays, plans, prepared
        self.programs = Programs(plans, arrays, prepared)
        self.device: Device = arrays.device
        self.handles: OutputHandles | None = None
        self.last: Pass | None = None
        self.has_run = False
        self.observer: Observer | None = None

    @property
    def is_observed(self) -> bool:
        """Whether something is notified of each operator, or may be."""
        return self.observer is not None or observing.programs is not None

    def make_outputs(self, facts: Facts) -> None:
        """Make what follows from shapes and types: arrays for the outputs, custom operators."""
        self.plans.facts = facts
        self.plans.create_operators()
        if self.arrays.has_large_gradients:
            self.arrays.decide_reuse(self.plans.bytes_of_results)
        self.handles = OutputHandles(self.graph.outputs, facts, self.device)

    def _complete(self) -> None:
        """Before the first run of an executor that was made without some arguments: make what follows from them."""
        if self.arrays.missing:
            raise ParameterError(f"Executor.forward: arrays are missing for {self.arrays.missing}")
        self.arrays.make_gradients()
        self.make_outputs(self.arrays.infer())

    # Forward.

    def forward(self, is_train: bool, *, backward_follows: bool = False) -> list[NDArray]:
        """Run forward, and return the outputs.

        Parameters
        ----------
        is_train
            The mode.
        backward_follows
            Whether `backward` is the next call: see `Programs.training`.
        """
        if self.handles is None:
            self._complete()
        observer = current_observer(self.observer)
        if observer is not None:
            observer.begin_run(self, "forward")
        program = self._choose(is_train, backward_follows, observer)
        self.begin(program, backward_follows)
        outputs = self.end(*self._run(program, observer))
        if observer is not None:
            observer.end_run()
        return outputs

    def _choose(self, is_train: bool, backward_follows: bool, observer: Observer | None) -> Program:
        if observer is not None and observer.as_written:
            return self.programs.observed(is_train)
        if not is_train:
            return self.programs.inference(is_first=not self.has_run)
        # What is captured is both directions at once.
        return self.programs.training(backward_follows=backward_follows or self.plans.captures)

    def begin(self, program: Program, backward_follows: bool) -> None:
        """Free the memory of the last pass, before the next one, by `program`, takes its own; fill constants."""
        self.last = None
        assert self.handles is not None
        if self.handles.are_large:  # of small networks each call counts
            self.handles.release_large()
        if not program.is_inference:
            self.prepared.clear()  # the parameters will change
        if program.computes_gradients and backward_follows and self.arrays.has_large_gradients:
            self.arrays.release_gradients()
        if program.plan.constants:
            self.arrays.fill(program.plan.constants)  # before the tensors are read: one may be replaced

    def _run(self, program: Program, observer: Observer | None) -> tuple[Pass, Sequence[Tensor]]:
        """Run a program, or, where it fails, what runs instead of it; return what it leaves, and the outputs."""
        inputs = program.inputs(self.arrays)
        if inputs is None:
            return self._run_instead(program, observer)
        try:
            return self.call(program, functools.partial(program.run, inputs, observer=observer))
        except Exception as error:
            if self.programs.instead_of(program) is None:
                explained = program.explain(error)
                if explained is error:  # that of a custom operator, with the user's own error as its cause
                    raise
                raise explained from None
            reason = reason_of(error)  # not the error, which holds this run's arrays
        del inputs
        # The user's mistake, if it is one, is an error here too, which says where; the program is not given up then.
        found = self._run_instead(program, observer)
        self.programs.give_up(program, reason)
        return found

    def call(
        self, program: Program, run: Callable[[Source | None], Results]
    ) -> tuple[Pass, Sequence[Tensor]]:
        """Return what a run leaves, and its outputs: `run` is the program's, or does more than that."""
        source, random_state = program.plan.random_source(self.device, replays=bool(self.arrays.wanted))
        with self.plans.threads(inference=program.is_inference):
            results = run(source)
        return Pass(program, results.new_aux, random_state, results.way_back), results.outputs

    def _run_instead(self, program: Program, observer: Observer | None) -> tuple[Pass, Sequence[Tensor]]:
        other = self.programs.instead_of(program)
        assert other is not None
        return self._run(other, observer)

    def end(self, last: Pass, outputs: Sequence[Tensor]) -> list[NDArray]:
        """Hold what a pass leaves, show its outputs, and return these."""
        assert self.handles is not None
        self.last, self.has_run = last, True
        # An observed run has the results of all nodes as further outputs.
        return self.handles.show(outputs[: len(self.graph.outputs)])

    # Backward.

    def last_pass(self) -> Pass:
        """Return the last pass; one in inference, if there is none."""
        if self.last is None:
            if self.handles is None and self.arrays.missing:
                raise StateError(
                    f"Executor.backward: needs forward() first, with arrays for {self.arrays.missing}"
                )
            self.forward(is_train=False)
        assert self.last is not None
        return self.last

    def backward(self, head_grads: Sequence[Tensor | None], on_gradient: OnGradient | None = None) -> None:
        """Compute the gradients of the last pass, and put them into their arrays.

        Parameters
        ----------
        head_grads
            The gradients of the outputs; None for those that are losses.
        on_gradient
            Called with the name of each argument whose gradient is in the bound array before backward ends.
        """
        last = self.last_pass()
        self.arrays.zero_integer_gradients()
        if not self.arrays.wanted:
            return
        observer: Observer | None = observing.programs
        if observer is not None:
            observer.begin_run(self, "backward")
        if last.way_back is None:  # used up by an earlier backward, or never made in an inference pass
            last = self._replay(last)
        way_back, last.way_back = last.way_back, None
        assert way_back is not None
        if self.arrays.reused:
            head_grads = dealiased_from(head_grads, self.arrays.reused)
        with self.plans.threads():
            way_back(self.arrays, head_grads, on_gradient)
        # Moving averages are updated when backward runs, as in MXNet, and again by a second call.
        if last.program.plan.target.training:
            self.move_statistics(last.new_aux)
        if observer is not None:
            observer.end_run()

    def move_statistics(self, new_aux: Sequence[Tensor | None]) -> None:
        """Write the auxiliary states that a pass has computed, of operators whose backward runs."""
        updated = zip(self.arrays.updated_states, new_aux, strict=True)
        pairs = [(state, value) for state, value in updated if value is not None and state is not None]
        if not pairs:
            return
        if are_dense([state for state, _ in pairs]):  # in one call: a network may have a hundred
            with grad_mode(False):
                foreach.copy_([state.writable_tensor() for state, _ in pairs], [value for _, value in pairs])
            return
        for state, value in pairs:
            state.write(value)

    def _replay(self, last: Pass) -> Pass:
        """Run forward once more, for a `backward` that is the second or comes after an inference pass.

        Records would otherwise hold all intermediate results in memory, through the update or a whole validation, for
        calls that hardly any program makes.
        """
        # Custom operators write their states in forward, which has counted already.
        states = [
            state for state in self.arrays.aux.values() if state is not None and is_stateful(self.graph)
        ]
        before = [state.tensor.clone() for state in states]
        plan = last.program.plan
        # Compiled code draws other numbers.
        program = self.programs.differentiable(plan.target.training, compiled=plan.compiled is not None)
        self.last = None
        self.arrays.fill(plan.constants)
        if last.random_state is None:
            replayed, _ = self._run(program, None)
        else:
            generator = generators.generator(self.device)
            after = generator.get_state()
            # The same dropout masks as the first time, and afterwards the sequence continues where it was.
            generator.set_state(last.random_state)
            replayed, _ = self._run(program, None)
            generator.set_state(after)
        for state, value in zip(states, before, strict=True):
            # Through `data`: autograd has recorded these arrays, which backward is to see as they were.
            state.tensor.data.copy_(value)
        self.last = replayed
        return replayed

    def release(self) -> None:
        """Let go of what the last `forward` holds for `backward`, most of the memory that training takes.

        Outputs that nothing else refers to are freed too; they are zeros until the next `forward`.
        """
        self.last = None
        if self.handles is not None:
            self.handles.release()
