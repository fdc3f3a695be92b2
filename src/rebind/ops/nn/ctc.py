"""The loss of sequences whose labels are not aligned with them: by itself, and as the output of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import DTypeError, ShapeError
from ...params import AtLeast, Params
from ...shapes import Shape
from .._derivative import differentiable_twice
from ..declaration import Asked, Labels, Shapes, operator
from ..loss._common import like_first_output

__all__ = ["ctc_loss", "warp_ctc"]


def _skipped(name: str, p: Params) -> bool:
    """Return whether a length is not taken: its flag is off."""
    return name.endswith("_lengths") and not p[f"use_{name}"]


def _classes(p: Params, scores: Shape, label: Tensor, others: Mapping[str, Tensor]) -> Asked | None:
    """Return the check of the labels before the padding, or within the lengths that are given."""
    if not p.use_label_lengths:
        padding = label == (0 if p.blank_label == "first" else -1)
        return Asked(scores[2], padding.cumsum(1) == 0, int(p.blank_label == "first"))
    if "label_lengths" not in others:  # computed in the network
        return None
    lengths = others["label_lengths"].to(label.device).reshape(-1, 1)
    return Asked(scores[2], torch.arange(label.shape[1], device=label.device) < lengths)


@operator(
    "CTCLoss",
    "ctc_loss",
    "_contrib_CTCLoss",
    "_contrib_ctc_loss",
    skip=_skipped,
    outputs=("output0",),
    counted=2,  # MXNet stores the gradient in a second output
    types=dict.fromkeys(("label", "data_lengths", "label_lengths"), "any"),
    labels=Labels(_classes, placed=True),
)
def ctc_loss(
    data: Tensor,
    label: Tensor,
    data_lengths: Tensor | None = None,
    label_lengths: Tensor | None = None,
    *,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
) -> Tensor:
    """Connectionist temporal classification: ``-log p(label | data)`` of each sequence.

    p is the sum over all ways to write the labels out over the time steps, with blanks between them and labels
    repeated; a step's probabilities are the softmax of its scores. The gradient flows to the data alone.

    A sequence that cannot have its labels (more of them than steps, counted with a blank between equal neighbours)
    has loss 0 and no gradient, as in MXNet. A label that is no class has loss nan and no gradient, where MXNet reads
    foreign memory; lengths outside of the arrays are clipped to them. The blank does not belong
    among the labels; if it is there, it is a label like any other.

    Parameters
    ----------
    use_data_lengths
        Use `data_lengths`; otherwise all T steps belong to each sequence.
    use_label_lengths
        Use `label_lengths`; otherwise labels end before the first 0, with `blank_label` ``'first'``, or the first
        -1, with ``'last'``.
    blank_label
        Which class is the blank, the ``'first'`` one (labels are 1 ... C-1) or the ``'last'`` one (0 ... C-2).

    Shapes
    ------
    data : (T, N, C)               scores, before the softmax
    label : (N, L)                 of any type
    data_lengths, label_lengths : (N,)      of any type; absent without their flags
    out : (N,)

    References
    ----------
    Graves, Fernández, Gomez and Schmidhuber, Connectionist Temporal Classification: Labelling Unsegmented Sequence
    Data with Recurrent Neural Networks.

    Examples
    --------
    >>> ctc_loss(torch.zeros(2, 1, 2), torch.tensor([[1]])).exp()  # 3 of 4 ways: 1 1, 1 blank, blank 1
    tensor([1.3333])
    """
    steps, batch, classes = _check_ctc(
        *(None if each is None else tuple(each.shape) for each in (data, label, data_lengths, label_lengths))
    )
    if not data.is_floating_point():
        raise DTypeError(f"data must be of a floating type; got {str(data.dtype).removeprefix('torch.')}")
    if data.is_meta:  # torch does not know the shape of its loss
        return data.new_empty(batch)
    if not steps or not batch:
        return data.sum((0, 2))  # zeros; torch takes one step and one sequence at least

    times = _lengths(data_lengths, batch, steps, label.device)
    if data_lengths is not None:
        # What comes after the data may hold anything, and has a gradient of 0.
        beyond = torch.arange(steps, device=data.device).unsqueeze(1) >= times
        data = data.masked_fill(beyond.unsqueeze(2), 0)

    blank = 0 if blank_label == "first" else classes - 1
    index, lengths = label.long(), _lengths(label_lengths, batch, label.shape[1], label.device)
    if label_lengths is None and label.shape[1]:
        # Where the blank is class 0, 0 cannot be a label and pads; else -1 does.
        padding = index == (0 if blank_label == "first" else -1)
        # Of equal values `argmax` gives the first: where the padding begins.
        lengths = torch.where(padding.any(1), padding.int().argmax(1), lengths)
    # What comes after the labels may hold anything.
    unused = torch.arange(index.shape[1], device=index.device) >= lengths.unsqueeze(1)
    known = ((index >= 0) & (index < classes) | unused).all(1)
    # In range for both forms, which do not check; sequences whose labels were not are NaN at the end.
    targets = index.clamp(0, classes - 1)

    def fast(scores: Tensor) -> Tensor:
        # The last argument: a sequence that is impossible has loss 0 and no gradient, as in MXNet.
        return F.ctc_loss(scores.log_softmax(2), targets, times, lengths, blank, "none", True)

    def exact(scores: Tensor) -> Tensor:
        return _forward_algorithm(scores.log_softmax(2), targets, times, lengths, blank)

    # torch's loss takes no types of 16 bits.
    wide = data.float() if data.dtype.itemsize == 2 else data
    return differentiable_twice(fast, exact, wide).to(dtype=data.dtype).masked_fill(~known, float("nan"))


def _lengths(given: Tensor | None, batch: int, most: int, device: torch.device) -> Tensor:
    """Return lengths from 0 to `most`; all of them `most` when none are given."""
    if given is None:
        return torch.full((batch,), most, dtype=torch.long, device=device)
    return given.long().clamp(0, most)


def _forward_algorithm(scores: Tensor, targets: Tensor, times: Tensor, lengths: Tensor, blank: int) -> Tensor:
    """Do what torch's loss does in operations that can be differentiated twice: one round for each time step."""
    # The forward variables of Graves et al. (2006), as logarithms: what all paths to a position have in sum.
    steps, batch, _ = scores.shape
    # Labels with blanks around each: positions 0, 2, ... 2 L are blanks.
    path = targets.new_full((batch, 2 * targets.shape[1] + 1), blank)
    path[:, 1::2] = targets
    positions = torch.arange(path.shape[1], device=path.device)
    # From a label on to the next one, past the blank between them, unless the two are equal.
    skips = torch.zeros_like(path, dtype=torch.bool)
    skips[:, 3::2] = targets[:, 1:] != targets[:, :-1]
    never = torch.finfo(scores.dtype).min / 4  # finite, so that no difference is nan
    emitted = scores.gather(2, path.expand(steps, -1, -1))  # (T, N, 2 L + 1)
    # A path starts with the blank or with the first label.
    reached = torch.where(positions < 2, emitted[0], never)
    for step in range(1, steps):
        # Three ways lead to a position: it stays, it comes from the one before, or it skips a blank.
        onward = F.pad(reached, (2, 0), value=never)
        ways = torch.stack((reached, onward[:, 1:-1], torch.where(skips, onward[:, :-2], never)))
        # A sequence that has ended keeps what it reached, while others of its batch go on.
        reached = torch.where((step < times).unsqueeze(1), emitted[step] + ways.logsumexp(0), reached)
    # A path ends at the last label or at the blank after it.
    last = 2 * lengths.unsqueeze(1)
    ends = torch.where((positions == last) | (positions == last - 1), reached, never).logsumexp(1)
    # A label that is too long for its data has no path at all: loss 0, as `zero_infinity` has it.
    possible = (ends > never / 2) & (times > 0)
    return torch.where(possible, -ends, 0.0)


