"""Shapes, axes, and parts of tensors."""

from __future__ import annotations

from typing import Any

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading
from ..sizes import Size, is_free

__all__ = ["sliced"]

#: From this on, the end of a slice is that of the axis.
_END = 1 << 31


@reading("view", "_unsafe_view", "reshape", "flatten", "unflatten")
def reshape(reader: NodeReader) -> Symbol:
    """Another shape."""
    return reader.reshape(reader.input(), reader.shape(), reader.output_shape())


@reading("unsqueeze")
def unsqueeze(reader: NodeReader) -> Symbol:
    """One more axis, of size 1."""
    shape, target = reader.shape(), reader.output_shape()
    if len(shape) == len(target):  # a tensor without axes is an array of one element
        return reader.input()
    return reader.op("expand_dims", reader.input(), axis=reader.axis(reader.argument("dim"), len(target)))


@reading("squeeze")
def squeeze(reader: NodeReader) -> Symbol:
    """Fewer axes of size 1: those that are named, or all."""
    shape, target = reader.shape(), reader.output_shape()
    if shape == target:
        return reader.input()
    if target == [1]:
        return reader.op("Reshape", reader.input(), shape=(1,))
    named = reader.axes() if reader.has("dim") else None
    axes = [i for i, size in enumerate(shape) if size == 1 and (named is None or i in named)]
    return reader.op("squeeze", reader.input(), axis=tuple(axes))


@reading("permute")
def permute(reader: NodeReader) -> Symbol:
    """Another order of the axes."""
    return reader.transpose(reader.input(), [reader.axis(axis) for axis in reader.argument("dims")])


@reading("transpose", "t")
def transpose(reader: NodeReader) -> Symbol:
    """Two axes exchanged."""
    rank = reader.rank()
    first, second = (
        reader.axis(reader.argument(name, default)) for name, default in (("dim0", 0), ("dim1", 1))
    )
    if first == second or rank == 1:
        return reader.input()
    return reader.op("SwapAxis", reader.input(), dim1=first, dim2=second)


@reading("expand", "broadcast_to")
def expand(reader: NodeReader) -> Symbol:
    """Repeated to a shape."""
    shape, target = reader.shape(), reader.output_shape()
    return reader.input() if shape == target else reader.broadcast_to(reader.input(), shape, target)


@reading("copy")
def copy(reader: NodeReader) -> Symbol:
    """Another tensor, in the shape and type of the first."""
    shape, target = reader.shape("src"), reader.output_shape()
    data = reader.input("src")
    if shape != target:
        data = reader.broadcast_to(data, shape, target)
    return data if reader.dtype("src") == reader.output_dtype() else reader.cast(data, reader.output_dtype())


@reading("repeat", "tile")
def repeat(reader: NodeReader) -> Symbol:
    """Repeated along axes."""
    repeats = reader.argument("repeats") or reader.argument("dims")
    if any(map(is_free, repeats)):
        return reader.broadcast_to(reader.input(), reader.shape(), reader.output_shape())
    return reader.op("tile", reader.input(), reps=tuple(repeats))


@reading("repeat_interleave")
def repeat_interleave(reader: NodeReader) -> Symbol:
    """Each element repeated, one after the other."""
    repeats, axis = reader.argument("repeats"), reader.argument("dim")
    if not isinstance(repeats, int):
        raise reader.refuse("repeats must be a constant number")
    return reader.op("repeat", reader.input(), repeats=repeats, axis=axis)


@reading("cat")
def concatenate(reader: NodeReader) -> Symbol:
    """Tensors one after the other along an axis."""
    nodes = reader.sources("tensors")
    arrays = [reader.graph.symbol(node) for node in nodes if 0 not in node.meta["val"].shape]
    axis = reader.axis(reader.argument("dim", 0), len(reader.output_shape()))
    return reader.op("Concat", *arrays, dim=axis) if len(arrays) > 1 else arrays[0]


@reading("select_scatter")
def select_scatter(reader: NodeReader) -> Symbol:
    """The tensor with one slice of an axis replaced."""
    axis, index = reader.axis(reader.argument("dim")), reader.argument("index")
    end = None if index == -1 else index + 1
    return _replaced(reader, axis, index, end, reader.op("expand_dims", reader.input("src"), axis=axis))


@reading("slice_scatter")
def slice_scatter(reader: NodeReader) -> Symbol:
    """The tensor with a range of an axis replaced."""
    axis, size = reader.axis(reader.argument("dim", 0)), reader.shape()[reader.argument("dim", 0)]
    end = reader.argument("end", _END)
    if (step := reader.argument("step", 1)) != 1:
        raise reader.refuse(f"step must be 1; got {step}")
    end = None if end == size or (not is_free(end) and end >= _END) else end
    return _replaced(reader, axis, reader.argument("start", 0), end, reader.input("src"))


