"""The base of metrics, those that are made of others, and the registry."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
import torch
from torch import Tensor

from ..errors import ArgumentError, NameLookupError, ShapeError, StateError, near_names
from ..ndarray import NDArray
from ..registry import Registry
from .state import restore, snapshot

__all__ = [
    "CompositeEvalMetric",
    "CustomMetric",
    "EvalMetric",
    "alias",
    "check_label_shapes",
    "create",
    "metrics",
    "np",
    "register",
]

_SUMS = ("sum_metric", "num_inst", "global_sum_metric", "global_num_inst")
# What stays as the constructor made it.
_SETTINGS = frozenset(
    ("name", "output_names", "label_names", "_kwargs", "_has_global_stats", "_kept", *_SUMS)
)


class EvalMetric:
    """A value that sums up over batches.

    A subclass says what it measures in one of two ways. `measure` is a pure function of a label and a prediction
    (tensors) that returns a sum and how many it is the sum of; the base does the rest. The sum may be a tensor of
    several numbers, which `value` makes one figure of, and `merge` may join two of them in another way than by adding.
    Or, as in MXNet, `update` adds to `sum_metric` and `num_inst` (and to `global_sum_metric` and `global_num_inst`,
    with ``has_global_stats=True``).

    There are two windows: the local one, which `reset_local` empties (`Speedometer` does so each time it speaks),
    and the global one since `reset`, which the figures of an epoch come from. A metric that only keeps the local
    sums, or only overrides `reset`, has right global ones too: what `reset_local` empties is kept (1.9.1 loses it).

    Parameters
    ----------
    name
        The name that the value is reported under.
    output_names, label_names
        Which outputs and labels `update_dict` picks; None means all of them.
    **kwargs
        The metric's settings, for `get_config`.

    Examples
    --------
    >>> class ZeroOne(EvalMetric):
    ...     def measure(self, label, pred):
    ...         return (label == (pred > 0)).sum(), label.numel()
    >>> metric = ZeroOne("zero-one")
    >>> metric.update([numpy.array([1, 0])], [numpy.array([0.3, 0.1])])
    >>> metric.get()
    ('zero-one', 0.5)
    """

    # Sums of batches are 0-d tensors on the device, plain numbers in metrics that are written that way.
    sum_metric: Any
    num_inst: Any
    global_sum_metric: Any
    global_num_inst: Any
    _kept: tuple[Any, Any]

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "reset" in vars(cls):  # which need not call ours
            setattr(cls, "reset", _forgetting(cls.reset))  # noqa: B010 - mypy takes a method for fixed

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self._kwargs.items())
        return f"{type(self).__name__}({settings})"

    # ---- what a subclass says --------------------------------------------------------------------------

    def measure(self, label: Tensor, pred: Tensor) -> tuple[Any, Any]:
        """Return a sum over the samples, and how many they are."""
        raise NotImplementedError(
            f"{type(self).__name__} must define measure(label, pred) or update(labels, preds)"
        )

    def merge(self, total: Any, more: Any) -> Any:
        """Return two sums, neither of them empty, as one."""
        return _plus(total, more)

    def value(self, total: Any, count: float) -> float:
        """Return what is reported for a sum over `count` samples: the mean, if a subclass says nothing else.

        `total` is a number, or a tensor on the CPU where `measure` returns several numbers.
        """
        return total / count if count else float("nan")

    # ---- adding up -------------------------------------------------------------------------------------

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        labels, preds
            Lists of arrays, one for each output, or a single array each.
        """
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        with torch.no_grad():
            for label, pred in zip(labels, preds, strict=True):
                pred = as_tensor(pred)
                self._add(*self.measure(as_tensor(label).to(pred.device), pred))

    def update_dict(self, label: Mapping[str, Any], pred: Mapping[str, Any]) -> None:
        """Add a batch whose labels and outputs are known by name.

        Parameters
        ----------
        label, pred
            Dicts from name to array.
        """
        labels = _pick(label, self.label_names, f"{self.name}: label_names")
        preds = _pick(pred, self.output_names, f"{self.name}: output_names")
        self.update(labels, preds)

    def _add(self, total: Any, count: Any) -> None:
        self.sum_metric = self._join(self.sum_metric, total)
        self.num_inst = _plus(self.num_inst, count)
        whole = self._join(self.global_sum_metric, total)
        # A subclass may add to either in place, so they must not be one tensor.
        is_shared = whole is self.sum_metric and isinstance(whole, Tensor)
        self.global_sum_metric = whole.clone() if is_shared else whole
        self.global_num_inst = _plus(self.global_num_inst, count)

    def _join(self, total: Any, more: Any) -> Any:
        # An empty sum has no type yet: 0.0 + int64 would make a float32 tensor, which miscounts above 2**24.
        if _is_empty(total):
            return more
        return total if _is_empty(more) else self.merge(total, more)

    # ---- windows ---------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Forget everything."""
        self.num_inst = 0
        self.sum_metric = 0.0
        self.global_num_inst = 0
        self.global_sum_metric = 0.0
        self._forget_kept()

    def reset_local(self) -> None:
        """Begin a new local window; the global one goes on."""
        kept = self._kept_sums()
        kept = (self._join(kept[0], self.sum_metric), _plus(kept[1], self.num_inst))
        if type(self).reset is EvalMetric.reset or self._has_global_stats:
            self.num_inst = 0
            self.sum_metric = 0.0
        else:  # an old metric, which may keep more than the two sums and knows only this way to empty them
            self.reset()
        self._kept = kept

    def _forget_kept(self) -> None:
        self._kept = (0.0, 0)

    def _kept_sums(self) -> tuple[Any, Any]:
        """Return what earlier local windows held; nothing where a subclass does not call our `reset`."""
        return getattr(self, "_kept", (0.0, 0))

    # ---- reading ---------------------------------------------------------------------------------------

    def get(self) -> tuple[Any, Any]:
        """Return the name and the value of the local window; nan when it is empty."""
        return self.name, self.value(_read(self.sum_metric), _number(self.num_inst))

    def get_global(self) -> tuple[Any, Any]:
        """Return the name and the value since the last `reset`."""
        if self._has_global_stats and _number(self.global_num_inst):
            total, count = self.global_sum_metric, self.global_num_inst
        else:
            kept_sum, kept_count = self._kept_sums()
            if not _number(kept_count):
                return self.get()
            total, count = self._join(kept_sum, self.sum_metric), _plus(kept_count, self.num_inst)
        local = self.sum_metric, self.num_inst
        # A subclass may have its own get(); it reads these two.
        self.sum_metric, self.num_inst = total, count
        try:
            return self.get()
        finally:
            self.sum_metric, self.num_inst = local

    def get_name_value(self) -> list[tuple[str, Any]]:
        """Return pairs of name and value of the local window."""
        return _pairs(*self.get())

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """Return pairs of name and value since the last `reset`."""
        return _pairs(*self.get_global())

    def get_config(self) -> dict[str, Any]:
        """Return the settings that make another metric like this one."""
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    # ---- keeping ---------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the sums, and what else a subclass keeps in its attributes, for `load_state_dict`.

        Attributes that are numbers, texts, arrays, other metrics, or lists and dicts of these are kept. A metric that
        keeps something else defines `state_dict` and `load_state_dict` itself.
        """
        own = {
            name: value
            for name, value in vars(self).items()
            if name not in _SETTINGS and name.removeprefix("_") not in self._kwargs
        }
        sums = {name: getattr(self, name, 0) for name in _SUMS}
        return {
            **snapshot({**sums, "kept": list(self._kept_sums())}, self.name),
            "own": snapshot(own, self.name),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with sums that `state_dict` returned."""
        for name in _SUMS:
            setattr(self, name, restore(state[name], getattr(self, name, None)))
        self._kept = tuple(restore(state["kept"]))
        for name, value in state["own"].items():
            setattr(self, name, restore(value, getattr(self, name, None)))


