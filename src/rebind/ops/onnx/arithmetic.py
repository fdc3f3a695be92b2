"""Arithmetic of elements and of matrices."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from ..declaration import operator

__all__ = [
    "bit_cast", "bitwise", "cumulative", "einsum", "integer_division", "log_sum_exp", "matmul", "modulo",
    "round_to_even", "triangle",
]  # fmt: skip


@operator("_onnx_integer_division", head_gradient=False)
def integer_division(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Quotients of integers, cut towards 0.

    >>> integer_division(torch.tensor([7, -7]), torch.tensor([2]))
    tensor([ 3, -3])
    """
    return torch.div(lhs, rhs, rounding_mode="trunc")


@operator("_onnx_modulo")
def modulo(lhs: Tensor, rhs: Tensor, *, sign_of_dividend: bool = False) -> Tensor:
    """Remainders with the sign of the divisor, or of the dividend.

    Different from MXNet's `mod`, division by 0 gives no number.

    >>> modulo(torch.tensor([5.0, -5.0]), torch.tensor([3.0]))
    tensor([2., 1.])
    """
    return torch.fmod(lhs, rhs) if sign_of_dividend else torch.remainder(lhs, rhs)


@operator("_onnx_round", same_shape=True, head_gradient=False)
def round_to_even(data: Tensor) -> Tensor:
    """The nearest integers; of two the even one.

    >>> round_to_even(torch.tensor([0.5, 1.5, 2.5]))
    tensor([0., 2., 2.])
    """
    return torch.round(data)


@operator("_onnx_bit_cast", types=lambda p: {"data": "any", "output": p.dtype}, head_gradient=False)
def bit_cast(data: Tensor, *, dtype: torch.dtype) -> Tensor:
    """The bits of `data` as a type of the same width.

    >>> bit_cast(torch.tensor([1.0]), dtype=torch.int32)
    tensor([1065353216], dtype=torch.int32)
    """
    return data.view(dtype).clone()


@operator("_onnx_bitwise", head_gradient=False)
def bitwise(lhs: Tensor, rhs: Tensor, *, kind: Literal["and", "or", "xor", "left", "right"]) -> Tensor:
    """Logical functions of bits, and bits moved by as many positions as `rhs` says.

    >>> bitwise(torch.tensor([6]), torch.tensor([3]), kind="xor")
    tensor([5])
    """
    functions = {
        "and": torch.bitwise_and,
        "or": torch.bitwise_or,
        "xor": torch.bitwise_xor,
        "left": torch.bitwise_left_shift,
        "right": torch.bitwise_right_shift,
    }
    return functions[kind](lhs, rhs)


@operator("_onnx_log_sum_exp")
def log_sum_exp(data: Tensor, *, axis: tuple[int, ...] | None = None, keepdims: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials along axes, by default all.

    >>> log_sum_exp(torch.tensor([1000.0, 1000.0]))
    tensor([1000.6932])
    """
    found = torch.logsumexp(data, axis or tuple(range(data.ndim)), keepdim=keepdims)
    return found if found.ndim else found.reshape(1)


@operator("_onnx_cumulative")
def cumulative(
    data: Tensor,
    *,
    axis: int,
    kind: Literal["sum", "prod"] = "sum",
    exclusive: bool = False,
    reverse: bool = False,
) -> Tensor:
    """Running sums or products along an axis.

    Parameters
    ----------
    exclusive
        Leave each element out of its own result.
    reverse
        Run from the end.

    >>> cumulative(torch.tensor([1, 2, 3]), axis=0, exclusive=True, reverse=True)
    tensor([5, 3, 0])
    """
    data = data.flip(axis) if reverse else data
    if exclusive:
        first = torch.full_like(data.narrow(axis, 0, 1), 0 if kind == "sum" else 1)
        data = torch.cat([first, data.narrow(axis, 0, data.shape[axis] - 1)], axis)
    run = torch.cumsum if kind == "sum" else torch.cumprod
    found = run(data, axis, dtype=data.dtype)
    return found.flip(axis) if reverse else found


@operator("_onnx_matmul")
def matmul(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Products of matrices in the last two axes; the axes before them are broadcast.

    >>> matmul(torch.ones(2, 1, 3, 4), torch.ones(5, 4, 2)).shape
    torch.Size([2, 5, 3, 2])
    """
    found = torch.matmul(lhs, rhs)
    return found if found.ndim else found.reshape(1)


@operator("_onnx_einsum", count="num_args")
def einsum(*data: Tensor, equation: str) -> Tensor:
    """Products summed over the axes whose letters the result lacks.

    >>> einsum(torch.ones(2, 3), torch.ones(3), equation="ij,j->i")
    tensor([3., 3.])
    """
    terms = equation.partition("->")[0].split(",")
    # A number without axes is an array of one element.
    data = tuple([each if term else each.reshape(()) for each, term in zip(data, terms)])
    found = torch.einsum(equation, *data)
    return found if found.ndim else found.reshape(1)


@operator("_onnx_triangle", same_shape=True)
def triangle(data: Tensor, *, k: int = 0, upper: bool = True) -> Tensor:
    """The upper or lower triangles of matrices, from the diagonal `k` on, and 0.

    >>> triangle(torch.ones(2, 2), upper=False)
    tensor([[1., 0.],
            [1., 1.]])
    """
    size = max(data.shape[-2:], default=0)
    k = max(min(k, size), -size)
    return torch.triu(data, k) if upper else torch.tril(data, k)
