"""The base of metrics: sums over batches, in a local and a global window."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic

from torch import Tensor

from ..checks import DICT, check_kind, refuses_unknown
from ..errors import ParameterError
from ..grad_mode import grad_mode
from ..ndarray.sending import sent
from ..overriding import declares_steps
from .arrays import (
    Array,
    Count,
    Sum,
    add,
    as_pairs,
    as_tensor,
    is_empty,
    number,
    pick,
    read,
)
from .packing import pack, unpack
from .state import restore, snapshot

__all__ = ["AveragedMetric", "EvalMetric", "averaging_constructor", "constructor"]

_SUMS = ("sum_metric", "num_inst", "global_sum_metric", "global_num_inst")
# What the constructor sets and no update changes; `_earlier` is saved apart.
_SETTINGS = frozenset(
    ("name", "output_names", "label_names", "_kwargs", "_has_global_stats", "_earlier", *_SUMS)
)


@declares_steps("update", "update_dict")
class EvalMetric(Generic[Sum]):
    """A value that sums up over batches.

    A subclass defines what it measures in one of two ways. `measure` is a pure function of a label and a prediction
    (tensors) that returns a sum and how many samples it is over; the base does the rest. The sum may be a tensor of
    several numbers, which `value` turns into one, and `merge` may join two of them in another way than by adding.
    Or, as in MXNet, `update` adds to `sum_metric` and `num_inst` (and to `global_sum_metric` and `global_num_inst`,
    with ``has_global_stats=True``).

    There are two windows: the local one, which `reset_local` empties (`Speedometer` does so each time it logs),
    and the global one since `reset`, which the values of an epoch come from. A metric that only updates the local
    sums, or only overrides `reset`, has right global ones too: `reset_local` saves what it empties (1.9.1 loses it).

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
    >>> import numpy
    >>> class ZeroOne(EvalMetric):
    ...     def measure(self, label, pred):
    ...         return (label == (pred > 0)).sum(), label.numel()
    >>> metric = ZeroOne("zero-one")
    >>> metric.update([numpy.array([1, 0])], [numpy.array([0.3, 0.1])])
    >>> metric.get()
    ('zero-one', 0.5)
    """

    #: Whether what several workers measured adds up: then `fit` shows the figures of the whole job. A metric whose
    #: sums are none, such as the largest value so far, declares False.
    adds_up: ClassVar[bool] = True

    # A sum is 0.0 until something is added. Sums stay tensors on their device, so that no update waits for it.
    sum_metric: Sum | float
    num_inst: Count
    global_sum_metric: Sum | float
    global_num_inst: Count
    _earlier: tuple[Sum | float, Count]  # what earlier local windows held

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

    def measure(self, label: Tensor, pred: Tensor) -> tuple[Sum, Count]:
        """Return a sum over the samples, and their number.

        >>> import torch, rebind as mx
        >>> mx.metric.create("acc").measure(torch.tensor([1, 0]), torch.tensor([1, 1]))
        (1, 2)
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define measure(label, pred) or update(labels, preds)"
        )

    def merge(self, total: Sum, more: Sum) -> Sum:
        """Return two sums, neither of them empty, as one.

        >>> import torch
        >>> EvalMetric("sum").merge(torch.tensor(1), torch.tensor(2))
        tensor(3)
        """
        return add(total, more)  # type: ignore[arg-type, return-value]  # a metric of other sums overrides this

    def value(self, total: Sum | float, count: float) -> float:
        """Return what is reported for a sum over `count` samples: the mean, unless a subclass overrides this.

        `total` is a number, or a tensor on the CPU where `measure` returns several numbers.

        >>> EvalMetric("mean").value(6.0, 4)
        1.5
        """
        return total / count if count else float("nan")  # type: ignore[operator]  # as in `merge`

    def update(
        self, labels: Any, preds: Any
    ) -> None:  # `Arrays`; a program's metric takes those that it expects
        """Add a batch.

        Parameters
        ----------
        labels, preds
            Lists of arrays, one for each output, or a single array each.

        Examples
        --------
        >>> import numpy
        >>> from rebind.metric import create
        >>> metric = create("mae")
        >>> metric.update(numpy.array([1.0]), numpy.array([3.0]))
        >>> metric.get()
        ('mae', 2.0)
        """
        with grad_mode(False):
            for label, pred in as_pairs(labels, preds):
                scores, classes = as_tensor(pred), as_tensor(label)
                if classes.device != scores.device:
                    classes = sent(classes, scores.device)
                self._add(*self.measure(classes, scores))

    def update_dict(self, label: Mapping[str, Array], pred: Mapping[str, Array]) -> None:
        """Add a batch whose labels and outputs are known by name.

        Parameters
        ----------
        label, pred
            Dicts from name to array.

        Examples
        --------
        >>> import numpy, rebind as mx
        >>> metric = mx.metric.MAE(output_names=["out"])
        >>> metric.update_dict(
        ...     {"y": numpy.array([1.0])}, {"out": numpy.array([3.0]), "other": numpy.array([0.0])}
        ... )
        >>> metric.get()
        ('mae', 2.0)
        """
        if label.__class__ is not dict or pred.__class__ is not dict:  # those of a module are, in every batch
            check_kind(f"{type(self).__name__}.update_dict", DICT, label=label, pred=pred)
        labels = pick(label, self.label_names, f"{self.name}: label_names")
        preds = pick(pred, self.output_names, f"{self.name}: output_names")
        self.update(labels, preds)

    def _add(self, total: Sum | float, count: Count) -> None:
        self.sum_metric = self._join(self.sum_metric, total)
        self.num_inst = add(self.num_inst, count)
        whole = self._join(self.global_sum_metric, total)
        # A subclass may add to either in place, so they must not be one tensor.
        is_shared = whole is self.sum_metric and isinstance(whole, Tensor)
        self.global_sum_metric = whole.clone() if is_shared else whole  # type: ignore[assignment, union-attr]  # a tensor
        self.global_num_inst = add(self.global_num_inst, count)

    def _join(self, total: Sum | float, more: Sum | float) -> Sum | float:
        if type(self).merge is EvalMetric.merge:  # of most metrics, in each batch
            return add(total, more)  # type: ignore[arg-type, return-value]  # as in `merge`
        # An empty sum has no type yet: 0.0 + int64 would make a float32 tensor, which miscounts above 2**24.
        if is_empty(total):
            return more
        return total if is_empty(more) else self.merge(total, more)  # type: ignore[arg-type]  # neither is empty

    def reset(self) -> None:
        """Forget everything.

        >>> import numpy
        >>> from rebind.metric import create
        >>> metric = create("mae")
        >>> metric.update(numpy.array([1.0]), numpy.array([3.0]))
        >>> metric.reset()
        >>> metric.get_global()
        ('mae', nan)
        """
        self.num_inst = 0
        self.sum_metric = 0.0
        self.global_num_inst = 0
        self.global_sum_metric = 0.0
        self._forget_earlier()

    def reset_local(self) -> None:
        """Begin a new local window; the global one continues.

        >>> import numpy
        >>> from rebind.metric import create
        >>> metric = create("mae")
        >>> metric.update(numpy.array([1.0]), numpy.array([3.0]))
        >>> metric.reset_local()
        >>> metric.get(), metric.get_global()
        (('mae', nan), ('mae', 2.0))
        """
        total, count = self._earlier_sums()
        earlier = self._join(total, self.sum_metric), add(count, self.num_inst)
        if type(self).reset is EvalMetric.reset or self._has_global_stats:
            self.num_inst = 0
            self.sum_metric = 0.0
        else:  # an old metric, which may hold more than the two sums and empties them in `reset` alone
            self.reset()
        self._earlier = earlier

    def _forget_earlier(self) -> None:
        self._earlier = (0.0, 0)

    def _earlier_sums(self) -> tuple[Sum | float, Count]:
        """Return what earlier local windows held; nothing where a subclass does not call our `reset`."""
        return getattr(self, "_earlier", (0.0, 0))

    def get(self) -> tuple[str | list[str], float | list[float]]:
        """Return the name and the value of the local window; nan when it is empty.

        >>> from rebind.metric import create
        >>> create("mae").get()
        ('mae', nan)
        """
        return self.name, self.value(read(self.sum_metric), number(self.num_inst))

    def get_global(self) -> tuple[str | list[str], float | list[float]]:
        """Return the name and the value since the last `reset`.

        >>> import numpy
        >>> from rebind.metric import create
        >>> metric = create("mae")
        >>> metric.update(numpy.array([1.0]), numpy.array([3.0]))
        >>> metric.reset_local()
        >>> metric.update(numpy.array([0.0]), numpy.array([4.0]))
        >>> metric.get(), metric.get_global()
        (('mae', 4.0), ('mae', 3.0))
        """
        if self._has_global_stats and number(self.global_num_inst):
            total, count = self.global_sum_metric, self.global_num_inst
        else:
            total, count = self._earlier_sums()
            if not number(count):
                return self.get()
            total, count = self._join(total, self.sum_metric), add(count, self.num_inst)
        local = self.sum_metric, self.num_inst
        # A subclass may have its own get(); it reads these two.
        self.sum_metric, self.num_inst = total, count
        try:
            return self.get()
        finally:
            self.sum_metric, self.num_inst = local

    def get_name_value(self) -> list[tuple[str, float]]:
        """Return pairs of name and value of the local window.

        >>> import numpy
        >>> from rebind.metric import create
        >>> metric = create("mae")
        >>> metric.update(numpy.array([1.0]), numpy.array([3.0]))
        >>> metric.get_name_value()
        [('mae', 2.0)]
        """
        return _pairs(*self.get())

    def get_global_name_value(self) -> list[tuple[str, float]]:
        """Return pairs of name and value since the last `reset`."""
        return _pairs(*self.get_global())

    def get_config(self) -> dict[str, Any]:
        """Return the settings that make another metric like this one.

        >>> import rebind as mx
        >>> mx.metric.Accuracy(axis=2).get_config()
        {'axis': 2, 'metric': 'Accuracy', 'name': 'accuracy', 'output_names': None, 'label_names': None}
        """
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the sums, and a subclass's own attributes, for `load_state_dict`.

        Attributes that are numbers, strings, arrays, other metrics, or lists and dicts of these are saved. A metric
        with others defines `state_dict` and `load_state_dict` itself.

        >>> import numpy
        >>> from rebind.metric import create
        >>> metric = create("mae")
        >>> metric.update(numpy.array([1.0]), numpy.array([3.0]))
        >>> other = create("mae")
        >>> other.load_state_dict(metric.state_dict())
        >>> other.get()
        ('mae', 2.0)
        """
        sums = {name: getattr(self, name, 0) for name in _SUMS}
        return {
            **snapshot({**sums, "kept": list(self._earlier_sums())}, self.name),  # the name in files
            "own": snapshot(self.own_attributes(), self.name),
        }

    def own_attributes(self) -> dict[str, Any]:
        """Return a subclass's own attributes: all but the sums and the settings.

        >>> from rebind.metric import create
        >>> create("top_k_accuracy", top_k=3).own_attributes()
        {}
        """
        return {
            name: value
            for name, value in vars(self).items()
            if name not in _SETTINGS and name.removeprefix("_") not in self._kwargs
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue with the sums that `state_dict` returned."""
        for name in _SUMS:
            setattr(self, name, restore(state[name], getattr(self, name, None)))
        self._earlier = tuple(restore(state["kept"]))
        for name, value in state["own"].items():
            setattr(self, name, restore(value, getattr(self, name, None)))

    # Sums of several workers.

    def packed_sums(self) -> list[Any]:
        """Return the sums as numbers, texts and lists, as they go to other workers: for each window sum and count.

        >>> import numpy
        >>> from rebind.metric import create
        >>> metric = create("mae")
        >>> metric.update(numpy.array([1.0]), numpy.array([3.0]))
        >>> metric.packed_sums()
        [2.0, 1, 2.0, 1, 0.0, 0]
        """
        windows = (
            (self.sum_metric, self.num_inst),
            (getattr(self, "global_sum_metric", 0.0), getattr(self, "global_num_inst", 0)),
            self._earlier_sums(),
        )
        return [each for total, count in windows for each in (pack(total), number(count))]

    def hold_sums(self, of_workers: Sequence[Sequence[Any]]) -> None:
        """Hold the sums of several workers, each as `packed_sums` returned it, in this order, instead of its own.

        >>> import numpy
        >>> from rebind.metric import create
        >>> metric = create("mae")
        >>> metric.update(numpy.array([1.0]), numpy.array([3.0]))
        >>> metric.hold_sums([metric.packed_sums(), [4.0, 1, 4.0, 1, 0.0, 0]])
        >>> metric.get()
        ('mae', 3.0)
        """
        found: list[tuple[Sum | float, Count]] = []
        for at in range(0, 6, 2):
            totals = [self.unpacked(each[at]) for each in of_workers]
            found.append((functools.reduce(self._join, totals), sum(each[at + 1] for each in of_workers)))
        (self.sum_metric, self.num_inst), whole, self._earlier = found
        self.global_sum_metric, self.global_num_inst = whole

    def unpacked(self, packed: object) -> Sum | float:
        """Return a sum from the form in which it goes to other workers.

        >>> EvalMetric("sum").unpacked(2.5)
        2.5
        """
        return unpack(packed)  # type: ignore[return-value]  # of the kind that was packed


