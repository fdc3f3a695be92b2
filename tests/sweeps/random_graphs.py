"""Networks drawn at random: layers and operators of all families in any order, with known shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import rebind as mx

Shape = tuple[int, ...]
Draw = Callable[[Any], Any]

#: The largest array, in elements.
LARGEST = 4000


@dataclass
class Drawing:
    """A network while it is drawn.

    Attributes
    ----------
    draw
        Hypothesis' function.
    values
        What is computed so far, with shapes.
    first
        The first axis that may be cut, joined, reduced or moved: 1 where the batch is free.
    """

    draw: Draw
    values: list[tuple[Any, Shape]] = field(default_factory=list)
    first: int = 0

    def pick(self, fits: Callable[[Shape], bool] = lambda shape: True) -> tuple[Any, Shape] | None:
        """Return one of the last values that fit."""
        fitting = [value for value in self.values[-4:] if fits(value[1])]
        return self.draw(st.sampled_from(fitting[::-1])) if fitting else None

    def axis(self, shape: Shape, first: int | None = None) -> int:
        return self.draw(st.integers(self.first if first is None else first, len(shape) - 1))

    def some(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def size(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def chance(self) -> bool:
        return self.draw(st.booleans())


Step = Callable[[Drawing, Any, Shape], Any]
#: What a network is made of: a condition for shapes, and what applies an operator; None where it does not fit.
STEPS: list[tuple[Callable[[Shape], bool], Step]] = []


def step(fits: Callable[[Shape], bool] = lambda shape: True) -> Callable[[Step], Step]:
    def declare(function: Step) -> Step:
        STEPS.append((fits, function))
        return function

    return declare


def ranks(*wanted: int) -> Callable[[Shape], bool]:
    return lambda shape: len(shape) in wanted


# Elements


@step()
def unary(d: Drawing, x: Any, shape: Shape) -> Any:
    names = (
        "relu",
        "sigmoid",
        "tanh",
        "softsign",
        "abs",
        "negative",
        "square",
        "sin",
        "cos",
        "erf",
        "arctan",
    )
    return getattr(mx.sym, d.some(*names))(x)


@step()
def with_number(d: Drawing, x: Any, shape: Shape) -> Any:
    number = d.some(-1.5, 0.5, 2.0)
    kinds = (lambda: x + number, lambda: x * number, lambda: number - x, lambda: x / number, lambda: x**2)
    return d.some(*kinds)()


@step()
def clipped(d: Drawing, x: Any, shape: Shape) -> Any:
    return mx.sym.clip(x, a_min=d.some(-1.0, 0.0), a_max=d.some(0.5, 6.0))


@step()
def of_two(d: Drawing, x: Any, shape: Shape) -> Any:
    other = d.pick(lambda each: each == shape)
    assert other is not None
    names = ("elemwise_add", "elemwise_sub", "elemwise_mul", "broadcast_maximum", "broadcast_minimum")
    return getattr(mx.sym, d.some(*names))(x, other[0])


@step()
def broadcast(d: Drawing, x: Any, shape: Shape) -> Any:
    mean = mx.sym.mean(x, axis=d.axis(shape), keepdims=True)
    return getattr(mx.sym, d.some("broadcast_add", "broadcast_sub", "broadcast_mul"))(x, mean)


@step()
def sum_of_all(d: Drawing, x: Any, shape: Shape) -> Any:
    other = d.pick(lambda each: each == shape)
    assert other is not None
    return mx.sym.add_n(x, other[0], x)


# Layers


@step()
def fully_connected(d: Drawing, x: Any, shape: Shape) -> Any:
    return mx.sym.FullyConnected(x, num_hidden=d.size(1, 5), flatten=d.chance(), no_bias=d.chance())


@step(ranks(3, 4))
def convolution(d: Drawing, x: Any, shape: Shape) -> Any:
    groups = d.some(*(n for n in (1, 2, shape[1]) if shape[1] % n == 0))
    windows = _windows(d, shape)
    dilate = tuple(1 if n < 5 else d.size(1, 2) for n in shape[2:])
    return mx.sym.Convolution(
        x, num_filter=groups * d.size(1, 2), num_group=groups, no_bias=d.chance(), dilate=dilate, **windows
    )


@step(ranks(3, 4))
def deconvolution(d: Drawing, x: Any, shape: Shape) -> Any:
    kernel = tuple(d.size(1, 3) for _ in shape[2:])
    return mx.sym.Deconvolution(
        x,
        num_filter=d.size(1, 3),
        kernel=kernel,
        stride=tuple(d.size(1, 2) for _ in kernel),
        no_bias=d.chance(),
    )


@step(ranks(3, 4))
def pooling(d: Drawing, x: Any, shape: Shape) -> Any:
    return mx.sym.Pooling(
        x,
        pool_type=d.some("max", "avg", "sum"),
        pooling_convention=d.some("valid", "full"),
        count_include_pad=d.chance(),
        global_pool=d.chance(),
        **_windows(d, shape),
    )


def _windows(d: Drawing, shape: Shape) -> dict[str, Any]:
    kernel = tuple(d.size(1, min(3, n)) for n in shape[2:])
    return {
        "kernel": kernel,
        "stride": tuple(d.size(1, 2) for _ in kernel),
        "pad": tuple(d.size(0, k // 2) for k in kernel),
    }


@step()
def batch_norm(d: Drawing, x: Any, shape: Shape) -> Any:
    return mx.sym.BatchNorm(x, fix_gamma=d.chance(), eps=1e-2)


@step()
def layer_norm(d: Drawing, x: Any, shape: Shape) -> Any:
    return mx.sym.LayerNorm(x, axis=d.axis(shape, 1), eps=1e-1)


@step(ranks(3, 4))
def instance_norm(d: Drawing, x: Any, shape: Shape) -> Any:
    return mx.sym.InstanceNorm(x, eps=1e-1)


@step()
def activation(d: Drawing, x: Any, shape: Shape) -> Any:
    if d.chance():
        return mx.sym.Activation(x, act_type=d.some("relu", "sigmoid", "tanh", "softrelu", "softsign"))
    return mx.sym.LeakyReLU(x, act_type=d.some("leaky", "elu", "prelu", "selu", "gelu"))


@step()
def softmax(d: Drawing, x: Any, shape: Shape) -> Any:
    return getattr(mx.sym, d.some("softmax", "log_softmax", "softmin"))(x, axis=d.axis(shape, 1))


@step()
def dropout(d: Drawing, x: Any, shape: Shape) -> Any:
    return mx.sym.Dropout(x, p=0.5)


@step(ranks(4))
def upsampling(d: Drawing, x: Any, shape: Shape) -> Any:
    return mx.sym.UpSampling(x, scale=2, sample_type="nearest", num_args=1)


@step(ranks(4))
def padded(d: Drawing, x: Any, shape: Shape) -> Any:
    widths = tuple(d.size(0, 2) for _ in range(4))
    return mx.sym.Pad(x, mode=d.some("constant", "edge"), pad_width=(0, 0, 0, 0, *widths), constant_value=0.5)


# Shapes


@step()
def flattened(d: Drawing, x: Any, shape: Shape) -> Any:
    return mx.sym.Flatten(x)


@step()
def reshaped(d: Drawing, x: Any, shape: Shape) -> Any:
    codes: list[tuple[int, ...]] = [(0, -1), (0, 0, -1) if len(shape) > 2 else (0, 1, -1), (0, -1, 1)]
    if len(shape) > 2:
        codes += [(0, -3, -2), (0, -1, shape[-1])]
    if shape[1] % 2 == 0 and len(shape) < 4:
        codes.append((0, -4, 2, -1, -2))
    if d.first == 0:
        codes += [(-3, -2), (-1, shape[-1])] if len(shape) > 2 else [(-1, 1, shape[-1])]
    return mx.sym.Reshape(x, shape=d.some(*codes))


@step()
def transposed(d: Drawing, x: Any, shape: Shape) -> Any:
    order = d.draw(st.permutations(range(d.first, len(shape))))
    return mx.sym.transpose(x, axes=(*range(d.first), *order))


@step()
def swapped(d: Drawing, x: Any, shape: Shape) -> Any:
    return mx.sym.SwapAxis(x, dim1=d.axis(shape), dim2=d.axis(shape))


@step(ranks(2, 3))
def expanded(d: Drawing, x: Any, shape: Shape) -> Any:
    return mx.sym.expand_dims(x, axis=d.size(d.first, len(shape)))


@step(lambda shape: len(shape) > 2 and 1 in shape[1:])
def squeezed(d: Drawing, x: Any, shape: Shape) -> Any:
    return mx.sym.squeeze(x, axis=shape.index(1, 1))


@step(lambda shape: 1 in shape[1:])
def widened(d: Drawing, x: Any, shape: Shape) -> Any:
    return mx.sym.broadcast_axis(x, axis=shape.index(1, 1), size=d.size(2, 3))


@step()
def repeated(d: Drawing, x: Any, shape: Shape) -> Any:
    axis = d.axis(shape)
    if d.chance():
        return mx.sym.repeat(x, repeats=2, axis=axis)
    return mx.sym.tile(x, reps=tuple(2 if i == axis else 1 for i in range(len(shape))))


@step()
def reversed_axis(d: Drawing, x: Any, shape: Shape) -> Any:
    return mx.sym.reverse(x, axis=d.axis(shape))


# Joining and cutting


@step()
def joined(d: Drawing, x: Any, shape: Shape) -> Any:
    axis = d.axis(shape)
    other = d.pick(lambda each: _without(each, axis) == _without(shape, axis) and len(each) == len(shape))
    assert other is not None
    return mx.sym.Concat(x, other[0], x, dim=axis) if d.chance() else mx.sym.Concat(other[0], x, dim=axis)


def _without(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]


@step(ranks(2, 3))
def stacked(d: Drawing, x: Any, shape: Shape) -> Any:
    other = d.pick(lambda each: each == shape)
    assert other is not None
    return mx.sym.stack(x, other[0], axis=d.size(d.first, len(shape)))


@step()
def split(d: Drawing, x: Any, shape: Shape) -> Any:
    axis = d.axis(shape)
    count = d.some(*(n for n in (1, 2, 3) if shape[axis] % n == 0))
    parts = mx.sym.SliceChannel(x, num_outputs=count, axis=axis)
    if count == 1:
        return parts
    first, second = parts[d.size(0, count - 1)], parts[d.size(0, count - 1)]
    return first + second if d.chance() else first


@step()
def sliced(d: Drawing, x: Any, shape: Shape) -> Any:
    axis = d.axis(shape)
    begin = d.size(0, shape[axis] - 1)
    end = d.size(begin + 1, shape[axis])
    if axis and d.chance():
        begins = tuple(begin if i == axis else None for i in range(len(shape)))
        ends = tuple(end if i == axis else None for i in range(len(shape)))
        return mx.sym.slice(x, begin=begins, end=ends)
    return mx.sym.slice_axis(x, axis=axis, begin=begin, end=end)


# Reductions and products


@step()
def reduced(d: Drawing, x: Any, shape: Shape) -> Any:
    keepdims = d.chance() or len(shape) == 2
    axis = d.axis(shape)
    return getattr(mx.sym, d.some("sum", "mean", "max", "min", "prod", "nansum"))(
        x, axis=axis, keepdims=keepdims
    )


@step(ranks(3, 4))
def reduced_but(d: Drawing, x: Any, shape: Shape) -> Any:
    axes = (d.first, d.axis(shape)) if d.first == 0 else (0, d.axis(shape))
    return mx.sym.mean(x, axis=tuple(sorted({*axes, len(shape) - 1})), exclude=True, keepdims=True)


@step(ranks(3))
def product(d: Drawing, x: Any, shape: Shape) -> Any:
    first, second = d.some((True, False), (False, True))
    return mx.sym.batch_dot(x, x, transpose_a=first, transpose_b=second)


@dataclass(frozen=True)
class Drawn:
    """A network with its numbers.

    Attributes
    ----------
    symbol, params, states
        The network, its parameters and auxiliary states.
    data
        The batch.
    free
        Whether the network takes batches of any size.
    """

    symbol: Any
    params: dict[str, Any]
    states: dict[str, Any]
    data: np.ndarray
    free: bool

    def __repr__(self) -> str:
        operators = [
            f"{node.operator.name}({', '.join(source.name for source in node.inputs)}, {dict(node.params)})"
            for node in self.symbol.graph.nodes
            if not node.is_variable
        ]
        return "\n  ".join([f"{self.data.shape}, free={self.free}", *operators])


@st.composite
def networks(draw: Draw) -> Drawn:
    """Draw a network of up to eight operators, and its numbers."""
    free = draw(st.booleans())
    shape = (2, *draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    with mx.name.NameManager():
        d = Drawing(draw, [(mx.sym.var("data"), shape)], int(free))
        for _ in range(draw(st.integers(1, 8))):
            _add(d, shape)
    symbol = d.values[-1][0]
    random = np.random.RandomState(draw(st.integers(0, 999)))
    arguments, _, states = symbol.infer_shape(data=shape)
    drawn = {
        name: mx.nd.array(_numbers(random, name, size))
        for name, size in zip(symbol.list_arguments(), arguments)
    }
    data = drawn.pop("data").asnumpy()
    held = {
        name: mx.nd.array(_numbers(random, name, size))
        for name, size in zip(symbol.list_auxiliary_states(), states)
    }
    return Drawn(symbol, drawn, held, data, free)


def _add(d: Drawing, data: Shape) -> None:
    """Apply an operator to one of the values; what becomes too large, or loses its axes, is left out."""
    x, shape = d.pick() or d.values[0]
    apply = d.draw(st.sampled_from([function for fits, function in STEPS if fits(shape)]))
    result = apply(d, x, shape)
    _, (found,), _ = result.infer_shape(data=data)
    if 2 <= len(found) <= 4 and math.prod(found) <= LARGEST:
        d.values.append((result, found))


def _numbers(random: np.random.RandomState, name: str, shape: Sequence[int]) -> np.ndarray:
    if name.endswith(("moving_var", "gamma")):
        return random.uniform(0.5, 1.5, shape)
    return random.standard_normal(shape) / (1 if name == "data" else math.sqrt(max(1, math.prod(shape[1:]))))
