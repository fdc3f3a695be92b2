"""`mx.test_utils`: values, and checks that pass on what is right and fail on what is wrong."""

import os
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest

import rebind as mx
from rebind import test_utils as tu

from .samples import NET, ONES, X, Y, normal, positions

HALF = np.ones(2, "float16")


TOLERANCES = {np.dtype("float16"): 0.5, np.dtype("float32"): 0.25}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param(tu.get_rtol, 1e-5, id="get_rtol"),
        pytest.param(tu.get_atol, 1e-20, id="get_atol"),
        pytest.param(lambda: tu.get_rtol(dtype="int32"), 0, id="get_rtol-of-integers"),
        pytest.param(
            lambda: tu.get_tols(np.float32([1]), np.float64([1]), None, None),
            (1e-4, 1e-3),
            id="get_tols-of-the-coarser-type",
        ),
        pytest.param(
            lambda: tu.get_tols(np.float32([1]), np.int32([1]), None, 5),
            (1e-4, 5),
            id="get_tols-with-one-given",
        ),
        pytest.param(lambda: tu.default_rtols()[np.dtype("float16")], 1e-2, id="default_rtols"),
        pytest.param(lambda: tu.default_atols()[np.dtype("float16")], 1e-1, id="default_atols"),
        pytest.param(lambda: tu.default_numeric_eps()[np.dtype("float32")], 2**-9, id="default_numeric_eps"),
        pytest.param(lambda: tu.get_tolerance(HALF, None, TOLERANCES), 0.5, id="get_tolerance-default"),
        pytest.param(
            lambda: tu.get_tolerance(HALF, {np.dtype("float32"): 1.0}, TOLERANCES),
            0.5,
            id="get_tolerance-of-another-type",
        ),
        pytest.param(lambda: tu.get_tolerance(HALF, 0.125, TOLERANCES), 0.125, id="get_tolerance-number"),
        pytest.param(lambda: tu.effective_dtype(mx.nd.ones((2,))), np.float32, id="effective_dtype"),
        pytest.param(lambda: tu.create_vector(3).asnumpy().tolist(), [0, 1, 2], id="create_vector"),
        pytest.param(
            lambda: tu.assign_each(ONES, lambda v: v + 1).tolist(), [[2, 2], [2, 2]], id="assign_each"
        ),
        pytest.param(
            lambda: tu.assign_each2(ONES, 3 * ONES, lambda v, w: v - w).tolist(),
            [[-2, -2], [-2, -2]],
            id="assign_each2",
        ),
        pytest.param(lambda: list(tu.list_gpus()), list(range(mx.num_gpus())), id="list_gpus"),
        pytest.param(
            lambda: tu.find_max_violation(mx.nd.zeros((3,)), np.array([0.0, 3, 1]), 0, 1),
            ((1,), 3.0),
            id="find_max_violation",
        ),
        pytest.param(
            lambda: tu.simple_forward(X + Y, x=ONES, y=ONES).tolist(), [[2, 2], [2, 2]], id="simple_forward"
        ),
        pytest.param(
            lambda: [out[0, 0] for out in tu.simple_forward(mx.sym.Group([X + Y, X]), x=ONES, y=ONES)],
            [2, 1],
            id="simple_forward-of-two-outputs",
        ),
        pytest.param(lambda: tu.random_arrays((2, 3)).shape, (2, 3), id="random_arrays"),
        pytest.param(
            lambda: tu.rand_ndarray((2, 3), dtype="float64", ctx=mx.cpu(1)).context,
            mx.cpu(1),
            id="rand_ndarray-on-a-device",
        ),
        pytest.param(
            lambda: [
                each.min() >= 2 and each.max() <= 3
                for each in tu.random_uniform_arrays((500,), low=2, high=3)
            ],
            [True],
            id="random_uniform_arrays",
        ),
        pytest.param(lambda: sorted(tu.random_sample(range(5), 5)), [0, 1, 2, 3, 4], id="random_sample"),
        pytest.param(
            lambda: [*tu.check_symbolic_backward(X * Y, [ONES, 2 * ONES], [ONES], {"x": 2 * ONES})],
            ["x"],
            id="check_symbolic_backward-of-one-argument",
        ),
        pytest.param(
            lambda: [*tu.check_consistency(NET, positions("float32", "float64"), grad_req="null")],
            ["fc_output"],
            id="check_consistency-without-gradients",
        ),
    ],
)
def test_values(call, expected):
    assert call() == expected


def test_default_context_can_be_set():
    with mx.cpu(1):
        tu.set_default_context(mx.cpu(3))
        assert tu.default_context() == mx.cpu(3)
        assert mx.nd.zeros((1,)).context == mx.cpu(3)
    assert tu.default_context() == mx.cpu(0)


