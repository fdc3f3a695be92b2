"""Loops and branches on arrays and in symbols; the record of MXNet's is in tests/parity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.errors import ArgumentError, FormatError, MXNetError

var = mx.sym.var


def test_foreach_on_arrays_is_recorded() -> None:
    x, h = mx.nd.array([[1, 2], [3, 4], [5, 6]]), mx.nd.array([1, 1])
    for each in (x, h):
        each.attach_grad()
    with mx.autograd.record():
        outputs, (state, [twice]) = mx.nd.contrib.foreach(
            lambda x, s: ([x * s[0], [x]], [s[0] * x, [s[1][0] + x]]), x, [h, [h]]
        )
        total = outputs[0].sum() + twice.sum()
    total.backward()
    assert outputs[0].asnumpy().tolist() == [[1, 2], [3, 8], [15, 48]]
    assert outputs[1][0].shape == (3, 2)
    assert state.asnumpy().tolist() == [15, 48]
    assert twice.asnumpy().tolist() == [10, 13]
    assert h.grad.asnumpy().tolist() == [1 + 3 + 15 + 1, 2 + 8 + 48 + 1]
    assert x.grad.asnumpy().tolist() == [[1 + 3 + 15 + 1, 1 + 4 + 24 + 1], [1 + 5 + 1, 2 + 12 + 1], [4, 9]]


def test_while_loop_and_cond_on_arrays() -> None:
    i, total = mx.nd.array([0]), mx.nd.array([1])
    total.attach_grad()
    with mx.autograd.record():
        outputs, (last, s) = mx.nd.contrib.while_loop(
            lambda i, s: i < 3, lambda i, s: (s * 2, [i + 1, s * 2]), [i, total], max_iterations=5
        )
    s.backward()
    assert outputs.asnumpy().ravel().tolist() == [2, 4, 8, 0, 0]
    assert (last.asscalar(), s.asscalar(), total.grad.asscalar()) == (3, 8, 8)
    assert mx.nd.contrib.while_loop(lambda i: i < 0, lambda i: ([i], i), i, max_iterations=2)[0] == []
    found = mx.nd.contrib.cond(total > 5, lambda: [total, i], lambda: [i, total])
    assert [each.asscalar() for each in found] == [0, 1]


def test_a_loop_without_a_step_gives_zeros() -> None:
    outputs, state = mx.sym.contrib.while_loop(
        lambda s: s < 0, lambda s: (mx.sym.Dropout(s * 2), s + 1), var("s"), max_iterations=3
    )
    found = mx.sym.Group([outputs, state]).eval(s=mx.nd.array([7]))
    assert [each.asnumpy().ravel().tolist() for each in found] == [[0, 0, 0], [7]]


def recurrent_network(unrolled: bool) -> Any:
    def step(x: Any, h: Any) -> Any:
        layer = mx.sym.FullyConnected(x, var("fc_weight"), var("fc_bias"), num_hidden=4, name="fc")
        return mx.sym.tanh(layer + h)

    data = mx.sym.transpose(var("data"), axes=(1, 0, 2))
    h = mx.sym.zeros((0, 4))
    if unrolled:
        for x in mx.sym.split(data, num_outputs=5, axis=0, squeeze_axis=True):
            h = step(x, h)
    else:
        h = mx.sym.contrib.foreach(lambda x, h: ([], step(x, h)), data, h)[1]
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(h, num_hidden=2, name="out"), name="softmax")


def test_module_trains_a_loop_as_it_trains_it_unrolled() -> None:
    rng = np.random.RandomState(0)
    x, y = rng.randn(16, 5, 3).astype("float32"), rng.randint(0, 2, 16).astype("float32")
    trained = []
    for unrolled in (False, True):
        mod = mx.mod.Module(recurrent_network(unrolled))
        weights = {
            name: mx.nd.array(np.random.RandomState(len(name)).randn(*shape) * 0.3)
            for name, shape in (
                ("fc_weight", (4, 3)), ("fc_bias", (4,)), ("out_weight", (2, 4)), ("out_bias", (2,))
            )
        }  # fmt: skip
        batches = mx.io.NDArrayIter(x, y, batch_size=8)
        mod.fit(
            batches,
            num_epoch=2,
            arg_params=weights,
            optimizer_params={"learning_rate": 0.5},
            progress=False,
        )
        trained.append({name: value.asnumpy() for name, value in mod.get_params()[0].items()})
    for name, value in trained[0].items():
        np.testing.assert_allclose(value, trained[1][name], rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("loaded", [False, True], ids=["built", "loaded"])
def test_moving_averages_change_at_each_step(loaded: bool) -> None:
    """MXNet lists the states of a body among the arguments, and cannot train it."""

    def body(x: Any, s: Any) -> tuple[Any, Any]:
        y = mx.sym.BatchNorm(x, name="bn", fix_gamma=False, momentum=0.5)
        return y, s + y

    outputs, state = mx.sym.contrib.foreach(body, var("x"), var("s"))
    symbol = mx.sym.Group([outputs, state])
    if loaded:
        symbol = mx.sym.load_json(symbol.tojson())
    assert symbol.list_arguments() == ["x", "s", "bn_gamma", "bn_beta"]
    assert symbol.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    x = np.random.RandomState(0).randn(3, 6, 2).astype("float32")
    means = np.zeros(2)
    for step in x:
        means = 0.5 * means + 0.5 * step.mean(axis=0)
    executor = symbol.simple_bind(mx.cpu(), x=(3, 6, 2), s=(6, 2))
    executor.arg_dict["bn_gamma"][:] = 1
    executor.aux_dict["bn_moving_var"][:] = 1
    executor.forward(is_train=True, x=mx.nd.array(x))
    executor.backward([mx.nd.ones((3, 6, 2)), mx.nd.ones((6, 2))])
    np.testing.assert_allclose(executor.aux_dict["bn_moving_mean"].asnumpy(), means, rtol=1e-5)


def test_random_numbers_in_a_loop_differ_from_step_to_step_and_repeat_with_the_seed() -> None:
    outputs, _ = mx.sym.contrib.foreach(lambda x, s: (mx.sym.Dropout(x, p=0.5), s), var("x"), var("s"))
    executor = outputs.simple_bind(mx.cpu(), x=(4, 50), s=(1,))
    runs = []
    for _ in range(2):
        mx.random.seed(3)
        runs.append(executor.forward(is_train=True, x=mx.nd.ones((4, 50)))[0].asnumpy())
    np.testing.assert_array_equal(*runs)
    assert (runs[0][0] != runs[0][1]).any()


def test_a_custom_operator_in_a_loop_is_created_for_each_step() -> None:
    """As in MXNet 1.9.1: what forward leaves in the operator is that step's, and there for its backward."""

    class Count(mx.operator.CustomOp):
        def __init__(self) -> None:
            self.runs = 0

        def forward(self, is_train, req, in_data, out_data, aux):
            self.runs += 1
            self.seen = in_data[0]
            self.assign(out_data[0], req[0], in_data[0] * 0 + self.runs)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * self.seen)

    @mx.operator.register("count_in_a_loop")
    class CountProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Count()

    outputs, _ = mx.sym.contrib.foreach(
        lambda x, s: (mx.sym.Custom(x, op_type="count_in_a_loop"), s), var("x"), var("s")
    )
    executor = outputs.simple_bind(mx.cpu(), x=(3, 1), s=(1,))
    executor.arg_dict["x"][:] = mx.nd.array([[2], [3], [4]])
    for _ in range(2):
        assert executor.forward(is_train=True)[0].asnumpy().ravel().tolist() == [1, 1, 1]
        executor.backward(mx.nd.ones((3, 1)))
        assert executor.grad_dict["x"].asnumpy().ravel().tolist() == [2, 3, 4]


