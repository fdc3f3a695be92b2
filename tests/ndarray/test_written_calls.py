"""Functions that are written for the plain case of an operator's calls: what they compute, and when they stand back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.ndarray.forms import Form
from rebind.ndarray.written_calls import _compiled
from rebind.ops import find

from .test_storage import Shuffled


@pytest.fixture(params=[True, False], ids=["recording", "not recording"])
def torch_records(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Whether torch's own recording is switched on; a call leaves it so."""
    with torch.set_grad_enabled(request.param):
        yield request.param
        assert torch.is_grad_enabled() is request.param


def arrays(count: int, dtype: str = "float32") -> list[mx.nd.NDArray]:
    return [mx.nd.array([[i + 1, 2 * i], [i, i + 3]], dtype=dtype) for i in range(count)]


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_as_many_arrays_as_there_are(count: int, torch_records: bool) -> None:
    op = find("Concat")
    given = arrays(count)
    found = Form(op, op.parse({"dim": 1, "num_args": count}), range(count)).run(*given)
    np.testing.assert_array_equal(found.asnumpy(), np.concatenate([each.asnumpy() for each in given], 1))


def test_with_many_arrays_every_case_is_another() -> None:
    op = find("Concat")
    assert Form(op, op.parse({"num_args": 9}), range(9)).run(*arrays(9)) is None
    # The call itself computes them, as often as it comes.
    for _ in range(3):
        assert mx.nd.concat(*arrays(9), dim=1).shape == (2, 18)


def test_arrays_in_another_order(torch_records: bool) -> None:
    op = find("elemwise_sub")
    one, other = arrays(2)
    for order, wanted in (((0, 1), one - other), ((1, 0), other - one)):
        found = Form(op, op.parse({}), order).run(one, other)
        np.testing.assert_array_equal(found.asnumpy(), wanted.asnumpy())


def test_a_value_that_varies(torch_records: bool) -> None:
    op = find("_power_scalar")
    form = Form(op, op.parse({}), (0,), varying=("scalar",))
    [x] = arrays(1)
    for power in (2.0, 3.0, 0.0):
        np.testing.assert_array_equal(form.run(x, power).asnumpy(), x.asnumpy() ** power)


def test_parameters_with_names_of_the_text() -> None:
    op = find("Pad")  # it has a `mode`
    form = Form(op, op.parse({"mode": "edge", "pad_width": (0, 0, 0, 0, 1, 0, 0, 0)}), (0,))
    assert form.run(mx.nd.ones((1, 1, 2, 2))).shape == (1, 1, 3, 2)


