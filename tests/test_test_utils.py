"""`mx.test_utils`: each check passes on what is right and fails on what is wrong."""

import os
import subprocess
import sys

import numpy as np
import pytest
from torch import Tensor

import rebind as mx
from rebind import test_utils as tu
from rebind.ops import OPERATORS, operator
from rebind.symbol.symbol import compose

X, Y = mx.sym.var("x"), mx.sym.var("y")
ONES = np.ones((2, 2))


@pytest.fixture(autouse=True)
def _seed():
    np.random.seed(7)


@pytest.fixture
def wrong_square():
    """Return an operator `x ** 2` whose gradient is 1 % too large, known for the length of a test."""

    @operator("_test_wrong_square")
    def square(data: Tensor) -> Tensor:
        """Square, with a wrong gradient."""
        return data * data

    @square.gradient
    def _(p, inputs, outputs, heads):
        return (2.02 * inputs[0] * heads[0],)

    yield compose(square, "wrong", (X,), {})
    del OPERATORS["_test_wrong_square"]


# ---- defaults and data ---------------------------------------------------------------------------------------


def test_tolerances_are_those_of_mxnet():
    assert tu.get_rtol() == 1e-5 and tu.get_atol() == 1e-20
    assert tu.get_tols(np.float32([1]), np.float64([1]), None, None) == (1e-4, 1e-3)
    assert tu.get_tols(np.float32([1]), np.int32([1]), None, 5) == (1e-4, 5)
    assert tu.get_rtol(dtype="int32") == 0
    assert tu.default_rtols()[np.dtype("float16")] == 1e-2
    assert tu.default_atols()[np.dtype("float16")] == 1e-1
    assert tu.default_numeric_eps()[np.dtype("float32")] == 2**-9


def test_default_context_can_be_set():
    with mx.cpu(1):
        tu.set_default_context(mx.cpu(3))
        assert tu.default_context() == mx.cpu(3)
        assert mx.nd.zeros((1,)).context == mx.cpu(3)
    assert tu.default_context() == mx.cpu(0)
    with pytest.raises(TypeError, match=r"set_default_context: ctx must be a Device"):
        tu.set_default_context("cpu")


