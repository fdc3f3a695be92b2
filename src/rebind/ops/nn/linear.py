"""Layers that multiply by a matrix: FullyConnected and Embedding."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated

import torch
import torch.nn.functional as F
from torch import Tensor

from ..._torch.functions import unsafe_view
from ...checks import warn_user
from ...errors import ShapeError
from ...grad_mode import is_recorded
from ...params import AtLeast, Params
from ...shapes import Shape
from ...tuning import current
from .._reading import can_read
from .._types import NumericType
from ..declaration import Shapes, Types, operator
from .large_products import gradient_of_rows, gradient_of_weight, linear

__all__ = ["clamp_indices", "embedding", "fully_connected"]

#: Read once, as small steps consist of such calls.
_LARGE = current().onednn_weight_elements


@operator("FullyConnected", skip=lambda name, p: name == "bias" and p.no_bias, owns_output=True)
def fully_connected(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    num_hidden: Annotated[int, AtLeast(1)],
    no_bias: bool = False,
    flatten: bool = True,
) -> Tensor:
    """Affine map ``data @ weight.T + bias``.

    Parameters
    ----------
    num_hidden
        Size of the last axis of the result.
    no_bias
        Leave the bias out; the layer then has no such input.
    flatten
        Count all axes of `data` but the first as one; otherwise the map is applied along the last axis.

    Shapes
    ------
    data : (N, ...)            with ``flatten=False``: (..., C)
    weight : (num_hidden, C)   C = product of the trailing axes of data
    bias : (num_hidden,)       absent when ``no_bias``
    out : (N, num_hidden)      with ``flatten=False``: (..., num_hidden)

    Examples
    --------
    >>> fully_connected(torch.ones(1, 2), torch.tensor([[1.0, 2.0]]), torch.tensor([0.5]), num_hidden=1)
    tensor([[3.5000]])
    """
    # F.linear takes any number of rows; here the parameter and the weight must agree.
    if weight.shape[0] != num_hidden:
        raise ShapeError(f"weight must have num_hidden {num_hidden} rows; got {tuple(weight.shape)}")
    # Small layers, whose calls are what takes time, ask for themselves.
    multiply = F.linear if weight.numel() < _LARGE else linear
    if data.dim() == 2:
        return multiply(data, weight, bias)
    rows = as_rows(data) if flatten else data
    if rows.dim() < 3:
        return multiply(rows, weight, bias)
    out, shape = multiply(_matrix(rows), weight, bias), (*rows.shape[:-1], num_hidden)
    # What comes next may write over it, and of what is written into a view autograd copies the gradients.
    return unsafe_view(out, shape) if is_recorded(out) else out.view(*shape)


def as_rows(data: Tensor) -> Tensor:
    # A vector is N samples of one number, as in MXNet.
    return data if data.dim() == 2 else data.flatten(1) if data.dim() > 2 else data.reshape(-1, 1)


@fully_connected.derivative("data")
def _(
    p: Params, head_grad: Tensor, output: Tensor, data: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    matrix = head_grad if head_grad.dim() == 2 else _matrix(head_grad)
    is_small = weight.numel() < _LARGE
    found = matrix.mm(weight) if is_small else gradient_of_rows(matrix, weight)
    return found if data.dim() == 2 else found.view(*data.shape)


@fully_connected.derivative("weight")
def _(
    p: Params, head_grad: Tensor, output: Tensor, data: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    rows = data if data.dim() == 2 else as_rows(data) if p.flatten else _matrix(data)
    matrix = head_grad if head_grad.dim() == 2 else _matrix(head_grad)
    is_small = weight.numel() < _LARGE
    return matrix.t().mm(rows) if is_small else gradient_of_weight(matrix, rows)


@fully_connected.derivative("bias")
def _(p: Params, head_grad: Tensor, output: Tensor, data: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return (head_grad if head_grad.dim() == 2 else _matrix(head_grad)).sum(0)


def _matrix(tensor: Tensor) -> Tensor:
    return tensor.reshape(-1, tensor.shape[-1])


@operator(
    "_joint_fully_connected",
    count="num_args",
    outputs=lambda p: [f"output{i}" for i in range(p.num_args - (1 if p.no_bias else 2))],
)
def joint_fully_connected(
    *inputs: Tensor, num_hidden: Annotated[int, AtLeast(1)], no_bias: bool = False
) -> tuple[Tensor, ...]:
    """`FullyConnected` of several arrays with the same weights, in one product.

    Not MXNet's: graphs get it when they are lowered, in place of layers that share their weights.

    Shapes
    ------
    inputs : (N1, ...), (N2, ...), ..., weight (num_hidden, C), bias (num_hidden,) without ``no_bias``
    out : (N1, num_hidden), (N2, num_hidden), ...

    Examples
    --------
    >>> one, two = torch.tensor([[1.0]]), torch.tensor([[2.0], [3.0]])
    >>> joint_fully_connected(one, two, torch.tensor([[10.0]]), num_hidden=1, no_bias=True)
    (tensor([[10.]]), tensor([[20.],
            [30.]]))
    """
    *data, weight = inputs if no_bias else inputs[:-1]
    # One product of all rows is faster than one for each array.
    rows = [as_rows(each) for each in data]
    out = linear(torch.cat(rows), weight, None if no_bias else inputs[-1])
    return out.split([each.shape[0] for each in rows])


@fully_connected.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    if data is None:
        return {"bias": (p.num_hidden,)}
    channels = (prod(data[1:]) if p.flatten else data[-1]) if data else 0
    return {"weight": (p.num_hidden, channels), "bias": (p.num_hidden,)}


@fully_connected.output_shapes
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    data = shapes["data"]
    if not data or shapes["weight"] != fully_connected.inference.filled_shapes(shapes, p)["weight"]:
        return []  # a vector, too
    return [(data[0], p.num_hidden) if p.flatten else (*data[:-1], p.num_hidden)]


@fully_connected.products
def _(shapes: Shapes, p: Params) -> int:
    return prod(shapes["data"] or ()) * p.num_hidden


@fully_connected.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    data, out = shapes["data"], outputs[0]
    if out is None or data is None:
        return {}
    # With `flatten` the batch alone follows from the result: it does not show how the other axes were split.
    if not p.flatten and len(out) == len(data):
        return {"data": (*out[:-1], data[-1])}
    return {"data": (out[0], *data[1:])}


@operator(
    "Embedding",
    types={"data": "any"},
)
def embedding(
    data: Tensor,
    weight: Tensor,
    *,
    input_dim: Annotated[int, AtLeast(1)],
    output_dim: Annotated[int, AtLeast(1)],
    dtype: NumericType = torch.float32,
    sparse_grad: bool = False,
) -> Tensor:
    """Rows of `weight` chosen by the indices in `data`.

    An index may be of any type and is cut to an integer; as in MXNet, one outside of the table takes the nearest
    row (below 0 the first, above the last), where torch raises an error. On the CPU a warning says so.

    Parameters
    ----------
    input_dim
        Number of rows: the size of the vocabulary.
    output_dim
        Size of a row.
    dtype
        Type of the weight, when nothing else determines it.
    sparse_grad
        Give the gradient as touched rows only; the gradient of a dense array is dense nevertheless.

    Shapes
    ------
    data : (...)
    weight : (input_dim, output_dim)
    out : (..., output_dim)

    Examples
    --------
    >>> weight = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> embedding(torch.tensor([1, 0, 1]), weight, input_dim=2, output_dim=2)
    tensor([[3., 4.],
            [1., 2.],
            [3., 4.]])
    """
    if weight.shape != (input_dim, output_dim):
        raise ShapeError(f"weight must have shape {(input_dim, output_dim)}; got {tuple(weight.shape)}")
    index = data.long()
    if can_read(weight):
        # Nearly always all are in the table, and the kernel looks: nothing has to be cut then.
        try:
            return torch.embedding(weight, index)
        except IndexError:
            return torch.embedding(weight, clamp_indices(index, input_dim))
    return torch.embedding(weight, index.clamp(0, input_dim - 1))


def clamp_indices(index: Tensor, rows: int) -> Tensor:
    """Return indices of a table's rows, for one outside of it that of the nearest row, as MXNet; with a warning.

    >>> clamp_indices(torch.tensor([1, 0]), rows=2)
    tensor([1, 0])
    """
    if can_read(index) and index.numel():
        least, most = map(int, torch.aminmax(index))
        if least >= 0 and most < rows:
            return index
        warn_user(
            f"Embedding: data must hold indices from 0 to {rows - 1}; got {least if least < 0 else most}. As in MXNet "
            "the nearest row is taken."
        )
    return index.clamp(0, rows - 1)


@embedding.derivative("weight")
def _(p: Params, head_grad: Tensor, output: Tensor, data: Tensor, weight: Tensor) -> Tensor:
    index = data.long().clamp(0, p.input_dim - 1)  # the kernel does not look
    return torch.ops.aten.embedding_dense_backward.default(head_grad, index, p.input_dim, -1, False)


@embedding.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    return {"weight": (p.input_dim, p.output_dim)}


@embedding.output_shapes
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    data = shapes["data"]
    return [] if data is None else [(*data, p.output_dim)]


@embedding.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return {} if outputs[0] is None else {"data": outputs[0][:-1]}


@operator("_contrib_SparseEmbedding", types={"data": "any"})
def sparse_embedding(
    data: Tensor,
    weight: Tensor,
    *,
    input_dim: Annotated[int, AtLeast(1)],
    output_dim: Annotated[int, AtLeast(1)],
    dtype: NumericType = torch.float32,
    deterministic: bool = False,
) -> Tensor:
    """The older name of ``Embedding(sparse_grad=True)``, in files an operator of its own.

    Parameters
    ----------
    input_dim, output_dim, dtype
        As for `Embedding`.
    deterministic
        Accepted: gradients of equal indices are always summed in one order on the CPU.

    >>> sparse_embedding(torch.tensor([1, 0]), torch.tensor([[1.0], [2.0]]), input_dim=2, output_dim=1)
    tensor([[2.],
            [1.]])
    """
    return embedding.kernels.function(data, weight, input_dim=input_dim, output_dim=output_dim)


sparse_embedding.fill_shapes(lambda shapes, p: {"weight": (p.input_dim, p.output_dim)})
sparse_embedding.shapes_from_outputs(
    lambda shapes, outputs, p: {} if outputs[0] is None else {"data": outputs[0][:-1]}
)


def _type_of_weight(types: Types, p: Params) -> Types:
    """Give the weight the type `dtype` where nothing else says one."""
    return {"weight": types["weight"] or p.dtype}


embedding.fill_types(_type_of_weight)
sparse_embedding.fill_types(_type_of_weight)
