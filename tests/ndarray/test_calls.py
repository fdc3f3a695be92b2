"""A call of an operator that repeats an earlier one gives what that one gave, whatever comes in between."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind import tuning
from rebind.ndarray import calls
from rebind.ndarray.calls import make_caller
from rebind.ops import OPERATORS, find

from ..ops.sample import Sample
from ..ops.samples import SAMPLES
from .test_storage import Shuffled


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The operators whose calls have been read since."""
    found: list[Any] = []
    read_call = calls.read_call

    def noting(op: Any, *args: Any) -> Any:
        found.append(op)
        return read_call(op, *args)

    monkeypatch.setattr(calls, "read_call", noting)
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


@pytest.mark.parametrize("sample", [sample for sample in SAMPLES if sample.inputs()], ids=str)
def test_a_recorded_call_again_gives_the_same_gradients(sample: Sample) -> None:
    function = make_caller(OPERATORS[sample.name], sample.name)
    found = []
    for _ in range(3):
        arrays = [mx.nd.array(value, dtype=value.dtype) for value in sample.inputs()]
        for array in arrays:
            array.attach_grad()
        mx.random.seed(5)
        with mx.autograd.record(train_mode=sample.training):
            made = function(*arrays, **sample.parameters)
            made = made if isinstance(made, list) else [made]
            total = mx.nd.add_n(*[(each.astype("float64") * (i + 2)).sum() for i, each in enumerate(made)])
        total.backward()
        found.append([each.asnumpy() for each in (*arrays, *made, *[array.grad for array in arrays])])
    for again in found[1:]:
        for value, other in zip(found[0], again, strict=True):
            assert value.dtype == other.dtype
            np.testing.assert_array_equal(other, value)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((), {}), ((1,), {}), ((), {"axis": 1}), ((), {"axis": (0, 1), "keepdims": True})],
    ids=str,
)
def test_what_was_read_of_a_call_is_remembered(
    reads: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    function = make_caller(find("sum"), "sum")
    x = mx.nd.array([[1, 2], [3, 4]])
    first = function(x, *args, **kwargs)
    np.testing.assert_array_equal(function(x, *args, **kwargs).asnumpy(), first.asnumpy())
    assert len(reads) == 1


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_arrays_by_name_and_for_the_result(sample: Sample) -> None:
    op = OPERATORS[sample.name]
    function = make_caller(op, sample.name)
    _, wanted = called(function, sample)
    for _ in range(3):
        arrays = [mx.nd.array(value, dtype=value.dtype) for value in sample.inputs()]
        names = op.signature.inputs_for(op.parse(sample.parameters), len(arrays))
        given: dict[str, Any] = dict(reversed([*zip(names, arrays, strict=False)]))
        if op.signature.variadic:  # such are in the order of the call
            given = dict(reversed(given.items()))
        elif len(wanted) == 1:
            given["out"] = mx.nd.zeros(wanted[0].shape, dtype=wanted[0].dtype)
        mx.random.seed(5)
        with mx.autograd.train_mode() if sample.training else mx.autograd.predict_mode():
            made = function(**given, **sample.parameters)
        assert made is given.get("out", made)
        for value, other in zip(wanted, made if isinstance(made, list) else [made], strict=True):
            assert value.dtype == other.dtype
            np.testing.assert_array_equal(other.asnumpy(), value.asnumpy())


LAYER = {"data": (1, 2), "weight": (3, 2), "bias": (3,)}


@pytest.mark.parametrize(
    ("name", "by_position", "by_name"),
    [
        ("FullyConnected", ("data",), ("weight", "bias")),
        ("FullyConnected", ("data",), ("bias", "weight")),
        ("FullyConnected", (), ("bias", "out", "weight", "data")),
        ("FullyConnected", ("data", "weight", "bias"), ("out",)),
    ],
    ids=str,
)
def test_arrays_by_name_are_remembered(
    reads: list[Any], name: str, by_position: tuple[str, ...], by_name: tuple[str, ...]
) -> None:
    function = make_caller(find(name), name)
    for time in range(4):
        arrays = {
            key: mx.nd.array(np.random.default_rng(time).normal(size=shape))
            for key, shape in {**LAYER, "out": (1, 3)}.items()
        }
        args, kwargs = [arrays[key] for key in by_position], {key: arrays[key] for key in by_name}
        # Other arrays by name, or one less, are another call.
        if time == 2:
            kwargs["no_bias"] = True
        found = function(*args, num_hidden=3, **kwargs).asnumpy()
        data, weight, bias, out = (each.asnumpy() for each in arrays.values())
        np.testing.assert_allclose(found, data @ weight.T + (0 if time == 2 else bias), rtol=1e-5)
        if "out" in by_name:
            np.testing.assert_array_equal(out, found)
    assert len(reads) == 2


def test_arrays_of_several_types_are_remembered(reads: list[Any]) -> None:
    function = make_caller(find("take"), "take")
    x = mx.nd.array([[1, 2], [3, 4]])
    for kind in ("int32", "int32", "int64", "float32", "uint8"):
        found = function(x, mx.nd.array([1, 1, 0], dtype=kind))
        np.testing.assert_array_equal(found.asnumpy(), [[3, 4], [3, 4], [1, 2]])
    assert len(reads) == 1


def test_what_is_no_array_among_arrays_of_several_types() -> None:
    function = make_caller(find("where"), "where")
    condition, x = mx.nd.array([1, 0], dtype="int32"), mx.nd.array([1, 2])
    for _ in range(2):
        function(condition, x, x)
    with pytest.raises(mx.MXNetError, match=r"where: y must be of class NDArray; got 3"):
        function(condition, x, 3)
    with pytest.raises(mx.MXNetError, match=r"where: .*type"):
        function(condition, x, x.astype("float64"))


def test_a_result_over_an_input() -> None:
    function = make_caller(find("sgd_mom_update"), "sgd_mom_update")
    weight, grad, mom = (mx.nd.array([number]) for number in (1, 2, 4))
    memory = weight.tensor.data_ptr()
    for wanted in (2, 1.5, 0.25):
        assert function(weight, grad, mom, lr=0.5, momentum=0.5, wd=0.0, out=weight) is weight
        assert (weight.item(), weight.tensor.data_ptr()) == (wanted, memory)
    with pytest.raises(mx.MXNetError, match=r"sgd_mom_update: grad must be of class NDArray; got 3"):
        function(weight, 3, mom, lr=0.5, momentum=0.5, wd=0.0, out=weight)
    other = mx.nd.zeros((1,))
    function(weight, grad, mom, lr=0.5, momentum=0.5, wd=0.0, out=other)
    assert (other.item(), weight.item()) == (-1.375, 0.25)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((), {"shape": [1, -1]}),
        ((), {"shape": [1, -1], "data": "x"}),
        ((), {"shape": (1, -1), "out": ["x"]}),
        ((None,), {"shape": (1, -1), "data": "x"}),
    ],
    ids=str,
)
def test_what_need_not_repeat_is_read_again(
    reads: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    function = make_caller(find("Reshape"), "Reshape")
    for _ in range(3):
        x = mx.nd.array([[1, 2]])
        given = {
            key: {"x": x}.get(str(value), [x] if value == ["x"] else value) for key, value in kwargs.items()
        }
        if args:
            with pytest.raises(mx.MXNetError, match="given twice"):
                function(*args, **given)
            continue
        found = function(*(() if "data" in given else (x,)), **given)
        np.testing.assert_array_equal((found[0] if isinstance(found, list) else found).asnumpy(), [[1, 2]])
    assert len(reads) == 3


def test_an_array_that_is_ignored_is_ignored_again() -> None:
    function = make_caller(find("FullyConnected"), "FullyConnected")
    x, bias = mx.nd.ones((2, 3)), mx.nd.ones((3,))
    # None in its place is no reason to take one that comes later.
    for given in (bias, bias, None, None, bias, bias):
        found = function(x, x, given, num_hidden=2, no_bias=True)
        np.testing.assert_array_equal(found.asnumpy(), [[3, 3], [3, 3]])


def test_an_array_in_the_place_of_a_number() -> None:
    function = make_caller(find("clip"), "clip")
    for number in (2, 3, 3):
        with pytest.raises(mx.MXNetError, match="a_max"):
            function(mx.nd.array([5]), a_min=0, a_max=mx.nd.array([number]))


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


def test_a_call_again_is_recorded_where_the_first_was_not() -> None:
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


def test_forms_are_bounded(reads: list[Any]) -> None:
    function = make_caller(find("clip"), "clip")
    x = mx.nd.array([9])
    with tuning.changed(remembered_call_forms=2):
        for most in (1, 2, 3, 1, 1):
            assert function(x, a_min=0, a_max=most).item() == most
    assert len(reads) == 4


def test_forms_of_arrays_by_name_are_bounded(reads: list[Any]) -> None:
    function = make_caller(find("clip"), "clip")
    x = mx.nd.array([9])
    with tuning.changed(remembered_call_forms=2):
        for most in (1, 2, 3, 1, 1):
            assert function(data=x, a_min=0, a_max=most).item() == most
    assert len(reads) == 4


def test_arrays_by_position_and_by_name_in_turn(reads: list[Any]) -> None:
    function = make_caller(find("sum"), "sum")
    x, out = mx.nd.array([[1, 2], [3, 4]]), mx.nd.zeros((2,))
    for _ in range(3):
        for axis, wanted in ((0, [4, 6]), (1, [3, 7])):
            assert function(x, axis=axis).asnumpy().tolist() == wanted
            assert function(data=x, axis=axis).asnumpy().tolist() == wanted
            assert function(axis=axis, data=x).asnumpy().tolist() == wanted
            assert function(x, axis, out=out).asnumpy().tolist() == wanted
    assert len(reads) == 8


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
def test_a_draw_again_gives_the_same_after_the_same_seed(
    draw: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    function = getattr(mx.nd.random, draw)
    found = []
    for _ in range(3):
        mx.random.seed(5)
        found.append(function(*args, **kwargs))
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
        with pytest.raises(mx.MXNetError, match=r"^nd\.random\.uniform: ctx must be a Device"):
            mx.nd.random.uniform(ctx=5)
        with pytest.raises(mx.MXNetError, match=r"^random\.normal: arrays of parameters must have one shape"):
            mx.nd.random.normal(low, out)
        with pytest.raises(mx.MXNetError, match=r"^random\.normal: out must have shape \(2,\)"):
            mx.nd.random.normal(low, low, out=out)


@pytest.fixture(params=[True, False], ids=["recording", "not recording"])
def torch_records(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Whether torch's own recording is switched on; a call leaves it so."""
    with torch.set_grad_enabled(request.param):
        yield request.param
        assert torch.is_grad_enabled() is request.param


def arrays(count: int, dtype: str = "float32") -> list[mx.nd.NDArray]:
    return [mx.nd.array([[i + 1, 2 * i], [i, i + 3]], dtype=dtype) for i in range(count)]


@pytest.mark.parametrize("count", [1, 2, 3, 8, 20])
def test_as_many_arrays_as_there_are(count: int, torch_records: bool) -> None:
    function = make_caller(find("Concat"), "Concat")
    given = arrays(count)
    for _ in range(2):
        found = function(*given, dim=1)
        np.testing.assert_array_equal(found.asnumpy(), np.concatenate([each.asnumpy() for each in given], 1))


def test_an_array_that_is_given_twice(reads: list[Any]) -> None:
    function = make_caller(find("elemwise_sub"), "elemwise_sub")
    x, y = arrays(2)
    for one, other in ((x, x), (x, y), (y, x), (y, y)):
        for found in (function(one, other), function(rhs=other, lhs=one)):
            np.testing.assert_array_equal(found.asnumpy(), one.asnumpy() - other.asnumpy())
    assert len(reads) == 2


def test_arrays_in_tuples_are_not_held() -> None:
    function = make_caller(find("add_n"), "add_n")
    x = mx.nd.array([1, 2])
    held = sys.getrefcount(x)
    for _ in range(2):
        assert function((x, x)).asnumpy().tolist() == [2, 4]
    assert sys.getrefcount(x) == held


@pytest.mark.filterwarnings("ignore:elemwise_add. no kernel")
def test_arrays_of_another_storage_in_a_call_again() -> None:
    function = make_caller(find("elemwise_add"), "elemwise_add")
    [x] = arrays(1)
    shuffled = mx.nd.NDArray(Shuffled(x.tensor, torch.arange(len(x))))
    for other in (x, shuffled, x):
        np.testing.assert_array_equal(function(x, other).asnumpy(), 2 * x.asnumpy())


def test_what_is_recorded(torch_records: bool) -> None:
    function = make_caller(find("elemwise_mul"), "elemwise_mul")
    x, y = arrays(2)
    for each in (x, y):
        each.attach_grad()
    with mx.autograd.record():
        z = function(function(x, y), y)
    z.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), y.asnumpy() ** 2)
    np.testing.assert_array_equal(y.grad.asnumpy(), (2 * x * y).asnumpy())
    # Outside nothing is recorded, whatever torch would do with a tensor that has a gradient behind it.
    with mx.autograd.record():
        z = function(x, y)
    assert z.tensor.requires_grad and not function(z, z).tensor.requires_grad


def test_a_result_in_memory_of_an_input_is_copied(torch_records: bool) -> None:
    [x] = arrays(1)
    before = x.asnumpy()
    for name, given in (
        ("Reshape", {"shape": (4,)}),
        ("identity", {}),
        ("slice_axis", {"axis": 0, "begin": 0, "end": 1}),
    ):
        function = make_caller(find(name), name)
        for _ in range(2):
            function(x, **given)[:] = 7
            np.testing.assert_array_equal(x.asnumpy(), before)


def test_a_result_over_inputs(torch_records: bool) -> None:
    add = make_caller(find("elemwise_add"), "elemwise_add")
    x, y = arrays(2)
    memory, wanted = y.tensor.data_ptr(), (x + y).asnumpy()
    assert add(x, y, out=y) is y
    np.testing.assert_array_equal(y.asnumpy(), wanted)
    assert add(y, y, out=y) is y
    np.testing.assert_array_equal(y.asnumpy(), 2 * wanted)
    assert y.tensor.data_ptr() == memory
    # An array with a gradient behind it is a constant from here on.
    x.attach_grad()
    with mx.autograd.record():
        z = x * 2
    assert add(z, y, out=z) is z and not z.tensor.requires_grad


def test_an_error_leaves_recording_as_it_was(torch_records: bool) -> None:
    dot = make_caller(find("dot"), "dot")
    x = mx.nd.ones((2, 3))
    for _ in range(2):
        with pytest.raises(mx.MXNetError, match=r"\(2, 3\)"):
            dot(x, x)


def test_draws_and_devices() -> None:
    draw = make_caller(find("_random_uniform"), "_random_uniform")
    mx.random.seed(3)
    first = [draw(shape=(3,)), draw(shape=(3,))]
    mx.random.seed(3)
    for made in first:
        np.testing.assert_array_equal(draw(shape=(3,)).asnumpy(), made.asnumpy())
    with mx.cpu(1):
        assert draw(shape=(3,)).context == mx.cpu(1)
        assert draw(shape=(3,), ctx="cpu(2)").context == mx.cpu(2)
    assert draw(shape=(3,)).context == mx.cpu(0)


def test_arrays_of_a_class_of_the_programs_own(reads: list[Any]) -> None:
    class Own(mx.nd.NDArray):
        pass

    function = make_caller(find("elemwise_sub"), "elemwise_sub")
    x, y = arrays(2)
    for one, other in ((x, Own(y.tensor)), (x, Own(x.tensor)), (x, y)):
        np.testing.assert_array_equal(function(one, other).asnumpy(), one.asnumpy() - other.asnumpy())
    assert len(reads) == 2
