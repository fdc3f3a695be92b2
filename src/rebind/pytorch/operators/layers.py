"""Layers with parameters, activations and pooling."""

from __future__ import annotations

import torch

from ..node_writer import NodeWriter, Value
from ..translations import translation

__all__ = [
    "activation", "batch_norm", "bilinear_resize", "convolution", "deconvolution", "dropout", "embedding",
    "fully_connected", "group_norm", "instance_norm", "l2_normalization", "layer_norm", "leaky_relu", "pooling",
    "upsampling",
]  # fmt: skip

_ACTIVATIONS = {
    "relu": "F.relu",
    "sigmoid": "torch.sigmoid",
    "tanh": "torch.tanh",
    "softrelu": "F.softplus",
    "softsign": "F.softsign",
}


def _channels_last(layout: str | None) -> bool:
    return layout is not None and layout.endswith("C")


def _keywords(**values: object) -> str:
    """Return keyword arguments, without those that are None."""
    return "".join(f", {name}={_size(value)!r}" for name, value in values.items() if value is not None)


def _size(value: object) -> object:
    """Return one number for sizes that are equal along all axes."""
    return value[0] if isinstance(value, tuple) and len(set(value)) == 1 else value


@translation("FullyConnected")
def fully_connected(writer: NodeWriter, data: Value, weight: Value, bias: Value | None = None) -> str:
    """Multiply rows of `data` by the transposed `weight`; without `flatten` the last axis alone."""
    p = writer.params
    given = f"{data}"
    if p.flatten and writer.rank() != 2:
        given = f"torch.flatten({data}, 1)"
    parts = {"weight": "weight"} if bias is None else {"weight": "weight", "bias": "bias"}
    shape = writer.known_shape(1)
    if shape is not None and writer.owns_all(*parts.values()):
        constructor = f"nn.Linear({shape[1]}, {p.num_hidden}{_keywords(bias=None if bias else False)})"
        return f"{writer.layer(constructor, parts)}({given})"
    return f"F.linear({given}, {weight}{f', {bias}' if bias else ''})"


def _windows(writer: NodeWriter, **more: object) -> dict[str, object]:
    """Return the settings of a convolution that are not PyTorch's defaults."""
    p = writer.params
    one = (1,) * len(p.kernel)
    return {
        "stride": p.stride if tuple(p.stride or one) != one else None,
        "padding": p.pad if any(p.pad) else None,
        **more,
        "dilation": p.dilate if tuple(p.dilate or one) != one else None,
        "groups": p.num_group if p.num_group != 1 else None,
    }


@translation("Convolution")
def convolution(writer: NodeWriter, data: Value, weight: Value, bias: Value | None = None) -> str | None:
    """Convolve in one to three dimensions."""
    p, shape = writer.params, writer.known_shape(1)
    if _channels_last(p.layout) or shape is None:
        return None
    axes, settings = len(p.kernel), _windows(writer)
    parts = {"weight": "weight"} if bias is None else {"weight": "weight", "bias": "bias"}
    if writer.owns_all(*parts.values()):
        size = f"{shape[1] * p.num_group}, {p.num_filter}"
        made = _keywords(kernel_size=tuple(p.kernel), **settings, bias=None if bias else False)
        return f"{writer.layer(f'nn.Conv{axes}d({size}{made})', parts)}({data})"
    return f"F.conv{axes}d({data}, {weight}{f', {bias}' if bias else ''}{_keywords(**settings)})"


@translation("Deconvolution")
def deconvolution(writer: NodeWriter, data: Value, weight: Value, bias: Value | None = None) -> str | None:
    """Transpose a convolution."""
    p, shape = writer.params, writer.known_shape(1)
    if _channels_last(p.layout) or shape is None or any(p.target_shape):
        return None
    axes = len(p.kernel)
    settings = _windows(writer, output_padding=p.adj if any(p.adj) else None)
    parts = {"weight": "weight"} if bias is None else {"weight": "weight", "bias": "bias"}
    if writer.owns_all(*parts.values()):
        made = _keywords(kernel_size=tuple(p.kernel), **settings, bias=None if bias else False)
        layer = writer.layer(f"nn.ConvTranspose{axes}d({shape[0]}, {p.num_filter}{made})", parts)
        return f"{layer}({data})"
    return f"F.conv_transpose{axes}d({data}, {weight}{f', {bias}' if bias else ''}{_keywords(**settings)})"


