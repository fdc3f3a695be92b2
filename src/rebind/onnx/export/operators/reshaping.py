"""Arrays in another shape or with other axes; sizes that are free stay free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import onnx_ir as ir

from ....ops.reshape import axis_range
from ....shapes import Shape, normalize_axis
from ..node_writer import NodeWriter
from ..translations import translation
from .pieces import known_or_size, shape_from

__all__ = ["depth_to_space", "expand_dims", "flatten", "reshape_like", "reverse", "transpose"]


@dataclass(frozen=True)
class Target:
    """A size of the result of a reshape: the product of source axes over a number, or `number` where there are none.

    A `number` of -1 without axes is what the other sizes leave.
    """

    axes: tuple[int, ...] = ()
    number: int = 1


def targets(codes: Sequence[int], rank: int) -> list[Target]:
    """Return what the codes of MXNet's ``shape`` make of source axes, read from the left.

    >>> targets((0, -3), 3)
    [Target(axes=(0,), number=1), Target(axes=(1, 2), number=1)]
    """
    found: list[Target] = []
    at = 0  # the next source axis
    remaining = iter(codes)
    for code in remaining:
        if code == 0:
            found.append(Target((at,)))
        elif code == -2:
            found += [Target((axis,)) for axis in range(at, rank)]
            at = rank
            continue
        elif code == -3:
            found.append(Target((at, at + 1)))
            at += 1
        elif code == -4:
            first, second = next(remaining), next(remaining)
            found.append(Target((at,), second) if first == -1 else Target(number=first))
            found.append(Target((at,), first) if second == -1 else Target(number=second))
        else:
            found.append(Target(number=code))
        at = min(at + 1, rank)
    return found


@translation("Reshape")
def reshape_by_codes(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write a reshape by MXNet's codes; ONNX has 0 for the size of the same axis, and -1, once, for what is left."""
    p, shape = writer.params, writer.shape()
    if not p.shape:  # the older way
        return writer.reshape(data, _legacy_codes(p.target_shape, p.keep_highest))
    codes, rank = p.shape, len(shape)
    wanted = targets(codes[::-1] if p.reverse else codes, rank)
    if p.reverse:
        mirrored = [
            Target(tuple(rank - 1 - axis for axis in each.axes[::-1]), each.number) for each in wanted
        ]
        wanted = mirrored[::-1]
    return writer.op("Reshape", data, _target_shape(writer, data, shape, wanted))


def _legacy_codes(target: Shape, keep_highest: bool) -> list[int]:
    """Return ``target_shape`` in ONNX's codes: its 0 is what is left; a highest axis that stays comes first."""
    codes = [n or -1 for n in target]
    return [0, *codes[1:]] if keep_highest else codes


def _target_shape(writer: NodeWriter, data: ir.Value, shape: Shape, wanted: Sequence[Target]) -> ir.Value:
    """Return a shape of as few computed sizes as can be."""
    known = [_known_size(shape, each) for each in wanted]
    free = [i for i, n in enumerate(known) if n is None]
    # -1 is worth most where a product had to be computed; a size that stays at its axis is 0.
    rest = next((i for i, n in enumerate(known) if n == -1), None)
    copied = [i for i in free if wanted[i] == Target((i,))]
    if rest is None:
        rest = next((i for i in free if i not in copied), next(iter(free), None))
    parts: list[int | tuple[ir.Value, int] | ir.Value] = []
    for i, n in enumerate(known):
        if i == rest:
            parts.append(-1)
        elif n is not None:
            parts.append(n)
        else:
            parts.append(0 if i in copied else _computed(writer, data, wanted[i]))
    return shape_from(writer, parts)


def _known_size(shape: Shape, target: Target) -> int | None:
    if not target.axes:
        return target.number
    total = 1
    for axis in target.axes:
        total *= shape[axis]
    return total // target.number or None


def _computed(writer: NodeWriter, data: ir.Value, target: Target) -> ir.Value:
    product = writer.gather(writer.shape_of(data), target.axes)
    if len(target.axes) > 1:
        product = writer.reduce("ReduceProd", product, [0], keepdims=True)
    return product if target.number == 1 else writer.op("Div", product, writer.ints([target.number]))


@translation("reshape_like")
def reshape_like(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Write an array in the shape of another, or with some axes of it."""
    p, left, right = writer.params, writer.shape(0), writer.shape(1)
    first, last = axis_range(p.lhs_begin, p.lhs_end, len(left), "lhs")
    start, stop = axis_range(p.rhs_begin, p.rhs_end, len(right), "rhs")
    of_lhs, of_rhs = known_or_size(lhs, left), known_or_size(rhs, right)
    return writer.op(
        "Reshape", lhs, shape_from(writer, [*of_lhs[:first], *of_rhs[start:stop], *of_lhs[last:]])
    )


@translation("Flatten")
def flatten(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write an array as a matrix."""
    return writer.op("Flatten", data)


@translation("transpose")
def transpose(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write an array with its axes in another order, by default reversed, which is ONNX's default too."""
    rank = writer.rank()
    return writer.op(
        "Transpose", data, perm=[axis % rank for axis in writer.params.axes] or range(rank)[::-1]
    )


@translation("SwapAxis")
def swapaxes(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write an array with two axes exchanged."""
    order = list(range(writer.rank()))
    first, second = writer.params.dim1, writer.params.dim2
    order[first], order[second] = order[second], order[first]
    return writer.op("Transpose", data, perm=order)


@translation("expand_dims")
def expand_dims(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write an array with a new axis."""
    return writer.unsqueeze(data, [writer.params.axis])


@translation("squeeze")
def squeeze_axes(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write an array without axes of size 1; one axis stays."""
    shape, axis = writer.shape(), writer.params.axis
    if axis is None:
        axes = [a for a, n in enumerate(shape) if n == 1]
    else:
        axes = [normalize_axis(a, len(shape), "axis") for a in axis]
    if len(axes) == len(shape):
        axes = axes[1:]
    return writer.squeeze(data, axes) if axes else writer.op("Identity", data)


@translation("reverse")
def reverse(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write an array whose order along some axes is reversed."""
    for axis in writer.params.axis:
        data = writer.slice(data, [-1], [-(2**63)], [axis], [-1])
    return data


@translation("depth_to_space")
def depth_to_space(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write channels as blocks of space; the offsets within a block come first among the channels."""
    return writer.op("DepthToSpace", data, blocksize=writer.params.block_size, mode="DCR")


@translation("space_to_depth")
def space_to_depth(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write blocks of space as channels."""
    return writer.op("SpaceToDepth", data, blocksize=writer.params.block_size)