@pytest.mark.parametrize(
    ("draw", "count", "expected"),
    [
        pytest.param(
            lambda: tu.rand_shape_nd(2, 2, allow_zero_size=True)[0], 100, {0, 1, 2}, id="empty-axes"
        ),
        pytest.param(lambda: tu.rand_shape_nd(2, 2, allow_zero_size=True)[1], 100, {0, 1, 2}, id="last-axis"),
        pytest.param(lambda: tu.rand_shape_3d(1, 2, 3)[0], 20, {1}, id="an-axis-of-one"),
        pytest.param(lambda: tu.rand_coord_2d(0, 1, 3, 5), 50, {(0, 3), (0, 4)}, id="coordinates"),
    ],
)
def test_random_sizes_take_all_values_of_their_range(draw, count, expected):
    assert {draw() for _ in range(count)} == expected


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: tu.set_default_context(0),
            TypeError,
            r"set_default_context: ctx must be a Device",
        ),
        (lambda: tu.rand_ndarray((2, 3), "dense"), ValueError, r"rand_ndarray: stype must be .* got 'dense'"),
        (lambda: tu.rand_shape_2d(0, 2), ValueError, r"largest sizes must be >= 1; got \(0, 2\)"),
        (lambda: tu.random_sample([1, 2], 3), ValueError, r"k must be in 0\.\.2; got 3"),
        (lambda: tu.rand_coord_2d(2, 2, 0, 1), ValueError, r"rand_coord_2d: low must be < high"),
        (
            lambda: tu.collapse_sum_like(np.ones((2, 3, 4)), (2,)),
            ValueError,
            r"shape must broadcast to \(2, 3, 4\); got \(2,\)",
        ),
        (
            lambda: tu.assign_each2(ONES, np.ones(2), None),
            ValueError,
            r"input2 must have shape \(2, 2\)",
        ),
        (lambda: tu.retry(0), ValueError, "retry: n must be >= 1; got 0"),
        (
            lambda: tu.check_speed(X, x=(2,), typ="back"),
            ValueError,
            "typ must be 'whole' or 'forward'; got 'back'",
        ),
        (lambda: tu.environment("A").__enter__(), TypeError, "takes a name and a value, or a dict"),
        (
            lambda: tu.environment("A", 5).__enter__(),
            TypeError,
            "names and values must be strings; got 'A': 5",
        ),
    ],
)
def test_wrong_calls_say_so(call, error, says):
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (-1, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_np_reduce_is_numpy(axis, keepdims):
    values = np.random.rand(2, 3, 4)
    np.testing.assert_allclose(
        tu.np_reduce(values, axis, keepdims, np.sum), values.sum(axis, keepdims=keepdims)
    )


@pytest.mark.parametrize(("convert", "rtol"), [(np.asarray, 1e-7), (mx.nd.array, 1e-5)])
def test_collapse_sum_like_undoes_broadcasting(convert, rtol):
    values = np.random.rand(2, 3, 4)
    found = tu.collapse_sum_like(convert(values), (3, 1))
    np.testing.assert_allclose(
        found.asnumpy() if convert is mx.nd.array else found, values.sum((0, 2))[:, None], rtol=rtol
    )


def test_dummy_iter_gives_the_first_batch_for_ever():
    real = mx.io.NDArrayIter(np.arange(4.0), batch_size=2)
    dummy = tu.DummyIter(real)
    seen = [dummy.next() for _ in range(5)]
    assert all(batch.data[0].asnumpy().tolist() == [0, 1] for batch in seen)
    assert dummy.provide_data == real.provide_data and dummy.batch_size == 2


ZEROS = mx.nd.zeros((3,))


ONE_NAN = np.array([1, np.nan])


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param(lambda: tu.same(ZEROS, np.zeros(3)), True, id="same"),
        pytest.param(lambda: tu.same(ZEROS, np.zeros(2)), False, id="same-shape-differs"),
        pytest.param(lambda: tu.same(ZEROS, np.ones(3)), False, id="same-values-differ"),
        pytest.param(lambda: tu.same_array(ZEROS, ZEROS[0:3]), True, id="same_array-view"),
        pytest.param(lambda: tu.same_array(ZEROS, ZEROS.copy()), False, id="same_array-copy"),
        pytest.param(lambda: tu.same_array(ZEROS, ZEROS[0:2]), False, id="same_array-part"),
        pytest.param(
            lambda: tu.almost_equal(ONE_NAN, ONE_NAN[::-1], equal_nan=True), False, id="nan-elsewhere"
        ),
        pytest.param(
            lambda: tu.almost_equal(np.float64([1.0]), np.float64([1.001])), False, id="float64-is-strict"
        ),
        pytest.param(lambda: tu.almost_equal_ignore_nan(ONE_NAN, np.array([1, 2.0])), True, id="ignored-nan"),
        pytest.param(
            lambda: tu.almost_equal_ignore_nan(ONE_NAN, np.array([2, 2.0])),
            False,
            id="ignored-nan-wrong-rest",
        ),
        pytest.param(
            lambda: tu.create_2d_tensor(3, 2, "float32").dtype is np.float32, True, id="create_2d_tensor"
        ),
        pytest.param(lambda: tu.random_arrays((2, 3)).dtype == np.float32, True, id="random_arrays-type"),
        pytest.param(
            lambda: (
                tu.check_consistency(NET, positions("float32", "float64", "float16"), rand_type=np.float16)[
                    "fc_output"
                ].dtype
                is np.float64
            ),
            True,
            id="check_consistency-gives-the-widest",
        ),
        pytest.param(lambda: tu.mean_check(normal(), 0, 1, 10000), True, id="mean_check"),
        pytest.param(lambda: tu.mean_check(normal(0.1), 0, 1, 10000), False, id="mean_check-wrong"),
        pytest.param(lambda: tu.var_check(normal(), 1, 10000), True, id="var_check"),
        pytest.param(lambda: tu.var_check(normal(scale=1.1), 1, 10000), False, id="var_check-wrong"),
        pytest.param(
            lambda: tu.same_symbol_structure(X + Y, mx.sym.elemwise_add(Y, X, name="z")),
            True,
            id="same-graph",
        ),
        pytest.param(lambda: tu.same_symbol_structure(X + Y, X - Y), False, id="another-graph"),
    ],
)
def test_answers(call, expected):
    assert bool(call()) is expected


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


