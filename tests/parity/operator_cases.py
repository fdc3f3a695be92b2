"""The table of operator cases: what MXNet was asked to compute, and what rebind has to compute as well.

A case names an operator, its parameters and the inputs that are given; inputs that are left out (weights,
gammas) become variables of their own with inferred shapes. To cover another operator, add rows here and
record them with ``python -m tests.parity.generate operators``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Input:
    """An input array: how its values are drawn, its type, and whether a gradient for it is asked."""

    kind: str
    shape: tuple[int, ...]
    low: float = 0.0
    high: float = 0.0
    dtype: str = "float32"
    gradient: bool = True
    values: tuple[float, ...] = ()

    def draw(self, random: np.random.RandomState) -> Array:
        """Draw the values."""
        if self.kind == "values":
            drawn = np.array(self.values).reshape(self.shape)
        elif self.kind == "normal":
            drawn = random.standard_normal(self.shape)
        elif self.kind == "integers":
            drawn = random.randint(int(self.low), int(self.high), self.shape)
        elif self.kind == "distinct":
            size = int(np.prod(self.shape))
            drawn = (random.permutation(size).reshape(self.shape) - size / 2) / 4 + 0.1
        else:
            drawn = random.uniform(self.low, self.high, self.shape)
        return np.asarray(drawn).astype(self.dtype)


def normal(*shape: int, dtype: str = "float32") -> Input:
    """Values of the standard normal distribution."""
    return Input("normal", shape, dtype=dtype)


def between(low: float, high: float, *shape: int) -> Input:
    """Evenly distributed values, for functions that are not defined everywhere."""
    return Input("uniform", shape, low, high)


def distinct(*shape: int, dtype: str = "float32") -> Input:
    """Values that keep a distance from each other and from zero: a maximum or an order is never in doubt."""
    return Input("distinct", shape, dtype=dtype)


def integers(low: int, high: int, *shape: int, dtype: str = "float32") -> Input:
    """Whole numbers from ``low`` up to, without, ``high``; no gradient."""
    return Input("integers", shape, low, high, dtype, gradient=False)


def values(*numbers: float, shape: tuple[int, ...] | None = None, dtype: str = "float32") -> Input:
    """The numbers given; no gradient."""
    return Input("values", shape or (len(numbers),), dtype=dtype, gradient=False, values=numbers)


def fixed(spec: Input) -> Input:
    """The same input without a gradient, where MXNet has none for it."""
    return replace(spec, gradient=False)


@dataclass(frozen=True)
class Case:
    """One call of one operator."""

    operator: str
    inputs: Mapping[str, Input]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: Inputs are given by position: the operator takes any number of them.
    variadic: bool = False
    #: ``backward`` gets no head gradient: the operator is a loss and has its own.
    loss: bool = False

    @property
    def name(self) -> str:
        """The call as text; cases with the same text are told apart by their position in the table."""
        return f"{self.operator}({', '.join(f'{k}={v}' for k, v in self.parameters.items())})"

    @property
    def description(self) -> str:
        """All that the recorded numbers depend on, to notice data that is older than the table."""
        return f"{self.name} {dict(self.inputs)} variadic={self.variadic} loss={self.loss}"

    def symbol(self, mx: Any) -> Any:
        """Build the call with the module ``mx``; the node's name is ``op``."""
        function = find(mx, self.operator)
        variables = {name: mx.sym.var(name) for name in self.inputs}
        if self.variadic:
            return function(*variables.values(), name="op", **self.parameters)
        return function(**variables, name="op", **self.parameters)


def find(mx: Any, operator: str) -> Any:
    """Look an operator up where MXNet keeps it: ``sym``, one of its parts, or ``sym._internal``."""
    place = mx.sym._internal if operator.startswith("_") else mx.sym
    for part in operator.split("."):
        place = getattr(place, part)
    return place


def case(operator: str, inputs: Mapping[str, Input] | None = None, /, **parameters: Any) -> Case:
    """Make a row; parameters are written as in a call."""
    return Case(operator, inputs or {}, parameters)


def variadic(operator: str, inputs: Sequence[Input], /, **parameters: Any) -> Case:
    """Make a row of an operator that takes any number of inputs."""
    return Case(operator, {f"x{index}": spec for index, spec in enumerate(inputs)}, parameters, variadic=True)


def loss(operator: str, inputs: Mapping[str, Input], /, **parameters: Any) -> list[Case]:
    """Make two rows: ``backward`` without a head gradient, and with one (which no loss looks at)."""
    row = Case(operator, inputs, parameters)
    return [replace(row, loss=True), row]


