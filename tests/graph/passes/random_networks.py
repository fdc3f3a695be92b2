"""Networks drawn at random from layers that passes know, with ways to run them."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

import rebind as mx
from rebind.errors import MXNetError

S = mx.sym

ACTIVATIONS = (
    "relu",
    "sigmoid",
    "tanh",
    "softrelu",
    "softsign",
    "leaky",
    "elu",
    "gelu",
    "selu",
    "prelu",
    "clip",
    "swish",
    "hard",
)
#: Numbers of one result, at most.
_LARGEST = 100_000


class Value(NamedTuple):
    """What a layer gives."""

    symbol: Any
    shape: tuple[int, ...]

    @property
    def axes(self) -> int:
        return len(self.shape) - 2


Draw = Callable[[random.Random, Value, list[Value]], Any]


def _several(r: random.Random, axes: int, *among: int) -> tuple[int, ...]:
    return tuple(r.choice(among) for _ in range(axes))


def convolution(r: random.Random, x: Value, others: list[Value]) -> Any:
    filters = r.choice([1, 2, 4, 8, 16])
    groups = [n for n in (2, 4, 8, x.shape[1]) if x.shape[1] % n == 0 and filters % n == 0]
    return S.Convolution(
        x.symbol,
        kernel=_several(r, x.axes, 1, 1, 2, 3, 3),
        stride=_several(r, x.axes, 1, 1, 2),
        pad=_several(r, x.axes, 0, 1),
        dilate=_several(r, x.axes, 1, 1, 1, 2),
        num_filter=filters,
        num_group=r.choice(groups) if groups and r.random() < 0.3 else 1,
        no_bias=r.random() < 0.4,
    )


def deconvolution(r: random.Random, x: Value, others: list[Value]) -> Any:
    return S.Deconvolution(
        x.symbol,
        kernel=_several(r, x.axes, 2, 3),
        stride=_several(r, x.axes, 1, 2),
        pad=_several(r, x.axes, 0, 1),
        num_filter=r.choice([1, 2, 4]),
        no_bias=r.random() < 0.5,
    )


def norm(r: random.Random, x: Value, others: list[Value]) -> Any:
    return S.BatchNorm(
        x.symbol,
        fix_gamma=r.random() < 0.4,
        eps=r.choice([1e-3, 1e-2]),
        momentum=r.choice([0.9, 0.5]),
        use_global_stats=r.random() < 0.2,
        axis=1 if r.random() < 0.9 else len(x.shape) - 1,
    )


def activation(r: random.Random, x: Value, others: list[Value]) -> Any:
    name = r.choice(ACTIVATIONS)
    if name in ("leaky", "elu", "gelu", "selu", "prelu"):
        return S.LeakyReLU(x.symbol, act_type=name, slope=0.3)
    if name == "clip":
        return S.clip(x.symbol, 0, 1)
    if name == "swish":
        return x.symbol * S.sigmoid(x.symbol)
    return S.hard_sigmoid(x.symbol) if name == "hard" else S.Activation(x.symbol, act_type=name)


def pooling(r: random.Random, x: Value, others: list[Value]) -> Any:
    kind = r.choice(["max", "max", "avg", "sum", "lp"])
    given: dict[str, Any] = {"pool_type": kind, **({"p_value": 2} if kind == "lp" else {})}
    if r.random() < 0.2:
        return S.Pooling(x.symbol, kernel=(1,) * x.axes, global_pool=True, **given)
    return S.Pooling(
        x.symbol,
        kernel=(r.choice([2, 2, 3]),) * x.axes,
        stride=_several(r, x.axes, 1, 2, 2, 3),
        pad=_several(r, x.axes, 0, 0, 1),
        pooling_convention=r.choice(["valid", "valid", "full"]),
        count_include_pad=r.random() < 0.6,
        **given,
    )


def join(r: random.Random, x: Value, others: list[Value]) -> Any:
    alike = [other.symbol for other in others if other.shape == x.shape]
    beside = [
        other.symbol
        for other in others
        if len(other.shape) == len(x.shape)
        and (other.shape[0], *other.shape[2:]) == (x.shape[0], *x.shape[2:])
    ]
    other = r.choice(alike) if alike else x.symbol
    kind = r.choice(["sum", "sum", "concat", "product", "gate", "difference", "twice"])
    if kind == "concat" and beside:
        return S.Concat(x.symbol, *r.sample(beside, min(len(beside), r.choice([1, 2]))), dim=1)
    if kind == "gate" and x.axes > 0:
        mean = S.mean(x.symbol, axis=tuple(range(2, len(x.shape))), keepdims=True)
        return S.broadcast_mul(x.symbol, S.sigmoid(mean))
    if kind in ("product", "difference"):
        return x.symbol * other if kind == "product" else x.symbol - 0.5 * other
    return S.add_n(x.symbol, x.symbol) if kind == "twice" else x.symbol + other


def dense(r: random.Random, x: Value, others: list[Value]) -> Any:
    given: dict[str, Any] = {
        "num_hidden": r.choice([1, 4, 16, 32]),
        "flatten": x.axes < 1 or r.random() < 0.5,
    }
    if r.random() < 0.75:
        return S.FullyConnected(x.symbol, no_bias=r.random() < 0.3, **given)
    weight = S.var(f"shared{len(others)}")
    alike = [other.symbol for other in others if other.shape == x.shape] or [x.symbol]
    one, two = (S.FullyConnected(each, weight, no_bias=True, **given) for each in (x.symbol, r.choice(alike)))
    return one * S.tanh(two)


def recurrent(r: random.Random, x: Value, others: list[Value]) -> Any:
    mode = r.choice(["lstm", "gru", "rnn_tanh", "rnn_relu"])
    units, layers = r.choice([3, 4, 8]), r.choice([1, 2])
    both_ways = r.random() < 0.4
    shape = (layers * (2 if both_ways else 1), x.shape[1], units)
    states = {name: S.zeros(shape=shape) for name in ("state", "state_cell")[: 2 if mode == "lstm" else 1]}
    given = {"mode": mode, "state_size": units, "num_layers": layers, "bidirectional": both_ways, **states}
    return S.RNN(x.symbol, S.var(f"rnn{len(others)}_parameters"), **given)


def simple(r: random.Random, x: Value, others: list[Value]) -> Any:
    last = len(x.shape) - 1
    choices: list[Callable[[], Any]] = [
        lambda: S.Dropout(x.symbol, p=0.0),
        lambda: S.identity(x.symbol),
        lambda: S.BlockGrad(x.symbol),
        lambda: S.negative(x.symbol),
        lambda: x.symbol * 2 + 1,
        lambda: S.transpose(S.transpose(x.symbol)),
        lambda: S.softmax(x.symbol, axis=r.choice([1, -1])),
        lambda: S.slice_axis(x.symbol, axis=last, begin=0, end=max(1, x.shape[-1] - 1)),
        lambda: S.Reshape(S.Reshape(x.symbol, shape=(0, -1)), shape=x.shape),
        lambda: S.SwapAxis(x.symbol, dim1=1, dim2=last),
    ]
    if x.shape[1] % 2 == 0:
        choices.append(lambda: S.SliceChannel(x.symbol, num_outputs=2, axis=1)[r.choice([0, 1])])
    if x.axes > 0:
        scale, shift = (S.var(f"{name}{len(others)}", shape=(x.shape[1],)) for name in ("scale", "shift"))
        choices.append(lambda: S.InstanceNorm(x.symbol, scale, shift))
    if x.axes == 2:
        choices += [
            lambda: S.UpSampling(x.symbol, scale=2, sample_type="nearest"),
            lambda: S.LRN(x.symbol, nsize=3),
            lambda: S.Pad(x.symbol, mode="edge", pad_width=(0, 0, 0, 0, 1, 1, 1, 0)),
        ]
    return r.choice(choices)()


#: What networks are made of, and how often, by their kind.
_SPATIAL: dict[Draw, int] = {
    convolution: 30, norm: 13, activation: 17, pooling: 10, join: 12, deconvolution: 4, simple: 11, dense: 3,
}  # fmt: skip
_FLAT: dict[Draw, int] = {dense: 35, activation: 25, norm: 10, join: 15, simple: 15}
_SEQUENCE: dict[Draw, int] = {recurrent: 35, dense: 20, activation: 15, join: 15, simple: 15}
#: Spatial axes, by the name of a kind.
_AXES = {"image": 2, "wave": 1, "volume": 3}


class RandomNetwork:
    """A network, and what is done with it.

    Attributes
    ----------
    symbol, shape
        The network, and the shape of its variable ``x``.
    """

    def __init__(self, seed: int) -> None:
        self._random = r = random.Random(seed)
        kind = r.choice(["image", "image", "image", "wave", "volume", "flat", "sequence"])
        batch = r.choice([1, 2, 3, 5])
        if kind in _AXES:
            self.shape: tuple[int, ...] = (
                batch, r.choice([1, 2, 3, 4, 8]), *_several(r, _AXES[kind], 5, 6, 7, 8, 9, 12),
            )  # fmt: skip
        else:
            channels = r.choice([3, 8, 17])
            self.shape = (batch, channels) if kind == "flat" else (r.choice([1, 3, 4]), batch, channels)
        with mx.name.NameManager():
            self.symbol = self._drawn(kind)

    def _drawn(self, kind: str) -> Any:
        r = self._random
        values = [Value(S.var("x"), self.shape)]
        value = values[0]
        for _ in range(r.choice([2, 4, 6, 9, 13])):
            if r.random() < 0.2:
                value = r.choice(values)
            spatial = kind in _AXES and value.axes > 0
            layers = _SPATIAL if spatial else _SEQUENCE if kind == "sequence" and value.axes == 1 else _FLAT
            [layer] = r.choices(list(layers), list(layers.values()))
            value = self._shaped(layer(r, value, values)) or value
            values.append(value)
        outputs = [value.symbol]
        if r.random() < 0.4:
            outputs += [each.symbol for each in r.sample(values[1:], r.choice([1, 2]))]
        if r.random() < 0.3 and value.axes == 0:
            outputs[0] = S.SoftmaxOutput(value.symbol, name="softmax")
        elif r.random() < 0.2:
            outputs[0] = S.MakeLoss(S.mean(value.symbol))
        return S.Group(outputs)

    def _shaped(self, symbol: Any) -> Value | None:
        """Return a layer with its shape; None where it does not fit, or is too large."""
        try:
            shapes = symbol.infer_shape(x=self.shape)[1]
        except MXNetError:
            return None
        # A size of 0, of a deconvolution whose padding takes all, is unknown.
        return Value(symbol, shapes[0]) if shapes and 0 < prod(shapes[0]) <= _LARGEST else None

    def run(self, seed: int, **backend: str) -> dict[str, np.ndarray]:
        """Return what steps that are drawn give: outputs, gradients and auxiliary values, by step and name."""
        r, draws = random.Random(seed), np.random.default_rng(seed)
        given, outputs, states = self.symbol.infer_shape(x=self.shape)
        names, moving = self.symbol.list_arguments(), self.symbol.list_auxiliary_states()
        shapes = dict(zip([*names, *moving], [*given, *states], strict=True))
        classes = max(1, outputs[0][1]) if "softmax_label" in names else 1

        def drawn(name: str) -> np.ndarray:
            if name == "softmax_label":
                return draws.integers(0, classes, shapes[name]).astype("float32")
            low = 0.4 if name.endswith("var") else -1.0
            return draws.uniform(low, 1.2, shapes[name]).astype("float32")

        wanted = r.choice(["write", "add", "null", "some"])
        requests = {
            name: r.choice(["write", "add", "null"]) if wanted == "some" else wanted for name in names
        }
        arrays = {name: mx.nd.array(drawn(name)) for name in shapes}
        grads = {name: mx.nd.ones(shapes[name]) for name, request in requests.items() if request != "null"}
        exe = self.symbol.bind(
            mx.cpu(),
            {name: arrays[name] for name in names},
            args_grad=grads,
            grad_req=requests,
            aux_states={name: arrays[name] for name in moving},
            **backend,
        )
        found: dict[str, np.ndarray] = {}
        steps = [
            r.choice(["train", "train", "infer", "infer", "write", "record"])
            for _ in range(r.choice([3, 5, 7]))
        ]
        for i, step in enumerate([*steps, "train"]):
            if step == "write":
                for name in r.sample(list(shapes), max(1, len(shapes) // 2)):
                    arrays[name][:] = drawn(name)
                continue
            results = exe.forward(is_train=step != "infer", x=mx.nd.array(drawn("x")))
            shown = {f"output {n}": each for n, each in enumerate(results)}
            heads = [mx.nd.array(draws.normal(size=shape)) for shape in outputs]
            if step == "train" and grads:
                exe.backward(heads)
                shown |= {f"gradient of {name}": each for name, each in grads.items()}
            shown |= {name: arrays[name] for name in moving}
            found |= {f"{i} ({step}): {name}": each.asnumpy() for name, each in shown.items()}
        return found