def test_random_data_have_shapes_and_types():
    one = tu.random_arrays((2, 3))
    assert one.shape == (2, 3) and one.dtype == np.float32
    (uniform,) = tu.random_uniform_arrays((500,), low=2, high=3)
    assert uniform.min() >= 2 and uniform.max() <= 3
    assert tu.rand_ndarray((2, 3), dtype="float64", ctx=mx.cpu(1)).context == mx.cpu(1)
    assert sorted(tu.random_sample(range(5), 5)) == [0, 1, 2, 3, 4]
    shapes = [tu.rand_shape_nd(2, 2, allow_zero_size=True) for _ in range(100)]
    assert {n for shape in shapes for n in shape} == {0, 1, 2}
    assert {tu.rand_shape_3d(1, 2, 3)[0] for _ in range(20)} == {1}
    assert {tu.rand_coord_2d(0, 1, 3, 5) for _ in range(50)} == {(0, 3), (0, 4)}


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: tu.rand_ndarray((2, 3), "csr", density=0.5),
            ValueError,
            r"rand_ndarray: stype .* got 'csr'. Sparse storage is not supported yet",
        ),
        (lambda: tu.rand_ndarray((2, 3), "dense"), ValueError, r"rand_ndarray: stype must be .* got 'dense'"),
        (lambda: tu.rand_shape_2d(0, 2), ValueError, r"largest sizes must be >= 1; got \(0, 2\)"),
        (lambda: tu.random_sample([1, 2], 3), ValueError, r"k must be in 0\.\.2; got 3"),
        (lambda: tu.rand_coord_2d(2, 2, 0, 1), ValueError, r"rand_coord_2d: low must be < high"),
    ],
)
def test_wrong_calls_for_data_say_so(call, error, says):
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (-1, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_np_reduce_is_numpy(axis, keepdims):
    values = np.random.rand(2, 3, 4)
    np.testing.assert_allclose(
        tu.np_reduce(values, axis, keepdims, np.sum), values.sum(axis, keepdims=keepdims)
    )


def test_collapse_sum_like_undoes_broadcasting():
    values = np.random.rand(2, 3, 4)
    np.testing.assert_allclose(tu.collapse_sum_like(values, (3, 1)), values.sum((0, 2))[:, None])
    np.testing.assert_allclose(
        tu.collapse_sum_like(mx.nd.array(values), (3, 1)).asnumpy(), values.sum((0, 2))[:, None], rtol=1e-5
    )
    with pytest.raises(ValueError, match=r"shape must broadcast to \(2, 3, 4\); got \(2,\)"):
        tu.collapse_sum_like(values, (2,))


def test_assign_each():
    assert tu.assign_each(ONES, lambda v: v + 1).tolist() == [[2, 2], [2, 2]]
    assert tu.assign_each2(ONES, 3 * ONES, lambda v, w: v - w).tolist() == [[-2, -2], [-2, -2]]
    with pytest.raises(ValueError, match=r"input2 must have shape \(2, 2\)"):
        tu.assign_each2(ONES, np.ones(2), None)


def test_vectors_and_tensors_of_numbers():
    assert tu.create_vector(3).asnumpy().tolist() == [0, 1, 2]
    assert tu.create_2d_tensor(3, 2, "float32").dtype is np.float32


def test_dummy_iter_gives_the_first_batch_for_ever():
    real = mx.io.NDArrayIter(np.arange(4.0), batch_size=2)
    dummy = tu.DummyIter(real)
    seen = [dummy.next() for _ in range(5)]
    assert all(batch.data[0].asnumpy().tolist() == [0, 1] for batch in seen)
    assert dummy.provide_data == real.provide_data and dummy.batch_size == 2


# ---- comparing -----------------------------------------------------------------------------------------------


def test_same_and_same_array():
    x = mx.nd.zeros((3,))
    assert tu.find_max_violation(x, np.array([0.0, 3, 1]), 0, 1) == ((1,), 3.0)
    assert tu.same(x, np.zeros(3)) and not tu.same(x, np.zeros(2)) and not tu.same(x, np.ones(3))
    assert tu.same_array(x, x[0:3]) and not tu.same_array(x, x.copy()) and not tu.same_array(x, x[0:2])


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1.0, 2.0], [1.0, 2.1]),
        ([1.0, np.nan], [1.0, 2.0]),
        ([1.0, 2.0], [1.0, np.nan]),
        ([1.0, np.nan], [1.0, np.nan]),
        ([1.0, np.inf], [1.0, -np.inf]),
        ([1.0, 5.0], [1.0, np.inf]),
        ([1.0, np.inf], [1.0, 5.0]),
        ([True], [False]),
        ([2**53 + 1], [2**53]),
        ([1, 2], [1, 3]),
    ],
)
def test_what_differs_is_found(a, b):
    assert not tu.almost_equal(np.array(a), np.array(b))
    with pytest.raises(AssertionError, match=f"a and b differ: 1 of {len(a)} elements"):
        tu.assert_almost_equal(np.array(a), np.array(b))


@pytest.mark.parametrize(
    ("a", "b"), [(1.0, 1.0), ([np.inf, 1], [np.inf, 1]), (np.ones((2, 3)), np.ones(3)), ([], [])]
)
def test_what_is_equal_passes(a, b):
    tu.assert_almost_equal(np.array(a), np.array(b))


def test_nan_equals_nan_when_asked():
    tu.assert_almost_equal(np.array([np.nan, 1]), np.array([np.nan, 1]), equal_nan=True)
    assert not tu.almost_equal(np.array([np.nan, 1]), np.array([1, np.nan]), equal_nan=True)