@translation("BatchNorm", "BatchNorm_v1", "_contrib_SyncBatchNorm")
def batch_norm(
    writer: NodeWriter, data: Value, gamma: Value, beta: Value, moving_mean: Value, moving_var: Value
) -> str | None:
    """Normalize channels; `fix_gamma` makes gamma 1, which is not trained, and the moving variance is biased."""
    p, shape = writer.params, writer.known_shape(1)
    names = {"weight": "gamma", "bias": "beta", "running_mean": "moving_mean", "running_var": "moving_var"}
    if shape is None:
        return None
    axis, given = p.get("axis", 1), f"{data}"
    shows_inverse = writer.node.operator.name != "BatchNorm_v1"
    if axis != 1:
        given = f"{data}.movedim({axis}, 1)"
    if writer.owns_all(*names.values()):
        fixed = {"weight": torch.ones(shape, dtype=writer.dtype(1))} if p.fix_gamma else {}
        momentum = 0.0 if p.use_global_stats else round(1 - p.momentum, 12)
        made = f"{writer.helper('BatchNorm')}({shape[0]}, eps={p.eps!r}, momentum={momentum!r})"
        layer = writer.layer(made, names, fixed)
        result = f"{layer}({given})"
        own = "" if shows_inverse else ", inverse=False"
        statistics = f"*batch_norm_statistics({given}, {layer}{own})"
    elif writer.trains_here:
        return None
    else:
        scale = f"torch.ones_like({gamma})" if p.fix_gamma else f"{gamma}"
        result = f"F.batch_norm({given}, {moving_mean}, {moving_var}, {scale}, {beta}, eps={p.eps!r})"
        var = f"{moving_var}.detach()"
        statistics = f"{moving_mean}.detach(), {f'({var} + {p.eps!r}).rsqrt()' if shows_inverse else var}"
    result = result if axis == 1 else f"{result}.movedim(1, {axis})"
    if not p.output_mean_var:
        return result
    if "batch_norm_statistics" in statistics:
        writer.helper("batch_norm_statistics")
    return f"({result}, {statistics})"


@translation("LayerNorm")
def layer_norm(writer: NodeWriter, data: Value, gamma: Value, beta: Value) -> str | None:
    """Normalize along the last axis."""
    p, shape, rank = writer.params, writer.known_shape(1), writer.rank()
    if p.output_mean_var or shape is None or (p.axis != -1 and p.axis + 1 != rank):
        return None
    if writer.owns_all("gamma", "beta"):
        layer = writer.layer(f"nn.LayerNorm({shape[0]}, eps={p.eps!r})", {"weight": "gamma", "bias": "beta"})
        return f"{layer}({data})"
    return f"F.layer_norm({data}, {tuple(shape)}, {gamma}, {beta}, {p.eps!r})"


@translation("GroupNorm")
def group_norm(writer: NodeWriter, data: Value, gamma: Value, beta: Value) -> str | None:
    """Normalize groups of channels; MXNet has a scale for each group, PyTorch for each channel."""
    p, shape = writer.params, writer.known_shape()
    if p.output_mean_var or shape is None or not shape[1]:
        return None
    repeated = f"repeat_interleave({shape[1] // p.num_groups})"
    scales = f"{gamma}.{repeated}, {beta}.{repeated}"
    return f"F.group_norm({data}, {p.num_groups}, {scales}, {p.eps!r})"


@translation("InstanceNorm")
def instance_norm(writer: NodeWriter, data: Value, gamma: Value, beta: Value) -> str | None:
    """Normalize each channel: a group of its own, since PyTorch's instance norm refuses to train on single numbers."""
    p, shape = writer.params, writer.known_shape(1)
    if shape is None or not shape[0]:
        return None
    if writer.owns_all("gamma", "beta"):
        layer = writer.layer(
            f"nn.GroupNorm({shape[0]}, {shape[0]}, eps={p.eps!r})", {"weight": "gamma", "bias": "beta"}
        )
        return f"{layer}({data})"
    return f"F.group_norm({data}, {shape[0]}, {gamma}, {beta}, {p.eps!r})"


@translation("L2Normalization")
def l2_normalization(writer: NodeWriter, data: Value) -> str | None:
    """Divide by the length of the vectors of channels; other lengths are written out."""
    if writer.params.mode != "channel" or not writer.dtype().is_floating_point:
        return None
    return f"{data} * ({data}.square().sum(1, keepdim=True) + {writer.params.eps!r}).rsqrt()"


@translation("Embedding")
def embedding(writer: NodeWriter, data: Value, weight: Value) -> str:
    """Take rows of `weight`; indices outside of the table are those of the nearest row, as in MXNet."""
    p = writer.params
    index = f"{data}.long().clamp(0, {p.input_dim - 1})"
    if writer.owns_all("weight"):
        return (
            f"{writer.layer(f'nn.Embedding({p.input_dim}, {p.output_dim})', {'weight': 'weight'})}({index})"
        )
    return f"F.embedding({index}, {weight})"


