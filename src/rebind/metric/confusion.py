"""Metrics of which class is taken for which."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..checks import refuses_unknown
from ..errors import ArgumentError, ParameterError, ShapeError
from ..ndarray.sending import sent
from ..tuning import current
from .arrays import Arrays, as_pairs, as_tensor, together
from .base import metrics
from .eval_metric import AveragedMetric, EvalMetric, averaging_constructor
from .packing import unpack

__all__ = ["F1", "MCC", "PCC"]


def binary_counts(label: Tensor, pred: Tensor, who: str) -> Tensor:
    """True positives, false positives, false negatives, true negatives, and labels of a third class.

    Class 1 is the positive one. A label is of a third class when it is neither the smallest nor the largest of the
    batch; it is only counted here, since raising an error would wait for the device.

    >>> binary_counts(torch.tensor([0, 1, 1]), torch.tensor([[0.3, 0.7], [0, 1.0], [0.8, 0.2]]), "f1")
    tensor([1, 1, 1, 0, 0])
    """
    if pred.ndim < 2 or pred.shape[1] < 2:
        raise ShapeError(
            f"{who}: predictions must be scores of at least 2 classes along axis 1; got shape {tuple(pred.shape)}"
        )
    taken = pred.argmax(1).reshape(-1) == 1
    if label.numel() != taken.numel():
        raise ShapeError(
            f"{who}: there must be one label for each prediction; "
            f"got labels {tuple(label.shape)} and predictions {tuple(pred.shape)}"
        )
    label = label.reshape(-1).long()
    # `aminmax` takes one element at least.
    if not label.numel():
        return label.new_zeros(5)
    true = label == 1
    # Of two classes, every label is the lowest or the highest one.
    low, high = label.aminmax()
    third = (label != low) & (label != high)
    return torch.stack((true & taken, taken & ~true, true & ~taken, ~(true | taken), third)).sum(1)


def f1_score(counts: Tensor) -> Tensor:
    """Harmonic mean of precision and recall, from counts of true positives and so on; 0 without true positives.

    >>> f1_score(torch.tensor([1, 1, 1, 0]))
    tensor(0.5000, dtype=torch.float64)
    """
    right, wrong, missed = counts.double()[:3]
    # Without positives of either kind the numerator is 0 too: the score is 0, not NaN.
    return 2 * right / (2 * right + wrong + missed).clamp_min(1)


def matthews_correlation(counts: Tensor) -> Tensor:
    """Correlation of label and prediction, from counts of true positives and so on.

    A factor of the denominator that is 0 counts as 1, as in MXNet.

    >>> matthews_correlation(torch.tensor([2, 0, 0, 2]))
    tensor(1., dtype=torch.float64)
    """
    right, wrong, missed, rest = counts.double()[:4]
    # 1 in place of 0: where a class never occurs the coefficient is 0, not NaN.
    factors = [a + b for a, b in ((right, wrong), (right, missed), (rest, wrong), (rest, missed))]
    return (right * rest - wrong * missed) / torch.stack(factors).clamp_min(1).prod().sqrt()


class _OfTwoClasses(AveragedMetric):
    """A score of counts: its mean over the updates, or that of the counts of all samples."""

    def score(self, counts: Tensor) -> Tensor:
        """Return the score of counts."""
        raise NotImplementedError

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch; its outputs, if there are several, are counted together."""
        pairs = as_pairs(labels, preds)
        if not pairs:
            return
        counts, samples = [], 0
        with torch.no_grad():
            for label, pred in pairs:
                scores, classes = as_tensor(pred), as_tensor(label)
                counts.append(binary_counts(sent(classes, scores.device), scores, self.name))
                samples += classes.numel()
            # Counts of several devices meet on one of them.
            total = functools.reduce(lambda one, other: torch.add(*together(one, other)), counts)
            if self.average == "micro":
                self._add(total, samples)
            else:
                # With the score goes the number of labels of a third class: to report it here would be to wait.
                self._add(torch.stack((self.score(total), total[4].double())), 1)

    def value(self, total: Tensor | float, count: float) -> float:
        """Return the score; ParameterError where labels are of a third class."""
        if not count:
            return float("nan")
        assert isinstance(total, Tensor)  # something was added
        if int(total[-1]):
            raise ParameterError(  # a ValueError, as in MXNet
                f"{self.name}: labels must be of two classes, of which 1 is the positive one; got {int(total[-1])} of "
                "a third class. For more classes use mx.metric.PCC()."
            )
        return float(total[0]) / count if self.average == "macro" else float(self.score(total))


@metrics.register("f1")
class F1(_OfTwoClasses):
    """F1 of two classes: the harmonic mean of precision and recall of class 1.

    Parameters
    ----------
    name, output_names, label_names
        As for `EvalMetric`.
    average
        ``'macro'`` for the mean of the scores of the batches, ``'micro'`` for the score of all samples.

    Examples
    --------
    >>> import numpy as np
    >>> metric = F1()
    >>> metric.update([np.array([0, 1, 1])], [np.array([[0.3, 0.7], [0, 1.0], [0.4, 0.6]])])
    >>> metric.get()
    ('f1', 0.8)
    """

    __init__ = averaging_constructor("f1")

    def score(self, counts: Tensor) -> Tensor:
        """Return F1.

        >>> F1().score(
        ...     torch.tensor([1, 1, 1, 0])
        ... )  # true positives, false positives, false negatives, true negatives
        tensor(0.5000, dtype=torch.float64)
        """
        return f1_score(counts)


