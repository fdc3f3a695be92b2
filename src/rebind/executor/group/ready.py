"""Batches for a group of one executor: how they come into its arrays, and passes for those that are like the last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from ...memo import Repeatable
from ...ndarray import NDArray
from ..executor import Executor
from ..ready import ReadyInference, ReadyInputs, ReadyPass, ReadyRun
from ..whole import WholeStep
from .routing import Inputs

__all__ = ["LikeLast", "OneDevice", "ReadyBatches", "ReadyPredictions"]

R = TypeVar("R", bound=ReadyRun)
B = TypeVar("B", "ReadyBatches", "ReadyPredictions")


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
        if not self.takes(batch):
            return False
        data, labels = _read(batch) or ((), ())
        self._data.bring(data)
        if labels:
            self._labels.bring(labels)
        return True

    def takes(self, batch: object) -> bool:
        """Return whether a batch, with labels or without, fits.

        >>> import rebind as mx
        >>> inputs = OneDevice([mx.nd.zeros((2,))], [])
        >>> [inputs.takes(mx.io.DataBatch([mx.nd.zeros((size,))])) for size in (2, 3)]
        [True, False]
        """
        read = _read(batch)
        if read is None:
            return False
        data, labels = read
        return self._data.takes(data) and not (labels and not self._labels.takes(labels))

    def note_run(self) -> None:
        """Note, after a run, which inputs are still lent."""
        self._data.note_run()
        self._labels.note_run()


def _read(batch: object) -> tuple[Sequence[NDArray], Sequence[NDArray]] | None:
    """Return data and labels of a batch; None of what is no batch, or a list with a batch for each device."""
    data, labels = getattr(batch, "data", None), getattr(batch, "label", None) or ()
    return (data, labels) if isinstance(data, (list, tuple)) and isinstance(labels, (list, tuple)) else None


class _Ready(Generic[R]):
    """What is known of batches on one executor, as long as it `hold`s: which arrays they come into, and what runs.

    Parameters
    ----------
    exe, runs
        The executor, and what is known of its runs.
    data
        How many arrays of data a batch has.
    """

    #: Whether a batch must have its labels.
    needs_labels: ClassVar[bool]

    def __init__(self, exe: Executor, runs: R, data: int) -> None:
        self.exe, self.runs, self._data = exe, runs, data
        #: Whether a batch went so.
        self.was_used = False

    def hold(self, execs: Sequence[Executor]) -> bool:
        """Return whether all is as it was, for a group of these executors."""
        return execs[0] is self.exe and self.exe.holds_ready(self.runs)

    def arrays_of(self, batch: object) -> list[NDArray] | None:
        """Return the arrays of a batch, with its labels or without any; None where it is another one than before."""
        read = _read(batch)
        if read is None or len(read[0]) != self._data:
            return None
        found, inputs = [*read[0], *read[1]], self.runs.inputs
        if len(found) != len(inputs.arrays) and (self.needs_labels or read[1]):
            return None
        return found if inputs.takes(found) else None


class ReadyBatches(_Ready[ReadyPass]):
    """Forward and backward for batches on one executor.

    Examples
    --------
    >>> import rebind as mx
    >>> exe = mx.sym.MakeLoss(mx.sym.square(mx.sym.var("x"))).simple_bind(mx.cpu(), x=(1,))
    >>> _ = exe.forward_before_backward()
    >>> ready = ReadyBatches(exe, exe.ready_pass([exe.arg_dict["x"]]), 1)
    >>> ready.repeat(mx.io.DataBatch([mx.nd.array([3])])), exe.grad_dict["x"].item()
    (True, 6.0)
    """

    needs_labels = True

    def run(self, arrays: Sequence[NDArray], step: WholeStep) -> None:
        """Run forward and backward, or what is done with them, for the arrays of a batch."""
        self.was_used = True
        self.exe.run_ready_pass(self.runs, arrays, step)

    def repeat(self, batch: object) -> bool:
        """Run forward and backward for a batch; return whether that was done. If not, nothing has changed."""
        arrays, step = self.arrays_of(batch), self.runs.step
        if arrays is None or step is None:
            return False
        try:
            self.run(arrays, step)
        except Exception:  # the ordinary way meets it again, and says which node it is
            return False
        return True


class ReadyPredictions(_Ready[ReadyInference]):
    """Inference for batches on one executor.

    Examples
    --------
    >>> import rebind as mx
    >>> exe = mx.sym.square(mx.sym.var("x")).simple_bind(mx.cpu(), grad_req="null", x=(1,))
    >>> _ = exe.forward()
    >>> ready = ReadyPredictions(exe, exe.ready_inference([exe.arg_dict["x"]]), 1)
    >>> ready.repeat(mx.io.DataBatch([mx.nd.array([3])])), exe.outputs[0].item()
    (True, 9.0)
    """

    needs_labels = False

    def repeat(self, batch: object) -> bool:
        """Run forward for a batch; return whether that was done. If not, nothing has changed."""
        arrays = self.arrays_of(batch)
        if arrays is None:
            return False
        try:
            done = self.exe.run_ready_inference(self.runs, arrays)
        except Exception:  # the ordinary way meets it again, and says which node it is
            return False
        self.was_used = self.was_used or done
        return done


class LikeLast:
    """What a group knows of batches that are like the last one, on one device; of others nothing.

    Parameters
    ----------
    execs, inputs
        The executors, and the inputs of the only one; None for several devices.
    data
        How many arrays of data a batch has.

    Attributes
    ----------
    passes
        Forward and backward together.
    predictions
        Forward in inference.
    steps
        What a module knows of its steps, as long as these executors are the group's.

    Examples
    --------
    >>> import rebind as mx
    >>> exe = mx.sym.square(mx.sym.var("x")).simple_bind(mx.cpu(), grad_req="null", x=(1,))
    >>> known = LikeLast([exe], OneDevice([exe.arg_dict["x"]], []), 1)
    >>> batch = mx.io.DataBatch([mx.nd.array([3])])
    >>> known.predict(batch), exe.forward(), known.predict(batch), exe.outputs[0].item()
    (False, [...], True, 9.0)
    """

    def __init__(self, execs: Sequence[Executor], inputs: OneDevice | None, data: int) -> None:
        self._execs, self._inputs, self._data = execs, inputs, data
        self.passes: Repeatable[ReadyBatches] = Repeatable()
        self.predictions: Repeatable[ReadyPredictions] = Repeatable()
        self.steps: Repeatable[Any] = Repeatable()

    def ready_batches(self) -> ReadyBatches | None:
        """Return what passes for the next batches need not find out anew, after one; None where there is more to do."""
        exe = self._execs[0]
        if self._inputs is None or not exe.has_run:
            return None
        passes = exe.ready_pass(self._inputs.arrays)
        return None if passes is None else ReadyBatches(exe, passes, self._data)

    def _ready_predictions(self) -> ReadyPredictions | None:
        exe = self._execs[0]
        inference = None if self._inputs is None else exe.ready_inference(self._inputs.arrays)
        return None if inference is None else ReadyPredictions(exe, inference, self._data)

    def forward_backward(self, batch: object) -> bool:
        """Run forward and backward for a batch like the last one, whose labels it has.

        Return whether that goes, and was done; where it does not, nothing has happened.
        """
        return self._repeat(self.passes, self.ready_batches, batch)

    def predict(self, batch: object) -> bool:
        """Run forward in inference for a batch like the last one; return as `forward_backward`."""
        return self._repeat(self.predictions, self._ready_predictions, batch)

    def _repeat(self, known: Repeatable[B], find_out: Callable[[], B | None], batch: object) -> bool:
        if known.found is None:
            if not known.is_worth_while or not self._execs[0].has_run:
                return False
            # For another shape there is nothing to be found out of the executor of the last one.
            if self._inputs is None or not self._inputs.takes(batch):
                return False
            known.keep(find_out())
        found = known.found
        if found is not None and found.hold(self._execs) and found.repeat(batch):
            return True
        known.drop()
        return False