def _forgetting(reset: Callable[[EvalMetric], None]) -> Callable[[EvalMetric], None]:
    """Return a `reset` that forgets what `reset_local` kept, too."""

    @functools.wraps(reset)
    def forget(self: EvalMetric) -> None:
        reset(self)
        self._forget_kept()

    return forget


class CompositeEvalMetric(EvalMetric):
    """Several metrics as one.

    Parameters
    ----------
    metrics
        Metrics, or what `create` makes them from.
    name, output_names, label_names
        As for `EvalMetric`.

    Examples
    --------
    >>> metric = CompositeEvalMetric(["acc", "ce"])
    >>> metric.update([numpy.array([1, 0])], [numpy.array([[0.2, 0.8], [0.5, 0.5]])])
    >>> [(name, round(value, 3)) for name, value in metric.get_name_value()]
    [('accuracy', 1.0), ('cross-entropy', 0.458)]
    """

    def __init__(
        self,
        metrics: Sequence[Any] | None = None,
        name: str = "composite",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        self.metrics: list[EvalMetric] = [create(each) for each in metrics or ()]
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def add(self, metric: Any) -> None:
        """Add a metric, or what `create` makes one from."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """Return a metric by its number."""
        try:
            return self.metrics[index]
        except IndexError:
            raise NameLookupError(
                f"CompositeEvalMetric.get_metric: index must be below {len(self.metrics)}; got {index}"
            ) from None

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch to each metric."""
        for metric in self.metrics:
            metric.update(labels, preds)

    def update_dict(self, label: Mapping[str, Any], pred: Mapping[str, Any]) -> None:
        """Add a batch to each metric, which picks by its own names from those of the composite."""
        if self.label_names is not None:
            label = {name: each for name, each in label.items() if name in self.label_names}
        if self.output_names is not None:
            pred = {name: each for name, each in pred.items() if name in self.output_names}
        for metric in self.metrics:
            metric.update_dict(label, pred)

    def reset(self) -> None:
        """Reset each metric."""
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        """Begin a new local window in each metric."""
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[list[str], list[Any]]:
        """Return the names and values of the local windows."""
        return _unzip([pair for metric in self.metrics for pair in metric.get_name_value()])

    def get_global(self) -> tuple[list[str], list[Any]]:
        """Return the names and values since the last `reset`."""
        return _unzip([pair for metric in self.metrics for pair in metric.get_global_name_value()])

    def get_config(self) -> dict[str, Any]:
        """Return the settings that make another metric like this one."""
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}

    def state_dict(self) -> dict[str, Any]:
        """Return the sums of each metric."""
        return {"metrics": [metric.state_dict() for metric in self.metrics]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with sums that `state_dict` returned; of as many metrics."""
        if len(state["metrics"]) != len(self.metrics):
            raise StateError(
                f"CompositeEvalMetric.load_state_dict: the state must be that of {len(self.metrics)} metrics; "
                f"got {len(state['metrics'])}"
            )
        for metric, each in zip(self.metrics, state["metrics"], strict=True):
            metric.load_state_dict(each)


class CustomMetric(EvalMetric):
    """A metric from a function of NumPy arrays.

    Parameters
    ----------
    feval
        ``feval(label, pred)`` returns the value for a batch, or a sum and how many it is the sum of.
    name
        By default the function's own name.
    allow_extra_outputs
        Whether there may be more outputs than labels; the first ones count.
    output_names, label_names
        As for `EvalMetric`.

    Examples
    --------
    >>> metric = CustomMetric(lambda label, pred: abs(label - pred).max(), name="largest error")
    >>> metric.update([numpy.array([1.0, 2.0])], [numpy.array([1.5, 2.0])])
    >>> metric.get()
    ('largest error', 0.5)
    """

    def __init__(
        self,
        feval: Callable[[numpy.ndarray, numpy.ndarray], Any],
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if name is None:
            name = getattr(feval, "__name__", type(feval).__name__)
            if name.startswith("<"):
                name = f"custom({name})"
        super().__init__(
            name,
            output_names,
            label_names,
            feval=feval,
            allow_extra_outputs=allow_extra_outputs,
            has_global_stats=True,
        )
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch; the arrays are copied to NumPy."""
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(_as_list(labels), _as_list(preds), strict=False):
            found = self._feval(_as_numpy(label), _as_numpy(pred))
            self._add(*(found if isinstance(found, tuple) else (found, 1)))

    def get_config(self) -> dict[str, Any]:
        """Raise: a function cannot be written down."""
        raise StateError(
            "CustomMetric.get_config: a metric made from a function has no settings to write down"
        )


metrics: Registry[type[EvalMetric]] = Registry("metric", EvalMetric)
metrics.register("composite", "CompositeEvalMetric")(CompositeEvalMetric)
metrics.register("CustomMetric")(CustomMetric)


def register(klass: type[EvalMetric], name: str | None = None) -> type[EvalMetric]:
    """Register a metric under `name`, by default under its class's name; usable as a decorator.

    >>> @register
    ... class Nothing(EvalMetric):
    ...     def measure(self, label, pred):
    ...         return 0, len(label)
    >>> create("nothing", name="nil").name
    'nil'
    """
    return metrics.register(name or klass.__name__)(klass)


def alias(*aliases: str) -> Callable[[type[EvalMetric]], type[EvalMetric]]:
    """Register a metric under further names; a decorator."""
    return metrics.alias(*aliases)


def create(metric: Any, *args: Any, **kwargs: Any) -> EvalMetric:
    """Return a metric.

    Parameters
    ----------
    metric
        A name, a metric, a class of metrics, a function of NumPy arrays, or a list of these.
    *args, **kwargs
        Settings for the metric.

    Examples
    --------
    >>> create("top_k_accuracy", top_k=3).name
    'top_k_accuracy_3'
    """
    if isinstance(metric, type) and issubclass(metric, EvalMetric):
        return metric(*args, **kwargs)
    if isinstance(metric, (list, tuple)):
        composite = CompositeEvalMetric()
        for each in metric:
            composite.add(create(each, *args, **kwargs))
        return composite
    if callable(metric) and not isinstance(metric, EvalMetric):
        return CustomMetric(metric, *args, **kwargs)
    return metrics.create(metric, *args, **kwargs)


def np(
    numpy_feval: Callable[[numpy.ndarray, numpy.ndarray], Any],
    name: str | None = None,
    allow_extra_outputs: bool = False,
) -> CustomMetric:
    """Return a metric from a function of NumPy arrays; see `CustomMetric`.

    >>> np(lambda label, pred: 0.5).name
    'custom(<lambda>)'
    """
    return CustomMetric(numpy_feval, name, allow_extra_outputs)


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False, shape: bool = False) -> tuple[Any, Any]:
    """Check that labels and predictions are as many, or with `shape` that they have the same shape.

    Parameters
    ----------
    labels, preds
        Arrays or lists of them.
    wrap
        Whether to put single arrays into lists first.
    shape
        Whether to compare shapes instead of lengths.

    Returns
    -------
    tuple
        `labels` and `preds`, as lists with `wrap`.

    Raises
    ------
    ShapeError
        When they differ.
    """
    if wrap:
        labels, preds = _as_list(labels), _as_list(preds)
    counts = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if counts[0] != counts[1]:
        raise ShapeError(
            f"metric: labels and predictions must be alike; got {counts[0]} labels and {counts[1]} predictions"
        )
    return labels, preds