def _check_ctc(
    data: Shape | None, label: Shape | None, data_lengths: Shape | None, label_lengths: Shape | None
) -> Shape:
    """Return the shape of data; a size may be 0, unknown."""
    if data is None or len(data) != 3:
        raise ShapeError(f"data must have 3 axes (T, N, C); got shape {data}")
    if label is not None and (len(label) != 2 or (data[1] and label[0] not in (0, data[1]))):
        raise ShapeError(f"label must have shape ({data[1]}, L) to match data {data}; got {label}")
    for name, shape in (("data_lengths", data_lengths), ("label_lengths", label_lengths)):
        if shape is not None and (len(shape) != 1 or (data[1] and shape[0] not in (0, data[1]))):
            raise ShapeError(f"{name} must have shape ({data[1]},) to match data {data}; got {shape}")
    return data


@ctc_loss.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    if data is None:
        return {}
    _check_ctc(data, shapes["label"], shapes.get("data_lengths"), shapes.get("label_lengths"))
    batch = (data[1],)
    return {"label": (*batch, 0), "data_lengths": batch, "label_lengths": batch}


def _classes_but_padding(p: Params, scores: Shape, label: Tensor, others: Mapping[str, Tensor]) -> Asked:
    """Return the check of all labels but the padding, in any order."""
    return Asked(scores[1], label != 0, first=1)


