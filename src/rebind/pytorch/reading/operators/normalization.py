"""Normalization by a batch, a layer, groups or instances."""

from __future__ import annotations

from typing import Any

import torch

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading
from .reductions import variance

__all__ = ["batch_norm"]


def _affine(reader: NodeReader, channels: int) -> tuple[Symbol, Symbol]:
    """Return gamma and beta; absent ones are 1 and 0, and not trained."""
    gamma, beta = reader.optional("weight", "gamma"), reader.optional("bias", "beta")
    gamma = reader.fixed(torch.ones(channels), "gamma") if gamma is None else gamma
    return gamma, reader.fixed(torch.zeros(channels), "beta") if beta is None else beta


@reading(
    "_native_batch_norm_legit_functional", "_native_batch_norm_legit_no_training", "_native_batch_norm_legit"
)
@reading("batch_norm", "native_batch_norm")
def batch_norm(reader: NodeReader) -> Any:
    """Normalization by statistics, which are auxiliary states; without any by those of the batch."""
    several = isinstance(reader.node.meta["val"], tuple | list)
    if not reader.has("running_mean"):
        axes = (0, *range(2, reader.rank()))
        found = _normal(reader, reader.input(), axes)
        found = _scaled(reader, found, reader.optional("weight", "gamma"), reader.optional("bias", "beta"))
        return [found] if several else found
    weight, bias = _affine(reader, reader.shape()[1])
    statistics = [
        reader.graph.state(reader.source(name), f"moving_{name.removeprefix('running_')}")
        for name in ("running_mean", "running_var")
    ]
    frozen = reader.graph.trains and not reader.argument("training", False)
    found = reader.op(
        "BatchNorm",
        reader.input(),
        weight,
        bias,
        *statistics,
        eps=reader.argument("eps"),
        momentum=round(1 - reader.argument("momentum"), 12),
        fix_gamma=False,
        use_global_stats=frozen or None,
    )
    return [found] if several else found


def _normal(reader: NodeReader, data: Symbol, axes: tuple[int, ...]) -> Symbol:
    """Return data less its mean, divided by its standard deviation."""
    centred = reader.op("broadcast_sub", data, reader.op("mean", data, axis=axes, keepdims=True))
    spread = reader.op("_plus_scalar", variance(reader, data, axes, True, 0), scalar=reader.argument("eps"))
    return reader.op("broadcast_mul", centred, reader.op("rsqrt", spread))


def _scaled(reader: NodeReader, data: Symbol, gamma: Symbol | None, beta: Symbol | None) -> Symbol:
    """Multiply channels, and add to them."""
    rank = reader.rank()
    if gamma is not None:
        data = reader.op("broadcast_mul", data, reader.along(gamma, 1, rank))
    return data if beta is None else reader.op("broadcast_add", data, reader.along(beta, 1, rank))


@reading("layer_norm", "native_layer_norm")
def layer_norm(reader: NodeReader) -> Any:
    """Normalization over the last axes."""
    shape = reader.argument("normalized_shape")
    if len(shape) == 1:
        found = reader.op(
            "LayerNorm", reader.input(), *_affine(reader, shape[0]), axis=-1, eps=reader.argument("eps")
        )
    else:
        rank = reader.rank()
        found = _normal(reader, reader.input(), tuple(range(rank - len(shape), rank)))
        if reader.has("weight"):
            found = reader.op("broadcast_mul", found, reader.input("weight", "gamma"))
        if reader.has("bias"):
            found = reader.op("broadcast_add", found, reader.input("bias", "beta"))
    return [found] if isinstance(reader.node.meta["val"], tuple | list) else found


@reading("rms_norm")
def rms_norm(reader: NodeReader) -> Symbol:
    """Elements divided by the root of their mean square over the last axes."""
    shape, rank, data = reader.argument("normalized_shape"), reader.rank(), reader.input()
    axes = tuple(range(rank - len(shape), rank))
    eps = reader.argument("eps") or torch.finfo(getattr(torch, reader.dtype())).eps
    square = reader.op("mean", reader.op("square", data), axis=axes, keepdims=True)
    inverse = reader.op("rsqrt", reader.op("_plus_scalar", square, scalar=float(eps)))
    found = reader.op("broadcast_mul", data, inverse)
    return (
        reader.op("broadcast_mul", found, reader.input("weight", "gamma")) if reader.has("weight") else found
    )


@reading("group_norm", "native_group_norm")
def group_norm(reader: NodeReader) -> Any:
    """Normalization of groups of channels; MXNet's own has one gamma for each group, PyTorch one for each channel."""
    groups = reader.argument("num_groups") or reader.argument("group")
    data = reader.op("Reshape", reader.input(), shape=(0, groups, -1))
    ones, zeros = reader.fixed(torch.ones(groups), "ones"), reader.fixed(torch.zeros(groups), "zeros")
    normal = reader.op("InstanceNorm", data, ones, zeros, eps=reader.argument("eps"))
    found = reader.op("reshape_like", normal, reader.input())
    found = _scaled(reader, found, reader.optional("weight", "gamma"), reader.optional("bias", "beta"))
    return [found] if isinstance(reader.node.meta["val"], tuple | list) else found


@reading("instance_norm")
def instance_norm(reader: NodeReader) -> Symbol:
    """Normalization of each channel of each example."""
    if not reader.argument("use_input_stats", True):
        raise reader.refuse(
            "track_running_stats must be False, as MXNet's InstanceNorm has no running statistics"
        )
    return reader.op(
        "InstanceNorm", reader.input(), *_affine(reader, reader.shape()[1]), eps=reader.argument("eps")
    )


@reading("_weight_norm", "_weight_norm_interface")
def weight_norm(reader: NodeReader) -> Any:
    """A weight whose vectors have given lengths, along all axes but one."""
    axes = tuple(axis for axis in range(reader.rank("v")) if axis != reader.argument("dim", 0))
    weight = reader.input("v")
    length = reader.op("sqrt", reader.op("sum", reader.op("square", weight), axis=axes, keepdims=True))
    found = reader.op("broadcast_mul", weight, reader.op("broadcast_div", reader.input("g"), length))
    return [found, None] if isinstance(reader.node.meta["val"], tuple | list) else found
