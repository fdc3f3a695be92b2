"""Metrics: what training is judged by.

A metric is a pure measure on tensors (`correct`, `squared_error`, ...) with a small object around it that adds up.
Sums stay on the device of the predictions; only reading them (`get`) waits for it.
"""

import typing as _typing

from ..absent import old_names as _old_names
from ..completion import listing as _listing
from .base import (
    CompositeEvalMetric,
    CustomMetric,
    EvalMetric,
    alias,
    check_label_shapes,
    create,
    np,
    register,
)
from .classification import Accuracy, TopKAccuracy
from .confusion import F1, MCC, PCC
from .correlation import PearsonCorrelation
from .probability import CrossEntropy, NegativeLogLikelihood, Perplexity
from .regression import MAE, MSE, RMSE, Caffe, Loss, Torch

__all__ = [
    "F1",
    "MAE",
    "MCC",
    "MSE",
    "PCC",
    "RMSE",
    "Accuracy",
    "Caffe",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "Loss",
    "NegativeLogLikelihood",
    "PearsonCorrelation",
    "Perplexity",
    "TopKAccuracy",
    "Torch",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "register",
]
__dir__ = _listing(globals())

if not _typing.TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = _old_names(__name__)
