"""Shapes, axes, and parts of arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading
from ..values import Size

__all__ = ["flattened", "reshape_codes"]


def reshape_codes(
    reader: NodeReader, target: Sequence[Size], shape: Sequence[Size | None] | None
) -> list[int]:
    """Return a shape of ONNX in MXNet's codes: a free size that stays where it is is 0, another one -1."""
    codes: list[int] = []
    for axis, size in enumerate(target):
        if isinstance(size, int):
            codes.append(size)
        elif shape is not None and axis < len(shape) and shape[axis] == size and -1 not in codes:
            codes.append(0)
        else:
            codes.append(-1)
    if codes.count(-1) > 1:
        raise reader.refuse(f"at most one size may be -1 or free (dynamic); got {list(map(str, target))}")
    return codes


@reading("Reshape")
def reshape(reader: NodeReader) -> Symbol:
    """Another shape; an attribute before version 5."""
    target: list[Size] = reader.required("shape") if reader.opset < 5 else reader.sizes(1, "shape")
    shape = reader.shape()
    if reader.attribute("allowzero", 0) and 0 in target:
        raise reader.refuse("MXNet has no arrays of size 0")
    if shape == []:
        return reader.reshape(reader.input(0), [1] * len(target))
    return reader.reshape(reader.input(0), reshape_codes(reader, target, shape))


@reading("Flatten")
def flatten(reader: NodeReader) -> Symbol:
    """Two axes: those before one, and those from it on."""
    axis = reader.attribute("axis", 1)
    return flattened(reader, reader.input(0), axis if axis == 1 else reader.axis(axis))


def flattened(reader: NodeReader, data: Symbol, axis: int) -> Symbol:
    """Return data as rows: the axes before one as the first, those from it on as the second."""
    if axis == 1:
        return reader.op("Flatten", data)
    rank = reader.rank()
    if axis == 0:
        return reader.op("Reshape", data, shape=(1, -1))
    if axis == rank:
        return reader.op("Reshape", data, shape=(-1, 1))
    for _ in range(axis - 1):
        data = reader.op("Reshape", data, shape=(-3, -2))
    return reader.op("Flatten", data)


@reading("Squeeze")
def squeeze(reader: NodeReader) -> Symbol:
    """Fewer axes of size 1."""
    axes = reader.attribute_or_input("axes", 1, 13)
    if axes is None:
        return reader.op("squeeze", reader.input(0))
    if len(axes) == len(reader.shape() or ()):
        return reader.reshape(reader.input(0), [1])
    return reader.op("squeeze", reader.input(0), axis=tuple(axes))


@reading("Unsqueeze")
def unsqueeze(reader: NodeReader) -> Symbol:
    """More axes of size 1."""
    axes = reader.attribute_or_input("axes", 1, 13) or []
    rank = reader.rank()
    data = reader.input(0)
    whole = rank + len(axes)
    if rank == 0:  # an array of one element already
        return reader.reshape(data, [1] * whole)
    for axis in sorted(axis % whole for axis in axes):
        data = reader.op("expand_dims", data, axis=axis)
    return data


@reading("Transpose")
def transpose(reader: NodeReader) -> Symbol:
    """Another order of the axes."""
    axes = reader.attribute("perm", None)
    return reader.op("transpose", reader.input(0), axes=None if axes is None else tuple(axes))


@reading("Shape")
def shape(reader: NodeReader) -> Symbol:
    """The sizes of all axes or of a range of them."""
    found = reader.op("shape_array", reader.input(0))
    start, end = reader.attribute("start", 0), reader.attribute("end", None)
    if not start and end is None:
        return found
    rank = reader.rank()
    first, last, _ = slice(start, end).indices(rank)
    if last <= first:
        raise reader.refuse("MXNet has no arrays of size 0")
    return reader.op("slice_axis", found, axis=0, begin=first, end=last)


@reading("Size")
def size(reader: NodeReader) -> Symbol:
    """The number of elements."""
    return reader.op("size_array", reader.input(0))


@reading("Concat")
def concat(reader: NodeReader) -> Symbol:
    """Arrays one after the other along an axis."""
    filled = [i for i in range(len(reader)) if 0 not in (reader.shape(i) or ())]
    if len(filled) == 1:
        return reader.op("_copy", reader.input(filled[0]))
    return reader.op("Concat", *[reader.input(i) for i in filled], dim=reader.attribute("axis", 1))