def layers() -> Iterable[Case]:
    """Layers with parameters of their own, and what stands between them."""
    fc = "FullyConnected"
    yield case(fc, {"data": normal(3, 5)}, num_hidden=4)
    yield case(fc, {"data": normal(3, 2, 5)}, num_hidden=4)
    yield case(fc, {"data": normal(3, 2, 5)}, num_hidden=4, flatten=False)
    yield case(fc, {"data": normal(3, 2, 5)}, num_hidden=4, flatten=False, no_bias=True)
    yield case(fc, {"data": normal(3, 5)}, num_hidden=1, no_bias=True)
    yield case(fc, {"data": normal(3, 5, dtype="float64")}, num_hidden=4)

    conv = "Convolution"
    yield case(conv, {"data": normal(2, 3, 9)}, kernel=(3,), num_filter=4)
    yield case(conv, {"data": normal(2, 4, 9)}, kernel=(3,), stride=(2,), pad=(2,), num_filter=6, num_group=2)
    image = {"data": normal(2, 4, 7, 6)}
    yield case(conv, image, kernel=(3, 3), num_filter=3)
    yield case(conv, image, kernel=(1, 1), num_filter=3, no_bias=True)
    yield case(conv, image, kernel=(3, 2), stride=(2, 1), pad=(1, 1), num_filter=3)
    yield case(conv, image, kernel=(2, 2), dilate=(2, 3), num_filter=3, no_bias=True)
    yield case(conv, image, kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=6, num_group=2)
    yield case(conv, image, kernel=(3, 3), pad=(1, 1), num_filter=4, num_group=4)
    yield case(
        conv, {"data": normal(1, 2, 4, 5, 4)}, kernel=(2, 3, 2), stride=(1, 2, 1), pad=(1, 1, 0), num_filter=3
    )

    deconv = "Deconvolution"
    image = {"data": normal(2, 4, 4, 3)}
    yield case(deconv, {"data": normal(2, 4, 5)}, kernel=(3,), stride=(2,), num_filter=3)
    yield case(deconv, image, kernel=(3, 3), num_filter=3)
    yield case(deconv, image, kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=3, no_bias=False)
    yield case(deconv, image, kernel=(3, 3), stride=(2, 2), pad=(1, 1), adj=(1, 1), num_filter=3)
    yield case(deconv, image, kernel=(3, 3), stride=(2, 2), target_shape=(8, 6), num_filter=3)
    yield case(deconv, image, kernel=(3, 3), stride=(3, 2), target_shape=(10, 7), num_filter=3)
    yield case(deconv, image, kernel=(2, 2), stride=(2, 2), num_filter=4, num_group=2)
    yield case(deconv, image, kernel=(2, 2), dilate=(2, 1), num_filter=2)

    norm = {"data": normal(4, 3, 2, 2)}
    yield case("BatchNorm", norm)
    yield case("BatchNorm", norm, fix_gamma=False, eps=2e-5, momentum=0.8)
    yield case("BatchNorm", norm, fix_gamma=True, use_global_stats=True)
    yield case("BatchNorm", norm, fix_gamma=False, use_global_stats=True)
    yield case("BatchNorm", norm, fix_gamma=False, axis=3)
    yield case("BatchNorm", norm, fix_gamma=False, axis=-2)
    yield case("BatchNorm", {"data": normal(6, 3)}, fix_gamma=False)
    # The further outputs are read-only: head gradients for them do not reach the data.
    yield case("BatchNorm", {"data": fixed(normal(4, 3, 2, 2))}, fix_gamma=False, output_mean_var=True)
    yield case("LayerNorm", {"data": fixed(normal(3, 4, 5))}, output_mean_var=True)
    yield case("LayerNorm", {"data": normal(3, 4, 5)})
    yield case("LayerNorm", {"data": normal(3, 4, 5)}, axis=1, eps=1e-3)
    for mode in ("instance", "channel", "spatial"):
        yield case("L2Normalization", {"data": normal(2, 3, 2, 2)}, mode=mode)

    for kind in ("relu", "sigmoid", "tanh", "softrelu", "softsign"):
        yield case("Activation", {"data": normal(3, 7)}, act_type=kind)
    yield case("LeakyReLU", {"data": normal(3, 7)})
    yield case("LeakyReLU", {"data": normal(3, 7)}, act_type="leaky", slope=0.1)
    yield case("LeakyReLU", {"data": normal(3, 7)}, act_type="elu", slope=0.4)
    yield case("LeakyReLU", {"data": normal(3, 7)}, act_type="selu")
    yield case("LeakyReLU", {"data": normal(3, 7)}, act_type="gelu")
    yield case("LeakyReLU", {"data": normal(2, 3, 2, 2)}, act_type="prelu")
    yield case("LeakyReLU", {"data": normal(2, 3, 2, 2), "gamma": between(0.1, 0.5, 1)}, act_type="prelu")
    yield case("LeakyReLU", {"data": normal(4, 3)}, act_type="prelu")

    yield case("Embedding", {"data": integers(0, 6, 3, 4)}, input_dim=6, output_dim=5)
    yield case("Embedding", {"data": values(0, 1, -3, 9)}, input_dim=4, output_dim=2)
    yield case("Embedding", {"data": integers(0, 6, 3, dtype="int32")}, input_dim=6, output_dim=5)
    yield case("Dropout", {"data": normal(3, 4)}, p=0.0)


