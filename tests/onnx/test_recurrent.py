"""Recurrent layers in ONNX: every mode, stacked, in both directions, with sequence lengths, and unrolled cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.onnx.running import run_in_onnxruntime, session_of

import rebind as mx
from rebind.onnx import to_onnx

STEPS, BATCH, FEATURES, HIDDEN = 5, 3, 4, 6
MODES = ("rnn_relu", "rnn_tanh", "lstm", "gru")


def network(mode: str, parameters: Any = None, lengths: bool = False, **settings: Any) -> Any:
    """Return a recurrent layer on inputs of its own."""
    names = ["data", "parameters", "state", *(["state_cell"] if mode == "lstm" else [])]
    arrays = {name: mx.sym.var(name) for name in names}
    if parameters is not None:
        arrays["parameters"] = parameters
    if lengths:
        arrays["sequence_length"] = mx.sym.var("sequence_length")
    return mx.sym.RNN(
        **arrays, mode=mode, state_size=HIDDEN, use_sequence_length=lengths, name="rnn", **settings
    )


def arrays(net: Any, shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Draw all arguments."""
    random = np.random.default_rng(3)
    names, inferred = net.list_arguments(), net.infer_shape(**shapes)[0]
    return {
        name: (random.standard_normal(shape) * 0.5).astype(np.float32)
        for name, shape in zip(names, inferred, strict=True)
    }


def check(net: Any, given: dict[str, np.ndarray], inputs: tuple[str, ...], free: bool = True) -> None:
    """Compare the exported network with rebind's own numbers."""
    as_nd = {name: mx.nd.array(value, dtype=value.dtype) for name, value in given.items()}
    expected = [each.asnumpy() for each in net.eval(**as_nd)]
    params = {name: value for name, value in as_nd.items() if name not in inputs}
    found = run_in_onnxruntime(net, params, {name: given[name] for name in inputs}, free=free)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def inputs_of(mode: str, *more: str) -> tuple[str, ...]:
    return ("data", "state", *(["state_cell"] if mode == "lstm" else []), *more)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_modes(mode: str, layers: int, bidirectional: bool) -> None:
    net = network(mode, num_layers=layers, bidirectional=bidirectional, state_outputs=True)
    given = arrays(net, {"data": (STEPS, BATCH, FEATURES)})
    check(net, given, inputs_of(mode), free=False)


@pytest.mark.parametrize("mode", MODES)
def test_sequence_lengths(mode: str) -> None:
    net = network(mode, lengths=True, num_layers=2, bidirectional=True, state_outputs=True)
    given = arrays(net, {"data": (STEPS, BATCH, FEATURES)})
    given["sequence_length"] = np.array([5, 1, 3], np.int32)
    check(net, given, inputs_of(mode, "sequence_length"), free=False)


@pytest.mark.parametrize("mode", MODES)
def test_parameters_that_are_computed(mode: str) -> None:
    net = network(
        mode, mx.sym.Activation(mx.sym.var("parameters"), act_type="tanh"), num_layers=2, bidirectional=True
    )
    given = arrays(net, {"data": (STEPS, BATCH, FEATURES)})
    check(net, given, (*inputs_of(mode), "parameters"), free=False)


def test_parameters_that_are_joined_become_weights() -> None:
    rows = 3 * HIDDEN
    sizes = {"weight": rows * (FEATURES + HIDDEN), "i2h_bias": rows, "h2h_bias": rows}
    parts = [mx.sym.var(name, shape=(size,)) for name, size in sizes.items()]
    net = network("gru", mx.sym._internal._rnn_param_concat(*parts, dim=0), num_layers=1)
    shapes = {"data": (STEPS, BATCH, FEATURES), "state": (1, BATCH, HIDDEN)}
    given = arrays(net, shapes | {name: (size,) for name, size in sizes.items()})
    check(net, given, inputs_of("gru"), free=False)