@operator(
    "WarpCTC",
    types={"label": "any"},
    head_gradient=False,
    labels=Labels(_classes_but_padding, scores_out=True),
)
def warp_ctc(
    data: Tensor,
    label: Tensor,
    *,
    label_length: Annotated[int, AtLeast(1)],
    input_length: Annotated[int, AtLeast(1)],
) -> Tensor:
    """Softmax of each time step, whose gradient is that of `CTCLoss`, summed over the sequences.

    It was a plugin of MXNet's, which programs that read text in pictures were built with. Step t of sequence n is
    row ``t * N + n`` of `data`: what an unrolled network gives, joined along axis 0. The blank is class 0; 0 pads the
    labels of a sequence, which end before the first one. What follows the output has no influence on the gradient.

    Parameters
    ----------
    label_length
        L, the labels of a sequence, with their padding.
    input_length
        T, the time steps of a sequence.

    Shapes
    ------
    data, out : (T * N, C)      scores, before the softmax
    label : (N * L,)            of any type

    Examples
    --------
    >>> scores = torch.zeros(2, 2, requires_grad=True)
    >>> out = warp_ctc(scores, torch.tensor([1]), label_length=1, input_length=2)
    >>> out.sum().backward()
    >>> out.detach(), scores.grad
    (tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]]), tensor([[ 0.1667, -0.1667],
            [ 0.1667, -0.1667]]))
    """
    _check_warp(tuple(data.shape), tuple(label.shape), label_length, input_length)
    return torch.softmax(data, 1)


@warp_ctc.gradient
def _(
    p: Params, inputs: Sequence[Tensor], outputs: Sequence[Tensor], head_grads: Sequence[Tensor]
) -> tuple[Tensor, None]:
    with torch.enable_grad():
        scores = inputs[0].detach().requires_grad_()
        steps = scores.reshape(p.input_length, -1, scores.shape[1])
        losses = ctc_loss(steps, inputs[1].reshape(-1, p.label_length))
        return torch.autograd.grad(losses.sum(), scores)[0], None


def _check_warp(data: Shape, label: Shape | None, label_length: int, input_length: int) -> None:
    """Check the shapes; a size may be 0, unknown."""
    if len(data) != 2 or data[0] % input_length:
        raise ShapeError(
            f"data must have shape ({input_length} * N, C) with input_length {input_length}; got {data}"
        )
    wanted = (data[0] // input_length * label_length,)
    if label is not None and (len(label) != 1 or (data[0] and label[0] not in (0, *wanted))):
        raise ShapeError(
            f"label must have shape {wanted} to match data {data}, input_length {input_length} and label_length "
            f"{label_length}; got {label}"
        )


@warp_ctc.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data, label = shapes["data"], shapes["label"]
    if data is None:
        return {} if label is None else {"data": (label[0] // p.label_length * p.input_length, 0)}
    _check_warp(data, label, p.label_length, p.input_length)
    if label is not None and not data[0]:
        data = (label[0] // p.label_length * p.input_length, data[1])
    return {"data": data, "label": (data[0] // p.input_length * p.label_length,)}


warp_ctc.shapes_from_outputs(like_first_output)
