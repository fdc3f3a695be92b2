"""Passes for batches like the last one, and the inputs that these are loaded into."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence

from torch import Tensor

from ..draws import Source
from ..graph.control_flow import is_stateful
from ..mode import mode
from ..ndarray import NDArray
from ..observing import observing
from .cache import Guard
from .programs import Program, Results
from .programs.inference import InferenceProgram
from .runner import Runner

__all__ = ["BatchInputs", "CachedPass"]

#: From arguments and auxiliary states, and where random numbers come from, to results.
Run = Callable[[Sequence[Tensor], "Source | None"], Results]


_dense_shape_of = operator.attrgetter("storage.memory.shape")


class BatchInputs:
    """The inputs of a network on one device, for batches of exactly what it has.

    Parameters
    ----------
    data, labels
        The arrays, in the order of a batch's.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.nd.zeros((2,))
    >>> inputs = BatchInputs([x], [])
    >>> [inputs.read(mx.io.DataBatch([mx.nd.zeros((size,))])) is None for size in (2, 3)]
    [False, True]
    >>> inputs.load([mx.nd.array([1, 2])])
    >>> x.asnumpy().tolist()
    [1.0, 2.0]
    """

    def __init__(self, data: Sequence[NDArray], labels: Sequence[NDArray]) -> None:
        self.arrays = [*data, *labels]
        self._data = len(data)
        self._shapes = [each.shape for each in self.arrays]

    def read(self, batch: object) -> list[NDArray] | None:
        """Return the arrays of a batch with all data, and all labels or none; None if one does not fit as it is.

        That is what is no batch, or not of dense arrays in these shapes, or comes where a record of the user's has the
        inputs.
        """
        data, labels = getattr(batch, "data", None), getattr(batch, "label", None) or ()
        if not (isinstance(data, (list, tuple)) and isinstance(labels, (list, tuple))):
            return None
        arrays = [*data, *labels]
        if len(data) != self._data or (labels and len(arrays) != len(self.arrays)) or mode.recording:
            return None
        try:
            if [*map(_dense_shape_of, arrays)] != self._shapes[: len(arrays)]:
                return None
        except AttributeError:  # NumPy's, or of another storage
            return None
        is_free = all([array.leaf is None and array.history is None for array in self.arrays])
        return arrays if is_free else None

    def load(self, batch: Sequence[NDArray]) -> None:
        """Copy the arrays of a batch; labels that it lacks stay as they are."""
        for array, given in zip(self.arrays, batch, strict=False):
            array.write(given.tensor)


class CachedPass:
    """Forward in inference, or forward and backward, for batches of one form. Made by `of`.

    What is left of a pass is to load the batch, and to run the program.

    Attributes
    ----------
    guard
        What must be as it was.
    program
        What runs.
    tensors
        What it runs on: arguments and auxiliary states.

    Examples
    --------
    >>> import rebind as mx
    >>> exe = mx.sym.MakeLoss(mx.sym.square(mx.sym.var("x"))).simple_bind(mx.cpu(), x=(1,))
    >>> _ = exe.forward_before_backward()
    >>> cached = CachedPass.of(exe.runner, BatchInputs([exe.arg_dict["x"]], []), is_train=True)
    >>> cached.run([mx.nd.array([3])]), exe.outputs[0].item(), exe.grad_dict["x"].item()
    (True, 9.0, 6.0)
    """

    def __init__(self, runner: Runner, program: Program, inputs: BatchInputs, guard: Guard) -> None:
        self.runner, self.program, self.inputs, self.guard = runner, program, inputs, guard
        self.tensors = runner.arrays.memory()

    @classmethod
    def of(cls, runner: Runner, inputs: BatchInputs, is_train: bool) -> CachedPass | None:
        """Return the pass of the program of a mode, after one; None where each has more to look at."""
        if not runner.has_run or runner.is_observed:
            return None
        if is_train:
            program = runner.programs.training(backward_follows=True)
        else:
            program = runner.programs.inference()
        # Custom operators may do anything, and autograd records the arrays themselves.
        if program.is_recorded or program.is_inference == is_train or is_stateful(runner.graph):
            return None
        guard = _guard_of(runner, program)
        return None if guard is None else cls(runner, program, inputs, guard)

    def run(self, batch: Sequence[NDArray], run: Run | None = None) -> bool:
        """Run a pass; return whether that was done. If not, nothing has changed.

        Parameters
        ----------
        batch
            Arrays that the inputs read.
        run
            What runs in place of the program: forward and backward, and an update with them.
        """
        runner, program = self.runner, self.program
        prepared = program.prepared(runner.arrays) if isinstance(program, InferenceProgram) else ()
        if prepared is None:
            return False
        runner.begin(program, backward_follows=True)
        try:
            self.inputs.load(batch)
            last, outputs = runner.call(
                program, functools.partial(run or program.run, [*self.tensors, *prepared])
            )
        except Exception:
            if run is not None:  # it may have updated weights
                raise
            return False  # the plain way meets it again, and says which node it is
        runner.end(last, outputs)
        if last.way_back is not None:
            runner.backward(())
        return True


def _guard_of(runner: Runner, program: Program) -> Guard | None:
    """Return a guard of all arrays; None where some are not dense."""
    bound = [*(slot.array for slot in runner.arrays.order), *runner.arrays.aux.values()]
    present = [array for array in bound if array is not None]
    return Guard.of(present, lambda: (runner.observer, observing.programs, program.is_valid))