def test_any_number_of_steps() -> None:
    net = network("lstm", num_layers=2, bidirectional=True)
    given = arrays(net, {"data": (STEPS, BATCH, FEATURES)})
    params = {"parameters": mx.nd.array(given["parameters"])}
    shapes = {"data": (0, 0, FEATURES), "state": (4, 0, HIDDEN), "state_cell": (4, 0, HIDDEN)}
    session = session_of(to_onnx(net, params, shapes))
    for steps in (1, 5):
        cut = {name: given[name] for name in inputs_of("lstm")} | {"data": given["data"][:steps]}
        (found,) = session.run(None, cut)
        whole = given | cut
        (expected,) = net.eval(**{name: mx.nd.array(value) for name, value in whole.items()})
        np.testing.assert_allclose(found, expected.asnumpy(), rtol=1e-5, atol=1e-6)


CLIP = {"lstm_state_clip_min": -0.1, "lstm_state_clip_max": 0.2}
#: What ONNX's LSTM lacks.
SPECIAL: dict[str, dict[str, Any]] = {
    "projection": {"projection_size": 2},
    "clip": CLIP,
    "projection and clip": {"projection_size": 2, **CLIP, "lstm_state_clip_nan": True},
}


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("settings", SPECIAL.values(), ids=SPECIAL)
def test_projections_and_clipped_cell_states(settings: dict[str, Any], layers: int, lengths: bool) -> None:
    net = network(
        "lstm", lengths=lengths, num_layers=layers, bidirectional=layers == 2, state_outputs=True, **settings
    )
    given = arrays(net, {"data": (STEPS, BATCH, FEATURES)})
    if lengths:
        given["sequence_length"] = np.array([5, 1, 3], np.float32)
    check(net, given, inputs_of("lstm", *(["sequence_length"] if lengths else [])), free=False)


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
def test_a_projection_in_any_number_of_steps_and_with_computed_parameters() -> None:
    parameters = mx.sym.Activation(mx.sym.var("parameters"), act_type="tanh")
    net = network("lstm", parameters, num_layers=1, bidirectional=True, projection_size=2)
    given = arrays(net, {"data": (STEPS, BATCH, FEATURES)})
    shapes: dict[str, tuple[int, ...]] = {
        "data": (0, 0, FEATURES), "parameters": given["parameters"].shape, "state": (2, 0, 2),
        "state_cell": (2, 0, HIDDEN),
    }  # fmt: skip
    session = session_of(to_onnx(net, {}, shapes))
    for steps in (1, 5):
        cut = given | {"data": given["data"][:steps]}
        (expected,) = net.eval(**{name: mx.nd.array(value) for name, value in cut.items()})
        np.testing.assert_allclose(session.run(None, cut)[0], expected.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("replaced", [False, True])
def test_cell_states_that_are_no_numbers_are_clipped_when_asked(replaced: bool) -> None:
    net = network("lstm", num_layers=1, **CLIP, lstm_state_clip_nan=replaced)
    given = arrays(net, {"data": (STEPS, BATCH, FEATURES)})
    given["state_cell"][0, 1, 2] = np.nan
    check(net, given, inputs_of("lstm"), free=False)


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize(
    "settings", [{}, {"projection_size": 2, **CLIP}], ids=["plain", "projection and clip"]
)
def test_an_lstm_on_levels(settings: dict[str, Any]) -> None:
    levels = mx.sym.contrib.quantize_asym(mx.sym.var("data"), min_calib_range=-2.0, max_calib_range=2.0)
    net = mx.sym.contrib.quantized_rnn(
        levels[0], *map(mx.sym.var, ("parameters", "state", "state_cell")), levels[1], levels[2],
        mode="lstm", state_size=HIDDEN, num_layers=2, bidirectional=True, state_outputs=True, **settings,
    )  # fmt: skip
    given = arrays(net, {"data": (STEPS, BATCH, FEATURES)})
    check(net, given, inputs_of("lstm"), free=False)
    with pytest.raises(mx.MXNetError, match="its parameters must be arrays that are given"):
        to_onnx(net, {}, {name: value.shape for name, value in given.items()})