def _replaced(reader: NodeReader, axis: int, start: Size, end: Size | None, part: Symbol) -> Symbol:
    """Return data with a range of an axis replaced, to its end where that is None."""
    if is_free(start) or (end is not None and is_free(end)):
        raise reader.refuse(f"start and end must be constant numbers; got {start} and {end}")
    size = reader.shape()[axis]
    if not is_free(size):
        start, end, _ = slice(start, end).indices(size)
    parts = [part]
    if start:
        parts.insert(0, reader.slice_axis(reader.input(), axis, 0, start))
    if end not in (None, size):
        parts.append(reader.slice_axis(reader.input(), axis, end, None))
    return reader.op("Concat", *parts, dim=axis) if len(parts) > 1 else part


@reading("stack")
def stack(reader: NodeReader) -> Symbol:
    """Tensors side by side along a new axis."""
    axis = reader.axis(reader.argument("dim", 0), len(reader.output_shape()))
    return reader.op("stack", *reader.inputs(), axis=axis)


@reading("split", "split_with_sizes", "chunk", "unbind", "tensor_split")
def split(reader: NodeReader) -> list[Symbol]:
    """Slices along an axis, of equal or given sizes; `unbind` leaves the axis out."""
    data, axis = reader.input(), reader.axis(reader.argument("dim", 0))
    parts = list(reader.node.meta["val"])
    squeezed = str(reader.node.target).startswith("aten.unbind")
    if len(parts) == 1 and not squeezed:
        return [data]
    sizes = [reader.output_shape(i)[axis] for i in range(len(parts))] if not squeezed else [1] * len(parts)
    if len(set(sizes)) == 1:
        found = reader.op("SliceChannel", data, num_outputs=len(parts), axis=axis, squeeze_axis=squeezed)
        return list(found) if len(parts) > 1 else [found]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    ends = [start + size for start, size in zip(starts, sizes)]
    if any(map(is_free, [*starts, *ends[:-1]])):
        raise reader.refuse(f"all sizes but the last must be constant numbers; got {sizes}")
    return [
        reader.slice_axis(data, axis, start, None if is_free(end) else end)
        for start, end in zip(starts, ends)
    ]


@reading("slice", "narrow")
def slice_(reader: NodeReader) -> Symbol:
    """A range of an axis, with steps."""
    axis, step = reader.axis(reader.argument("dim", 0)), reader.argument("step", 1)
    start, size = reader.argument("start", 0), reader.shape()[axis]
    length = reader.argument("length")
    end = reader.argument("end", _END) if length is None else start + length
    return sliced(reader, reader.input(), axis, start, end, size, step)


def sliced(
    reader: NodeReader, data: Symbol, axis: int, start: Any, end: Any, size: Size, step: int = 1
) -> Symbol:
    """Return a range of an axis; free ends are that of the axis, at a distance from it, or a size of an input."""
    if end is not None and (end == size or (not is_free(end) and end >= _END)):
        end = None
    first = _counted_from_end(start, size) if is_free(start) else start
    if first is None:
        raise reader.refuse(f"start must be a constant number; got {start}")
    start = first
    if end is not None and is_free(end):
        end = _counted_from_end(end, size) or end
    if start == 0 and end is None and step == 1:
        return data
    if end is not None and is_free(end):
        if start or step != 1:
            raise reader.refuse(
                f"start must be 0 and step 1 where end is a free (dynamic) size; got {start} and {step}"
            )
        return reader.op(
            "slice_like", data, reader.along(reader.counted(end), axis, reader.rank()), axes=(axis,)
        )
    if step == 1:
        return reader.slice_axis(data, axis, start, end)
    nothing: list[Any] = [None] * axis
    return reader.op("slice", data, begin=(*nothing, start), end=(*nothing, end), step=(*nothing, step))


def _counted_from_end(position: Any, size: Size) -> int | None:
    """Return a position as a negative number, if it is at a fixed distance from the end of a free axis."""
    distance = position - size
    return int(distance) if distance.is_number and distance < 0 else None


@reading("select")
def select(reader: NodeReader) -> Symbol:
    """One slice of an axis, which is left out."""
    axis, index = reader.axis(reader.argument("dim")), reader.argument("index")
    size = reader.shape()[axis]
    if is_free(index):
        index = _counted_from_end(index, size)
    if index is None:
        raise reader.refuse("index must be a constant number")
    end = None if index == -1 else index + 1
    found = reader.slice_axis(reader.input(), axis, index, end)
    return found if reader.rank() == 1 else reader.op("squeeze", found, axis=axis)


@reading("flip")
def flip(reader: NodeReader) -> Symbol:
    """Axes in the opposite direction."""
    return reader.op(
        "reverse", reader.input(), axis=tuple(reader.axis(axis) for axis in reader.argument("dims"))
    )


@reading("roll")
def roll(reader: NodeReader) -> Symbol:
    """Elements shifted along axes; those behind the end come first."""
    data, shifts, axes = reader.input(), reader.argument("shifts"), reader.argument("dims")
    if not axes:
        raise reader.refuse("dims must be given; it is missing")
    for shift, axis in zip(shifts, axes):
        axis = reader.axis(axis)
        size = reader.shape()[axis]
        if is_free(size) and abs(shift) != 1:
            raise reader.refuse(f"the size of axis {axis}, which is shifted, must not be free (dynamic)")
        shift = -shift if is_free(size) else -shift % size
        if shift:
            parts = [(shift, None), (0, shift)]
            rolled = [reader.slice_axis(data, axis, begin, end) for begin, end in parts]
            data = reader.op("Concat", *rolled, dim=axis)
    return data


