"""`BoundNetwork`: a symbol, what it is fed, and the executors in the shapes of what they are fed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from .._torch import foreach
from ..checks import warn_user
from ..errors import ParameterError, ShapeError, StateError
from ..executor import DataParallelExecutorGroup, SharedArgumentError
from ..executor.group.replicas import GroupDevices
from ..graph.passes import freeze_statistics
from ..io import DataDesc
from ..ndarray import NDArray
from ..ops.storage_types import DENSE
from ..protocols import Batch, Logger
from ..symbol import Symbol
from .batches import AnyBatch, is_sliced, labels_of, whole
from .descs import as_names, check_names, described, have_shapes
from .mistakes import check_arrays, data_error, no_batch
from .parameters import Parameters
from .settings import Binding

__all__ = ["BoundNetwork"]


class BoundNetwork:
    """A network on its devices: which of its arguments are data, labels and states, and the executors once it is bound.

    The executors' shapes follow the batches: see `follow`.

    Parameters
    ----------
    symbol
        The network.
    data_names, label_names, state_names
        Its inputs; None means none. Labels that it does not have are warned of, as in MXNet: a network without labels
        may leave the default name.
    work_load_list, group2ctxs
        As for `Module`.

    Attributes
    ----------
    group
        The executors; None before it is bound.
    binding
        What it is bound to. The executors' shapes follow the batches; these do not.
    has_gradients
        Whether there was a backward since it was bound.
    absent_labels
        The labels that the last batch should have had, and had not.

    Examples
    --------
    >>> import rebind as mx
    >>> network = mx.sym.SoftmaxOutput(mx.sym.var("x"), mx.sym.var("y"), name="sm")
    >>> network = BoundNetwork(network, ["x"], ["y"], None)
    >>> network.data_names, network.label_names, network.state_names
    (['x'], ['y'], [])
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] | None,
        label_names: Sequence[str] | None,
        state_names: Sequence[str] | None,
        work_load_list: Sequence[float] = (1,),
        group2ctxs: GroupDevices = None,
    ) -> None:
        self.symbol, self.output_names = symbol, symbol.list_outputs()
        self.work_load_list, self.group2ctxs = work_load_list, group2ctxs
        self.data_names = list(as_names(data_names))
        self.label_names = list(as_names(label_names))
        self.state_names = list(as_names(state_names))
        self._arguments = symbol.list_arguments()
        check_names(self.data_names, self._arguments, "Module: data_names", must=True)
        check_names(self.label_names, self._arguments, "Module: label_names", must=False)
        check_names(self.state_names, self._arguments, "Module: state_names", must=True)
        self.absent_labels: list[str] = []
        self.group: DataParallelExecutorGroup | None = None
        self.binding: Binding | None = None
        self.has_gradients = False

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "group": None}  # a copy is bound again

    @property
    def other_arguments(self) -> list[str]:
        """The arguments that are no inputs, and so are parameters; each name once.

        >>> import rebind as mx
        >>> BoundNetwork(
        ...     mx.sym.var("x") * mx.sym.var("w") + mx.sym.var("w"), ["x"], None, None
        ... ).other_arguments
        ['w']
        """
        inputs = {*self.data_names, *self.label_names, *self.state_names}
        return list(dict.fromkeys(name for name in self._arguments if name not in inputs))

    def check(self, data: Sequence[DataDesc], labels: Sequence[DataDesc] | None) -> None:
        """Check that these are the inputs: none may silently stay zero, and none may be dropped.

        >>> import rebind as mx
        >>> BoundNetwork(mx.sym.var("x") * 2, ["x"], None, None).check([DataDesc("y", (1,))], None)
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

    def bind(self, binding: Binding, group: DataParallelExecutorGroup) -> None:
        """Use executors, which were made for this binding."""
        self.binding, self.group, self.has_gradients = binding, group, False

    def make_group(
        self,
        binding: Binding,
        parameters: Parameters,
        scaled: Callable[[Symbol], Symbol],
        shared: DataParallelExecutorGroup | None,
        logger: Logger,
    ) -> DataParallelExecutorGroup:
        """Return executors for a binding.

        Parameters
        ----------
        binding
            What they are bound to.
        parameters
            Which parameters there are, on which devices; fixed statistics are frozen in the network.
        scaled
            Returns the network with scaled losses.
        shared
            The executors whose parameters they use.
        logger
            Where messages go.
        """
        symbol = self.symbol
        if frozen := parameters.frozen_statistics:
            symbol = symbol.with_graph(freeze_statistics(symbol.graph, frozen))
        return DataParallelExecutorGroup(
            scaled(symbol),
            parameters.devices,
            self.work_load_list,
            binding.data,
            binding.labels,
            parameters.names,
            binding.for_training,
            binding.inputs_need_grad,
            shared_group=shared,
            logger=logger,
            fixed_param_names=parameters.fixed,
            grad_req=binding.grad_req,
            state_names=self.state_names,
            group2ctxs=self.group2ctxs,
        )

    def executors(self, who: str) -> DataParallelExecutorGroup:
        """Return the executors, which `who` needs."""
        if self.group is None:
            raise StateError(f"Module.{who} needs bind() first")
        return self.group

    def with_outputs(self, who: str) -> DataParallelExecutorGroup:
        """Return the executors after a forward, which `who` needs."""
        group = self.executors(who)
        if not group.has_run:
            raise StateError(f"Module.{who} needs forward() first")
        return group

    def output_descs(self) -> list[DataDesc]:
        """Return descriptions of the outputs, in their own types and with their own batch axes."""
        group = self.executors("outputs")
        return [
            DataDesc(name, shape, output.dtype, self.symbol[name].attr("__layout__") or "NCHW")
            for (name, shape), output in zip(group.get_output_shapes(), group.execs[0].outputs, strict=True)
        ]

    def clear_gradients(self) -> None:
        """Set all gradients to zero, of parameters and of inputs, before new ones are added (``grad_req='add'``)."""
        group = self.executors("clear_gradients()")
        found = [*(group.grad_arrays or ()), *(group.input_grad_arrays or ())]
        gradients = [grad for grads in found for grad in grads if grad is not None]
        dense = [grad.tensor.detach() for grad in gradients if grad.stype == DENSE]
        if dense:
            foreach.zero_(dense)  # one call for all: this is done for every update
        for grad in gradients:
            if grad.stype != DENSE:
                grad.write_unrecorded(grad.storage.zeros_like())

    @property
    def _labels(self) -> Sequence[DataDesc]:
        """The labels that are bound."""
        return () if self.binding is None else self.binding.labels or ()

    def _labels_read(self) -> list[str]:
        """Return the labels that are bound and that the network reads."""
        return [desc.name for desc in self._labels if desc.name in self._arguments]

    def follow(self, data_batch: AnyBatch) -> DataParallelExecutorGroup:
        """Return the executors in the shapes of a batch, and note the labels that it lacks.

        >>> import rebind as mx
        >>> module = mx.mod.Module(2 * mx.sym.var("data"), label_names=None)
        >>> module.bind([("data", (8, 3))], for_training=False)
        >>> module.init_params()
        >>> module.forward(mx.io.DataBatch([mx.nd.ones((5, 3))]))
        >>> module.data_shapes[0].shape
        (5, 3)
        """
        group, batch = self.executors("forward()"), whole(data_batch)
        if batch is None:
            if strange := [each for each in cast(Sequence[object], data_batch) if not hasattr(each, "data")]:
                raise no_batch(strange[0])
            lacking = is_sliced(data_batch) and not all(map(labels_of, data_batch))
            self.absent_labels = self._labels_read() if lacking else []
            return group
        if not hasattr(batch, "data") or isinstance(batch, (np.ndarray, NDArray)):
            raise no_batch(batch)
        labels = self.note_labels(batch)
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
            check_arrays("label", labels, [desc.name for desc in self._labels])
            raise
        if not fits:
            data = described(batch.data, group.data_shapes, getattr(batch, "provide_data", None))
            own = getattr(batch, "provide_label", None)
            self._reshape(group, data, described(labels, self._labels, own) if labels else None)
        return group

    def note_labels(self, batch: Batch) -> Sequence[NDArray]:
        """Note which labels a batch lacks, and return those that it has, as far as labels are bound."""
        labels = labels_of(batch) if self._labels else ()
        self.absent_labels = self._labels_read() if self._labels and not labels else []
        return labels

    def reshape(self, data: list[DataDesc], labels: list[DataDesc] | None) -> None:
        """Bind to other shapes of inputs and labels.

        >>> import rebind as mx
        >>> module = mx.mod.Module(mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3), ["x"], None)
        >>> module.bind([("x", (8, 4))])
        >>> module.reshape([("x", (8, 6))])
        Traceback (most recent call last):
        rebind.errors.ShapeError: Module: the data must fit the weights, which are for 'x' (8, 4); got 'x' (8, 6), ...
        """
        self._reshape(self.executors("reshape()"), data, labels)
        assert self.binding is not None  # there are executors
        self.binding = dataclasses.replace(self.binding, data=data, labels=labels)

    def _reshape(
        self, group: DataParallelExecutorGroup, data: Sequence[DataDesc], labels: Sequence[DataDesc] | None
    ) -> None:
        """Change the executors' shapes; where the weights forbid them, the data are wrong, not the weights."""
        self.check(data, labels)
        try:
            group.reshape(data, labels)
        except SharedArgumentError as error:
            raise data_error(error, [] if self.binding is None else self.binding.data, data) from None