PAIR = (mx.nd.ones((2,)), (None,))


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(lambda: tu.assert_almost_equal(ONE_NAN, ONE_NAN, equal_nan=True), id="nan"),
        pytest.param(
            lambda: tu.assert_almost_equal(np.float32([1.0]), np.float64([1.001])),
            id="float32-sets-tolerance",
        ),
        pytest.param(
            lambda: tu.assert_almost_equal(mx.nd.ones((1,), dtype="bfloat16"), np.float32([1.1])),
            id="bfloat16-sets-tolerance",
        ),
        pytest.param(
            lambda: tu.assert_almost_equal_with_err(
                np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 3, 5]), etol=0.3
            ),
            id="a-share-is-off",
        ),
        pytest.param(
            lambda: tu.assert_almost_equal_ignore_nan(ONE_NAN, np.array([1, 2.0])), id="nan-is-ignored"
        ),
        pytest.param(lambda: tu.assert_allclose([1.0, np.nan], [1.0, np.nan]), id="assert_allclose"),
        pytest.param(
            lambda: tu.compare_ndarray_tuple(PAIR, (mx.nd.ones((2,)), (None,))), id="compare_ndarray_tuple"
        ),
        pytest.param(lambda: tu.assert_exception(int, ValueError, "x"), id="assert_exception"),
        pytest.param(
            lambda: tu.check_symbolic_forward(X * Y, [ONES, 2 * ONES], [2 * ONES]),
            id="check_symbolic_forward",
        ),
        pytest.param(
            lambda: tu.check_symbolic_forward(X * Y, {"x": ONES, "y": ONES}, [ONES], dtype=np.float64),
            id="check_symbolic_forward-by-name",
        ),
        pytest.param(
            lambda: tu.check_symbolic_backward(X * Y, [ONES, ONES], [ONES], {"x": 5 * ONES}, grad_req="null"),
            id="check_symbolic_backward-of-nothing",
        ),
        pytest.param(
            lambda: tu.check_numeric_gradient(
                mx.sym.BatchNorm(X, fix_gamma=False, name="bn"),
                {"x": np.random.rand(6, 3), "bn_gamma": np.random.rand(3), "bn_beta": np.random.rand(3)},
                {"bn_moving_mean": np.zeros(3), "bn_moving_var": np.ones(3)},
                dtype=np.float64,
                rtol=1e-4,
                atol=1e-6,
            ),
            id="check_numeric_gradient-with-auxiliary-states",
        ),
    ],
)
def test_what_is_right_passes(check):
    check()