@metrics.register("mcc")
class MCC(_OfTwoClasses):
    """Matthews correlation coefficient of two classes: 1 for all right, 0 for no relation, -1 for all wrong.

    Unlike `F1` it is 0 for a network that always predicts the same class.

    Parameters
    ----------
    name, output_names, label_names, average
        As for `F1`.

    Examples
    --------
    >>> import numpy as np
    >>> metric = MCC()
    >>> metric.update([np.array([0, 1, 1, 0])], [np.array([[0.3, 0.7], [0, 1.0], [0.4, 0.6], [1.0, 0]])])
    >>> round(metric.get()[1], 4)
    0.5774
    """

    __init__ = averaging_constructor("mcc")

    def score(self, counts: Tensor) -> Tensor:
        """Return the correlation coefficient.

        >>> MCC().score(torch.tensor([2, 0, 0, 2]))
        tensor(1., dtype=torch.float64)
        """
        return matthews_correlation(counts)


class Pairs(NamedTuple):
    """Labels and predictions, of which some are counted in a confusion matrix and some wait.

    The size of the matrix depends on the data, and reading them waits for the device; so that is done once for many
    batches, and when the metric is read.
    """

    counted: Tensor | None
    waiting: tuple[Tensor, ...]  # each (2, n): labels, predictions
    size: int  # number of pairs that wait

    def and_also(self, more: Pairs) -> Pairs:
        """Return what both hold.

        >>> one = Pairs(None, (torch.tensor([[0, 1], [0, 0]]),), 2)
        >>> one.and_also(one).matrix()
        tensor([[2, 0],
                [2, 0]])
        """
        counted = self.counted if more.counted is None else _sum(self.counted, more.counted)
        found = Pairs(counted, self.waiting + more.waiting, self.size + more.size)
        # Counting waits for the device, but once for a million pairs; joining waits for nothing.
        if found.size > current().waiting_pairs:
            return Pairs(found.matrix(), (), 0)
        if len(found.waiting) > current().waiting_pair_tensors:
            return found._replace(waiting=(_joined(found.waiting),))
        return found

    def matrix(self) -> Tensor:
        """Return how often (row) a label is taken for (column) a class.

        >>> Pairs(None, (torch.tensor([[0, 1, 1], [0, 1, 0]]),), 3).matrix()
        tensor([[1, 0],
                [1, 1]])
        """
        if not self.size:
            return torch.zeros(0, 0, dtype=torch.int64) if self.counted is None else self.counted
        pairs = _joined(self.waiting).long()
        low, high = pairs.aminmax()
        if low < 0:
            raise ArgumentError(f"pcc: labels and predictions must be classes 0, 1, 2, ...; got {int(low)}")
        classes = int(high) + 1
        # Each pair is one number, `label * classes + prediction`: the cells of the matrix in order.
        counted = torch.bincount(pairs[0] * classes + pairs[1], minlength=classes**2).reshape(
            classes, classes
        )
        return _sum(self.counted, counted)


def _joined(pairs: Sequence[Tensor]) -> Tensor:
    # All batches' pairs as one (2, n) array.
    return torch.cat([each.to(pairs[0].device) for each in pairs], 1) if len(pairs) > 1 else pairs[0]


def _sum(one: Tensor | None, other: Tensor) -> Tensor:
    """Add confusion matrices of different numbers of classes."""
    if one is None:
        return other
    one, other = together(one, other)
    classes = max(len(one), len(other))
    total = one.new_zeros(classes, classes)
    for each in (one, other):
        # The smaller matrix is the upper left corner of the larger one.
        total[: len(each), : len(each)] += each
    return total


def multiclass_correlation(matrix: Tensor) -> float:
    """Correlation of label and prediction, from how often each is taken for each; nan when one does not vary.

    >>> multiclass_correlation(torch.tensor([[2, 0], [0, 2]]))  # rows are labels, columns predictions
    1.0
    """
    matrix = matrix.double()
    labels, preds, count = matrix.sum(1), matrix.sum(0), matrix.sum()
    # Gorodkin, Comparing two K-category assignments by a K-category correlation coefficient, 2004.
    along = (matrix.diagonal() * count - labels * preds).sum()
    return float(along / ((labels * (count - labels)).sum() * (preds * (count - preds)).sum()).sqrt())


