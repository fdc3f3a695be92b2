"""The same networks in JAX, and their `Driver`: one jitted function for the whole step, update included.

Plain `jax.numpy` and `jax.lax`, in the layout that JAX's libraries use (NHWC, kernels as HWIO, dense weights with the
inputs first); parameters are converted on the way in and out. Arrays that a step replaces are donated to it.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from .drivers import Setting
from .networks import (
    BATCH_NORM_EPSILON,
    BATCH_NORM_MOMENTUM,
    HIDDEN,
    IMAGE_CLASSES,
    LEARNING_RATE,
    LSTM_LAYERS,
    MOMENTUM,
    VOCABULARY,
    Row,
    initial_value,
    make_batch,
)

Values = dict[str, Array]


class Scope:
    """The values of one run of a network: by name in, and the statistics that it has moved out."""

    def __init__(self, values: Values | None, training: bool) -> None:
        self._values = values
        self.training = training
        self.shapes: dict[str, tuple[int, ...]] = {}  # as MXNet has them
        self.moved: Values = {}

    def __call__(self, name: str, *shape: int) -> Array:
        self.shapes[name] = shape
        return jnp.zeros(_own_shape(name, shape)) if self._values is None else self._values[name]


def _axes(name: str, dimensions: int) -> tuple[int, ...]:
    """How MXNet's axes are ordered here."""
    if dimensions == 4:
        return (2, 3, 1, 0)
    return (1, 0) if dimensions == 2 and not name.startswith("embedding") else tuple(range(dimensions))


