"""`Inputs`: what a network is fed, by name; and the executors in the shapes of what they are fed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from ..checks import warn_user
from ..errors import ParameterError, ShapeError
from ..executor import DataParallelExecutorGroup, SharedArgumentError
from ..io import DataDesc
from ..ndarray import NDArray
from ..protocols import Batch
from ..symbol import Symbol
from .batches import AnyBatch, is_sliced, labels_of, whole
from .descs import as_names, check_names, described, have_shapes
from .mistakes import check_arrays, data_error, no_batch
from .settings import Binding

__all__ = ["Inputs"]


class Inputs:
    """Which arguments of a network are data, labels and states; and what the last batch had of them.

    The executors' shapes follow the batches: see `follow`.

    Parameters
    ----------
    symbol
        The network.
    data_names, label_names, state_names
        Its inputs; None means none. Labels that it does not have are warned of, as in MXNet: a network without labels
        may leave the default name.

    Attributes
    ----------
    absent_labels
        The labels that the last batch should have had, and had not.

    Examples
    --------
    >>> import rebind as mx
    >>> inputs = Inputs(mx.sym.SoftmaxOutput(mx.sym.var("x"), mx.sym.var("y"), name="sm"), ["x"], ["y"], None)
    >>> inputs.data_names, inputs.label_names, inputs.state_names
    (['x'], ['y'], [])
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] | None,
        label_names: Sequence[str] | None,
        state_names: Sequence[str] | None,
    ) -> None:
        self.data_names = list(as_names(data_names))
        self.label_names = list(as_names(label_names))
        self.state_names = list(as_names(state_names))
        self._arguments = symbol.list_arguments()
        check_names(self.data_names, self._arguments, "Module: data_names", must=True)
        check_names(self.label_names, self._arguments, "Module: label_names", must=False)
        check_names(self.state_names, self._arguments, "Module: state_names", must=True)
        self.absent_labels: list[str] = []

    @property
    def other_arguments(self) -> list[str]:
        """The arguments that are no inputs, and so are parameters; each name once.

        >>> import rebind as mx
        >>> Inputs(mx.sym.var("x") * mx.sym.var("w") + mx.sym.var("w"), ["x"], None, None).other_arguments
        ['w']
        """
        inputs = {*self.data_names, *self.label_names, *self.state_names}
        return list(dict.fromkeys(name for name in self._arguments if name not in inputs))

    def check(self, data: Sequence[DataDesc], labels: Sequence[DataDesc] | None) -> None:
        """Check that these are the inputs: none may silently stay zero, and none may be dropped.

        >>> import rebind as mx
        >>> Inputs(mx.sym.var("x") * 2, ["x"], None, None).check([DataDesc("y", (1,))], None)
        Traceback (most recent call last):
        rebind.errors.ParameterError: Module.bind: data_shapes must describe the inputs ['x']; got ['y']
        """
        names = [desc.name for desc in data]
        if sorted(names) != sorted(self.data_names):
            raise ParameterError(
                f"Module.bind: data_shapes must describe the inputs {self.data_names}; got {names}"
            )
        if not labels:
            return
        names = [desc.name for desc in labels]
        missing = [name for name in self.label_names if name in self._arguments and name not in names]
        unknown = [name for name in names if name in self._arguments and name not in self.label_names]
        if missing or unknown:
            raise ParameterError(
                f"Module.bind: label_shapes must describe the labels {self.label_names}; got {names}. Give them the "
                "same names in the iterator (label_name=...) and the module (label_names=[...])."
            )

    def bound_labels(self, binding: Binding | None) -> list[str]:
        """Return the labels that are bound and that the network reads.

        >>> import rebind as mx
        >>> binding = Binding(data=[], labels=[DataDesc("y", (1,)), DataDesc("z", (1,))])
        >>> Inputs(mx.sym.var("x") + mx.sym.var("y"), ["x"], ["y"], None).bound_labels(binding)
        ['y']
        """
        return [desc.name for desc in _labels(binding) if desc.name in self._arguments]

    def follow(self, data_batch: AnyBatch, group: DataParallelExecutorGroup, binding: Binding | None) -> None:
        """Change the executors to the shapes of a batch, if they are others; note the labels that it lacks.

        >>> import rebind as mx
        >>> module = mx.mod.Module(2 * mx.sym.var("data"), label_names=None)
        >>> module.bind([("data", (8, 3))])
        >>> inputs = Inputs(module.symbol, ["data"], None, None)
        >>> inputs.follow(mx.io.DataBatch([mx.nd.ones((5, 3))]), module.executors, module.binding)
        >>> module.data_shapes[0].shape
        (5, 3)
        """
        batch = whole(data_batch)
        if batch is None:
            if strange := [each for each in cast(Sequence[object], data_batch) if not hasattr(each, "data")]:
                raise no_batch(strange[0])
            lacking = is_sliced(data_batch) and not all(map(labels_of, data_batch))
            self.absent_labels = self.bound_labels(binding) if lacking else []
            return
        if not hasattr(batch, "data") or isinstance(batch, (np.ndarray, NDArray)):
            raise no_batch(batch)
        expected = _labels(binding)
        labels = self.note_labels(batch, binding)
        if batch.data is None or len(batch.data) != len(group.data_shapes):
            count = "none" if batch.data is None else f"{len(batch.data)} arrays"
            text = f"Module.forward: the batch must hold {self.data_names}; got {count}"
            if batch.data is None or len(batch.data) < len(group.data_shapes):
                raise ShapeError(text)
            warn_user(f"{text}. The first are used, as in MXNet.")
        try:
            fits = have_shapes(batch.data, group.data_shapes) and (  # cheap, and true of most batches
                not labels or have_shapes(labels, group.label_shapes)
            )
        except AttributeError:
            check_arrays("data", batch.data, self.data_names)
            check_arrays("label", labels, [desc.name for desc in expected])
            raise
        if not fits:
            self._take_shapes(batch, labels, group, binding)

    def note_labels(self, batch: Batch, binding: Binding | None) -> Sequence[NDArray]:
        """Note which labels a batch lacks, and return those that it has, as far as labels are bound.

        >>> import rebind as mx
        >>> inputs = Inputs(mx.sym.var("x") + mx.sym.var("y"), ["x"], ["y"], None)
        >>> binding = Binding(data=[], labels=[DataDesc("y", (1,))])
        >>> inputs.note_labels(mx.io.DataBatch([mx.nd.ones((1,))]), binding), inputs.absent_labels
        ((), ['y'])
        """
        expected = _labels(binding)
        labels = labels_of(batch) if expected else ()
        self.absent_labels = self.bound_labels(binding) if expected and not labels else []
        return labels

    def _take_shapes(
        self,
        batch: Batch,
        labels: Sequence[NDArray],
        group: DataParallelExecutorGroup,
        binding: Binding | None,
    ) -> None:
        data = described(batch.data, group.data_shapes, getattr(batch, "provide_data", None))
        descs = None
        if labels:
            descs = described(labels, _labels(binding), getattr(batch, "provide_label", None))
        self.reshape(group, data, descs, binding)

    def reshape(
        self,
        group: DataParallelExecutorGroup,
        data: Sequence[DataDesc],
        labels: Sequence[DataDesc] | None,
        binding: Binding | None,
    ) -> None:
        """Change the executors' shapes; where the weights forbid them, say that the data are wrong, not the weights.

        >>> import rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, name="fc")
        >>> module = mx.mod.Module(net, ["x"], None)
        >>> module.bind([("x", (8, 4))])
        >>> Inputs(net, ["x"], None, None).reshape(
        ...     module.executors, [DataDesc("x", (8, 6))], None, module.binding
        ... )
        Traceback (most recent call last):
        rebind.errors.ShapeError: Module: the data must fit the weights, which are for 'x' (8, 4); got 'x' (8, 6), ...
        """
        self.check(data, labels)
        try:
            group.reshape(data, labels)
        except SharedArgumentError as error:
            raise data_error(error, [] if binding is None else binding.data, data) from None


def _labels(binding: Binding | None) -> Sequence[DataDesc]:
    """Return the labels that are bound."""
    return () if binding is None else binding.labels or ()