@metrics.register("pcc")
class PCC(EvalMetric[Pairs]):
    """Correlation coefficient of any number of classes; for two it is `MCC` with ``average='micro'``.

    Parameters
    ----------
    name, output_names, label_names, has_global_stats
        As for `EvalMetric`.

    Examples
    --------
    >>> metric = PCC()
    >>> metric.update([np.array([0, 1, 2, 2])], [np.eye(4)[[0, 1, 2, 1]]])
    >>> round(metric.get()[1], 4)
    0.7
    """

    @refuses_unknown
    def __init__(
        self,
        name: str = "pcc",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        has_global_stats: bool = True,
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=has_global_stats)

    def measure(self, label: Tensor, pred: Tensor) -> tuple[Pairs, int]:
        """Return labels with predicted classes, and 1.

        >>> pairs, _ = PCC().measure(torch.tensor([0, 1]), torch.tensor([[0.9, 0.1], [0.8, 0.2]]))
        >>> pairs.waiting
        (tensor([[0, 1],
                [0, 0]], dtype=torch.int32),)
        """
        taken = pred.argmax(1) if pred.shape != label.shape else pred
        if taken.numel() != label.numel():
            raise ShapeError(
                f"{self.name}: there must be one label for each prediction along axis 1; "
                f"got labels {tuple(label.shape)} and predictions {tuple(pred.shape)}"
            )
        return Pairs(
            None, (torch.stack((label.reshape(-1).int(), taken.reshape(-1).int())),), label.numel()
        ), 1

    def merge(self, total: Pairs, more: Pairs) -> Pairs:
        """Return the pairs of both."""
        return total.and_also(more)

    def value(self, total: Pairs | float, count: float) -> float:
        """Return the correlation coefficient."""
        return multiclass_correlation(total.matrix()) if isinstance(total, Pairs) else float("nan")

    @property
    def lcm(self) -> np.ndarray:
        """The confusion matrix of the local window as MXNet has it: rows are predictions, columns labels.

        >>> metric = PCC()
        >>> metric.update([np.array([0, 1, 1])], [np.eye(2)[[0, 1, 0]]])
        >>> metric.lcm.tolist(), metric.k
        ([[1.0, 1.0], [0.0, 1.0]], 2)
        """
        return _as_mxnet(self.sum_metric)

    @property
    def gcm(self) -> np.ndarray:
        """The confusion matrix since the last `reset`."""
        return _as_mxnet(self.global_sum_metric)

    @property
    def k(self) -> int:
        """The number of classes so far, at least 2."""
        return max(len(self.lcm), len(self.gcm))

    def _grow(self, inc: int) -> None:
        # MXNet's name: room for more classes, without pairs.
        size = self.k + inc
        empty = Pairs(torch.zeros(size, size, dtype=torch.int64), (), 0)
        self.sum_metric = empty.and_also(_counted(self.sum_metric))
        self.global_sum_metric = empty.and_also(_counted(self.global_sum_metric))

    def _calc_mcc(self, cmat: np.ndarray) -> float:
        # MXNet's name, which subclasses call.
        return multiclass_correlation(torch.as_tensor(cmat))

    def state_dict(self) -> dict[str, Any]:
        """Return the confusion matrices, for `load_state_dict`."""
        self._count()
        return super().state_dict()

    def packed_sums(self) -> list[Any]:
        """Return the confusion matrices as lists."""
        self._count()
        return super().packed_sums()

    def _count(self) -> None:
        """Count all pairs: a file, or a message, holds a matrix then, not every pair."""
        for name in ("sum_metric", "global_sum_metric"):
            setattr(self, name, _all_counted(getattr(self, name)))
        self._earlier = (_all_counted(self._earlier[0]), self._earlier[1])

    def unpacked(self, packed: object) -> Pairs | float:
        """Return a sum from the form in which it goes to other workers."""
        return _as_pairs(unpack(packed))  # type: ignore[arg-type]  # what `pack` was given

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue with what `state_dict` returned.

        >>> import numpy as np
        >>> metric, other = PCC(), PCC()
        >>> metric.update(np.array([0, 1, 2]), np.eye(3))
        >>> other.load_state_dict(metric.state_dict())
        >>> other.get()
        ('pcc', 1.0)
        """
        super().load_state_dict(state)
        for name in ("sum_metric", "global_sum_metric"):
            setattr(self, name, _as_pairs(getattr(self, name)))
        self._earlier = (_as_pairs(self._earlier[0]), self._earlier[1])


def _as_mxnet(total: Pairs | float) -> np.ndarray:
    matrix = total.matrix() if isinstance(total, Pairs) else torch.zeros(0, 0)
    missing = max(2 - len(matrix), 0)
    padded = torch.nn.functional.pad(matrix.double(), (0, missing, 0, missing))
    found = padded.T.cpu().numpy()
    found.flags.writeable = False  # it is a copy: what a subclass adds to it would be lost without a word
    return found


def _counted(total: Pairs | float) -> Pairs:
    matrix = total.matrix() if isinstance(total, Pairs) else torch.zeros(0, 0, dtype=torch.int64)
    return Pairs(matrix, (), 0)


def _all_counted(total: Pairs | float) -> Pairs | float:
    return Pairs(total.matrix(), (), 0) if isinstance(total, Pairs) else total


def _as_pairs(total: Pairs | tuple[Tensor, tuple[()], int] | float) -> Pairs | float:
    """Return the class of a sum again, which a file does not hold; the 0.0 of an empty one as it is."""
    return Pairs(*total) if isinstance(total, tuple) else total
