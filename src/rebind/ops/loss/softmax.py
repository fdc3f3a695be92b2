"""Softmax and its cross-entropy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import ShapeError
from ...params import Params
from ...shapes import Shape
from ...shapes import size as number_of_elements
from .._reading import can_read
from ..declaration import Asked, Labels, Operator, Shapes, operator
from ._common import NO_CLASS, Normalization, like_first_output

__all__ = ["softmax_cross_entropy", "softmax_output"]


def _softmax_output(
    data: Tensor,
    label: Tensor,
    *,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Normalization = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
) -> Tensor:
    """Softmax whose gradient is that of the cross-entropy between it and `label`.

    The output is the softmax of `data`, whatever `label` is. The gradient with respect to `data` is
    ``output - one_hot(label)`` (``output - label`` where `label` has the shape of `data`, as probabilities,
    which only `grad_scale` scales); what follows the output has no influence, unless `out_grad` is set.

    A label outside of the classes is none of them: its sample is pushed away from all classes.

    Parameters
    ----------
    grad_scale
        A factor of the gradient.
    ignore_label
        The label whose samples have no gradient, with `use_ignore`.
    multi_output
        The classes are on axis 1, and each position along the further axes is predicted by itself. The gradient
        is then divided by the number of positions too, except with normalization ``'valid'``.
    use_ignore
        Give samples with `ignore_label` no gradient.
    preserve_shape
        Take the softmax along the last axis instead of over all axes but the first.
    normalization
        ``'null'``: no division; ``'batch'``: by the batch size (without `multi_output`, by the number of labels);
        ``'valid'``: by the number of labels that are not `ignore_label`, even without `use_ignore`.
    out_grad
        Multiply the gradient by that of the output. (MXNet 1.9.1 multiplies by the output instead, against its
        documentation.)
    smooth_alpha
        Label smoothing: how much of the target is taken from the right class and shared equally by the others.
        (MXNet 1.9.1 leaves it out with `multi_output`.)

    Shapes
    ------
    data, out : (N, C)      with ``multi_output``: (N, C, d1, ...); with ``preserve_shape``: (..., C)
    label : that of data without the axis of the classes, or that of data
        With ``multi_output`` also (N, 1, d1, ...) and (N, d1 * d2 ...).
    """
    _check_label(data.shape, label.shape, multi_output)
    if multi_output or data.dim() == 2:
        return torch.softmax(data, 1)
    if preserve_shape:
        return torch.softmax(data, -1)
    return torch.softmax(data.flatten(1), 1).view_as(data)


def _check_label(data: Sequence[int], label: Sequence[int], multi_output: bool) -> None:
    if not multi_output and label == data[:-1]:  # by far the most frequent case
        return
    # The message names the shape that inference would give.
    allowed = _label_shapes(tuple(data), multi_output)
    if tuple(label) not in allowed:
        raise ShapeError(
            f"label must have shape {allowed[0]} to match data {tuple(data)}; got {tuple(label)}"
        )


def _label_shapes(data: Shape, multi_output: bool) -> list[Shape]:
    """Return the shapes that a label may have, the one that MXNet infers first."""
    if not multi_output:
        return [data[:-1], data[:1], data]
    batch, spatial = data[:1], data[2:]
    positions = 0 if 0 in spatial else number_of_elements(spatial)
    return [(*batch, positions), batch + spatial, (*batch, 1, *spatial), data]


def _softmax_output_gradient(
    p: Params,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    head_grads: Sequence[Tensor],
    into: Tensor | None = None,
) -> tuple[Tensor, None]:
    """Return ``output - target``, scaled, in `into` or in one new array, whatever the flags."""
    label, out = inputs[1], outputs[0]
    if label.shape == out.shape:
        grad = out - label
        if p.grad_scale != 1.0:
            grad.mul_(p.grad_scale)
        return (grad.mul_(head_grads[0]) if p.out_grad else grad), None

    # Classes on axis 1 of `scores` from here on: (N, C) or (N, C, positions).
    index, scores = label.long(), out
    labels = label.numel()
    if p.multi_output:
        scores = out.flatten(2) if out.dim() > 2 else out.unsqueeze(2)
        index = index.reshape(scores.shape[0], 1, scores.shape[2])
    else:
        if out.dim() != 2:
            scores = out.reshape(-1, out.shape[-1]) if p.preserve_shape else out.flatten(1)
            # One softmax for a sample: MXNet takes as many labels from the front.
            index = index.reshape(-1)[: scores.shape[0]]
        index = index.unsqueeze(1)
    # Labels that are to be ignored often are no classes.
    grad = _less_target(scores, index, p.smooth_alpha, into, try_first=can_read(out) and not p.use_ignore)

    # Masked before scaling: an ignored label may have the number of a class.
    # Compared as whole numbers, as the classes are.
    if p.use_ignore:
        grad.masked_fill_(index.eq(int(p.ignore_label)), 0.0)
    scale = p.grad_scale
    if p.multi_output and p.normalization != "valid":
        scale /= max(grad.shape[2], 1)
    if p.normalization == "batch":
        scale /= max(grad.shape[0] if p.multi_output else labels, 1)
    elif p.normalization == "valid":
        # A tensor, so that the count need not be read by the host.
        scale = scale / label.long().ne(int(p.ignore_label)).sum().clamp_(min=1).to(dtype=grad.dtype)
    if p.normalization == "valid" or scale != 1.0:
        grad.mul_(scale)
    grad = _shaped(grad, out.shape)
    return (grad.mul_(head_grads[0]) if p.out_grad else grad), None


def _less_target(
    scores: Tensor, index: Tensor, smooth_alpha: float, into: Tensor | None, try_first: bool
) -> Tensor:
    """Return scores less what they should be: without smoothing, 1 at the index of the right class along axis 1.

    An index that is no class takes nothing off. With `try_first` the kernel looks whether there is one: hardly ever.
    """
    classes, right = scores.shape[1], 1.0
    if smooth_alpha:
        # `share` is taken off at all classes; the right one gets the rest below, 1 - alpha in all.
        share = smooth_alpha / max(classes - 1, 1)
        grad, right = scores - share, 1.0 - smooth_alpha - share
    else:
        grad = scores.clone() if into is None else _shaped(into, scores.shape).copy_(scores)
    if try_first:
        try:
            return grad.scatter_(1, index, -right, reduce="add")
        except RuntimeError:  # some of them may be taken off already
            return _less_target(scores, index, smooth_alpha, into, try_first=False)
    inside = index.clamp(0, classes - 1)
    return grad.scatter_add_(1, inside, ((inside == index) * -right).to(dtype=grad.dtype))


def _shaped(tensor: Tensor, shape: torch.Size) -> Tensor:
    return tensor if tensor.shape == shape else tensor.view(shape)


def _softmax_output_shapes(shapes: Shapes, p: Params) -> Shapes:
    data, label = shapes["data"], shapes.get("label")
    if data is None:
        return {}
    if len(data) < 2:
        raise ShapeError(f"data must have 2 axes or more; got shape {data}")
    allowed = _label_shapes(data, p.multi_output)
    fitting = {shape for shape in allowed if label is not None and _agree(shape, label)}
    # Sizes of 0 are unknown: more than one shape may fit what is known.
    if len(fitting) > 1:  # the sizes that would decide between them are unknown
        return {}
    return {"label": fitting.pop() if fitting else allowed[0]}


def _agree(first: Shape, second: Shape) -> bool:
    return len(first) == len(second) and all(
        a == b or 0 in (a, b) for a, b in zip(first, second, strict=True)
    )


def _classes(p: Params, scores: Shape, label: Tensor, others: Mapping[str, Tensor]) -> Asked:
    classes = (
        scores[1] if p.multi_output else scores[-1] if p.preserve_shape else number_of_elements(scores[1:])
    )
    text = f"{NO_CLASS} If they are to be ignored, give use_ignore=True and ignore_label."
    return Asked(classes, label != p.ignore_label if p.use_ignore else None, below=text, above=text)


def _declare_softmax_output(name: str, *aliases: str) -> Operator:
    labels = Labels(_classes, scores_out=True)
    op = operator(name, *aliases, head_gradient=lambda p: p.out_grad, labels=labels)(_softmax_output)
    op.gradient(_softmax_output_gradient)
    op.fill_shapes(_softmax_output_shapes)
    op.half_known(lambda shapes, p: [shapes["data"]])
    op.output_shapes(lambda shapes, p: [shapes["data"]])
    op.shapes_from_outputs(like_first_output)
    return op


softmax_output = _declare_softmax_output("SoftmaxOutput", "Softmax")


#: A class that torch does not count: none that a label has, in whatever type it comes.
_NO_CLASS = -(2**62) - 1


def _classes_of_last_axis(p: Params, scores: Shape, label: Tensor, others: Mapping[str, Tensor]) -> Asked:
    # For a label above the last class MXNet reads foreign memory. Programs mark padding by negative ones.
    return Asked(scores[-1], below=NO_CLASS)


@operator("softmax_cross_entropy", labels=Labels(_classes_of_last_axis))
def softmax_cross_entropy(data: Tensor, label: Tensor) -> Tensor:
    """Sum over the batch of the cross-entropy between the softmax of `data` and `label`.

    A probability below 1e-8 counts as 1e-8 in the sum. The gradient is ``softmax(data) - one_hot(label)`` there too.
    The label gets no gradient.

    Shapes
    ------
    data : (N, C)
    label : (N,)
    out : (1,)

    >>> softmax_cross_entropy(torch.zeros(1, 2), torch.tensor([1.0]))  # log(2)
    tensor([0.6931])
    """
    if label.shape != data.shape[:1]:
        raise ShapeError(
            f"label must have shape {tuple(data.shape[:1])} to match data "
            f"{tuple(data.shape)}; got {tuple(label.shape)}"
        )
    floor = -18.420680743952367  # log(1e-8), also for a label that is none of the classes
    classes, logarithms = label.long(), torch.log_softmax(data, 1).clamp_min_(floor)
    if can_read(data):
        # Nearly always all are classes, and the kernel looks: nothing has to be cut then.
        try:
            return F.nll_loss(logarithms, classes, ignore_index=_NO_CLASS, reduction="sum").unsqueeze_(0)
        except (RuntimeError, IndexError):
            pass
    index = classes.unsqueeze(1)
    inside = index.clamp(0, data.shape[1] - 1)
    # Out-of-range labels were clamped for `gather`; they count as the floor.
    return torch.where(inside == index, logarithms.gather(1, inside), floor).sum(0).neg()


@softmax_cross_entropy.gradient
def _(
    p: Params, inputs: Sequence[Tensor], outputs: Sequence[Tensor], head_grads: Sequence[Tensor]
) -> tuple[Tensor, None]:
    data, label = inputs
    index = label.long().unsqueeze(1)
    inside = index.clamp(0, data.shape[1] - 1)
    # Not in place: a second derivative needs the softmax itself.
    grad = torch.softmax(data, 1).scatter_add(1, inside, (inside == index).to(dtype=data.dtype).neg_())
    return grad * head_grads[0], None


@softmax_cross_entropy.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    if data is None:
        return {}
    if len(data) != 2:
        raise ShapeError(f"data must have 2 axes, (N, C); got shape {data}")
    return {"label": data[:1]}
