"""`PythonModule` and `PythonLossModule`: modules in Python, without a symbol."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from ..absent import old_names
from ..checks import LIST, Kind, check_kind, or_none, refuses_unknown
from ..errors import ArgumentError, ParameterError, ShapeError, StateError
from ..executor import GradReqs
from ..io import DataDesc
from ..metric import EvalMetric
from ..monitor import Monitor
from ..ndarray import NDArray, array
from ..optimizer import Optimizer
from ..overriding import declares_steps
from ..protocols import ArrayDict, Logger, StateTree
from .base_module import BaseModule
from .batches import AnyBatch, labels_of, whole
from .settings import Binding, InitialValues, OptimizerSettings
from .steps import Arrays, HeadGrads, Labels

__all__ = ["PythonLossModule", "PythonModule"]


@declares_steps()
class PythonModule(BaseModule):
    """A module without parameters, whose subclass computes in Python.

    The subclass defines `_compute_output_shapes`, `forward`, `backward`, `get_outputs` and `get_input_grads`; the steps
    that have to do with parameters do nothing. A subclass that has parameters overrides those too. `bind` takes the
    shapes and holds no memory, so a second call works like the first; `grad_req` must be ``'write'``, and
    `force_rebind` and `shared_module` change nothing.

    Parameters
    ----------
    data_names, label_names
        The names of its inputs and labels; `label_names` may be None.
    output_names
        The names of its outputs.
    logger
        Where messages go.

    Examples
    --------
    >>> import rebind as mx
    >>> class Doubler(mx.mod.PythonModule):
    ...     def _compute_output_shapes(self):
    ...         return [("doubled", self.data_shapes[0].shape)]
    ...
    ...     def forward(self, data_batch, is_train=None):
    ...         self.doubled = 2 * data_batch.data[0]
    ...
    ...     def get_outputs(self, merge_multi_context=True):
    ...         return [self.doubled]
    >>> module = Doubler(["data"], None, ["doubled"])
    >>> module.bind([("data", (2,))])
    >>> module.init_params()
    >>> module.predict(mx.nd.array([1, 2])).asnumpy().tolist()
    [2.0, 4.0]
    """

    @refuses_unknown
    def __init__(
        self,
        data_names: Sequence[str],
        label_names: Sequence[str] | None,
        output_names: Sequence[str],
        logger: Logger = logging,
    ) -> None:
        super().__init__(logger)
        who = type(self).__name__
        check_kind(who, _NAMES, data_names=data_names, output_names=output_names)
        check_kind(who, or_none(_NAMES), label_names=label_names)
        self._data_names = _names(data_names)
        self._label_names = None if label_names is None else _names(label_names)
        self._output_names = _names(output_names)
        self._data_shapes: list[DataDesc] | None = None
        self._label_shapes: list[DataDesc] | None = None
        self._output_shapes: list[tuple[str, tuple[int, ...]]] | None = None

    @property
    def data_names(self) -> list[str]:
        return self._data_names

    @property
    def output_names(self) -> list[str]:
        return self._output_names

    @property
    def data_shapes(self) -> list[DataDesc] | None:
        return self._data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]] | None:
        return self._output_shapes

    def bind_to(self, binding: Binding, *, force: bool = False, shared: BaseModule | None = None) -> None:
        if binding.grad_req != "write":
            raise ParameterError(
                f"{type(self).__name__}.bind: grad_req must be 'write'; got {binding.grad_req!r}"
            )
        data, labels = binding.data, binding.labels
        self._check("data_shapes", data, self._data_names)
        if labels is not None:
            self._check("label_shapes", labels, self._label_names or [])
        self._data_shapes, self._label_shapes = data, labels
        self.for_training, self.inputs_need_grad = binding.for_training, binding.inputs_need_grad
        self._output_shapes = self._compute_output_shapes()
        self.binded = True

    def _check(self, who: str, descs: Sequence[DataDesc], names: Sequence[str]) -> None:
        # The order counts: a subclass reads ``batch.data`` by position.
        given = [desc.name for desc in descs]
        if given != list(names):
            raise ParameterError(
                f"{type(self).__name__}.bind: {who} must describe {list(names)}, in this order; got {given}"
            )

    def grad_req_of_parameters(self, grad_req: GradReqs) -> GradReqs:
        """Return ``'write'``: there are no parameters whose gradients could be summed."""
        return "write"

    def _compute_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return names and shapes of the outputs; `data_shapes` and `label_shapes` are known by then."""
        raise self._undefined("_compute_output_shapes()")

    # Nothing to do, without parameters.

    def get_params(self) -> tuple[ArrayDict, ArrayDict]:
        return {}, {}

    def trained_params(self) -> ArrayDict:
        return {}

    def trained_gradients(self) -> ArrayDict:
        return {}

    def init_from(self, values: InitialValues) -> None:
        self.params_initialized = True

    def optimize_by(self, settings: OptimizerSettings) -> None:
        self.optimizer_initialized = True

    def __repr__(self) -> str:
        shapes = f"bound to {self.data_shapes}" if self.binded else "not bound"
        return f"<{type(self).__name__} {', '.join(self.output_names)}: {shapes}>"

    def optimizers(self) -> list[Optimizer]:
        return []

    def update(self) -> None:
        """Do nothing: there are no parameters."""

    def clear_gradients(self) -> None:
        """Do nothing: there are no parameters."""

    def run_state(self) -> StateTree:
        return {}

    def load_run_state(self, state: StateTree) -> None:
        """Do nothing: there are no parameters."""

    def install_monitor(self, mon: Monitor) -> None:
        """Do nothing: a monitor watches what symbols compute."""

    def update_metric(self, eval_metric: EvalMetric, labels: Labels, pre_sliced: bool = False) -> None:
        """Add the last batch to a metric; without bound labels do nothing."""
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise ParameterError(
                f"{type(self).__name__}.update_metric: pre_sliced must be False; it is on one device only"
            )
        eval_metric.update_dict(
            dict(zip(self._label_names or (), cast(Sequence[NDArray], labels or ()), strict=False)),
            dict(zip(self._output_names, cast(list[NDArray], self.get_outputs()), strict=True)),
        )


