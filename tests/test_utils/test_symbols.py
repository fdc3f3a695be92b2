"""Checks of symbols: of values, gradients, devices and types, optimizers and speed."""

from contextlib import nullcontext

import numpy as np
import pytest
from torch import Tensor

import rebind as mx
from rebind import test_utils as tu
from rebind.ops import OPERATORS, operator
from rebind.symbol.symbol import compose

from .samples import NET, ONES, OTHER, X, Y, positions


@pytest.fixture
def wrong_square():
    """Return an operator `x ** 2` whose gradient is 1 % too large, known for the length of a test."""

    @operator("_test_wrong_square")
    def square(data: Tensor) -> Tensor:
        """Square, with a wrong gradient."""
        return data * data

    @square.gradient
    def _(p, inputs, outputs, head_grads):
        return (2.02 * inputs[0] * head_grads[0],)

    yield compose(square, "wrong", (X,), {})
    del OPERATORS["_test_wrong_square"]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: tu.check_symbolic_forward(X * Y, [ONES, ONES], [2 * ONES]),
            AssertionError,
            r"EXPECTED_.*_output and FORWARD_.*_output differ: 4 of 4",
        ),
        (
            lambda: tu.check_symbolic_forward(X * Y, [ONES, ONES], [np.ones(3)]),
            AssertionError,
            "differ in shape",
        ),
        (
            lambda: tu.check_symbolic_forward(X * Y, {"x": ONES, "z": ONES}, [ONES]),
            ValueError,
            r"location: no 'z'\. Names: x, y\.",
        ),
        (
            lambda: tu.check_symbolic_forward(X * Y, {"x": ONES}, [ONES]),
            ValueError,
            "location: arrays are missing for 'y'",
        ),
        (
            lambda: tu.check_symbolic_forward(X * Y, [ONES, ONES], []),
            ValueError,
            "expected must be a dict, or a list",
        ),
    ],
)
def test_check_symbolic_forward_says_what_is_wrong(call, error, says):
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize("grad_req", ["write", "add", {"x": "add", "y": "write"}, ["write", "add"]])
def test_check_symbolic_backward(grad_req):
    head_grads = 3 * ONES
    tu.check_symbolic_backward(
        X * Y, [ONES, 2 * ONES], [head_grads], [6 * ONES, head_grads], grad_req=grad_req
    )
    with pytest.raises(AssertionError, match="EXPECTED_y and BACKWARD_y differ"):
        tu.check_symbolic_backward(
            X * Y, [ONES, 2 * ONES], [head_grads], [6 * ONES, 2 * ONES], grad_req=grad_req
        )


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: tu.check_symbolic_backward(X, [ONES], [ONES], [ONES], grad_stypes={"x": "rows"}),
            ValueError,
            "stype must be 'default', 'row_sparse' or 'csr'; got 'rows'",
        ),
        (
            lambda: tu.check_symbolic_backward(X, [ONES], [ONES], {}),
            ValueError,
            "expected must have the gradient of one argument or more",
        ),
        (lambda: tu.check_symbolic_backward(X, [ONES], [ONES], {"xx": ONES}), ValueError, r"no 'xx'"),
    ],
)
def test_check_symbolic_backward_of_some_arguments_says_what_is_wrong(call, error, says):
    with pytest.raises(error, match=says):
        call()