@translation("Activation")
def activation(writer: NodeWriter, data: Value) -> str:
    """Apply the function that `act_type` names."""
    return f"{_ACTIVATIONS[writer.params.act_type]}({data})"


@translation("LeakyReLU")
def leaky_relu(writer: NodeWriter, data: Value, gamma: Value | None = None) -> str | None:
    """Rectify, and let something through below zero."""
    p, kind = writer.params, writer.params.act_type
    if kind == "prelu":
        shape = writer.known_shape(1)
        if shape is not None and writer.owns_all("gamma"):
            return f"{writer.layer(f'nn.PReLU({shape[0]})', {'weight': 'gamma'})}({data})"
        return f"F.prelu({data}, {gamma})"
    if kind == "rrelu":
        return f"{writer.plain_layer(f'nn.RReLU({p.lower_bound!r}, {p.upper_bound!r})')}({data})"
    if kind in ("leaky", "elu"):
        return f"F.{'leaky_relu' if kind == 'leaky' else 'elu'}({data}, {p.slope!r})"
    return f"F.{kind}({data})"


@translation("Dropout")
def dropout(writer: NodeWriter, data: Value) -> str:
    """Drop elements in training, or always; along `axes` one draw counts for all."""
    p = writer.params
    always = p.mode == "always"
    if not p.axes:
        if always:
            return f"F.dropout({data}, {p.p!r}, training=True)"
        return f"{writer.plain_layer(f'nn.Dropout({p.p!r})')}({data})"
    index = ", ".join("0:1" if axis in p.axes else ":" for axis in range(max(p.axes) + 1))
    training = "True" if always else "self.training"
    return f"{data} * F.dropout(torch.ones_like({data}[{index}]), {p.p!r}, {training})"


@translation("Pooling")
def pooling(writer: NodeWriter, data: Value) -> str | None:
    """Pool windows, where PyTorch's windows are MXNet's: the others are written out."""
    p = writer.params
    if _channels_last(p.layout) or p.pool_type not in ("max", "avg"):
        return None
    shape = writer.known_shape()
    if p.global_pool:
        axes = len(p.kernel) or (len(shape) - 2 if shape else 0)
        if not 1 <= axes <= 3:
            return None
        return f"F.adaptive_{p.pool_type}_pool{axes}d({data}, 1)"
    axes = len(p.kernel)
    stride, pad = tuple(p.stride[:axes]) or (1,) * axes, tuple(p.pad[:axes]) or (0,) * axes
    if any(2 * n > k for n, k in zip(pad, p.kernel, strict=True)) or p.pooling_convention == "same":
        return None
    full = p.pooling_convention == "full"
    # PyTorch leaves out windows that begin beyond the padded data; with these strides none does. It divides means by
    # what lies within the padding.
    if full and (
        p.pool_type == "avg" or any(s + n > k for s, n, k in zip(stride, pad, p.kernel, strict=True))
    ):
        return None
    settings = _keywords(
        stride=stride if stride != tuple(p.kernel) else None,
        padding=pad if any(pad) else None,
        ceil_mode=True if full else None,
        count_include_pad=False
        if p.pool_type == "avg" and any(pad) and p.count_include_pad is False
        else None,
    )
    return f"F.{p.pool_type}_pool{axes}d({data}, {_size(tuple(p.kernel))}{settings})"


@translation("UpSampling")
def upsampling(writer: NodeWriter, *inputs: Value) -> str | None:
    """Repeat the pixels of one array; other forms are written out."""
    p = writer.params
    if p.sample_type != "nearest" or len(inputs) != 1 or not writer.dtype().is_floating_point:
        return None
    return f'F.interpolate({inputs[0]}, scale_factor={p.scale}, mode="nearest")'


@translation("_contrib_BilinearResize2D")
def bilinear_resize(writer: NodeWriter, data: Value, like: Value | None = None) -> str | None:
    """Interpolate pictures to a height and width, or to those of another array; other forms are written out."""
    p = writer.params
    has_size = p.mode == "size" and p.scale_height is None and p.scale_width is None
    # With its edges on each other, a single pixel is MXNet's first one, PyTorch's the middle.
    if not (has_size or p.mode == "like") or not (p.align_corners or (has_size and p.height > 1 < p.width)):
        return None
    size = f"({p.height}, {p.width})" if has_size else f"{like}.shape[2:]"
    return f'F.interpolate({data}, {size}, mode="bilinear", align_corners={p.align_corners})'
