"""Arrays joined and split: Concat, stack, SliceChannel and the like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import torch
from torch import Tensor

from ..errors import ArgumentError, ShapeError
from ..params import Between, Params
from ..shapes import Shape, normalize_axis
from .declaration import Shapes, operator

__all__ = ["concat", "slice_channel", "split_v2", "stack"]

MAX_SECTIONS = 1_000_000  # a symbol lists its outputs by name: a file must not make it take all memory


@operator("Concat", "concat", count="num_args")
def concat(*data: Tensor, dim: int = 1) -> Tensor:
    """Arrays joined along an axis they have.

    >>> concat(torch.zeros(2, 3), torch.ones(2, 1), dim=1).shape
    torch.Size([2, 4])
    """
    return _joined(data, dim)


@concat.output_shapes
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    first, *others = shapes.values() or (None,)
    if first is None or not -len(first) <= p.dim < len(first):
        return []
    axis, total = p.dim % len(first), first[p.dim]
    for shape in others:
        if shape is None or (*shape[:axis], *shape[axis + 1 :]) != (*first[:axis], *first[axis + 1 :]):
            return []
        total += shape[axis]
    return [(*first[:axis], total, *first[axis + 1 :])]


def _joined(data: tuple[Tensor, ...], dim: int) -> Tensor:
    try:
        return torch.cat(data, dim)
    except (RuntimeError, IndexError) as error:
        # Shapes are compared only after torch has refused them: a call that fits pays nothing.
        raise _concat_error(data, dim) or error from None


def _concat_error(data: Sequence[Tensor], dim: int) -> Exception | None:
    """Return the error for arrays that do not fit together."""
    if not data:
        return ArgumentError("needs at least one array; got none")
    first = tuple(data[0].shape)
    if not -len(first) <= dim < len(first):
        return ShapeError(
            f"dim must be in [{-len(first)}, {len(first)}) for data of shape {first}; got {dim}"
        )
    # Every axis but this one has to agree; the first input that differs is named.
    axis = dim % len(first)
    for position, tensor in enumerate(data):
        shape = tuple(tensor.shape)
        if len(shape) != len(first) or any(
            a != b for i, (a, b) in enumerate(zip(shape, first, strict=True)) if i != axis
        ):
            return ShapeError(
                f"arg{position} must have the shape of arg0, {first}, but for axis {axis}; got {shape}"
            )
    return None


def _common_sizes(shapes: Sequence[Shape | None], ndim: int) -> list[int]:
    """Return the sizes that shapes of `ndim` axes have in common, 0 where none is known."""
    common = [0] * ndim
    for shape in shapes:
        if shape is not None and len(shape) == ndim:
            # The first that is not 0; that two of them differ is the kernel's to say.
            common = [a or b for a, b in zip(common, shape, strict=True)]
    return common


@concat.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    known = next((shape for shape in shapes.values() if shape), None)
    if known is None or not -len(known) <= p.dim < len(known):
        return {}
    axis = p.dim % len(known)
    # What one input shows holds for all, except along the joined axis, where each has a size of its own.
    common = _common_sizes(list(shapes.values()), len(known))
    return {
        name: _with(common, axis, shape[axis] if shape and len(shape) == len(known) else 0)
        for name, shape in shapes.items()
    }


@concat.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    out = outputs[0]
    if out is None or not -len(out) <= p.dim < len(out):
        return {}
    axis = p.dim % len(out)
    sizes = {name: shape[axis] if shape and len(shape) == len(out) else 0 for name, shape in shapes.items()}
    # The one unknown size is what the others leave of the output.
    unknown = [name for name, size in sizes.items() if not size]
    if out[axis] and len(unknown) == 1:
        sizes[unknown[0]] = max(out[axis] - sum(sizes.values()), 0)
    return {name: _with(list(out), axis, size) for name, size in sizes.items()}


def _with(shape: list[int], axis: int, size: int) -> Shape:
    return (*shape[:axis], size, *shape[axis + 1 :])


@operator("_rnn_param_concat", count="num_args")
def rnn_param_concat(*data: Tensor, dim: int = 1) -> Tensor:
    """Arrays joined along an axis; what RNN layers use to pack their parameters.

    >>> rnn_param_concat(torch.tensor([1, 2]), torch.tensor([3]), dim=0)
    tensor([1, 2, 3])
    """
    return _joined(data, dim)


@operator("stack", count="num_args")
def stack(*data: Tensor, axis: int = 0) -> Tensor:
    """Arrays of one shape joined along a new axis.

    >>> stack(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 2],
            [3, 4]])
    """
    try:
        return torch.stack(data, axis)
    except (RuntimeError, IndexError) as error:
        if not data:
            raise ArgumentError("needs at least one array; got none") from None
        normalize_axis(axis, data[0].ndim + 1, "axis")
        if len({tensor.shape for tensor in data}) > 1:
            shapes = ", ".join(str(tuple(tensor.shape)) for tensor in data)
            raise ShapeError(f"all arrays must have one shape; got {shapes}") from None
        raise error


@stack.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    known = next((shape for shape in shapes.values() if shape), None)
    if known is None:
        return {}
    return dict.fromkeys(shapes, tuple(_common_sizes(list(shapes.values()), len(known))))


@stack.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    out = outputs[0]
    if out is None or not -len(out) <= p.axis < len(out):
        return {}
    axis = p.axis % len(out)
    return dict.fromkeys(shapes, out[:axis] + out[axis + 1 :])


@operator(
    "SliceChannel",
    "split",
    outputs=lambda p: tuple(f"output{i}" for i in range(p.num_outputs)),
)
def slice_channel(
    data: Tensor,
    *,
    num_outputs: Annotated[int, Between(1, MAX_SECTIONS)],
    axis: int = 1,
    squeeze_axis: bool = False,
) -> Tensor | tuple[Tensor, ...]:
    """`data` split along an axis into equal sections.

    With `squeeze_axis` the axis is dropped from each section, which then must be of size 1.

    >>> slice_channel(torch.tensor([[1, 2, 3, 4]]), num_outputs=2)
    (tensor([[1, 2]]), tensor([[3, 4]]))
    """
    axis = normalize_axis(axis, data.ndim, "axis")
    size = data.shape[axis]
    if size % num_outputs or (squeeze_axis and size != num_outputs):
        demand = (
            "equal to num_outputs, with squeeze_axis,"
            if squeeze_axis
            else f"a multiple of num_outputs={num_outputs}"
        )
        raise ShapeError(f"size of axis {axis} must be {demand}; got data of shape {tuple(data.shape)}")
    if squeeze_axis:
        slices = data.unbind(axis)
        if data.ndim == 1:
            # MXNet has no arrays without axes.
            slices = tuple(section.reshape(1) for section in slices)
    else:
        slices = data.chunk(num_outputs, axis)
    # One output is a tensor, as of any operator, not a tuple of one.
    return slices[0] if num_outputs == 1 else slices


@slice_channel.output_shapes
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    data = shapes["data"]
    if data is None or len(data) < 2 or not -len(data) <= p.axis < len(data):
        return []
    axis = p.axis % len(data)
    size, rest = divmod(data[axis], p.num_outputs)
    if rest or (p.squeeze_axis and size != 1):
        return []
    section = (*data[:axis], *(() if p.squeeze_axis else (size,)), *data[axis + 1 :])
    return [section] * p.num_outputs


@slice_channel.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    known = next((shape for shape in outputs if shape), None)
    if known is None:
        return {}
    # Squeezed outputs lack the axis; the data has it.
    ndim = len(known) + p.squeeze_axis
    if not -ndim <= p.axis < ndim:
        return {}
    axis = p.axis % ndim
    if p.squeeze_axis:
        return {"data": (*known[:axis], p.num_outputs, *known[axis:])}
    return {"data": _with(list(known), axis, known[axis] * p.num_outputs)}


@operator(
    "_split_v2",
    outputs=lambda p: _split_names(p.sections or len(p.indices)),
)
def split_v2(
    data: Tensor,
    *,
    indices: tuple[int, ...],
    axis: int = 1,
    squeeze_axis: bool = False,
    sections: Annotated[int, Between(0, MAX_SECTIONS)] = 0,
) -> Tensor | tuple[Tensor, ...]:
    """`data` split along an axis, into equal `sections` or at `indices`, the first of which is 0.

    >>> split_v2(torch.tensor([1, 2, 3]), indices=(0, 2), axis=0)
    (tensor([1, 2]), tensor([3]))
    """
    axis = normalize_axis(axis, data.ndim, "axis")
    size = data.shape[axis]
    if sections:
        if size % sections:
            raise ShapeError(f"size of axis {axis} must be a multiple of sections={sections}; got {size}")
        slices: Sequence[Tensor] = data.chunk(sections, axis)
    else:
        # The first index is 0, where the first section begins anyhow.
        slices = data.tensor_split(list(indices[1:]), axis)
    if squeeze_axis:
        if any(section.shape[axis] != 1 for section in slices):
            raise ShapeError(f"squeeze_axis needs sections of size 1; got data of shape {tuple(data.shape)}")
        slices = [section.squeeze(axis) if section.ndim > 1 else section for section in slices]
    return slices[0] if len(slices) == 1 else tuple(slices)


def _split_names(count: int) -> tuple[str, ...]:
    return ("output",) if count == 1 else tuple(f"output{i}" for i in range(count))