SYMBOLS = {
    "mul": (X * Y, (2, 3), (2, 3)),
    "div": (X / Y, (2, 3), (2, 3)),
    "broadcast_sub": (mx.sym.broadcast_sub(X, Y), (2, 3), (1, 3)),
    "dot": (mx.sym.dot(X, Y), (2, 3), (3, 2)),
    "exp": (mx.sym.exp(X), (2, 3)),
    "tanh": (mx.sym.tanh(X), (2, 3)),
    "sqrt": (mx.sym.sqrt(X), (2, 3)),
    "sum": (mx.sym.sum(X, axis=1), (2, 3)),
    "max": (mx.sym.max(X, axis=1), (2, 3)),
    "softmax": (mx.sym.softmax(X), (2, 3)),
    "log_softmax": (mx.sym.log_softmax(X), (2, 3)),
    "FullyConnected": (mx.sym.FullyConnected(X, Y, num_hidden=2, no_bias=True), (2, 3), (2, 3)),
    "LeakyReLU": (mx.sym.LeakyReLU(X - 1, slope=0.1), (2, 3)),
    "transpose": (mx.sym.transpose(X), (2, 3)),
    "Concat": (mx.sym.Concat(X, Y, dim=1), (2, 3), (2, 1)),
    "split": (mx.sym.split(X, num_outputs=2, axis=1), (2, 4)),
    "slice_axis": (mx.sym.slice_axis(X, axis=1, begin=1, end=3), (2, 3)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SYMBOLS)
def test_gradients_of_operators_pass(name, dtype):
    sym, *shapes = SYMBOLS[name]
    tu.check_numeric_gradient(sym, [np.random.uniform(0.5, 2, s) for s in shapes], dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_wrong_gradient_is_caught(wrong_square, dtype):
    with pytest.raises(AssertionError, match="NUMERICAL_x and BACKWARD_x differ: 4 of 4"):
        tu.check_numeric_gradient(wrong_square, [ONES], dtype=dtype)
    tu.check_symbolic_forward(wrong_square, [3 * ONES], [9 * ONES])


@pytest.mark.parametrize(
    ("wrong", "grad_nodes", "outcome"),
    [
        (False, {"x": "write"}, nullcontext()),
        (False, {"x": "add"}, nullcontext()),
        (False, {"x": "null"}, nullcontext()),
        (True, ["y"], nullcontext()),
        (True, {"x": "add"}, pytest.raises(AssertionError)),
    ],
)
def test_gradient_check_takes_requests(wrong_square, wrong, grad_nodes, outcome):
    with outcome:
        tu.check_numeric_gradient((wrong_square if wrong else X) * Y, [ONES, ONES], grad_nodes=grad_nodes)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: tu.check_numeric_gradient(X, [ONES], grad_nodes=3),
            TypeError,
            "grad_nodes must be a list of names or a dict",
        ),
        (lambda: tu.check_numeric_gradient(X, [ONES], grad_nodes=["z"]), ValueError, r"no 'z'\. Names: x\."),
        (
            lambda: tu.check_numeric_gradient(X, [ONES], grad_nodes=[]),
            ValueError,
            "grad_nodes must name one argument or more",
        ),
        (lambda: tu.check_numeric_gradient(X, [ONES], dtype="int32"), ValueError, "dtype must be one of"),
    ],
)
def test_gradient_check_takes_requests_says_what_is_wrong(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_numeric_grad_leaves_the_arguments():
    exe = (X * X).bind(mx.cpu(), [mx.nd.array([3.0], dtype="float64")], grad_req="null")
    tu.assert_almost_equal(tu.numeric_grad(exe, {"x": np.array([3.0])})["x"], np.array([6.0]), 1e-5)
    assert exe.arg_dict["x"].item() == 3


def test_check_consistency_may_print_instead_of_raising(capsys):
    tu.check_consistency([NET, OTHER], positions("float64", "float64"), raise_on_err=False)
    assert "x at position 1 and at position 0 differ" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("symbols", "types", "settings", "error", "says"),
    [
        pytest.param(
            NET,
            ("float32", "float64"),
            {"rtol": 0, "atol": {np.float32: 0, np.float64: 0}},
            AssertionError,
            "fc_output at position 0 and at position 1 differ",
            id="types",
        ),
        pytest.param(
            [NET, OTHER],
            ("float64", "float64"),
            {},
            AssertionError,
            "x at position 1 and at position 0 differ",
            id="symbols",
        ),
        pytest.param(
            NET,
            ("float32",),
            {"ground_truth": {"fc_output": np.ones((2, 2))}},
            AssertionError,
            "fc_output at position 0 and truth differ",
            id="truth",
        ),
        pytest.param(
            NET,
            ("float32",),
            {"ground_truth": {"fc_out": np.ones((2, 2))}},
            ValueError,
            "ground_truth has 'fc_out'; did you mean 'fc_output'",
            id="name-of-a-truth",
        ),
        pytest.param(
            NET,
            ("float32", "float64"),
            {"arg_params": {"fc_wieght": ONES}},
            ValueError,
            "arg_params: no 'fc_wieght'; did you mean 'fc_weight'",
            id="name-of-a-parameter",
        ),
        pytest.param(
            NET,
            ("float32", "float64"),
            {"aux_params": {"mean": ONES}},
            ValueError,
            "aux_states: no 'mean'",
            id="name-of-a-state",
        ),
        pytest.param(NET, ("float32",), {}, ValueError, "must have two or more entries", id="one-position"),
    ],
)
def test_check_consistency_says_what_is_wrong(symbols, types, settings, error, says):
    with pytest.raises(error, match=says):
        tu.check_consistency(symbols, positions(*types), **settings)


@pytest.mark.parametrize(
    "settings",
    [{"x": (2, 2), "y": (2, 2), "typ": "forward"}, {"location": {"x": ONES, "y": ONES}}],
    ids=["shapes", "arrays"],
)
def test_check_speed(settings):
    assert tu.check_speed(X * Y, N=2, **settings) > 0


def sgd(**changed):
    return mx.optimizer.create("sgd", **{"learning_rate": 0.1, "momentum": 0.9, **changed})


@pytest.mark.parametrize(("shape", "count"), [((2, 3), 1), ([(2, 3), (2,)], 2)])
@pytest.mark.parametrize(
    ("changed", "outcome"),
    [
        pytest.param({}, nullcontext(), id="equal"),
        pytest.param({"learning_rate": 0.2}, pytest.raises(AssertionError), id="learning_rate"),
        pytest.param({"momentum": 0.0}, pytest.raises(AssertionError), id="momentum"),
    ],
)
def test_compare_optimizer(shape, count, changed, outcome):
    with outcome:
        tu.compare_optimizer(sgd(), sgd(**changed), shape, "float32", ntensors=count)


@pytest.mark.parametrize("shape", [(2, 3), (3,), (1, 3), (2, 1), ()])
def test_expected_values_broadcast(shape):
    net, values = 2 * mx.sym.var("x"), [np.ones((2, 3), np.float32)]
    ones = [np.ones((2, 3), np.float32)]
    tu.check_symbolic_forward(net, values, [np.full(shape, 2.0)])
    for req in ("write", "add"):
        tu.check_symbolic_backward(net, values, ones, [np.full(shape, 2.0)], grad_req=req)
    with pytest.raises(AssertionError, match="6 of 6 elements"):
        tu.check_symbolic_forward(net, values, [np.full(shape, 3.0)])
    with pytest.raises(AssertionError, match="6 of 6 elements"):
        tu.check_symbolic_backward(net, values, ones, {"x": np.full(shape, 3.0)})
