"""`Module`: a symbol with parameters, on one device or several, that learns."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from .. import checkpoint, files
from .. import optimizer as opt
from ..device import Device, current_device
from ..errors import ArgumentError, ParameterError, ShapeError, StateError
from ..executor import DataParallelExecutorGroup
from ..graph.passes import freeze_statistics
from ..initializer import InitDesc, Uniform
from ..io import DataDesc
from ..kvstore import KVStoreBase, choose_store
from ..metric import EvalMetric
from ..ndarray import NDArray
from ..symbol import Symbol
from . import state
from .base_module import BaseModule, check_names, read_descs

__all__ = ["Module"]

Params = dict[str, NDArray]


class Module(BaseModule):
    """A network with its parameters and optimizer, on one device or several.

    Parameters
    ----------
    symbol
        The network.
    data_names, label_names
        Which of its arguments are inputs and labels; None means none.
    logger
        Where messages go.
    context
        A device or a list of devices; each then computes its part of a batch.
    work_load_list
        The share of each device.
    fixed_param_names
        Parameters that are not trained. With the names of a batch norm's moving statistics it is frozen altogether: it
        normalizes with them in training too, and they do not move.
    state_names
        Inputs that keep their values from batch to batch.
    group2ctxs
        The device of each ``ctx_group``: a dict, or a list with a dict for each of `context`.
    compression_params
        How gradients are packed on the way between machines.

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

    def __init__(
        self,
        symbol: Any,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: Any = logging,
        context: Device | Sequence[Device] | None = None,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(logger)
        self._symbol = symbol
        self._context = _devices(context)
        self._work_load_list = [1.0] * len(self._context) if work_load_list is None else list(work_load_list)
        if len(self._work_load_list) != len(self._context):
            raise ParameterError(
                f"Module: work_load_list must have a number for each of {self._context}; got {work_load_list}"
            )
        self._group2ctxs = group2ctxs
        self._compression_params = compression_params
        self._data_names = list(data_names or ())
        self._label_names = list(label_names or ())
        self._state_names = list(state_names or ())
        self._fixed_param_names = list(fixed_param_names or ())
        arguments = symbol.list_arguments()
        check_names(self._data_names, arguments, "Module: data_names", must=True)
        check_names(self._label_names, arguments, "Module: label_names", must=False)
        check_names(self._state_names, arguments, "Module: state_names", must=True)
        states = symbol.list_auxiliary_states()
        check_names(self._fixed_param_names, (*arguments, *states), "Module: fixed_param_names", must=True)
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = list(dict.fromkeys(name for name in arguments if name not in inputs))
        self._aux_names = states
        self._output_names = symbol.list_outputs()

        self._group: DataParallelExecutorGroup | None = None
        self._unbound_params: tuple[Params, Params] | None = None  # parameters that wait for a bind
        self._has_params = False
        self._optimizer: opt.Optimizer | None = None
        self._kvstore: KVStoreBase | None = None
        self._update_on_kvstore = False
        self._updater: opt.Updater | None = None
        self._preload_opt_states: str | None = None  # a file for the first init_optimizer()
        #: By which numbers the optimizer knows the parameters; with several devices, the first one's number.
        self._indices: dict[str, int] = {}
        self._first_index = 0  # more than 0 where modules share an optimizer
        self._loss_scaler: Any = None  # of mixed precision: contrib.amp.init_trainer() sets it
        self._bound_labels: list[DataDesc] | None = None  # as bound; the group's follow the batches

    @classmethod
    def load(cls, prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> Module:
        """Return a module from the files that `save_checkpoint` wrote; it is not bound yet.

        Parameters
        ----------
        prefix, epoch
            Say the files: ``prefix-symbol.json``, ``prefix-0010.params``.
        load_optimizer_states
            Read ``prefix-0010.states`` too, once, at the first `init_optimizer`.
        **kwargs
            For the constructor.
        """
        symbol, arg_params, aux_params = checkpoint.load_checkpoint(prefix, epoch)
        module = cls(symbol, **kwargs)
        module._unbound_params = (arg_params, aux_params)
        module._has_params = True
        if load_optimizer_states:
            module._preload_opt_states = checkpoint.states_path(prefix, epoch)
        return module

    def save_checkpoint(
        self, prefix: str, epoch: int, save_optimizer_states: bool = False, remove_amp_cast: bool = True
    ) -> None:
        """Write the symbol and the parameters, and the optimizer's states if asked; each file whole or not at all."""
        if not self._has_params:
            raise StateError("Module.save_checkpoint() needs init_params() first")
        if save_optimizer_states:
            self._need_optimizer("save_checkpoint(save_optimizer_states=True)")
        path = checkpoint.symbol_path(prefix)
        self._symbol.save(path, remove_amp_cast=remove_amp_cast)
        self.logger.info('Saved symbol to "%s"', path)
        path = checkpoint.params_path(prefix, epoch)
        self.save_params(path)
        self.logger.info('Saved checkpoint to "%s"', path)
        if save_optimizer_states:
            path = checkpoint.states_path(prefix, epoch)
            self.save_optimizer_states(path)
            self.logger.info('Saved optimizer state to "%s"', path)

    # ---- what it is --------------------------------------------------------------------------------------

    @property
    def binded(self) -> bool:
        """Whether shapes are fixed and memory is taken."""
        return self._group is not None

    @binded.setter
    def binded(self, value: bool) -> None:
        if value and self._group is None:
            raise StateError("Module.binded: only bind() can make it true")
        if not value and self._group is not None:
            self._unbound_params = self.get_params() if self._has_params else None
            self._group = None

    @property
    def params_initialized(self) -> bool:
        """Whether the parameters have values."""
        return self._has_params

    @params_initialized.setter
    def params_initialized(self, value: bool) -> None:
        if value and self._group is None and self._unbound_params is None:
            raise StateError(
                "Module.params_initialized: there must be parameters; call init_params() or set _arg_params"
            )
        self._has_params = bool(value)

    @property
    def optimizer_initialized(self) -> bool:
        """Whether there is an optimizer."""
        return self._optimizer is not None

    @optimizer_initialized.setter
    def optimizer_initialized(self, value: bool) -> None:
        if value and self._optimizer is None:
            raise StateError("Module.optimizer_initialized: only init_optimizer() can make it true")
        if not value:
            self._optimizer, self._updater, self._kvstore, self._update_on_kvstore = None, None, None, False

    @property
    def data_names(self) -> list[str]:
        """The names of the inputs."""
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        """The names of the labels."""
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        return self._output_names

    @property
    def data_shapes(self) -> list[DataDesc]:
        """Descriptions of the inputs."""
        return self._need_group("data_shapes").data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """Descriptions of the labels; None when no labels are bound."""
        return self._need_group("label_shapes").label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs."""
        return self._need_group("output_shapes").get_output_shapes()

    def __repr__(self) -> str:
        state = "bound" if self.binded else "not bound"
        shapes = f" to {self._group.data_shapes}" if self._group is not None else ""
        return (
            f"<Module {', '.join(self._output_names)} on {', '.join(map(str, self._context))}: {state}{shapes}, "
            f"{len(self._param_names)} parameters, {len(self._aux_names)} auxiliary states>"
        )

    # Names that MXNet's programs reach for, private or not; some assign to those of the parameters.

    @property
    def _exec_group(self) -> DataParallelExecutorGroup | None:
        return self._group

    @property
    def _data_shapes(self) -> list[DataDesc] | None:
        return self._group.data_shapes if self._group is not None else None

    @property
    def _label_shapes(self) -> list[DataDesc] | None:
        return self._group.label_shapes if self._group is not None else None

    @property
    def _arg_params(self) -> Params | None:
        return self._params()[0] if self._has_params or self._unbound_params else None

    @_arg_params.setter
    def _arg_params(self, value: Mapping[str, NDArray]) -> None:
        self._replace_params(arg_params=value)

    @property
    def _aux_params(self) -> Params | None:
        return self._params()[1] if self._has_params or self._unbound_params else None

    @_aux_params.setter
    def _aux_params(self, value: Mapping[str, NDArray]) -> None:
        self._replace_params(aux_params=value)

    def _replace_params(self, **parts: Mapping[str, NDArray]) -> None:
        if self._group is not None:
            self._group.set_params(parts.get("arg_params", {}), parts.get("aux_params", {}), allow_extra=True)
            return
        args, aux = self._unbound_params or ({}, {})
        self._unbound_params = dict(parts.get("arg_params", args)), dict(parts.get("aux_params", aux))

    # ---- bind --------------------------------------------------------------------------------------------

    def bind(
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Module | None = None,
        grad_req: Any = "write",
        **_: Any,
    ) -> None:
        """Fix the shapes and take memory. Parameters and optimizer that are there stay.

        Parameters
        ----------
        data_shapes, label_shapes
            `DataDesc` records or pairs of name and shape; `label_shapes` may be None.
        for_training
            Whether gradients are computed.
        inputs_need_grad
            Whether the inputs get gradients too.
        force_rebind
            Bind anew; otherwise a second `bind` changes nothing and says so.
        shared_module
            A bound module whose parameter arrays, and optimizer, are used.
        grad_req
            ``'write'``, ``'add'`` or ``'null'``: one word, a list or a dict.
        """
        data = read_descs(data_shapes, "data_shapes")
        labels = read_descs(label_shapes, "label_shapes") or None
        if self._group is not None and not force_rebind:
            self._warn_bound(data, labels)
            return
        if inputs_need_grad and not for_training:
            raise ParameterError("Module.bind: inputs_need_grad=True needs for_training=True")
        self._check_descs(data, labels)
        if shared_module is not None and not (shared_module.binded and shared_module.params_initialized):
            raise StateError("Module.bind: shared_module needs bind() and init_params() first")
        if shared_module is not None:
            self._check_shared(shared_module)
        if shared_module is not None and shared_module._context != self._context:
            raise ParameterError(
                f"Module.bind: shared_module must be on the same devices, {self._context}; got {shared_module._context}"
            )
        if shared_module is not None and self._loss_scaler is None:
            self._loss_scaler = shared_module._loss_scaler
        kept = self.get_params() if self._has_params else None
        shared_group = shared_module._group if shared_module is not None else None
        group = DataParallelExecutorGroup(
            self._trained_symbol(),
            self._context,
            self._work_load_list,
            data,
            labels,
            self._param_names,
            for_training,
            inputs_need_grad,
            shared_group=shared_group,
            logger=self.logger,
            fixed_param_names=self._fixed_param_names,
            grad_req=grad_req,
            state_names=self._state_names,
            group2ctxs=self._group2ctxs,
        )
        if shared_module is None and kept is not None:
            group.set_params(*kept, allow_extra=True)
        self._group = group
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self._bound_labels = labels
        self._unbound_params = None
        if shared_module is not None:
            self._has_params = True
            if shared_module.optimizer_initialized:
                self.borrow_optimizer(shared_module)

    def _check_shared(self, owner: Module) -> None:
        have = (*owner._param_names, *owner._aux_names)
        missing = [name for name in (*self._param_names, *self._aux_names) if name not in have]
        if missing:
            raise ParameterError(
                f"Module.bind: shared_module must have all parameters of this one; it lacks "
                f"{', '.join(map(repr, missing))}"
            )

    def _trained_symbol(self) -> Any:
        """Return the symbol as it is bound: with frozen statistics where those are fixed, and with scaled losses."""
        frozen = set(self._fixed_param_names) & set(self._aux_names)
        symbol = Symbol._of(freeze_statistics(self._symbol._graph, frozen)) if frozen else self._symbol
        return symbol if self._loss_scaler is None else self._loss_scaler.scaled(symbol)

    def _check_descs(self, data: Sequence[DataDesc], labels: Sequence[DataDesc] | None) -> None:
        """Check that what is described is what the module takes: nothing is left at zero, or out, in silence."""
        names = [desc.name for desc in data]
        if sorted(names) != sorted(self._data_names):
            raise ParameterError(
                f"Module.bind: data_shapes must describe the inputs {self._data_names}; got {names}"
            )
        if not labels:
            return
        described = [desc.name for desc in labels]
        arguments = self._symbol.list_arguments()
        missing = [name for name in self._label_names if name in arguments and name not in described]
        strange = [name for name in described if name in arguments and name not in self._label_names]
        if missing or strange:
            raise ParameterError(
                f"Module.bind: label_shapes must describe the labels {self._label_names}; got {described}. Name them "
                "alike, in the iterator (label_name=...) and the module (label_names=[...])."
            )

    def _warn_bound(self, data: Sequence[DataDesc], labels: Sequence[DataDesc] | None) -> None:
        assert self._group is not None
        have = [*self._group.data_shapes, *(self._group.label_shapes or ())]
        asked = [*data, *(labels or ())]
        shapes = f"; it is bound to {have}, and asked for were {asked}" if have != asked else ""
        warnings.warn(
            f"Module.bind: already bound, so this call changes nothing{shapes}. Set force_rebind=True to bind anew.",
            stacklevel=3,
        )

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        """Go over to other shapes of inputs and labels; parameters and optimizer stay."""
        data = read_descs(data_shapes, "data_shapes")
        labels = read_descs(label_shapes, "label_shapes") or None
        group = self._need_group("reshape()")
        self._check_descs(data, labels)
        group.reshape(data, labels)
        self._bound_labels = labels

    def _need_group(self, who: str) -> DataParallelExecutorGroup:
        if self._group is None:
            raise StateError(f"Module.{who} needs bind() first")
        return self._group

    # ---- parameters --------------------------------------------------------------------------------------

    def get_params(self) -> tuple[Params, Params]:
        """Return copies of parameters and auxiliary states, on the CPU; with several devices their mean."""
        if not self._has_params:
            raise StateError("Module.get_params() needs init_params() first")
        return self._params()

    def trained_params(self) -> Params:
        """Return the parameters that training moves, as they are on the first device; not copies."""
        group = self._need_group("trained_params()")
        return {
            name: arrays[0]
            for name, arrays in zip(self._param_names, group.param_arrays, strict=True)
            if name not in self._fixed_param_names
        }

    def _params(self) -> tuple[Params, Params]:
        if self._group is None:
            assert self._unbound_params is not None
            args, aux = self._unbound_params
            return {name: each.copy() for name, each in args.items()}, {
                name: each.copy() for name, each in aux.items()
            }
        arg_params: Params = {}
        aux_params: Params = {}
        self._group.get_params(arg_params, aux_params)
        return arg_params, aux_params

    def _unify_devices(self) -> None:
        self._need_group("fit()").unify_auxiliary()

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008  (MXNet's default; it keeps no state)
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give parameters and auxiliary states their first values.

        Parameters
        ----------
        initializer
            Fills what is not given; an initializer on a variable itself (``var(init=...)``) wins over it.
        arg_params, aux_params
            Values to copy. Names that the module does not have are left alone: a checkpoint of a larger network goes
            in as it is.
        allow_missing
            Let the initializer fill what `arg_params` and `aux_params` lack.
        force_init
            Set the values anew; otherwise a second call changes nothing and says so.
        allow_extra
            Accepted.

        Raises
        ------
        ParameterError
            When a value is missing, without `allow_missing`; the module then stays as it was.
        """
        if self._has_params and not force_init:
            warnings.warn(
                "Module.init_params: the parameters have values already, so this call changes nothing. "
                "Set force_init=True to set them anew.",
                stacklevel=2,
            )
            return
        group = self._need_group("init_params()")
        attributes = self._symbol.attr_dict()
        parts: list[Params] = []
        for names, arrays, given in (
            (self._param_names, group.param_arrays, arg_params),
            (self._aux_names, group.aux_arrays, aux_params),
        ):
            fresh: Params = {}
            for name, (like, *_) in zip(names, arrays, strict=True):
                if given is not None and name in given:
                    fresh[name] = _fitting(name, given[name], like)
                elif given is not None and not allow_missing:
                    raise ParameterError(
                        f"Module.init_params: {name!r} is not among the given parameters. "
                        "Set allow_missing=True to let the initializer fill it."
                    )
                else:
                    fresh[name] = self._initialized(name, like, initializer, attributes.get(name))
            parts.append(fresh)
        group.set_params(parts[0], parts[1], allow_extra=True)
        self._has_params = True
        self._give_weights_to_store()

    def _initialized(
        self, name: str, like: NDArray, initializer: Any, attributes: Mapping[str, str] | None
    ) -> NDArray:
        value = NDArray(torch.zeros_like(like.tensor, device="cpu"))
        if initializer is not None:
            initializer(InitDesc(name, attributes), value)
        elif self._has_params:  # set_params() over values that are there
            return like
        return value

    def set_params(
        self,
        arg_params: Mapping[str, NDArray] | None,
        aux_params: Mapping[str, NDArray] | None,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Set parameters and auxiliary states from copies of the given arrays.

        Parameters
        ----------
        arg_params, aux_params
            Values by name.
        allow_missing
            Leave what is not given as it is; names that the module lacks are then an error unless `allow_extra`.
        force_init
            With False, parameters that have values stay, with a warning.
        allow_extra
            Leave names that the module lacks alone.
        """
        if not allow_missing:
            self.init_params(None, arg_params, aux_params, allow_missing, force_init, allow_extra)
            return
        if self._has_params and not force_init:
            warnings.warn(
                "Module.set_params: the parameters have values already, so this call changes nothing. "
                "Leave force_init=False out to set them.",
                stacklevel=2,
            )
            return
        group = self._need_group("set_params()")
        group.set_params(arg_params or {}, aux_params, allow_extra=allow_extra)
        self._has_params = True
        self._give_weights_to_store()

    # ---- optimizer ---------------------------------------------------------------------------------------

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Set up the optimizer and the store.

        Parameters
        ----------
        kvstore
            None, a name or a store. One device on one machine needs none.
        optimizer, optimizer_params
            A name and its settings, or an optimizer. `rescale_grad` is 1 / batch size unless it is given.
        force_init
            Start anew; otherwise a second call changes nothing and says so.
        """
        if not self.binded or not self._has_params:
            raise StateError("Module.init_optimizer() needs bind() and init_params() first")
        if self._optimizer is not None and not force_init:
            warnings.warn(
                "Module.init_optimizer: there is an optimizer already, so this call changes nothing. "
                "Set force_init=True to start anew.",
                stacklevel=2,
            )
            return
        group = self._need_group("init_optimizer()")
        trained = dict(zip(self._param_names, (arrays[0] for arrays in group.param_arrays), strict=True))
        store, store_updates = choose_store(kvstore, len(self._context), trained)
        batch_size = group.batch_size * self.batches_per_update
        if store is not None and store.capabilities.spans_processes and store.capabilities.is_synchronous:
            batch_size *= store.num_workers
        made = self._make_optimizer(optimizer, optimizer_params, 1.0 / batch_size, store_updates)
        updater = None if store_updates else opt.Updater(made)
        if store is not None and self._compression_params:
            store.set_gradient_compression(dict(self._compression_params))
        if store is not None and store_updates:
            store.set_optimizer(made)
        if self._preload_opt_states is not None:
            _read_states(self._preload_opt_states, store, updater)
        # Nothing failed: from here on there is an optimizer.
        self._preload_opt_states = None
        self._optimizer, self._updater, self._indices = made, updater, self._own_indices()
        self._kvstore, self._update_on_kvstore = store, store_updates
        self._give_weights_to_store()

    def _make_optimizer(self, given: Any, params: Any, rescale: float, store_updates: bool) -> opt.Optimizer:
        count = len(self._context)
        if store_updates:
            names = dict(enumerate(self._param_names))
        else:
            names = {i + k: name for name, i in self._own_indices().items() for k in range(count)}
        if isinstance(given, str):
            settings = {"rescale_grad": rescale, **dict(params or ())}
            return opt.create(given, sym=self._symbol, param_idx2name=names, **settings)
        if not isinstance(given, opt.Optimizer):
            raise ArgumentError(
                f"Module.init_optimizer: optimizer must be a name or an Optimizer; got {given!r}"
            )
        if given.rescale_grad != rescale:
            warnings.warn(
                f"Module.init_optimizer: the optimizer's rescale_grad is {given.rescale_grad}, and 1 / (batch size x "
                f"workers) is {rescale}. It is used as it is; is that intended?",
                stacklevel=3,
            )
        if not given.idx2name or self._first_index:
            given.idx2name = {**given.idx2name, **names}
        return given

    def _own_indices(self) -> dict[str, int]:
        count = len(self._context)
        return {name: self._first_index + i * count for i, name in enumerate(self._param_names)}

    def _give_weights_to_store(self) -> None:
        """Give the store, if there is one, the weights, and the devices the store's: all start from the same values."""
        if self._kvstore is None:
            return
        for name, arrays in zip(self._param_names, self._need_group("the store").param_arrays, strict=True):
            self._kvstore.put(name, arrays[0])
            if self._update_on_kvstore:
                self._kvstore.pull(name, arrays)

    def borrow_optimizer(self, shared_module: Module) -> None:
        """Use the optimizer, and its states, of another module."""
        if not shared_module.optimizer_initialized:
            raise StateError("Module.borrow_optimizer: shared_module needs init_optimizer() first")
        strange = [name for name in self._param_names if name not in shared_module._indices]
        if strange:
            raise ParameterError(
                "Module.borrow_optimizer: shared_module must have all parameters of this one; it lacks "
                f"{', '.join(map(repr, strange))}"
            )
        self._optimizer = shared_module._optimizer
        self._kvstore = shared_module._kvstore
        self._update_on_kvstore = shared_module._update_on_kvstore
        self._updater = shared_module._updater
        self._indices = shared_module._indices

    def save_optimizer_states(self, fname: str) -> None:
        """Write the optimizer's states to a file, which appears whole or not at all."""
        self._need_optimizer("save_optimizer_states()")
        if self._update_on_kvstore:
            assert self._kvstore is not None
            self._kvstore.save_optimizer_states(fname)
            return
        assert self._updater is not None
        with files.atomic_write(fname) as file:
            file.write(self._updater.get_states())

    def load_optimizer_states(self, fname: str) -> None:
        """Read the optimizer's states from a file."""
        self._need_optimizer("load_optimizer_states()")
        _read_states(fname, self._kvstore, self._updater)

    # ---- a run that goes on ------------------------------------------------------------------------------

    def run_state(self) -> dict[str, Any]:
        """Return all that training needs to go on: every device's arrays, and the optimizer's states and counts."""
        return state.run_state(self)

    def load_run_state(self, kept: Mapping[str, Any]) -> None:
        """Go on from what `run_state` returned; on another number of devices too."""
        state.load_run_state(self, kept)

    def arrays_state(self) -> dict[str, Any]:
        """Return the arrays of all devices: parameters, auxiliary states, states."""
        return state.arrays_state(self)

    def load_arrays_state(self, kept: Mapping[str, Any]) -> None:
        """Take arrays that `arrays_state` returned; the module is bound alike, and has parameters then."""
        state.load_arrays_state(self, kept)

    def _optimizer_in_use(self) -> opt.Optimizer:
        return state.in_use_updater(self).optimizer

    def clear_gradients(self) -> None:
        """Set all gradients to zero, where they are added up (``grad_req='add'``)."""
        group = self._need_group("clear_gradients()")
        found = [grad._tensor for grads in group.grad_arrays or () for grad in grads if grad is not None]
        found += [
            grad._tensor for grads in group.input_grad_arrays or () for grad in grads if grad is not None
        ]
        if found:
            torch._foreach_zero_([tensor.detach() for tensor in found])

    def _need_optimizer(self, who: str) -> opt.Optimizer:
        if self._optimizer is None:
            raise StateError(f"Module.{who} needs init_optimizer() first")
        return self._optimizer

    # ---- the steps of a batch ----------------------------------------------------------------------------

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch.

        A batch of another size or shape than the one before is fine: what is bound follows it. Without labels it can
        be predicted.

        Parameters
        ----------
        data_batch
            Anything with `data` and `label`; or a list of those, already cut, one for each device.
        is_train
            The mode; None means `for_training`.
        """
        self._need_params("forward")
        group = self._need_group("forward()")
        if hasattr(data_batch, "data"):
            self._follow(data_batch, group)
        elif not isinstance(data_batch, (list, tuple)):
            raise ArgumentError(
                f"Module.forward: a batch must have data, a list of arrays; got {type(data_batch).__name__}"
            )
        group.forward(data_batch, is_train)

    def _follow(self, batch: Any, group: DataParallelExecutorGroup) -> None:
        """Go over to the shapes of a batch, if they are others than the last one's."""
        labels = (getattr(batch, "label", None) or []) if self._bound_labels else []
        if len(batch.data) != len(group.data_shapes):
            raise ShapeError(
                f"Module.forward: the batch must hold {self._data_names}; got {len(batch.data)} arrays"
            )
        if _have_shapes(batch.data, group.data_shapes) and (
            not labels or _have_shapes(labels, group.label_shapes)
        ):
            return
        data = _described(batch.data, group.data_shapes, getattr(batch, "provide_data", None))
        if labels:
            labels = _described(labels, self._bound_labels or [], getattr(batch, "provide_label", None))
        self._check_descs(data, labels)
        group.reshape(data, labels or None)

    def backward(self, out_grads: Any = None) -> None:
        """Compute the gradients for the last batch.

        Parameters
        ----------
        out_grads
            The gradients of the outputs, for the whole batch: an array or a list; None when they are losses.
        """
        self._need_params("backward")
        self._need_group("backward()").backward(out_grads)

    def update(self) -> None:
        """Move the parameters by the gradients of the last batch."""
        self._need_optimizer("update()")
        if self._loss_scaler is None:
            self._update()
        else:
            self._loss_scaler.update(self._optimizer_in_use(), self._gradients(), self._update)

    def _gradients(self) -> list[list[NDArray]]:
        """Return the gradients of the parameters that have one, a list with each device's for each of them."""
        return [grads for grads in self._need_group("gradients").grad_arrays or () if grads[0] is not None]

    def _update(self) -> None:
        group = self._need_group("update()")
        if group.grad_arrays is None:
            raise StateError("Module.update() needs bind(for_training=True)")
        trained = [
            (i, weights, grads)
            for i, (weights, grads) in enumerate(zip(group.param_arrays, group.grad_arrays, strict=True))
            if grads[0] is not None
        ]
        if not trained:
            return
        names = [self._param_names[i] for i, _, _ in trained]
        all_weights = [weights for _, weights, _ in trained]
        all_grads = [grads for _, _, grads in trained]
        if self._kvstore is not None:
            self._kvstore.push(names, all_grads)
            self._kvstore.pull(names, all_weights if self._update_on_kvstore else all_grads)
        elif len(self._context) > 1:
            for grads in all_grads:
                _sum_over_devices(grads)
        if self._updater is not None:
            count = len(self._context)
            for k in range(count):
                self._updater(
                    [self._indices[name] + k for name in names],
                    [grads[k] for grads in all_grads],
                    [weights[k] for weights in all_weights],
                )

    def get_outputs(self, merge_multi_context: bool = True) -> list:
        """Return the outputs for the last batch: whole, or for each output the devices' parts."""
        return self._need_group("get_outputs()").get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list:
        """Return the gradients of the inputs for the last batch."""
        return self._need_group("get_input_grads()").get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list:
        """Return the states."""
        return self._need_group("get_states()").get_states(merge_multi_context)

    def set_states(self, states: Any = None, value: float | None = None) -> None:
        """Set the states from arrays, or all to one number."""
        self._need_group("set_states()").set_states(states, value)

    def update_metric(self, eval_metric: EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        """Add the last batch to a metric."""
        self._need_group("update_metric()").update_metric(eval_metric, labels or [], pre_sliced)

    def _release(self) -> None:
        """Let go of what the last batch keeps for `backward`."""
        for exe in self._need_group("_release()").execs:
            exe.release()

    def _output_axes(self) -> list[int]:
        return self._need_group("output axes").output_layouts

    def install_monitor(self, mon: Any) -> None:
        """Let a monitor watch the executors."""
        self._need_group("install_monitor()").install_monitor(mon)

    def prepare(self, data_batch: Any, sparse_row_id_fn: Callable[[Any], Any] | None = None) -> None:
        """Get ready for a batch; `sparse_row_id_fn` serves sparse parameters, of which there are none yet."""
        if sparse_row_id_fn is not None:
            warnings.warn(
                "Module.prepare: sparse_row_id_fn names rows of row_sparse parameters; all parameters are dense, so it "
                "changes nothing",
                stacklevel=2,
            )


def _devices(context: Device | Sequence[Device] | None) -> list[Device]:
    if context is None:
        return [current_device()]
    devices = [context] if isinstance(context, Device) else list(context)
    if not devices or any(not isinstance(device, Device) for device in devices):
        raise ArgumentError(f"Module: context must be a Device or a list of them; got {context!r}")
    return devices


def _fitting(name: str, value: Any, like: NDArray) -> NDArray:
    if not isinstance(value, NDArray):
        raise ArgumentError(f"Module.init_params: {name!r} must be an NDArray; got {type(value).__name__}")
    if value.shape != like.shape:
        raise ShapeError(f"Module.init_params: {name!r} must have shape {like.shape}; got {value.shape}")
    return value


def _have_shapes(arrays: Sequence[Any], descs: Sequence[DataDesc] | None) -> bool:
    if descs is None:
        return False
    return all(tuple(value.shape) == desc.shape for value, desc in zip(arrays, descs, strict=False))


def _described(arrays: Sequence[Any], like: Sequence[DataDesc], said: Any) -> list[DataDesc]:
    """Return descriptions of a batch's arrays: those that it brings, else `like` with the arrays' shapes."""
    if said:
        return read_descs(said, "provide_data and provide_label")
    return [
        DataDesc(desc.name, tuple(value.shape), desc.dtype, desc.layout)
        for desc, value in zip(like, arrays, strict=False)
    ]


def _read_states(path: str, store: KVStoreBase | None, updater: opt.Updater | None) -> None:
    """Read the optimizer's states into what updates: the updater, or else the store."""
    if updater is None:
        assert store is not None
        store.load_optimizer_states(path)
        return
    with open(path, "rb") as file:
        updater.set_states(file.read())


def _sum_over_devices(grads: Sequence[Any]) -> None:
    """Write the sum of the devices' gradients into each of them."""
    first = grads[0]._tensor
    total = first.detach().clone()
    for grad in grads[1:]:
        total += grad._tensor.to(first.device)
    for grad in grads:
        grad._write(total)
