"""`SequentialModule`: modules in a chain, each fed by the outputs of the one before."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypedDict, cast

from ..absent import old_names
from ..checks import refuses_unknown, warn_user
from ..errors import ArgumentError, ParameterError, StateError, UnknownArgumentError, near_names
from ..io import DataBatch, DataDesc
from ..metric import EvalMetric
from ..ndarray import NDArray
from ..optimizer import Optimizer
from ..overriding import declares_steps
from ..protocols import ArrayDict, Batch, Logger, StateTree
from ..symbol import Symbol
from .base_module import BaseModule
from .batches import AnyBatch
from .delegation import calls_all, delegates
from .descs import Shapes
from .loss_scaling import LossScaling
from .row_ids import row_ids_of, rows_of_each
from .settings import Binding, InitialValues, OptimizerSettings, RowIds, RowIdsOfParameter
from .steps import Arrays, HeadGrads, Labels, need_steps

__all__ = ["SequentialModule"]


class Link(NamedTuple):
    """A module of the chain, and how it is connected."""

    module: BaseModule
    takes_labels: bool
    is_wired: bool


class ChainState(TypedDict):
    """What `SequentialModule.run_state` returns."""

    modules: list[StateTree]


@declares_steps()
@calls_all("stores auxiliary_arrays scaled_gradients parameter_names optimizers", joined=True)
@calls_all("unify_devices take_no_batch apply_gradients pull_weights", joined=False)
@calls_all("clear_gradients install_monitor", joined=False, after=("bind",))
@delegates("_last", "get_outputs", after=("bind", "init_params"))
@delegates("_last", "output_descs output_axes")
class SequentialModule(BaseModule):
    """A chain of modules: each takes the outputs of the one before as its inputs, and passes gradients back to it.

    One symbol is faster; a chain is for what cannot be one symbol, such as a network and a loss in Python.

    `bind` binds each module to the shapes of the outputs of the one before; the data shapes are those of the first, the
    labels are for the modules that take them, and `shared_module` must be None. `init_params` leaves modules that had
    parameters before they were added as they are, unless `force_init`. Each module has an optimizer; one `Optimizer`
    object can serve all, for it counts the updates of each parameter separately.

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

    @refuses_unknown
    def __init__(self, logger: Logger = logging) -> None:
        super().__init__(logger)
        self._links: list[Link] = []
        self._scales_outputs = (
            True  # whether gradients begin at the last outputs; else they are scaled when they arrive
        )
        self._bound_labels: list[DataDesc] | None = None

    def add(self, module: BaseModule, **kwargs: bool) -> SequentialModule:
        """Add a module to the end of the chain, which must be bound again then; return the chain.

        Parameters
        ----------
        module
            The module. Parameters that it has stay.
        take_labels
            Whether it takes the labels of a batch. Several modules may; each gets all of them.
        auto_wiring
            Whether the outputs of the module before are its inputs in their order, whatever their names; otherwise they
            go to the inputs of the same names.

        Examples
        --------
        >>> import rebind as mx
        >>> scores = mx.mod.Module(2 * mx.sym.var("data"), label_names=None)
        >>> chain = mx.mod.SequentialModule().add(scores)
        >>> chain = chain.add(mx.mod.PythonLossModule(), take_labels=True, auto_wiring=True)
        >>> chain.output_names
        ['pyloss_output']
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
            Link(
                module,
                bool(kwargs.get(self.META_TAKE_LABELS, False)),
                bool(kwargs.get(self.META_AUTO_WIRING, False)),
            )
        )
        # The new module has no shapes, and perhaps no parameters; init_params() skips those that have some.
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    # What it is.

    @property
    def _modules(self) -> list[BaseModule]:
        return [link.module for link in self._links]

    @property
    def _last(self) -> BaseModule:
        return self._links[-1].module

    @property
    def last_module(self) -> BaseModule:
        return self._last.last_module

    @property
    def networks(self) -> list[Symbol]:
        return [network for module in self._modules for network in module.networks]

    @property
    def data_names(self) -> list[str]:
        return self._links[0].module.data_names if self._links else []

    @property
    def output_names(self) -> list[str]:
        return self._last.output_names if self._links else []

    @property
    def data_shapes(self) -> Shapes | None:
        need_steps(self, "data_shapes", "bind")
        return self._links[0].module.data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        need_steps(self, "label_shapes", "bind")
        return self._bound_labels

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]] | None:
        need_steps(self, "output_shapes", "bind")
        return self._last.output_shapes

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._modules}>"

    # Bind.

    def bind_to(self, binding: Binding, *, force: bool = False, shared: BaseModule | None = None) -> None:
        if not self._links:
            raise StateError("SequentialModule.bind() needs add() first: there are no modules in it")
        if self.binded and not force:
            _warn("bind: already bound", "Set force_rebind=True to bind again.")
            return
        if binding.inputs_need_grad and not binding.for_training:
            raise ParameterError("SequentialModule.bind: inputs_need_grad=True needs for_training=True")
        if shared is not None:
            raise ParameterError(f"SequentialModule.bind: shared_module must be None; got {shared!r}")
        self._share_loss_scaler()
        for i in range(len(self._links)):
            given = self._links[i - 1].module.output_descs() if i else binding.data
            self._bind_link(i, self._wired(i, given), binding)
        self._bound_labels = binding.labels if any(link.takes_labels for link in self._links) else None
        self.for_training, self.inputs_need_grad = binding.for_training, binding.inputs_need_grad
        self.binded = True

    def _bind_link(self, i: int, data: list[DataDesc], binding: Binding) -> None:
        link = self._links[i]
        if binding.labels and binding.for_training and not link.takes_labels:
            self._warn_of_labels(i)
        names, given = list(link.module.data_names), [desc.name for desc in data]
        if i and sorted(names) != sorted(given):
            raise ParameterError(
                f"SequentialModule.bind: module {i} has the inputs {names}; the outputs before it are {given}. Add it "
                "with auto_wiring=True to take them by their order."
            )
        # Gradients that a module hands to the one before are never added up.
        grad_req = binding.grad_req
        if i or not link.module.parameter_names():
            grad_req = link.module.grad_req_of_parameters(grad_req)
        link.module.bind(
            data,
            binding.labels if link.takes_labels else None,
            for_training=binding.for_training,
            # The first module's inputs are the chain's; the others' gradients are for the module before.
            inputs_need_grad=binding.for_training and (binding.inputs_need_grad or i > 0),
            force_rebind=True,  # the module before may have new shapes
            grad_req=grad_req,
        )

    def _warn_of_labels(self, i: int) -> None:
        """Warn about the labels of a module that does not take any: they stay zero."""
        module = self._links[i].module
        arguments = [] if module.symbol is None else module.symbol.list_arguments()
        if unread := [name for name in getattr(module, "label_names", None) or () if name in arguments]:
            warn_user(
                f"SequentialModule.bind: module {i} has the labels {unread}, which stay zero. Add it with "
                "take_labels=True."
            )

    def _wired(self, i: int, given: list[DataDesc]) -> list[DataDesc]:
        """Return descriptions of a module's inputs, under its own names."""
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

    def _share_loss_scaler(self) -> None:
        """Let all modules use the chain's scaler: a module's gradients contain the scale of those that it was given."""
        last = len(self._links) - 1
        for i, module in enumerate(self._modules):
            if self.loss_scaler is not None and module.networks:
                module.use_loss_scaler(self.loss_scaler, outputs=i == last and self._scales_outputs)
            elif self.loss_scaler is None and module.loss_scaler is not None:
                raise StateError(
                    f"SequentialModule.bind: module {i} scales its own losses by a factor that the other "
                    "modules do not know. Give the whole chain to amp.init_trainer(), not the module."
                )

    def use_loss_scaler(self, scaler: LossScaling | None, *, outputs: bool = True) -> None:
        self.loss_scaler = scaler
        self._scales_outputs = outputs

    # Parameters.

    def get_params(self) -> tuple[ArrayDict, ArrayDict]:
        need_steps(self, "get_params()", "bind", "init_params")
        arg_params: ArrayDict = {}
        aux_params: ArrayDict = {}
        for module in self._modules:
            args, aux = module.get_params()
            arg_params.update(args)
            aux_params.update(aux)
        return arg_params, aux_params

    def trained_params(self) -> ArrayDict:
        return {name: value for module in self._modules for name, value in module.trained_params().items()}

    def trained_gradients(self) -> ArrayDict:
        return {name: value for module in self._modules for name, value in module.trained_gradients().items()}

    def init_from(self, values: InitialValues) -> None:
        need_steps(self, "init_params()", "bind")
        if self.params_initialized and not values.force_init:
            _warn("init_params: the parameters have values already", "Set force_init=True to set them again.")
            return
        self._check_names()
        for module in self._modules:
            if values.force_init or not module.params_initialized:
                module.init_params(**vars(values))
        self.params_initialized = True

    def _check_names(self) -> None:
        """Check that no two modules have a parameter of the same name, as far as names are known by now."""
        owners: dict[str, int] = {}
        for i, module in enumerate(self._modules):
            for name in module.parameter_names():
                other = owners.setdefault(name, i)
                if other != i:
                    raise ParameterError(
                        f"SequentialModule.init_params: names of parameters must differ; {name!r} is in module {other} "
                        f"and in module {i}"
                    )

    # Optimizer.

    def optimize_by(self, settings: OptimizerSettings) -> None:
        need_steps(self, "init_optimizer()", "bind", "init_params")
        if self.optimizer_initialized and not settings.force_init:
            _warn("init_optimizer: there is an optimizer already", "Set force_init=True to start over.")
            return
        index = 0
        for module in self._modules:
            module.batches_per_update = self.batches_per_update
            if isinstance(settings.optimizer, Optimizer):  # numbers of parameters must differ then
                index = module.number_parameters(index)
            module.init_optimizer(**vars(settings))
        self.optimizer_initialized = True

    def run_state(self) -> StateTree:
        need_steps(self, "run_state()", "bind", "init_params")
        return {"modules": [module.run_state() for module in self._modules]}

    def load_run_state(self, state: StateTree) -> None:
        need_steps(self, "load_run_state()", "bind", "init_params")
        modules = cast(ChainState, state)["modules"]
        if len(modules) != len(self._links):
            raise StateError(
                f"SequentialModule.load_run_state: the run was of {len(modules)} modules; got {len(self._links)}"
            )
        for module, saved in zip(self._modules, modules, strict=True):
            module.load_run_state(saved)

    # The steps of a batch.

    def prepare(self, data_batch: AnyBatch, sparse_row_id_fn: RowIds | None = None) -> None:
        """Get ready for a batch; only the first module sees the batch itself, and each gets the ids of its own rows."""
        if not self._links:
            return
        first, *others = self._modules
        row_ids = None if sparse_row_id_fn is None else row_ids_of(sparse_row_id_fn, data_batch)
        own = None if row_ids is None else rows_of_each(row_ids, [first, *others])
        first.prepare(data_batch, None if own is None else lambda batch: own[0])
        for k, module in enumerate(others, 1):
            module.pull_rows(None if own is None else own[k])

    def pull_rows(self, row_ids: Mapping[str, RowIdsOfParameter] | None) -> None:
        own = None if row_ids is None else rows_of_each(row_ids, self._modules)
        for k, module in enumerate(self._modules):
            module.pull_rows(None if own is None else own[k])

    def forward(self, data_batch: AnyBatch, is_train: bool | None = None) -> None:
        need_steps(self, "forward()", "bind", "init_params")
        if not hasattr(data_batch, "data"):
            raise ArgumentError(
                f"SequentialModule.forward: a batch must have data, a list of arrays; got {type(data_batch).__name__}"
            )
        training = self.for_training if is_train is None else bool(is_train)
        batch = of_module = data_batch
        for i, module in enumerate(self._modules):
            if i:  # the rest of the batch goes along: a user's module may read it
                of_module = DataBatch(
                    cast(list[NDArray], self._modules[i - 1].get_outputs()),
                    getattr(batch, "label", None),
                    pad=getattr(batch, "pad", None),
                    index=getattr(batch, "index", None),
                    bucket_key=getattr(batch, "bucket_key", None),
                    provide_label=getattr(batch, "provide_label", None),
                )
            module.forward(of_module, is_train=training)

    def backward(self, out_grads: HeadGrads = None) -> None:
        need_steps(self, "backward()", "bind", "init_params")
        if not self.for_training:
            raise StateError("SequentialModule.backward() needs bind(for_training=True)")
        for i in reversed(range(len(self._links))):
            module = self._links[i].module
            module.backward(out_grads=out_grads)
            if i:
                gradients = cast(list[NDArray], module.get_input_grads())
                # A loss in Python is where gradients begin; a network puts the scale in by itself.
                begins = module is self._last and not module.networks and self._scales_outputs
                out_grads = self._scaled(gradients) if begins else gradients

    def _scaled(self, gradients: Sequence[NDArray]) -> Sequence[NDArray]:
        """Return gradients, multiplied by the scale, that begin in a loss in Python, which does not know of it."""
        if self.loss_scaler is None:
            return gradients
        return [gradient * self.loss_scaler.loss_scale for gradient in gradients]

    def update(self) -> None:
        need_steps(self, "update()", "init_optimizer")
        if self.loss_scaler is not None:  # all are updated, or none if the gradients of one overflow
            self.update_scaled(self.loss_scaler)
            return
        for module in self._modules:  # apply_gradients() would miss an update() that a user overrides
            module.update()

    def get_input_grads(self, merge_multi_context: bool = True) -> Arrays:
        need_steps(self, "get_input_grads()", "bind", "init_params")
        if not self.inputs_need_grad:
            raise StateError("SequentialModule.get_input_grads() needs bind(inputs_need_grad=True)")
        return self._links[0].module.get_input_grads(merge_multi_context)

    def update_metric(self, eval_metric: EvalMetric, labels: Labels, pre_sliced: bool = False) -> None:
        """Add the last batch to a metric: the outputs of each module that takes labels."""
        need_steps(self, "update_metric()", "bind", "init_params")
        for link in self._links:
            if link.takes_labels:
                link.module.update_metric(eval_metric, labels, pre_sliced)

    def measure_without_padding(self, metric: EvalMetric, batch: Batch, pad: int) -> None:
        for link in self._links:
            if link.takes_labels:
                link.module.measure_without_padding(metric, batch, pad)


def _warn(what: str, remedy: str) -> None:
    warn_user(f"SequentialModule.{what}, so this call changes nothing. {remedy}")


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
