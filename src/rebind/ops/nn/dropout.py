"""Dropout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor

from ... import draws
from ...draws import Source
from ...params import Params
from ...shapes import Shape
from ..declaration import Shapes, operator

__all__ = ["dropout"]


@operator(
    "Dropout",
    outputs=("output", "mask"),
    visible=lambda p: 1,
    draws=lambda p, training: training or p.mode == "always",
)
def dropout(
    data: Tensor,
    *,
    p: float = 0.5,
    mode: Literal["training", "always"] = "training",
    axes: tuple[int, ...] = (),
    cudnn_off: bool | None = False,
    training: bool = False,
    generator: Source | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Zeros in place of randomly chosen elements; the others are scaled up so that the mean stays.

    Parameters
    ----------
    p
        The fraction that is dropped, in [0, 1]. With 1 the result is 0; MXNet's is not a number, 0 scaled up by
        infinity.
    mode
        ``'training'``: only in training; ``'always'``: in inference too (as Monte Carlo dropout needs it).
    axes
        Axes along which one draw counts for all: ``(2, 3)`` on NCHW drops whole channels.
    cudnn_off
        No effect here; accepted for old programs.

    Shapes
    ------
    data, out : any, the same
    mask : that of data, with 1 at `axes`; hidden, and None when nothing is to be dropped

    References
    ----------
    Srivastava et al., Dropout: A Simple Way to Prevent Neural Networks from Overfitting.

    Examples
    --------
    >>> ones = torch.ones(1000)
    >>> dropped, _ = dropout(ones, p=0.75, training=True)
    >>> dropped.unique()
    tensor([0., 4.])
    >>> dropout(ones)[0] is ones
    True
    """
    if not training and mode == "training":
        return data, None
    shape = _mask_shape(data.shape, axes) if axes else data.shape
    # Scaled in training, so that inference is the identity.
    mask = draws.bernoulli(shape, generator, 1.0 - p, dtype=data.dtype, device=data.device)
    if p < 1.0:
        mask.div_(1.0 - p)
    return data * mask, mask


def _mask_shape(shape: Shape | torch.Size, axes: tuple[int, ...]) -> Shape:
    """Return the shape of the mask: 1 along `axes`, where it broadcasts."""
    shared = {axis % len(shape) for axis in axes}
    return tuple(1 if axis in shared else n for axis, n in enumerate(shape))


@dropout.hidden
def _(
    p: Params, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor | None], training: bool
) -> Mapping[str, Tensor]:
    data = inputs[0]
    if outputs[1] is not None or data is None:
        return {}
    # Nothing is dropped; MXNet shows memory that it never wrote.
    return {"mask": data.new_ones(_mask_shape(data.shape, p.axes))}


@dropout.output_shapes
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    data = shapes["data"]
    if data is None or any(not -len(data) <= axis < len(data) for axis in p.axes):
        return []
    return [data, _mask_shape(data, p.axes)]


@dropout.derivative("data")
def _(p: Params, head_grad: Tensor, outputs: tuple[Tensor, Tensor], data: Tensor) -> Tensor:
    return head_grad * outputs[1]


@dropout.check
def _(p: Params) -> str | None:
    if not 0.0 <= p["p"] <= 1.0:
        return f"p must be in [0, 1]; got {p['p']}"
    return None


@dropout.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return {"data": outputs[0]}
