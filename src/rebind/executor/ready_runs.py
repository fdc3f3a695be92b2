"""An executor's runs for batches like the last one, of which little is found out anew."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ..grad_mode import grad_mode
from ..graph.control_flow import is_stateful
from ..ndarray import NDArray
from .backward import Pass
from .ready import ReadyInference, ReadyPass, ReadyRun
from .whole import WholeStep
from .whole_runs import WholeRuns

__all__ = ["ReadyRuns"]


class ReadyRuns(WholeRuns):
    """An executor as far as it repeats what it did; `Executor` adds the runs of which all is found out."""

    def ready_pass(self, inputs: Sequence[NDArray]) -> ReadyPass | None:
        """Return what the next passes need not find out anew, after one; None where there is more to look at in each.

        `inputs` are the arguments that batches are copied into.
        """
        wanted, plan = self._arrays.wanted_positions, self._plan_of_whole_steps()
        if plan is None or not wanted:
            return None
        step = plan.steps.get(wanted)
        if step is None and plan.compiled is None:
            return None
        return ReadyPass.of(plan, step, self._arrays, inputs)

    def ready_inference(self, inputs: Sequence[NDArray]) -> ReadyInference | None:
        """Return what the next runs in inference need not find out anew, after one; as `ready_pass`.

        There is none where custom operators run, which may do anything.
        """
        if self._handles is None or self._monitor is not None or is_stateful(self._graph):
            return None
        return ReadyInference.of(self._plans.get(is_train=False, recorded=False), self._arrays, inputs)

    def holds_ready(self, ready: ReadyRun) -> bool:
        """Return whether nothing has changed for runs, so that they may be made."""
        return self._monitor is None and ready.memory.holds()

    def run_ready_pass(self, ready: ReadyPass, batch: Sequence[NDArray], step: WholeStep) -> None:
        """Run a pass on a batch that `ready` takes: outputs, gradients and auxiliary states are in their arrays then.

        Parameters
        ----------
        ready
            What holds for it.
        batch
            What comes into the inputs.
        step
            Forward and backward; they may have an update with them.
        """
        plan, handles = ready.plan, self._handles
        assert handles is not None
        self._last = None
        self._kept.clear()
        if handles.are_large:  # of small networks each call counts
            handles.release_large()
        if self._arrays.has_large_gradients:
            self._arrays.release_gradients()
        source, random_state = plan.random_source(self._device)
        if plan.constants:
            self._arrays.fill(plan.constants)
        with grad_mode(False), self._plans.threads():
            ready.bring(batch)
            found = step(ready.tensors, source)
        ready.inputs.note_run()
        self._last = Pass(plan, None, found.new_aux, random_state)
        self.has_run = True
        handles.show(found.outputs)
        ready.put(found.gradients)
        self._move_statistics(self._last)

    def run_ready_inference(self, ready: ReadyInference, batch: Sequence[NDArray]) -> bool:
        """Run on a batch that `ready` takes; return whether that goes, and the outputs are in their arrays."""
        plan = ready.plan
        if plan.compiled is not None and plan.compiled.failure is not None:  # when another executor ran it
            return False
        self._last = None
        kept: Sequence[Tensor] | None = ()
        if plan.preparation is not None:
            kept = self._kept_values(plan.preparation, ready.parameters)
        if kept is None:
            return False
        handles = self._handles
        assert handles is not None
        if handles.are_large:
            handles.release_large()
        source, random_state = plan.random_source(self._device, replays=bool(self._arrays.wanted))
        with grad_mode(False), self._plans.threads(inference=True):
            ready.bring(batch)
            outputs = ready.run(source, kept)
        ready.inputs.note_run()
        self._last = Pass(plan, None, (), random_state)
        self.has_run = True
        handles.show(outputs)
        return True