@pytest.mark.parametrize(
    ("check", "says"),
    [
        pytest.param(
            lambda: tu.assert_almost_equal(np.ones((2, 3)), np.ones((2, 2))),
            r"differ in shape: a has \(2, 3\), b has \(2, 2\)",
            id="shapes",
        ),
        pytest.param(
            lambda: tu.assert_almost_equal(np.ones((2, 3)), np.ones(3), use_broadcast=False),
            "differ in shape",
            id="shapes-without-broadcasting",
        ),
        pytest.param(
            lambda: tu.assert_almost_equal_with_err(
                np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 3, 5]), etol=0.2
            ),
            "1 of 4",
            id="too-large-a-share",
        ),
        pytest.param(
            lambda: tu.assert_almost_equal_ignore_nan(ONE_NAN, np.array([2, 2.0])), None, id="nan-is-ignored"
        ),
        pytest.param(lambda: tu.assert_allclose([1.0], [1.00001]), None, id="assert_allclose"),
        pytest.param(
            lambda: tu.compare_ndarray_tuple(PAIR, (mx.nd.zeros((2,)), (None,))), None, id="tuple-values"
        ),
        pytest.param(lambda: tu.compare_ndarray_tuple(PAIR, (None, (None,))), None, id="tuple-with-none"),
        pytest.param(lambda: tu.compare_ndarray_tuple(PAIR, (mx.nd.ones((2,)),)), None, id="tuple-length"),
        pytest.param(lambda: tu.compare_ndarray_tuple(PAIR, mx.nd.ones((2,))), None, id="tuple-and-array"),
        pytest.param(
            lambda: tu.assert_exception(int, ValueError, "1"),
            "int must raise ValueError; it raised nothing",
            id="no-exception",
        ),
    ],
)
def test_what_is_wrong_fails(check, says):
    with pytest.raises(AssertionError, match=says):
        check()


def test_message_names_the_worst_elements_first():
    a, b = np.arange(100.0).reshape(10, 10), np.zeros((10, 10))
    with pytest.raises(AssertionError) as caught:
        tu.assert_almost_equal(a, b, rtol=0.5, atol=1, names=("got", "want"), mismatches=(2, 10))
    assert str(caught.value).splitlines() == [
        "got and want differ: 98 of 100 elements (98%) are off by more than rtol=0.5, atol=1",
        "  (9, 9): got = 99.0, want = 0.0, 99 times the tolerance",
        "  (9, 8): got = 98.0, want = 0.0, 98 times the tolerance",
        "  and 96 more",
    ]


def test_assert_exception_lets_other_exceptions_through():
    with pytest.raises(ValueError, match="invalid literal"):
        tu.assert_exception(int, TypeError, "x")


@pytest.mark.parametrize(("passes_at", "outcome"), [(3, nullcontext()), (4, pytest.raises(AssertionError))])
def test_retry_tries_so_often(passes_at, outcome):
    tries = []

    @tu.retry(3)
    def test():
        tries.append(1)
        assert len(tries) >= passes_at

    with outcome:
        test()
    assert len(tries) == 3


def test_environment_is_put_back(monkeypatch):
    monkeypatch.setenv("REBIND_TEST_A", "1")
    monkeypatch.delenv("REBIND_TEST_B", raising=False)
    with pytest.raises(KeyError), tu.environment({"REBIND_TEST_A": None, "REBIND_TEST_B": "2"}):
        assert "REBIND_TEST_A" not in os.environ and os.environ["REBIND_TEST_B"] == "2"
        raise KeyError
    assert os.environ["REBIND_TEST_A"] == "1" and "REBIND_TEST_B" not in os.environ


def test_discard_stderr_reaches_libraries():
    code = (
        "import os\nfrom rebind.test_utils import discard_stderr\n"
        "with discard_stderr():\n    os.write(2, b'lost')\nos.write(2, b'kept')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stderr.endswith(b"kept") and b"lost" not in done.stderr


@pytest.mark.parametrize(
    "make",
    [
        lambda: tu.new_sym_matrix_with_real_eigvals_2d(4),
        lambda: tu.new_matrix_with_real_eigvals_nd((2, 3, 4, 4)),
    ],
    ids=["symmetric", "batch"],
)
def test_matrices_have_real_eigenvalues_of_one_at_most(make) -> None:
    values = np.linalg.eigvals(make())
    assert np.abs(values.imag).max() < 1e-9 and np.abs(values).max() <= 1


def test_matrices_for_tests_of_linear_algebra() -> None:
    symmetric = tu.new_sym_matrix_with_real_eigvals_nd((2, 3, 3))
    np.testing.assert_allclose(symmetric, symmetric.swapaxes(1, 2), atol=1e-12)
    assert tu.get_identity_mat_batch(3).shape == (2, 3, 3)


def test_the_environment_is_set_and_taken_away() -> None:
    for value in ("1", None):
        tu.setenv("REBIND_A_TEST", value)
        assert tu.getenv("REBIND_A_TEST") == value
