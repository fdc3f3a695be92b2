"""`BucketingModule`: one set of parameters, and a network for each length of the input."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from .. import checkpoint, symbol
from ..device import Device
from ..errors import ArgumentError, ParameterError, StateError
from ..initializer import Uniform
from ..io import DataDesc
from ..metric import EvalMetric
from ..ndarray import NDArray
from ..scope import NameManager
from .base_module import BaseModule
from .bucket_keys import read_keys, write_keys
from .module import Module

__all__ = ["BucketingModule"]

Params = dict[str, NDArray]


class BucketingModule(BaseModule):
    """Networks for inputs of several lengths (or kinds), which share parameters and optimizer.

    Each batch says in `bucket_key` which network it is for. A network is made when its first batch comes, bound once,
    and kept. All work on the very arrays of the default bucket's parameters and gradients, so that the default bucket's
    network must have every parameter; others may have fewer. A batch without a `bucket_key` is for the default bucket.

    What a network computes is freed as soon as another bucket's turn comes, outputs too unless somebody holds them: the
    memory taken is that of the largest bucket, and besides it only each bucket's own inputs, labels and states.

    Parameters
    ----------
    sym_gen
        A function from a bucket's key to its ``(symbol, data_names, label_names)``. Automatic names of layers start
        anew in each call, so that they are the same in all buckets.
    default_bucket_key
        The key of the bucket that `bind` binds; usually the largest.
    logger
        Where messages go.
    context
        A device or a list of devices; each then computes its part of a batch.
    work_load_list
        The share of each device.
    fixed_param_names
        Parameters that are not trained.
    state_names
        Inputs that keep their values from batch to batch.
    group2ctxs
        The device of each ``ctx_group``: a dict, or a list with a dict for each of `context`.
    compression_params
        How gradients are packed on the way between machines.

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
    >>> sorted(module._buckets), module.get_outputs()[0].shape
    ([5, 12, 20], (4, 2))
    """

    def __init__(
        self,
        sym_gen: Callable[[Any], tuple[Any, Sequence[str] | None, Sequence[str] | None]],
        default_bucket_key: Hashable = None,
        logger: Any = logging,
        context: Device | Sequence[Device] | None = None,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(logger)
        if not callable(sym_gen):
            raise ArgumentError(
                "BucketingModule: sym_gen must be a function from a bucket's key to its (symbol, data_names, "
                f"label_names); got {sym_gen!r}"
            )
        if default_bucket_key is None:
            raise ParameterError(
                "BucketingModule: needs default_bucket_key, the key of the bucket that bind() binds"
            )
        self._sym_gen = sym_gen
        self._default_bucket_key = default_bucket_key
        self._settings: dict[str, Any] = {
            "logger": logger,
            "context": context,
            "work_load_list": work_load_list,
            "fixed_param_names": fixed_param_names,
            "state_names": state_names,
            "group2ctxs": group2ctxs,
            "compression_params": compression_params,
        }
        # The owner of parameters and optimizer; what does not fit is found now, not at the first batch.
        self._default = self._make_module(default_bucket_key)
        self._buckets: dict[Hashable, Module] = {default_bucket_key: self._default}
        self._curr_bucket_key: Hashable = default_bucket_key
        self._grad_req: Any = "write"
        self._monitors: list[Any] = []

    def _make_module(self, key: Hashable, network: Any = None) -> Module:
        """Return the module of a bucket, not bound; `network` takes the place of the one that `sym_gen` gives."""
        with NameManager():
            made = self._sym_gen(key)
        if not isinstance(made, (tuple, list)) or len(made) != 3:
            raise ArgumentError(
                f"BucketingModule: sym_gen must return (symbol, data_names, label_names); for key {key!r} it "
                f"returned {made!r}"
            )
        network = made[0] if network is None else network
        settings = dict(self._settings)
        if key != self._default_bucket_key:  # another bucket may have fewer parameters and states
            known = (*network.list_arguments(), *network.list_auxiliary_states())
            for names in ("fixed_param_names", "state_names"):
                settings[names] = [name for name in settings[names] or () if name in known]
        return Module(network, data_names=made[1], label_names=made[2], **settings)

    # ---- what it is --------------------------------------------------------------------------------------

    @property
    def _curr_module(self) -> Module:
        return self._buckets[self._curr_bucket_key]

    @property
    def binded(self) -> bool:
        """Whether the default bucket is bound."""
        return self._default.binded

    @binded.setter
    def binded(self, value: bool) -> None:
        self._default.binded = value
        if not value:
            self._forget_buckets()

    @property
    def params_initialized(self) -> bool:
        """Whether the parameters have values."""
        return self._default.params_initialized

    @params_initialized.setter
    def params_initialized(self, value: bool) -> None:
        for module in self._buckets.values():
            if module is self._default or module.binded:
                module.params_initialized = value

    @property
    def optimizer_initialized(self) -> bool:
        """Whether there is an optimizer."""
        return self._default.optimizer_initialized

    @optimizer_initialized.setter
    def optimizer_initialized(self, value: bool) -> None:
        for module in self._buckets.values():
            if module is self._default or module.binded:
                module.optimizer_initialized = value

    @property
    def symbol(self) -> Any:
        """The network of the current bucket."""
        return self._curr_module.symbol

    @property
    def _whole_symbol(self) -> Any:
        return self._default.symbol

    @property
    def data_names(self) -> list[str]:
        """The names of the current bucket's inputs."""
        return self._curr_module.data_names

    @property
    def label_names(self) -> list[str]:
        """The names of the current bucket's labels."""
        return self._curr_module.label_names

    @property
    def output_names(self) -> list[str]:
        """The names of the current bucket's outputs."""
        return self._curr_module.output_names

    @property
    def data_shapes(self) -> list[DataDesc]:
        """Descriptions of the current bucket's inputs."""
        return self._bound("data_shapes").data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """Descriptions of the current bucket's labels; None when no labels are bound."""
        return self._bound("label_shapes").label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the current bucket's outputs."""
        return self._bound("output_shapes").output_shapes

    def __repr__(self) -> str:
        bound = [key for key, module in self._buckets.items() if module.binded]
        return f"<BucketingModule: bound for {bound}, now {self._curr_bucket_key!r}: {self._curr_module!r}>"

    def _bound(self, who: str) -> Module:
        if not self.binded:
            raise StateError(f"BucketingModule.{who} needs bind() first")
        return self._curr_module

    def _ready(self, who: str) -> Module:
        """Return the current bucket's module, which must be bound and have parameters."""
        self._bound(who)
        if not self.params_initialized:
            raise StateError(f"BucketingModule.{who} needs init_params() first")
        return self._curr_module

    # Names that MXNet's programs reach for.

    @property
    def _optimizer(self) -> Any:
        return self._default._optimizer

    @property
    def _updater(self) -> Any:
        return self._default._updater

    @property
    def _kvstore(self) -> Any:
        return self._default._kvstore

    @property
    def _update_on_kvstore(self) -> bool:
        return self._default._update_on_kvstore

    @property
    def _context(self) -> list[Device]:
        return self._default._context

    # ---- bind --------------------------------------------------------------------------------------------

    def bind(
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: BucketingModule | Module | None = None,
        grad_req: Any = "write",
        **_: Any,
    ) -> None:
        """Bind the default bucket; the others are bound when their first batches come.

        Parameters and optimizer that are there stay.

        Parameters
        ----------
        data_shapes, label_shapes
            Of the default bucket: `DataDesc` records or pairs of name and shape; `label_shapes` may be None.
        for_training
            Whether gradients are computed.
        inputs_need_grad
            Whether the inputs get gradients too.
        force_rebind
            Bind anew, and forget what is bound for other buckets; otherwise a second `bind` changes nothing and says
            so.
        shared_module
            A bound module whose parameter arrays, and optimizer, are used.
        grad_req
            ``'write'``, ``'add'`` or ``'null'``: one word or a dict; a list would have to fit every bucket's arguments.
        """
        if self.binded and not force_rebind:
            self._default.bind(data_shapes, label_shapes)  # says that it changes nothing
            return
        if isinstance(shared_module, BucketingModule):
            shared_module = shared_module._default
        self._default.bind(
            data_shapes,
            label_shapes,
            for_training,
            inputs_need_grad,
            force_rebind,
            shared_module=shared_module,
            grad_req=grad_req,
        )
        self._forget_buckets()
        self.for_training, self.inputs_need_grad, self._grad_req = for_training, inputs_need_grad, grad_req
        for monitor in self._monitors:
            self._default.install_monitor(monitor)

    def _forget_buckets(self) -> None:
        """Let go of what is bound for other buckets than the default one; networks from files stay."""
        for module in self._buckets.values():
            if module is not self._default and module.binded:
                module.params_initialized = False  # they are the default bucket's
                module.binded = False
        self._curr_bucket_key = self._default_bucket_key

    def switch_bucket(self, bucket_key: Hashable, data_shapes: Any, label_shapes: Any = None) -> None:
        """Make a bucket the current one; bind it if it is new.

        Parameters
        ----------
        bucket_key
            The key of the bucket.
        data_shapes, label_shapes
            Its inputs and labels: `DataDesc` records or pairs of name and shape. They count when the bucket is new.
        """
        self._bound("switch_bucket()")
        module = self._buckets.get(bucket_key)
        if module is None:
            module = self._buckets[bucket_key] = self._make_module(bucket_key)
        if not module.binded:
            self._bind_bucket(module, bucket_key, data_shapes, label_shapes)
        elif label_shapes and not module._bound_labels and self._default._bound_labels:
            # It was bound for a batch without labels, and would leave these unread.
            module.reshape(data_shapes or module.data_shapes, label_shapes)
        self._make_current(bucket_key)

    def _make_current(self, key: Hashable) -> None:
        if key != self._curr_bucket_key:
            self._curr_module._release()
            self._curr_bucket_key = key

    def _bind_bucket(self, module: Module, key: Hashable, data_shapes: Any, label_shapes: Any) -> None:
        if not self.params_initialized:
            raise StateError("BucketingModule.switch_bucket() to a new bucket needs init_params() first")
        missing = [
            name
            for name in (*module._param_names, *module._aux_names)
            if name not in self._default._param_names and name not in self._default._aux_names
        ]
        if missing:
            self._buckets.pop(key)
            raise ParameterError(
                f"BucketingModule: the network of the default bucket, {self._default_bucket_key!r}, must have all "
                f"parameters; that of {key!r} has also {', '.join(map(repr, missing))}"
            )
        module.bind(
            data_shapes,
            label_shapes,
            self.for_training,
            self.inputs_need_grad,
            shared_module=self._default,
            grad_req=self._grad_req,
        )
        module.batches_per_update = self.batches_per_update
        for monitor in self._monitors:
            module.install_monitor(monitor)

    def _switch_to(self, batch: Any) -> None:
        """Make the bucket of a batch the current one."""
        is_cut = isinstance(batch, (list, tuple)) and not hasattr(batch, "data")
        key = self._key_of(batch[0] if is_cut else batch)
        module = self._buckets.get(key)
        has_labels = bool(self._default._bound_labels and getattr(batch, "label", None))
        if module is not None and module.binded and (module._bound_labels or not has_labels):
            self._make_current(key)
            return
        if is_cut:
            raise ArgumentError(
                f"BucketingModule: the first batch of a bucket must be whole; got a list of {len(batch)} for {key!r}"
            )
        if not hasattr(batch, "data"):
            raise ArgumentError(
                f"BucketingModule: a batch must have data, a list of arrays; got {type(batch).__name__}"
            )
        if module is None:
            module = self._buckets[key] = self._make_module(key)
        data = getattr(batch, "provide_data", None) or self._described(module.data_names, batch.data)
        labels: Any = None
        if has_labels:
            labels = getattr(batch, "provide_label", None) or self._described(module.label_names, batch.label)
        self.switch_bucket(key, data, labels)

    def _key_of(self, batch: Any) -> Hashable:
        """Return the key of a batch's bucket; a batch that does not say is for the default bucket."""
        key = getattr(batch, "bucket_key", None)
        return self._default_bucket_key if key is None else key

    def _described(self, names: Sequence[str], arrays: Sequence[Any]) -> list[DataDesc]:
        """Describe arrays of a batch that does not do so, in the types and layouts of the default bucket."""
        default = {
            desc.name: desc for desc in (*self._default.data_shapes, *(self._default._bound_labels or ()))
        }
        like = {name: default.get(name, DataDesc(name, ())) for name in names}
        return [
            DataDesc(name, tuple(array.shape), like[name].dtype, like[name].layout)
            for name, array in zip(names, arrays, strict=False)
        ]

    # ---- parameters --------------------------------------------------------------------------------------

    def get_params(self) -> tuple[Params, Params]:
        """Return copies of parameters and auxiliary states, on the CPU; with several devices their mean."""
        if not self.params_initialized:
            raise StateError("BucketingModule.get_params() needs init_params() first")
        return self._default.get_params()

    def trained_params(self) -> Params:
        """Return the parameters that training moves, as they are on the first device; not copies."""
        return self._default.trained_params()

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008  (MXNet's default; it keeps no state)
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give the parameters, which all buckets share, their first values; see `Module.init_params`."""
        self._bound("init_params()")
        self._default.init_params(initializer, arg_params, aux_params, allow_missing, force_init, allow_extra)

    def set_params(
        self,
        arg_params: Mapping[str, NDArray] | None,
        aux_params: Mapping[str, NDArray] | None,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Set parameters and auxiliary states from copies of the given arrays; see `Module.set_params`."""
        self._bound("set_params()")
        self._default.set_params(arg_params, aux_params, allow_missing, force_init, allow_extra)

    def _unify_devices(self) -> None:
        self._default._unify_devices()

    # ---- optimizer ---------------------------------------------------------------------------------------

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Set up the optimizer and the store, which all buckets share; see `Module.init_optimizer`."""
        self._ready("init_optimizer()")
        self._default.batches_per_update = self.batches_per_update
        self._default.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        for module in self._buckets.values():
            if module is not self._default and module.binded:
                module.batches_per_update = self.batches_per_update
                module.borrow_optimizer(self._default)

    def save_optimizer_states(self, fname: str) -> None:
        """Write the optimizer's states to a file, which appears whole or not at all."""
        self._need_optimizer("save_optimizer_states()")
        self._default.save_optimizer_states(fname)

    def load_optimizer_states(self, fname: str) -> None:
        """Read the optimizer's states from a file."""
        self._need_optimizer("load_optimizer_states()")
        self._default.load_optimizer_states(fname)

    def _need_optimizer(self, who: str) -> None:
        if not self.optimizer_initialized:
            raise StateError(f"BucketingModule.{who} needs init_optimizer() first")

    def _optimizer_in_use(self) -> Any:
        return self._default._optimizer_in_use()

    def clear_gradients(self) -> None:
        """Set all gradients to zero, where they are added up (``grad_req='add'``)."""
        self._bound("clear_gradients()").clear_gradients()
        self._default.clear_gradients()

    def run_state(self) -> dict[str, Any]:
        """Return all that training needs to go on; see `Module.run_state`."""
        self._bound("run_state()")
        return self._default.run_state()

    def load_run_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `run_state` returned."""
        self._bound("load_run_state()")
        self._default.load_run_state(state)

    # ---- the steps of a batch ----------------------------------------------------------------------------

    def prepare(self, data_batch: Any, sparse_row_id_fn: Callable[[Any], Any] | None = None) -> None:
        """Get ready for a batch that is to come: bind its bucket if it is new. The current bucket stays current."""
        self._ready("prepare()")
        if not hasattr(data_batch, "data"):  # cut already: a part for each device
            return
        key, current = self._key_of(data_batch), self._curr_bucket_key
        module = self._buckets.get(key)
        if module is None or not module.binded:
            self._switch_to(data_batch)
            self._curr_bucket_key = current
        self._buckets[key].prepare(data_batch, sparse_row_id_fn)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Go over to the bucket of a batch and compute its outputs; see `Module.forward`."""
        self._ready("forward()")
        self._switch_to(data_batch)
        self._curr_module.forward(data_batch, self.for_training if is_train is None else is_train)

    def backward(self, out_grads: Any = None) -> None:
        """Compute the gradients for the last batch."""
        self._ready("backward()").backward(out_grads)

    def update(self) -> None:
        """Move the parameters by the gradients of the last batch."""
        self._need_optimizer("update()")
        # Gradients that were added up over several batches may be of parameters that the last one's bucket lacks.
        module = self._curr_module if self.batches_per_update == 1 else self._default
        module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list:
        """Return the outputs for the last batch: whole, or for each output the devices' parts."""
        return self._ready("get_outputs()").get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list:
        """Return the gradients of the inputs for the last batch."""
        return self._ready("get_input_grads()").get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list:
        """Return the states of the current bucket; buckets with states of one shape share them."""
        return self._ready("get_states()").get_states(merge_multi_context)

    def set_states(self, states: Any = None, value: float | None = None) -> None:
        """Set the states of the current bucket from arrays, or all to one number."""
        self._ready("set_states()").set_states(states, value)

    def update_metric(self, eval_metric: EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        """Add the last batch to a metric."""
        self._ready("update_metric()").update_metric(eval_metric, labels, pre_sliced)

    def _output_axes(self) -> list[int]:
        return self._curr_module._output_axes()

    def install_monitor(self, mon: Any) -> None:
        """Let a monitor watch all buckets, those to come too."""
        self._bound("install_monitor()")
        self._monitors.append(mon)
        for module in self._buckets.values():
            if module.binded:
                module.install_monitor(mon)

    # ---- files -------------------------------------------------------------------------------------------

    def save_checkpoint(
        self,
        prefix: str,
        epoch: int,
        remove_amp_cast: bool = False,
        *,
        save_optimizer_states: bool = False,
    ) -> None:
        """Write the networks of all buckets and the parameters; each file appears whole or not at all.

        The files are ``prefix-8-symbol.json`` for the bucket 8, ``prefix.buckets`` with the keys and
        ``prefix-0010.params``. MXNet reads them when the keys are whole numbers; here strings, and tuples of both, work
        too.

        Parameters
        ----------
        prefix, epoch
            Say the files.
        remove_amp_cast
            Whether to leave out the casts that mixed precision put in.
        save_optimizer_states
            Whether to write the optimizer's states, ``prefix-0010.states``, too.
        """
        self._ready("save_checkpoint()")
        if save_optimizer_states:
            self._need_optimizer("save_checkpoint(save_optimizer_states=True)")
        write_keys(f"{prefix}.buckets", list(self._buckets))
        for key, module in self._buckets.items():
            module.symbol.save(checkpoint.symbol_path(f"{prefix}-{key}"), remove_amp_cast=remove_amp_cast)
        path = checkpoint.params_path(prefix, epoch)
        self.save_params(path)
        self.logger.info('Saved checkpoint to "%s"', path)
        if save_optimizer_states:
            path = checkpoint.states_path(prefix, epoch)
            self.save_optimizer_states(path)
            self.logger.info('Saved optimizer state to "%s"', path)

    @staticmethod
    def load(
        prefix: str,
        epoch: int,
        sym_gen: Callable[[Any], Any] | None = None,
        default_bucket_key: Hashable = None,
        *,
        load_optimizer_states: bool = False,
        **kwargs: Any,
    ) -> BucketingModule:
        """Return a module from the files that `save_checkpoint` wrote; it is not bound yet.

        Parameters
        ----------
        prefix, epoch
            Say the files.
        sym_gen, default_bucket_key
            As for the constructor; `sym_gen` says the names of inputs and labels, and makes the buckets that are not in
            the files.
        load_optimizer_states
            Read ``prefix-0010.states`` too, once, at the first `init_optimizer`.
        **kwargs
            For the constructor.
        """
        keys = read_keys(f"{prefix}.buckets")
        networks = {key: symbol.load(checkpoint.symbol_path(f"{prefix}-{key}")) for key in keys}
        module = BucketingModule.load_dict(
            networks, sym_gen, default_bucket_key, *checkpoint.load_params(prefix, epoch), **kwargs
        )
        if load_optimizer_states:
            module._default._preload_opt_states = checkpoint.states_path(prefix, epoch)
        return module

    @staticmethod
    def load_dict(
        sym_dict: Mapping[Any, Any] | None = None,
        sym_gen: Callable[[Any], Any] | None = None,
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
            As for the constructor; `sym_gen` says the names of inputs and labels, and makes further buckets.
        arg_params, aux_params
            Parameters and auxiliary states.
        **kwargs
            For the constructor.
        """
        for name, value in (("sym_dict", sym_dict), ("sym_gen", sym_gen), ("arg_params", arg_params)):
            if value is None:
                raise ParameterError(f"BucketingModule.load_dict: needs {name}")
        assert sym_dict is not None and sym_gen is not None and arg_params is not None
        module = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        for key, network in sym_dict.items():
            module._buckets[key] = module._make_module(key, network)
        module._default = module._buckets[default_bucket_key]
        module._default._arg_params, module._default._aux_params = dict(arg_params), dict(aux_params or {})
        module._default.params_initialized = True
        return module