def pooling() -> Iterable[Case]:
    """Every kind with every convention, and what changes the divisor of an average.

    The convention "same" is left out: 1.9.1 fails at every call with it.
    """
    image = {"data": distinct(2, 2, 7, 6)}
    for kind in ("max", "avg", "sum"):
        yield case("Pooling", image, kernel=(2, 2), pool_type=kind)
        yield case("Pooling", image, kernel=(3, 3), stride=(2, 2), pool_type=kind)
        yield case("Pooling", image, kernel=(3, 3), stride=(2, 2), pool_type=kind, pooling_convention="full")
        yield case(
            "Pooling",
            image,
            kernel=(3, 2),
            stride=(2, 2),
            pad=(1, 0),
            pool_type=kind,
            pooling_convention="full",
        )
        yield case("Pooling", image, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type=kind)
        yield case("Pooling", image, kernel=(2, 2), global_pool=True, pool_type=kind)
        yield case("Pooling", {"data": distinct(2, 2, 7)}, kernel=(3,), stride=(2,), pad=(1,), pool_type=kind)
        yield case(
            "Pooling", {"data": distinct(1, 2, 4, 4, 5)}, kernel=(2, 2, 3), stride=(2, 1, 2), pool_type=kind
        )
    yield case(
        "Pooling", image, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg", count_include_pad=False
    )
    yield case(
        "Pooling",
        image,
        kernel=(3, 3),
        stride=(2, 2),
        pad=(1, 1),
        pool_type="avg",
        count_include_pad=False,
        pooling_convention="full",
    )
    for power in (1, 2, 3):
        yield case(
            "Pooling", {"data": between(0.5, 2, 2, 2, 5, 5)}, kernel=(2, 2), pool_type="lp", p_value=power
        )
    yield case("Pooling", image, global_pool=True)


def losses() -> Iterable[Case]:
    """Operators that bring their own gradient.

    Two things are left out, since 1.9.1 does not do what it says: ``out_grad=True`` of ``SoftmaxOutput``
    multiplies by the output instead of the head gradient, and for data of three axes without
    ``preserve_shape`` or ``multi_output`` the inferred label has more elements than there are rows.
    """
    rows = {"data": normal(4, 5), "label": integers(0, 5, 4)}
    yield from loss("SoftmaxOutput", rows)
    yield from loss("SoftmaxOutput", rows, grad_scale=0.5)
    for normalization in ("null", "batch", "valid"):
        yield from loss("SoftmaxOutput", rows, normalization=normalization)
        yield from loss("SoftmaxOutput", rows, normalization=normalization, use_ignore=True, ignore_label=2)
    yield from loss("SoftmaxOutput", rows, smooth_alpha=0.1)
    yield from loss("SoftmaxOutput", {"data": normal(4, 5), "label": fixed(between(0, 1, 4, 5))})
    yield from loss(
        "SoftmaxOutput", {"data": normal(2, 3, 4), "label": integers(0, 4, 2, 3)}, preserve_shape=True
    )
    maps = {"data": normal(2, 4, 3, 2), "label": integers(0, 4, 2, 3, 2)}
    yield from loss("SoftmaxOutput", maps, multi_output=True)
    yield from loss("SoftmaxOutput", {**maps, "label": integers(0, 4, 2, 6)}, multi_output=True)
    for normalization in ("null", "batch", "valid"):
        yield from loss(
            "SoftmaxOutput",
            maps,
            multi_output=True,
            use_ignore=True,
            ignore_label=1,
            normalization=normalization,
        )
    for operator in ("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"):
        yield from loss(operator, {"data": normal(4, 3), "label": fixed(between(0, 1, 4, 3))})
        yield from loss(operator, {"data": normal(4, 1), "label": fixed(between(0, 1, 4))}, grad_scale=2.0)
    yield from loss("MakeLoss", {"data": normal(4, 3)})
    yield from loss("MakeLoss", {"data": normal(4, 3)}, grad_scale=0.3)
    yield from loss("MakeLoss", {"data": normal(4, 3)}, grad_scale=0.3, normalization="batch")
    yield from loss("MakeLoss", {"data": normal(4, 3)}, normalization="valid", valid_thresh=0.2)
    yield from loss("make_loss", {"data": normal(4, 3)})
    yield from loss("BlockGrad", {"data": normal(4, 3)})
    yield case("softmax_cross_entropy", {"data": normal(4, 5), "label": integers(0, 5, 4)})
    for scalar in (1.0, 3.0):
        yield case("smooth_l1", {"data": normal(3, 6)}, scalar=scalar)


#: Unary functions with the values that they are tried on.
UNARY: dict[str, Input] = {
    **dict.fromkeys(
        [
            "relu",
            "sigmoid",
            "tanh",
            "softsign",
            "exp",
            "expm1",
            "square",
            "abs",
            "negative",
            "sin",
            "cos",
            "sinh",
            "cosh",
            "arctan",
            "arcsinh",
            "erf",
            "cbrt",
            "identity",
            "degrees",
            "radians",
            "sign",
            "zeros_like",
            "ones_like",
            "hard_sigmoid",
        ],
        normal(3, 7),
    ),
    **dict.fromkeys(
        ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "rcbrt", "gamma", "gammaln"],
        between(0.3, 3, 3, 7),
    ),
    **dict.fromkeys(["tan", "arcsin", "arccos", "arctanh", "erfinv"], between(-0.9, 0.9, 3, 7)),
    "arccosh": between(1.2, 3, 3, 7),
    **dict.fromkeys(["floor", "ceil", "round", "rint", "fix", "trunc"], distinct(3, 7)),
}