@reading("Split")
def split(reader: NodeReader) -> list[Symbol | np.ndarray]:
    """Parts along an axis, of equal or given sizes."""
    axis, count = reader.attribute("axis", 0), len(reader.node.outputs)
    sizes = reader.attribute_or_input("split", 1, 13)
    if sizes is None:
        length = reader.shape()
        length_of_axis = length[axis] if length is not None else None
        if not isinstance(length_of_axis, int):
            return list(reader.op("SliceChannel", reader.input(0), num_outputs=count, axis=axis))
        part = -(-length_of_axis // count)
        sizes = [part] * (count - 1) + [length_of_axis - part * (count - 1)]
    if len(sizes) == 1:
        return [reader.op("_copy", reader.input(0))]
    if len(set(sizes)) == 1 and sizes[0]:
        return list(reader.op("SliceChannel", reader.input(0), num_outputs=count, axis=axis))
    starts = np.cumsum([0, *sizes])[:-1].tolist()
    data = reader.input(0)
    return [
        reader.op("slice_axis", data, axis=axis, begin=start, end=start + length)
        if length
        else _empty(reader, {axis: 0})
        for start, length in zip(starts, sizes)
    ]


def _empty(reader: NodeReader, sizes: dict[int, int]) -> np.ndarray:
    """Return an array without elements, which MXNet lacks, as numbers: they are known."""
    shape = reader.known_shape()
    for axis, size in sizes.items():
        shape[axis] = size
    return np.empty(shape, np.float32 if reader.dtype() == "bfloat16" else reader.dtype())


@reading("Slice")
def slice_(reader: NodeReader) -> Symbol | np.ndarray:
    """Ranges of axes, with steps; attributes before version 10."""
    if reader.opset < 10:
        starts, ends = reader.required("starts"), reader.required("ends")
        axes = reader.attribute("axes", list(range(len(starts))))
        steps = [1] * len(starts)
    else:
        starts, ends = reader.ints(1, "starts"), _ends(reader)
        axes = reader.ints(3, "axes") if reader.has(3) else list(range(len(starts)))
        steps = reader.ints(4, "steps") if reader.has(4) else [1] * len(starts)
    if reader.shape() is None and set(steps) == {1}:
        data = reader.input(0)
        for axis, first, last in zip(axes, starts, ends):
            begin_, end_, _ = _range(reader, first, last, 1, None)
            data = reader.op("slice_axis", data, axis=axis, begin=begin_ or 0, end=end_)
        return data
    rank = reader.rank()
    begin: list[Any] = [None] * rank
    end: list[Any] = [None] * rank
    step: list[Any] = [None] * rank
    shape = reader.shape() or [None] * rank
    for axis, first, last, stride in zip(axes, starts, ends, steps):
        size = shape[axis]
        if (
            isinstance(size, int)
            and isinstance(last, int)
            and not range(*slice(first, last, stride).indices(size))
        ):
            return _empty(reader, {axis: 0})
        begin[axis], end[axis], step[axis] = _range(reader, first, last, stride, size)
    return reader.op("slice", reader.input(0), begin=tuple(begin), end=tuple(end), step=tuple(step))


def _ends(reader: NodeReader) -> list[Any]:
    """Return the ends of ranges; a free size is the end of its axis."""
    return [n if isinstance(n, int) else None for n in reader.sizes(2, "ends")]


def _range(reader: NodeReader, first: int, last: Any, step: int, size: Any) -> tuple[Any, Any, int]:
    if isinstance(size, int):
        first, last, step = slice(first, last, step).indices(size)
        return first, None if last < 0 else last, step
    largest = 1 << 31
    return (
        None if (step < 0 and first >= largest - 1) or (step > 0 and first == 0) else first,
        None if last is None or abs(last) >= largest - 1 else last,
        step,
    )


@reading("Expand")
def expand(reader: NodeReader) -> Symbol:
    """Repeated to a shape, as in arithmetic."""
    sizes = reader.sizes(1, "shape")
    shape = reader.shape()
    if shape is None:
        raise reader.refuse("the number of axes must be known")
    rank = max(len(shape), len(sizes))
    target = [*[1] * (rank - len(sizes)), *sizes]
    own = [*[1] * (rank - len(shape)), *shape]
    data = reader.input(0)
    if len(shape) < rank:
        data = reader.reshape(data, [1] * rank if not shape else [*[1] * (rank - len(shape)), *_same(shape)])
    result = [0 if wanted == 1 or wanted == size else wanted for size, wanted in zip(own, target)]
    free = {axis: size for axis, size in enumerate(result) if isinstance(size, ir.SymbolicDim)}
    for axis, size in free.items():
        like = reader.graph.axis_of(size)
        if like is None:
            raise reader.refuse(
                f"each free (dynamic) size must be a size of an input; got {list(map(str, sizes))}"
            )
        data = reader.op("broadcast_like", data, like[0], lhs_axes=(axis,), rhs_axes=(like[1],))
    known = [size if isinstance(size, int) else 0 for size in result]
    if -1 in known:
        raise reader.refuse(f"sizes must not be negative; got {known}")
    if free and not any(known):
        return data
    return reader.op("broadcast_to", data, shape=tuple(known))


def _same(shape: Sequence[Size | None]) -> list[int]:
    codes = [size if isinstance(size, int) else -1 for size in shape]
    return codes if codes.count(-1) <= 1 else [-2]


@reading("Tile")
def tile(reader: NodeReader) -> Symbol:
    """Repeated along axes."""
    if reader.opset < 6:
        repeats = [1] * reader.rank()
        repeats[reader.ints(2, "axis")[0]] = reader.ints(1, "tiles")[0]
    else:
        repeats = reader.ints(1, "repeats")
    return reader.op("tile", reader.input(0), reps=tuple(repeats))


@reading("Pad")
def pad(reader: NodeReader) -> Symbol:
    """A border on any axes; negative numbers cut."""
    rank = reader.rank()
    if reader.opset < 11:
        pads = reader.attribute("pads", None) or reader.required("paddings")
        value = reader.attribute("value", 0.0)
    else:
        given = reader.ints(1, "pads")
        number = reader.constant(2)
        if reader.has(2) and number is None:
            reader.numbers(2, "constant_value")
        value = 0.0 if number is None else float(number.reshape(-1)[0])
        axes = [axis % rank for axis in reader.ints(3, "axes")] if reader.has(3) else list(range(rank))
        pads = [0] * (2 * rank)
        for i, axis in enumerate(axes):
            pads[axis], pads[rank + axis] = given[i], given[len(axes) + i]
    data, mode = reader.input(0), reader.attribute("mode", "constant")
    widths = list(zip(pads[:rank], pads[rank:]))
    if mode == "constant":
        return _constant_border(reader, data, widths, value)
    sizes = reader.shape() or [None] * rank
    if _is_border_of_pictures(mode, widths, sizes):
        return reader.op("Pad", data, mode=mode, pad_width=tuple(n for pair in widths for n in pair))
    for axis, width in enumerate(widths):
        if width != (0, 0):
            size = sizes[axis]
            if not isinstance(size, int):
                raise reader.refuse(
                    f"the size of axis {axis} must be known for mode {mode!r}; got shape {list(map(str, sizes))}"
                )
            data = _indexed_border(reader, data, axis, size, width, mode)
    return data


def _is_border_of_pictures(
    mode: str, widths: Sequence[tuple[int, int]], sizes: Sequence[Size | None]
) -> bool:
    """Whether MXNet's own operator does it, which needs no sizes: of pictures and volumes, not wider than they are."""
    if mode not in ("edge", "reflect") or len(widths) not in (4, 5) or any(sum(widths[:2], ())):
        return False
    fits = all(
        not isinstance(size, int) or max(pair) < size for pair, size in zip(widths, sizes, strict=True)
    )
    return fits and all(n >= 0 for pair in widths for n in pair)


def _constant_border(
    reader: NodeReader, data: Symbol, widths: Sequence[tuple[int, int]], value: float
) -> Symbol:
    if any(n < 0 for pair in widths for n in pair):
        begin = tuple(max(-before, 0) or None for before, _ in widths)
        end = tuple(min(after, 0) or None for _, after in widths)
        data = reader.op("slice", data, begin=begin, end=end)
    width = tuple(max(n, 0) for pair in widths for n in pair)
    return reader.op("Pad", data, mode="constant", pad_width=width, constant_value=value)


def _indexed_border(
    reader: NodeReader, data: Symbol, axis: int, size: int, width: tuple[int, int], mode: str
) -> Symbol:
    """A border of the array's own elements: their positions are taken."""
    positions = np.pad(np.arange(size), [max(n, 0) for n in width], mode=mode)  # type: ignore[call-overload]
    first, last = max(-width[0], 0), len(positions) + min(width[1], 0)
    indices = reader.fixed(positions[first:last].astype(np.int64), f"positions{axis}")
    return reader.op("take", data, indices, axis=axis)


@reading("DepthToSpace")
def depth_to_space(reader: NodeReader) -> Symbol:
    """Channels to blocks of pixels, depth first or (CRD) columns and rows first."""
    block, data = reader.required("blocksize"), reader.input(0)
    if reader.attribute("mode", "DCR") == "DCR":
        return reader.op("depth_to_space", data, block_size=block)
    split_ = reader.op("Reshape", data, shape=(0, -4, -1, block * block, -2))
    split_ = reader.op("Reshape", split_, shape=(0, 0, -4, block, block, -2))
    moved = reader.op("transpose", split_, axes=(0, 1, 4, 2, 5, 3))
    return reader.op("Reshape", moved, shape=(0, 0, -3, -3))


@reading("SpaceToDepth")
def space_to_depth(reader: NodeReader) -> Symbol:
    """Blocks of pixels to channels, depth first or (CRD) channels of the input first."""
    block, data = reader.required("blocksize"), reader.input(0)
    if reader.attribute("mode", "DCR") == "DCR":
        return reader.op("space_to_depth", data, block_size=block)
    parts = reader.op("Reshape", data, shape=(0, 0, -4, -1, block, -4, -1, block))
    moved = reader.op("transpose", parts, axes=(0, 1, 3, 5, 2, 4))
    return reader.op("Reshape", reader.op("Reshape", moved, shape=(0, -3, 0, 0, 0)), shape=(0, -3, 0, 0))


@reading("ReverseSequence")
def reverse_sequence(reader: NodeReader) -> Symbol:
    """The first elements of each sequence in the opposite order."""
    time, batch = reader.attribute("time_axis", 0), reader.attribute("batch_axis", 1)
    order = [time, batch, *[axis for axis in range(reader.rank()) if axis not in (time, batch)]]
    data = reader.transpose(reader.input(0), order)
    lengths = reader.cast(reader.input(1), "float32")
    found = reader.op("SequenceReverse", data, lengths, use_sequence_length=True)
    return reader.transpose(found, np.argsort(order).tolist())


@reading("ConstantOfShape")
def constant_of_shape(reader: NodeReader) -> Symbol:
    """One number everywhere; a shape with free sizes is that of an input, which `Expand` tells better."""
    sizes = reader.ints(0, "shape")
    value = reader.attribute("value", None)
    numbers = np.zeros(1, np.float32) if value is None else value.numpy()
    if 0 in sizes:
        raise reader.refuse("MXNet has no arrays of size 0")
    dtype = reader.type_name(ir.DataType.FLOAT if value is None else value.dtype)
    return reader.op("_full", shape=tuple(sizes) or (1,), value=float(numbers.reshape(-1)[0]), dtype=dtype)


@reading("Range")
def range_(reader: NodeReader) -> Symbol:
    """Numbers from a start, in steps, before an end."""
    start, end, step = (
        reader.numbers(i, what).reshape(-1)[0] for i, what in enumerate(("start", "limit", "delta"))
    )
    like = reader.graph.axis_of(end) if isinstance(end, ir.SymbolicDim) else None
    if like is not None and (start, step) == (0, 1):
        return reader.op("_contrib_arange_like", reader.cast(like[0], reader.output_dtype()), axis=like[1])
    if not all(isinstance(n, (int, float, np.number)) for n in (start, end, step)):
        raise reader.refuse(
            f"start, limit and delta must be numbers, or 0, a size of an input and 1; got {start}, {end} and {step}"
        )
    return reader.fixed(np.arange(start, end, step, dtype=np.asarray(start).dtype))


@reading("EyeLike")
def eye_like(reader: NodeReader) -> Symbol:
    """A matrix of the input's shape, with ones on a diagonal."""
    rows, columns = reader.known_shape()
    dtype = reader.attribute("dtype", None)
    return reader.op(
        "_eye",
        N=rows,
        M=columns,
        k=reader.attribute("k", 0),
        dtype=reader.dtype() if dtype is None else reader.type_name(dtype),
    )


@reading("Trilu")
def triangle(reader: NodeReader) -> Symbol:
    """The upper or lower triangle of matrices, and 0."""
    offset = reader.ints(1, "k")[0] if reader.has(1) else 0
    if math.prod(n if isinstance(n, int) else 1 for n in reader.shape() or [1]) == 0:
        raise reader.refuse("MXNet has no arrays of size 0")
    return reader.op("_onnx_triangle", reader.input(0), k=offset, upper=bool(reader.attribute("upper", 1)))
