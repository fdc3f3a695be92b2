"""Metrics of predicted probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ..checks import check_numbers, refuses_unknown, warn_user
from ..errors import ParameterError, ShapeError
from .arrays import Count, same_length
from .base import metrics
from .eval_metric import EvalMetric

__all__ = ["CrossEntropy", "NegativeLogLikelihood", "Perplexity"]

_MIN_PROBABILITY = 1e-10  # as in MXNet: no sample of a perplexity adds more than log(1e10)


def negative_log_likelihood(
    label: Tensor, pred: Tensor, *, eps: float, who: str, warn: Callable[[str], object] = warn_user
) -> tuple[Tensor, int]:
    """Sum of ``-log(p + eps)`` over the probabilities `p` of the labels, number of samples.

    As in MXNet, -1 is the last class; `warn` is given a sentence about that.

    >>> negative_log_likelihood(torch.tensor([0]), torch.tensor([[1.0, 0.0]]), eps=0, who="ce")
    (tensor(-0., dtype=torch.float64), 1)
    """
    same_length(label, pred, who)
    # (N, 1, ..., 1), to pick from axis 1, the classes.
    wanted = label.reshape(-1, 1, *[1] * (pred.ndim - 2)).long()
    if not pred.is_cpu:  # where a kernel does not report an error, but ends the process
        wanted = torch.where(wanted < 0, wanted + pred.shape[1], wanted)
    try:
        likely = pred.gather(1, wanted)
    except (RuntimeError, IndexError):
        _check_classes(label, pred.shape[1], who, warn)
        likely = pred.gather(1, wanted % pred.shape[1])
    # In float64: an epoch adds up millions of small terms.
    return -(likely + eps).log().sum(dtype=torch.float64), label.numel()


def _check_classes(label: Tensor, classes: int, who: str, warn: Callable[[str], object]) -> None:
    """Raise an error that names the first label that is none of the classes; warn of one that counts from the end."""
    flat = label.reshape(-1).long()
    for outside in ((flat < -classes) | (flat >= classes), flat < 0):
        if found := outside.nonzero().reshape(-1).tolist():
            text = (
                f"{who}: labels must be classes from 0 to {classes - 1}, since there are predictions for {classes}; "
                f"got {flat[found[0]].item()} at sample {found[0]} of the batch ({len(found)} of {len(flat)} labels "
                "are outside)"
            )
            if int(flat[found[0]]) not in range(-classes, classes):
                raise ParameterError(text)
            warn(f"{text}. Negative ones count from the end, as in MXNet: -1 is the last class.")


def log_perplexity(
    label: Tensor, pred: Tensor, *, ignore_label: int | None = None, axis: int = -1
) -> tuple[Tensor, Count]:
    """Sum of ``-log p`` over the labels that are not `ignore_label`, number of those.

    >>> log_perplexity(torch.tensor([0, -1]), torch.tensor([[1.0, 0.0]] * 2), ignore_label=-1)
    (tensor(0., dtype=torch.float64), tensor(1))
    """
    scores = pred.movedim(axis, -1)
    if label.numel() * scores.shape[-1] != scores.numel():
        raise ShapeError(
            f"perplexity: there must be one label for each distribution along axis {axis}; "
            f"got labels {tuple(label.shape)} and predictions {tuple(pred.shape)}"
        )
    wanted = label.reshape(-1).long()
    rows = scores.reshape(-1, scores.shape[-1])
    # An ignored label (often -1, for padding) need not be a class.
    likely = rows.gather(1, wanted.clamp(0, rows.shape[1] - 1).unsqueeze(1)).squeeze(1)
    loss = -likely.clamp_min(_MIN_PROBABILITY).log()
    if ignore_label is None:
        return loss.sum(dtype=torch.float64), label.numel()
    counted = wanted != ignore_label
    return (loss * counted).sum(dtype=torch.float64), counted.sum()


def _constructor(default: str) -> Callable[..., None]:
    """Return a constructor that takes names and the setting `eps`; `default` is the default name."""

    @refuses_unknown
    def __init__(
        self: CrossEntropy,
        eps: float = 1e-12,
        name: str = default,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        check_numbers(type(self).__name__, eps=eps)
        EvalMetric.__init__(self, name, output_names, label_names, eps=eps, has_global_stats=True)
        self.eps = eps

    return __init__


@metrics.register("ce", "CrossEntropy", "cross-entropy")
class CrossEntropy(EvalMetric[Tensor]):
    """Mean of ``-log p`` over the predicted probabilities of the labels.

    Parameters
    ----------
    eps
        Added to each probability.
    name, output_names, label_names
        As for `EvalMetric`.

    Examples
    --------
    >>> import numpy as np
    >>> metric = CrossEntropy()
    >>> metric.update([np.array([0, 1])], [np.array([[0.5, 0.5], [0.5, 0.5]])])
    >>> round(metric.get()[1], 4)
    0.6931
    """

    eps: float
    _has_warned = False

    __init__ = _constructor("cross-entropy")

    def measure(self, label: Tensor, pred: Tensor) -> tuple[Tensor, int]:
        """Return the sum of ``-log p``, and the number of samples.

        >>> import torch
        >>> CrossEntropy().measure(torch.tensor([1]), torch.tensor([[0.75, 0.25]]))
        (tensor(1.3863, dtype=torch.float64), 1)
        """
        return negative_log_likelihood(label, pred, eps=self.eps, who=self.name, warn=self._warn_once)

    def _warn_once(self, text: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            warn_user(text)


@metrics.register("nll_loss", "NegativeLogLikelihood", "nll-loss")
class NegativeLogLikelihood(CrossEntropy):
    """Mean of ``-log p``: `CrossEntropy` under another name.

    Parameters
    ----------
    eps, name, output_names, label_names
        As for `CrossEntropy`.
    """

    __init__ = _constructor("nll-loss")


@metrics.register("perplexity")
class Perplexity(EvalMetric[Tensor]):
    """Exponential of the mean of ``-log p``: the number of equally likely choices that a model has left.

    Parameters
    ----------
    ignore_label
        A label that does not count (that of padding), or None.
    axis
        The axis of the classes (1.9.1 fails for any but the last).
    name, output_names, label_names
        As for `EvalMetric`.

    Examples
    --------
    >>> import numpy as np
    >>> metric = Perplexity(ignore_label=-1)
    >>> metric.update([np.array([0, 1, -1])], [np.full((3, 4), 0.25)])
    >>> round(metric.get()[1], 4)
    4.0
    """

    @refuses_unknown
    def __init__(
        self,
        ignore_label: int | None,
        axis: int = -1,
        name: str = "perplexity",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        check_numbers("Perplexity", ignore_label=ignore_label, axis=axis)
        super().__init__(
            name, output_names, label_names, ignore_label=ignore_label, axis=axis, has_global_stats=True
        )
        self.ignore_label = ignore_label
        self.axis = axis

    def measure(self, label: Tensor, pred: Tensor) -> tuple[Tensor, Count]:
        """Return the sum of ``-log p`` over the samples that count, and their number.

        >>> import torch
        >>> Perplexity(ignore_label=0).measure(torch.tensor([1, 0]), torch.tensor([[0.75, 0.25], [0.5, 0.5]]))
        (tensor(1.3863, dtype=torch.float64), tensor(1))
        """
        return log_perplexity(label, pred, ignore_label=self.ignore_label, axis=self.axis)

    def value(self, total: Tensor | float, count: float) -> float:
        """Return the exponential of the mean.

        >>> round(Perplexity(ignore_label=None).value(2 * math.log(4), 2), 6)
        4.0
        """
        # math.exp raises an error above 709; nan, the mean of nothing, stays nan.
        mean = super().value(total, count)
        return math.exp(mean) if mean < 709 else float("inf") if mean == mean else mean
