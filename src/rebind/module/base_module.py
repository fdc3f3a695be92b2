"""`BaseModule`: what trains, measures and predicts in steps, for every kind of module."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..absent import old_names
from ..callback import BatchEndParam
from ..checks import Kind, check_kind
from ..completion import hides
from ..errors import ParameterError, StateError
from ..executor import GradReqs
from ..first_use import OnFirstUse
from ..io import DataDesc
from ..kvstore import KVStoreBase
from ..metric import EvalMetric
from ..monitor import Monitor
from ..ndarray import NDArray
from ..optimizer import Optimizer
from ..overriding import declares_steps, overrides
from ..protocols import ArrayDict, Logger, StateTree
from ..symbol import Symbol
from . import checkpoints, evaluation, fitting, initialization
from .batches import AnyBatch
from .descs import Shapes, read_descs
from .jobs import any_of
from .loss_scaling import LossScaling
from .settings import (
    Binding,
    FitSettings,
    InitialValues,
    OptimizerSettings,
    RowIds,
    RowIdsOfParameter,
)
from .steps import Arrays, HeadGrads, Labels, need_steps
from .training_loop import TrainingLoop
from .training_run import History
from .workers import Workers

__all__ = ["BaseModule", "BatchEndParam", "History"]

_LOGGER = Kind("a logger, with info() and warning()", lambda value: hasattr(value, "info"))
# Tables are made above modules in the layers, where they are found when a notebook asks for one.
_SHOWN = OnFirstUse.from_modules("rebind.viz", {"module_html": "notebook"})


@hides(
    "apply_gradients arrays_state auxiliary_arrays backward_follows batch_record batches_per_update bind_to binding "
    "executors forward_backward_update grad_req_of_parameters init_from last_module load_arrays_state load_run_state "
    "measure measure_without_padding networks number_parameters on_any_worker optimize_by output_axes output_descs "
    "parameters policy preload_optimizer_states pull_rows release run_state scaled_gradients sends_gradients set_from "
    "stores take_no_batch training_loop unify_devices update_scaled use_loss_scaler workers"
)
@declares_steps(
    "bind", "init_params", "init_optimizer", "forward", "backward", "forward_backward", "update", "apply_gradients",
    "update_metric", "get_outputs", "score",
)  # fmt: skip
class BaseModule:
    """Base of all modules: a network that is bound, trained with `fit`, and used for predictions.

    The steps are, in order, `bind` (shapes, memory), `init_params`, `init_optimizer`, then for each batch `forward`,
    `backward`, `update`, `update_metric`. `fit`, `score` and `predict` are made of them. A subclass defines the steps.

    Examples
    --------
    >>> import rebind as mx
    >>> class Doubler(BaseModule):
    ...     binded = params_initialized = True
    ...     output_names = ["doubled"]
    ...
    ...     def forward(self, data_batch, is_train=None):
    ...         self.outputs = [data_batch.data[0] * 2]
    ...
    ...     def get_outputs(self, merge_multi_context=True):
    ...         return self.outputs
    >>> Doubler().predict(mx.nd.array([1, 2])).asnumpy().tolist()
    [2.0, 4.0]
    """

    _symbol: Symbol | None = None
    # A subclass derives these from what it has; a module written by a user may set them.
    binded: bool = False
    params_initialized: bool = False
    optimizer_initialized: bool = False
    for_training: bool = False
    inputs_need_grad: bool = False
    #: Whether a `forward` is one that `backward` follows at once, without head gradients; `forward_backward` sets it.
    backward_follows: bool = False
    #: What scales the losses of a run in float16; `use_loss_scaler` sets it.
    loss_scaler: LossScaling | None = None

    #: How many batches' gradients are summed before an update; `fit` sets it.
    batches_per_update: int = 1
    #: Whether nothing looks at the gradients between `backward` and `update`, so that a store over processes may send
    #: them while backward computes others; `fit` sets it.
    sends_gradients: bool = False
    #: Those that it trains with; `fit` sets it for a run over several.
    workers: Workers | None = None

    def __init__(self, logger: Logger = logging) -> None:
        check_kind(type(self).__name__, _LOGGER, logger=logger)
        self.logger = logger

    def __getstate__(self) -> dict[str, object]:
        # The root logger's module, which is the default, cannot be pickled; a Logger is, by its name.
        return {**vars(self), "logger": None if self.logger is logging else self.logger, "workers": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        if state.get("logger") is None:
            self.logger = logging

    def _undefined(self, what: str) -> StateError:
        return StateError(f"{type(self).__name__}: must define {what}; BaseModule only declares it")

    # What it is.

    def _repr_html_(self) -> str:
        return _SHOWN["module_html"](self)

    @property
    def symbol(self) -> Symbol | None:
        """The network.

        >>> import rebind as mx
        >>> mx.mod.Module(2 * mx.sym.var("data"), label_names=None).symbol.list_arguments()
        ['data']
        """
        return self._symbol

    @property
    def networks(self) -> list[Symbol]:
        """The networks by which a saved run is recognized."""
        return [] if self.symbol is None else [self.symbol]

    @property
    def last_module(self) -> BaseModule:
        """The module in whose outputs gradients begin: the last of a chain.

        >>> import rebind as mx
        >>> loss = mx.mod.PythonLossModule()
        >>> mx.mod.SequentialModule().add(loss).last_module is loss
        True
        """
        return self

    @property
    def data_names(self) -> list[str]:
        """The names of the inputs.

        >>> import rebind as mx
        >>> mx.mod.PythonLossModule(data_names=["scores"]).data_names
        ['scores']
        """
        raise self._undefined("data_names")

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs.

        >>> import rebind as mx
        >>> mx.mod.Module(mx.sym.square(mx.sym.var("data"), name="sq"), label_names=None).output_names
        ['sq_output']
        """
        raise self._undefined("output_names")

    @property
    def data_shapes(self) -> Shapes | None:
        """Descriptions of the inputs.

        >>> import rebind as mx
        >>> module = mx.mod.Module(2 * mx.sym.var("data"), label_names=None)
        >>> module.bind([("data", (4, 3))])
        >>> module.data_shapes[0].name, module.data_shapes[0].shape
        ('data', (4, 3))
        """
        raise self._undefined("data_shapes")

    @property
    def label_shapes(self) -> Shapes | None:
        """Descriptions of the labels; None when no labels are bound."""
        raise self._undefined("label_shapes")

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]] | None:
        """Names and shapes of the outputs.

        >>> import rebind as mx
        >>> module = mx.mod.Module(mx.sym.sum(mx.sym.var("data"), axis=1, name="total"), label_names=None)
        >>> module.bind([("data", (4, 3))])
        >>> module.output_shapes
        [('total_output', (4,))]
        """
        raise self._undefined("output_shapes")

    def output_descs(self) -> list[DataDesc]:
        """Return descriptions of the outputs, in their own types and with their own batch axes."""
        return read_descs(self.output_shapes, "output_shapes")

    def output_axes(self) -> list[int]:
        """Return the batch axis of each output; -1 where there is none.

        >>> import rebind as mx
        >>> net = mx.sym.var("data", attr={"__layout__": "TN"})
        >>> module = mx.mod.Module(mx.sym.identity(net, attr={"__layout__": "TN"}), label_names=None)
        >>> module.bind([mx.io.DataDesc("data", (5, 2), layout="TN")])
        >>> module.output_axes()
        [1]
        """
        return [0] * len(self.output_names)

    def parameter_names(self) -> list[str]:
        """Return the names of parameters and auxiliary states, as far as they are known before `init_params`.

        >>> import rebind as mx
        >>> net = mx.sym.BatchNorm(mx.sym.var("data"), name="bn")
        >>> mx.mod.Module(net, label_names=None).parameter_names()
        ['bn_gamma', 'bn_beta', 'bn_moving_mean', 'bn_moving_var']
        """
        return []

    # Shapes and memory.

    bind = initialization.bind

    def bind_to(self, binding: Binding, *, force: bool = False, shared: BaseModule | None = None) -> None:
        """Bind as a record says; a kind of module that defines this has `bind`, whose arguments are read into it."""
        raise self._undefined("bind()")

    def grad_req_of_parameters(self, grad_req: GradReqs) -> GradReqs:
        """Return the request that asks `grad_req` of the parameters, and ``'write'`` of the inputs."""
        return grad_req

    # Parameters.

    init_params = initialization.init_params
    set_params = initialization.set_params
    save_params = checkpoints.save_params
    load_params = checkpoints.load_params

    def init_from(self, values: InitialValues) -> None:
        """Initialize as a record says; a kind of module that defines this has `init_params`."""
        raise self._undefined("init_params()")

    def set_from(self, values: InitialValues) -> None:
        """Set values as a record says: as in MXNet, `init_params` without an initializer."""
        self.init_params(**vars(values))

    def get_params(self) -> tuple[ArrayDict, ArrayDict]:
        """Return copies of parameters and auxiliary states, on the CPU; with several devices their mean.

        >>> import rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (2, 3))])
        >>> module.init_params(mx.init.One())
        >>> module.get_params()[0]["fc_weight"].asnumpy().tolist()
        [[1.0, 1.0, 1.0]]
        """
        raise self._undefined("get_params()")

    def trained_params(self) -> ArrayDict:
        """Return the parameters that training changes, as they are on the first device; not copies.

        >>> import rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
        >>> module = mx.mod.Module(net, label_names=None, fixed_param_names=["fc_bias"])
        >>> module.bind([("data", (2, 3))])
        >>> list(module.trained_params())
        ['fc_weight']
        """
        raise self._undefined("trained_params()")

    def trained_gradients(self) -> ArrayDict:
        """Return the last batch's gradients of the parameters that training changes, summed over the devices.

        >>> import rebind as mx
        >>> module = mx.mod.Module(mx.sym.var("data") * mx.sym.var("w", shape=(1,)), label_names=None)
        >>> module.bind([("data", (1,))])
        >>> list(module.trained_gradients())
        ['w']
        """
        raise self._undefined("trained_gradients()")

    def unify_devices(self) -> None:
        """Give all devices the mean of their auxiliary states, which each changes by its own slices of the batches."""

    # Updates.

    init_optimizer = initialization.init_optimizer

    def optimize_by(self, settings: OptimizerSettings) -> None:
        """Set up the optimizer as a record says; a kind of module that defines this has `init_optimizer`."""
        raise self._undefined("init_optimizer()")

    def optimizers(self) -> list[Optimizer]:
        """Return the optimizers in use.

        >>> import rebind as mx
        >>> module = mx.mod.Module(mx.sym.var("data") * mx.sym.var("scale_weight"), label_names=None)
        >>> module.bind([("data", (2,))])
        >>> module.init_params()
        >>> module.init_optimizer(optimizer="adam")
        >>> [type(optimizer).__name__ for optimizer in module.optimizers()]
        ['Adam']
        """
        raise self._undefined("optimizers(), for fit(accumulate=...)")

    def number_parameters(self, first_index: int) -> int:
        """Number the parameters from `first_index`, for an optimizer that modules share; return the next number.

        >>> import rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1)  # a weight and a bias
        >>> mx.mod.Module(net, label_names=None).number_parameters(10)
        12
        """
        return first_index

    def update(self) -> None:
        """Update the parameters by the gradients of the last batch.

        With scaled losses (`contrib.amp.init_trainer`), a batch whose gradients overflow changes nothing.
        """
        raise self._undefined("update()")

    def update_scaled(self, scaler: LossScaling) -> None:
        """Update by gradients that contain the scale of the losses, unless one of them overflows on a worker."""
        scaler.update(self.optimizers(), self.scaled_gradients(), self.apply_gradients, self.on_any_worker)

    def on_any_worker(self, holds: bool) -> bool:
        """Return whether a condition holds on one of the workers whose gradients are summed."""
        return any_of(self.stores(), holds)

    def apply_gradients(self) -> None:
        """Update the parameters by gradients that are no longer scaled."""
        self.update()

    def auxiliary_arrays(self) -> list[Sequence[NDArray]]:
        """Return for each auxiliary state the arrays of all devices, not copies; workers agree on their mean."""
        return []

    def stores(self) -> list[KVStoreBase]:
        """Return the stores that gradients go through; none before `init_optimizer`."""
        return []

    def pull_weights(self) -> None:
        """Take the weights of a store that has changed them by itself: it has averaged, or resumed."""

    def take_no_batch(self) -> None:
        """Set gradients as a batch without samples has them: for a step in which only other workers have a batch."""
        if self.batches_per_update == 1:  # otherwise the sums of earlier batches stay as they are
            self.clear_gradients()

    def clear_gradients(self) -> None:
        """Set all gradients to zero."""
        raise self._undefined("clear_gradients(), for fit(accumulate=...)")

    def use_loss_scaler(self, scaler: LossScaling | None, *, outputs: bool = True) -> None:
        """Scale the losses from the next `bind` on; without `outputs`, only those that begin inside the network."""
        raise self._undefined("use_loss_scaler(), for amp.init_trainer()")

    def scaled_gradients(self) -> list[Sequence[NDArray]]:
        """Return the gradients that contain the scale: for each parameter a list with each device's."""
        return []

    # A batch.

    def prepare(self, data_batch: AnyBatch, sparse_row_id_fn: RowIds | None = None) -> None:
        """Prepare for a batch, before `forward` computes it.

        Parameters
        ----------
        data_batch
            The batch.
        sparse_row_id_fn
            ``function(batch)``: a dict from the names of row_sparse parameters to the ids of the rows that the batch
            needs, in the forms of `KVStore.row_sparse_pull`. Where a store updates the weights, the devices get these
            rows, and have no others until the next call. Without it they get all rows.
        """

    def pull_rows(self, row_ids: Mapping[str, RowIdsOfParameter] | None) -> None:
        """Pull rows of row_sparse parameters from a store that updates them, see `prepare`; all rows for None."""

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
        >>> module = mx.mod.Module(mx.sym.square(mx.sym.var("data")), label_names=None)
        >>> module.bind([("data", (2,))], for_training=False)
        >>> module.init_params()
        >>> module.forward(mx.io.DataBatch([mx.nd.array([2, 3])]))
        >>> module.get_outputs()[0].asnumpy().tolist()
        [4.0, 9.0]
        """
        raise self._undefined("forward()")

    def backward(self, out_grads: HeadGrads = None) -> None:
        """Compute the gradients for the last batch.

        Parameters
        ----------
        out_grads
            The gradients of the outputs, for the whole batch: an array or a list; None when they are losses.

        Examples
        --------
        >>> import rebind as mx
        >>> module = mx.mod.Module(mx.sym.square(mx.sym.var("data")), label_names=None)
        >>> module.bind([("data", (2,))], inputs_need_grad=True)
        >>> module.init_params()
        >>> module.forward(mx.io.DataBatch([mx.nd.array([2, 3])]))
        >>> module.backward(mx.nd.array([1, 10]))
        >>> module.get_input_grads()[0].asnumpy().tolist()
        [4.0, 60.0]
        """
        raise self._undefined("backward()")

    def forward_backward(self, data_batch: AnyBatch) -> None:
        """Compute outputs and gradients for a batch."""
        # What a user's own methods do between the two is not known.
        self.backward_follows = not overrides(self, "forward", "backward")
        try:
            self.forward(data_batch, is_train=True)
        finally:
            self.backward_follows = False
        self.backward()

    def forward_backward_update(self, data_batch: AnyBatch) -> bool:
        """Do `forward_backward` and `update` at once, as one call of compiled code, where that can be done.

        Return whether it was done; if not, nothing has happened. `fit` asks where nobody looks in between.
        """
        return False

    def get_outputs(self, merge_multi_context: bool = True) -> Arrays:
        """Return the outputs for the last batch.

        Parameters
        ----------
        merge_multi_context
            Whether to join the devices' slices; otherwise each output is a list of them.

        Examples
        --------
        >>> import rebind as mx
        >>> module = mx.mod.Module(2 * mx.sym.var("data"), label_names=None, context=[mx.cpu(0), mx.cpu(1)])
        >>> module.bind([("data", (4,))], for_training=False)
        >>> module.init_params()
        >>> module.forward(mx.io.DataBatch([mx.nd.array([1, 2, 3, 4])]))
        >>> module.get_outputs()[0].asnumpy().tolist()
        [2.0, 4.0, 6.0, 8.0]
        >>> [each.asnumpy().tolist() for each in module.get_outputs(merge_multi_context=False)[0]]
        [[2.0, 4.0], [6.0, 8.0]]
        """
        raise self._undefined("get_outputs()")

    def get_input_grads(self, merge_multi_context: bool = True) -> Arrays:
        """Return the gradients of the inputs for the last batch."""
        raise self._undefined("get_input_grads()")

    def update_metric(self, eval_metric: EvalMetric, labels: Labels, pre_sliced: bool = False) -> None:
        """Update a metric with the last batch.

        >>> import rebind as mx
        >>> module = mx.mod.Module(mx.sym.identity(mx.sym.var("data")), label_names=None)
        >>> module.bind([("data", (2,))], for_training=False)
        >>> module.init_params()
        >>> module.forward(mx.io.DataBatch([mx.nd.array([1, 2])]))
        >>> metric = mx.metric.MSE()
        >>> module.update_metric(metric, [mx.nd.array([1, 4])])
        >>> metric.get()
        ('mse', 2.0)
        """
        raise self._undefined("update_metric()")

    def install_monitor(self, mon: Monitor) -> None:
        """Attach a monitor to what is computed."""
        raise self._undefined("install_monitor()")

    def get_states(self, merge_multi_context: bool = True) -> Arrays:
        """Return the states: inputs that carry over from batch to batch. By default a module has none.

        >>> import rebind as mx
        >>> net = mx.sym.var("data") + mx.sym.var("memory", shape=(2,))
        >>> module = mx.mod.Module(net, label_names=None, state_names=["memory"])
        >>> module.bind([("data", (2,))])
        >>> module.init_params()
        >>> module.set_states(value=7)
        >>> module.get_states()[0].asnumpy().tolist()
        [7.0, 7.0]
        """
        need_steps(self, "get_states()", "bind", "init_params")
        return []

    def set_states(self, states: Sequence[NDArray] | None = None, value: float | None = None) -> None:
        """Set the states from arrays, or all to one number; without states, only an empty list is allowed."""
        need_steps(self, "set_states()", "bind", "init_params")
        if states or value is not None:
            raise ParameterError(f"{type(self).__name__}.set_states: it has no states; got {states or value}")

    # A run that is saved.

    def run_state(self) -> StateTree:
        """Return all that training needs to resume, as a tree of arrays, numbers and strings."""
        raise self._undefined("run_state(), for fit(checkpoint=...)")

    def load_run_state(self, state: StateTree) -> None:
        """Resume from what `run_state` returned, bound in the same way; on another number of devices too."""
        raise self._undefined("load_run_state(), for fit(checkpoint=...)")

    # What is made of the steps.

    score = evaluation.score
    iter_predict = evaluation.iter_predict
    predict = evaluation.predict
    measure = evaluation.measure
    measure_without_padding = evaluation.measure_without_padding
    batch_record = evaluation.batch_record
    fit = fitting.fit

    def training_loop(self, settings: FitSettings) -> TrainingLoop:
        """Return what `fit` runs; a module that trains in another way returns one with overridden steps."""
        return TrainingLoop(self, settings)


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
