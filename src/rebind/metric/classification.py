"""Metrics of classes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy
import torch
from torch import Tensor

from ..checks import INT, check_kind, check_numbers, refuses_unknown
from ..errors import ParameterError, ShapeError
from ..tuning import current
from .arrays import same_length
from .base import metrics
from .eval_metric import EvalMetric

__all__ = ["Accuracy", "TopKAccuracy"]


def correct(label: Tensor, pred: Tensor, *, axis: int = 1) -> tuple[Tensor | int, int]:
    """Number of right predictions, number of predictions.

    Predictions of another shape than the labels are scores along `axis`; the largest one is the prediction.

    >>> import torch
    >>> correct(torch.tensor([0, 1]), torch.tensor([[0.9, 0.1], [0.8, 0.2]]))
    (1, 2)
    """
    arrays = _in_numpy(pred, label)
    if arrays is None or arrays[0].size > current().numpy_score_elements:
        if _are_scores(label.shape, pred.shape, axis):
            pred = pred.argmax(axis)
        return (pred.long().reshape(-1) == label.long().reshape(-1)).sum(), label.numel()
    scores, labels = arrays
    classes = (
        scores.argmax(axis) if _are_scores(labels.shape, scores.shape, axis) else scores.astype(numpy.int64)
    )
    # Most iterators give labels as float32.
    labels = labels.astype(numpy.int64)
    if classes.shape != labels.shape:
        classes, labels = classes.reshape(-1), labels.reshape(-1)
    return int(numpy.count_nonzero(classes == labels)), labels.size


def _in_numpy(pred: Tensor, label: Tensor) -> tuple[numpy.ndarray, numpy.ndarray] | None:
    """Return the memory of both as NumPy has it; None where it has no such type, or does not reach the memory."""
    if not pred.is_cpu:
        return None
    # To ask for types and gradients takes as long as what is then counted.
    try:
        return pred.numpy(), label.numpy()
    except (TypeError, RuntimeError):
        return None


def _are_scores(label: Sequence[int], pred: Sequence[int], axis: int) -> bool:
    """Whether predictions of one shape are scores of labels of another; of equal shapes, they are classes already."""
    if tuple(pred) == tuple(label):
        return False
    if -len(pred) <= axis < len(pred) and math.prod(label) * pred[axis] == math.prod(pred):
        return True
    raise ShapeError(
        f"accuracy: there must be one label for each prediction along axis {axis}; "
        f"got labels {tuple(label)} and predictions {tuple(pred)}"
    )


def correct_in_top(label: Tensor, pred: Tensor, *, top_k: int) -> tuple[Tensor | int, int]:
    """Number of labels among the `top_k` largest scores of their row, number of rows.

    On the CPU, which of equal scores count is decided as in MXNet: as NumPy's `argpartition` leaves them.

    >>> import torch
    >>> correct_in_top(torch.tensor([2]), torch.tensor([[0.1, 0.5, 0.4]]), top_k=2)
    (tensor(1), 1)
    """
    if pred.ndim > 2:
        raise ShapeError(
            f"top_k_accuracy: predictions must have at most 2 axes; got shape {tuple(pred.shape)}"
        )
    if pred.ndim == 1:
        # A single axis holds classes, not scores.
        return correct(label, pred)
    same_length(label, pred, "top_k_accuracy")
    scores = pred.detach().float()  # as MXNet compares them
    found = scores.topk(min(top_k, pred.shape[1]), dim=1, sorted=False)
    best = found.indices  # which they are counts, not their order
    if top_k < pred.shape[1] and (arrays := _in_numpy(scores, label)) is not None:
        tied = (~(scores < found.values.amin(1, keepdim=True))).sum(1) > top_k
        if tied.any():
            best[tied] = torch.from_numpy(_largest(arrays[0][tied.numpy()], top_k))
    return (best == label.reshape(-1, 1).long()).sum(), label.numel()


def _largest(scores: numpy.ndarray, count: int) -> numpy.ndarray:
    """Return the indices of the `count` largest scores of each row, of equal ones those that MXNet takes.

    >>> _largest(numpy.zeros((1, 4), "float32"), 2)
    array([[2, 3]])
    """
    # For complex numbers NumPy has the algorithm of old only; for real ones, others where a processor has them.
    return numpy.argpartition(scores.astype(numpy.complex64), -count)[:, -count:]


@metrics.register("accuracy", "acc")
class Accuracy(EvalMetric["Tensor | int"]):
    """Share of right predictions.

    Parameters
    ----------
    axis
        The axis of the classes.
    name, output_names, label_names
        As for `EvalMetric`.

    Examples
    --------
    >>> import numpy as np
    >>> metric = Accuracy()
    >>> metric.update([np.array([0, 1, 1])], [np.array([[0.3, 0.7], [0, 1.0], [0.4, 0.6]])])
    >>> round(metric.get()[1], 4)
    0.6667
    """

    @refuses_unknown
    def __init__(
        self,
        axis: int = 1,
        name: str = "accuracy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        check_kind(type(self).__name__, INT, axis=axis)
        super().__init__(name, output_names, label_names, axis=axis, has_global_stats=True)
        self.axis = axis

    def measure(self, label: Tensor, pred: Tensor) -> tuple[Tensor | int, int]:
        """Return the number of right predictions, and of predictions.

        >>> import torch
        >>> Accuracy().measure(torch.tensor([0, 1]), torch.tensor([[0.9, 0.1], [0.8, 0.2]]))
        (1, 2)
        """
        return correct(label, pred, axis=self.axis)


@metrics.register("top_k_accuracy", "top_k_acc", "TopKAccuracy")
class TopKAccuracy(EvalMetric["Tensor | int"]):
    """Share of samples whose label is among the `top_k` largest scores.

    Which of several equal scores count is decided as in MXNet; on a GPU it is undefined.

    Parameters
    ----------
    top_k
        The number of scores that count; more than 1.
    name, output_names, label_names
        As for `EvalMetric`; `top_k` is added to the name.

    Examples
    --------
    >>> import numpy as np
    >>> metric = TopKAccuracy(top_k=2)
    >>> metric.update([np.array([2, 0])], [np.array([[0.1, 0.5, 0.4], [0.1, 0.5, 0.4]])])
    >>> metric.get()
    ('top_k_accuracy_2', 0.5)
    """

    @refuses_unknown
    def __init__(
        self,
        top_k: int = 1,
        name: str = "top_k_accuracy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        check_numbers("TopKAccuracy", top_k=top_k)
        if top_k <= 1:
            raise ParameterError(f"TopKAccuracy: top_k must be more than 1; got {top_k}. For 1 use Accuracy.")
        super().__init__(f"{name}_{top_k}", output_names, label_names, top_k=top_k, has_global_stats=True)
        self.top_k = top_k

    def measure(self, label: Tensor, pred: Tensor) -> tuple[Tensor | int, int]:
        """Return the number of labels among the largest scores, and of samples.

        >>> import torch
        >>> TopKAccuracy(top_k=2).measure(torch.tensor([2]), torch.tensor([[0.1, 0.5, 0.4]]))
        (tensor(1), 1)
        """
        return correct_in_top(label, pred, top_k=self.top_k)
