"""Names, attributes and inference as MXNet 1.9.1 has them: the lines of the text files here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rebind as mx


def lines(name: str) -> list[list[str]]:
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return [line.split(" -> ", 1) for line in text.splitlines() if not line.startswith("#")]


def test_automatic_names() -> None:
    with mx.name.NameManager():
        names = {"mx": mx, "s": mx.sym.var("s"), "t": mx.sym.var("t")}
        for expression, expected in lines("names.txt"):
            symbol = eval(expression, names)
            operator = symbol.graph.outputs[0].node.operator
            said, attributes = expected.split(" attrs=")
            assert said == (
                f"name={symbol.name!r} op={operator.name if operator else 'null'} outs={symbol.list_outputs()} "
                f"args={symbol.list_arguments()} aux={symbol.list_auxiliary_states()}"
            ), expression
            assert symbol.list_attr() == eval(attributes), expression


@pytest.mark.parametrize(("expression", "expected"), lines("attributes.txt"))
def test_attributes(expression: str, expected: str) -> None:
    symbol = eval(expression, {"mx": mx, "np": np, "x": mx.sym.var("x")})
    assert symbol.list_attr() == eval(expected)
    assert mx.sym.load_json(symbol.tojson()).list_attr() == symbol.list_attr()


@pytest.mark.parametrize(("expression", "expected"), lines("inference.txt"))
def test_inference(expression: str, expected: str) -> None:
    with mx.name.NameManager():
        names = {"S": mx.sym, "np": np, "s": mx.sym.var("s"), "t": mx.sym.var("t")}
        names["fc"] = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, name="fc")
        found = eval(expression, names)
    if ".infer_type" in expression and found[0] is not None:
        found = tuple([None if t is None else np.dtype(t).name for t in part] for part in found)
    assert repr(found) == expected
