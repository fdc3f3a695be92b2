"""`Steps`: what a module can do, a method for each step of training and prediction."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ..checks import Kind, check_kind
from ..errors import ParameterError, StateError
from ..executor import GradReqs
from ..io import DataDesc
from ..metric import EvalMetric
from ..monitor import Monitor
from ..ndarray import NDArray
from ..optimizer import Optimizer
from ..overriding import overrides
from ..protocols import ArrayDict, Logger, StateTree
from ..symbol import Symbol
from .batches import AnyBatch
from .descs import Shapes, read_descs
from .joint_steps import JointSteps
from .loss_scaling import LossScaling
from .settings import InitializerSpec, OptimizerParams, RowIds, StoreSpec

__all__ = ["Arrays", "HeadGrads", "Labels", "Steps"]

#: An array for each output (or input, or state); or, not merged, a list with each device's.
Arrays: TypeAlias = list[NDArray] | list[list[NDArray]]
#: The gradients of the outputs: one array, one for each output, or by name; None where the outputs are losses.
HeadGrads: TypeAlias = NDArray | Sequence[NDArray | None] | Mapping[str, NDArray | None] | None
#: The labels of a batch; or, already sliced, a list of them for each device.
Labels: TypeAlias = Sequence[NDArray] | Sequence[Sequence[NDArray]] | None


_LOGGER = Kind("a logger, with info() and warning()", lambda value: hasattr(value, "info"))


class Steps(JointSteps):
    """The steps that training and prediction are made of; a kind of module defines them.

    They are, in order, `bind` (shapes, memory), `init_params`, `init_optimizer`, then for each batch `forward`,
    `backward`, `update`, `update_metric`. They are described here, with `Module` in the examples; a subclass
    documents a step again only where it does more or less than this.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    >>> module = mx.mod.Module(mx.sym.LinearRegressionOutput(net, name="lro"), label_names=["lro_label"])
    >>> module.bind([("data", (2, 3))], [("lro_label", (2, 1))])
    >>> module.init_params(mx.init.One())
    >>> module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    >>> batch = mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.zeros((2, 1))])
    >>> for _ in range(3):
    ...     module.forward_backward(batch)
    ...     module.update()
    ...     print(f"{module.get_outputs()[0].asnumpy().mean():.2f}")
    3.00
    1.80
    1.08
    """

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

    def __init__(self, logger: Logger = logging) -> None:
        check_kind(type(self).__name__, _LOGGER, logger=logger)
        self.logger = logger
        self._symbol: Symbol | None = None

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
    def last_module(self) -> Steps:
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

    def bind(
        self,
        data_shapes: Shapes,
        label_shapes: Shapes | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: None = None,
        grad_req: GradReqs = "write",
    ) -> None:
        """Fix the shapes and allocate memory; see `Module.bind`."""
        raise self._undefined("bind()")

    def grad_req_of_parameters(self, grad_req: GradReqs) -> GradReqs:
        """Return the request that asks `grad_req` of the parameters, and ``'write'`` of the inputs."""
        return grad_req

    # Parameters.

    def init_params(
        self,
        initializer: InitializerSpec = None,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give the parameters their first values; see `Module.init_params`.

        >>> import rebind as mx
        >>> module = mx.mod.Module(mx.sym.var("data") * mx.sym.var("scale"), label_names=None)
        >>> module.bind([("data", (2,))])
        >>> module.init_params(arg_params={"scale": mx.nd.array([3, 4])})
        >>> module.get_params()[0]["scale"].asnumpy().tolist()
        [3.0, 4.0]
        """
        raise self._undefined("init_params()")

    def get_params(self) -> tuple[ArrayDict, ArrayDict]:
        """Return copies of parameters and auxiliary states."""
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

    def unify_devices(self) -> None:
        """Give all devices the mean of their auxiliary states, which each changes by its own slices of the batches."""

    # Updates.

    def init_optimizer(
        self,
        kvstore: StoreSpec = "local",
        optimizer: str | Optimizer = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Set up what updates the parameters; see `Module.init_optimizer`."""
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
        """Update the parameters by the gradients."""
        raise self._undefined("update()")

    def apply_gradients(self) -> None:
        """Update the parameters by gradients that are no longer scaled."""
        self.update()

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
        """Get ready for a batch before it is computed."""

    def forward(self, data_batch: AnyBatch, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch.

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
        """Add the last batch to a metric.

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
        """Let a monitor watch what is computed."""
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
        self._need_params("get_states")
        return []

    def set_states(self, states: Sequence[NDArray] | None = None, value: float | None = None) -> None:
        """Set the states from arrays, or all to one number; without states, only an empty list is allowed."""
        self._need_params("set_states")
        if states or value is not None:
            raise ParameterError(f"{type(self).__name__}.set_states: it has no states; got {states or value}")

    # A run that is saved.

    def run_state(self) -> StateTree:
        """Return all that training needs to resume, as a tree of arrays, numbers and strings."""
        raise self._undefined("run_state(), for fit(checkpoint=...)")

    def load_run_state(self, state: StateTree) -> None:
        """Resume from what `run_state` returned, bound in the same way; on another number of devices too."""
        raise self._undefined("load_run_state(), for fit(checkpoint=...)")

    def _need_params(self, who: str) -> None:
        if not self.binded:
            raise StateError(f"{type(self).__name__}.{who}() needs bind() first")
        if not self.params_initialized:
            raise StateError(f"{type(self).__name__}.{who}() needs init_params() first")