def _forgetting(reset: Callable[[EvalMetric], None]) -> Callable[[EvalMetric], None]:
    """Return a `reset` that also forgets what `reset_local` saved."""

    @functools.wraps(reset)
    def forget(self: EvalMetric) -> None:
        reset(self)
        self._forget_earlier()

    return forget


def constructor(default: str) -> Callable[..., None]:
    """Return a constructor that takes names only; `default` is the default name.

    >>> class Count(EvalMetric):
    ...     __init__ = constructor("count")
    ...
    ...     def measure(self, label, pred):
    ...         return len(label), 1
    >>> Count()
    Count()
    """

    @refuses_unknown
    def __init__(
        self: EvalMetric,
        name: str = default,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        EvalMetric.__init__(self, name, output_names, label_names, has_global_stats=True)

    return __init__


class AveragedMetric(EvalMetric[Tensor]):
    """Base of metrics with the setting `average`, which `averaging_constructor` sets."""

    average: str


def averaging_constructor(default: str) -> Callable[..., None]:
    """Return a constructor that takes names and the setting `average`; `default` is the default name.

    With ``'macro'`` the metric is the mean of the values of the batches, with ``'micro'`` that of all samples.

    >>> class Spread(AveragedMetric):
    ...     __init__ = averaging_constructor("spread")
    >>> Spread(average="micro")
    Spread(average='micro')
    """

    @refuses_unknown
    def __init__(
        self: AveragedMetric,
        name: str = default,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        if average not in ("macro", "micro"):
            raise ParameterError(
                f"{type(self).__name__}: average must be one of 'macro', 'micro'; got {average!r}"
            )
        EvalMetric.__init__(self, name, output_names, label_names, average=average, has_global_stats=True)
        self.average = average

    return __init__


def _pairs(name: str | list[str], value: float | list[float]) -> list[tuple[str, float]]:
    # A composite has lists of both.
    names = name if isinstance(name, (list, tuple)) else [name]
    values = value if isinstance(value, (list, tuple)) else [value]
    return list(zip(names, values, strict=True))