ROUNDING = values(-2.5, -1.5, -1.2, -0.5, -0.3, -0.0, 0.3, 0.5, 1.2, 1.5, 2.5, 3.0)


def unary() -> Iterable[Case]:
    """Functions of one array, element by element."""
    for operator, spec in UNARY.items():
        yield case(operator, {"data": spec})
    for operator in ("floor", "ceil", "round", "rint", "fix", "trunc", "sign", "abs", "relu"):
        yield case(operator, {"data": ROUNDING})
    yield case("logical_not", {"data": values(-1, 0, 0.5, 2)})
    yield case("reciprocal", {"data": between(-3, -0.5, 4)})
    yield case("cbrt", {"data": values(-8, -1, 0, 27)})
    yield case("gamma", {"data": values(-1.5, -0.5, 0.5, 5)})
    yield case("hard_sigmoid", {"data": normal(3, 7)}, alpha=0.4, beta=0.3)
    yield case("clip", {"data": normal(3, 7)}, a_min=-0.5, a_max=0.7)
    for dtype in ("float16", "float64"):
        for operator in ("relu", "exp", "square"):
            yield case(operator, {"data": normal(3, 4, dtype=dtype)})
    for source in ("float32", "float64", "float16", "int32", "int64", "uint8", "int8"):
        yield case("abs", {"data": integers(0, 5, 4, dtype=source)})
        for target in ("float32", "float16", "int32", "uint8"):
            yield case("Cast", {"data": integers(0, 9, 4, dtype=source)}, dtype=target)
    yield case("Cast", {"data": values(-1.7, -0.5, 0.5, 1.7)}, dtype="int32")
    yield case("Cast", {"data": normal(3, 4)}, dtype="float64")


ARITHMETIC = ("add", "sub", "mul", "div", "power", "maximum", "minimum", "mod", "hypot")
COMPARISONS = ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal")
LOGICALS = ("logical_and", "logical_or", "logical_xor")


def binary() -> Iterable[Case]:
    """Functions of two arrays and of an array and a number."""
    for name in ("add", "sub", "mul", "div"):
        yield case(f"elemwise_{name}", {"lhs": normal(3, 4), "rhs": between(0.5, 2, 3, 4)})
    yield case(
        "elemwise_add", {"lhs": integers(0, 9, 4, dtype="int32"), "rhs": integers(0, 9, 4, dtype="int32")}
    )
    for name in ("_power", "_maximum", "_minimum", "_hypot", "_mod"):
        yield case(name, {"lhs": between(0.5, 3, 3, 4), "rhs": between(0.5, 2, 3, 4)})
    shapes = [((3, 4), (3, 4)), ((3, 1, 4), (1, 2, 4)), ((2, 3, 4), (1, 1, 1)), ((1, 4), (3, 4))]
    for name in ARITHMETIC:
        for left, right in shapes:
            yield case(f"broadcast_{name}", {"lhs": between(0.5, 3, *left), "rhs": between(0.6, 2, *right)})
    yield case("broadcast_add", {"lhs": normal(3, 4, dtype="float64"), "rhs": normal(1, 4, dtype="float64")})
    signs = {"lhs": values(-5, 5, -5, 5, 0, 3.5), "rhs": values(3, -3, -3, 3, 2, 1.25)}
    yield case("broadcast_mod", signs)
    yield case(
        "broadcast_mod", {k: replace(v, dtype="int32", values=(7, -7, 7, -7, 1, 5)) for k, v in signs.items()}
    )
    whole = {"lhs": integers(0, 3, 3, 4), "rhs": integers(0, 3, 1, 4)}
    for name in COMPARISONS + LOGICALS:
        yield case(f"broadcast_{name}", whole)
        yield case(f"broadcast_{name}", {k: replace(v, dtype="int32") for k, v in whole.items()})
    for name in COMPARISONS:
        yield case(f"_{name}", {"lhs": integers(0, 3, 3, 4), "rhs": integers(0, 3, 3, 4)})
        yield case(f"_{name}_scalar", {"data": integers(0, 3, 3, 4)}, scalar=1)
    for name in LOGICALS:
        yield case(f"_{name}_scalar", {"data": integers(0, 3, 3, 4)}, scalar=1)
        yield case(f"_{name}_scalar", {"data": integers(0, 3, 3, 4)}, scalar=0)
    positive = {"data": between(0.5, 3, 3, 4)}
    for name in [
        "plus",
        "minus",
        "rminus",
        "mul",
        "div",
        "rdiv",
        "mod",
        "rmod",
        "power",
        "rpower",
        "maximum",
        "minimum",
        "hypot",
    ]:
        for scalar in (2, 1.3):
            yield case(f"_{name}_scalar", positive, scalar=scalar)
    for name in ("mod", "rmod"):
        yield case(f"_{name}_scalar", {"data": values(-5, -2.5, 2.5, 5)}, scalar=-3)
    for name in ("plus", "minus", "rminus", "mul", "div", "maximum", "power"):
        yield case(f"_{name}_scalar", {"data": integers(1, 9, 5, dtype="int32")}, scalar=2)
    yield case("_plus_scalar", {"data": integers(1, 9, 5, dtype="int32")}, scalar=1.7)
    yield case("_mul_scalar", {"data": normal(5, dtype="float16")}, scalar=1.7)
    yield variadic("add_n", [normal(3, 4), normal(3, 4), normal(3, 4)])
    yield variadic("add_n", [normal(3, 4)])


