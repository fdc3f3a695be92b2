"""Correlation of numbers."""

from __future__ import annotations

import torch
from torch import Tensor

from ..absent import absent_function
from ..errors import ShapeError
from .arrays import together
from .base import metrics
from .eval_metric import AveragedMetric, averaging_constructor

__all__ = ["PearsonCorrelation"]


def moments(label: Tensor, pred: Tensor) -> Tensor:
    """Count, means of label and prediction, sums of their squared and multiplied deviations from the means.

    >>> moments(torch.tensor([1.0, 3.0]), torch.tensor([2.0, 2.0])).tolist()
    [2.0, 2.0, 2.0, 2.0, 0.0, 0.0]
    """
    both = torch.stack((label.reshape(-1), pred.reshape(-1))).double()
    count = both.new_full((1,), both.shape[1])
    # The mean of nothing is NaN, and would remain so in every merge.
    if not both.shape[1]:
        return torch.cat((count, both.new_zeros(5)))
    means = both.mean(1)
    away = both - means[:, None]
    products = torch.stack((away[0] * away[0], away[1] * away[1], away[0] * away[1])).sum(1)
    return torch.cat((count, means, products))


def merged_moments(one: Tensor, other: Tensor) -> Tensor:
    """Moments of the values of both, without the cancellation of sums of squares (Chan et al., 1979).

    >>> one, other = torch.tensor([1.0, 2.0]), torch.tensor([3.0])
    >>> whole = torch.cat((one, other))
    >>> bool(torch.allclose(merged_moments(moments(one, one), moments(other, other)), moments(whole, whole)))
    True
    """
    # 1 where neither has a value: the means, which are 0, are divided by it.
    count = (one[0] + other[0]).clamp_min(1)
    shift = other[1:3] - one[1:3]
    means = one[1:3] + shift * (other[0] / count)
    between = torch.stack((shift[0] * shift[0], shift[1] * shift[1], shift[0] * shift[1]))
    return torch.cat(
        ((one[0] + other[0])[None], means, one[3:] + other[3:] + between * (one[0] * other[0] / count))
    )


def correlation(found: Tensor) -> Tensor:
    """Pearson's correlation coefficient from moments; nan when one side does not vary.

    >>> values = torch.tensor([1.0, 2.0, 3.0])
    >>> round(float(correlation(moments(values, -values))), 6)
    -1.0
    """
    # Two roots, as the product of the sums may overflow; rounding may lead just beyond 1.
    return (found[5] / (found[3].sqrt() * found[4].sqrt())).clamp(-1, 1)


_MOMENTS = "Call update(labels, preds); a subclass overrides measure, whose moments are summed exactly"


@metrics.register("pearsonr", "PearsonCorrelation")
class PearsonCorrelation(AveragedMetric):
    """Pearson's correlation coefficient of labels and predictions, which have the same shape.

    Parameters
    ----------
    name, output_names, label_names
        As for `EvalMetric`.
    average
        ``'macro'`` for the mean of the coefficients of the batches, ``'micro'`` for that of all samples. (In 1.9.1
        ``'micro'`` has no windows: `reset_local` does not empty it, and the value of an epoch is 0.)

    Examples
    --------
    >>> import numpy as np
    >>> metric = PearsonCorrelation()
    >>> metric.update([np.array([1.0, 2.0, 3.0])], [np.array([1.0, 3.0, 2.0])])
    >>> round(metric.get()[1], 4)
    0.5
    """

    __init__ = averaging_constructor("pearsonr")

    def measure(self, label: Tensor, pred: Tensor) -> tuple[Tensor, int]:
        """Return the coefficient of a batch, or with ``'micro'`` its moments; and 1.

        >>> label, pred = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0])
        >>> PearsonCorrelation(average="micro").measure(label, pred)[0].tolist()
        [2.0, 1.5, 4.0, 0.5, 2.0, 1.0]
        """
        if label.shape != pred.shape:
            raise ShapeError(
                f"{self.name}: labels and predictions must have the same shape; "
                f"got {tuple(label.shape)} and {tuple(pred.shape)}"
            )
        found = moments(label, pred)
        return (correlation(found) if self.average == "macro" else found), 1

    def merge(self, total: Tensor, more: Tensor) -> Tensor:
        """Return the sum of coefficients, or the moments of both.

        >>> PearsonCorrelation().merge(torch.tensor(0.5), torch.tensor(1.0))
        tensor(1.5000)
        """
        return (
            super().merge(total, more) if self.average == "macro" else merged_moments(*together(total, more))
        )

    def value(self, total: Tensor | float, count: float) -> float:
        """Return the mean of the coefficients, or that of all samples."""
        if not count or self.average == "macro":
            return super().value(total, count)
        assert isinstance(total, Tensor)  # moments, read to the CPU
        return float(correlation(total))

    def reset_micro(self) -> None:
        """Forget everything, as `reset` does."""
        self.reset()

    # By name only: MXNet's steps of `update` on sums of its own.
    update_variance = absent_function("metric.PearsonCorrelation.update_variance", _MOMENTS)
    update_cov = absent_function("metric.PearsonCorrelation.update_cov", _MOMENTS)
