"""Random numbers in ONNX have MXNet's types and shapes, and the moments of their distributions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx_ir as ir
import onnxruntime as ort
import pytest

import onnx
import rebind as mx
from rebind.onnx import to_onnx

S = mx.sym
X, Y = S.var("x"), S.var("y")
_SHAPE = (100, 200)

#: A network, and the mean and the deviation of its numbers.
_DRAWS: dict[str, tuple[Callable[..., Any], float, float]] = {
    "uniform": (lambda **p: S.random.uniform(-1, 3, **p), 1.0, 4 / 12**0.5),
    "normal": (lambda **p: S.random.normal(2, 0.5, **p), 2.0, 0.5),
    "exponential": (lambda **p: S._internal._random_exponential(lam=4.0, **p), 0.25, 0.25),
}


def run(symbol: Any, inputs: Mapping[str, np.ndarray] = {}, opset: int = 17) -> list[np.ndarray]:
    """Export a network, have it checked, and run it."""
    shapes = {name: (0, *value.shape[1:]) for name, value in inputs.items()}
    types = {name: value.dtype for name, value in inputs.items()}
    proto = ir.to_proto(to_onnx(symbol, {}, shapes, types, opset=opset))
    onnx.checker.check_model(proto, full_check=True)
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {each.name: inputs[each.name] for each in session.get_inputs()})


def check_moments(found: np.ndarray, mean: float, deviation: float) -> None:
    """Compare mean and deviation with those of the distribution; the distance of the mean is 5 of its deviations."""
    numbers = found.astype("float64")
    assert abs(numbers.mean() - mean) < 5 * deviation / numbers.size**0.5 + 1e-3
    assert abs(numbers.std() - deviation) < 0.05 * deviation


@pytest.mark.parametrize("opset", [13, 21])  # onnxruntime 1.31 draws none from opset 22 on
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", _DRAWS)
def test_one_distribution(name: str, dtype: str, opset: int) -> None:
    draw, mean, deviation = _DRAWS[name]
    (found,) = run(draw(shape=_SHAPE, dtype=dtype), opset=opset)
    assert (found.shape, found.dtype) == (_SHAPE, np.dtype(dtype))
    check_moments(found, mean, deviation)


@pytest.mark.parametrize("kind", ["uniform", "normal", "exponential"])
def test_the_shape_of_an_array(kind: str) -> None:
    symbol = getattr(S._internal, f"_random_{kind}_like")(X)
    (found,) = run(symbol, {"x": np.zeros(_SHAPE, "float32")})
    assert found.shape == _SHAPE
    check_moments(found, *{"uniform": (0.5, 12**-0.5), "normal": (0, 1), "exponential": (1, 1)}[kind])


def test_a_distribution_for_each_element() -> None:
    mean, deviation = np.array([0.0, 10.0], "float32"), np.array([1.0, 3.0], "float32")
    (found,) = run(S.sample_normal(X, Y, shape=_SHAPE), {"x": mean, "y": deviation})
    assert found.shape == (2, *_SHAPE)
    for numbers, *moments in zip(found, mean, deviation, strict=True):
        check_moments(numbers, *moments)


def test_integers() -> None:
    (found,) = run(S.random.randint(-3, 5, shape=_SHAPE))
    assert found.dtype == np.int32
    assert np.unique(found).tolist() == list(range(-3, 5))


def test_positions_by_their_probabilities() -> None:
    data = np.array([[0.0, 1.0, 0.0], [0.25, 0.0, 0.75]], "float32")
    positions, logarithms = run(S.sample_multinomial(X, shape=_SHAPE, get_prob=True), {"x": data})
    assert positions.shape == logarithms.shape == (2, *_SHAPE)
    assert positions.dtype == np.int32
    assert (positions[0] == 1).all()
    assert np.unique(positions[1]).tolist() == [0, 2]
    assert abs((positions[1] == 2).mean() - 0.75) < 0.02
    np.testing.assert_allclose(np.exp(logarithms[1]), np.where(positions[1] == 2, 0.75, 0.25), rtol=1e-6)
    (one,) = run(S.sample_multinomial(X), {"x": data})
    assert one.shape == (2,)


def test_slices_in_random_order() -> None:
    data = np.arange(3000, dtype="float32").reshape(1000, 3)
    (found,) = run(S.shuffle(X), {"x": data})
    assert not np.array_equal(found, data)
    np.testing.assert_array_equal(found[found[:, 0].argsort()], data)


def test_each_run_draws_others() -> None:
    noise = S.random.normal(shape=_SHAPE)
    first, second = run(S.Group([noise, S.random.normal(shape=_SHAPE)]))
    assert not np.array_equal(first, second)


def test_the_distributions_that_onnx_has_not() -> None:
    with pytest.raises(mx.MXNetError, match="ONNX draws from uniform and normal distributions only"):
        to_onnx(S.random.gamma(2.0, 1.0, shape=(2,)), {}, {})