def test_message_names_the_worst_places_first():
    a, b = np.arange(100.0).reshape(10, 10), np.zeros((10, 10))
    with pytest.raises(AssertionError) as caught:
        tu.assert_almost_equal(a, b, rtol=0.5, atol=1, names=("got", "want"), mismatches=(2, 10))
    assert str(caught.value).splitlines() == [
        "got and want differ: 98 of 100 elements (98%) are off by more than rtol=0.5, atol=1",
        "  (9, 9): got = 99.0, want = 0.0, 99 times the tolerance",
        "  (9, 8): got = 98.0, want = 0.0, 98 times the tolerance",
        "  and 96 more",
    ]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: tu.assert_almost_equal(np.ones((2, 3)), np.ones((2, 2))),
            AssertionError,
            r"differ in shape: a has \(2, 3\), b has \(2, 2\)",
        ),
        (
            lambda: tu.assert_almost_equal(np.ones((2, 3)), np.ones(3), use_broadcast=False),
            AssertionError,
            "differ in shape",
        ),
    ],
)
def test_shapes_must_fit(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_coarser_type_sets_the_tolerance():
    tu.assert_almost_equal(np.float32([1.0]), np.float64([1.001]))
    assert not tu.almost_equal(np.float64([1.0]), np.float64([1.001]))
    tu.assert_almost_equal(mx.nd.ones((1,), dtype="bfloat16"), np.float32([1.1]))


def test_a_share_may_be_off():
    a, b = np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 3, 5])
    tu.assert_almost_equal_with_err(a, b, etol=0.3)
    with pytest.raises(AssertionError, match="1 of 4"):
        tu.assert_almost_equal_with_err(a, b, etol=0.2)


def test_places_with_nan_are_left_out():
    tu.assert_almost_equal_ignore_nan(np.array([1, np.nan]), np.array([1, 2.0]))
    assert tu.almost_equal_ignore_nan(np.array([1, np.nan]), np.array([1, 2.0]))
    assert not tu.almost_equal_ignore_nan(np.array([1, np.nan]), np.array([2, 2.0]))
    with pytest.raises(AssertionError):
        tu.assert_almost_equal_ignore_nan(np.array([1, np.nan]), np.array([2, 2.0]))


def test_assert_allclose_and_tuples():
    tu.assert_allclose([1.0, np.nan], [1.0, np.nan])
    with pytest.raises(AssertionError):
        tu.assert_allclose([1.0], [1.00001])
    tu.compare_ndarray_tuple((mx.nd.ones((2,)), (None,)), (mx.nd.ones((2,)), (None,)))
    for other in [(mx.nd.zeros((2,)), (None,)), (None, (None,)), (mx.nd.ones((2,)),), mx.nd.ones((2,))]:
        with pytest.raises(AssertionError):
            tu.compare_ndarray_tuple((mx.nd.ones((2,)), (None,)), other)


def test_assert_exception():
    tu.assert_exception(int, ValueError, "x")


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: tu.assert_exception(int, ValueError, "1"),
            AssertionError,
            "int must raise ValueError; it raised nothing",
        ),
        (lambda: tu.assert_exception(int, TypeError, "x"), ValueError, "invalid literal"),
    ],
)
def test_assert_exception_says_what_is_wrong(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_retry_tries_so_often():
    tries = []

    def test(passes_at):
        tries.append(1)
        assert len(tries) >= passes_at

    tu.retry(3)(test)(3)
    assert len(tries) == 3
    tries.clear()
    with pytest.raises(AssertionError):
        tu.retry(3)(test)(4)
    assert len(tries) == 3
    with pytest.raises(ValueError, match="retry: n must be >= 1; got 0"):
        tu.retry(0)


# ---- checking symbols ----------------------------------------------------------------------------------------


def test_simple_forward():
    assert tu.simple_forward(X + Y, x=ONES, y=ONES).tolist() == [[2, 2], [2, 2]]
    both = tu.simple_forward(mx.sym.Group([X + Y, X]), x=ONES, y=ONES)
    assert [out[0, 0] for out in both] == [2, 1]


def test_check_symbolic_forward():
    tu.check_symbolic_forward(X * Y, [ONES, 2 * ONES], [2 * ONES])
    tu.check_symbolic_forward(X * Y, {"x": ONES, "y": ONES}, [ONES], dtype=np.float64)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: tu.check_symbolic_forward(X * Y, [ONES, ONES], [2 * ONES]),
            AssertionError,
            r"EXPECTED_.*_output and FORWARD_.*_output differ: 4 of 4",
        ),
        (
            lambda: tu.check_symbolic_forward(X * Y, [ONES, ONES], [np.ones(2)]),
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
            "expected: must be a dict, or a list",
        ),
    ],
)
def test_check_symbolic_forward_says_what_is_wrong(call, error, says):
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize("grad_req", ["write", "add", {"x": "add", "y": "write"}, ["write", "add"]])
def test_check_symbolic_backward(grad_req):
    heads = 3 * ONES
    tu.check_symbolic_backward(X * Y, [ONES, 2 * ONES], [heads], [6 * ONES, heads], grad_req=grad_req)
    with pytest.raises(AssertionError, match="EXPECTED_y and BACKWARD_y differ"):
        tu.check_symbolic_backward(X * Y, [ONES, 2 * ONES], [heads], [6 * ONES, 2 * ONES], grad_req=grad_req)