def as_tensor(value: Any) -> Tensor:
    """Return the tensor behind an NDArray, or one that shares memory with a NumPy array."""
    if isinstance(value, NDArray):
        return value.tensor
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (numpy.ndarray, list, tuple, int, float)):
        return torch.as_tensor(numpy.asarray(value))
    raise ArgumentError(f"metric: a label or prediction must be an array; got {type(value).__name__}")


def same_length(label: Tensor, pred: Tensor, who: str) -> None:
    """Check that there is a label for each row of predictions."""
    if label.numel() != pred.shape[0]:
        raise ShapeError(
            f"{who}: there must be one label for each row of predictions; "
            f"got labels {tuple(label.shape)} and predictions {tuple(pred.shape)}"
        )


def together(total: Tensor, more: Tensor) -> tuple[Tensor, Tensor]:
    """Return two sums on one device: the first one's, unless that is the CPU, where waiting for another costs time."""
    if total.device == more.device:
        return total, more
    if total.device.type == "cpu":
        return total.to(more.device), more
    return total, more.to(total.device)


def _plus(total: Any, more: Any) -> Any:
    """Add sums that are plain numbers or tensors, of one device or several."""
    if _is_empty(total):
        return more
    if _is_empty(more):
        return total
    if isinstance(total, Tensor) and isinstance(more, Tensor):
        total, more = together(total, more)
    return total + more


def _is_empty(total: Any) -> bool:
    return isinstance(total, (int, float)) and total == 0


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


def _read(total: Any) -> Any:
    """Return a sum as it goes into `value`: here, and nowhere earlier, its device is waited for."""
    if isinstance(total, Tensor):
        return float(total) if total.ndim == 0 else total.cpu()
    return float(total) if isinstance(total, (int, float, numpy.generic, numpy.ndarray, NDArray)) else total


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _as_numpy(value: Any) -> numpy.ndarray:
    return value.asnumpy() if isinstance(value, NDArray) else numpy.asarray(value)


def _pairs(name: Any, value: Any) -> list[tuple[str, Any]]:
    return list(zip(_as_list(name), _as_list(value), strict=True))


def _unzip(pairs: list[tuple[str, Any]]) -> tuple[list[str], list[Any]]:
    return [name for name, _ in pairs], [value for _, value in pairs]


def _pick(arrays: Mapping[str, Any], names: Sequence[str] | None, who: str) -> list[Any]:
    if names is None:
        return list(arrays.values())
    for name in names:
        if name not in arrays:
            raise NameLookupError(
                f"{who}: no array {name!r}{near_names(name, arrays)} There are: {', '.join(arrays)}."
            )
    return [arrays[name] for name in names]
