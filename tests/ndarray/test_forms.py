"""A call that repeats an earlier one gives what that one gave: for every operator, and whatever comes in between."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.ndarray.forms import Form
from rebind.ndarray.invoke import make_caller
from rebind.ops import OPERATORS, find

from ..ops.sample import Sample
from ..ops.samples import SAMPLES


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What forms have returned since."""
    found: list[Any] = []
    run = Form.run

    def noted(self: Form, *args: Any) -> Any:
        found.append(run(self, *args))
        return found[-1]

    monkeypatch.setattr(Form, "run", noted)
    return found


def called(function: Any, sample: Sample) -> tuple[list[mx.nd.NDArray], list[mx.nd.NDArray]]:
    """Call on new arrays; return these and what came."""
    arrays = [mx.nd.array(value, dtype=value.dtype) for value in sample.inputs()]
    mx.random.seed(5)
    with mx.autograd.train_mode() if sample.training else mx.autograd.predict_mode():
        made = function(*arrays, **sample.parameters)
    return arrays, made if isinstance(made, list) else [made]


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_call_again_gives_the_same_in_memory_of_its_own(sample: Sample) -> None:
    function = make_caller(OPERATORS[sample.name], sample.name)
    inputs, wanted = called(function, sample)
    for _ in range(2):
        arrays, found = called(function, sample)
        memory = {array.tensor.untyped_storage().data_ptr() for array in arrays if array.size}
        for value, other in zip([*inputs, *wanted], [*arrays, *found], strict=True):
            assert value.dtype == other.dtype
            np.testing.assert_array_equal(other.asnumpy(), value.asnumpy())
        for value in found:
            assert not value.size or value.tensor.untyped_storage().data_ptr() not in memory


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((), {}), ((1,), {}), ((), {"axis": 1}), ((), {"axis": (0, 1), "keepdims": True})],
    ids=str,
)
def test_what_was_read_of_a_call_is_remembered(
    runs: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    function = make_caller(find("sum"), "sum")
    x = mx.nd.array([[1, 2], [3, 4]])
    first = function(x, *args, **kwargs)
    assert not runs
    np.testing.assert_array_equal(function(x, *args, **kwargs).asnumpy(), first.asnumpy())
    assert len(runs) == 1 and runs[0] is not None


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((), {"shape": [1, -1]}), ((), {"data": "x", "shape": (1, -1)}), ((), {"shape": (1, -1), "out": "x"})],
    ids=["list", "by name", "out"],
)
def test_what_need_not_repeat_is_read_again(
    runs: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    function = make_caller(find("Reshape"), "Reshape")
    for _ in range(3):
        x = mx.nd.array([[1, 2]])
        given = {key: x if value == "x" else value for key, value in kwargs.items()}
        found = function(*(() if "data" in given else (x,)), *args, **given)
        np.testing.assert_array_equal(found.asnumpy(), [[1, 2]])
    assert not runs


def test_an_array_that_is_ignored_is_ignored_again() -> None:
    function = make_caller(find("FullyConnected"), "FullyConnected")
    x, bias = mx.nd.ones((2, 3)), mx.nd.ones((3,))
    for _ in range(3):
        found = function(x, x, bias, num_hidden=2, no_bias=True)
        np.testing.assert_array_equal(found.asnumpy(), [[3, 3], [3, 3]])


def test_errors_of_a_call_again_name_the_operator_as_it_was_called() -> None:
    function = make_caller(find("dot"), "linear.dot")
    x, bad, whole = mx.nd.ones((2, 3)), mx.nd.ones((2, 2)), mx.nd.ones((3, 2), dtype="int32")
    for _ in range(2):
        function(x, mx.nd.ones((3, 2)))
    for args, says in (
        ((x, bad), r"linear\.dot: .*\(2, 3\).*\(2, 2\)"),
        ((x, whole), r"linear\.dot: rhs must be of the type of lhs"),
        ((x, 3), r"linear\.dot: rhs must be of class NDArray; got 3"),
        ((x, None), r"linear\.dot: needs the array 'rhs'"),
        ((x,), r"linear\.dot: needs the array 'rhs'"),
    ):
        with pytest.raises(mx.MXNetError, match=says):
            function(*args)


def test_a_form_stands_back_where_something_is_recorded() -> None:
    function = make_caller(find("square"), "square")
    x = mx.nd.array([3.0])
    x.attach_grad()
    for _ in range(2):
        assert not function(x).is_recorded
    with mx.autograd.record():
        y = function(x)
    y.backward()
    assert x.grad.item() == 6
    assert not function(y).is_recorded


def test_numbers_that_are_equal_and_not_the_same() -> None:
    x = mx.nd.ones((1,))
    for divided in (lambda number: x / number, lambda number: mx.nd._div_scalar(x, scalar=number)):
        assert [divided(number).item() for number in (0.0, -0.0, 0)] == [np.inf, -np.inf, np.inf]
    assert mx.nd.sum(x, axis=0).item() == 1
    with pytest.raises(mx.MXNetError, match="axis"):
        mx.nd.sum(x, axis=0.5)
    for _ in range(2):
        assert [np.signbit(mx.nd.full((1,), zero).asnumpy()[0]) for zero in (0.0, -0.0)] == [False, True]


def test_a_call_takes_the_device_that_is_the_default_then() -> None:
    function = make_caller(find("_zeros"), "_zeros")
    assert [function(shape=(2,)).context for _ in range(3)] == [mx.cpu()] * 3
    with mx.cpu(1):
        assert function(shape=(2,)).context == mx.cpu(1)
    for device in (mx.cpu(2), mx.cpu(3), mx.cpu(2)):
        assert function(shape=(2,), ctx=device).context == device


def test_forms_are_bounded(monkeypatch: pytest.MonkeyPatch, runs: list[Any]) -> None:
    # By the name of the module: `rebind.ndarray.invoke` is the function.
    monkeypatch.setattr(sys.modules[make_caller.__module__], "_MOST_FORMS", 2)
    function = make_caller(find("clip"), "clip")
    x = mx.nd.array([9])
    for most in (1, 2, 3, 1, 1):
        assert function(x, a_min=0, a_max=most).item() == most
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("draw", "args", "kwargs"),
    [
        ("uniform", (), {"shape": (2, 3)}),
        ("uniform", (0, 5, 4), {}),
        ("normal", (), {"loc": 1.0, "scale": 2, "shape": 4, "dtype": "float64"}),
        ("exponential", (0.5,), {"shape": (3,), "ctx": mx.cpu(1)}),
        ("randint", (0, 9), {"shape": (2, 2)}),
        ("randn", (2, 3), {"loc": 5}),
    ],
    ids=str,
)
def test_what_was_read_of_a_draw_is_remembered(
    runs: list[Any], draw: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    function = getattr(mx.nd.random, draw)
    found = []
    for _ in range(3):
        mx.random.seed(5)
        found.append(function(*args, **kwargs))
    assert len(runs) >= 2 and all(each is not None for each in runs)
    for each in found[1:]:
        assert (each.dtype, each.context) == (found[0].dtype, found[0].context)
        np.testing.assert_array_equal(each.asnumpy(), found[0].asnumpy())
    assert not np.array_equal(function(*args, **kwargs).asnumpy(), found[0].asnumpy())


def test_draws_that_are_read_each_time() -> None:
    low, out = mx.nd.array([0, 100]), mx.nd.zeros((3,))
    for _ in range(3):
        assert mx.nd.random.uniform(low, low + 1, shape=5).shape == (2, 5)
        assert mx.nd.random.uniform(7, 8, out=out) is out and (out.asnumpy() >= 7).all()
        assert mx.nd.random.uniform(shape=()).shape == (1,)
        with mx.util.np_shape(True):
            assert mx.nd.random.uniform(shape=()).shape == ()
        with pytest.raises(mx.MXNetError, match=r"^random\.normal: shape"):
            mx.nd.random.normal(shape="wide")
        with pytest.raises(TypeError, match=r"nd\.random\.uniform: .*'width'"):
            mx.nd.random.uniform(width=3)
        with pytest.raises(mx.MXNetError, match=r"^nd\.random\.normal: parameters must be all numbers or"):
            mx.nd.random.normal(low, 3)
        with pytest.raises(mx.MXNetError, match=r"^nd\.random\.uniform: ctx: must be a Device"):
            mx.nd.random.uniform(ctx=5)
        with pytest.raises(mx.MXNetError, match=r"^random\.normal: arrays of parameters must have one shape"):
            mx.nd.random.normal(low, out)
        with pytest.raises(mx.MXNetError, match=r"^random\.normal: out must have shape \(2,\)"):
            mx.nd.random.normal(low, low, out=out)