def test_shapes_flow_both_ways() -> None:
    outputs, state = mx.sym.contrib.foreach(
        lambda x, h: (mx.sym.FullyConnected(x, num_hidden=3, name="fc") + h, h * 1),
        var("x"),
        mx.sym.zeros((0, 3)),
    )
    symbol = mx.sym.Group([outputs, state])
    shapes, found, _ = symbol.infer_shape(x=(5, 2, 4))
    assert dict(zip(symbol.list_arguments(), shapes, strict=True)) == {
        "x": (5, 2, 4), "fc_weight": (3, 4), "fc_bias": (3,)
    }  # fmt: skip
    assert found == [(5, 2, 3), (2, 3)]


BRANCHES = mx.sym.contrib.cond(var("p"), lambda: var("a") * 2, lambda: var("b"))


@pytest.mark.parametrize(
    ("symbol", "given", "arguments", "outputs"),
    [
        pytest.param(
            mx.sym.contrib.foreach(lambda x, h: (x * 2, h + x), var("x"), var("h"))[1],
            {"h": "float64"},
            {"x": np.float64, "h": np.float64},
            [np.float64],
            id="from-state-to-data",
        ),
        pytest.param(
            BRANCHES,
            {"p": "int32", "a": "float64", "b": "float64"},
            {"p": np.int32, "a": np.float64, "b": np.float64},
            [np.float64],
            id="the-condition-has-its-own",
        ),
    ],
)
def test_types_flow_both_ways(symbol, given, arguments, outputs) -> None:
    found = symbol.infer_type(**given)
    assert dict(zip(symbol.list_arguments(), found[0], strict=True)) == arguments
    assert found[1] == outputs


