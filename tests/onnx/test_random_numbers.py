"""Random numbers in ONNX have MXNet's types and shapes, and the moments of their distributions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import permutations
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


#: By loops: a network for a shape, one for each pair of parameters, and the mean and the deviation of each.
_LOOPS: dict[str, tuple[dict[str, float], float, float]] = {
    "gamma": ({"alpha": 4.0, "beta": 0.5}, 2.0, 1.0),
    "gamma below 1": ({"alpha": 0.25, "beta": 2.0}, 0.5, 1.0),
    "poisson": ({"lam": 4.0}, 4.0, 2.0),
    "negative_binomial": ({"k": 3, "p": 0.25}, 9.0, 6.0),
    "generalized_negative_binomial": ({"mu": 2.0, "alpha": 0.5}, 2.0, 2.0),
}


@pytest.mark.parametrize("name", _LOOPS)
def test_distributions_that_onnx_lacks(name: str) -> None:
    parameters, mean, deviation = _LOOPS[name]
    kind = name.split()[0]
    for dtype in ("float32", "float16"):
        symbol = getattr(S._internal, f"_random_{kind}")(**parameters, shape=_SHAPE, dtype=dtype)
        (found,) = run(symbol)
        assert (found.shape, found.dtype) == (_SHAPE, np.dtype(dtype))
        check_moments(found, mean, deviation)
    like = getattr(S._internal, f"_random_{kind}_like")(X, **parameters)
    check_moments(run(like, {"x": np.zeros(_SHAPE, "float32")})[0], mean, deviation)
    arrays = {key: np.array([number, number], "float32") for key, number in parameters.items()}
    each = getattr(S._internal, f"_sample_{kind}")(*map(S.var, arrays), shape=_SHAPE)
    (found,) = run(each, arrays)
    assert found.shape == (2, *_SHAPE)
    check_moments(found, mean, deviation)
    if "gamma" not in name:
        assert (found == np.round(found)).all()


def test_a_distribution_without_dispersion() -> None:
    symbol = S._internal._random_generalized_negative_binomial(mu=4.0, alpha=0.0, shape=_SHAPE)
    check_moments(run(symbol)[0], 4.0, 2.0)


def test_images_changed_by_chance() -> None:
    image = np.full((4, 5, 3), 100.0, "float32")
    image[:, 0] = 40.0
    results: dict[str, list[np.ndarray]] = {}
    for name, parameters in {
        "random_brightness": {"min_factor": 0.5, "max_factor": 1.5},
        "random_lighting": {"alpha_std": 0.1},
        "random_flip_left_right": {},
    }.items():
        proto = ir.to_proto(to_onnx(getattr(S.image, name)(X, **parameters), {}, {"x": image.shape}))
        session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        results[name] = [session.run(None, {"x": image})[0] for _ in range(60)]
    factors = np.array([found[0, 1, 0] / 100 for found in results["random_brightness"]])
    assert ((factors >= 0.5) & (factors < 1.5)).all()
    assert factors.std() > 0.15
    assert np.unique(np.array(results["random_lighting"]) - image, axis=0).shape[0] == 60
    flipped = [np.array_equal(found, image[:, ::-1]) for found in results["random_flip_left_right"]]
    assert 5 < sum(flipped) < 55
    others = [
        each for each, turned in zip(results["random_flip_left_right"], flipped, strict=True) if not turned
    ]
    assert all(np.array_equal(each, image) for each in others)


#: The changes of `random_color_jitter`, and a factor for each that can be drawn.
_JITTER = {"brightness": 1.25, "contrast": 0.6, "saturation": 1.5, "hue": 0.2}


def jitter(shape: tuple[int, ...], dtype: str, drawn: Mapping[str, np.ndarray] = {}, **amounts: float) -> Any:
    """Return a session that changes colours; with `drawn` these numbers stand for random ones."""
    symbol = S.image.random_color_jitter(X, **{**dict.fromkeys(_JITTER, 0.75), **amounts})
    proto = ir.to_proto(to_onnx(symbol, {}, {"x": shape}, {"x": np.dtype(dtype)}))
    onnx.checker.check_model(proto, full_check=True)
    random = [node for node in proto.graph.node if node.op_type == "RandomUniform"]
    for node, numbers in zip(random if drawn else [], drawn.values(), strict=True):
        constant = onnx.helper.make_node(
            "Constant", [], node.output, value=onnx.numpy_helper.from_array(numbers)
        )
        node.CopyFrom(constant)
    return ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("order", list(permutations(_JITTER))[::5], ids="-".join)
def test_colours_changed_in_an_order(order: tuple[str, ...], dtype: str) -> None:
    image = np.random.default_rng(2).integers(0, 256, (6, 5, 3)).astype(dtype)
    drawn = {change: np.array([factor], "float32") for change, factor in _JITTER.items()}
    keys = np.array([-order.index(change) for change in _JITTER], "float32")  # the largest comes first
    (found,) = jitter(image.shape, dtype, {**drawn, "order": keys}).run(None, {"x": image})
    expected = mx.nd.array(image, dtype=dtype)
    for change in order:
        factor = _JITTER[change]
        expected = getattr(mx.nd.image, f"random_{change}")(expected, min_factor=factor, max_factor=factor)
    assert found.dtype == image.dtype
    np.testing.assert_allclose(found, expected.asnumpy(), rtol=1e-5, atol=1 if dtype == "uint8" else 1e-3)


def test_colours_changed_by_chance() -> None:
    image = np.full((4, 5, 3), 100.0, "float32")
    session = jitter(image.shape, "float32", brightness=0.5, contrast=0.0, saturation=0.0, hue=0.0)
    factors = np.array([session.run(None, {"x": image})[0][0, 0, 0] / 100 for _ in range(60)])
    assert ((factors >= 0.5) & (factors < 1.5)).all()
    assert factors.std() > 0.15
    session = jitter(image.shape, "float32", **dict.fromkeys(_JITTER, 0.0))
    np.testing.assert_array_equal(session.run(None, {"x": image})[0], image)
