"""Recording and gradients, as MXNet 1.9.1 gives them (recorded by running it)."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import rebind as mx
from rebind import autograd, nd
from rebind.errors import ArgumentError, MXNetError, StateError


def marked(request: str = "write") -> nd.NDArray:
    x = nd.array([1.0, 2, 3])
    x.attach_grad(request)
    return x


def with_a_pause(x: nd.NDArray) -> nd.NDArray:
    y = x * x
    with autograd.pause():
        constant = x * 3
    return y + constant


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda x: x * x, [2, 4, 6]),
        (lambda x: x[1:] * 2, [0, 2, 2]),
        (lambda x: x[nd.array([0, 0, 2])] * 3, [6, 0, 3]),
        (lambda x: sum(row * 2 for row in x), [2, 2, 2]),
        (lambda x: x.reshape((3, 1))[0] * 2, [2, 0, 0]),
        (lambda x: (x * x).detach() * x + nd.BlockGrad(x * x) * x, [2, 8, 18]),
        (with_a_pause, [2, 4, 6]),
        (lambda x: x.copyto(mx.cpu(1)) * 3, [3, 3, 3]),
        (lambda x: x.as_in_context(mx.cpu(1)) * 3, [3, 3, 3]),
        (lambda x: x.copyto(nd.zeros((3,))) * 3, [3, 3, 3]),
        (lambda x: nd.concatenate([x, x]) * 3, [6, 6, 6]),
        (lambda x: nd.moveaxis(x.reshape((3, 1)), 0, 1) * 3, [3, 3, 3]),
        (lambda x: x.astype("float64") * 3, [3, 3, 3]),
        (lambda x: nd.identity(x), [1, 1, 1]),
    ],
)
def test_gradient(compute, expected) -> None:
    x = marked()
    with autograd.record():
        y = compute(x)
    y.backward()
    assert x.grad.asnumpy().tolist() == expected


def triple(into):
    return into * 3


@pytest.mark.parametrize(
    ("write", "compute", "expected"),
    [
        (lambda into, x: into.__setitem__(slice(None), x * 2), triple, [6, 6, 6]),
        (lambda into, x: into.__iadd__(x * 2), triple, [6, 6, 6]),
        (lambda into, x: nd.broadcast_add(x, x, out=into), triple, [6, 6, 6]),
        (lambda into, x: into.__setitem__(slice(1, 2), x[:1] * 5), lambda into: into * into, [50, 0, 0]),
    ],
)
def test_recorded_writing(write, compute, expected) -> None:
    """A recorded value makes the array that it is written into part of the record."""
    x, into = marked(), nd.ones((3,))
    with autograd.record():
        write(into, x)
        y = compute(into)
    y.backward()
    assert x.grad.asnumpy().tolist() == expected


@pytest.mark.parametrize("compute", [lambda x: x, lambda x: x * 2], ids=["marked", "computed"])
@pytest.mark.parametrize(
    "write", [lambda array: array.__iadd__(1), lambda array: array.__setitem__(slice(None), 1)]
)
def test_writing_that_would_lose_gradients(compute, write) -> None:
    x = marked()
    with autograd.record():
        array = compute(x)
        with pytest.raises(mx.MXNetError, match="would lose gradients"):
            write(array)


def write_without_losing_gradients() -> list[nd.NDArray]:
    x = marked()
    with autograd.record():
        other = nd.ones((3,))
        other += 1
        with autograd.pause():
            x[:] = 5
    return [other, x]


def leave_an_array_out() -> list[nd.NDArray]:
    unused, x = marked(), marked()
    unused.grad[:] = 7
    with autograd.record():
        y = x * x
    y.backward()
    return [unused.grad]


def go_back_twice() -> list[nd.NDArray]:
    x = marked()
    with autograd.record():
        y = x * x
    y.backward(retain_graph=True)
    y.backward(nd.array([1, 10, 100]))
    return [x.grad]


def write_into_the_callers_gradient() -> list[nd.NDArray]:
    x, all_gradients = nd.array([1.0, 2]), nd.zeros((2, 2))
    autograd.mark_variables([x], [all_gradients[1]])
    with autograd.record():
        y = x * x
    autograd.backward(y)
    return [all_gradients]


def mark_in_the_middle() -> list[nd.NDArray]:
    x = marked()
    with autograd.record():
        y = x * 2
    y.attach_grad()
    with autograd.record():
        z = y * y
    z.backward()
    return [x.grad, y.grad]


def differentiate_twice() -> list[nd.NDArray]:
    x = marked()
    with autograd.record():
        (slope,) = autograd.grad(x * x * x, x, create_graph=True)
    slope.backward()
    return [x.grad]


def ask_for_gradients() -> list[nd.NDArray]:
    x = marked()
    x.grad[:] = 7
    with autograd.record():
        y = x * x
    return [*autograd.grad([y], [x], head_grads=[nd.array([1, 0, 1])]), x.grad]


def write_into_a_second_derivative_of_zero() -> list[nd.NDArray]:
    x = marked()
    with autograd.record():
        (slope,) = autograd.grad(nd.abs(x), x, create_graph=True)
    slope.backward()
    x.grad[:1] = 5
    return [x.grad]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (write_without_losing_gradients, [[2, 2, 2], [5, 5, 5]]),
        (leave_an_array_out, [[7, 7, 7]]),
        (go_back_twice, [[2, 40, 600]]),
        (write_into_the_callers_gradient, [[[0, 0], [2, 4]]]),
        (mark_in_the_middle, [[0, 0, 0], [4, 8, 12]]),
        (differentiate_twice, [[6, 12, 18]]),
        (ask_for_gradients, [[2, 0, 6], [7, 7, 7]]),
        (write_into_a_second_derivative_of_zero, [[5, 0, 0]]),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_programs(program, expected) -> None:
    assert [array.asnumpy().tolist() for array in program()] == expected


def state() -> tuple[bool, bool]:
    return autograd.is_recording(), autograd.is_training()


@pytest.mark.parametrize(
    ("scopes", "recording", "training"),
    [
        ([lambda: autograd.record(train_mode=False)], True, False),
        ([autograd.train_mode], False, True),
        ([autograd.record], True, True),
        ([autograd.record, autograd.predict_mode], True, False),
        ([autograd.record, lambda: autograd.pause(train_mode=True)], False, True),
    ],
)
def test_modes(scopes, recording, training) -> None:
    with contextlib.ExitStack() as outer:
        for scope in scopes[:-1]:
            outer.enter_context(scope())
        before = state()
        with scopes[-1]():
            assert state() == (recording, training)
        assert state() == before
    assert state() == (False, False)


def test_switches_return_what_was_set() -> None:
    assert autograd.set_recording(True) is False and autograd.set_recording(False) is True


@pytest.mark.parametrize(("grad_req", "expected"), [("add", [6, 12, 18]), ("write", [2, 4, 6])])
def test_requests(grad_req, expected) -> None:
    x = marked(grad_req)
    for _ in range(3):
        with autograd.record():
            y = x * x
        y.backward()
    assert x.grad.asnumpy().tolist() == expected


@pytest.mark.parametrize(
    ("head_grads", "kind", "says"),
    [
        (nd.ones((2,)), ValueError, r"must have shape \(3,\); got \(2,\)"),
        ([nd.ones((3,))], TypeError, "as many head gradients"),
        ([3, None], TypeError, "must be an NDArray or None"),
    ],
)
def test_bad_head_gradients(head_grads, kind, says) -> None:
    x = marked()
    with autograd.record():
        y, z = x * x, x * 2
    with pytest.raises(kind, match=says):
        autograd.backward([y, z] if isinstance(head_grads, list) else y, head_grads)
    autograd.backward([y, z], [None, nd.array([0, 1, 0])])
    assert x.grad.asnumpy().tolist() == [2, 6, 6]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda y, x: autograd.grad(y, nd.ones((3,))), "must be marked"),
        (lambda y, x: autograd.grad(nd.ones((3,)), x), "not computed from marked arrays"),
        (lambda y, x: autograd.grad([y], [x], head_grads=[]), "needs 1 head_grads, as many as heads; got 0"),
    ],
)
def test_what_grad_refuses(call, says) -> None:
    x = marked()
    with autograd.record():
        y = x * x
    with pytest.raises(mx.MXNetError, match=says):
        call(y, x)


def test_loss_operators_bring_their_own_gradient() -> None:
    x, label = nd.array([[1.0, 2, 3], [1, 2, 4]]), nd.array([0, 1])
    x.attach_grad()
    with autograd.record():
        y = nd.SoftmaxOutput(x, label)
    y.backward()
    expected = [[-0.90996945, 0.24472848, 0.66524094], [0.04201007, -0.8858048, 0.8437947]]
    np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-6)


def test_moving_averages_while_recording() -> None:
    x, mean, variance = nd.array(np.arange(6).reshape(3, 2)), nd.zeros((2,)), nd.ones((2,))
    x.attach_grad()
    with autograd.record():
        y = nd.BatchNorm(x, nd.ones((2,)), nd.zeros((2,)), mean, variance, momentum=0.5, fix_gamma=False)
    y.backward()
    assert mean.asnumpy().tolist() == [1, 1.5]


@pytest.mark.parametrize("training", [False, True])
def test_moving_averages_have_no_gradient(training: bool) -> None:
    arrays = [nd.array([[0.0, 1], [2, 3]]), *(nd.ones((2,)) for _ in range(4))]
    for array in arrays:
        array.attach_grad()
    with autograd.record(train_mode=training):
        y = nd.BatchNorm(*arrays, fix_gamma=False)
    y.backward()
    assert [array.grad.asnumpy().tolist() for array in arrays[2:]] == [[2, 2], [0, 0], [0, 0]]


class Sigmoid(mx.autograd.Function):
    def forward(self, x):
        assert not mx.autograd.is_recording()
        y = 1 / (1 + mx.nd.exp(-x))
        self.save_for_backward(y)
        return y

    def backward(self, dy):
        (y,) = self.saved_tensors
        return dy * y * (1 - y)


class Swap(mx.autograd.Function):
    """Two inputs, two outputs, one of which is an input itself."""

    def forward(self, a, b):
        return b, a * 2

    def backward(self, db, da):
        return da * 2, db


def test_a_function_brings_its_own_gradient() -> None:
    x = mx.nd.array([-1.0, 0.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.sigmoid(x * 2).sum()
    y.backward()
    expected = x.grad.asnumpy()
    with mx.autograd.record():
        y = Sigmoid()(x * 2).sum()
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(Sigmoid()(x).asnumpy(), mx.nd.sigmoid(x).asnumpy(), rtol=1e-6)  # unrecorded


def test_a_function_of_several_arrays() -> None:
    a, b = mx.nd.array([1.0, 2.0]), mx.nd.array([3.0, 4.0])
    a.attach_grad()
    b.attach_grad()
    with mx.autograd.record():
        first, second = Swap()(a, b)
        total = (first * first + second).sum()
    total.backward()
    assert first.asnumpy().tolist() == [3, 4]
    assert a.grad.asnumpy().tolist() == [2, 2]
    assert b.grad.asnumpy().tolist() == [6, 8]
    first[:] = 0  # an output is memory of its own
    assert b.asnumpy().tolist() == [3, 4]


def backward_twice() -> None:
    x = marked()
    with autograd.record():
        y = x * x
    y.backward(nd.array([1, 10, 100]))
    y.backward()


def backward_to_nothing() -> None:
    x = marked("null")
    with autograd.record():
        y = x * 2
    y.backward()


def call_an_instance_twice() -> None:
    function = Sigmoid()
    function(nd.ones((2,)))
    function(nd.ones((2,)))


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (backward_twice, MXNetError, "retain_graph=True"),
        (backward_to_nothing, MXNetError, "not computed from marked arrays"),
        (lambda: autograd.mark_variables([nd.ones((2,))], []), TypeError, "as many gradients"),
        (
            call_an_instance_twice,
            StateError,
            r"Sigmoid: an instance of autograd\.Function is for one call",
        ),
        (lambda: Sigmoid()(3), ArgumentError, "Sigmoid: takes NDArrays; got 3"),
    ],
)
def test_mistakes_are_named(call, error, says) -> None:
    with pytest.raises(error, match=says):
        call()


class Wrong(Sigmoid):
    def backward(self, dy):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((), "must return a gradient for each input, 1; got 0"),
        (mx.nd.ones((3,)), r"gradient 0 must have shape \(2,\); got \(3,\)"),
    ],
)
def test_gradients_of_a_function_that_do_not_fit(answer, message) -> None:
    x = mx.nd.ones((2,))
    x.attach_grad()
    wrong = Wrong()
    wrong.answer = answer
    with mx.autograd.record():
        y = wrong(x)
    with pytest.raises(MXNetError, match=message):
        y.backward()


def test_a_recorded_computation_as_a_symbol() -> None:
    x, w, b = mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([[1, 2]]), mx.nd.array([0.5])
    x.attach_grad()
    w.attach_grad()
    with mx.autograd.record():
        h = mx.nd.FullyConnected(x, w, b, num_hidden=1)
        columns = mx.nd.split(x, num_outputs=2)
        y = mx.nd.relu(h) * 2 + x[0:1].reshape((2, 1)) + columns[1] * x[1, ::-1].reshape((-1, 1))
    symbol = mx.autograd.get_symbol(y)
    assert symbol.list_arguments() == ["var0", "var1", "null2"]  # the names that MXNet 1.9.1 gives
    assert symbol.get_internals().list_outputs()[3:6] == ["node_0_output", "node_1_output", "node_2_output"]
    (again,) = symbol.eval(var0=x, var1=w, null2=b)
    np.testing.assert_array_equal(again.asnumpy(), y.asnumpy())
    assert mx.sym.load_json(symbol.tojson()).tojson() == symbol.tojson()


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        (lambda x: mx.nd.ones((2,)), "x must be computed while recording"),
        (lambda x: x[mx.nd.array([0])] * 2, "got indexing with arrays"),
        (lambda x: Sigmoid()(x) + 1, "got the autograd.Function Sigmoid"),
    ],
)
def test_what_cannot_become_a_symbol(compute, message) -> None:
    x = mx.nd.ones((2, 2))
    x.attach_grad()
    with mx.autograd.record():
        y = compute(x)
    with pytest.raises(StateError, match=message):
        mx.autograd.get_symbol(y)


@pytest.mark.parametrize(
    "compute", [lambda x: x * 2, lambda x: x.sum(), nd.MakeLoss], ids=["product", "sum", "loss"]
)
def test_a_constant_derivative_has_a_derivative_of_zeros(compute) -> None:
    x = marked()
    x.grad[:] = 9
    with autograd.record():
        (slope,) = autograd.grad(compute(x), x, create_graph=True)
    slope.backward()
    assert x.grad.asnumpy().tolist() == [0, 0, 0]


def test_whole_numbers_written_after_recording() -> None:
    """The stand-in that is recorded follows what is in the array."""
    x = nd.array([1, 2, 3], dtype="int32")
    x.attach_grad()
    x[:] = 5
    with autograd.record():
        y = x * x
    y.backward()
    assert y.asnumpy().tolist() == [25, 25, 25] and x.grad.asnumpy().tolist() == [10, 10, 10]
    y[:] = 7
    assert (y + 1).asnumpy().tolist() == [8, 8, 8]
    x.attach_grad("add")
    for _ in range(2):
        with autograd.record():
            y = x[1:].sum()
        y.backward()
    assert x.grad.asnumpy().tolist() == [0, 2, 2]
