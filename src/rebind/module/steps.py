"""`Steps`: what a module can do, a method for each step of training and prediction."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ..errors import ParameterError, StateError
from ..executor import GradReqs
from ..io import DataDesc
from ..metric import EvalMetric
from ..monitor import Monitor
from ..ndarray import NDArray
from ..optimizer import Optimizer
from ..protocols import ArrayDict, Logger, StateTree
from ..symbol import Symbol
from .batches import AnyBatch
from .descs import Shapes, read_descs
from .settings import InitializerSpec, OptimizerParams, RowIds, StoreSpec
from .update import LossScaling

__all__ = ["Arrays", "HeadGrads", "Labels", "Steps"]

#: An array for each output (or input, or state); or, not merged, a list with each device's.
Arrays: TypeAlias = list[NDArray] | list[list[NDArray]]
#: The gradients of the outputs: one array, one for each output, or by name; None where the outputs are losses.
HeadGrads: TypeAlias = NDArray | Sequence[NDArray | None] | Mapping[str, NDArray | None] | None
#: The labels of a batch; or, already cut, a list of them for each device.
Labels: TypeAlias = Sequence[NDArray] | Sequence[Sequence[NDArray]] | None


class Steps:
    """The steps that training and prediction are made of; a kind of module defines them.

    In the order in which they come: `bind` (shapes, memory), `init_params`, `init_optimizer`, then for each batch
    `forward`, `backward`, `update`, `update_metric`.
    """

    # A subclass derives these from what it has; a module written by a user may set them.
    binded: bool = False
    params_initialized: bool = False
    optimizer_initialized: bool = False
    for_training: bool = False
    inputs_need_grad: bool = False
    #: Over how many batches gradients are added up before an update; `fit` sets it.
    batches_per_update: int = 1
    #: What scales the losses of a run in float16; `use_loss_scaler` sets it.
    loss_scaler: LossScaling | None = None

    def __init__(self, logger: Logger = logging) -> None:
        self.logger = logger
        self._symbol: Symbol | None = None

    def _undefined(self, what: str) -> StateError:
        return StateError(f"{type(self).__name__}: must define {what}; BaseModule only says that it exists")

    # What it is.

    @property
    def symbol(self) -> Symbol | None:
        """The network."""
        return self._symbol

    @property
    def networks(self) -> list[Symbol]:
        """The networks that a saved run is recognized by."""
        return [] if self.symbol is None else [self.symbol]

    @property
    def data_names(self) -> list[str]:
        """The names of the inputs."""
        raise self._undefined("data_names")

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        raise self._undefined("output_names")

    @property
    def data_shapes(self) -> Shapes | None:
        """Descriptions of the inputs."""
        raise self._undefined("data_shapes")

    @property
    def label_shapes(self) -> Shapes | None:
        """Descriptions of the labels; None when no labels are bound."""
        raise self._undefined("label_shapes")

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]] | None:
        """Names and shapes of the outputs."""
        raise self._undefined("output_shapes")

    def output_descs(self) -> list[DataDesc]:
        """Return descriptions of the outputs, in their own types and with their own batch axes."""
        return read_descs(self.output_shapes, "output_shapes")

    def output_axes(self) -> list[int]:
        """Return the batch axis of each output; -1 where there is none."""
        return [0] * len(self.output_names)

    def parameter_names(self) -> list[str]:
        """Return the names of parameters and auxiliary states, as far as they are known before `init_params`."""
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
        """Fix the shapes and take memory."""
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
        """Give the parameters their first values."""
        raise self._undefined("init_params()")

    def get_params(self) -> tuple[ArrayDict, ArrayDict]:
        """Return copies of parameters and auxiliary states."""
        raise self._undefined("get_params()")

    def trained_params(self) -> ArrayDict:
        """Return the parameters that training changes, as they are on the first device; not copies."""
        raise self._undefined("trained_params()")

    def unify_devices(self) -> None:
        """Make the devices agree on what each has learned by itself, at the end of an epoch."""

    # Updates.

    def init_optimizer(
        self,
        kvstore: StoreSpec = "local",
        optimizer: str | Optimizer = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Set up what updates the parameters."""
        raise self._undefined("init_optimizer()")

    def optimizers(self) -> list[Optimizer]:
        """Return the optimizers in use."""
        raise self._undefined("optimizers(), for fit(accumulate=...)")

    def number_parameters(self, first_index: int) -> int:
        """Let an optimizer that modules share know the parameters by numbers from `first_index`; return the next."""
        return first_index

    def update(self) -> None:
        """Update the parameters by the gradients."""
        raise self._undefined("update()")

    def apply_gradients(self) -> None:
        """Update the parameters by gradients that are not scaled any more."""
        self.update()

    def clear_gradients(self) -> None:
        """Set all gradients to zero."""
        raise self._undefined("clear_gradients(), for fit(accumulate=...)")

    def use_loss_scaler(self, scaler: LossScaling | None, *, outputs: bool = True) -> None:
        """Scale the losses from the next `bind` on; without `outputs`, those that begin inside the network only."""
        raise self._undefined("use_loss_scaler(), for amp.init_trainer()")

    def scaled_gradients(self) -> list[Sequence[NDArray]]:
        """Return the gradients that hold the scale, a list with each device's for each of them."""
        return []

    # A batch.

    def prepare(self, data_batch: AnyBatch, sparse_row_id_fn: RowIds | None = None) -> None:
        """Get ready for a batch before it is computed."""

    def forward(self, data_batch: AnyBatch, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch."""
        raise self._undefined("forward()")

    def backward(self, out_grads: HeadGrads = None) -> None:
        """Compute the gradients for the last batch."""
        raise self._undefined("backward()")

    def forward_backward(self, data_batch: AnyBatch) -> None:
        """Compute outputs and gradients for a batch."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def get_outputs(self, merge_multi_context: bool = True) -> Arrays:
        """Return the outputs for the last batch."""
        raise self._undefined("get_outputs()")

    def get_input_grads(self, merge_multi_context: bool = True) -> Arrays:
        """Return the gradients of the inputs for the last batch."""
        raise self._undefined("get_input_grads()")

    def update_metric(self, eval_metric: EvalMetric, labels: Labels, pre_sliced: bool = False) -> None:
        """Add the last batch to a metric."""
        raise self._undefined("update_metric()")

    def install_monitor(self, mon: Monitor) -> None:
        """Let a monitor watch what is computed."""
        raise self._undefined("install_monitor()")

    def get_states(self, merge_multi_context: bool = True) -> Arrays:
        """Return the states, of which there are none."""
        self._need_params("get_states")
        return []

    def set_states(self, states: Sequence[NDArray] | None = None, value: float | None = None) -> None:
        """Set the states, of which there are none: any other list than an empty one is an error."""
        self._need_params("set_states")
        if states or value is not None:
            raise ParameterError(f"{type(self).__name__}.set_states: it has no states; got {states or value}")

    # A run that is saved.

    def run_state(self) -> StateTree:
        """Return all that training needs to resume, as a tree of arrays, numbers and strings."""
        raise self._undefined("run_state(), for fit(checkpoint=...)")

    def load_run_state(self, state: StateTree) -> None:
        """Resume from what `run_state` returned."""
        raise self._undefined("load_run_state(), for fit(checkpoint=...)")

    def _need_params(self, who: str) -> None:
        if not self.binded:
            raise StateError(f"{type(self).__name__}.{who}() needs bind() first")
        if not self.params_initialized:
            raise StateError(f"{type(self).__name__}.{who}() needs init_params() first")