@reading("pixel_shuffle")
def pixel_shuffle(reader: NodeReader) -> Symbol:
    """Channels to blocks of pixels."""
    block = reader.argument("upscale_factor")
    data = reader.op("Reshape", reader.input(), shape=(0, -4, -1, block * block, -2))
    data = reader.op("Reshape", data, shape=(0, 0, -4, block, block, -2))
    data = reader.op("transpose", data, axes=(0, 1, 4, 2, 5, 3))
    return reader.op("Reshape", data, shape=(0, 0, -3, -3))


@reading("pixel_unshuffle")
def pixel_unshuffle(reader: NodeReader) -> Symbol:
    """Blocks of pixels to channels."""
    block = reader.argument("downscale_factor")
    data = reader.op("Reshape", reader.input(), shape=(0, 0, -4, -1, block, -4, -1, block))
    data = reader.op("transpose", data, axes=(0, 1, 3, 5, 2, 4))
    return reader.op("Reshape", reader.op("Reshape", data, shape=(0, -3, 0, 0, 0)), shape=(0, -3, 0, 0))


@reading("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(reader: NodeReader) -> Symbol:
    """Channels of groups in turn."""
    groups = reader.argument("groups")
    data = reader.op("Reshape", reader.input(), shape=(0, -4, groups, -1, -2))
    return reader.op("Reshape", reader.op("SwapAxis", data, dim1=1, dim2=2), shape=(0, -3, -2))


# Borders


@reading("constant_pad_nd", "pad")
def pad(reader: NodeReader) -> Symbol:
    """A border of one number, or of the tensor's own elements; negative widths cut."""
    mode = reader.argument("mode", "constant")
    widths = _widths(reader.argument("pad"), reader.rank())
    if mode == "constant":
        return _constant_border(reader, widths, float(reader.argument("value", 0)))
    return _own_border(reader, widths, {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])


@reading("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
@reading("replication_pad1d", "replication_pad2d", "replication_pad3d")
def pad_with_own(reader: NodeReader) -> Symbol:
    """A border of the tensor's own elements."""
    mode = "reflect" if str(reader.node.target).startswith("aten.reflection") else "edge"
    return _own_border(reader, _widths(reader.argument("padding"), reader.rank()), mode)


def _widths(pad: list[int], rank: int) -> list[tuple[int, int]]:
    """Return the widths before and after each axis; PyTorch begins with the last one."""
    given = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    return [(0, 0)] * (rank - len(given)) + given


def _constant_border(reader: NodeReader, widths: list[tuple[int, int]], value: float) -> Symbol:
    data = reader.input()
    if any(n < 0 for pair in widths for n in pair):
        begin = tuple(max(-before, 0) or None for before, _ in widths)
        end = tuple(min(after, 0) or None for _, after in widths)
        data = reader.op("slice", data, begin=begin, end=end)
    width = tuple(max(n, 0) for pair in widths for n in pair)
    return (
        reader.op("Pad", data, mode="constant", pad_width=width, constant_value=value) if any(width) else data
    )


def _own_border(reader: NodeReader, widths: list[tuple[int, int]], mode: str) -> Symbol:
    """Return a border by MXNet's Pad, or where that lacks it, of slices."""
    data, rank = reader.input(), reader.rank()
    if mode != "wrap" and rank in (3, 4, 5) and widths[:2] == [(0, 0)] * 2:
        flat = [n for pair in widths[2:] for n in pair]
        if rank > 3:
            return reader.op("Pad", data, mode=mode, pad_width=(0, 0, 0, 0, *flat))
        image = reader.op("expand_dims", data, axis=2)
        return reader.op(
            "squeeze", reader.op("Pad", image, mode=mode, pad_width=(0,) * 6 + tuple(flat)), axis=2
        )
    if mode != "wrap":
        raise reader.refuse(
            f"with mode {mode!r} data must have 3 to 5 axes, and no padding on the first two; got {widths}"
        )
    for axis, (before, after) in enumerate(widths):
        ends = []
        if before:
            ends.append(reader.slice_axis(data, axis, -before, None))
        ends.append(data)
        if after:
            ends.append(reader.slice_axis(data, axis, 0, after))
        data = reader.op("Concat", *ends, dim=axis) if len(ends) > 1 else data
    return data


@reading("tril", "triu")
def triangle(reader: NodeReader) -> Symbol:
    """The upper or lower triangle of matrices, and 0."""
    upper = str(reader.node.target).startswith("aten.triu")
    data, dtype = reader.input(), reader.dtype()
    if dtype == "bool":
        found = reader.op(
            "_onnx_triangle", reader.cast(data, "uint8"), k=reader.argument("diagonal", 0), upper=upper
        )
        return reader.cast(found, dtype)
    return reader.op("_onnx_triangle", data, k=reader.argument("diagonal", 0), upper=upper)
