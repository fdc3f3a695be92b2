"""Batches that come in the shapes of the last one, to a group of one executor."""

from __future__ import annotations

from collections.abc import Sequence

from ...ndarray import NDArray
from ...protocols import Batch
from ..executor import Executor
from ..ready import ReadyPass
from ..whole import WholeStep

__all__ = ["ReadyBatches"]


class ReadyBatches:
    """Passes for batches on one executor, as long as they `hold`: which arrays they come into, and what runs.

    Parameters
    ----------
    exe, passes
        The executor, and what is known of its passes.
    data
        How many arrays of data a batch has.

    Examples
    --------
    >>> import rebind as mx
    >>> exe = mx.sym.MakeLoss(mx.sym.square(mx.sym.var("x"))).simple_bind(mx.cpu(), x=(1,))
    >>> _ = exe.forward_before_backward()
    >>> ready = ReadyBatches(exe, exe.ready_pass([exe.arg_dict["x"]]), 1)
    >>> ready.repeat(mx.io.DataBatch([mx.nd.array([3])])), exe.grad_dict["x"].item()
    (True, 6.0)
    """

    def __init__(self, exe: Executor, passes: ReadyPass, data: int) -> None:
        self.exe, self.passes, self._data = exe, passes, data
        #: Whether a pass was made so.
        self.was_used = False

    def hold(self, execs: Sequence[Executor]) -> bool:
        """Return whether all is as it was, for a group of these executors."""
        return execs[0] is self.exe and self.exe.holds_ready(self.passes)

    def arrays_of(self, batch: object) -> list[NDArray] | None:
        """Return the arrays of a batch; None where it is another one than those before."""
        try:
            data, label = batch.data, getattr(batch, "label", None)  # type: ignore[attr-defined]  # whatever it is
            found = [*data, *(label or ())]
            return found if len(data) == self._data and self.passes.inputs.takes(found) else None
        except (AttributeError, TypeError):  # no batch, or batches for several devices
            return None

    def run(self, arrays: Sequence[NDArray], step: WholeStep) -> None:
        """Run forward and backward, or what is done with them, for the arrays of a batch."""
        self.was_used = True
        self.exe.run_ready(self.passes, arrays, step)

    def repeat(self, batch: Batch | Sequence[Batch]) -> bool:
        """Run forward and backward for a batch; return whether that was done. If not, nothing has changed."""
        arrays, step = self.arrays_of(batch), self.passes.step
        if arrays is None or step is None:
            return False
        try:
            self.run(arrays, step)
        except Exception:  # the ordinary way meets it again, and says which node it is
            return False
        return True
