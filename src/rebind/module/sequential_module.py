"""`SequentialModule`: modules in a chain, each fed by the outputs of the one before."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..errors import ArgumentError, ParameterError, StateError, UnknownArgumentError, near_names
from ..initializer import Uniform
from ..io import DataBatch, DataDesc
from ..metric import EvalMetric
from ..ndarray import NDArray
from ..optimizer import Optimizer
from .base_module import BaseModule, read_descs
from .bucketing_module import BucketingModule
from .module import Module
from .python_module import PythonModule

__all__ = ["SequentialModule"]

Params = dict[str, NDArray]


class _Link(NamedTuple):
    module: BaseModule
    takes_labels: bool
    is_wired: bool


class SequentialModule(BaseModule):
    """A chain of modules: each takes the outputs of the one before as its inputs, and gives gradients back to it.

    One symbol is quicker; a chain puts together what is no one symbol, such as a network and a loss in Python.

    Parameters
    ----------
    logger
        Where messages go.

    Examples
    --------
    >>> import rebind as mx
    >>> body = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="body")
    >>> head = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="head")
    >>> head = mx.sym.SoftmaxOutput(head, name="softmax")
    >>> chain = mx.mod.SequentialModule()
    >>> chain = chain.add(mx.mod.Module(body, label_names=None))
    >>> chain = chain.add(mx.mod.Module(head), take_labels=True, auto_wiring=True)
    >>> chain.bind([("data", (2, 5))], [("softmax_label", (2,))])
    >>> chain.output_shapes
    [('softmax_output', (2, 3))]
    """

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: Any = logging) -> None:
        super().__init__(logger)
        self._links: list[_Link] = []
        self._bound_labels: list[DataDesc] | None = None

    def add(self, module: BaseModule, **kwargs: Any) -> SequentialModule:
        """Add a module to the end of the chain, which must be bound anew then; return the chain.

        Parameters
        ----------
        module
            The module. Parameters that it has stay.
        take_labels
            Whether it takes the labels of a batch. Several modules may; each gets all of them.
        auto_wiring
            Whether the outputs of the module before are its inputs in their order, whatever their names; otherwise they
            go to the inputs of their own names.
        """
        for name in kwargs:
            known = (self.META_TAKE_LABELS, self.META_AUTO_WIRING)
            if name not in known:
                raise UnknownArgumentError(
                    f"SequentialModule.add: no parameter {name!r}{near_names(name, known)} "
                    f"Parameters: {', '.join(known)}."
                )
        if not isinstance(module, BaseModule):
            raise ArgumentError(
                f"SequentialModule.add: module must be a BaseModule; got {type(module).__name__}"
            )
        self._links.append(
            _Link(
                module,
                bool(kwargs.get(self.META_TAKE_LABELS, False)),
                bool(kwargs.get(self.META_AUTO_WIRING, False)),
            )
        )
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    # ---- what it is --------------------------------------------------------------------------------------

    @property
    def _modules(self) -> list[BaseModule]:
        return [link.module for link in self._links]

    @property
    def data_names(self) -> list[str]:
        """The names of the first module's inputs."""
        return self._links[0].module.data_names if self._links else []

    @property
    def output_names(self) -> list[str]:
        """The names of the last module's outputs."""
        return self._links[-1].module.output_names if self._links else []

    @property
    def data_shapes(self) -> Any:
        """Descriptions of the inputs."""
        self._need_bound("data_shapes")
        return self._links[0].module.data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """Descriptions of the labels; None when no module takes any."""
        self._need_bound("label_shapes")
        return self._bound_labels

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the last module's outputs."""
        self._need_bound("output_shapes")
        return self._links[-1].module.output_shapes

    def _need_bound(self, who: str) -> None:
        if not self.binded:
            raise StateError(f"SequentialModule.{who} needs bind() first")

    def _need_ready(self, who: str) -> None:
        self._need_bound(who)
        if not self.params_initialized:
            raise StateError(f"SequentialModule.{who} needs init_params() first")

    def __repr__(self) -> str:
        return f"<SequentialModule of {self._modules}>"

    # ---- bind --------------------------------------------------------------------------------------------

    def bind(
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: BaseModule | None = None,
        grad_req: Any = "write",
        **_: Any,
    ) -> None:
        """Bind all modules, each to the shapes of the outputs of the one before.

        Parameters
        ----------
        data_shapes
            Of the first module's inputs.
        label_shapes
            Of the labels, for the modules that take them.
        for_training
            Whether gradients are computed.
        inputs_need_grad
            Whether the inputs of the first module get gradients too.
        force_rebind
            Bind anew; otherwise a second `bind` changes nothing and says so.
        shared_module
            Must be None.
        grad_req
            ``'write'``, ``'add'`` or ``'null'``, for all modules.
        """
        if not self._links:
            raise StateError("SequentialModule.bind() needs add() first: there are no modules in it")
        if self.binded and not force_rebind:
            warnings.warn(
                "SequentialModule.bind: already bound, so this call changes nothing. Set force_rebind=True to bind "
                "anew.",
                stacklevel=2,
            )
            return
        if inputs_need_grad and not for_training:
            raise ParameterError("SequentialModule.bind: inputs_need_grad=True needs for_training=True")
        if shared_module is not None:
            raise ParameterError(f"SequentialModule.bind: shared_module must be None; got {shared_module!r}")
        data = read_descs(data_shapes, "data_shapes")
        labels = read_descs(label_shapes, "label_shapes") or None
        for i, link in enumerate(self._links):
            if i:
                data = self._wired(i, _outputs_of(self._links[i - 1].module))
            elif link.is_wired:
                data = self._wired(i, data)
            self._bind_link(
                i,
                data,
                labels,
                for_training=for_training,
                # The first module's inputs are the chain's; the others' gradients go on to the module before.
                inputs_need_grad=for_training and (inputs_need_grad or i > 0),
                force_rebind=True,
                grad_req=_grad_req_for(link.module, grad_req, is_first=i == 0),
            )
        self._bound_labels = labels if any(link.takes_labels for link in self._links) else None
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.binded = True

    def _bind_link(self, i: int, data: list[DataDesc], labels: Any, **kwargs: Any) -> None:
        link = self._links[i]
        unread = getattr(link.module, "label_names", None)
        if labels and unread and not link.takes_labels and kwargs["for_training"]:
            unread = [name for name in unread if name in link.module.symbol.list_arguments()]
            if unread:
                warnings.warn(
                    f"SequentialModule.bind: module {i} has the labels {unread}, which stay zero. Add it with "
                    "take_labels=True.",
                    stacklevel=3,
                )
        names, given = list(link.module.data_names), [desc.name for desc in data]
        if i and sorted(names) != sorted(given):
            raise ParameterError(
                f"SequentialModule.bind: module {i} has the inputs {names}; the outputs before it are {given}. Add it "
                "with auto_wiring=True to take them by their order."
            )
        link.module.bind(data, labels if link.takes_labels else None, **kwargs)

    def _wired(self, i: int, given: list[DataDesc]) -> list[DataDesc]:
        """Return what goes into a module, under its names for it."""
        link = self._links[i]
        if not link.is_wired:
            return given
        names = link.module.data_names
        if len(names) != len(given):
            raise ParameterError(
                f"SequentialModule.bind: module {i} has the inputs {list(names)}; got {len(given)} arrays for them, "
                f"{[desc.name for desc in given]}"
            )
        return [
            DataDesc(name, desc.shape, desc.dtype, desc.layout)
            for name, desc in zip(names, given, strict=True)
        ]

    # ---- parameters --------------------------------------------------------------------------------------

    def get_params(self) -> tuple[Params, Params]:
        """Return copies of the parameters and auxiliary states of all modules."""
        self._need_ready("get_params()")
        return self._all_params()

    def _all_params(self) -> tuple[Params, Params]:
        arg_params: Params = {}
        aux_params: Params = {}
        for module in self._modules:
            args, aux = module.get_params()
            arg_params.update(args)
            aux_params.update(aux)
        return arg_params, aux_params

    def trained_params(self) -> Params:
        """Return the parameters that training moves, as they are on the first devices; not copies."""
        return {name: value for module in self._modules for name, value in module.trained_params().items()}

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008  (MXNet's default; it keeps no state)
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give the parameters of all modules their first values; see `Module.init_params`.

        Modules that had parameters before they were added keep them, unless `force_init`.
        """
        self._need_bound("init_params()")
        if self.params_initialized and not force_init:
            warnings.warn(
                "SequentialModule.init_params: the parameters have values already, so this call changes nothing. "
                "Set force_init=True to set them anew.",
                stacklevel=2,
            )
            return
        self._check_names()
        for module in self._modules:
            if module.params_initialized and not force_init:
                continue
            module.init_params(
                initializer=initializer,
                arg_params=arg_params,
                aux_params=aux_params,
                allow_missing=allow_missing,
                force_init=force_init,
                allow_extra=allow_extra,
            )
        self.params_initialized = True

    def _check_names(self) -> None:
        """Check that no two modules have a parameter of one name, as far as their names are known beforehand."""
        owners: dict[str, int] = {}
        for i, module in enumerate(self._modules):
            for name in (*getattr(module, "_param_names", ()), *getattr(module, "_aux_names", ())):
                other = owners.setdefault(name, i)
                if other != i:
                    raise ParameterError(
                        f"SequentialModule.init_params: names of parameters must differ; {name!r} is in module {other} "
                        f"and in module {i}"
                    )

    def _unify_devices(self) -> None:
        for module in self._modules:
            module._unify_devices()

    # ---- optimizer ---------------------------------------------------------------------------------------

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Set up an optimizer for each module; see `Module.init_optimizer`.

        One `Optimizer` object serves all modules: it counts each parameter's updates by itself.
        """
        self._need_ready("init_optimizer()")
        if self.optimizer_initialized and not force_init:
            warnings.warn(
                "SequentialModule.init_optimizer: there is an optimizer already, so this call changes nothing. "
                "Set force_init=True to start anew.",
                stacklevel=2,
            )
            return
        index = 0
        for module in self._modules:
            module.batches_per_update = self.batches_per_update
            owner = _owner_of(module)
            if owner is not None and isinstance(
                optimizer, Optimizer
            ):  # numbers of parameters must differ then
                owner._first_index = index
                index += len(owner._param_names) * len(owner._context)
            module.init_optimizer(
                kvstore=kvstore,
                optimizer=optimizer,
                optimizer_params=optimizer_params,
                force_init=force_init,
            )
        self.optimizer_initialized = True

    def clear_gradients(self) -> None:
        """Set all gradients to zero, where they are added up (``grad_req='add'``)."""
        self._need_bound("clear_gradients()")
        for module in self._modules:
            module.clear_gradients()

    def _finish_update(self, waiting: int) -> None:
        for module in self._modules:
            if _owner_of(module) is not None:
                module._finish_update(waiting)
            elif waiting:
                module.update()

    def run_state(self) -> dict[str, Any]:
        """Return all that training needs to go on, of each module."""
        self._need_ready("run_state()")
        return {"modules": [module.run_state() for module in self._modules]}

    def load_run_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `run_state` returned."""
        self._need_ready("load_run_state()")
        if len(state["modules"]) != len(self._links):
            raise StateError(
                f"SequentialModule.load_run_state: the run was of {len(state['modules'])} modules; "
                f"got {len(self._links)}"
            )
        for module, kept in zip(self._modules, state["modules"], strict=True):
            module.load_run_state(kept)

    # ---- the steps of a batch ----------------------------------------------------------------------------

    def prepare(self, data_batch: Any, sparse_row_id_fn: Callable[[Any], Any] | None = None) -> None:
        """Get ready for a batch; only the first module sees the batch itself."""
        if self._links:
            self._links[0].module.prepare(data_batch, sparse_row_id_fn)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch, module by module; it may have another size than the one before."""
        self._need_ready("forward()")
        if not hasattr(data_batch, "data"):
            raise ArgumentError(
                f"SequentialModule.forward: a batch must have data, a list of arrays; got {type(data_batch).__name__}"
            )
        training = self.for_training if is_train is None else bool(is_train)
        batch = data_batch
        for i, module in enumerate(self._modules):
            if i:
                batch = DataBatch(
                    self._modules[i - 1].get_outputs(),
                    getattr(data_batch, "label", None),
                    pad=getattr(data_batch, "pad", None),
                    index=getattr(data_batch, "index", None),
                    bucket_key=getattr(data_batch, "bucket_key", None),
                    provide_label=getattr(data_batch, "provide_label", None),
                )
            module.forward(batch, is_train=training)

    def backward(self, out_grads: Any = None) -> None:
        """Compute the gradients for the last batch, from the last module to the first."""
        self._need_ready("backward()")
        if not self.for_training:
            raise StateError("SequentialModule.backward() needs bind(for_training=True)")
        for i in reversed(range(len(self._links))):
            module = self._links[i].module
            module.backward(out_grads=out_grads)
            if i:
                out_grads = module.get_input_grads()

    def update(self) -> None:
        """Move the parameters of all modules by the gradients of the last batch."""
        if not self.optimizer_initialized:
            raise StateError("SequentialModule.update() needs init_optimizer() first")
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list:
        """Return the outputs of the last module."""
        self._need_ready("get_outputs()")
        return self._links[-1].module.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list:
        """Return the gradients of the first module's inputs."""
        self._need_ready("get_input_grads()")
        if not self.inputs_need_grad:
            raise StateError("SequentialModule.get_input_grads() needs bind(inputs_need_grad=True)")
        return self._links[0].module.get_input_grads(merge_multi_context)

    def update_metric(self, eval_metric: EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        """Add the last batch to a metric: the outputs of each module that takes labels."""
        self._need_ready("update_metric()")
        for link in self._links:
            if link.takes_labels:
                link.module.update_metric(eval_metric, labels, pre_sliced)

    def _measure_without_padding(self, eval_metric: EvalMetric, batch: Any, pad: int) -> None:
        for link in self._links:
            if link.takes_labels:
                link.module._measure_without_padding(eval_metric, batch, pad)

    def _output_axes(self) -> list[int]:
        return self._links[-1].module._output_axes()

    def install_monitor(self, mon: Any) -> None:
        """Let a monitor watch all modules."""
        self._need_bound("install_monitor()")
        for module in self._modules:
            module.install_monitor(mon)


def _outputs_of(module: BaseModule) -> list[DataDesc]:
    """Describe the outputs of a bound module, in their own types and with their own batch axes."""
    outputs = module.output_shapes
    types = [None] * len(outputs)
    layouts: list[str | None] = ["NCHW"] * len(outputs)
    owner = _owner_of(module)
    if owner is not None:
        types = [output.dtype for output in owner._need_group("outputs").execs[0].outputs]
        layouts = [owner.symbol[name].attr("__layout__") or "NCHW" for name, _ in outputs]
    return [
        DataDesc(name, shape, "float32" if dtype is None else dtype, layout)
        for (name, shape), dtype, layout in zip(outputs, types, layouts, strict=True)
    ]


def _owner_of(module: BaseModule) -> Module | None:
    """Return the `Module` that has the parameters, if there is one."""
    if isinstance(module, BucketingModule):
        return module._default
    return module if isinstance(module, Module) else None


def _grad_req_for(module: BaseModule, grad_req: Any, *, is_first: bool) -> Any:
    """Return what to ask of a module: the gradients that it hands to the one before are never added up."""
    if isinstance(module, PythonModule):
        return "write"
    owner = _owner_of(module)
    if is_first or grad_req != "add" or owner is None:
        return grad_req
    return {name: "add" for name in owner._param_names if name not in owner._fixed_param_names}
