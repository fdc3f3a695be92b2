"""Shapes, joining, splitting and reductions."""

from __future__ import annotations

from ..node_writer import NodeWriter, Value
from ..translations import translation

__all__ = [
    "concat", "expand_dims", "flatten", "reduction", "reshape", "slice_axes", "softmax", "softmax_activation", "split",
    "squeeze", "stack", "swap_axes", "transpose",
]  # fmt: skip


@translation("Flatten")
def flatten(writer: NodeWriter, data: Value) -> str:
    """Make rows of samples."""
    return f"{data}.unsqueeze(1)" if writer.rank() == 1 else f"torch.flatten({data}, 1)"


@translation("Reshape")
def reshape(writer: NodeWriter, data: Value) -> str | None:
    """Reshape by MXNet's codes: sizes that are copied or joined are asked of the data, so that they may be free."""
    p, rank = writer.params, writer.rank()
    codes = tuple(p.shape)
    if not codes or p.reverse or (-2 in codes and rank is None):
        return None
    sizes, at, position = [], 0, 0
    while position < len(codes):
        code = codes[position]
        if code == -2:
            sizes += [f"{data}.shape[{axis}]" for axis in range(at, rank or 0)]
            at = rank or 0
        elif code == -3:
            sizes.append(f"{data}.shape[{at}] * {data}.shape[{at + 1}]")
            at += 2
        elif code == -4:
            first, second = codes[position + 1 : position + 3]
            parts = [str(first), str(second)]
            if first == -1:
                parts[0] = f"{data}.shape[{at}] // {second}"
            elif second == -1:
                parts[1] = f"{data}.shape[{at}] // {first}"
            sizes += parts
            at, position = at + 1, position + 2
        else:
            sizes.append(f"{data}.shape[{at}]" if code == 0 else str(code))
            at += 1
        position += 1
    return f"{data}.reshape({', '.join(sizes)})"


@translation("transpose")
def transpose(writer: NodeWriter, data: Value) -> str | None:
    """Permute the axes."""
    axes = tuple(writer.params.axes)
    return f"{data}.permute({', '.join(map(str, axes))})" if axes else None


@translation("SwapAxis")
def swap_axes(writer: NodeWriter, data: Value) -> str:
    """Swap two axes."""
    return f"{data}.transpose({writer.params.dim1}, {writer.params.dim2})"


@translation("expand_dims")
def expand_dims(writer: NodeWriter, data: Value) -> str:
    """Insert an axis."""
    return f"{data}.unsqueeze({writer.params.axis})"


@translation("squeeze")
def squeeze(writer: NodeWriter, data: Value) -> str | None:
    """Remove axes that are named."""
    axis = writer.params.axis
    if axis is None:
        return None
    return f"{data}.squeeze({axis!r})"


@translation("Concat")
def concat(writer: NodeWriter, *inputs: Value) -> str | None:
    """Join arrays of one type."""
    if len({writer.dtype(i) for i in range(len(inputs))}) > 1:
        return None
    return f"torch.cat([{', '.join(map(str, inputs))}], dim={writer.params.dim})"


@translation("stack")
def stack(writer: NodeWriter, *inputs: Value) -> str:
    """Join arrays along a new axis."""
    return f"torch.stack([{', '.join(map(str, inputs))}], dim={writer.params.axis})"


@translation("slice")
def slice_axes(writer: NodeWriter, data: Value) -> str | None:
    """Take a region: bounds are Python's, so that sizes which are free need not be known."""
    p = writer.params
    steps = p.step or (None,) * len(p.begin)
    if any(step is not None and step < 0 for step in steps):
        return None  # PyTorch has none that run backwards
    chosen = []
    for begin, end, step in zip(p.begin, p.end, steps, strict=True):
        bounds = f"{'' if begin is None else begin}:{'' if end is None else end}"
        chosen.append(bounds if step in (None, 1) else f"{bounds}:{step}")
    return f"{data}[{', '.join(chosen)}]"


@translation("SliceChannel")
def split(writer: NodeWriter, data: Value) -> str | None:
    """Split into equal parts."""
    p = writer.params
    if p.num_outputs == 1:
        return f"{data}.squeeze({p.axis})" if p.squeeze_axis else f"{data}"
    return f"{data}.unbind({p.axis})" if p.squeeze_axis else f"{data}.chunk({p.num_outputs}, dim={p.axis})"


@translation("softmax", "log_softmax")
def softmax(writer: NodeWriter, data: Value, length: Value | None = None) -> str | None:
    """Softmax along an axis, or its logarithm."""
    p = writer.params
    if length is not None or p.dtype is not None or not writer.dtype().is_floating_point:
        return None
    scaled = f"{data}" if p.temperature in (None, 1.0) else f"{data} / {p.temperature!r}"
    return f"torch.{writer.node.operator.name}({scaled}, dim={p.axis})"


@translation("SoftmaxActivation")
def softmax_activation(writer: NodeWriter, data: Value) -> str:
    """Softmax over the channels, or along the last axis."""
    return f"torch.softmax({data}, {1 if writer.params.mode == 'channel' else -1})"


@translation("mean", "sum")
def reduction(writer: NodeWriter, data: Value) -> str | None:
    """Sum along named axes, or their mean."""
    p = writer.params
    axes = (p.axis,) if isinstance(p.axis, int) else p.axis
    if p.exclude or writer.dtype().itemsize < 4 or not writer.dtype().is_floating_point:
        return None
    name = writer.node.operator.name
    if not axes:
        return None if p.keepdims else f"{data}.{name}().reshape(1)"  # MXNet has no arrays without axes
    return f"{data}.{name}({tuple(axes)}{', keepdim=True' if p.keepdims else ''})"
