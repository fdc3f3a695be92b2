"""Element-wise functions of one array.

Integer arrays are computed in floating point where the function asks for it, and rounded towards 0 to their own type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from ..errors import DTypeError
from ..grad_mode import is_recorded
from ..params import Params
from ..shapes import Shape
from ._clamp import clamp
from ._tables import unary
from ._types import AnyType, NumericType
from .declaration import Shapes, one_shape, operator

__all__ = [
    "abs_",
    "amp_cast",
    "amp_multicast",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "block_grad",
    "cast",
    "cbrt",
    "ceil",
    "clip",
    "copyto",
    "cos",
    "cosh",
    "degrees",
    "erf",
    "erfinv",
    "exp",
    "expm1",
    "fix",
    "floor",
    "gamma",
    "gammaln",
    "hard_sigmoid",
    "identity",
    "log",
    "log1p",
    "log2",
    "log10",
    "logical_not",
    "make_loss",
    "negative",
    "ones_like",
    "radians",
    "rcbrt",
    "reciprocal",
    "relu",
    "rint",
    "round_",
    "rsqrt",
    "shape_array",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "size_array",
    "smooth_l1",
    "softsign",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "zeros_like",
]  # fmt: skip


def _trunc(data: Tensor) -> Tensor:
    # `torch.trunc` takes six times as long: its floor runs on many numbers at a time, its trunc and ceil do not.
    return data.abs().floor_().copysign_(data)


def _round(data: Tensor) -> Tensor:
    # torch.round takes halves to even numbers; MXNet's round takes them away from 0. What is added is the number
    # before 0.5: with 0.5 itself the one before that would become 1, and large odd numbers the next even ones.
    return data.abs().add_(0.5 - torch.finfo(data.dtype).eps / 4).floor_().copysign_(data)


def _rint(data: Tensor) -> Tensor:
    # torch.round takes halves to even numbers; MXNet's rint takes them down: the ceiling of data - 0.5. The floor is
    # more only where numbers have no half between them. A zero has the sign of data.
    return torch.maximum((0.5 - data).floor_().neg_(), torch.floor(data)).copysign_(data)


class _Flat(torch.autograd.Function):
    """A function that is flat between its steps: its derivative is 0, whatever it is computed from."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:
        return compute(data)

    @staticmethod
    def backward(ctx: Any, head_grad: Tensor) -> tuple[Tensor, None]:
        return torch.zeros_like(head_grad), None