def _own_shape(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(shape[axis] for axis in _axes(name, len(shape)))


# --------------------------------------------------------------------------- layers


def _dense(p: Scope, name: str, x: Array, width: int) -> Array:
    return x @ p(f"{name}_weight", width, x.shape[-1]) + p(f"{name}_bias", width)


def _convolution(
    p: Scope, name: str, x: Array, filters: int, kernel: int, stride: int = 1, padding: int | None = None
) -> Array:
    pad = kernel // 2 if padding is None else padding
    weight = p(f"{name}_weight", filters, x.shape[-1], kernel, kernel)
    return lax.conv_general_dilated(
        x, weight, (stride, stride), [(pad, pad)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def _max_pool(x: Array, size: int, stride: int, pad: int = 0) -> Array:
    padding = ((0, 0), (pad, pad), (pad, pad), (0, 0))
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, stride, stride, 1), padding)


def _batch_norm(p: Scope, name: str, x: Array) -> Array:
    channels = x.shape[-1]
    gamma, beta = p(f"{name}_gamma", channels), p(f"{name}_beta", channels)
    mean, var = p(f"{name}_moving_mean", channels), p(f"{name}_moving_var", channels)
    if p.training:
        old = {"mean": mean, "var": var}
        mean = x.mean((0, 1, 2))
        var = jnp.square(x).mean((0, 1, 2)) - jnp.square(mean)  # one pass over the data, as Flax does
        for kind, new in (("mean", mean), ("var", var)):
            share = BATCH_NORM_MOMENTUM
            p.moved[f"{name}_moving_{kind}"] = share * old[kind] + (1 - share) * lax.stop_gradient(new)
    return (x - mean) * (lax.rsqrt(var + BATCH_NORM_EPSILON) * gamma) + beta


def _lstm(p: Scope, name: str, x: Array) -> Array:
    """One layer over (steps, batch, channels); the products with the inputs are made for all steps at once."""
    of_inputs = x @ p(f"{name}_i2h_weight", 4 * HIDDEN, x.shape[-1]) + p(f"{name}_i2h_bias", 4 * HIDDEN)
    of_inputs += p(f"{name}_h2h_bias", 4 * HIDDEN)
    weight = p(f"{name}_h2h_weight", 4 * HIDDEN, HIDDEN)

    def step(state: tuple[Array, Array], of_input: Array) -> tuple[tuple[Array, Array], Array]:
        hidden, cell = state
        i, f, g, o = jnp.split(of_input + hidden @ weight, 4, axis=-1)
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
        hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return (hidden, cell), hidden

    zeros = jnp.zeros((x.shape[1], HIDDEN))
    return lax.scan(step, (zeros, zeros), of_inputs)[1]


# --------------------------------------------------------------------------- networks


def mlp(p: Scope, x: Array) -> Array:
    for index, width in enumerate((128, 64), start=1):
        x = jax.nn.relu(_dense(p, f"fc{index}", x, width))
    return _dense(p, "fc3", x, 10)


def lenet(p: Scope, x: Array) -> Array:
    for index, filters in enumerate((20, 50), start=1):
        x = _convolution(p, f"conv{index}", x, filters, 5, padding=0) + p(f"conv{index}_bias", filters)
        x = _max_pool(jnp.tanh(x), 2, 2)
    x = x.transpose(0, 3, 1, 2).reshape(len(x), -1)  # channels first, as the weights of fc1 expect
    return _dense(p, "fc2", jnp.tanh(_dense(p, "fc1", x, 500)), 10)


def _basic_block(p: Scope, name: str, x: Array, width: int, stride: int) -> Array:
    x = _convolution(p, f"{name}_conv1", x, width, 3, stride)
    x = jax.nn.relu(_batch_norm(p, f"{name}_bn1", x))
    return _batch_norm(p, f"{name}_bn2", _convolution(p, f"{name}_conv2", x, width, 3))


def _bottleneck(p: Scope, name: str, x: Array, width: int, stride: int) -> Array:
    x = jax.nn.relu(_batch_norm(p, f"{name}_bn1", _convolution(p, f"{name}_conv1", x, width, 1)))
    x = jax.nn.relu(_batch_norm(p, f"{name}_bn2", _convolution(p, f"{name}_conv2", x, width, 3, stride)))
    return _batch_norm(p, f"{name}_bn3", _convolution(p, f"{name}_conv3", x, 4 * width, 1))


def _stages(p: Scope, x: Array, block: Callable[..., Array], units: tuple[int, ...], expansion: int) -> Array:
    for stage, count in enumerate(units):
        width = 64 * 2**stage
        for unit in range(count):
            name, stride = f"layer{stage + 1}_{unit}", 2 if stage > 0 and unit == 0 else 1
            shortcut = x
            if stride != 1 or x.shape[-1] != expansion * width:
                shortcut = _convolution(p, f"{name}_downsample_conv", x, expansion * width, 1, stride)
                shortcut = _batch_norm(p, f"{name}_downsample_bn", shortcut)
            x = jax.nn.relu(block(p, name, x, width, stride) + shortcut)
    return x


def resnet18(p: Scope, x: Array) -> Array:
    x = jax.nn.relu(_batch_norm(p, "bn1", _convolution(p, "conv1", x, 64, 3)))
    x = _stages(p, x, _basic_block, (2, 2, 2, 2), expansion=1)
    return _dense(p, "fc", x.mean((1, 2)), 10)


def resnet50(p: Scope, x: Array) -> Array:
    x = jax.nn.relu(_batch_norm(p, "bn1", _convolution(p, "conv1", x, 64, 7, 2)))
    x = _stages(p, _max_pool(x, 3, 2, 1), _bottleneck, (3, 4, 6, 3), expansion=4)
    return _dense(p, "fc", x.mean((1, 2)), IMAGE_CLASSES)


def language_model(p: Scope, words: Array) -> Array:
    x = p("embedding_weight", VOCABULARY, HIDDEN)[words.T]
    for layer in range(LSTM_LAYERS):
        x = _lstm(p, f"lstm_l{layer}", x)
    return _dense(p, "decoder", x.transpose(1, 0, 2).reshape(-1, HIDDEN), VOCABULARY)


NETWORKS: dict[str, Callable[[Scope, Array], Array]] = {
    "mlp": mlp,
    "lenet": lenet,
    "resnet18": resnet18,
    "resnet50": resnet50,
    "resnet50-infer1": resnet50,
    "resnet50-infer16": resnet50,
    "lstm": language_model,
}


# --------------------------------------------------------------------------- steps


def _train_step(
    network: Callable[[Scope, Array], Array],
) -> Callable[..., tuple[Values, Values, Values, Array]]:
    def loss(
        parameters: Values, statistics: Values, data: Array, label: Array
    ) -> tuple[Array, tuple[Array, Values]]:
        scope = Scope({**parameters, **statistics}, training=True)
        scores = network(scope, data)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(scores), label[:, None], axis=1)
        return -chosen.mean(), (scores, scope.moved)

    def step(
        parameters: Values, statistics: Values, buffers: Values, data: Array, label: Array
    ) -> tuple[Values, Values, Values, Array]:
        gradients, (scores, statistics) = jax.grad(loss, has_aux=True)(parameters, statistics, data, label)
        buffers = jax.tree.map(lambda buffer, gradient: MOMENTUM * buffer + gradient, buffers, gradients)
        parameters = jax.tree.map(lambda value, buffer: value - LEARNING_RATE * buffer, parameters, buffers)
        return parameters, statistics, buffers, scores

    return jax.jit(step, donate_argnums=(0, 1, 2))


