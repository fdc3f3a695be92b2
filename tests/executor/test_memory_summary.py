"""`Executor.memory_summary`: bound arrays and results by node."""

from __future__ import annotations

from typing import Any

import pytest

import rebind as mx

MB = 2**20


def bound(grad_req: str) -> Any:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1024, name="fc")
    net = mx.sym.BatchNorm(mx.sym.sin(net, name="sine"), name="bn")
    return net.simple_bind(mx.cpu(), grad_req, data=(512, 1024))


def numbers(text: str) -> dict[str, float]:
    return {line[:20].strip(): float(line[20:].split()[0]) for line in text.splitlines()}


def test_it_counts_arrays_and_results() -> None:
    exe = bound("write")
    found = numbers(exe.memory_summary())
    held = sum(array.size * 4 for array in exe.arg_dict.values()) / MB
    assert found["arguments"] == found["gradients"] == pytest.approx(held, abs=0.06)
    assert found["results for backward"] == pytest.approx(6, abs=0.1)
    assert found["results at the peak"] > found["results for backward"]
    rest = sum(found[name] for name in ("arguments", "gradients", "auxiliary states", "results at the peak"))
    assert found["together"] == pytest.approx(rest, abs=0.2)


def test_inference_holds_nothing_for_backward() -> None:
    text = bound("null").memory_summary()
    assert "gradients" not in text and "results for backward" not in text
    assert numbers(text)["results at the peak"] == pytest.approx(4, abs=0.1)


def test_each_line_has_the_largest() -> None:
    assert "data 2.0, 4 more" not in bound("write").memory_summary(rows=9)
    line = bound("write").memory_summary(rows=1).splitlines()[0]
    assert line.endswith("fc_weight 4.0, 4 more")


@pytest.mark.parametrize("rows", [0, -1, "3"])
def test_the_number_of_rows_is_checked(rows: Any) -> None:
    with pytest.raises(mx.MXNetError, match=r"Executor\.memory_summary: rows must be an int >= 1"):
        bound("null").memory_summary(rows)
