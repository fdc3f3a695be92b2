"""Loops and branches that MXNet recorded, in ONNX's Scan, Loop and If; and loops that end early."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.onnx.running import run_in_onnxruntime, session_of
from tests.parity.control_flow import CASES
from tests.parity.golden import assert_close
from tests.parity.test_control_flow import MANIFEST, PACK

import rebind as mx
from rebind.onnx import to_onnx


@pytest.mark.parametrize("name", CASES)
def test_recorded(name: str) -> None:
    entry = MANIFEST[name]
    outputs = run_in_onnxruntime(
        mx.sym.load_json(entry["json"]), {}, PACK.get_all(entry["arguments"]), free=False
    )
    for i, (found, reference) in enumerate(zip(outputs, entry["outputs"], strict=True)):
        assert_close(np.asarray(found), PACK.get(reference), rtol=1e-5, what=f"{name}: output {i}")


def relu(data: Any) -> Any:
    return mx.sym.Activation(data, act_type="relu")


def dense(data: Any, name: str, hidden: int = 2) -> Any:
    return mx.sym.FullyConnected(data, num_hidden=hidden, flatten=False, name=name)


def test_parameters_within_a_scan_and_free_steps_and_batch() -> None:
    outputs, states = mx.sym.contrib.foreach(
        lambda x, s: (relu(dense(x, "a")), [mx.sym.Activation(dense(s[0], "b"), act_type="tanh")]),
        mx.sym.var("x"),
        [mx.sym.var("h")],
        name="loop",
    )
    net = mx.sym.Group([outputs, *states])
    random = np.random.default_rng(0)
    names = {"a_weight": (2, 3), "a_bias": (2,), "b_weight": (2, 2), "b_bias": (2,)}
    params = {name: mx.nd.array(random.standard_normal(shape)) for name, shape in names.items()}
    session = session_of(to_onnx(net, params, {"x": (0, 0, 3), "h": (0, 2)}))
    for steps, batch in ((1, 2), (4, 3)):
        x = random.standard_normal((steps, batch, 3)).astype("float32")
        h = random.standard_normal((batch, 2)).astype("float32")
        found = session.run(None, {"x": x, "h": h})
        for one, other in zip(found, net.eval(x=mx.nd.array(x), h=mx.nd.array(h), **params), strict=True):
            np.testing.assert_allclose(one, other.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("start", [-9.0, 0.5, 9.0])
def test_a_loop_that_ends_early_is_filled_up_with_zeros(start: float) -> None:
    net = mx.sym.Group(
        [
            each
            for part in mx.sym.contrib.while_loop(
                cond=lambda s: relu(dense(s, "end", 1)),
                func=lambda s: (dense(s, "out", 1), [dense(s, "step", 1)]),
                loop_vars=[mx.sym.var("s")],
                max_iterations=4,
            )
            for each in (part if isinstance(part, list) else [part])
        ]
    )
    weights = {
        "end_weight": [[-1.0]], "end_bias": [3.0], "step_weight": [[1.0]], "step_bias": [2.0],
        "out_weight": [[2.0]], "out_bias": [1.0],
    }  # fmt: skip
    params = {name: mx.nd.array(value) for name, value in weights.items()}
    given = np.array([[start]], "float32")
    expected = [each.asnumpy() for each in net.eval(s=mx.nd.array(given), **params)]
    for one, other in zip(run_in_onnxruntime(net, params, {"s": given}, free=False), expected, strict=True):
        np.testing.assert_allclose(one, other)