class JaxDriver:
    """A row in JAX, float32."""

    def __init__(self, row: Row) -> None:
        network = NETWORKS[row.name]
        data, label = make_batch(row)
        self._data = _input(row, data)
        self._label = jnp.asarray(label.ravel().astype(np.int32))
        scope = Scope(None, row.training)
        jax.eval_shape(lambda data: network(scope, data), self._data)
        values = {name: _from_mxnet(name, shape) for name, shape in scope.shapes.items()}
        self._parameters = {name: value for name, value in values.items() if "_moving_" not in name}
        self._statistics = {name: value for name, value in values.items() if "_moving_" in name}
        self._scores: Array | None = None
        if row.training:
            self._buffers = {name: jnp.zeros_like(value) for name, value in self._parameters.items()}
            self._step = _train_step(network)
            self._do = self._train
        else:
            self._forward = jax.jit(lambda values, data: network(Scope(values, training=False), data))
            self._values = values
            self._do = self._infer

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self._do()
        jax.block_until_ready((self._parameters, self._scores))

    def _train(self) -> None:
        self._parameters, self._statistics, self._buffers, self._scores = self._step(
            self._parameters, self._statistics, self._buffers, self._data, self._label
        )

    def _infer(self) -> None:
        self._scores = jax.block_until_ready(self._forward(self._values, self._data))

    def results(self) -> dict[str, np.ndarray]:
        """Output (probabilities, as SoftmaxOutput gives), parameters and statistics as MXNet has them."""
        assert self._scores is not None, "run() comes first"
        values = {**self._parameters, **self._statistics}
        answer = {name: _to_mxnet(name, value) for name, value in values.items()}
        return {**answer, "output": np.asarray(jax.nn.softmax(self._scores))}


def _input(row: Row, data: np.ndarray) -> Array:
    if row.tokens:
        return jnp.asarray(data.astype(np.int32))
    return jnp.asarray(data.transpose(0, 2, 3, 1) if row.convolutional else data)


def _from_mxnet(name: str, shape: tuple[int, ...]) -> Array:
    return jnp.asarray(np.ascontiguousarray(initial_value(name, shape).transpose(_axes(name, len(shape)))))


def _to_mxnet(name: str, value: Array) -> np.ndarray:
    return np.asarray(value).transpose(np.argsort(_axes(name, value.ndim)))


def ready(setting: Setting) -> Callable[[], JaxDriver]:
    """JAX on the processor."""
    jax.config.update("jax_platforms", "cpu")
    return lambda: JaxDriver(setting.row)
