"""`BoundModule`: a symbol with parameters on one device or several, which computes."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

from ..checks import DICT, FLAG, Kind, an, check_kind, or_none, warn_user
from ..device import Device
from ..errors import ParameterError, StateError
from ..executor import DataParallelExecutorGroup, GradReqs, run_as
from ..executor.group.replicas import GroupDevices
from ..graph.passes import freeze_statistics
from ..metric import EvalMetric
from ..monitor import Monitor
from ..ndarray import NDArray
from ..protocols import Batch, Logger
from ..symbol import Symbol
from .batches import AnyBatch
from .descs import Shapes, as_names, check_names, read_descs
from .inputs import Inputs
from .inspection import Inspection
from .loss_scaling import LossScaling
from .mistakes import check_shared, fitting_weights, not_a_symbol, warn_bound, warn_no_labels
from .parameters import Parameters
from .settings import Binding, RowIds, read_devices
from .steps import Arrays, HeadGrads, Labels, need_params

__all__ = ["BoundModule"]

_NAMES = Kind("a list of names", lambda value: isinstance(value, Iterable))  # one name is a list of it
_GROUPS = Kind("a dict or a list of dicts", lambda value: isinstance(value, (Mapping, list, tuple)))
_LABELS = Kind("a list of arrays", lambda value: value is None or isinstance(value, (list, tuple)))
_MONITOR = Kind("a Monitor", lambda value: hasattr(value, "install"))
_METRIC = Kind("a metric", lambda value: hasattr(value, "update_dict"))


class BoundModule(Inspection):
    """A network on its devices: the half of `Module` that binds and computes; see there for the parameters.

    It is composed of `Inputs`, which knows what it is fed; `Parameters`, which owns the values; and the executors,
    which compute.

    >>> import rebind as mx
    >>> module = BoundModule(mx.sym.square(mx.sym.var("data"), name="sq"), label_names=None)
    >>> module.data_names, module.output_names, module.binded
    (['data'], ['sq_output'], False)
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: Logger = logging,
        context: Device | Sequence[Device] | None = None,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: GroupDevices = None,
        compression_params: Mapping[str, object] | None = None,
        *,
        backend: str | None = None,
        recompute: bool | None = None,
    ) -> None:
        who = type(self).__name__
        if not isinstance(symbol, Symbol):
            raise not_a_symbol(symbol)
        names = {"data_names": data_names, "label_names": label_names, "state_names": state_names}
        check_kind(who, or_none(_NAMES), **names, fixed_param_names=fixed_param_names)
        check_kind(who, or_none(_GROUPS), group2ctxs=group2ctxs)
        check_kind(who, or_none(DICT), compression_params=compression_params)
        super().__init__(logger)
        fixed_param_names = as_names(fixed_param_names)
        self._symbol = run_as(symbol, backend, recompute)
        devices, self._work_load_list = read_devices(context, work_load_list)
        self._group2ctxs = group2ctxs
        self._compression_params = compression_params
        self._inputs = inputs = Inputs(symbol, data_names, label_names, state_names)
        arguments, states = symbol.list_arguments(), symbol.list_auxiliary_states()
        check_names(fixed_param_names, (*arguments, *states), "Module: fixed_param_names", must=True)
        self._parameters = Parameters(inputs.other_arguments, states, devices, fixed_param_names)
        self._output_names = symbol.list_outputs()

        self._group = None
        #: What it is bound to. The executors' shapes follow the batches; these do not.
        self.binding: Binding | None = None
        self._scales_outputs = True
        self._has_gradients = False  # for `update`

    @property
    def binded(self) -> bool:
        """Whether shapes are fixed and memory is allocated. Setting it to False frees the memory; parameters stay."""
        return self._group is not None

    @binded.setter
    def binded(self, value: bool) -> None:
        if value and self._group is None:
            raise StateError("Module.binded: only bind() can make it true")
        if not value and self._group is not None:
            self._parameters.detach()
            self._group = None

    @property
    def params_initialized(self) -> bool:
        """Whether the parameters have values."""
        return self._parameters.initialized

    @params_initialized.setter
    def params_initialized(self, value: bool) -> None:
        self._parameters.initialized = value

    # Shapes and memory.

    def bind(
        self,
        data_shapes: Shapes,
        label_shapes: Shapes | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: BoundModule | None = None,
        grad_req: GradReqs = "write",
    ) -> None:
        """Fix the shapes and allocate memory. Existing parameters, and an existing optimizer, stay.

        Parameters
        ----------
        data_shapes, label_shapes
            `DataDesc` records or pairs of name and shape; `label_shapes` may be None.
        for_training
            Whether gradients are computed.
        inputs_need_grad
            Whether the inputs get gradients too.
        force_rebind
            Bind again; otherwise a second `bind` changes nothing and warns.
        shared_module
            A bound module whose parameter arrays, and optimizer, are used.
        grad_req
            ``'write'``, ``'add'`` or ``'null'``: one word, a list or a dict.

        Examples
        --------
        >>> import rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (8, 3))], for_training=False)
        >>> module.output_shapes
        [('fc_output', (8, 2))]
        """
        check_kind(
            "Module.bind",
            FLAG,
            for_training=for_training,
            inputs_need_grad=inputs_need_grad,
            force_rebind=force_rebind,
        )
        check_kind("Module.bind", or_none(an(BoundModule)), shared_module=shared_module)
        binding = Binding(
            data=read_descs(data_shapes, "data_shapes"),
            labels=read_descs(label_shapes, "label_shapes") or None,
            for_training=for_training,
            inputs_need_grad=inputs_need_grad,
            grad_req=grad_req,
        )
        if self._group is not None and not force_rebind:
            warn_bound(self._group, binding)
            return
        if inputs_need_grad and not for_training:
            raise ParameterError("Module.bind: inputs_need_grad=True needs for_training=True")
        self._inputs.check(binding.data, binding.labels)
        if shared_module is not None:
            if not (shared_module.binded and shared_module.params_initialized):
                raise StateError("Module.bind: shared_module needs bind() and init_params() first")
            check_shared(self._parameters, shared_module.parameters)
            if self.loss_scaler is None:  # gradients in shared arrays have one scale
                self.loss_scaler = shared_module.loss_scaler
        group = self._make_group(binding, None if shared_module is None else shared_module.executors)
        # Only now, when binding has not failed, are the old arrays replaced.
        with fitting_weights([] if self.binding is None else self.binding.data, binding.data):
            shared = None if shared_module is None else shared_module.parameters
            self._parameters.attach(group, shared=shared)
        self._group, self.binding = group, binding
        self._has_gradients = False
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        if shared_module is not None:
            self._share_optimizer(shared_module)

    def _share_optimizer(self, owner: BoundModule) -> None:
        """Use the optimizer of the module whose parameters are used; a module that learns has one."""

    def _make_group(
        self, binding: Binding, shared: DataParallelExecutorGroup | None
    ) -> DataParallelExecutorGroup:
        return DataParallelExecutorGroup(
            self._bound_symbol(),
            self._parameters.devices,
            self._work_load_list,
            binding.data,
            binding.labels,
            self._parameters.names,
            binding.for_training,
            binding.inputs_need_grad,
            shared_group=shared,
            logger=self.logger,
            fixed_param_names=self._parameters.fixed,
            grad_req=binding.grad_req,
            state_names=self._inputs.state_names,
            group2ctxs=self._group2ctxs,
        )

    def _bound_symbol(self) -> Symbol:
        """Return the symbol as it is bound: with frozen statistics where those are fixed, and with scaled losses."""
        symbol, frozen = self._symbol, self._parameters.frozen_statistics
        if frozen:
            symbol = symbol.with_graph(freeze_statistics(symbol.graph, frozen))
        if self.loss_scaler is None:
            return symbol
        return self.loss_scaler.scaled(symbol, outputs=self._scales_outputs)

    def reshape(self, data_shapes: Shapes, label_shapes: Shapes | None = None) -> None:
        """Change the shapes of inputs and labels; parameters and optimizer stay.

        >>> import rebind as mx
        >>> module = mx.mod.Module(2 * mx.sym.var("data"), label_names=None)
        >>> module.bind([("data", (8, 3))])
        >>> module.reshape([("data", (2, 3))])
        >>> module.data_shapes[0].shape
        (2, 3)
        """
        group = self._need_group("reshape()")
        data = read_descs(data_shapes, "data_shapes")
        labels = read_descs(label_shapes, "label_shapes") or None
        self._inputs.reshape(group, data, labels, self.binding)
        assert self.binding is not None  # there is a group
        self.binding = dataclasses.replace(self.binding, data=data, labels=labels)

    def use_loss_scaler(self, scaler: LossScaling | None, *, outputs: bool = True) -> None:
        self.loss_scaler, self._scales_outputs = scaler, outputs

    def grad_req_of_parameters(self, grad_req: GradReqs) -> GradReqs:
        return {name: "add" for name in self._parameters.trained_names} if grad_req == "add" else grad_req

    # A batch.

    def forward(self, data_batch: AnyBatch, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch.

        A batch of another size or shape than the one before is fine: what is bound follows it. A batch without labels
        is fine too, for prediction.

        Parameters
        ----------
        data_batch
            Anything with `data` and `label`; or a list of those, already sliced, one for each device.
        is_train
            The mode; None means `for_training`.

        Examples
        --------
        >>> import rebind as mx
        >>> module = mx.mod.Module(2 * mx.sym.var("data"), label_names=None)
        >>> module.bind([("data", (8, 3))], for_training=False)
        >>> module.init_params()
        >>> module.forward(mx.io.DataBatch([mx.nd.ones((5, 3))]))
        >>> module.get_outputs()[0].shape
        (5, 3)
        """
        asked: object = is_train
        if asked.__class__ is str:  # the quickest way to ask: this is called for every batch
            check_kind("Module.forward", or_none(FLAG), is_train=is_train)
        group, training = self._group, self.for_training if is_train is None else is_train
        if (
            group is not None
            and not training
            and self.params_initialized
            and group.passes.run(data_batch, is_train=False)
        ):
            # No list of batches, for there is one device.
            self._inputs.note_labels(cast(Batch, data_batch), self.binding)
            return
        group = self._follow_batch(data_batch)
        # Gradients that are sent one by one come from a backward of their own.
        group.forward(data_batch, is_train, backward_follows=self.backward_follows and not self._sends())

    def _follow_batch(self, data_batch: AnyBatch) -> DataParallelExecutorGroup:
        """Return the executors for a batch, in its shapes; note labels that it should have and does not."""
        need_params(self, "forward")
        group = self._need_group("forward()")
        self._inputs.follow(data_batch, group, self.binding)
        return group

    def backward(self, out_grads: HeadGrads = None) -> None:
        need_params(self, "backward")
        group = self._need_run("backward()")
        if self._inputs.absent_labels:
            warn_no_labels(self._inputs.absent_labels)
        group.backward(out_grads, self._on_gradient())
        self._has_gradients = True

    def _sends(self) -> bool:
        """Whether backward sends gradients while it computes others."""
        return False

    def _on_gradient(self) -> Callable[[str], None] | None:
        """Return what is called with each parameter whose gradient is ready, while backward computes the others."""
        return None

    def get_outputs(self, merge_multi_context: bool = True) -> Arrays:
        return self._need_run("get_outputs()").get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Arrays:
        return self._need_run("get_input_grads()").get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> Arrays:
        return self._need_group("get_states()").get_states(merge_multi_context)

    def set_states(self, states: Sequence[NDArray] | None = None, value: float | None = None) -> None:
        self._need_group("set_states()").set_states(states, value)

    def update_metric(self, eval_metric: EvalMetric, labels: Labels, pre_sliced: bool = False) -> None:
        group = self._need_run("update_metric()")
        if labels.__class__ is not list:  # the common form, in every batch
            check_kind("Module.update_metric", _LABELS, labels=labels)
        try:
            group.update_metric(eval_metric, labels or [], pre_sliced)
        except AttributeError:
            check_kind("Module.update_metric", _METRIC, eval_metric=eval_metric)
            raise

    def release(self) -> None:
        """Free what the last batch holds for `backward`."""
        for exe in self._need_group("release()").execs:
            exe.release()

    def install_monitor(self, mon: Monitor) -> None:
        check_kind("Module.install_monitor", _MONITOR, mon=mon)
        self._need_group("install_monitor()").install_monitor(mon)

    def prepare(self, data_batch: AnyBatch, sparse_row_id_fn: RowIds | None = None) -> None:
        """Get ready for a batch; `sparse_row_id_fn` is for sparse parameters, and changes nothing for dense ones."""
        if sparse_row_id_fn is not None:
            warn_user(
                "Module.prepare: sparse_row_id_fn names rows of row_sparse parameters; all parameters are dense, so it "
                "changes nothing"
            )
