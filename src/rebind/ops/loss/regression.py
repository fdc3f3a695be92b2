"""Outputs of regressions: one function on tensors each, and the derivative of its loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import Params
from ...shapes import Shape
from .._types import require_floating
from ..declaration import Operator, Shapes, operator
from ._common import like_first_output

__all__ = ["linear_regression_output", "logistic_regression_output", "mae_regression_output"]


def _regression_shapes(shapes: Shapes, p: Params) -> Shapes:
    data, label = shapes["data"], shapes.get("label")
    # With an unknown size it is not known whether sizes of 1 were dropped.
    if data is None or 0 in data:
        return {}
    # A label that fits stays as it is, whatever would be inferred without it.
    if label is not None and _regression_label_fits(data, label):
        return {}
    # MXNet infers (N,) for data (N, 1).
    return {"label": data[:1] if len(data) == 2 and data[1] == 1 else data}


def _regression_label_fits(data: Shape, label: Shape) -> bool:
    """Return whether the shapes are the same but for sizes of 1 after the first axis."""
    return data[:1] == label[:1] and [n for n in data[1:] if n != 1] == [n for n in label[1:] if n != 1]


def _regression_output(shapes: Shapes, p: Params) -> list[Shape | None]:
    data, label = shapes["data"], shapes.get("label")
    if data is None or label is None or not _regression_label_fits(data, label):
        return []
    return [data]


def _check_regression(data: Tensor, label: Tensor) -> None:
    if data.shape != label.shape and not _regression_label_fits(tuple(data.shape), tuple(label.shape)):
        raise ShapeError(f"label must have the shape of data {tuple(data.shape)}; got {tuple(label.shape)}")


def _scaled(p: Params, grad: Tensor, label: Tensor) -> tuple[Tensor, None]:
    """Divide a gradient, in place, by the number of values for each sample."""
    # `label.numel() / label.shape[0]` is m, the number of values of a sample.
    # In place: `grad` is a difference that was made for this call.
    scale = p.grad_scale * label.shape[0] / label.numel() if label.numel() else 1.0
    return (grad.mul_(scale) if scale != 1.0 else grad), None


_REGRESSION_DOC = """{what}

The gradient is ``grad_scale * {error} / m`` with m values for each sample, whatever follows.

Parameters
----------
grad_scale
    A factor of the gradient.

Shapes
------
data, out : (N, ...)
label : that of data, but for sizes of 1: (N,) goes with (N, 1)"""


def _declare_regression(
    name: str,
    what: str,
    error: str,
    compute: Callable[[Tensor], Tensor],
    derivative: Callable[[Tensor], Tensor],
) -> Operator:
    """Make the output layer of a regression, whose gradient is `derivative` of the output minus the label."""

    def function(data: Tensor, label: Tensor, *, grad_scale: float = 1.0) -> Tensor:
        _check_regression(data, label)
        return compute(data)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _REGRESSION_DOC.format(what=what, error=error)
    op = operator(name, head_gradient=False, takes_any=True)(
        function
    )  # as in MXNet, which has many such scripts

    @op.gradient
    def _(
        p: Params, inputs: Sequence[Tensor], outputs: Sequence[Tensor], head_grads: Sequence[Tensor]
    ) -> tuple[Tensor, None]:
        return _scaled(p, derivative(outputs[0] - inputs[1].view_as(outputs[0])), inputs[1])

    op.fill_shapes(_regression_shapes)
    op.output_shapes(_regression_output)
    op.shapes_from_outputs(like_first_output)
    return op


def _itself(data: Tensor) -> Tensor:
    return data


def _logistic(data: Tensor) -> Tensor:
    require_floating(data)
    # The derivatives of the cross-entropy and of this function cancel to ``output - label``.
    return torch.sigmoid(data)


linear_regression_output = _declare_regression(
    "LinearRegressionOutput",
    "The data itself, with the gradient of half the squared error.",
    "(output - label)",
    compute=_itself,
    derivative=_itself,
)


logistic_regression_output = _declare_regression(
    "LogisticRegressionOutput",
    "The logistic function of the data, with the gradient of the cross-entropy.",
    "(output - label)",
    compute=_logistic,
    derivative=_itself,
)


mae_regression_output = _declare_regression(
    "MAERegressionOutput",
    "The data itself, with the gradient of the absolute error.",
    "sign(output - label)",
    compute=_itself,
    derivative=torch.Tensor.sign_,
)