def reductions() -> Iterable[Case]:
    """Sums and their kin: one axis, several, none, all but some."""
    data = {"data": distinct(2, 3, 4)}
    for name in ("sum", "mean", "prod", "nansum", "nanprod", "max", "min"):
        spec = {"data": between(0.5, 1.5, 2, 3, 4)} if "prod" in name else data
        yield case(name, spec)
        yield case(name, spec, axis=1)
        yield case(name, spec, axis=-1, keepdims=True)
        yield case(name, spec, axis=(0, 2))
        yield case(name, spec, axis=1, exclude=True)
        yield case(name, spec, axis=(0, 2), exclude=True, keepdims=True)
        yield case(name, spec, axis=())
    holes = values(1.5, np.nan, -2.0, np.nan, np.nan, 3.0, shape=(2, 3))
    yield case("nansum", {"data": holes}, axis=1)
    yield case("nanprod", {"data": holes}, axis=0)
    yield case("sum", {"data": integers(0, 9, 3, 4, dtype="int32")}, axis=1)
    yield case("mean", {"data": integers(0, 9, 3, 4, dtype="int32")}, axis=1)
    yield case("sum", {"data": normal(3, 4, dtype="float16")}, axis=1)
    for order in (1, 2):
        yield case("norm", {"data": normal(2, 3, 4)}, ord=order)
        yield case("norm", {"data": normal(2, 3, 4)}, ord=order, axis=1)
        yield case("norm", {"data": normal(2, 3, 4)}, ord=order, axis=(0, 2), keepdims=True)
    still = {"data": fixed(distinct(2, 3, 4))}
    for name in ("argmax", "argmin"):
        yield case(name, still)
        yield case(name, still, axis=1)
        yield case(name, still, axis=-1, keepdims=True)
        yield case(name, {"data": values(1, 3, 3, 0, 0, 2)}, axis=0)
    yield case("argmax_channel", {"data": fixed(distinct(3, 4))})
    for name in ("softmax", "log_softmax", "softmin"):
        yield case(name, {"data": normal(2, 3, 4)})
        yield case(name, {"data": normal(2, 3, 4)}, axis=1)
        yield case(name, {"data": normal(2, 3, 4)}, axis=0, temperature=2.5)
    yield case("softmax", {"data": normal(2, 3)}, dtype="float64")


def products() -> Iterable[Case]:
    """Matrix products."""
    yield case("dot", {"lhs": normal(3, 4), "rhs": normal(4, 5)})
    yield case("dot", {"lhs": normal(4, 3), "rhs": normal(4, 5)}, transpose_a=True)
    yield case("dot", {"lhs": normal(3, 4), "rhs": normal(5, 4)}, transpose_b=True)
    yield case("dot", {"lhs": normal(4, 3), "rhs": normal(5, 4)}, transpose_a=True, transpose_b=True)
    yield case("dot", {"lhs": normal(4), "rhs": normal(4)})
    yield case("dot", {"lhs": normal(3, 4), "rhs": normal(4)})
    yield case("dot", {"lhs": normal(2, 3, 4), "rhs": normal(4, 5)})
    yield case("dot", {"lhs": normal(2, 3, 4), "rhs": normal(4, 2, 3)})
    yield case("dot", {"lhs": normal(4, 2, 3), "rhs": normal(4, 5)}, transpose_a=True)
    yield case("dot", {"lhs": normal(2, 4), "rhs": normal(3, 5, 4)}, transpose_b=True)
    for first, second in ((False, False), (True, False), (False, True), (True, True)):
        left, right = (2, 4, 3) if first else (2, 3, 4), (2, 5, 4) if second else (2, 4, 5)
        yield case(
            "batch_dot", {"lhs": normal(*left), "rhs": normal(*right)}, transpose_a=first, transpose_b=second
        )