def test_check_symbolic_backward_of_some_arguments():
    got = tu.check_symbolic_backward(X * Y, [ONES, 2 * ONES], [ONES], {"x": 2 * ONES})
    assert list(got) == ["x"]
    tu.check_symbolic_backward(X * Y, [ONES, ONES], [ONES], {"x": 5 * ONES}, grad_req="null")


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: tu.check_symbolic_backward(X, [ONES], [ONES], [ONES], grad_stypes={"x": "row_sparse"}),
            ValueError,
            r"'row_sparse'\. Sparse storage is not supported yet",
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


def test_gradient_check_takes_requests(wrong_square):
    for request in ("write", "add", "null"):
        tu.check_numeric_gradient(X * Y, [ONES, ONES], grad_nodes={"x": request})
    tu.check_numeric_gradient(wrong_square * Y, [ONES, ONES], grad_nodes=["y"])
    with pytest.raises(AssertionError):
        tu.check_numeric_gradient(wrong_square * Y, [ONES, ONES], grad_nodes={"x": "add"})


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


def test_gradient_check_takes_auxiliary_states():
    norm = mx.sym.BatchNorm(X, fix_gamma=False, name="bn")
    args = {"x": np.random.rand(6, 3), "bn_gamma": np.random.rand(3), "bn_beta": np.random.rand(3)}
    aux = {"bn_moving_mean": np.zeros(3), "bn_moving_var": np.ones(3)}
    tu.check_numeric_gradient(norm, args, aux, dtype=np.float64, rtol=1e-4, atol=1e-6)


def test_numeric_grad_leaves_the_arguments():
    exe = (X * X).bind(mx.cpu(), [mx.nd.array([3.0], dtype="float64")], grad_req="null")
    tu.assert_almost_equal(tu.numeric_grad(exe, {"x": np.array([3.0])})["x"], np.array([6.0]), 1e-5)
    assert exe.arg_dict["x"].item() == 3


def _places(*types):
    return [{"ctx": mx.cpu(i), "x": (2, 3), "type_dict": {"x": kind}} for i, kind in enumerate(types)]


