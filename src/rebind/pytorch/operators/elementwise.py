"""Functions of each element, arithmetic of arrays and numbers."""

from __future__ import annotations

from collections.abc import Callable

from ..node_writer import NodeWriter, Value
from ..translations import translation

__all__ = ["add_n", "cast", "clip", "gradient_multiplier", "hard_sigmoid", "straight_through"]

#: Functions that PyTorch has, for floating-point numbers.
_UNARY = {
    "relu": "F.relu", "sigmoid": "torch.sigmoid", "tanh": "torch.tanh", "exp": "torch.exp", "log": "torch.log",
    "sqrt": "torch.sqrt", "rsqrt": "torch.rsqrt", "square": "torch.square", "abs": "torch.abs", "sign": "torch.sign",
    "negative": "torch.neg", "reciprocal": "torch.reciprocal", "erf": "torch.erf", "sin": "torch.sin",
    "cos": "torch.cos", "log1p": "torch.log1p", "expm1": "torch.expm1", "softsign": "F.softsign",
    "zeros_like": "torch.zeros_like", "ones_like": "torch.ones_like",
}  # fmt: skip
_BINARY = {
    "+": ("elemwise_add", "broadcast_add", "_grad_add"),
    "-": ("elemwise_sub", "broadcast_sub"),
    "*": ("elemwise_mul", "broadcast_mul"),
    "/": ("elemwise_div", "broadcast_div"),
}
_SCALAR = {
    "_plus_scalar": "{0} + {1}",
    "_minus_scalar": "{0} - {1}",
    "_rminus_scalar": "{1} - {0}",
    "_mul_scalar": "{0} * {1}",
    "_div_scalar": "{0} / {1}",
    "_rdiv_scalar": "{1} / {0}",
    "_power_scalar": "{0} ** {1}",
    "_maximum_scalar": "{0}.clamp(min={1})",
    "_minimum_scalar": "{0}.clamp(max={1})",
}


def _is_float(writer: NodeWriter) -> bool:
    return all(writer.dtype(i).is_floating_point for i in range(len(writer.node.inputs)))


def _declare_unary(name: str, function: str) -> None:
    @translation(name)
    def write(writer: NodeWriter, data: Value) -> str | None:
        return f"{function}({data})" if _is_float(writer) else None


def _declare_binary(sign: str, names: tuple[str, ...]) -> None:
    @translation(*names)
    def write(writer: NodeWriter, lhs: Value, rhs: Value) -> str | None:
        if not _is_float(writer):
            return None
        return f"{lhs} {sign} {rhs}"


def _declare_scalar(name: str, template: str) -> None:
    @translation(name)
    def write(writer: NodeWriter, data: Value) -> str | None:
        number = writer.params.scalar
        is_plain = _is_float(writer) and -65504.0 <= number <= 65504.0
        if not is_plain or ("**" in template and number < 0):
            return None
        return template.format(
            data, f"({number!r})" if number < 0 and "clamp" not in template else repr(number)
        )


def _declare_all(declare: Callable[..., None], table: dict) -> None:
    for item in table.items():
        declare(*item)


_declare_all(_declare_unary, _UNARY)
_declare_all(_declare_binary, _BINARY)
_declare_all(_declare_scalar, _SCALAR)


@translation("add_n")
def add_n(writer: NodeWriter, *inputs: Value) -> str | None:
    """Add arrays from the first to the last."""
    return " + ".join(map(str, inputs)) if _is_float(writer) else None


@translation("clip")
def clip(writer: NodeWriter, data: Value) -> str | None:
    """Bound values."""
    p = writer.params
    return f"{data}.clamp({p.a_min!r}, {p.a_max!r})" if _is_float(writer) else None


@translation("hard_sigmoid")
def hard_sigmoid(writer: NodeWriter, data: Value) -> str | None:
    """Bound a line by 0 and 1; `clamp` would have another gradient at both."""
    p = writer.params
    return f"F.hardtanh({data} * {p.alpha!r} + {p.beta!r}, 0.0, 1.0)" if _is_float(writer) else None


@translation("Cast")
def cast(writer: NodeWriter, data: Value) -> str | None:
    """Change the type between floating-point ones."""
    if not (_is_float(writer) and writer.output_dtype().is_floating_point):
        return None
    return f"{data}.to({writer.output_dtype()})"


@translation("_contrib_gradientmultiplier")
def gradient_multiplier(writer: NodeWriter, data: Value) -> str:
    """Multiply the gradient alone: the difference is 0, and has a gradient."""
    return f"{data}.detach() + ({data} - {data}.detach()) * {writer.params.scalar!r}"


@translation("_contrib_round_ste", "_contrib_sign_ste")
def straight_through(writer: NodeWriter, data: Value) -> str:
    """Round, halves away from 0, or take the sign, and let the gradient pass."""
    rounds = writer.node.operator.name == "_contrib_round_ste"
    result = f"torch.sign({data}){f' * torch.floor({data}.abs() + 0.5)' if rounds else ''}"
    return f"({result}).detach() + ({data} - {data}.detach())"
