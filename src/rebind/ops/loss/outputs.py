"""The data itself as an output, with the gradient of a loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import Params
from ...shapes import Shape
from ..declaration import Asked, Labels, Shapes, one_shape, operator
from ._common import NO_CLASS, Normalization, like_first_output

__all__ = ["make_loss", "svm_output"]


@operator("MakeLoss", same_shape=True, head_gradient=False)
def make_loss(
    data: Tensor,
    *,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: Normalization = "null",
) -> Tensor:
    """The data itself, as a loss: its gradient is `grad_scale`, whatever follows.

    Parameters
    ----------
    grad_scale
        The gradient.
    valid_thresh
        Elements above it are counted by the normalization ``'valid'``.
    normalization
        What the gradient is divided by: ``'null'`` nothing; ``'batch'`` the batch size; ``'valid'`` the number of
        elements above `valid_thresh`, 1 at least.

    Shapes
    ------
    data, out : any, the same

    >>> x = torch.tensor([3.0, 4.0], requires_grad=True)
    >>> make_loss(x, **make_loss.parse({"grad_scale": 0.5})).sum().backward()
    >>> x.grad
    tensor([0.5000, 0.5000])
    """
    return data


make_loss.output_shapes(one_shape)


@make_loss.gradient
def _(
    p: Params, inputs: Sequence[Tensor], outputs: Sequence[Tensor], head_grads: Sequence[Tensor]
) -> tuple[Tensor]:
    data = inputs[0]
    if p.normalization == "valid":
        # A tensor, so that the host need not wait for the count.
        count = (data > p.valid_thresh).sum().clamp_(min=1)
        return ((p.grad_scale / count).to(dtype=data.dtype).expand_as(data),)
    # The size of the batch is known without looking at the data.
    return (torch.full_like(data, p.grad_scale / (data.shape[0] if p.normalization == "batch" else 1)),)


def _classes(p: Params, scores: Shape, label: Tensor, others: Mapping[str, Tensor]) -> Asked:
    return Asked(scores[-1], below=NO_CLASS, above=NO_CLASS)


@operator("SVMOutput", head_gradient=False, labels=Labels(_classes, scores_out=True))
def svm_output(
    data: Tensor,
    label: Tensor,
    *,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
) -> Tensor:
    """The data itself, with the gradient of the hinge loss of one class against the rest.

    With t = 1 for the class of `label` and -1 for the others, the loss is the sum over the classes of
    ``max(0, margin - t * x)``, squared unless `use_linear`, times `regularization_coefficient`. What follows
    the output has no influence on the gradient.

    Parameters
    ----------
    margin
        The distance from 0 that has no loss.
    regularization_coefficient
        A factor of the gradient.
    use_linear
        Take the loss as it is instead of its square.

    Shapes
    ------
    data, out : (..., C)
    label : that of data without the last axis

    References
    ----------
    Tang, Deep Learning using Linear Support Vector Machines.

    >>> scores = torch.tensor([[0.5, -2.0]], requires_grad=True)
    >>> svm_output(scores, torch.tensor([0.0]), **svm_output.parse({"use_linear": True})).sum().backward()
    >>> scores.grad  # the second class is beyond the margin
    tensor([[-1.,  0.]])
    """
    if label.shape != data.shape[:-1]:
        raise ShapeError(
            f"label must have shape {tuple(data.shape[:-1])} to match data {tuple(data.shape)}; "
            f"got {tuple(label.shape)}"
        )
    return data


@svm_output.gradient
def _(
    p: Params, inputs: Sequence[Tensor], outputs: Sequence[Tensor], head_grads: Sequence[Tensor]
) -> tuple[Tensor, None]:
    classes = outputs[0].shape[-1]
    # (N, classes), whatever axes come before the last.
    data = outputs[0].reshape(-1, classes)
    index = inputs[1].reshape(-1, 1).long()
    inside = index.clamp(0, classes - 1)
    target = torch.full_like(data, -1.0)
    # -1 everywhere, +2 at the class: a label that is no class leaves -1.
    target.scatter_add_(1, inside, (inside == index).to(dtype=data.dtype).mul_(2.0))
    # The derivative of ``max(0, margin - t x)`` is -t within the margin; that of its square, -2 t (margin - t x).
    distance = p.margin - target * data
    if p.use_linear:
        slope = (distance > 0).to(dtype=data.dtype).mul_(p.regularization_coefficient)
    else:
        slope = distance.clamp_(min=0.0).mul_(2.0 * p.regularization_coefficient)
    return slope.mul_(target).neg_().view_as(outputs[0]), None


@svm_output.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    if data is None:
        return {}
    if len(data) < 2:
        raise ShapeError(f"data must have 2 axes or more; got shape {data}")
    return {"label": data[:-1]}


svm_output.shapes_from_outputs(like_first_output)