def shaping() -> Iterable[Case]:
    """Operators that move elements and compute nothing."""
    data = {"data": normal(2, 3, 4)}
    yield case("Flatten", data)
    yield case("Flatten", {"data": normal(5)})
    for shape in (
        (4, 6), (-1,), (0, -1), (-1, 0), (-2,), (0, -2), (-3, 0), (0, -3), (-3, -2), (-4, 1, 2, -2),
        (-4, -1, 2, 0, 0), (0, -4, 3, -1, 0), (0, 0, -4, 2, 2), (2, -1, 1),
    ):  # fmt: skip
        yield case("Reshape", data, shape=shape)
    for shape in ((-1, 0), (6, -1), (-3, 0), (0, -1, 2)):
        yield case("Reshape", data, shape=shape, reverse=True)
    yield case("reshape_like", {"lhs": normal(2, 6), "rhs": normal(3, 4)})
    yield case("transpose", data)
    yield case("transpose", data, axes=(1, 2, 0))
    yield case("SwapAxis", data, dim1=0, dim2=2)
    yield case("swapaxes", data, dim1=1, dim2=2)
    for axis in (0, 2, 3, -1, -4):
        yield case("expand_dims", data, axis=axis)
    single = {"data": normal(1, 3, 1, 2)}
    yield case("squeeze", single)
    yield case("squeeze", single, axis=2)
    yield case("squeeze", single, axis=(0, 2))
    yield case("squeeze", single, axis=-2)
    for dim in (0, 1, -1):
        yield variadic("Concat", [normal(2, 3), normal(2, 3), normal(2, 3)], dim=dim)
    yield variadic("Concat", [normal(2, 1), normal(2, 3)])
    for axis in (0, 1, -1):
        yield variadic("stack", [normal(2, 3), normal(2, 3)], axis=axis)
    yield case("SliceChannel", {"data": normal(2, 6, 3)}, num_outputs=3)
    yield case("SliceChannel", {"data": normal(2, 6, 3)}, num_outputs=3, axis=2)
    yield case("SliceChannel", {"data": normal(2, 6, 3)}, num_outputs=3, axis=-1, squeeze_axis=True)
    yield case("SliceChannel", {"data": normal(2, 6, 3)}, num_outputs=1)
    yield case("tile", data, reps=(2,))
    yield case("tile", data, reps=(2, 1, 3, 1))
    yield case("repeat", data, repeats=2)
    yield case("repeat", data, repeats=3, axis=1)
    yield case("flip", data, axis=1)
    yield case("reverse", data, axis=(0, 2))
    for mode in ("edge", "constant", "reflect"):
        for spec, width in (
            (normal(1, 2, 3, 4), (0, 0, 0, 0, 1, 2, 2, 1)),
            (normal(1, 1, 3, 3, 3), (0, 0, 0, 0) + (1, 2) * 3),
        ):
            yield case("Pad", {"data": spec}, mode=mode, pad_width=width, constant_value=1.5)
    yield case("broadcast_to", {"data": normal(1, 3, 1)}, shape=(2, 3, 4))
    yield case("broadcast_to", {"data": normal(1, 3, 1)}, shape=(2, 0, 4))
    yield case("broadcast_axis", {"data": normal(1, 3, 1)}, axis=2, size=4)
    yield case("broadcast_axis", {"data": normal(1, 3, 1)}, axis=(0, 2), size=(2, 4))
    yield case("broadcast_like", {"lhs": normal(1, 3), "rhs": normal(4, 3)})
    yield case("broadcast_like", {"lhs": normal(1, 3), "rhs": normal(2, 4)}, lhs_axes=(0,), rhs_axes=(1,))


def indexing() -> Iterable[Case]:
    """Taking parts of arrays, by position and by index arrays."""
    data = {"data": normal(4, 5, 3)}
    yield case("slice", data, begin=(1,), end=(3,))
    yield case("slice", data, begin=(1, None, -2), end=(None, 4, None))
    yield case("slice", data, begin=(None, 4), end=(None, 0), step=(2, -2))
    yield case("slice", data, begin=(None, None), end=(None, None), step=(-1, 1))
    yield case("slice_axis", data, axis=1, begin=1, end=4)
    yield case("slice_axis", data, axis=-2, begin=-3, end=None)
    yield case("slice_axis", data, axis=0, begin=0, end=-1)
    yield case("slice_like", {"data": normal(4, 5), "shape_like": normal(2, 3)})
    yield case("slice_like", {"data": normal(4, 5, 3), "shape_like": normal(2, 3)}, axes=(1,))
    yield case("slice_like", {"data": normal(4, 5, 3), "shape_like": normal(2, 3, 1)}, axes=(0, -1))
    yield case("where", {"condition": integers(0, 2, 3, 4), "x": normal(3, 4), "y": normal(3, 4)})
    yield case("where", {"condition": integers(0, 2, 3), "x": normal(3, 4), "y": normal(3, 4)})
    yield case(
        "where", {"condition": integers(-1, 2, 3, 4, dtype="int32"), "x": normal(3, 4), "y": normal(3, 4)}
    )
    yield case("one_hot", {"indices": values(0, 2, 4, -1, 1.7)}, depth=4)
    yield case("one_hot", {"indices": integers(0, 4, 2, 3)}, depth=4, on_value=5, off_value=-1, dtype="int32")
    for mode in ("clip", "wrap"):
        yield case("pick", {"data": normal(3, 4), "index": values(0, 5, -1)}, mode=mode)
        yield case("take", {"a": normal(4, 3), "indices": values(0, 5, -1, 3)}, mode=mode)
        yield case("take", {"a": normal(2, 4, 3), "indices": integers(-2, 6, 2, 2)}, axis=1, mode=mode)
    yield case("pick", {"data": normal(3, 4), "index": integers(0, 3, 4)}, axis=0)
    yield case("pick", {"data": normal(3, 4, 2), "index": integers(0, 4, 3, 2)}, axis=1, keepdims=True)
    yield case("pick", {"data": normal(3, 4), "index": integers(0, 4, 3, 1)}, axis=1, keepdims=True)
    yield case("take", {"a": normal(4, 3), "indices": integers(0, 3, 2, dtype="int32")}, axis=-1)


