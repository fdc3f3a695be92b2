"""`BucketingModule`: one set of parameters, and a network for each length of the input."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from .. import checkpoint
from .. import symbol as symbols
from ..absent import old_names
from ..checks import refuses_unknown
from ..device import Device
from ..errors import ArgumentError, ParameterError
from ..executor import DataParallelExecutorGroup
from ..executor.group.replicas import GroupDevices
from ..io import DataDesc
from ..ndarray import NDArray
from ..overriding import declares_steps
from ..protocols import ArrayDict, Logger, StateTree
from ..symbol import Symbol
from .base_module import BaseModule
from .batches import AnyBatch, whole
from .bucket_keys import read_keys, write_keys
from .buckets import Buckets, BucketState, NetworkOf
from .checkpoints import write_checkpoint
from .delegation import delegates
from .descs import Shapes
from .jobs import job_of
from .loss_scaling import LossScaling
from .module import Module
from .old_names import BUCKETING_NAMES, MODULE_NAMES, with_old_names
from .parameters import Parameters
from .settings import Binding, InitialValues, OptimizerSettings, RowIds, RowIdsOfParameter
from .steps import need_steps
from .update_policy import UpdatePolicy

__all__ = ["BucketingModule"]


@declares_steps()
@with_old_names(MODULE_NAMES | BUCKETING_NAMES)
@delegates("buckets.current", "executors symbol data_names label_names output_names output_descs output_axes")
@delegates("buckets.current", "data_shapes label_shapes output_shapes", after=("bind",))
@delegates(
    "buckets.current",
    "backward get_outputs get_input_grads get_states set_states update_metric",
    after=("bind", "init_params"),
)
@delegates(
    "buckets.default",
    "parameters policy binding networks parameter_names trained_params grad_req_of_parameters unify_devices "
    "auxiliary_arrays stores pull_weights take_no_batch optimizers number_parameters",
)
@delegates("buckets", "install_monitor", after=("bind",))
@delegates("buckets.default", "get_params", after=("init_params",))
@delegates("buckets.default", "save_optimizer_states load_optimizer_states", after=("init_optimizer",))
class BucketingModule(BaseModule):
    """Networks for inputs of several lengths (or kinds), which share parameters and optimizer.

    What concerns a batch goes to the current bucket's module; parameters and optimizer are the default one's.

    `bucket_key` of a batch names the network it is for; a batch without one is for the default bucket. A network is
    made when its first batch arrives, bound once, and stays. All use the arrays of the default bucket's parameters and
    gradients, so its network must have every parameter; others may have fewer. `bind` binds the default bucket, and
    with `force_rebind` drops what is bound for others; its `grad_req` is one word or a dict, since a list would have to
    fit every bucket's arguments.

    What a network computes is freed as soon as another bucket takes its turn, outputs too unless something holds them:
    the memory taken is that of the largest bucket, plus each bucket's own inputs, labels and states.

    Parameters
    ----------
    sym_gen
        A function from a bucket's key to its ``(symbol, data_names, label_names)``. Automatic names of layers
        start over in each call, so that they are the same in all buckets.
    default_bucket_key
        The key of the bucket that `bind` binds; usually the largest.
    logger, context, work_load_list, fixed_param_names, state_names, group2ctxs, compression_params, recompute
        As for `Module`.
    backend
        As for `Module`; ``'inductor'`` compiles each network when its bucket comes first.

    Examples
    --------
    >>> import rebind as mx
    >>> def network(length):
    ...     words = mx.sym.Embedding(mx.sym.var("data"), input_dim=50, output_dim=8, name="words")
    ...     scores = mx.sym.FullyConnected(mx.sym.mean(words, axis=1), num_hidden=2, name="scores")
    ...     return mx.sym.SoftmaxOutput(scores, name="softmax"), ["data"], ["softmax_label"]
    >>> module = mx.mod.BucketingModule(network, default_bucket_key=20)
    >>> module.bind([("data", (4, 20))], [("softmax_label", (4,))])
    >>> module.init_params()
    >>> for length in 5, 12, 5:
    ...     batch = mx.io.DataBatch([mx.nd.ones((4, length))], [mx.nd.zeros((4,))], bucket_key=length)
    ...     module.forward(batch, is_train=False)
    >>> sorted(module.buckets.modules), module.get_outputs()[0].shape
    ([5, 12, 20], (4, 2))
    """

    # Those of the tables above that are not declared in `BaseModule`, or more widely.
    symbol: Symbol
    data_shapes: list[DataDesc]
    label_shapes: list[DataDesc] | None
    output_shapes: list[tuple[str, tuple[int, ...]]]
    label_names: list[str]
    parameters: Parameters
    executors: DataParallelExecutorGroup | None
    policy: UpdatePolicy | None
    binding: Binding | None
    save_optimizer_states: Callable[[str], None]
    load_optimizer_states: Callable[[str], None]

    @refuses_unknown
    def __init__(
        self,
        sym_gen: NetworkOf,
        default_bucket_key: Hashable = None,
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
        if not callable(sym_gen) or isinstance(sym_gen, Symbol):  # a symbol can be called, to compose it
            raise ArgumentError(
                "BucketingModule: sym_gen must be a function from a bucket's key to its (symbol, data_names, "
                f"label_names); got {sym_gen!r}"
            )
        if default_bucket_key is None:
            raise ParameterError(
                "BucketingModule: needs default_bucket_key, the key of the bucket that bind() binds"
            )
        super().__init__(logger)
        #: The modules of the buckets.
        self.buckets = Buckets(
            sym_gen,
            default_bucket_key,
            {
                "logger": logger, "context": context, "work_load_list": work_load_list,
                "fixed_param_names": fixed_param_names, "state_names": state_names, "group2ctxs": group2ctxs,
                "compression_params": compression_params, "backend": backend, "recompute": recompute,
            },
        )  # fmt: skip

    @property
    def binded(self) -> bool:
        """Whether the default bucket is bound."""
        return self.buckets.default.binded

    @binded.setter
    def binded(self, value: bool) -> None:
        self.buckets.default.binded = value
        if not value:  # the others work on the arrays that are free now
            self.buckets.forget()

    @property
    def params_initialized(self) -> bool:
        return self.buckets.default.params_initialized

    @params_initialized.setter
    def params_initialized(self, value: bool) -> None:
        for module in self.buckets.bound():  # all use the same values, and each has the flag
            module.params_initialized = value

    @property
    def optimizer_initialized(self) -> bool:
        return self.buckets.default.optimizer_initialized

    @optimizer_initialized.setter
    def optimizer_initialized(self, value: bool) -> None:
        for module in self.buckets.bound():
            module.optimizer_initialized = value

    def __repr__(self) -> str:
        buckets = self.buckets
        bound = [key for key, module in buckets.modules.items() if module.binded]
        return f"<{type(self).__name__}: bound for {bound}, now {buckets.current_key!r}: {buckets.current!r}>"

    # Shapes and memory.

    def bind_to(self, binding: Binding, *, force: bool = False, shared: Any = None) -> None:
        stays = self.binded and not force
        owner = shared.buckets.default if isinstance(shared, BucketingModule) else shared
        self.buckets.default.bind_to(binding, force=force, shared=owner)
        if stays:  # the default bucket's module has warned
            return
        self.buckets.forget()
        self.for_training, self.inputs_need_grad = binding.for_training, binding.inputs_need_grad
        self.buckets.install_monitors_again()

    def switch_bucket(
        self, bucket_key: Hashable, data_shapes: Shapes, label_shapes: Shapes | None = None
    ) -> None:
        """Make a bucket the current one; bind it if it is new.

        Parameters
        ----------
        bucket_key
            The key of the bucket.
        data_shapes, label_shapes
            Its inputs and labels, as for `bind`. They count when the bucket is new.

        Examples
        --------
        >>> import rebind as mx
        >>> def network(length):
        ...     return mx.sym.sum(mx.sym.var("data"), axis=1), ["data"], None
        >>> module = mx.mod.BucketingModule(network, default_bucket_key=8)
        >>> module.bind([("data", (2, 8))])
        >>> module.init_params()
        >>> module.switch_bucket(5, [("data", (2, 5))])
        >>> module.data_shapes[0].shape
        (2, 5)
        """
        need_steps(self, "switch_bucket()", "bind")
        self.buckets.switch(bucket_key, data_shapes, label_shapes)

    def use_loss_scaler(self, scaler: LossScaling | None, *, outputs: bool = True) -> None:
        self.loss_scaler = scaler
        self.buckets.default.use_loss_scaler(scaler, outputs=outputs)

    # Parameters and updates.

    def init_from(self, values: InitialValues) -> None:
        need_steps(self, "init_params()", "bind")
        self.buckets.default.init_from(values)
        self.params_initialized = True  # of the other buckets, too

    def set_from(self, values: InitialValues) -> None:
        need_steps(self, "set_params()", "bind")
        self.buckets.default.set_from(values)
        self.params_initialized = True

    def optimize_by(self, settings: OptimizerSettings) -> None:
        need_steps(self, "init_optimizer()", "bind", "init_params")
        default = self.buckets.default
        default.batches_per_update = self.batches_per_update  # it decides rescale_grad
        default.optimize_by(settings)
        for module in self.buckets.others():
            module.batches_per_update = self.batches_per_update
            module.borrow_optimizer(default)

    @property
    def _updated(self) -> Module:
        """The module whose gradients count."""
        # Sums may be of parameters that this bucket lacks; workers in several buckets push the default one's keys.
        alone = self.batches_per_update == 1 and job_of(self.stores()) is None
        return self.buckets.current if alone else self.buckets.default

    def update(self) -> None:
        need_steps(self, "update()", "init_optimizer")
        self._finish_gradients()
        self._updated.update()

    def apply_gradients(self) -> None:
        need_steps(self, "update()", "init_optimizer")
        self._finish_gradients()
        self._updated.apply_gradients()

    def scaled_gradients(self) -> list[Sequence[NDArray]]:
        self._finish_gradients()
        return self._updated.scaled_gradients()

    def trained_gradients(self) -> ArrayDict:
        self._finish_gradients()
        return self._updated.trained_gradients()

    def _finish_gradients(self) -> None:
        """Set gradients of parameters that the batch's bucket lacks to zero, where those of all are used."""
        if self._updated is self.buckets.current or self.batches_per_update > 1:
            return
        used = {each.name for each in self.buckets.current.parameters.trained()}
        rest = [each for each in self.buckets.default.parameters.trained() if each.name not in used]
        for gradient in (gradient for each in rest for gradient in each.gradients):
            gradient[:] = 0

    def forward_backward_update(self, data_batch: AnyBatch) -> bool:
        group = self.buckets.default.executors
        if group is None or not group.is_compiled:
            return False
        need_steps(self, "forward()", "bind", "init_params")
        self.buckets.switch_to(data_batch)
        current = self.buckets.current
        return self._updated is current and current.forward_backward_update(data_batch)

    def clear_gradients(self) -> None:
        # The parameters' gradients are the default bucket's; those of the inputs each bucket has for itself.
        need_steps(self, "clear_gradients()", "bind")
        self.buckets.current.clear_gradients()
        self.buckets.default.clear_gradients()

    # A batch finds its bucket.

    def prepare(self, data_batch: AnyBatch, sparse_row_id_fn: RowIds | None = None) -> None:
        """Get ready for a batch that is to come: bind its bucket if it is new. The current bucket stays current."""
        need_steps(self, "prepare()", "bind", "init_params")
        if (batch := whole(data_batch)) is not None and hasattr(batch, "data"):
            self.buckets.get_ready(batch).prepare(batch, sparse_row_id_fn)

    def pull_rows(self, row_ids: Mapping[str, RowIdsOfParameter] | None) -> None:
        self.buckets.current.pull_rows(row_ids)

    def forward(self, data_batch: AnyBatch, is_train: bool | None = None) -> None:
        need_steps(self, "forward()", "bind", "init_params")
        self.buckets.switch_to(data_batch)
        self.buckets.current.backward_follows = self.backward_follows
        self.buckets.current.forward(data_batch, self.for_training if is_train is None else is_train)

    # A run that is saved.

    def run_state(self) -> StateTree:
        need_steps(self, "run_state()", "bind")
        return {**self.buckets.default.run_state(), "buckets": self.buckets.state()}

    def load_run_state(self, state: StateTree) -> None:
        need_steps(self, "load_run_state()", "bind")
        self.buckets.default.load_run_state(state)
        self.buckets.load_state(cast(Sequence[BucketState], state.get("buckets", ())))

    # Files, and networks from elsewhere.

    def save_checkpoint(
        self, prefix: str, epoch: int, remove_amp_cast: bool = False, *, save_optimizer_states: bool = False
    ) -> None:
        """Write the networks of all buckets and the parameters; each file appears whole or not at all.

        The files are ``prefix-8-symbol.json`` for the bucket 8, ``prefix.buckets`` with the keys and
        ``prefix-0010.params``. MXNet reads them when the keys are whole numbers; here strings, and tuples of both, work
        too. See `load` for an example.

        Parameters
        ----------
        prefix, epoch
            Name the files.
        remove_amp_cast
            Whether to leave out the casts that mixed precision put in.
        save_optimizer_states
            Whether to write the optimizer's states, ``prefix-0010.states``, too.
        """
        need_steps(self, "save_checkpoint()", "bind", "init_params")
        if save_optimizer_states:
            need_steps(self, "save_checkpoint(save_optimizer_states=True)", "init_optimizer")

        def save_networks() -> None:
            write_keys(f"{prefix}.buckets", list(self.buckets.modules))
            for key, module in self.buckets.modules.items():
                module.symbol.save(checkpoint.symbol_path(f"{prefix}-{key}"), remove_amp_cast=remove_amp_cast)

        write_checkpoint(self, prefix, epoch, save_networks, states=save_optimizer_states)

    @staticmethod
    def load(
        prefix: str,
        epoch: int,
        sym_gen: NetworkOf | None = None,
        default_bucket_key: Hashable = None,
        *,
        load_optimizer_states: bool = False,
        **kwargs: Any,
    ) -> BucketingModule:
        """Return a module from the files that `save_checkpoint` wrote; it is not bound yet.

        Parameters
        ----------
        prefix, epoch
            Name the files.
        sym_gen, default_bucket_key
            As for the constructor; `sym_gen` gives the names of inputs and labels, and the networks of buckets that are
            not in the files.
        load_optimizer_states
            Read ``prefix-0010.states`` too, once, at the first `init_optimizer`.
        **kwargs
            For the constructor.

        Examples
        --------
        >>> import tempfile, rebind as mx
        >>> def network(length):
        ...     return mx.sym.sum(mx.sym.var("data"), axis=1, name="total"), ["data"], None
        >>> module = mx.mod.BucketingModule(network, default_bucket_key=8)
        >>> module.bind([("data", (2, 8))])
        >>> module.init_params()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     module.save_checkpoint(f"{folder}/net", 3)
        ...     loaded = mx.mod.BucketingModule.load(f"{folder}/net", 3, network, default_bucket_key=8)
        >>> loaded.output_names
        ['total_output']
        """
        keys = read_keys(f"{prefix}.buckets")
        networks = {key: symbols.load(checkpoint.symbol_path(f"{prefix}-{key}")) for key in keys}
        params = checkpoint.load_params(prefix, epoch)
        module = BucketingModule.load_dict(networks, sym_gen, default_bucket_key, *params, **kwargs)
        if load_optimizer_states:
            module.buckets.default.preload_optimizer_states(checkpoint.states_path(prefix, epoch))
        return module

    @staticmethod
    def load_dict(
        sym_dict: Mapping[Hashable, Symbol] | None = None,
        sym_gen: NetworkOf | None = None,
        default_bucket_key: Hashable = None,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        **kwargs: Any,
    ) -> BucketingModule:
        """Return a module with the given networks and parameters; it is not bound yet.

        Parameters
        ----------
        sym_dict
            The networks, by the keys of their buckets.
        sym_gen, default_bucket_key
            As for the constructor; `sym_gen` gives the names of inputs and labels, and makes further buckets.
        arg_params, aux_params
            Parameters and auxiliary states.
        **kwargs
            For the constructor.

        Examples
        --------
        >>> import rebind as mx
        >>> def network(length):
        ...     net = mx.sym.sum(mx.sym.var("data"), axis=1) * mx.sym.var("w")
        ...     return net, ["data"], None
        >>> networks = {length: network(length)[0] for length in (5, 8)}
        >>> module = mx.mod.BucketingModule.load_dict(networks, network, 8, {"w": mx.nd.array([3])})
        >>> module.bind([("data", (1, 8))], for_training=False)
        >>> module.forward(mx.io.DataBatch([mx.nd.ones((1, 8))]))
        >>> module.get_outputs()[0].item()
        24.0
        """
        for name, value in (("sym_dict", sym_dict), ("sym_gen", sym_gen), ("arg_params", arg_params)):
            if value is None:
                raise ParameterError(f"BucketingModule.load_dict: needs {name}")
        assert sym_dict is not None and sym_gen is not None and arg_params is not None
        module = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        module.buckets.use_networks(sym_dict)
        module.parameters.hold(arg_params, aux_params or {})
        return module

    def with_networks(self, change: Callable[[Symbol, list[str]], Symbol]) -> BucketingModule:
        """Return a module, not bound, with the networks of this one after a change.

        Parameters
        ----------
        change
            ``change(network, inputs)`` returns the new network; `inputs` are its data, labels and states.

        Examples
        --------
        >>> import rebind as mx
        >>> def network(length):
        ...     return mx.sym.sum(mx.sym.var("data"), axis=1, name="total"), ["data"], None
        >>> module = mx.mod.BucketingModule(network, default_bucket_key=8)
        >>> module.with_networks(lambda network, inputs: mx.sym.square(network, name="sq")).output_names
        ['sq_output']
        """
        buckets = self.buckets
        return BucketingModule(buckets.changed(change), buckets.default_key, **buckets.settings)


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