@declares_steps()
class PythonLossModule(PythonModule):
    """A loss whose gradient is a Python function; its outputs are its inputs, the scores.

    It is the last module of a `SequentialModule`.

    Parameters
    ----------
    name
        Its output is called ``<name>_output``.
    data_names, label_names
        The name of the scores, and of the labels: one each.
    logger
        Where messages go.
    grad_func
        ``grad_func(scores, labels)`` gives the gradient of the loss with respect to the scores, an NDArray or a NumPy
        array. Without it a subclass defines `_backward_impl`.

    Examples
    --------
    >>> import rebind as mx
    >>> loss = mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores - labels)
    >>> loss.bind([("data", (2, 1))], [("softmax_label", (2, 1))])
    >>> loss.forward(mx.io.DataBatch([mx.nd.array([[1.0], [5.0]])], [mx.nd.array([[0.0], [2.0]])]))
    >>> loss.backward()
    >>> loss.get_input_grads()[0].asnumpy().tolist()
    [[1.0], [3.0]]
    """

    @refuses_unknown
    def __init__(
        self,
        name: str = "pyloss",
        data_names: Sequence[str] = ("data",),
        label_names: Sequence[str] = ("softmax_label",),
        logger: Logger = logging,
        grad_func: Callable[[NDArray, NDArray], NDArray | np.ndarray] | None = None,
    ) -> None:
        super().__init__(data_names, label_names, [f"{name}_output"], logger)
        for what, names in (("data_names", self._data_names), ("label_names", self._label_names or [])):
            if len(names) != 1:
                raise ParameterError(f"PythonLossModule: {what} must hold one name; got {names}")
        if grad_func is not None and not callable(grad_func):
            raise ArgumentError(f"PythonLossModule: grad_func must be a function; got {grad_func!r}")
        self._name = name
        self._grad_func = grad_func
        self._scores: NDArray | None = None
        self._labels: NDArray | None = None
        self._scores_grad: NDArray | None = None

    def _compute_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        assert self._data_shapes is not None
        return [(self._output_names[0], self._data_shapes[0].shape)]

    def forward(self, data_batch: AnyBatch, is_train: bool | None = None) -> None:
        """Take the scores, and the labels if there are any."""
        batch = whole(data_batch)
        if batch is None:
            raise ParameterError(f"{type(self).__name__}.forward: a batch must be whole; got a list of them")
        labels = labels_of(batch)
        training = self.for_training if is_train is None else is_train
        if training and not labels:
            raise ArgumentError(
                f"{type(self).__name__}.forward: a batch for training must have label, for {self._label_names}"
            )
        self._scores = batch.data[0]
        self._labels = labels[0] if labels else None
        self._scores_grad = None  # that of the batch before must not be handed on

    def get_outputs(self, merge_multi_context: bool = True) -> Arrays:
        scores = self._need_scores("get_outputs()")
        return [scores] if merge_multi_context else [[scores]]

    def _need_scores(self, who: str) -> NDArray:
        if self._scores is None:
            raise StateError(f"{type(self).__name__}.{who} needs forward() first")
        return self._scores

    def backward(self, out_grads: HeadGrads = None) -> None:
        """Compute the gradient of the scores, by `grad_func` or `_backward_impl`."""
        if out_grads is not None:
            raise ParameterError(f"{type(self).__name__}.backward: out_grads must be None, for it is a loss")
        if not self.for_training:
            raise StateError(f"{type(self).__name__}.backward() needs bind(for_training=True)")
        self._need_scores("backward()")
        self._backward_impl()

    def _backward_impl(self) -> None:
        """Set `_scores_grad` from `_scores` and `_labels`."""
        if self._grad_func is None:
            raise StateError(
                f"{type(self).__name__}: needs grad_func, or a subclass that defines _backward_impl()"
            )
        if self._labels is None:
            raise StateError(f"{type(self).__name__}.backward() needs forward() with labels first")
        grad = self._grad_func(self._need_scores("backward()"), self._labels)
        if not isinstance(grad, (NDArray, np.ndarray)):
            raise ArgumentError(
                f"{type(self).__name__}: grad_func must return an NDArray or a NumPy array; got {type(grad).__name__}"
            )
        scores = self._need_scores("backward()")
        if tuple(grad.shape) != tuple(scores.shape):
            raise ShapeError(
                f"{type(self).__name__}: grad_func must return the shape of the scores, {scores.shape}; "
                f"got {tuple(grad.shape)}"
            )
        # Without dtype, array() would make it float32.
        self._scores_grad = grad if isinstance(grad, NDArray) else array(grad, dtype=grad.dtype)

    def get_input_grads(self, merge_multi_context: bool = True) -> Arrays:
        if self._scores_grad is None:
            raise StateError(f"{type(self).__name__}.get_input_grads() needs backward() first")
        return [self._scores_grad] if merge_multi_context else [[self._scores_grad]]


_NAMES = Kind("a name or a list of names", lambda value: isinstance(value, str) or LIST.allows(value))


def _names(names: Sequence[str]) -> list[str]:
    # A string is a sequence of letters, which nobody means here.
    return [names] if isinstance(names, str) else list(names)


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