def ordering() -> Iterable[Case]:
    """Sorting; the order is never in doubt, since the values are distinct."""
    data = {"data": distinct(3, 5)}
    still = {"data": fixed(distinct(3, 5))}
    yield case("sort", still)  # without an axis, 1.9.1 fails at the gradient
    yield case("sort", data, axis=-1)
    yield case("sort", data, axis=0, is_ascend=False)
    yield case("sort", data, axis=None)
    yield case("argsort", still)
    yield case("argsort", still, axis=0, is_ascend=False)
    yield case("argsort", still, axis=None, dtype="int32")
    yield case("topk", data, k=2, ret_typ="value")
    yield case("topk", data, k=2, ret_typ="value", axis=0, is_ascend=True)
    yield case("topk", still, k=2)
    yield case("topk", still, k=3, axis=None, dtype="int32")
    yield case("topk", still, k=2, ret_typ="mask")
    yield case("topk", data, k=2, ret_typ="both")
    yield case("topk", data, k=0, ret_typ="value")


def sources() -> Iterable[Case]:
    """Operators without inputs."""
    for name in ("_zeros", "_ones"):
        yield case(name, shape=(2, 3))
        yield case(name, shape=(2,), dtype="int32")
    yield case("_full", shape=(2, 3), value=1.5)
    yield case("_arange", start=5)
    yield case("_arange", start=1, stop=8, step=2.5)
    yield case("_arange", start=0, stop=3, repeat=2, dtype="int32")
    yield case("_arange", start=6, stop=0, step=-2)
    yield case("zeros", shape=(2, 3), dtype="float64")
    yield case("ones", shape=(2, 3))
    yield case("arange", start=2, stop=5)
    yield case("shape_array", {"data": values(1, 2, 3, 4, 5, 6, shape=(2, 3))})
    yield case("size_array", {"data": values(1, 2, 3, 4, 5, 6, shape=(2, 3))})


def linear_algebra() -> Iterable[Case]:
    """Products, factors and parts of matrices; only smooth places, and only the triangle that counts."""
    for name in ("linalg.gemm", "linalg.gemm2"):
        sum_with = {"C": normal(2, 2, 4)} if name == "linalg.gemm" else {}
        yield case(name, {"A": normal(2, 2, 3), "B": normal(2, 3, 4), **sum_with})
        yield case(
            name, {"A": normal(2, 3, 2), "B": normal(2, 3, 4), **sum_with}, transpose_a=True, alpha=0.5
        )
        yield case(name, {"A": normal(2, 2, 3), "B": normal(2, 4, 3), **sum_with}, transpose_b=True)
        swapped = {"C": normal(2, 3, 2, 5)} if sum_with else {}
        yield case(name, {"A": normal(2, 3, 2, 4), "B": normal(2, 4, 2, 5), **swapped}, axis=1)
        yield case(
            name, {"A": normal(2, 4, 2, 3), "B": normal(2, 4, 2, 5), **swapped}, axis=-3, transpose_a=True
        )
    yield case("linalg.gemm", {"A": normal(2, 3), "B": normal(3, 2), "C": normal(2, 2)}, alpha=2.0, beta=-0.5)
    yield case("linalg.gemm", {"A": normal(2, 3), "B": normal(3, 2)})
    yield case("linalg.gemm2", {"A": normal(2, 3, dtype="float64"), "B": normal(3, 2, dtype="float64")})

    full = normal(2, 3, 3)
    steady = values(2, 9, 9, 0.5, 1.5, 9, -1, 0.3, 2.5, 1, 9, 9, 2, -1.2, 9, 0.4, 0.7, 0.8, shape=(2, 3, 3))
    triangle = replace(steady, gradient=True)
    for name, matrix in (("linalg.trmm", full), ("linalg.trsm", triangle)):
        yield case(name, {"A": matrix, "B": normal(2, 3, 2)})
        yield case(name, {"A": matrix, "B": normal(2, 3, 2)}, transpose=True, alpha=-0.5)
        yield case(name, {"A": matrix, "B": normal(2, 2, 3)}, rightside=True)
        yield case(name, {"A": matrix, "B": normal(2, 2, 3)}, rightside=True, transpose=True)
        yield case(name, {"A": matrix, "B": normal(2, 3, 2)}, lower=False)
        yield case(name, {"A": matrix, "B": normal(2, 2, 3)}, lower=False, rightside=True, transpose=True)
    yield case("linalg.syrk", {"A": normal(2, 3, 2)})
    yield case("linalg.syrk", {"A": normal(2, 3, 2)}, transpose=True, alpha=0.7)

    numbers = (4, 1, 0.5, 1, 3, -0.7, 0.5, -0.7, 2, 2, 0.3, 0.1, 0.3, 5, 1.2, 0.1, 1.2, 3)
    symmetric = {"A": replace(values(*numbers, shape=(2, 3, 3)), gradient=True)}
    one = {"A": replace(values(*numbers[:9], shape=(3, 3), dtype="float64"), gradient=True)}
    for name in ("potrf", "syevd", "inverse", "det", "slogdet", "sumlogdiag"):
        yield case(f"linalg.{name}", symmetric)
        yield case(f"linalg.{name}", one)
    upper = {"A": replace(values(4, 9, 9, 1, 3, 9, 0.5, -0.7, 2, shape=(3, 3)), gradient=True)}
    for name in ("potrf", "potri", "syevd"):  # the triangle above the diagonal does not count
        yield case(f"linalg.{name}", upper)
    yield case("linalg.potri", {"A": triangle})
    for name in ("inverse", "det", "slogdet"):
        yield case(f"linalg.{name}", {"A": normal(2, 2, 3, 3)})
    yield case("linalg.gelqf", {"A": normal(2, 3, 4)})
    yield case("linalg.gelqf", {"A": normal(3, 3, dtype="float64")})
    for offset in (0, 1, -1):
        yield case("linalg.extractdiag", {"A": full}, offset=offset)
        yield case("linalg.makediag", {"A": normal(2, 3)}, offset=offset)
    for keywords in ({}, {"lower": False}, {"offset": 1}, {"offset": -1, "lower": False}):
        yield case("linalg.extracttrian", {"A": full}, **keywords)
        yield case("linalg.maketrian", {"A": normal(2, 6)}, **keywords)
    for name in ("linalg_gemm2", "linalg_potrf"):  # other names for the same
        yield case(name, {"A": normal(2, 3), "B": normal(3, 2)} if name == "linalg_gemm2" else one)