def _on_floats(compute: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Return `compute`, which is flat between steps, for floating types; integers are whole already."""

    def whole(data: Tensor) -> Tensor:
        if not data.is_floating_point():
            return data.clone()
        return _Flat.apply(data, compute) if data.requires_grad else compute(data)

    return whole


def _cbrt(data: Tensor) -> Tensor:
    if not data.is_floating_point():
        numbers = data.to(dtype=torch.float64)
        root = _cbrt(numbers)
        nearest = root.round()
        # Roots of cubes are whole; as powers they may be a rounding error below, which would be cut off.
        return torch.where(nearest**3 == numbers, nearest, root).to(dtype=data.dtype)
    # As a constant, so that the gradient at 0 is that of the root, infinite; the derivative of |data| is 0 there.
    sign = torch.copysign(torch.ones_like(data), data.detach())
    return sign * torch.pow(sign * data, 1.0 / 3.0)


def _gamma(data: Tensor) -> Tensor:
    if not data.is_floating_point():
        # Factorials are whole; from their logarithms they may be a rounding error below, which would be cut off.
        return _gamma(data.to(dtype=torch.float64)).round().to(dtype=data.dtype)
    # lgamma has lost the sign, which the floor of data gives back.
    size = torch.exp(torch.lgamma(data))
    # Between -1 and 0, -3 and -2, ... the function is negative, and at -1, -2, ... undefined.
    negative = data < 0
    odd = torch.remainder(torch.floor(data), 2) == 1
    size = torch.where(negative & odd, -size, size)
    return torch.where(negative & (torch.floor(data) == data), torch.nan, size)


def _logical_not(data: Tensor) -> Tensor:
    return torch.eq(data, 0, out=torch.empty_like(data))


relu = unary("relu", compute=torch.relu, doc="``max(data, 0)``.")


@relu.gradient
def _(
    p: Params, inputs: Sequence[Tensor], outputs: Sequence[Tensor], head_grads: Sequence[Tensor]
) -> tuple[Tensor]:
    return (head_grads[0] * _step(outputs[0]),)


def _step(out: Tensor) -> Tensor:
    """Return the slope of a relu from its output: 1, 0, or nan, where torch's own has 1."""
    return out.ceil().clamp(max=1)


class _ReluContext(Protocol):
    """What torch saves of a relu until its gradient is computed."""

    saved_tensors: tuple[Tensor]

    def mark_dirty(self, *tensors: Tensor) -> None: ...
    def save_for_backward(self, *tensors: Tensor) -> None: ...


class _ReluInPlace(torch.autograd.Function):
    """The in-place form, with the same gradient."""

    @staticmethod
    def forward(ctx: _ReluContext, data: Tensor) -> Tensor:
        ctx.mark_dirty(data)
        torch.relu_(data)
        # The result, not the data, which it replaces: both are above 0 at the same places.
        ctx.save_for_backward(data)
        return data

    @staticmethod
    def backward(ctx: _ReluContext, head_grad: Tensor) -> Tensor:
        return head_grad * _step(ctx.saved_tensors[0])


@relu.derivative("data")
def _(p: Params, head_grad: Tensor, output: Tensor, data: Tensor) -> Tensor:
    return head_grad * _step(output)


@relu.in_place("data")
def _(data: Tensor) -> Tensor:
    # Autograd must hear that its input is overwritten.
    return _ReluInPlace.apply(data) if is_recorded(data) else torch.relu_(data)


sigmoid = unary("sigmoid", compute=torch.sigmoid, doc="``1 / (1 + exp(-data))``.")
softsign = unary(
    "softsign", compute=lambda data: data / (1 + torch.abs(data)), doc="``data / (1 + |data|)``."
)
negative = unary("negative", compute=torch.neg, doc="``-data``.")
reciprocal = unary("reciprocal", compute=torch.reciprocal, doc="``1 / data``.", domain=(0.5, 2.0))
abs_ = unary("abs", compute=torch.abs, doc="Absolute value; its gradient at 0 is 0.", domain=(0.5, 2.0))
sign = unary("sign", compute=torch.sign, doc="-1, 0 or 1, as the sign is.", domain=(0.5, 2.0))
square = unary("square", compute=torch.square, doc="``data ** 2``.")
sqrt = unary("sqrt", compute=torch.sqrt, doc="Square root.", domain=(0.5, 4.0))
rsqrt = unary("rsqrt", compute=torch.rsqrt, doc="``1 / sqrt(data)``.", domain=(0.5, 4.0))
cbrt = unary("cbrt", compute=_cbrt, doc="Cube root, of negative numbers too.", domain=(0.5, 4.0))
rcbrt = unary("rcbrt", compute=lambda data: 1 / _cbrt(data), doc="``1 / cbrt(data)``.", domain=(0.5, 4.0))
exp = unary("exp", compute=torch.exp, doc="``e ** data``.")
expm1 = unary("expm1", compute=torch.expm1, doc="``e ** data - 1``, exact near 0.")
log = unary("log", compute=torch.log, doc="Natural logarithm.", domain=(0.5, 4.0))
log2 = unary("log2", compute=torch.log2, doc="Logarithm to base 2.", domain=(0.5, 4.0))
log10 = unary("log10", compute=torch.log10, doc="Logarithm to base 10.", domain=(0.5, 4.0))
log1p = unary("log1p", compute=torch.log1p, doc="``log(1 + data)``, exact near 0.", domain=(-0.5, 4.0))
erf = unary("erf", compute=torch.erf, doc="Error function.")
erfinv = unary("erfinv", compute=torch.erfinv, doc="Inverse of the error function.", domain=(-0.9, 0.9))
gamma = unary("gamma", compute=_gamma, doc="Gamma function.", domain=(0.5, 4.0))
gammaln = unary("gammaln", compute=torch.lgamma, doc="Logarithm of ``|gamma(data)|``.", domain=(0.5, 4.0))

sin = unary("sin", compute=torch.sin, doc="Sine of radians.")
cos = unary("cos", compute=torch.cos, doc="Cosine of radians.")
tan = unary("tan", compute=torch.tan, doc="Tangent of radians.", domain=(-1.0, 1.0))
arcsin = unary("arcsin", compute=torch.asin, doc="Inverse sine, in radians.", domain=(-0.9, 0.9))
arccos = unary("arccos", compute=torch.acos, doc="Inverse cosine, in radians.", domain=(-0.9, 0.9))
arctan = unary("arctan", compute=torch.atan, doc="Inverse tangent, in radians.")
degrees = unary("degrees", compute=lambda data: data * (180 / math.pi), doc="Radians as degrees.")
radians = unary("radians", compute=lambda data: data * (math.pi / 180), doc="Degrees as radians.")
sinh = unary("sinh", compute=torch.sinh, doc="Hyperbolic sine.")
cosh = unary("cosh", compute=torch.cosh, doc="Hyperbolic cosine.")
tanh = unary("tanh", compute=torch.tanh, doc="Hyperbolic tangent.")
arcsinh = unary("arcsinh", compute=torch.asinh, doc="Inverse hyperbolic sine.")
arccosh = unary("arccosh", compute=torch.acosh, doc="Inverse hyperbolic cosine.", domain=(1.5, 4.0))
arctanh = unary("arctanh", compute=torch.atanh, doc="Inverse hyperbolic tangent.", domain=(-0.9, 0.9))

# Of those that small networks and their losses are made of.
_aten = torch.ops.aten
sigmoid.derivative("data")(
    lambda p, head_grad, output, data: _aten.sigmoid_backward.default(head_grad, output)
)
tanh.derivative("data")(lambda p, head_grad, output, data: _aten.tanh_backward.default(head_grad, output))
negative.derivative("data")(lambda p, head_grad, output, data: head_grad.neg())
square.derivative("data")(lambda p, head_grad, output, data: head_grad * (data * 2))
sqrt.derivative("data")(lambda p, head_grad, output, data: head_grad / (2 * output))
exp.derivative("data")(lambda p, head_grad, output, data: head_grad * output)
log.derivative("data")(lambda p, head_grad, output, data: head_grad / data)

# No gradient flows through what is flat between its steps.
floor = unary("floor", compute=_on_floats(torch.floor), doc="Largest integer not above.", head_gradient=False)
ceil = unary("ceil", compute=_on_floats(torch.ceil), doc="Smallest integer not below.", head_gradient=False)
trunc = unary(
    "trunc", compute=_on_floats(_trunc), doc="Integer part: rounded towards 0.", head_gradient=False
)
fix = unary("fix", compute=_on_floats(_trunc), doc="Integer part: rounded towards 0.", head_gradient=False)
round_ = unary(
    "round",
    compute=_on_floats(_round),
    doc="Nearest integer; halves go away from 0.",
    head_gradient=False,
)
rint = unary("rint", compute=_on_floats(_rint), doc="Nearest integer; halves go down.", head_gradient=False)
logical_not = unary(
    "logical_not", compute=_logical_not, doc="1 where data is 0, else 0.", head_gradient=False
)
zeros_like = unary("zeros_like", compute=torch.zeros_like, doc="Zeros of data's shape.", head_gradient=False)
ones_like = unary("ones_like", compute=torch.ones_like, doc="Ones of data's shape.", head_gradient=False)

# Views: whether a result may share memory with its input is for the callers to decide.
identity = unary("_copy", "identity", compute=lambda data: data.view_as(data), doc="`data` as it is.")
copyto = unary(
    "_copyto", compute=lambda data: data.view_as(data), doc="`data` as it is.", listed={"data": "NDArray"}
)
block_grad = unary(
    "BlockGrad",
    "stop_gradient",
    compute=torch.detach,
    doc="`data` as it is; no gradient flows back through it.",
    head_gradient=False,
)


@operator("make_loss", same_shape=True, outputs=("loss",), head_gradient=False)
def make_loss(data: Tensor) -> Tensor:
    """`data` as it is, as something to minimise: its gradient is 1, whatever the gradient of the output.

    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> (10 * make_loss(x)).backward()
    >>> x.grad
    tensor([1.])
    """
    return data.view_as(data)


@make_loss.gradient
def _(
    p: Params, inputs: Sequence[Tensor], outputs: Sequence[Tensor], head_grads: Sequence[Tensor]
) -> Sequence[Tensor]:
    return (torch.ones_like(inputs[0]),)


@operator("hard_sigmoid", same_shape=True)
def hard_sigmoid(data: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    """``alpha * data + beta`` cut to [0, 1]; at both ends the gradient is 0.

    >>> hard_sigmoid(torch.tensor([-9.0, 0.0, 9.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    # Not clamp, whose gradient at both ends is 1.
    return F.hardtanh(data * alpha + beta, 0.0, 1.0).to(dtype=data.dtype)


@operator("clip", same_shape=True)
def clip(data: Tensor, *, a_min: float, a_max: float) -> Tensor:
    """`data` cut to [a_min, a_max]; at both ends the gradient is 1.

    >>> clip(torch.tensor([-3.0, 0.5, 3.0]), a_min=-1.0, a_max=1.0)
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if not data.is_floating_point():
        if data.dtype is torch.bool:
            raise DTypeError("data must not be of type bool. Convert it with astype().", argument="data")
        bounds = torch.iinfo(data.dtype)
        # Bounds beyond the type would wrap around.
        a_min, a_max = (int(max(bounds.min, min(bounds.max, bound))) for bound in (a_min, a_max))
    # 65504 is the largest float16: within it bounds fit any floating type, and nothing needs to be looked up.
    elif a_max > 65504 or a_min < -65504:  # perhaps beyond the type, as the text of the largest float32 is
        limit = torch.finfo(data.dtype).max
        a_min, a_max = (
            bound if math.isinf(bound) else max(-limit, min(limit, bound)) for bound in (a_min, a_max)
        )
    return clamp(data, a_min, a_max)


@operator("smooth_l1", same_shape=True, listed={"scalar": "float", "is_int": None})
def smooth_l1(data: Tensor, *, scalar: float = 1.0, is_int: bool = True) -> Tensor:
    """Absolute value made smooth near 0: ``(scalar * data)**2 / 2`` where ``|data| < 1 / scalar**2``.

    Elsewhere ``|data| - 1 / (2 * scalar**2)``.

    `is_int` is accepted, as by all operators with a number, and changes nothing.

    >>> smooth_l1(torch.tensor([-2.0, 0.5]))
    tensor([1.5000, 0.1250])
    """
    if not data.is_floating_point():
        return smooth_l1(data.to(dtype=torch.float64), scalar=scalar).to(dtype=data.dtype)
    squared = scalar * scalar
    if not squared:  # the parabola, without curvature, is everywhere
        return 0.0 * torch.square(data)
    # ``|x| - beta / 2`` beyond beta, ``x**2 / (2 beta)`` within; beta is 1 / scalar**2.
    zeros = data.new_zeros(()).expand_as(data)
    # As `F.smooth_l1_loss` calls it, after checks that take longer than small arrays; 0 is no reduction.
    found: Tensor = _aten.smooth_l1_loss.default(data, zeros, 0, 1 / squared)
    return found


for _made in (make_loss, hard_sigmoid, clip, smooth_l1):
    _made.output_shapes(one_shape)


_NARROW = frozenset({torch.uint8, torch.int8, torch.int16})


@operator(
    "Cast",
    "cast",
    same_shape=True,
    types=lambda p: {"data": "any", "output": p.dtype},
    head_gradient=lambda p: p.dtype.is_floating_point,  # whole numbers have no slope
)
def cast(data: Tensor, *, dtype: AnyType) -> Tensor:
    """`data` in another type; fractions are rounded towards 0.

    Unlike in MXNet, no gradient flows through an integer type.

    >>> cast(torch.tensor([1.7, -1.7]), dtype=torch.int32)
    tensor([ 1, -1], dtype=torch.int32)
    """
    if dtype in _NARROW and data.is_floating_point():
        return data.to(dtype=torch.int64).to(dtype=dtype)  # what does not fit wraps around, on every device
    return data.to(dtype=dtype)


@operator("amp_cast", same_shape=True, types={"data": "any", "output": "any"})
def amp_cast(data: Tensor, *, dtype: NumericType) -> Tensor:
    """`data` in another of the types float16, bfloat16 and float32; of other types it stays as it is.

    >>> (
    ...     amp_cast(torch.ones(1), dtype=torch.float16).dtype,
    ...     amp_cast(torch.tensor([1]), dtype=torch.float16).dtype,
    ... )
    (torch.float16, torch.int64)
    """
    return data.to(dtype=dtype) if data.dtype in _AMP_TYPES else data.view_as(data)


for _made in (cast, amp_cast):
    _made.output_shapes(one_shape)


@operator(
    "amp_multicast",
    count="num_outputs",
    outputs=lambda p: tuple(f"output{i}" for i in range(p.num_outputs or 0)),
    types={"*": "any", "output": "any"},
    same_shape=True,
)
def amp_multicast(*data: Tensor, cast_narrow: bool = False) -> tuple[Tensor, ...]:
    """Arrays of float16, bfloat16 and float32 in the widest of their types; other arrays stay as they are.

    Parameters
    ----------
    cast_narrow
        Take the narrowest type instead.

    >>> [out.dtype for out in amp_multicast(torch.ones(1), torch.ones(1, dtype=torch.float16))]
    [torch.float32, torch.float32]
    """
    # In the order of `_AMP_TYPES`: the widest of those that occur comes first.
    found = [kind for kind in _AMP_TYPES if any(array.dtype is kind for array in data)]
    if not found:
        return tuple(array.view_as(array) for array in data)
    target = found[-1] if cast_narrow else found[0]
    if not cast_narrow and torch.float32 not in found and len(found) > 1:
        target = torch.float32  # neither of the two half-precision types holds the other
    return tuple(array.to(target) if array.dtype in _AMP_TYPES else array.view_as(array) for array in data)


@amp_multicast.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    return list(shapes.values())


@amp_multicast.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return dict(zip(shapes, outputs, strict=False))  # each of its own shape


_AMP_TYPES = (torch.float32, torch.bfloat16, torch.float16)  # the widest first


@operator("shape_array", types={"data": "any", "output": torch.int64}, head_gradient=False)
def shape_array(data: Tensor) -> Tensor:
    """Shape of `data`, as an int64 array.

    >>> shape_array(torch.zeros(2, 3))
    tensor([2, 3])
    """
    return torch.tensor(data.shape, dtype=torch.int64, device=data.device)


@shape_array.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    return [(len(shapes["data"]) if shapes["data"] else 0,)]


@operator("size_array", types={"data": "any", "output": torch.int64}, head_gradient=False)
def size_array(data: Tensor) -> Tensor:
    """Number of elements of `data`, as an int64 array of one element.

    >>> size_array(torch.zeros(2, 3))
    tensor([6])
    """
    return torch.tensor([data.numel()], dtype=torch.int64, device=data.device)


@size_array.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    return [(1,)]