@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param(lambda x, s: (s, s), "data must be used in the body of the loop; 'x'", id="unused-data"),
        pytest.param(lambda x, s: x, "body must return a pair", id="no-pair"),
        pytest.param(lambda x, s: (x, [s]), "states nested as init_states", id="states"),
        pytest.param(lambda x, s: (1, s), "output must be of class Symbol", id="number"),
    ],
)
def test_mistakes_in_a_loop_are_named(body, says) -> None:
    with pytest.raises(ArgumentError, match=says):
        mx.sym.contrib.foreach(body, var("x"), var("s"))


SUM = mx.sym.contrib.foreach(
    lambda x, s: (mx.sym.elemwise_add(x, s, name="inner_sum"), s), var("x"), var("s")
)[0]
CHOSEN = mx.sym.contrib.cond(var("p"), lambda: var("a"), lambda: var("b"))


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        pytest.param(
            lambda: SUM.simple_bind(mx.cpu(), x=(3, 2), s=(5,)), MXNetError, "inner_sum", id="node-of-a-body"
        ),
        pytest.param(
            lambda: CHOSEN.simple_bind(mx.cpu(), p=(1,), a=(2,), b=(3,)),
            MXNetError,
            "output 0 must have the same shape in both branches",
            id="branches",
        ),
        pytest.param(
            lambda: CHOSEN.eval(**dict.fromkeys("pab", mx.nd.ones((2,)))),
            MXNetError,
            "the condition must have exactly one element; got shape",
            id="condition",
        ),
        pytest.param(
            lambda: mx.nd.contrib.while_loop(lambda i: i, lambda i: ([], i), None),
            MXNetError,
            "max_iterations must be an int",
            id="endless-loop-on-arrays",
        ),
        pytest.param(
            lambda: mx.sym.contrib.while_loop(lambda i: i, lambda i: ([], i), None),
            MXNetError,
            "max_iterations must be an int",
            id="endless-loop-in-a-symbol",
        ),
        pytest.param(
            lambda: mx.nd.contrib.foreach(lambda x, s: (x, s), [mx.nd.ones((2,)), mx.nd.ones((3,))], []),
            MXNetError,
            "equally many slices, at least 1",
            id="numbers-of-slices",
        ),
        pytest.param(
            lambda: mx.nd._internal._foreach(
                mx.nd.ones((2,)),
                num_outputs=1,
                num_out_data=1,
                in_state_locs=(),
                in_data_locs=(0,),
                remain_locs=(),
            ),
            ArgumentError,
            r"Call nd\.contrib\.foreach or sym\.contrib\.foreach",
            id="internal-operator",
        ),
    ],
)
def test_other_mistakes_are_named(call, error, says) -> None:
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize(
    "old, new",
    [('"in_data_locs": "[0]"', '"in_data_locs": "[7]"'), ('"subgraphs"', '"subgraph"'), ("[1]", "[]")],
)
def test_a_file_whose_parts_do_not_fit_is_refused(old: str, new: str) -> None:
    outputs, _ = mx.sym.contrib.foreach(lambda x, s: (x, s), var("x"), var("s"))
    text = outputs.tojson()
    assert old in text
    with pytest.raises(FormatError):
        mx.sym.load_json(text.replace(old, new))


