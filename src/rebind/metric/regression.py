"""Metrics of numbers."""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import ShapeError
from .arrays import Arrays, as_list, as_tensor
from .base import metrics
from .eval_metric import EvalMetric, constructor

__all__ = ["MAE", "MSE", "RMSE", "Caffe", "Loss", "Torch"]


def difference(label: Tensor, pred: Tensor, who: str) -> Tensor:
    """Return ``label - pred``, where an array with one axis counts as a column.

    >>> difference(torch.tensor([1.0, 2.0]), torch.tensor([[0.5], [2.5]]), "mae").tolist()
    [[0.5], [-0.5]]
    """
    # Otherwise (N,) and (N, 1) would broadcast to (N, N), without an error.
    label, pred = (each.unsqueeze(1) if each.ndim == 1 else each for each in (label, pred))
    try:
        return label - pred
    except RuntimeError:
        raise ShapeError(
            f"{who}: labels and predictions must have the same shape; "
            f"got {tuple(label.shape)} and {tuple(pred.shape)}"
        ) from None


def absolute_error(label: Tensor, pred: Tensor) -> tuple[Tensor, int]:
    """Mean of ``|label - pred|``, and 1: every batch counts the same, as in MXNet.

    >>> absolute_error(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 2.0]))
    (tensor(0.5000, dtype=torch.float64), 1)
    """
    return difference(label, pred, "mae").abs().mean(dtype=torch.float64), 1


def squared_error(label: Tensor, pred: Tensor) -> tuple[Tensor, int]:
    """Mean of ``(label - pred)²``, and 1: every batch counts the same, as in MXNet.

    >>> squared_error(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0]))
    (tensor(2.5000, dtype=torch.float64), 1)
    """
    return difference(label, pred, "mse").square().mean(dtype=torch.float64), 1


def root_squared_error(label: Tensor, pred: Tensor) -> tuple[Tensor, int]:
    """Root of the mean of ``(label - pred)²``, and 1: the metric is the mean of roots, as in MXNet.

    >>> root_squared_error(torch.tensor([4.0]), torch.tensor([1.0]))
    (tensor(3., dtype=torch.float64), 1)
    """
    return squared_error(label, pred)[0].sqrt(), 1


@metrics.register("mae")
class MAE(EvalMetric[Tensor]):
    """Mean absolute error, averaged over batches.

    Examples
    --------
    >>> import numpy as np
    >>> metric = MAE()
    >>> metric.update([np.array([1.0, 2.0])], [np.array([1.5, 2.5])])
    >>> metric.get()
    ('mae', 0.5)
    """

    __init__ = constructor("mae")

    def measure(self, label: Tensor, pred: Tensor) -> tuple[Tensor, int]:
        """Return the mean absolute error of a batch, and 1.

        >>> MAE().measure(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 2.0]))
        (tensor(0.5000, dtype=torch.float64), 1)
        """
        return absolute_error(label, pred)


@metrics.register("mse")
class MSE(EvalMetric[Tensor]):
    """Mean squared error, averaged over batches.

    Examples
    --------
    >>> import numpy as np
    >>> metric = MSE("squares")
    >>> for batch in ([1.0, 2.0], [3.0]):
    ...     metric.update(np.zeros(len(batch)), np.array(batch))
    >>> metric.get()  # the mean of 2.5 and 9
    ('squares', 5.75)
    """

    __init__ = constructor("mse")

    def measure(self, label: Tensor, pred: Tensor) -> tuple[Tensor, int]:
        """Return the mean squared error of a batch, and 1.

        >>> MSE().measure(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0]))
        (tensor(2.5000, dtype=torch.float64), 1)
        """
        return squared_error(label, pred)


@metrics.register("rmse")
class RMSE(EvalMetric[Tensor]):
    """Root of the mean squared error of each batch, averaged over batches.

    Examples
    --------
    >>> import numpy as np
    >>> metric = RMSE()
    >>> metric.update([np.array([1.0, 2.0])], [np.array([1.5, 2.5])])
    >>> metric.get()
    ('rmse', 0.5)
    """

    __init__ = constructor("rmse")

    def measure(self, label: Tensor, pred: Tensor) -> tuple[Tensor, int]:
        """Return the root of the mean squared error of a batch, and 1.

        >>> RMSE().measure(torch.tensor([4.0]), torch.tensor([1.0]))
        (tensor(3., dtype=torch.float64), 1)
        """
        return root_squared_error(label, pred)


@metrics.register("loss")
class Loss(EvalMetric[Tensor]):
    """Mean of the outputs themselves, for networks whose output is a loss; labels are ignored.

    Examples
    --------
    >>> import numpy as np
    >>> metric = Loss()
    >>> metric.update(None, [np.array([1.0, 2.0])])
    >>> metric.get()
    ('loss', 1.5)
    """

    __init__ = constructor("loss")

    def update(self, labels: Arrays | None, preds: Arrays) -> None:
        """Add a batch; its labels are ignored.

        >>> metric = Loss()
        >>> for batch in ([1.0, 2.0, 3.0], [6.0]):
        ...     metric.update(None, torch.tensor(batch))
        >>> metric.get()
        ('loss', 3.0)
        """
        for pred in as_list(preds):
            tensor = as_tensor(pred).detach()
            # Every element counts the same here; above, every batch.
            self._add(tensor.sum(dtype=torch.float64), tensor.numel())


@metrics.register("torch")
class Torch(Loss):
    """`Loss` under another name, which old scripts use."""

    __init__ = constructor("torch")


@metrics.register("caffe")
class Caffe(Loss):
    """`Loss` under another name, which old scripts use."""

    __init__ = constructor("caffe")