@pytest.mark.parametrize(
    ("others", "why"),
    [
        (lambda x: (x, 3), "no array"),
        (lambda x: (x, None), "none"),
        (lambda x: (x, mx.nd.NDArray(Shuffled(x.tensor, torch.arange(len(x))))), "not dense"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_plain_is_left_to_others(others: Any, why: str) -> None:
    op = find("elemwise_add")
    assert Form(op, op.parse({}), (0, 1)).run(*others(arrays(1)[0])) is None, why


def test_what_is_recorded(torch_records: bool) -> None:
    op = find("elemwise_mul")
    form = Form(op, op.parse({}), (0, 1))
    x, y = arrays(2)
    for each in (x, y):
        each.attach_grad()
    with mx.autograd.record():
        z = form.run(form.run(x, y), y)
    z.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), y.asnumpy() ** 2)
    np.testing.assert_array_equal(y.grad.asnumpy(), (2 * x * y).asnumpy())
    # Outside nothing is recorded, whatever torch would do with a tensor that has a gradient behind it.
    with mx.autograd.record():
        z = form.run(x, y)
    assert z.tensor.requires_grad and not form.run(z, z).tensor.requires_grad


def test_what_is_left_to_others_inside_of_a_record() -> None:
    op = find("elemwise_mul")
    form = Form(op, op.parse({}), (0, 1))
    x, whole = arrays(1)[0], arrays(1, "int32")[0]
    whole.attach_grad()
    several = find("SliceChannel")
    number = find("_mul_scalar")
    with mx.autograd.record():
        assert form.run(x, 3) is None
        assert form.run(whole, whole) is None
        assert Form(several, several.parse({"num_outputs": 2}), (0,)).run(x) is None
        assert Form(number, number.parse({}), (0,), varying=("scalar",)).run(x, 2.0) is None


def test_types_that_differ_are_checked_once_for_each_combination(monkeypatch: pytest.MonkeyPatch) -> None:
    op = find("take")
    form = Form(op, op.parse({}), (0, 1))
    x = arrays(1)[0]
    checked: list[Any] = []
    check = type(op).check_types
    monkeypatch.setattr(type(op), "check_types", lambda *args: checked.append(args) or check(*args))
    for dtype in ("int32", "int32", "float32", "int64", "int32"):
        form.run(x, mx.nd.array([0, 1], dtype=dtype))
    assert len(checked) == 2
    add = find("elemwise_add")
    for _ in range(2):
        with pytest.raises(mx.MXNetError, match="type"):
            Form(add, add.parse({}), (0, 1)).run(x, x.astype("float64"))


def test_a_result_in_memory_of_an_input_is_copied(torch_records: bool) -> None:
    [x] = arrays(1)
    for name, given in (
        ("Reshape", {"shape": (4,)}),
        ("identity", {}),
        ("slice_axis", {"axis": 0, "begin": 0, "end": 1}),
    ):
        op = find(name)
        made = Form(op, op.parse(given), (0,)).run(x)
        before = x.asnumpy()
        made[:] = 7
        np.testing.assert_array_equal(x.asnumpy(), before)


def test_a_result_over_inputs(torch_records: bool) -> None:
    op = find("elemwise_add")
    form = Form(op, op.parse({}), (0, 1))
    x, y = arrays(2)
    memory, wanted = y.tensor.data_ptr(), (x + y).asnumpy()
    assert form.run_into((x, y), y) is y
    np.testing.assert_array_equal(y.asnumpy(), wanted)
    assert y.tensor.data_ptr() == memory
    assert form.run_into((y, y), y) is y
    np.testing.assert_array_equal(y.asnumpy(), 2 * wanted)
    # An array with a gradient behind it is a constant from here on.
    x.attach_grad()
    with mx.autograd.record():
        z = x * 2
    assert form.run_into((z, y), z) is z and not z.tensor.requires_grad
    with mx.autograd.record():
        assert form.run_into((y, y), y) is None


def test_draws_and_devices() -> None:
    op = find("_random_uniform")
    form = Form(op, op.parse({"shape": (3,)}), ())
    mx.random.seed(3)
    first = [form.run(), form.run()]
    mx.random.seed(3)
    for made in first:
        np.testing.assert_array_equal(form.run().asnumpy(), made.asnumpy())
    with mx.cpu(1):
        assert form.run().context == mx.cpu(1)
    assert form.run().context == mx.cpu(0)
    named = Form(op, op.parse({"shape": (3,), "ctx": "cpu(2)"}), ())
    with mx.cpu(1):
        assert named.run().context == mx.cpu(2)


def test_an_error_leaves_recording_as_it_was(torch_records: bool) -> None:
    op = find("dot")
    form = Form(op, op.parse({}), (0, 1))
    x = mx.nd.ones((2, 3))
    with pytest.raises(mx.MXNetError, match=r"\(2, 3\)"):
        form.run(x, x)


def test_texts_are_compiled_once_for_many_operators() -> None:
    x = arrays(1)[0]
    mx.nd.relu(x)
    mx.nd.relu(x)
    before = _compiled.cache_info().misses
    for name in ("sigmoid", "tanh", "exp", "square"):
        op = find(name)
        Form(op, op.parse({}), (0,)).run(x)
    assert _compiled.cache_info().misses == before