def test_zipfian_samples() -> None:
    mx.random.seed(1)
    classes = mx.nd.array([3])
    samples, true, sampled = mx.nd.contrib.rand_zipfian(classes, 4000, 5)
    assert samples.dtype == np.int64
    expected = np.log(5 / 4) / np.log(6) * 4000
    assert true.asnumpy() == pytest.approx([expected])
    counts = np.bincount(samples.asnumpy(), minlength=5)
    probabilities = np.log((np.arange(5) + 2) / (np.arange(5) + 1)) / np.log(6)
    assert (abs(counts - 4000 * probabilities) < 5 * np.sqrt(4000 * probabilities)).all()
    np.testing.assert_allclose(sampled.asnumpy(), 4000 * probabilities[samples.asnumpy()])
    symbols = mx.sym.Group(list(mx.sym.contrib.rand_zipfian(var("classes"), 10, 5)))
    found = symbols.eval(classes=classes)
    assert [each.shape for each in found] == [(10,), (1,), (10,)]
    assert found[1].asnumpy() == pytest.approx([expected / 400])


@pytest.mark.parametrize(
    ("name", "expected"), [("isinf", [0, 1, 1, 0]), ("isfinite", [1, 0, 0, 0]), ("isnan", [0, 0, 0, 1])]
)
def test_tests_of_numbers(name: str, expected: list[int]) -> None:
    x = mx.nd.array([1, np.inf, -np.inf, np.nan])
    assert getattr(mx.nd.contrib, name)(x).asnumpy().tolist() == expected


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(
            lambda norm, x, c: mx.sym.contrib.foreach(lambda row, total: (norm(row), [total[0] + 1]), x, [c])[
                0
            ],
            id="foreach",
        ),
        pytest.param(
            lambda norm, x, c: mx.sym.contrib.while_loop(
                lambda count: count < 2, lambda count: (norm(x), [count + 1]), [c], max_iterations=2
            )[0],
            id="while_loop",
        ),
        pytest.param(
            lambda norm, x, c: mx.sym.contrib.cond(c > 0, lambda: norm(x), lambda: x * 2), id="cond"
        ),
    ],
)
@pytest.mark.parametrize("fixed", [True, False])
def test_gamma_that_a_body_fixes_holds_one(make: Any, fixed: bool) -> None:
    x, c, gamma, beta = (mx.sym.var(name) for name in ("x", "c", "gamma", "beta"))

    def norm(data: mx.sym.Symbol) -> mx.sym.Symbol:
        return mx.sym.BatchNorm(data, gamma, beta, fix_gamma=fixed, name="bn")

    executor = make(norm, x, c).simple_bind(mx.cpu(), x=(2, 4, 3), c=(1,))
    gamma_array = executor.arg_dict["gamma"]
    gamma_array[:] = 5
    executor.forward(is_train=False)
    assert gamma_array.asnumpy().tolist() == [5] * len(gamma_array)
    executor.forward(is_train=True)
    assert gamma_array.asnumpy().tolist() == [1 if fixed else 5] * len(gamma_array)


@pytest.mark.parametrize(
    ("known", "arguments", "output"),
    [
        ({"x": (4,), "s": (1,)}, [(4,), (1,)], (4, 1)),
        ({"x": (4,)}, [(4,), (1,)], (4, 1)),
        ({"x": (0,)}, [(0,), (1,)], (0, 1)),
        ({"s": (1,)}, [(), (1,)], ()),
        ({"x": (4, 1)}, [(4, 1), (1,)], (4, 1)),
        ({"s": (2,)}, [(0, 2), (2,)], (0, 2)),
    ],
)
def test_slices_of_data_of_one_axis_have_one_axis(known, arguments, output) -> None:
    outputs, _ = mx.sym.contrib.foreach(lambda x, s: (x * s, s), var("x"), var("s"))
    found = outputs.infer_shape_partial(**known)
    assert (found[0], found[1][0]) == (arguments, output)
