"""Loops and branches for the records of `generate_control_flow.py`: each makes a symbol with the module `mx`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def recurrent(mx: Any) -> Any:
    """A layer whose weights are made inside of the loop."""

    def body(x: Any, states: list[Any]) -> tuple[Any, list[Any]]:
        h = mx.sym.tanh(mx.sym.FullyConnected(x, num_hidden=3, name="fc") + states[0])
        return [h, h * 2], [h + states[0]]

    outputs, states = mx.sym.contrib.foreach(body, mx.sym.var("x"), [mx.sym.var("h")], name="loop")
    return mx.sym.Group([*outputs, *states])


def closure(mx: Any) -> Any:
    """Computed inputs, a symbol from outside, a state that is handed on as it is."""
    parts = mx.sym.split(mx.sym.var("h"), num_outputs=2, axis=1, name="parts")
    outputs, states = mx.sym.contrib.foreach(
        lambda x, s: (x * parts[1], [s[0] + x, s[1]]),
        mx.sym.exp(mx.sym.var("x"), name="e"),
        [parts[0], parts[1]],
    )
    return mx.sym.Group([outputs, *states])


def several(mx: Any) -> Any:
    """Several data, no outputs but the state."""
    outputs, states = mx.sym.contrib.foreach(
        lambda x, s: ([], s + x[0] * x[1]), [mx.sym.var("x"), mx.sym.var("y")], mx.sym.var("h")
    )
    assert outputs == []
    return states


def numbers(mx: Any) -> Any:
    """Data of one axis: a slice has the shape (1,), and so have an output's rows."""
    outputs, states = mx.sym.contrib.foreach(
        lambda x, s: ([x[0] * s[0], mx.sym.broadcast_mul(x[0], x[1])], [s[0] + x[0]]),
        [mx.sym.var("x"), mx.sym.var("y")],
        [mx.sym.var("h")],
    )
    return mx.sym.Group([*outputs, *states])


def nested(mx: Any) -> Any:
    """A loop in a loop, with a weight from outside of both."""

    def inner(y: Any, total: list[Any]) -> tuple[Any, list[Any]]:
        return y + total[0] * mx.sym.var("w"), [total[0] + y]

    def outer(x: Any, states: list[Any]) -> tuple[Any, list[Any]]:
        outputs, last = mx.sym.contrib.foreach(inner, x, [states[0]], name="inner")
        return outputs, last

    outputs, states = mx.sym.contrib.foreach(outer, mx.sym.var("x"), [mx.sym.var("h")], name="outer")
    return mx.sym.Group([outputs, *states])


def loop(mx: Any) -> Any:
    """A loop whose end depends on what it computes."""
    outputs, states = mx.sym.contrib.while_loop(
        cond=lambda i, s: s < mx.sym.var("limit"),
        func=lambda i, s: (i * mx.sym.var("k"), [i + 1, s + i]),
        loop_vars=[mx.sym.var("i"), mx.sym.exp(mx.sym.var("s"))],
        max_iterations=3,
        name="wl",
    )
    return mx.sym.Group([outputs, *states])


def branch(mx: Any) -> Any:
    """Two branches of two outputs that share inputs."""
    a, b = mx.sym.var("a"), mx.sym.var("b")
    return mx.sym.Group(
        list(mx.sym.contrib.cond(a * b < 5, lambda: [a + 5 * b, b * b], lambda: [a - 5, a], name="if"))
    )


ONE = (1,)
#: The builder and the shapes of its arguments; `loop` runs all of its steps, since MXNet does not clear the others.
CASES: dict[str, tuple[Callable[[Any], Any], dict[str, tuple[int, ...]]]] = {
    "recurrent": (recurrent, {"x": (4, 2, 5), "h": (2, 3), "fc_weight": (3, 5), "fc_bias": (3,)}),
    "closure": (closure, {"x": (3, 2, 2), "h": (2, 4)}),
    "several": (several, {"x": (3, 2), "y": (3, 2), "h": (2,)}),
    "numbers": (numbers, {"x": (4,), "y": (4, 3), "h": ONE}),
    "nested": (nested, {"x": (2, 3, 2), "h": (2,), "w": (2,)}),
    "loop": (loop, {"i": ONE, "s": ONE, "limit": ONE, "k": ONE}),
    "branch": (branch, {"a": ONE, "b": ONE}),
    "other branch": (branch, {"a": ONE, "b": ONE}),
}

#: Arguments that are not drawn.
VALUES = {"loop": {"limit": 100.0}, "branch": {"a": 1.0, "b": 2.0}, "other branch": {"a": 3.0, "b": 2.0}}

#: MXNet cannot bind these with gradients (a state that is handed on as it is; an input of the condition alone).
#: Finite differences stand in for its record.
FORWARD_ONLY = {"closure", "loop"}
