"""Batches for a group of one executor: how they come into its arrays, and passes for those that are like the last."""

from __future__ import annotations

from collections.abc import Sequence

from ...ndarray import NDArray
from ...protocols import Batch
from ..executor import Executor
from ..ready import ReadyInputs, ReadyPass
from ..whole import WholeStep
from .routing import Inputs

__all__ = ["OneDevice", "ReadyBatches"]


class OneDevice:
    """The inputs of a group's one executor, for batches that have what it has.

    Parameters
    ----------
    data, labels
        The arrays, in the order of a batch's.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.nd.zeros((2,))
    >>> inputs = OneDevice([x], [])
    >>> inputs.bring(mx.io.DataBatch([mx.nd.array([1, 2])])), x.asnumpy().tolist()
    (True, [1.0, 2.0])
    >>> inputs.bring(mx.io.DataBatch([mx.nd.array([1, 2, 3])]))
    False
    """

    def __init__(self, data: Sequence[NDArray], labels: Sequence[NDArray]) -> None:
        self._data, self._labels = ReadyInputs(data), ReadyInputs(labels)

    @classmethod
    def of(cls, data: Inputs, labels: Inputs, execs: Sequence[Executor]) -> OneDevice | None:
        """Return it for what batches have; None for several devices, or where a batch has more than the network.

        >>> import rebind as mx
        >>> from rebind.executor.group.split import Split
        >>> exe = (mx.sym.var("x") * 2).simple_bind(mx.cpu(), x=(3,))
        >>> whole, arrays = Split((slice(0, 3),)), [exe.arg_dict]
        >>> data, more = (Inputs.of("data", [mx.io.DataDesc(n, (3,))], whole, arrays) for n in ("x", "y"))
        >>> [OneDevice.of(data, labels, [exe]) is None for labels in (data, more)]
        [False, True]
        """
        kinds = (data, labels)
        if len(execs) > 1 or any([*each.targets] != [*range(len(each.names))] for each in kinds):
            return None
        return cls(*([target.arrays[0] for target in each.targets.values()] for each in kinds))

    @property
    def arrays(self) -> list[NDArray]:
        """All of them."""
        return [*self._data.arrays, *self._labels.arrays]

    def bring(self, batch: object) -> bool:
        """Lend or copy a batch, with labels or without; return whether it fits. If not, nothing has changed."""
        read = _read(batch)
        if read is None:
            return False
        data, labels = read
        if not self._data.takes(data) or (labels and not self._labels.takes(labels)):
            return False
        self._data.bring(data)
        if labels:
            self._labels.bring(labels)
        return True

    def note_run(self) -> None:
        """Note, after a run, which inputs are still lent."""
        self._data.note_run()
        self._labels.note_run()


def _read(batch: object) -> tuple[Sequence[NDArray], Sequence[NDArray]] | None:
    """Return data and labels of a batch; None of what is no batch, or a list with a batch for each device."""
    data, labels = getattr(batch, "data", None), getattr(batch, "label", None) or ()
    return (data, labels) if isinstance(data, (list, tuple)) and isinstance(labels, (list, tuple)) else None


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
        read = _read(batch)
        if read is None or len(read[0]) != self._data:
            return None
        found = [*read[0], *read[1]]
        return found if self.passes.inputs.takes(found) else None

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
