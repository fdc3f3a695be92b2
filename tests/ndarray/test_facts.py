"""Arrays answer as MXNet 1.9.1 does: the lines of ``facts.txt``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind import nd

LINES = (Path(__file__).parent / "facts.txt").read_text(encoding="utf-8").splitlines()
FACTS = [line.split(" -> ", 1) for line in LINES if not line.startswith("#")]


def namespace() -> dict[str, Any]:
    return {
        "mx": mx,
        "nd": nd,
        "np": np,
        "a": nd.arange(12).reshape((3, 4)),
        "x": nd.arange(24).reshape((2, 3, 4)),
        "i32": nd.array([1, 2], dtype="int32"),
        "u8": nd.array([1, 2], dtype="uint8"),
        "b": nd.array([1, 0], dtype="bool"),
        **{f"f{n}": nd.array([1.5, 2.5], dtype=f"float{n}") for n in (16, 32, 64)},
    }


def shown(value: Any) -> str:
    if isinstance(value, nd.NDArray):
        return f"nd{value.shape} {np.dtype(value.dtype).name} {value.asnumpy().tolist()}"
    if isinstance(value, (list, tuple)):
        return type(value).__name__ + repr([shown(item) for item in value])
    return repr(value)


@pytest.mark.parametrize(("expression", "expected"), FACTS, ids=[fact[0] for fact in FACTS])
def test_fact(expression: str, expected: str) -> None:
    names = namespace()
    *statements, last = expression.split(";;")
    for statement in statements:
        exec(statement, names)
    assert shown(eval(last, names)) == expected


@pytest.mark.parametrize(
    ("expression", "kind", "says"),
    [
        ("nd.array([[1, 2], [3]])", TypeError, "must be numbers in a regular shape"),
        ("nd.array('a')", TypeError, "must be numbers"),
        ("nd.zeros(())", ValueError, "at least one axis"),
        ("nd.arange(5, 0)", ValueError, "stop must be above start"),
        ("f32 + f64", TypeError, "rhs must be of the type of lhs, float32; got float64"),
        ("f32 == f64", TypeError, "must be of the type"),
        ("f32 + [1, 2]", TypeError, "unsupported operand"),
        ("f32 + None", TypeError, "unsupported operand"),
        ("f32 + nd.ones((3,))", ValueError, "got (2,) and (3,)"),
        ("nd.softmax(i32)", TypeError, "softmax: data must be of a floating type; got int32"),
        ("nd.concat()", TypeError, "needs at least one NDArray"),
        ("nd.relu()", TypeError, "needs the array 'data'"),
        ("nd.relu(3)", TypeError, "data must be of class NDArray; got 3"),
        ("nd.clip(a, 0, 1, 2)", TypeError, "takes at most 3 arguments"),
        ("nd.clip(a, 0, a_min=1, a_max=2)", TypeError, "a_min is given twice"),
        ("nd.clip(a, 0, 1, ctx=mx.cpu())", ValueError, "no parameter 'ctx'"),
        ("nd.relu(a, out=nd.zeros((2, 2)))", ValueError, "relu: out must have shape (3, 4); got (2, 2)"),
        ("nd.maximum('a', 1)", TypeError, "takes arrays and numbers"),
        ("bool(i32)", ValueError, "ambiguous"),
        ("a.asscalar()", ValueError, "must have one element; got shape (3, 4)"),
        ("a[3]", IndexError, "index 3 is out of bounds for axis 0 with size 3"),
        ("a[0, 0, 0]", IndexError, "too many indices for an array of 2 axes"),
        ("a[nd.array([5])]", IndexError, "out of bounds"),
        ("a[1.5]", ValueError, "an index must be"),
        ("a['x']", ValueError, "an index must be"),
        ("a.__setitem__(5, 1)", IndexError, "out of bounds"),
        ("a.__setitem__(slice(1, 3), nd.zeros((3, 4)))", ValueError, "must broadcast there; got shape (3, 4)"),
        ("a.__setitem__(0, 's')", TypeError, "must be numbers"),
        ("a.__setitem__(0, None)", TypeError, "must be numbers"),
        ("a.copyto(nd.zeros((2, 2)))", ValueError, "other must have shape (3, 4); got (2, 2)"),
        ("a.copyto(3)", TypeError, "must be an NDArray or a Device"),
        ("a.as_in_context(3)", TypeError, "must be a Device"),
        ("a.as_in_context('tpu')", ValueError, "device_type must be one of cpu, gpu"),
        ("a.as_in_context('cpu(x)')", ValueError, "must be a kind and a number"),
        ("a.astype('float8')", TypeError, "must be one of"),
        ("x.reshape((5, 5))", ValueError, "got 24 elements for 25"),
        ("x.reshape((-1, -1))", ValueError, "-1 at most once"),
        ("x.reshape((2, 0, 0, 0))", ValueError, "refers to more axes"),
        ("nd.moveaxis(x, (0, 1), 0)", ValueError, "as many sources as destinations"),
        ("nd.from_numpy([1])", TypeError, "must be a NumPy array"),
        ("nd.from_numpy(np.zeros((2, 2)).T[::-1])", ValueError, "use zero_copy=False"),
        ("f32.attach_grad('foo')", ValueError, "grad_req must be one of"),
        ("f32.backward()", RuntimeError, "not computed from marked arrays"),
        ("f32.__array__(copy=False)", ValueError, "copy must not be False: NumPy gets a copy"),
    ],
)  # fmt: skip
def test_mistake(expression: str, kind: type, says: str) -> None:
    with pytest.raises(kind) as caught:
        eval(expression, namespace())
    assert says in str(caught.value)
    assert isinstance(caught.value, mx.MXNetError) or "unsupported operand" in says
