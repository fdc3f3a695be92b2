"""The memory that a step allocates, by node."""

from __future__ import annotations

from typing import Any

import pytest

import rebind as mx
from rebind.observing import observing

MB = 2**20
SHAPE = (256, 1024)


def steps(net: Any) -> Any:
    exe = net.simple_bind(mx.cpu(), x=SHAPE)

    def step() -> None:
        exe.forward(is_train=True)
        exe.backward([mx.nd.ones(each.shape) for each in exe.outputs])

    step()
    return step


def test_each_node_has_what_it_allocates_and_the_peak_what_is_held() -> None:
    net = mx.sym.var("x")
    for name in ("one", "two", "three"):
        net = mx.sym.sin(net, name=name)
    found = mx.profiler.memory_of(steps(net))
    assert {name: found.allocated[name] // MB for name in ("one", "two", "three")} == dict.fromkeys(
        ("one", "two", "three"), 1
    )
    assert found.at.endswith("_backward") and found.at in found.holders
    assert found.holders["one"] // MB == 1  # for the gradient of the second
    assert found.peak == sum(found.holders.values()) and 4 * MB <= found.peak <= 8 * MB
    assert str(found).startswith(f"peak {found.peak / MB:.1f} MB in {found.at}, which holds\n")


def test_inference_frees_results_that_are_used_up() -> None:
    net = mx.sym.var("x")
    for i in range(6):
        net = mx.sym.broadcast_add(mx.sym.sin(net, name=f"sin{i}"), mx.sym.var("y", shape=(1, 1024)))
    exe = net.simple_bind(mx.cpu(), "null", x=SHAPE)
    exe.forward()
    found = mx.profiler.memory_of(exe.forward)
    assert sum(found.allocated.values()) > found.peak and found.peak <= 4 * MB
    assert observing.programs is None


def test_little_memory_is_shown_in_kilobytes() -> None:
    exe = mx.sym.exp(mx.sym.var("x"), name="e").simple_bind(mx.cpu(), "null", x=(256,))
    assert "1.0 kB: e 1.0" in exe.memory_summary() and " MB" not in exe.memory_summary()
    exe.forward()
    assert str(mx.profiler.memory_of(exe.forward)).splitlines()[0] == "peak 1.0 kB in e, which holds"


def test_it_takes_a_function() -> None:
    with pytest.raises(mx.MXNetError, match=r"profiler\.memory_of: step must be a function; got 3"):
        mx.profiler.memory_of(3)  # type: ignore[arg-type]