def test_check_consistency(capsys):
    net = mx.sym.FullyConnected(X, num_hidden=2, name="fc")
    truth = tu.check_consistency(net, _places("float32", "float64", "float16"), rand_type=np.float16)
    assert truth["fc_output"].dtype is np.float64
    assert list(tu.check_consistency(net, _places("float32", "float64"), grad_req="null")) == ["fc_output"]
    with pytest.raises(AssertionError, match="fc_output at position 0 and at position 1 differ"):
        tu.check_consistency(net, _places("float32", "float64"), rtol=0, atol={np.float32: 0, np.float64: 0})
    other = mx.sym.FullyConnected(X, num_hidden=2, name="fc") * 1.01
    with pytest.raises(AssertionError, match="x at position 1 and at position 0 differ"):
        tu.check_consistency([net, other], _places("float64", "float64"))
    tu.check_consistency([net, other], _places("float64", "float64"), raise_on_err=False)
    assert "x at position 1 and at position 0 differ" in capsys.readouterr().out
    with pytest.raises(AssertionError, match="fc_output at position 0 and truth differ"):
        tu.check_consistency(net, _places("float32"), ground_truth={"fc_output": np.ones((2, 2))})
    with pytest.raises(ValueError, match="ground_truth has 'fc_out'; did you mean 'fc_output'"):
        tu.check_consistency(net, _places("float32"), ground_truth={"fc_out": np.ones((2, 2))})
    with pytest.raises(ValueError, match="arg_params: no 'fc_wieght'; did you mean 'fc_weight'"):
        tu.check_consistency(net, _places("float32", "float64"), arg_params={"fc_wieght": ONES})
    with pytest.raises(ValueError, match="aux_states: no 'mean'"):
        tu.check_consistency(net, _places("float32", "float64"), aux_params={"mean": ONES})
    with pytest.raises(ValueError, match="must have two or more entries"):
        tu.check_consistency(net, _places("float32"))


def test_check_speed():
    assert tu.check_speed(X * Y, x=(2, 2), y=(2, 2), N=2, typ="forward") > 0
    assert tu.check_speed(X * Y, {"x": ONES, "y": ONES}, N=2) > 0
    with pytest.raises(ValueError, match="typ must be 'whole' or 'forward'; got 'back'"):
        tu.check_speed(X, x=(2,), typ="back")


@pytest.mark.parametrize(("shape", "count"), [((2, 3), 1), ([(2, 3), (2,)], 2)])
def test_compare_optimizer(shape, count):
    def sgd(**changed):
        return mx.optimizer.create("sgd", **{"learning_rate": 0.1, "momentum": 0.9, **changed})

    tu.compare_optimizer(sgd(), sgd(), shape, "float32", ntensors=count)
    with pytest.raises(AssertionError):
        tu.compare_optimizer(sgd(), sgd(learning_rate=0.2), shape, "float32", ntensors=count)
    with pytest.raises(AssertionError):
        tu.compare_optimizer(sgd(), sgd(momentum=0.0), shape, "float32", ntensors=count)
    with pytest.raises(ValueError, match="must be 'default'; got 'row_sparse'"):
        tu.compare_optimizer(sgd(), sgd(), shape, "float32", w_stype="row_sparse", ntensors=count)


# ---- checking generators -------------------------------------------------------------------------------------


def normal(loc=0.0, scale=1.0):
    generator = np.random.default_rng(3)
    return lambda n: generator.normal(loc, scale, n).astype(np.float32)


def test_verify_generator_of_continuous_numbers():
    stats = pytest.importorskip("scipy.stats")
    buckets, probs = tu.gen_buckets_probs_with_ppf(stats.norm.ppf, 5)
    tu.verify_generator(normal(), buckets, probs, nsamples=10000)
    for wrong in (normal(loc=0.1), normal(scale=1.1)):
        with pytest.raises(AssertionError, match="does not follow the distribution: 0 of 5"):
            tu.verify_generator(wrong, buckets, probs, nsamples=10000)


