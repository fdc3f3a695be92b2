"""Metrics made from other metrics or from functions, and the registry."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy

from ..checks import FUNCTION, INT, LIST, check_kind, or_none, refuses_unknown
from ..errors import AbsentFeatureError, ArgumentError, NameLookupError, ParameterError, StateError, shown
from ..overriding import declares_steps
from ..registry import Registry
from .arrays import Array, Arrays, as_list, as_numpy, as_tensor, check_label_shapes
from .eval_metric import EvalMetric

__all__ = [
    "CompositeEvalMetric",
    "CustomMetric",
    "EvalMetric",
    "alias",
    "as_tensor",
    "check_label_shapes",
    "create",
    "members_of",
    "metrics",
    "np",
    "register",
]

Class = TypeVar("Class", bound=type[EvalMetric])
#: ``(label, pred)`` -> the value for a batch, or a sum and the number of samples in it.
Feval: TypeAlias = Callable[[numpy.ndarray, numpy.ndarray], "float | tuple[float, float]"]
#: What `create` makes a metric from.
Source: TypeAlias = "str | EvalMetric | type[EvalMetric] | Feval | Mapping[str, Any] | Sequence[Source]"


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

    @refuses_unknown
    def __init__(
        self,
        metrics: Sequence[Source] | None = None,
        name: str = "composite",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        check_kind("CompositeEvalMetric", or_none(LIST), metrics=metrics)
        # Before the base's constructor, whose `reset` resets them.
        self.metrics: list[EvalMetric] = [create(each) for each in metrics or ()]
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.metrics))})"

    def add(self, metric: Source) -> None:
        """Add a metric, or what `create` makes one from.

        >>> metric = CompositeEvalMetric(["mae"])
        >>> metric.add("mse")
        >>> metric.get()[0]
        ['mae', 'mse']
        """
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """Return the metric at an index.

        >>> CompositeEvalMetric(["mae", "mse"]).get_metric(1)
        MSE()
        """
        check_kind("CompositeEvalMetric.get_metric", INT, index=index)
        try:
            return self.metrics[index]
        except IndexError:
            raise NameLookupError(
                f"CompositeEvalMetric.get_metric: index must be below {len(self.metrics)}; got {index}"
            ) from None

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch to each metric.

        >>> metric = CompositeEvalMetric(["mae", "mse"])
        >>> metric.update(numpy.array([1.0]), numpy.array([4.0]))
        >>> metric.get_name_value()
        [('mae', 3.0), ('mse', 9.0)]
        """
        for metric in self.metrics:
            metric.update(labels, preds)

    def update_dict(self, label: Mapping[str, Array], pred: Mapping[str, Array]) -> None:
        """Add a batch to each metric, which picks by its own names from those of the composite.

        >>> metric = CompositeEvalMetric(["mae"], output_names=["out"])
        >>> metric.update_dict(
        ...     {"y": numpy.array([1.0])}, {"out": numpy.array([4.0]), "other": numpy.array([0.0])}
        ... )
        >>> metric.get()
        (['mae'], [3.0])
        """
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
        """Begin a new local window in each metric.

        >>> metric = CompositeEvalMetric(["mae"])
        >>> metric.update(numpy.array([1.0]), numpy.array([3.0]))
        >>> metric.reset_local()
        >>> metric.get(), metric.get_global()
        ((['mae'], [nan]), (['mae'], [2.0]))
        """
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[list[str], list[float]]:
        """Return the names and values of the local windows.

        >>> metric = CompositeEvalMetric(["mae", "mse"])
        >>> metric.update(numpy.array([1.0]), numpy.array([3.0]))
        >>> metric.get()
        (['mae', 'mse'], [2.0, 4.0])
        """
        return _unzip([pair for metric in self.metrics for pair in metric.get_name_value()])

    def get_global(self) -> tuple[list[str], list[float]]:
        """Return the names and values since the last `reset`.

        >>> metric = CompositeEvalMetric(["mae"])
        >>> for pred in (3.0, 2.0):
        ...     metric.reset_local()
        ...     metric.update(numpy.array([1.0]), numpy.array([pred]))
        >>> metric.get(), metric.get_global()
        ((['mae'], [1.0]), (['mae'], [1.5]))
        """
        return _unzip([pair for metric in self.metrics for pair in metric.get_global_name_value()])

    def get_config(self) -> dict[str, Any]:
        """Return the settings that make another metric like this one.

        >>> [settings["metric"] for settings in CompositeEvalMetric(["mae", "mse"]).get_config()["metrics"]]
        ['MAE', 'MSE']
        """
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}

    def state_dict(self) -> dict[str, Any]:
        """Return the sums of each metric."""
        return {"metrics": [metric.state_dict() for metric in self.metrics]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue with the sums that `state_dict` returned, of as many metrics.

        >>> metric, other = CompositeEvalMetric(["mae", "mse"]), CompositeEvalMetric(["mae", "mse"])
        >>> metric.update(numpy.array([1.0]), numpy.array([4.0]))
        >>> other.load_state_dict(metric.state_dict())
        >>> other.get()
        (['mae', 'mse'], [3.0, 9.0])
        """
        if len(state["metrics"]) != len(self.metrics):
            raise StateError(
                f"CompositeEvalMetric.load_state_dict: the state must be that of {len(self.metrics)} metrics; "
                f"got {len(state['metrics'])}"
            )
        for metric, each in zip(self.metrics, state["metrics"], strict=True):
            metric.load_state_dict(each)


@declares_steps()
class CustomMetric(EvalMetric):
    """A metric from a function of NumPy arrays.

    Parameters
    ----------
    feval
        ``feval(label, pred)`` returns the value for a batch, or a sum and the number of samples in it.
    name
        By default the name of the function.
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

    @refuses_unknown
    def __init__(
        self,
        feval: Feval,
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        check_kind(type(self).__name__, FUNCTION, feval=feval)
        if name is None:
            name = getattr(feval, "__name__", type(feval).__name__)
            # A lambda: its name says nothing.
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

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch; the arrays are copied to NumPy.

        >>> metric = CustomMetric(lambda label, pred: (abs(label - pred).sum(), label.size), name="error")
        >>> metric.update(numpy.zeros(3), numpy.array([1.0, 2.0, 6.0]))
        >>> metric.get()
        ('error', 3.0)
        """
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, wrap=True)
        # Extra outputs have no label, and are left out.
        for label, pred in zip(as_list(labels), as_list(preds), strict=False):
            found = self._feval(as_numpy(label), as_numpy(pred))
            if not _is_figure(found):
                raise ArgumentError(
                    f"metric {self.name!r}: the function must return a number, or a sum and a number of samples; got "
                    f"{shown(found)}{'. Does it lack a return?' if found is None else ''}"
                )
            self._add(*(found if isinstance(found, tuple) else (found, 1)))

    def get_config(self) -> dict[str, Any]:
        """Raise AbsentFeatureError, a NotImplementedError as in MXNet: a function cannot be saved."""
        raise AbsentFeatureError(
            "CustomMetric.get_config: a metric made from a function has no settings to save"
        )


metrics: Registry[type[EvalMetric]] = Registry("metric", EvalMetric)
metrics.register("composite", "CompositeEvalMetric")(CompositeEvalMetric)
metrics.register("CustomMetric")(CustomMetric)


def members_of(metric: EvalMetric) -> list[EvalMetric]:
    """Return the metrics that measure: those that a composite is made of, at any depth, or the metric itself.

    >>> [each.name for each in members_of(create(["acc", ["mae", "mse"]]))]
    ['accuracy', 'mae', 'mse']
    """
    if isinstance(metric, CompositeEvalMetric):
        return [member for each in metric.metrics for member in members_of(each)]
    return [metric]


def register(klass: Class, name: str | None = None) -> Class:
    """Register a metric under `name`, by default under its class's name; usable as a decorator.

    >>> @register
    ... class Nothing(EvalMetric):
    ...     def measure(self, label, pred):
    ...         return 0, len(label)
    >>> create("nothing", name="nil").name
    'nil'
    """
    registered: Class = metrics.register(name or klass.__name__)(klass)
    return registered


def alias(*aliases: str) -> Callable[[Class], Class]:
    """Register a metric under further names; a decorator.

    >>> @alias("always_one")
    ... @register
    ... class One(EvalMetric):
    ...     def measure(self, label, pred):
    ...         return 1, 1
    >>> create("always_one", name="one").name
    'one'
    """
    return metrics.alias(*aliases)


def create(metric: Source, *args: Any, **kwargs: Any) -> EvalMetric:
    """Return a metric.

    Parameters
    ----------
    metric
        A name, a metric, a class of metrics, a function of NumPy arrays, or a list of these; a metric's
        ``get_config()``, or JSON of it; or the JSON ``["name", {settings}]``.
    *args, **kwargs
        Settings for the metric.

    Examples
    --------
    >>> create("top_k_accuracy", top_k=3).name
    'top_k_accuracy_3'
    >>> create(create("f1", average="micro").get_config()).average
    'micro'
    """
    if isinstance(metric, type) and issubclass(metric, EvalMetric):
        return metric(*args, **kwargs)
    if isinstance(metric, (list, tuple)):
        composite = CompositeEvalMetric()
        for each in metric:
            composite.add(create(each, *args, **kwargs))
        return composite
    if callable(metric) and not isinstance(metric, EvalMetric):
        return CustomMetric(metric, *args, **kwargs)  # type: ignore[arg-type] # or a class that makes a figure
    if isinstance(metric, Mapping) or (isinstance(metric, str) and metric.lstrip()[:1] == "{"):
        name, settings = _read_config(metric)
        return metrics.create(name, *args, **{**settings, **kwargs})
    return metrics.create(metric, *args, **kwargs)


def _read_config(config: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name and the settings in what `get_config` returned, or in JSON of it."""
    try:
        settings = dict(json.loads(config) if isinstance(config, str) else config)
        return settings.pop("metric"), settings
    except (ValueError, KeyError, RecursionError):
        raise ParameterError(
            f'metric.create: settings must be those of get_config(), such as {{"metric": "Accuracy"}}; got {config!r}'
        ) from None


def np(
    numpy_feval: Feval,
    name: str | None = None,
    allow_extra_outputs: bool = False,
) -> CustomMetric:
    """Return a metric from a function of NumPy arrays; see `CustomMetric`.

    >>> np(lambda label, pred: 0.5).name
    'custom(<lambda>)'
    """
    return CustomMetric(numpy_feval, name, allow_extra_outputs)


def _is_figure(found: object) -> bool:
    """Return whether a metric's function returned what can be added up."""
    values = found if isinstance(found, tuple) and len(found) == 2 else (found,)
    return all(hasattr(each, "__float__") for each in values)


def _unzip(pairs: list[tuple[str, float]]) -> tuple[list[str], list[float]]:
    return [name for name, _ in pairs], [value for _, value in pairs]
