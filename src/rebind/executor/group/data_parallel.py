"""`DataParallelExecutorGroup`: one executor per device, each with its slice of the batch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from ...device import Device
from ...errors import StateError
from ...ndarray import NDArray
from ...protocols import Batch, InputDesc, Labels, Logger, Metric
from ...shapes import Shape
from ...tuning import current
from ..arguments import GradReqs
from ..executor import Executor
from ..head_grads import HeadGrads
from ..holder import GraphHolder
from ..joint_update import Update, joint_step, run_with_update
from .binding_cache import BindingCache
from .outputs import Outputs, merged, output_axes, update_metric
from .pass_cache import PassCache, inputs_of_one_device
from .replicas import (
    Devices,
    GroupDevices,
    Network,
    Replicas,
    bind_replicas,
)
from .routing import Inputs, copies_of, copy_all
from .split import batch_size_of, described, mean
from .states import States, StateValues

__all__ = ["DataParallelExecutorGroup", "MonitorLike"]

Desc = TypeVar("Desc", bound=InputDesc)
T = TypeVar("T")


class MonitorLike(Protocol):
    """What watches executors: `monitor.Monitor` is one."""

    def install(self, exe: Executor, /) -> None:
        """Watch an executor."""


class DataParallelExecutorGroup(Generic[Desc]):
    """Executors of one symbol on several devices, which work on slices of each batch.

    The parameters are MXNet's. They are read into a `Network` (what is bound) and `Devices` (where); `replicas` binds
    those, `routing` brings a batch to the devices, `outputs` joins what they compute.

    Parameters
    ----------
    symbol
        The network.
    contexts
        The devices.
    workload
        The share of each device.
    data_shapes, label_shapes
        `DataDesc` records: name, shape, dtype, layout. `label_shapes` may be None.
    param_names
        Which arguments are parameters.
    for_training
        Whether gradients are computed.
    inputs_need_grad
        Whether the inputs get gradients too.
    shared_group
        A group whose arrays of parameters are used.
    logger
        Where messages go.
    fixed_param_names
        Parameters that get no gradient.
    grad_req
        ``'write'``, ``'add'`` or ``'null'``: one word, a list or a dict over all arguments.
    state_names
        Inputs whose values persist from batch to batch.
    group2ctxs
        For each ``ctx_group`` its device: a dict, or a list with a dict for each of `contexts`.

    Examples
    --------
    >>> import rebind as mx
    >>> net, devices = mx.sym.var("data") * 2, [mx.cpu(0), mx.cpu(1)]
    >>> group = DataParallelExecutorGroup(
    ...     net,
    ...     devices,
    ...     None,
    ...     [mx.io.DataDesc("data", (3,))],
    ...     None,
    ...     [],
    ...     for_training=False,
    ...     inputs_need_grad=False,
    ... )
    >>> group.forward(mx.io.DataBatch([mx.nd.array([1, 2, 3])]))
    >>> group.get_outputs()[0].asnumpy()
    array([2., 4., 6.], dtype=float32)
    """

    def __init__(
        self,
        symbol: GraphHolder,
        contexts: Sequence[Device],
        workload: Sequence[float] | None,
        data_shapes: Sequence[Desc],
        label_shapes: Sequence[Desc] | None,
        param_names: Sequence[str],
        for_training: bool,
        inputs_need_grad: bool,
        shared_group: DataParallelExecutorGroup | None = None,
        logger: Logger = logging,
        fixed_param_names: Sequence[str] | None = None,
        grad_req: GradReqs = "write",
        state_names: Sequence[str] | None = None,
        group2ctxs: GroupDevices = None,
    ) -> None:
        data_shapes = described(data_shapes)
        self.symbol = symbol
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.logger = logger
        self.shared_group = shared_group
        self.param_names = list(param_names)
        self.fixed_param_names = list(fixed_param_names or ())
        self.state_names = list(state_names or ())
        # By default; a dict or a list in `grad_req` takes precedence for the arguments that it names.
        with_gradient = {*param_names} - {*self.fixed_param_names}
        if inputs_need_grad:
            with_gradient |= {desc.name for desc in data_shapes}
        self._network = Network.read(
            symbol, param_names, self.state_names, grad_req if for_training else "null", with_gradient
        )
        self._devices = Devices.read(contexts, workload, group2ctxs)
        self.grad_req = self._network.requests
        self.contexts = list(contexts)
        self.workload = list(self._devices.work_loads)
        self.group2ctxs = list(self._devices.groups)
        self.arg_names = self._network.arg_names
        self.aux_names = self._network.aux_names
        self.output_layouts = output_axes(self._network.graph)
        self._cache = BindingCache(current().bound_shape_combinations)
        self._monitors: list[MonitorLike] = []
        self.bind_exec(data_shapes, label_shapes, shared_group)

    def bind_exec(
        self,
        data_shapes: Sequence[Desc],
        label_shapes: Sequence[Desc] | None,
        shared_group: DataParallelExecutorGroup | None = None,
        reshape: bool = False,
    ) -> None:
        """Find or make the executors for these shapes."""
        data_shapes = described(data_shapes)
        label_shapes = None if label_shapes is None else described(label_shapes)
        descs = [*data_shapes, *(label_shapes or ())]
        split = self._devices.split(batch_size_of(data_shapes))
        # The same network in other shapes, or another group's parameters: what has the same shape is shared.
        owner = self if self._cache.current else shared_group
        shared = None if owner is None else owner.replicas

        def bind() -> list[Executor]:
            executors = bind_replicas(self._network, self._devices, split, descs, shared)
            # Monitors that were installed for earlier shapes watch these too.
            for monitor in self._monitors:
                for exe in executors:
                    monitor.install(exe)
            return executors

        self.execs: list[Executor] = self._cache.switch(
            tuple((desc.name, tuple(desc.shape)) for desc in descs), bind
        )
        self.replicas: Replicas = Replicas(split, self.execs)
        self.slices = list(split.slices)
        self.batch_size = split.batch_size
        self.data_shapes: list[Desc] = data_shapes
        self.label_shapes: list[Desc] | None = label_shapes
        self._collect_arrays()

    def reshape(self, data_shapes: Sequence[Desc], label_shapes: Sequence[Desc] | None) -> None:
        """Switch to other shapes; parameters, their gradients and auxiliary states are shared.

        >>> import rebind as mx
        >>> net, descs = mx.sym.var("x") * 2, [mx.io.DataDesc("x", (4,))]
        >>> group = DataParallelExecutorGroup(net, [mx.cpu()], None, descs, None, [], False, False)
        >>> group.reshape([mx.io.DataDesc("x", (6,))], None)
        >>> group.get_outputs()[0].shape
        (6,)
        """
        # The common case: all batches of an epoch but the last have the same shapes.
        if list(data_shapes) == self.data_shapes and label_shapes == self.label_shapes:
            return
        self.bind_exec(data_shapes, label_shapes, reshape=True)

    def _collect_arrays(self) -> None:
        """Gather the executors' arrays by name, in the lists that programs written for MXNet use."""
        args = [exe.arg_dict for exe in self.execs]
        # Not those of whole numbers, which are zeros, and which no optimizer's rule can update.
        grads = [
            {name: grad if _is_floating(grad) else None for name, grad in exe.grad_dict.items()}
            for exe in self.execs
        ]
        aux = [exe.aux_dict for exe in self.execs]
        self._data = Inputs.of("data", self.data_shapes, self.replicas.split, args)
        self._labels = Inputs.of("label", self.label_shapes or (), self.replicas.split, args)
        self._outputs = Outputs(
            self._network.graph.output_names, self.output_layouts, self.replicas.split, self.execs
        )
        self._one_device = inputs_of_one_device(self._data, self._labels, self.execs)
        #: Passes for batches like the last one.
        self.passes = PassCache(self.execs, self._one_device)
        self.data_names, self.data_layouts = self._data.names, self._data.axes
        self.label_names, self.label_layouts = self._labels.names, self._labels.axes
        self.data_arrays = self._data.pairs
        self.label_arrays = None if self.label_shapes is None else self._labels.pairs
        self._states = States(self.state_names, _by_name(args, self.state_names), self.replicas.split)
        self.state_arrays = self._states.arrays
        self.param_arrays: list[list[NDArray]] = _by_name(args, self.param_names)
        self.aux_arrays: list[list[Any]] = _by_name(aux, self.aux_names)
        # None on all devices where a gradient is not asked for.
        self.grad_arrays: list[list[Any]] | None = (
            _by_name(grads, self.param_names) if self.for_training else None
        )
        self.input_grad_arrays: list[list[Any]] | None = (
            _by_name(grads, self.data_names) if self.inputs_need_grad else None
        )

    def install_monitor(self, mon: MonitorLike) -> None:
        """Let a monitor watch every executor, those of later shapes too."""
        self._monitors.append(mon)
        for exe in self._cache:
            mon.install(exe)

    def set_params(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None,
        allow_extra: bool = False,
    ) -> None:
        """Copy parameters to all devices.

        >>> import rebind as mx
        >>> net, descs = mx.sym.var("x") * mx.sym.var("w"), [mx.io.DataDesc("x", (2,))]
        >>> group = DataParallelExecutorGroup(net, [mx.cpu()], None, descs, None, ["w"], False, False)
        >>> group.set_params({"w": mx.nd.array([3, 4])}, None)
        >>> group.param_arrays[0][0].asnumpy().tolist()
        [3.0, 4.0]
        """
        for exe in self.execs:
            exe.copy_params_from(arg_params, aux_params, allow_extra_params=allow_extra)

    def get_params(self, arg_params: dict[str, NDArray], aux_params: dict[str, NDArray]) -> None:
        """Write the mean over the devices into the dicts, as new arrays on the CPU.

        >>> import rebind as mx
        >>> net, descs = mx.sym.var("x") * mx.sym.var("w"), [mx.io.DataDesc("x", (2,))]
        >>> group = DataParallelExecutorGroup(net, [mx.cpu()], None, descs, None, ["w"], False, False)
        >>> args, aux = {}, {}
        >>> group.get_params(args, aux)
        >>> list(args), aux
        (['w'], {})
        """
        arg_params.update(zip(self.param_names, map(mean, self.param_arrays), strict=True))
        aux_params.update(zip(self.aux_names, map(mean, self.aux_arrays), strict=True))

    def unify_auxiliary(self) -> None:
        """Set the auxiliary states on all devices to their mean: each device updates them from its own samples."""
        if len(self.execs) == 1:
            # One device has nothing to average.
            return
        for arrays in self.aux_arrays:
            average = mean(arrays)
            for array in arrays:
                average.copyto(array)

    def forward(
        self,
        data_batch: Batch | Sequence[Batch],
        is_train: bool | None = None,
        *,
        backward_follows: bool = False,
    ) -> None:
        """Copy each device's slice of the batch to it and run forward.

        Parameters
        ----------
        data_batch
            With the lists `data` and `label`; or a list of such batches, already split, one for each device.
        is_train
            The mode; None means `for_training`.
        backward_follows
            Whether `backward` is the next call; see `Executor.forward_before_backward`.

        Examples
        --------
        >>> import rebind as mx
        >>> descs = [mx.io.DataDesc("x", (2,))]
        >>> group = DataParallelExecutorGroup(
        ...     mx.sym.var("x") * 2, [mx.cpu()], None, descs, None, [], False, False
        ... )
        >>> group.forward(mx.io.DataBatch([mx.nd.array([1, 2])]))
        >>> group.get_outputs()[0].asnumpy().tolist()
        [2.0, 4.0]
        """
        self._load(data_batch)
        training = self.for_training if is_train is None else bool(is_train)
        for exe in self.execs:
            if training and backward_follows:
                exe.forward_before_backward()
            else:
                exe.forward(training)

    def _load(self, data_batch: Batch | Sequence[Batch]) -> None:
        """Copy each device's slice of a batch to it."""
        arrays = None if self._one_device is None else self._one_device.read(data_batch)
        if self._one_device is None or arrays is None:
            copy_all(copies_of(data_batch, self._data, self._labels, self.contexts))
        else:
            self._one_device.load(arrays)

    @property
    def is_compiled(self) -> bool:
        """Whether the network is compiled."""
        return self.execs[0].is_compiled

    def forward_backward_update(self, data_batch: Batch | Sequence[Batch], update: Update) -> bool:
        """Run forward, backward and `update` for a batch as one call of compiled code, on one device.

        Return whether that goes; where it does not, nothing has happened.
        """
        runner = self.execs[0].runner
        step = joint_step(runner, update) if len(self.execs) == 1 else None
        if step is None:
            return False
        self._load(data_batch)
        run_with_update(runner, step, update)
        return True

    @property
    def has_run(self) -> bool:
        """Whether `forward` has run since these shapes were bound.

        >>> import rebind as mx
        >>> descs = [mx.io.DataDesc("x", (2,))]
        >>> net = mx.sym.var("x") * 2
        >>> DataParallelExecutorGroup(net, [mx.cpu()], None, descs, None, [], False, False).has_run
        False
        """
        return self.execs[0].has_run

    def backward(self, out_grads: HeadGrads = None, on_gradient: Callable[[str], None] | None = None) -> None:
        """Run backward on all devices; `out_grads` are for the whole batch, in any form that `Executor` takes.

        `on_gradient` is called with the name of an argument when its gradient is there on all devices.

        >>> import rebind as mx
        >>> net, descs = mx.sym.var("x") * 2, [mx.io.DataDesc("x", (2,))]
        >>> group = DataParallelExecutorGroup(net, [mx.cpu()], None, descs, None, [], True, True)
        >>> group.forward(mx.io.DataBatch([mx.nd.ones((2,))]))
        >>> group.backward([mx.nd.array([1, 10])])
        >>> group.get_input_grads()[0].asnumpy().tolist()
        [2.0, 20.0]
        """
        if not self.for_training:
            raise StateError("backward: the module must be bound with for_training=True")
        last = self.execs[-1]
        for exe, own in zip(self.execs, self._outputs.head_grads_for(out_grads), strict=True):
            # The devices' passes follow each other: what the last one has computed is there on all.
            exe.backward(own, on_gradient=on_gradient if exe is last else None)

    def get_outputs(
        self, merge_multi_context: bool = True, begin: int = 0, end: int | None = None
    ) -> list[NDArray] | list[list[NDArray]]:
        """Return the outputs: joined over the devices, or for each output the list of the devices' arrays.

        >>> import rebind as mx
        >>> descs = [mx.io.DataDesc("x", (4,))]
        >>> group = DataParallelExecutorGroup(
        ...     mx.sym.var("x") * 2, [mx.cpu(0), mx.cpu(1)], None, descs, None, [], False, False
        ... )
        >>> group.get_outputs()[0].shape, [each.shape for each in group.get_outputs(False)[0]]
        ((4,), [(2,), (2,)])
        """
        if merge_multi_context and len(self.execs) == 1:
            return self.execs[0].outputs[begin:end]
        return merged(self._outputs.arrays(begin, end), self.output_layouts[begin:end], merge_multi_context)

    def get_output_shapes(self) -> list[tuple[str, Shape]]:
        """Return names and shapes of the outputs for the whole batch.

        >>> import rebind as mx
        >>> net, descs = mx.sym.exp(mx.sym.var("x"), name="e"), [mx.io.DataDesc("x", (4, 3))]
        >>> group = DataParallelExecutorGroup(
        ...     net, [mx.cpu(0), mx.cpu(1)], None, descs, None, [], False, False
        ... )
        >>> group.get_output_shapes()
        [('e_output', (4, 3))]
        """
        return self._outputs.shapes()

    def get_input_grads(self, merge_multi_context: bool = True) -> list[NDArray] | list[list[NDArray]]:
        """Return the gradients of the inputs.

        >>> import rebind as mx
        >>> net, descs = mx.sym.MakeLoss(mx.sym.var("x") * 3), [mx.io.DataDesc("x", (2,))]
        >>> group = DataParallelExecutorGroup(net, [mx.cpu()], None, descs, None, [], True, True)
        >>> group.forward(mx.io.DataBatch([mx.nd.ones((2,))]))
        >>> group.backward()
        >>> group.get_input_grads()[0].asnumpy().tolist()
        [3.0, 3.0]
        """
        if self.input_grad_arrays is None:
            raise StateError("get_input_grads: the module must be bound with inputs_need_grad=True")
        return merged(self.input_grad_arrays, self.data_layouts, merge_multi_context)

    def update_metric(
        self,
        eval_metric: Metric,
        labels: Labels,
        pre_sliced: bool = False,
    ) -> None:
        """Add the last batch's outputs to a metric.

        `labels` are for the whole batch or, with `pre_sliced`, a list of such lists, one for each device.

        >>> import rebind as mx
        >>> descs, labels = [mx.io.DataDesc("x", (2,))], [mx.io.DataDesc("y", (2,))]
        >>> group = DataParallelExecutorGroup(
        ...     mx.sym.var("x") * 1, [mx.cpu()], None, descs, labels, [], False, False
        ... )
        >>> group.forward(mx.io.DataBatch([mx.nd.array([1, 2])]))
        >>> metric = mx.metric.MAE()
        >>> group.update_metric(metric, [mx.nd.array([1, 5])])
        >>> metric.get()
        ('mae', 1.5)
        """
        update_metric(eval_metric, self.execs, self._labels, labels, pre_sliced)

    def get_states(self, merge_multi_context: bool = True) -> list[NDArray] | list[list[NDArray]]:
        """Return the states."""
        return self._states.get(merge_multi_context)

    def set_states(
        self,
        states: StateValues | None = None,
        value: float | None = None,
    ) -> None:
        """Set the states from arrays (whole, or for each a list of the devices' arrays), or all to one number.

        >>> import rebind as mx
        >>> net, descs = mx.sym.var("x") + mx.sym.var("state"), [mx.io.DataDesc("x", (2,))]
        >>> group = DataParallelExecutorGroup(
        ...     net, [mx.cpu()], None, descs, None, [], False, False, state_names=["state"]
        ... )
        >>> group.set_states(value=7)
        >>> group.get_states()[0].asnumpy().tolist()
        [7.0, 7.0]
        """
        self._states.set(states, value)


def _by_name(arrays: Sequence[Mapping[str, T]], names: Sequence[str]) -> list[list[T]]:
    """Return for each name the devices' arrays."""
    return [[own[name] for own in arrays] for name in names]


def _is_floating(grad: NDArray | None) -> bool:
    return grad is not None and grad.storage.dtype.is_floating_point