def contrib_tensors() -> Iterable[Case]:
    """Small tensor operators of ``contrib``; its Fourier transforms need a GPU, a mask has no known shape."""
    data = {"data": normal(3, 4)}
    whole = {"data": integers(-5, 6, 3, 4, dtype="int32")}
    yield case("contrib.quadratic", data)
    yield case("contrib.quadratic", data, a=0.5, b=-2.0, c=3.0)
    yield case("contrib.quadratic", whole, a=0.5, b=-2.0, c=3.0)
    yield case("contrib.gradientmultiplier", data)
    yield case("contrib.gradientmultiplier", data, scalar=-0.5)
    yield case("contrib.gradientmultiplier", data, scalar=2.0, is_int=False)
    yield case("contrib.div_sqrt_dim", data)
    yield case("contrib.div_sqrt_dim", whole)
    steps = {"data": values(-2.5, -1.5, -0.5, -0.2, 0, 0.4, 0.5, 1.5, 2.5)}
    for name in ("contrib.round_ste", "contrib.sign_ste"):
        yield case(name, data)
        yield case(name, steps)

    still = {"data": fixed(normal(3, 4))}
    yield case("contrib.arange_like", still)
    yield case("contrib.arange_like", still, start=1.5, step=-0.5, repeat=2)
    yield case("contrib.arange_like", still, axis=1)
    yield case("contrib.arange_like", still, axis=-2, repeat=2)
    yield case("contrib.arange_like", whole, start=1.5, step=2.5)
    yield case("contrib.index_array", still)
    yield case("contrib.index_array", {"data": fixed(normal(2, 3, 2))}, axes=(-1, 0))
    yield case(
        "contrib.index_copy",
        {"old_tensor": normal(4, 2), "index_vector": values(2, 0, dtype="int32"), "new_tensor": normal(2, 2)},
    )
    yield case(
        "contrib.index_copy",
        {"old_tensor": normal(4, 2, 3), "index_vector": values(3, 1, 0), "new_tensor": normal(3, 2, 3)},
    )
    heads = 2
    together, apart = normal(4, 2, heads * 3 * 5), normal(3, 2, heads * 2 * 5)
    prefix = "contrib.interleaved_matmul_"
    yield case(f"{prefix}selfatt_qk", {"queries_keys_values": together}, heads=heads)
    weights = normal(2 * heads, 4, 4)
    yield case(
        f"{prefix}selfatt_valatt", {"queries_keys_values": together, "attention": weights}, heads=heads
    )
    queries = normal(4, 2, heads * 5)
    yield case(f"{prefix}encdec_qk", {"queries": queries, "keys_values": apart}, heads=heads)
    weights = normal(2 * heads, 4, 3)
    yield case(f"{prefix}encdec_valatt", {"keys_values": apart, "attention": weights}, heads=heads)


def _all_cases() -> dict[str, Case]:
    """Number the rows that would have the same name."""
    families = (
        layers,
        pooling,
        losses,
        unary,
        binary,
        reductions,
        products,
        shaping,
        indexing,
        ordering,
        sources,
        linear_algebra,
        contrib_tensors,
    )
    rows = [row for family in families for row in family()]
    seen: Counter[str] = Counter()
    named = {}
    for row in rows:
        seen[row.name] += 1
        named[row.name if seen[row.name] == 1 else f"{row.name} #{seen[row.name]}"] = row
    return named


CASES = _all_cases()
