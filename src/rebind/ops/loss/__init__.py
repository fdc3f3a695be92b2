"""Outputs that carry a loss: their gradient is declared, and does not depend on a head gradient."""

from .outputs import make_loss, svm_output
from .regression import linear_regression_output, logistic_regression_output, mae_regression_output
from .softmax import softmax_cross_entropy, softmax_output

__all__ = [
    "linear_regression_output",
    "logistic_regression_output",
    "mae_regression_output",
    "make_loss",
    "softmax_cross_entropy",
    "softmax_output",
    "svm_output",
]
