"""`Module`: a symbol with parameters, on one device or several, that learns."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from .. import checkpoint
from ..absent import old_names
from ..checks import DICT, FLAG, PATH, Kind, an, check_kind, or_none, refuses_unknown, warn_user
from ..device import Device
from ..errors import ParameterError, StateError
from ..executor import DataParallelExecutorGroup, GradReqs, run_as
from ..executor.group.replicas import GroupDevices
from ..io import DataDesc
from ..kvstore import KVStoreBase, create
from ..logs import resolve
from ..metric import EvalMetric
from ..monitor import Monitor
from ..ndarray import NDArray
from ..optimizer import Optimizer
from ..overriding import declares_steps, overrides
from ..protocols import ArrayDict, Logger, StateTree
from ..symbol import Symbol
from .base_module import BaseModule
from .batches import AnyBatch
from .bound_network import BoundNetwork
from .cached_steps import CachedSteps
from .checkpoints import load_states, write_checkpoint
from .descs import Shapes, as_names, check_names, read_descs
from .loss_scaling import LossScaling
from .mistakes import (
    check_shared,
    described_values,
    explained_labels,
    fitting_weights,
    not_a_symbol,
    warn_bound,
    warn_no_labels,
    warn_without_gradients,
)
from .old_names import MODULE_NAMES, NETWORK_NAMES, with_old_names
from .optimizer_setup import make_optimizer
from .parameters import Parameters, ParametersState
from .row_ids import row_ids_of, rows_to_pull, warn_all_rows
from .settings import (
    Binding,
    InitialValues,
    OptimizerSettings,
    RowIds,
    RowIdsOfParameter,
    read_devices,
)
from .steps import Arrays, HeadGrads, Labels, need_steps
from .update import make_policy
from .update_policy import UpdatePolicy

__all__ = ["Module"]

#: What makes executors and updaters of a copy: how to bind it; store, optimizer and state of the run.
Copied: TypeAlias = "tuple[Binding | None, tuple[CopiedStore | None, Optimizer, StateTree] | None]"
#: The name of a store, its options, and what this process has in one with options.
CopiedStore: TypeAlias = tuple[str, dict[str, Any], StateTree]

_NAMES = Kind("a list of names", lambda value: isinstance(value, Iterable))  # one name is a list of it
_GROUPS = Kind("a dict or a list of dicts", lambda value: isinstance(value, (Mapping, list, tuple)))
_LABELS = Kind("a list of arrays", lambda value: value is None or isinstance(value, (list, tuple)))
_MONITOR = Kind("a Monitor", lambda value: hasattr(value, "install"))
_METRIC = Kind("a metric", lambda value: hasattr(value, "update_dict"))
#: What may not be another's, so that the steps of a batch can be done at once.
_JOINED = ("forward", "backward", "forward_backward", "update", "apply_gradients")


class ModuleState(ParametersState):
    """What `Module.run_state` returns, besides what its `UpdatePolicy` adds."""

    states: Sequence[Sequence[NDArray]]
    gradients: Sequence[Sequence[NDArray | None]] | None


@declares_steps()
@with_old_names(MODULE_NAMES | NETWORK_NAMES)
class Module(BaseModule):
    """A network with its parameters and optimizer, on one device or several.

    It is composed of a `BoundNetwork`, which computes; `Parameters`, which owns the values; an `UpdatePolicy`, which
    owns the optimizer; and `CachedSteps`, which does the steps of a batch at once where nothing comes between them.

    Parameters
    ----------
    symbol
        The network.
    data_names, label_names
        Which of its arguments are inputs and labels; None means none.
    logger
        Where messages go.
    context
        A device or a list of devices; each then computes its slice of a batch.
    work_load_list
        The share of each device.
    fixed_param_names
        Parameters that are not trained. A batch norm whose moving statistics are named too is frozen altogether:
        it normalizes with them in training as well, and they do not change.
    state_names
        Inputs whose values carry over from batch to batch.
    group2ctxs
        The device of each ``ctx_group``: a dict, or a list with a dict for each of `context`.
    compression_params
        How gradients are compressed between devices or workers: `KVStore.set_gradient_compression`.
    backend
        How the network is run: ``'inductor'`` compiles it, ``'openvino'`` for inference; see `Symbol.bind`.
    recompute
        Whether training takes less memory, and more time; see `Symbol.bind`.

    Examples
    --------
    >>> import numpy as np, rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    >>> net = mx.sym.LinearRegressionOutput(net, name="lro")
    >>> x = np.random.rand(64, 3).astype("float32")
    >>> batches = mx.io.NDArrayIter(x, x.sum(axis=1, keepdims=True), 16, label_name="lro_label")
    >>> mod = mx.mod.Module(net, label_names=["lro_label"])
    >>> history = mod.fit(batches, eval_metric="mse", num_epoch=20, optimizer_params={"learning_rate": 0.5})
    >>> history["train"]["mse"][-1] < 0.01
    True
    """

    #: What updates the parameters; None before `init_optimizer`.
    policy: UpdatePolicy | None = None
    _preload_opt_states: str | None = None  # a file for the first init_optimizer()
    _first_index = 0  # more than 0 where modules share an optimizer
    _scales_outputs = True

    @refuses_unknown
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
        devices, shares = read_devices(context, work_load_list)
        self._compression_params = compression_params
        self._network = network = BoundNetwork(
            run_as(symbol, backend, recompute), data_names, label_names, state_names, shares, group2ctxs
        )
        arguments, states = symbol.list_arguments(), symbol.list_auxiliary_states()
        check_names(fixed_param_names, (*arguments, *states), "Module: fixed_param_names", must=True)
        #: The owner of the parameters.
        self.parameters = Parameters(network.other_arguments, states, devices, fixed_param_names)
        self._cached_steps = CachedSteps(network, self.parameters)

    def __getstate__(self) -> dict[str, object]:
        # Executors and updaters are made again: what is copied is how to make them, and the values.
        policy = self.policy
        used = None if policy is None else policy.store
        store = None if used is None else (used.type, used.options, used.state_dict() if used.options else {})
        training = None if policy is None else (store, policy.optimizer_in_use, self.run_state())
        copied = (self.binding if self.binded else None, training)
        return {**super().__getstate__(), "policy": None, "_copied": copied}

    def __setstate__(self, state: dict[str, object]) -> None:
        binding, training = cast(Copied, state.pop("_copied"))
        super().__setstate__(state)
        if binding is not None:  # by the step itself, which a program may override
            flags = binding.for_training, binding.inputs_need_grad
            self.bind(binding.data, binding.labels, *flags, grad_req=binding.grad_req)
        if training is not None:
            store, optimizer, run = training
            kind, options, values = store or (None, {}, {})
            made = create(kind, **options) if kind and options else kind
            self.init_optimizer(made, optimizer)
            self.load_run_state(run)  # last: binding and a new optimizer start from nothing
            if isinstance(made, KVStoreBase):
                made.load_state_dict(values)
                self.pull_weights()

    # What it is.

    @property
    def executors(self) -> DataParallelExecutorGroup | None:
        """The executors, one for each device; None before `bind`.

        >>> import rebind as mx
        >>> module = mx.mod.Module(2 * mx.sym.var("data"), label_names=None, context=[mx.cpu(0), mx.cpu(1)])
        >>> module.bind([("data", (4, 3))])
        >>> [exe.arg_dict["data"].shape for exe in module.executors.execs]
        [(2, 3), (2, 3)]
        """
        return self._network.group

    @property
    def binding(self) -> Binding | None:
        """What it is bound to. The executors' shapes follow the batches; these do not."""
        return self._network.binding

    @property
    def symbol(self) -> Symbol:
        return self._network.symbol

    @property
    def data_names(self) -> list[str]:
        return self._network.data_names

    @property
    def label_names(self) -> list[str]:
        """The names of the labels."""
        return self._network.label_names

    @property
    def output_names(self) -> list[str]:
        return self._network.output_names

    @property
    def data_shapes(self) -> list[DataDesc]:
        return self._network.executors("data_shapes").data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        return self._network.executors("label_shapes").label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        return self._network.executors("output_shapes").get_output_shapes()

    def output_descs(self) -> list[DataDesc]:
        return self._network.output_descs()

    def output_axes(self) -> list[int]:
        return self._network.executors("output axes").output_layouts

    def parameter_names(self) -> list[str]:
        return [*self.parameters.names, *self.parameters.aux_names]

    def __repr__(self) -> str:
        parameters, group = self.parameters, self._network.group
        shapes = "not bound" if group is None else f"bound to {group.data_shapes}"
        return (
            f"<{type(self).__name__} {', '.join(self.output_names)} on {', '.join(map(str, parameters.devices))}: "
            f"{shapes}, {len(parameters.names)} parameters, {len(parameters.aux_names)} auxiliary states>"
        )

    @property
    def binded(self) -> bool:
        """Whether shapes are fixed and memory is allocated. Setting it to False frees the memory; parameters stay."""
        return self._network.group is not None

    @binded.setter
    def binded(self, value: bool) -> None:
        if value and not self.binded:
            raise StateError("Module.binded: only bind() can make it true")
        if not value and self.binded:
            self.pull_rows(None)
            self.parameters.detach()
            self._network.group = None

    @property
    def params_initialized(self) -> bool:
        """Whether the parameters have values."""
        return self.parameters.initialized

    @params_initialized.setter
    def params_initialized(self, value: bool) -> None:
        self.parameters.initialized = value

    @property
    def optimizer_initialized(self) -> bool:
        """Whether there is an optimizer. Setting it to False drops the optimizer."""
        return self.policy is not None

    @optimizer_initialized.setter
    def optimizer_initialized(self, value: bool) -> None:
        if value and self.policy is None:
            raise StateError("Module.optimizer_initialized: only init_optimizer() can make it true")
        if not value:
            self.pull_rows(None)
            self.policy = None

    def _need_policy(self, who: str) -> UpdatePolicy:
        if self.policy is None:
            raise StateError(f"Module.{who} needs init_optimizer() first")
        return self.policy

    # Shapes and memory.

    def bind_to(self, binding: Binding, *, force: bool = False, shared: Any = None) -> None:
        check_kind("Module.bind", or_none(an(Module)), shared_module=shared)
        network = self._network
        if network.group is not None and not force:
            warn_bound(network.group, binding)
            return
        if binding.inputs_need_grad and not binding.for_training:
            raise ParameterError("Module.bind: inputs_need_grad=True needs for_training=True")
        network.check(binding.data, binding.labels)
        if shared is not None:
            if not (shared.binded and shared.params_initialized):
                raise StateError("Module.bind: shared_module needs bind() and init_params() first")
            check_shared(self.parameters, shared.parameters)
            if self.loss_scaler is None:  # gradients in shared arrays have one scale
                self.loss_scaler = shared.loss_scaler
        group = network.make_group(
            binding, self.parameters, self._scaled, None if shared is None else shared.executors, self.logger
        )
        self.pull_rows(None)
        # Only now, when binding has not failed, are the old arrays replaced.
        with fitting_weights([] if network.binding is None else network.binding.data, binding.data):
            self.parameters.attach(group, shared=None if shared is None else shared.parameters)
        network.bind(binding, group)
        self.for_training, self.inputs_need_grad = binding.for_training, binding.inputs_need_grad
        if shared is not None and shared.optimizer_initialized:
            self.borrow_optimizer(shared)

    def _scaled(self, symbol: Symbol) -> Symbol:
        scaler = self.loss_scaler
        return symbol if scaler is None else scaler.scaled(symbol, outputs=self._scales_outputs)

    def reshape(self, data_shapes: Shapes, label_shapes: Shapes | None = None) -> None:
        """Change the shapes of inputs and labels; parameters and optimizer stay.

        >>> import rebind as mx
        >>> module = mx.mod.Module(2 * mx.sym.var("data"), label_names=None)
        >>> module.bind([("data", (8, 3))])
        >>> module.reshape([("data", (2, 3))])
        >>> module.data_shapes[0].shape
        (2, 3)
        """
        self._network.executors("reshape()")
        labels = read_descs(label_shapes, "label_shapes") or None
        self._network.reshape(read_descs(data_shapes, "data_shapes"), labels)

    def use_loss_scaler(self, scaler: LossScaling | None, *, outputs: bool = True) -> None:
        self.loss_scaler, self._scales_outputs = scaler, outputs

    def grad_req_of_parameters(self, grad_req: GradReqs) -> GradReqs:
        return {name: "add" for name in self.parameters.trained_names} if grad_req == "add" else grad_req

    # Parameters.

    def get_params(self) -> tuple[ArrayDict, ArrayDict]:
        if not self.params_initialized:
            raise StateError("Module.get_params() needs init_params() first")
        self.pull_rows(None)
        return self.parameters.copies()

    def trained_params(self) -> ArrayDict:
        self._network.executors("trained_params()")
        self.pull_rows(None)
        return self.parameters.on_first_device()

    def trained_gradients(self) -> ArrayDict:
        self._network.executors("trained_gradients()")
        return {each.name: reduce(operator.add, each.gradients) for each in self.parameters.trained()}

    def unify_devices(self) -> None:
        self.parameters.unify_devices()

    def init_from(self, values: InitialValues) -> None:
        if self.params_initialized and not values.force_init:
            _warn("init_params: the parameters have values already", "Set force_init=True to set them again.")
            return
        self._network.executors("init_params()")
        self.pull_rows(None)
        with explained_labels(self.symbol, self.parameters.names, self._network.label_names):
            self.parameters.initialize(values, self.symbol.attr_dict())
        if line := described_values(self.parameters, values):
            resolve(self.logger).warning("Module.init_params: %s", line)
        self._start_policy()

    def set_from(self, values: InitialValues) -> None:
        if not values.allow_missing:  # every value must be there
            super().set_from(values)
            return
        if self.params_initialized and not values.force_init:
            _warn("set_params: the parameters have values already", "Leave out force_init=False to set them.")
            return
        self._network.executors("set_params()")
        self.pull_rows(None)
        self.parameters.assign(values.arg_params, values.aux_params, allow_extra=values.allow_extra)
        self._start_policy()

    def _start_policy(self) -> None:
        """Let the policy start from the parameters as they are now."""
        if self.policy is not None:
            self.policy.start_from(self.parameters)  # a store that updates has weights of its own

    # The optimizer.

    def optimize_by(self, settings: OptimizerSettings) -> None:
        if not self.binded or not self.params_initialized:
            raise StateError("Module.init_optimizer() needs bind() and init_params() first")
        if self.policy is not None and not settings.force_init:
            _warn("init_optimizer: there is an optimizer already", "Set force_init=True to start over.")
            return
        self.pull_rows(None)
        policy = self._make_policy(settings)
        policy.start_from(self.parameters)
        if self._preload_opt_states is not None:
            policy.load_states(self._preload_opt_states)
        self._preload_opt_states, self.policy = None, policy  # only now: nothing failed

    def _make_policy(self, settings: OptimizerSettings) -> UpdatePolicy:
        made = make_policy(
            settings,
            self.parameters,
            self._make_optimizer,
            samples=self._network.executors("init_optimizer()").batch_size * self.batches_per_update,
            first_index=self._first_index,
        )
        if made.store is not None and self._compression_params:
            made.store.set_gradient_compression(dict(self._compression_params))
        return made

    def _make_optimizer(
        self, settings: OptimizerSettings, rescale: float, names: Mapping[int, str]
    ) -> Optimizer:
        return make_optimizer(settings, self.symbol, rescale, names, extend=self._first_index > 0)

    def optimizers(self) -> list[Optimizer]:
        return [self._need_policy("optimizers()").optimizer_in_use]  # a file may have replaced the first one

    def number_parameters(self, first_index: int) -> int:
        self._first_index = first_index
        return first_index + len(self.parameters.names) * len(self.parameters.devices)

    def borrow_optimizer(self, shared_module: Module) -> None:
        """Use the optimizer of another module, and its states."""
        check_kind("Module.borrow_optimizer", an(Module), shared_module=shared_module)
        policy = shared_module.policy
        if policy is None:
            raise StateError("Module.borrow_optimizer: shared_module needs init_optimizer() first")
        if missing := [name for name in self.parameters.names if name not in policy.names]:
            raise ParameterError(
                "Module.borrow_optimizer: shared_module must have all parameters of this one; it lacks "
                f"{', '.join(map(repr, missing))}"
            )
        self.policy = policy

    # A batch.

    def prepare(self, data_batch: AnyBatch, sparse_row_id_fn: RowIds | None = None) -> None:
        if sparse_row_id_fn is None:
            if self.policy is not None and self.policy.with_some_rows:  # asked for each batch
                self.pull_rows(None)
        elif self.policy is None or not self.policy.on_store:
            warn_all_rows()
        else:
            self.pull_rows(row_ids_of(sparse_row_id_fn, data_batch))

    def pull_rows(self, row_ids: Mapping[str, RowIdsOfParameter] | None) -> None:
        if self.policy is None:
            return
        if row_ids is None:
            self.policy.pull_all_rows(self.parameters)
        else:
            self.policy.pull_rows(self.parameters, rows_to_pull(row_ids, self.parameters.by_device()))

    def forward(self, data_batch: AnyBatch, is_train: bool | None = None) -> None:
        asked: object = is_train
        if asked.__class__ is str:  # the quickest way to ask: this is called for every batch
            check_kind("Module.forward", or_none(FLAG), is_train=is_train)
        training = self.for_training if is_train is None else is_train
        if not training and self._cached_steps.predict(data_batch):
            return
        need_steps(self, "forward()", "bind", "init_params")
        # Gradients that are sent one by one come from a backward of their own.
        follows = self.backward_follows and not self._sends()
        self._network.follow(data_batch).forward(data_batch, is_train, backward_follows=follows)

    def backward(self, out_grads: HeadGrads = None) -> None:
        need_steps(self, "backward()", "bind", "init_params")
        group = self._network.with_outputs("backward()")
        if self._network.absent_labels:
            warn_no_labels(self._network.absent_labels)
        group.backward(out_grads, self._on_gradient())
        self._network.has_gradients = True

    def forward_backward(self, data_batch: AnyBatch) -> None:
        # A pass for a batch is what the executors do, and nothing else.
        plain = not overrides(self, "forward", "backward", of=Module) and not self._sends()
        if not (plain and self._cached_steps.forward_backward(data_batch)):
            super().forward_backward(data_batch)

    def forward_backward_update(self, data_batch: AnyBatch) -> bool:
        plain = self.loss_scaler is None and self.workers is None and not overrides(self, *_JOINED, of=Module)
        return plain and self._cached_steps.forward_backward_update(data_batch, self.policy)

    def get_outputs(self, merge_multi_context: bool = True) -> Arrays:
        return self._network.with_outputs("get_outputs()").get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Arrays:
        return self._network.with_outputs("get_input_grads()").get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> Arrays:
        return self._network.executors("get_states()").get_states(merge_multi_context)

    def set_states(self, states: Sequence[NDArray] | None = None, value: float | None = None) -> None:
        self._network.executors("set_states()").set_states(states, value)

    def update_metric(self, eval_metric: EvalMetric, labels: Labels, pre_sliced: bool = False) -> None:
        group = self._network.with_outputs("update_metric()")
        if labels.__class__ is not list:  # the common form, in every batch
            check_kind("Module.update_metric", _LABELS, labels=labels)
        try:
            group.update_metric(eval_metric, labels or [], pre_sliced)
        except AttributeError:
            check_kind("Module.update_metric", _METRIC, eval_metric=eval_metric)
            raise

    def describe(self) -> str:
        """Describe how the network runs, and what is cached from the last batch; see `Executor.describe`.

        >>> import rebind as mx
        >>> module = mx.mod.Module(2 * mx.sym.var("data"), label_names=None)
        >>> module.bind([("data", (8, 3))], for_training=False)
        >>> print(module.describe().splitlines()[-1])
        cached: nothing
        """
        group = self._network.executors("describe()")
        return f"{group.execs[0].describe()}\n{group.passes.describe()}"

    def release(self) -> None:
        """Free the memory that the last batch holds for `backward`."""
        for exe in self._network.executors("release()").execs:
            exe.release()

    def install_monitor(self, mon: Monitor) -> None:
        check_kind("Module.install_monitor", _MONITOR, mon=mon)
        self._network.executors("install_monitor()").install_monitor(mon)

    # Updates.

    def update(self) -> None:
        self._need_policy("update()")
        if not self._network.has_gradients:
            warn_without_gradients(self.parameters.trained())
        if self.loss_scaler is None:
            self.apply_gradients()
        else:
            self.update_scaled(self.loss_scaler)

    def apply_gradients(self) -> None:
        policy = self._need_policy("update()")
        if trained := self.parameters.trained():
            policy.update(trained)

    def scaled_gradients(self) -> list[Sequence[NDArray]]:
        return [each.gradients for each in self.parameters.trained()]

    def gradients_by_device(self) -> list[ArrayDict]:
        """Return, for each device, the gradients of the parameters that have one.

        >>> import rebind as mx
        >>> module = Module(mx.sym.var("data") * mx.sym.var("w", shape=(1,)), label_names=None)
        >>> module.bind([("data", (1,))])
        >>> [list(of_device) for of_device in module.gradients_by_device()]
        [['w']]
        """
        trained = self.parameters.trained()
        return [
            {each.name: each.gradients[k] for each in trained} for k in range(len(self.parameters.devices))
        ]

    def clear_gradients(self) -> None:
        self._network.clear_gradients()

    # Where workers train together.

    def stores(self) -> list[KVStoreBase]:
        return [] if self.policy is None or self.policy.store is None else [self.policy.store]

    def pull_weights(self) -> None:
        if self.policy is not None:
            self.policy.pull_weights(self.parameters)

    def auxiliary_arrays(self) -> list[Sequence[NDArray]]:
        return list(self._network.executors("auxiliary_arrays()").aux_arrays)

    def take_no_batch(self) -> None:
        super().take_no_batch()
        self._on_gradient()  # the other workers' pushes begin with their backward
        self._network.has_gradients = True  # `update` is to use them

    def _sends(self) -> bool:
        # Scaled gradients are checked for an overflow first.
        if not self.sends_gradients or self.loss_scaler is not None:
            return False
        store = None if self.policy is None else self.policy.store
        return store is not None and store.capabilities.takes_ready_gradients

    def _on_gradient(self) -> Callable[[str], None] | None:
        if not self._sends():
            return None
        return self._need_policy("backward()").start_sending(self.parameters.trained())

    # Files.

    def save_optimizer_states(self, fname: str) -> None:
        """Write the optimizer's states to a file, which appears whole or not at all."""
        check_kind("Module.save_optimizer_states", PATH, fname=fname)
        self._need_policy("save_optimizer_states()").save_states(fname)

    def load_optimizer_states(self, fname: str) -> None:
        """Read the optimizer's states from a file."""
        check_kind("Module.load_optimizer_states", PATH, fname=fname)
        self._need_policy("load_optimizer_states()").load_states(fname)

    def save_checkpoint(
        self, prefix: str, epoch: int, save_optimizer_states: bool = False, remove_amp_cast: bool = True
    ) -> None:
        """Write the symbol and the parameters, and the optimizer's states if asked; each file whole or not at all.

        Of several workers worker 0 writes; all may call it, and all must where the optimizer's states are asked for.

        >>> import os, tempfile, rebind as mx
        >>> module = Module(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1), label_names=None)
        >>> module.bind([("data", (2, 3))])
        >>> module.init_params()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     module.save_checkpoint(f"{folder}/net", 10)
        ...     sorted(os.listdir(folder))
        ['net-0010.params', 'net-symbol.json']
        """
        if not self.params_initialized:
            raise StateError("Module.save_checkpoint() needs init_params() first")
        if save_optimizer_states:
            self._need_policy("save_checkpoint(save_optimizer_states=True)")

        def save_network() -> None:
            self.symbol.save(checkpoint.symbol_path(prefix), remove_amp_cast=remove_amp_cast)

        write_checkpoint(self, prefix, epoch, save_network, states=save_optimizer_states)

    @classmethod
    def load(cls, prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> Module:
        """Return a module from the files that `save_checkpoint` wrote; it is not bound yet.

        Parameters
        ----------
        prefix, epoch
            Name the files: ``prefix-symbol.json``, ``prefix-0010.params``.
        load_optimizer_states
            Read ``prefix-0010.states`` too, once, at the first `init_optimizer`.
        **kwargs
            For the constructor.

        Examples
        --------
        >>> import tempfile, rebind as mx
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     mx.model.save_checkpoint(f"{folder}/net", 3, 2 * mx.sym.var("data"), {}, {})
        ...     module = Module.load(f"{folder}/net", 3, label_names=None)
        >>> module.data_names
        ['data']
        """
        symbol, arg_params, aux_params = checkpoint.load_checkpoint(prefix, epoch)
        module = cls(symbol, **kwargs)
        module.parameters.hold(arg_params, aux_params)
        if load_optimizer_states:
            module.preload_optimizer_states(checkpoint.states_path(prefix, epoch))
        return module

    def preload_optimizer_states(self, path: str) -> None:
        """Let the first `init_optimizer` read the optimizer's states from a file."""
        self._preload_opt_states = path

    # A run that is saved.

    def run_state(self) -> StateTree:
        policy = self._need_policy("run_state()")
        adds_up = self.batches_per_update > 1  # else each batch overwrites them
        return {
            **self.arrays_state(),
            "gradients": self.parameters.gradient_state() if adds_up else None,
            **policy.state_dict(),
            "loss scale": None if self.loss_scaler is None else self.loss_scaler.state_dict(),
        }

    def load_run_state(self, state: StateTree) -> None:
        policy = self._need_policy("load_run_state()")
        self.load_arrays_state(state)
        self.parameters.load_gradient_state(cast(ModuleState, state)["gradients"])
        policy.start_from(self.parameters)  # first: a store takes the loaded weights
        policy.load_state_dict(state)
        scale = cast("StateTree | None", state["loss scale"])
        if self.loss_scaler is not None and scale is not None:
            self.loss_scaler.load_state_dict(scale)

    def arrays_state(self) -> StateTree:
        """Return the arrays of all devices: parameters, auxiliary states, states."""
        group = self._network.executors("arrays_state()")
        self.pull_rows(None)
        return {**self.parameters.state_dict(), "states": [list(arrays) for arrays in group.state_arrays]}

    def load_arrays_state(self, state: StateTree) -> None:
        """Load what `arrays_state` returned, bound in the same way; the parameters then have values."""
        group = self._network.executors("load_arrays_state()")
        saved = cast(ModuleState, state)
        self.parameters.load_state_dict(saved)
        load_states(group.state_arrays, saved["states"], "Module")


def _warn(what: str, remedy: str) -> None:
    warn_user(f"Module.{what}, so this call changes nothing. {remedy}")


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