def test_chi_square_check_counts_each_sample():
    pytest.importorskip("scipy")
    p, seen, expected = tu.chi_square_check(lambda n: np.arange(n) % 3, [0, 1, 2], [1 / 3] * 3, 300)
    assert p == 1 and seen.tolist() == [100, 100, 100]
    np.testing.assert_allclose(expected, 100)
    assert tu.chi_square_check(lambda n: np.arange(n) % 4, [0, 1, 2], [1 / 3] * 3, 300)[0] == 0
    assert tu.chi_square_check(lambda n: np.arange(n) % 4, [0, 1, 2], [0.25] * 3, 400)[0] == 1
    edges = [(-1.1, 0.0), (0.0, 1.1)]  # -1.1 in float32 lies below -1.1
    assert (
        tu.chi_square_check(lambda n: np.tile(np.float32([-1.1, 1.1]), n // 2), edges, [0.5] * 2, 10)[0] == 1
    )
    with pytest.raises(ValueError, match="probs must be > 0 and sum to 1 at most"):
        tu.chi_square_check(normal(), edges, [0.9, 0.9], 10)
    with pytest.raises(ValueError, match="intervals must follow each other"):
        tu.chi_square_check(normal(), [(0, 1), (2, 3)], [0.5, 0.5], 10)


def test_scipy_is_asked_for_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ImportError, match="chi_square_check needs scipy: pip install scipy"):
        tu.chi_square_check(normal(), [0, 1], [0.5, 0.5], 10)


def test_mean_check_and_var_check():
    assert tu.mean_check(normal(), 0, 1, 10000) and not tu.mean_check(normal(0.1), 0, 1, 10000)
    assert tu.var_check(normal(), 1, 10000) and not tu.var_check(normal(scale=1.1), 1, 10000)


# ---- surroundings --------------------------------------------------------------------------------------------


def test_environment_is_put_back(monkeypatch):
    monkeypatch.setenv("REBIND_TEST_A", "1")
    monkeypatch.delenv("REBIND_TEST_B", raising=False)
    with pytest.raises(KeyError), tu.environment({"REBIND_TEST_A": None, "REBIND_TEST_B": "2"}):
        assert "REBIND_TEST_A" not in os.environ and os.environ["REBIND_TEST_B"] == "2"
        raise KeyError
    assert os.environ["REBIND_TEST_A"] == "1" and "REBIND_TEST_B" not in os.environ
    with pytest.raises(TypeError, match="takes a name and a value, or a dict"), tu.environment("A"):
        pass
    with (
        pytest.raises(TypeError, match="names and values must be strings; got 'A': 5"),
        tu.environment("A", 5),
    ):
        pass


def test_discard_stderr_reaches_libraries():
    code = (
        "import os\nfrom rebind.test_utils import discard_stderr\n"
        "with discard_stderr():\n    os.write(2, b'lost')\nos.write(2, b'kept')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stderr.endswith(b"kept") and b"lost" not in done.stderr


def test_list_gpus():
    assert list(tu.list_gpus()) == list(range(mx.num_gpus()))


def test_matrices_for_tests_of_linear_algebra() -> None:
    utils = mx.test_utils
    for matrix in (
        utils.new_sym_matrix_with_real_eigvals_2d(4),
        utils.new_matrix_with_real_eigvals_nd((2, 3, 4, 4)),
    ):
        values = np.linalg.eigvals(matrix)
        assert np.abs(values.imag).max() < 1e-9 and np.abs(values).max() <= 1
    symmetric = utils.new_sym_matrix_with_real_eigvals_nd((2, 3, 3))
    np.testing.assert_allclose(symmetric, symmetric.swapaxes(1, 2), atol=1e-12)
    assert utils.get_identity_mat_batch(3).shape == (2, 3, 3)


def test_tolerances_by_type() -> None:
    half = np.ones(2, "float16")
    default = {np.dtype("float16"): 0.5, np.dtype("float32"): 0.25}
    assert mx.test_utils.get_tolerance(half, None, default) == 0.5
    assert mx.test_utils.get_tolerance(half, {np.dtype("float32"): 1.0}, default) == 0.5
    assert mx.test_utils.get_tolerance(half, 0.125, default) == 0.125
    assert mx.test_utils.effective_dtype(mx.nd.ones((2,))) == np.float32


def test_the_environment_is_set_and_taken_away() -> None:
    mx.test_utils.setenv("REBIND_A_TEST", "1")
    assert mx.test_utils.getenv("REBIND_A_TEST") == "1"
    mx.test_utils.setenv("REBIND_A_TEST", None)
    assert mx.test_utils.getenv("REBIND_A_TEST") is None
    a, b = mx.sym.var("a"), mx.sym.var("b")
    assert mx.test_utils.same_symbol_structure(a + b, mx.sym.elemwise_add(b, a, name="x"))
    assert not mx.test_utils.same_symbol_structure(a + b, a - b)
