"""`Executor`, point by point; values in comments "as MXNet" are those of MXNet 1.9.1."""

import re

import numpy as np
import pytest
import torch

import rebind as mx
from rebind import nd
from rebind import sym as S
from rebind.executor import Executor

X, Y = S.var("x"), S.var("y")
PRODUCT = S.elemwise_mul(X, Y, name="product")


def ones(*shape):
    return nd.ones(shape or (2,))


def values(array):
    return array.asnumpy().tolist()


def bound(args_grad=True, **kwargs):
    args = [nd.array([1, 2]), nd.array([3, 4])]
    grads = [nd.zeros((2,)), nd.zeros((2,))] if args_grad is True else args_grad
    return PRODUCT.bind(mx.cpu(), args, grads, **kwargs)


def made(args=None, grads=None, **kwargs):
    """An executor by the construction of MXNet 2.0."""
    args = {"x": nd.array([1, 2]), "y": nd.array([3, 4])} if args is None else args
    return Executor(PRODUCT, mx.cpu(), args, grads, **kwargs)


@pytest.mark.parametrize("form", [dict, lambda named: [named.get("x"), named.get("y")]], ids=["dict", "list"])
def test_bind_works_on_the_callers_arrays(form):
    x, y, grad = nd.array([1, 2]), nd.array([3, 4]), nd.zeros((2,))
    exe = PRODUCT.bind(mx.cpu(), form({"x": x, "y": y}), form({"x": grad}))
    assert exe.arg_dict["x"] is x and exe.arg_arrays[1] is y and exe.grad_dict["x"] is grad
    exe.forward(is_train=True)
    exe.backward(ones())
    assert values(grad) == [3, 4]
    x[:] = 10
    assert values(exe.forward()[0]) == [30, 40]


@pytest.mark.parametrize("construct", [Executor, lambda sym, *args, **kwargs: sym._bind(*args, **kwargs)])
@pytest.mark.parametrize("static_alloc", [False, True])
def test_the_construction_of_2_0_copies_arguments_and_states_and_writes_the_callers_gradients(
    construct, static_alloc
):
    net = S.BatchNorm(X, name="bn", momentum=0.5)
    x, mean, grad = nd.array([[1.0], [3.0]]), nd.zeros((1,)), nd.ones((2, 1)) * 5
    args = {"x": x, "bn_gamma": nd.ones((1,)), "bn_beta": nd.zeros((1,)), "unknown": nd.ones((7,))}
    states = {"bn_moving_mean": mean, "bn_moving_var": nd.ones((1,)), "unknown": nd.ones((7,))}
    exe = construct(net, mx.cpu(), args, {"x": grad, "unknown": x}, "add", states, static_alloc=static_alloc)
    x[:] = 0
    mean[:] = 100
    exe.forward(is_train=True)
    assert values(exe.arg_dict["x"]) == [[1], [3]]
    assert values(exe.grad_dict["x"]) == [[5], [5]]  # what was there is the start
    exe.backward([nd.array([[1.0], [1.0]])])
    assert values(exe.aux_dict["bn_moving_mean"]) == [1] and values(mean) == [100]
    assert np.allclose(grad.asnumpy(), 5) and exe.grad_dict["x"] is grad
    exe.grad_dict["x"][:] = 7
    assert values(grad) == [[7], [7]]


def test_an_argument_may_come_first_as_a_keyword_of_forward():
    exe = made({"x": nd.array([1, 2])}, grad_req={"x": "null", "y": "write"})
    with pytest.raises(ValueError, match=r"Executor\.forward: arrays are missing for 'y'"):
        exe.forward(is_train=True)
    assert values(exe.forward(is_train=True, y=np.array([5, 6]))[0]) == [5, 12]
    exe.backward(ones())
    assert values(exe.grad_dict["y"]) == [1, 2] and exe.grad_dict["x"] is None


def test_backward_first_runs_forward_for_inference_by_itself():
    net = S.Dropout(PRODUCT, p=0.9)
    exe = Executor(net, mx.cpu(), [nd.array([1, 2]), nd.array([3, 4])], [ones(), ones()])
    exe.backward(ones())
    assert values(exe.grad_dict["x"]) == [3, 4]
    with pytest.raises(mx.MXNetError, match=r"backward: needs forward\(\) first, with arrays for 'y'"):
        made({"x": ones()}).backward(ones())


@pytest.mark.parametrize("args", [{"x": ones()}, [ones(), None]])
def test_bind_refuses_missing_arguments_at_once(args):
    with pytest.raises(ValueError, match=r"Symbol\.bind: arrays are missing for 'y'"):
        PRODUCT.bind(mx.cpu(), args)


@pytest.mark.parametrize("simple_bind", [PRODUCT.simple_bind, PRODUCT._simple_bind])
@pytest.mark.parametrize(("types", "dtype"), [({"x": "float64"}, np.float64), ({"y": "float16"}, np.float16)])
def test_simple_bind_takes_shapes_and_types(simple_bind, types, dtype):
    exe = simple_bind(mx.cpu(), grad_req={"x": "write"}, type_dict=types, x=(3,))
    assert exe.arg_dict["y"].shape == (3,) and exe.arg_dict["y"].dtype == dtype
    assert exe.grad_dict["x"].dtype == dtype and exe.grad_dict["y"] is None


@pytest.mark.parametrize(
    ("kwargs", "error", "says"),
    [
        (dict(args=[ones()]), ValueError, "args: a list must hold 2 arrays, for ['x', 'y']; got 1"),
        (dict(args=[np.ones(2), ones()]), TypeError, "args: 'x' must be an NDArray"),
        (dict(args=7), TypeError, "must be a list or a dict of NDArrays; got 7"),
        (dict(args_grad=[ones()]), ValueError, "args_grad: a list must hold 2 arrays"),
        (dict(args_grad={"x": ones(3)}), ValueError, "args_grad of 'x' must have shape (2,); got (3,)"),
        (dict(aux_states=[ones()]), ValueError, "aux_states: a list must hold 0 arrays"),
        (dict(grad_req="wrong"), ValueError, "must be one of 'write', 'add', 'null'; got 'wrong' for 'x'"),
        (dict(grad_req={"y": "wrong"}), ValueError, "got 'wrong' for 'y'"),
        (dict(grad_req=["write"]), ValueError, "a list must hold one word for each of ['x', 'y']"),
        (dict(grad_req=3), TypeError, "must be a word, a list or a dict; got 3"),
    ],
)
@pytest.mark.parametrize("construct", [PRODUCT.bind, PRODUCT._bind])
def test_bad_arguments_of_construction(construct, kwargs, error, says):
    with pytest.raises(error, match=re.escape(says)) as caught:
        construct(mx.cpu(), **{"args": [ones(), ones()], **kwargs})
    assert isinstance(caught.value, mx.MXNetError)


@pytest.mark.parametrize(
    ("net", "shapes", "says"),
    [
        (
            S.FullyConnected(X, num_hidden=64, name="fc1"),
            dict(x=(8, 3, 4), fc1_weight=(64, 11), fc1_bias=(64,)),
            "FullyConnected 'fc1': weight ('fc1_weight') must have shape (64, 12) "
            "to match data (8, 3, 4); got (64, 11)",
        ),
        (
            PRODUCT,
            dict(x=(2,), y=(3,)),
            "elemwise_mul 'product': rhs must have the shape of lhs, (2,); got (3,)",
        ),
    ],
)
def test_shapes_that_do_not_fit_are_found_at_bind(net, shapes, says):
    for bind in (
        lambda: net.bind(mx.cpu(), {name: nd.zeros(shape) for name, shape in shapes.items()}),
        lambda: net.simple_bind(mx.cpu(), **shapes),
    ):
        with pytest.raises(ValueError, match=re.escape(says)):
            bind()


@pytest.mark.parametrize(
    ("net", "shapes", "says"),
    [
        (PRODUCT, {}, "cannot infer these shapes from {}: x ?, y ?."),
        (S.Group([PRODUCT, S.var("z")]), {"x": (2,)}, "cannot infer these shapes from {'x': (2,)}: z ?."),
        (S.sum(S.zeros((0, 3), name="state")), {}, "cannot infer these shapes from {}: state (0, 3)."),
    ],
)
def test_what_simple_bind_cannot_know_is_listed(net, shapes, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        net.simple_bind(mx.cpu(), **shapes)


@pytest.mark.parametrize(
    "name", ["stage1/conv:0", "lambda", "1w", "a b", "generator", "None", "größe", "a.b"]
)
def test_any_text_is_a_name_of_a_variable(name):
    assert values((S.var(name) * 2).bind(mx.cpu(), {name: ones()}).forward()[0]) == [2, 2]


def test_names_that_differ_only_in_odd_characters_stay_apart():
    net = S.var("a/b") - S.var("a:b")
    assert values(net.bind(mx.cpu(), {"a/b": ones() * 3, "a:b": ones()}).forward()[0]) == [2, 2]


def test_two_variables_of_one_name_are_one_argument():
    # MXNet refuses such a network in inference, and in training computes a wrong gradient.
    net = S.var("x") + S.var("x") * 2
    x, grad = ones(), nd.zeros((2,))
    exe = net.bind(mx.cpu(), {"x": x}, {"x": grad})
    assert values(exe.forward(is_train=True)[0]) == [3, 3]
    exe.backward(ones())
    assert values(grad) == [3, 3]
    assert values(net.bind(mx.cpu(), [x, x]).forward()[0]) == [3, 3]
    with pytest.raises(ValueError, match="'x' must get one array; got two"):
        net.bind(mx.cpu(), [ones(), ones()])


@pytest.mark.parametrize("is_train", [False, True])
def test_one_array_may_be_several_arguments(is_train):
    x = nd.array([3, 4])
    grads = [nd.zeros((2,)), nd.zeros((2,))]
    exe = PRODUCT.bind(mx.cpu(), [x, x], grads)
    assert values(exe.forward(is_train)[0]) == [9, 16]
    exe.backward(ones())
    assert [values(grad) for grad in grads] == [[3, 4], [3, 4]]


@pytest.mark.parametrize("devices", [(0, 1), (1, 0), (1, 1)])
def test_groups_on_other_cpu_devices_change_nothing(devices):
    with mx.AttrScope(ctx_group="first"):
        hidden = S.FullyConnected(X, num_hidden=3, name="fc1")
    with mx.AttrScope(ctx_group="second"):
        net = S.FullyConnected(hidden, num_hidden=2, name="fc2")
    results = []
    for groups in (None, {name: mx.cpu(i) for name, i in zip(("first", "second"), devices, strict=True)}):
        exe = net.simple_bind(mx.cpu(), group2ctx=groups, x=(4, 5))
        for i, array in enumerate(exe.arg_arrays):
            array[:] = np.arange(array.size).reshape(array.shape) * 0.1 + i
        exe.forward(is_train=True)
        exe.backward(ones(4, 2))
        results.append([a.asnumpy() for a in (*exe.outputs, *exe.grad_arrays)])
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    "value",
    [
        np.array([5, 6]),
        np.array([5.0, 6.0]),
        nd.array([5, 6], dtype="int32"),
        nd.array([5, 6], dtype="float64"),
    ],
)
def test_forward_copies_keywords_in_and_casts_them(value):
    exe = bound()
    x = exe.arg_dict["x"]
    assert values(exe.forward(x=value)[0]) == [15, 24]
    assert exe.arg_dict["x"] is x and x.dtype == np.float32


@pytest.mark.parametrize(
    ("inputs", "error", "says"),
    [
        (dict(y=ones(3)), ValueError, "Executor.forward: y must have shape (2,); got (3,)"),
        (dict(y=np.ones((1, 2))), ValueError, "Executor.forward: y must have shape (2,); got (1, 2)"),
        (dict(z=ones()), TypeError, "Executor.forward: no argument 'z'. Arguments: x, y."),
        (dict(z=ones()), ValueError, "no argument 'z'"),
        (dict(y=[1, 2]), TypeError, "y must be an NDArray or a NumPy array; got [1, 2]"),
    ],
)
def test_forward_copies_nothing_when_a_keyword_does_not_fit(inputs, error, says):
    exe = bound()
    with pytest.raises(error, match=re.escape(says)):
        exe.forward(x=ones() * 9, **inputs)
    assert values(exe.arg_dict["x"]) == [1, 2]


@pytest.mark.parametrize("is_train", [False, True])
def test_outputs_are_handles_that_show_the_newest_values(is_train):
    exe = bound()
    before = exe.outputs[0]
    row, view = before[0:1], before.reshape((1, 2))
    returned = exe.forward(is_train)
    assert returned is exe.outputs and returned[0] is before
    assert values(before) == [3, 8] and values(row) == [3] and values(view) == [[3, 8]]
    copy = before.copy()
    exe.forward(is_train, x=nd.array([10, 20]))
    assert values(before) == [30, 80] and values(row) == [30] and values(view) == [[30, 80]]
    assert values(copy) == [3, 8]
    assert exe.output_dict["product_output"] is before


@pytest.mark.parametrize("is_train", [False, True])
def test_an_output_that_is_an_input_has_memory_of_its_own(is_train):
    exe = S.Group([X, PRODUCT]).bind(mx.cpu(), [ones(), ones() * 2])
    out = exe.forward(is_train)[0]
    exe.arg_dict["x"][:] = 9
    assert values(out) == [1, 1]


@pytest.mark.parametrize(("mode", "is_train", "drops"), [
    ("training", True, True), ("training", False, False), ("always", True, True), ("always", False, True),
])  # fmt: skip
def test_dropout_follows_the_mode(mode, is_train, drops):
    net = S.Dropout(X, p=0.5, mode=mode)
    exe = net.bind(mx.cpu(), [ones(400)], [nd.zeros((400,))])
    out = exe.forward(is_train=is_train)[0].asnumpy()
    exe.backward(ones(400))
    assert set(out.tolist()) == ({0.0, 2.0} if drops else {1.0})
    assert np.array_equal(exe.grad_arrays[0].asnumpy(), out)  # backward has the same mask
    exe.backward(ones(400))
    assert np.array_equal(exe.grad_arrays[0].asnumpy(), out)  # a second time too


@pytest.mark.parametrize("is_train", [False, True])
def test_a_failure_at_run_time_names_the_node(is_train):
    exe = S.take(X, Y, mode="raise", name="lookup").bind(mx.cpu(), [ones(), nd.array([7])])
    with pytest.raises(ValueError, match="take 'lookup': indices must be in"):
        exe.forward(is_train)


@pytest.mark.parametrize("head_grads", [
    nd.array([1, 10]), [nd.array([1, 10])], (nd.array([1, 10]),), {"product_output": nd.array([1, 10])},
])  # fmt: skip
@pytest.mark.parametrize("is_train", [False, True])
def test_backward_takes_head_gradients_in_any_form_after_either_forward(head_grads, is_train):
    exe = bound()
    exe.forward(is_train=is_train)
    exe.backward(head_grads)
    assert [values(grad) for grad in exe.grad_arrays] == [[3, 40], [1, 20]]
    assert values(head_grads[0] if isinstance(head_grads, (list, tuple)) else nd.array([1, 10])) == [1, 10]


@pytest.mark.parametrize(
    ("head_grads", "error", "says"),
    [
        (None, mx.MXNetError, "output 'product_output' is no loss, so out_grads must hold its head gradient"),
        ([None], mx.MXNetError, "it is missing"),
        ([ones(3)], ValueError, "gradient of 'product_output' must have shape (2,); got (3,)"),
        ([np.ones(2)], TypeError, "the gradient of 'product_output' must be an NDArray"),
        ([], ValueError, "out_grads must hold 1 arrays, for ['product_output']; got 0"),
        ({"other": ones()}, ValueError, "no output 'other'. Outputs: product_output."),
    ],
)
def test_bad_head_gradients(head_grads, error, says):
    exe = bound()
    exe.forward(is_train=True)
    with pytest.raises(error, match=re.escape(says)):
        exe.backward(head_grads)
    assert values(exe.grad_arrays[0]) == [0, 0]


LOSS = S.SoftmaxOutput(X, S.var("label"), name="softmax")


@pytest.mark.parametrize("others", [[], [S.BlockGrad(X)], [S.MakeLoss(S.sum(Y))]])
def test_losses_need_no_head_gradient(others):
    args = {"x": nd.array([[1, 2, 3]]), "label": nd.array([0]), "y": ones()}
    grad = nd.zeros((1, 3))
    exe = S.Group([LOSS, *others]).bind(mx.cpu(), args, {"x": grad})
    exe.forward(is_train=True)
    exe.backward()
    assert np.allclose(grad.asnumpy(), [[-0.90996945, 0.24472848, 0.66524094]])  # as MXNet


@pytest.mark.parametrize("head_grads", [{"product_output": ones(1, 3)}, [None, ones(1, 3)]])
def test_other_outputs_beside_losses_need_a_head_gradient(head_grads):
    exe = S.Group([LOSS, PRODUCT]).bind(
        mx.cpu(), {"x": nd.array([[1, 2, 3]]), "y": ones(1, 3), "label": ones(1)}, {"x": nd.zeros((1, 3))}
    )
    exe.forward(is_train=True)
    with pytest.raises(mx.MXNetError, match="output 'product_output' is no loss"):
        exe.backward()
    exe.backward(head_grads)


@pytest.mark.parametrize(
    "make",
    [lambda: bound(grad_req="null"), lambda: bound(args_grad=None), lambda: made(grad_req="null")],
    ids=["null", "no arrays", "2.0"],
)
def test_backward_does_nothing_when_no_gradient_is_wanted(make):
    exe = make()
    exe.forward(is_train=True)
    exe.backward()
    exe.backward(ones())
    assert made(grad_req="null").grad_arrays == [None, None]


@pytest.mark.parametrize("is_train", [False, True])
def test_backward_may_be_called_again(is_train):
    exe = bound(grad_req="add")
    exe.forward(is_train)
    exe.backward(ones())
    exe.backward(ones() * 10)
    assert [values(grad) for grad in exe.grad_arrays] == [[33, 44], [11, 22]]


@pytest.mark.parametrize("is_train", [False, True])
def test_gradients_do_not_share_memory_with_head_gradients_or_each_other(is_train):
    head = nd.array([1, 2])
    grads = [nd.zeros((2,)), nd.zeros((2,))]
    exe = (X + Y).bind(mx.cpu(), [ones(), ones()], grads)
    exe.forward(is_train)
    exe.backward(head)
    head[:] = 7
    grads[0][:] = 9
    assert values(grads[1]) == [1, 2]


@pytest.mark.parametrize(
    ("grad_req", "expected"),
    [
        ("write", [[3, 4], [1, 2]]),
        ("add", [[103, 104], [101, 102]]),
        ("null", [[100, 100], [100, 100]]),
        (["add", "write"], [[103, 104], [1, 2]]),
        (
            {"x": "add"},
            [[103, 104], [100, 100]],
        ),  # as MXNet: what is not named is not computed, and its array stays
        ({"y": "write", "unknown": "write"}, [[100, 100], [1, 2]]),
    ],
)
def test_requests(grad_req, expected):
    for exe in (
        bound([ones() * 100, ones() * 100], grad_req=grad_req),
        made(grads=[ones() * 100, ones() * 100], grad_req=grad_req),
    ):
        exe.forward(is_train=True)
        exe.backward(ones())
        assert [values(grad) for grad in exe.grad_arrays] == expected
        assert list(exe.grad_dict) == ["x", "y"]


@pytest.mark.parametrize("grads", [[ones(), None], {"x": ones()}, {"x": ones(), "unknown": ones()}])
def test_gradients_may_be_given_for_some_arguments(grads):
    exe = bound(grads)
    exe.forward(is_train=True)
    exe.backward(ones())
    assert values(exe.grad_arrays[0]) == [3, 4]
    assert exe.grad_arrays[1] is None and exe.grad_dict["y"] is None


@pytest.mark.parametrize(("grad_req", "expected"), [("write", [[4, 4], [0, 0]]), ("add", [[5, 5], [1, 1]])])
def test_an_argument_that_the_outputs_do_not_depend_on_has_zero_gradient(grad_req, expected):
    exe = S.Group([X, S.BlockGrad(Y)]).bind(mx.cpu(), [ones(), ones()], [ones(), ones()], grad_req)
    exe.forward(is_train=True)
    exe.backward([ones() * 4, ones()])
    assert [values(grad) for grad in exe.grad_arrays] == expected


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_arguments_of_integer_types_have_a_gradient_of_zeros(dtype):
    weight = ones(3, 2)
    net = S.Embedding(X, weight=S.var("w"), input_dim=3, output_dim=2)
    args = {"x": nd.array([0, 1], dtype=dtype), "w": weight}
    grads = {"x": nd.array([7, 7], dtype=dtype), "w": nd.zeros((3, 2))}
    exe = net.bind(mx.cpu(), args, grads)
    exe.forward(is_train=True)
    exe.backward(ones(2, 2))
    assert values(grads["w"]) == [[1, 1], [1, 1], [0, 0]] and values(grads["x"]) == [0, 0]


@pytest.mark.parametrize("is_train", [False, True])
def test_what_is_written_between_forward_and_backward_counts_in_backward(is_train):
    exe = bound()
    exe.forward(is_train)
    exe.arg_dict["y"][:] = 50
    exe.backward(ones())
    assert values(exe.grad_dict["x"]) == [50, 50]  # as MXNet: the gradient of x is y, as it is in memory now
    assert values(exe.forward()[0]) == [50, 100]


def test_statistics_are_updated_when_backward_runs_in_training():
    net = S.BatchNorm(X, name="bn", momentum=0.9, fix_gamma=False)
    exe = net.simple_bind(mx.cpu(), x=(4, 2))
    exe.arg_dict["x"][:] = np.array([[0, 1], [2, 3], [4, 5], [6, 7]])
    exe.arg_dict["bn_gamma"][:] = 1
    mean = exe.aux_dict["bn_moving_mean"]
    exe.aux_dict["bn_moving_var"][:] = 1
    seen = []
    for step in ("train", "back", "back", "train", "train", "back", "infer", "back"):
        if step == "back":
            exe.backward(ones(4, 2))
        else:
            exe.forward(is_train=step == "train")
        seen.append(values(mean))
    expected = [[0, 0], [0.3, 0.4], [0.57, 0.76], [0.57, 0.76], [0.57, 0.76], [0.813, 1.084]]  # as MXNet
    assert np.allclose(seen, [*expected, [0.813, 1.084], [0.813, 1.084]])


@pytest.mark.parametrize(
    ("wanted", "updates"), [("x", True), ("bn_gamma", True), ("bn_beta", True), (None, False)]
)
def test_statistics_are_updated_when_any_gradient_is_wanted(wanted, updates):
    exe = S.BatchNorm(X, name="bn").simple_bind(
        mx.cpu(), grad_req={wanted: "write"} if wanted else "null", x=(2, 2)
    )
    exe.arg_dict["x"][:] = 5
    exe.forward(is_train=True)
    exe.backward(ones(2, 2))
    assert (values(exe.aux_dict["bn_moving_mean"]) != [0, 0]) == updates


def test_a_backward_that_fails_updates_no_statistics():
    exe = S.BatchNorm(X, name="bn").simple_bind(mx.cpu(), x=(2, 2))
    exe.arg_dict["x"][:] = 5
    exe.forward(is_train=True)
    with pytest.raises(mx.MXNetError, match="head gradient"):
        exe.backward()
    assert values(exe.aux_dict["bn_moving_mean"]) == [0, 0]


LAYER = S.BatchNorm(S.FullyConnected(X, num_hidden=3, name="fc"), name="bn")


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32"])
def test_copy_params_from_casts_and_checks_both_dicts(dtype):
    exe = LAYER.simple_bind(mx.cpu(), x=(2, 5))
    exe.copy_params_from(
        {"fc_bias": nd.array([1, 2, 3], dtype=dtype)}, {"bn_moving_mean": np.array([4, 5, 6], dtype)}
    )
    assert values(exe.arg_dict["fc_bias"]) == [1, 2, 3] and exe.arg_dict["fc_bias"].dtype == np.float32
    assert values(exe.aux_dict["bn_moving_mean"]) == [4, 5, 6]
    exe.copy_params_from({"fc_bias": ones(3), "q": ones()}, {"r": ones()}, allow_extra_params=True)
    assert values(exe.arg_dict["fc_bias"]) == [1, 1, 1]


@pytest.mark.parametrize(
    ("args", "aux", "error", "says"),
    [
        ({"fc_bia": ones(3)}, None, ValueError, "no argument 'fc_bia'; did you mean 'fc_bias'"),
        ({}, {"q": ones(3)}, ValueError, "no auxiliary state 'q'. Set allow_extra_params=True"),
        ({"fc_weight": ones(3)}, None, ValueError, "fc_weight must have shape (3, 5); got (3,)"),
        ({"fc_weight": [1, 2]}, None, TypeError, "fc_weight must be an NDArray; got [1, 2]"),
    ],
)
def test_copy_params_from_copies_nothing_when_something_does_not_fit(args, aux, error, says):
    exe = LAYER.simple_bind(mx.cpu(), x=(2, 5))
    with pytest.raises(error, match=re.escape(says)):
        exe.copy_params_from({"fc_bias": ones(3), **args}, aux)
    assert values(exe.arg_dict["fc_bias"]) == [0, 0, 0]


def test_reshape_shares_what_it_can():
    exe = LAYER.simple_bind(mx.cpu(), x=(4, 5))
    exe.arg_dict["fc_weight"][:] = 1
    smaller = exe.reshape(x=(2, 5))
    assert smaller.arg_dict["fc_weight"] is exe.arg_dict["fc_weight"]
    assert smaller.grad_dict["fc_weight"] is exe.grad_dict["fc_weight"]
    assert smaller.aux_dict["bn_moving_mean"] is exe.aux_dict["bn_moving_mean"]
    smaller.arg_dict["x"][:] = 7
    assert values(exe.arg_dict["x"])[:2] == [[7] * 5, [7] * 5] and smaller.outputs[0].shape == (2, 3)
    assert exe.forward()[0].shape == (4, 3)  # the old one still works
    assert exe.reshape(x=(8, 5), allow_up_sizing=True).forward()[0].shape == (8, 3)
    assert exe.reshape(x=(4, 4), partial_shaping=True).arg_dict["fc_weight"].shape == (3, 4)


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        (dict(x=(8, 5)), "'x' would grow from (4, 5) to (8, 5); set allow_up_sizing=True"),
        (dict(x=(4, 4)), "'fc_weight' would change from (3, 5) to (3, 4); set partial_shaping=True"),
        (dict(z=(1,)), "no argument 'z'"),
    ],
)
def test_reshape_refuses_what_was_not_allowed(shapes, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        LAYER.simple_bind(mx.cpu(), x=(4, 5)).reshape(**shapes)


def watched():
    hidden = S.BatchNorm(S.FullyConnected(X, num_hidden=4, name="fc"), name="bn")
    slices = S.SliceChannel(hidden, num_outputs=2, name="cut")
    return S.SoftmaxOutput(S.Dropout(S.Concat(slices[0], slices[1], name="cat"), name="drop"), name="softmax")


OUTPUTS = ["fc_output", "bn_output", "bn_mean", "bn_var", "cut_output0", "cut_output1", "cat_output", "drop_output",
           "drop_mask", "softmax_output"]  # fmt: skip
ALL = ["x", "fc_data", "fc_weight", "fc_weight", "fc_bias", "fc_bias", "fc_output",
       "bn_data", "bn_gamma", "bn_gamma", "bn_beta", "bn_beta", "bn_moving_mean", "bn_moving_mean",
       "bn_moving_var", "bn_moving_var", "bn_output", "bn_mean", "bn_var",
       "cut_data", "cut_output0", "cut_output1", "cat_arg0", "cat_arg1", "cat_output",
       "drop_data", "drop_output", "drop_mask",
       "softmax_data", "softmax_label", "softmax_label", "softmax_output"]  # fmt: skip


@pytest.mark.parametrize(("monitor_all", "expected"), [(False, OUTPUTS), (True, ALL)])
def test_a_monitor_sees_names_as_mxnet_gives_them(monitor_all, expected):
    exe = watched().simple_bind(mx.cpu(), x=(2, 5))
    seen = {}
    order = []
    exe.set_monitor_callback(
        lambda name, array: (order.append(name), seen.update({name: array})), monitor_all
    )
    outputs = exe.forward(is_train=True)
    assert order == expected
    assert np.array_equal(seen["softmax_output"].asnumpy(), outputs[0].asnumpy())
    exe.backward()  # what is reported there is in test_watch.py
    exe.set_monitor_callback(None)
    reported = len(order)
    exe.forward()
    exe.backward()
    assert len(order) == reported


@pytest.mark.parametrize("monitor_all", [False, True])
def test_a_monitored_run_computes_the_same(monitor_all):
    exe = watched().simple_bind(mx.cpu(), x=(2, 5))
    exe.arg_dict["x"][:] = np.arange(10).reshape(2, 5)
    exe.arg_dict["fc_weight"][:] = 0.1
    results = []
    for callback in (None, lambda name, array: None):
        exe.set_monitor_callback(callback, monitor_all)
        mx.random.seed(1)
        exe.forward(is_train=True)
        exe.backward()
        results.append([exe.outputs[0].asnumpy(), exe.grad_dict["fc_weight"].asnumpy()])
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other)


def test_texts_about_an_executor():
    exe = S.FullyConnected(X, num_hidden=1024, no_bias=True, name="fc").simple_bind(
        mx.cpu(), grad_req="null", x=(256, 1024)
    )
    found = re.search(r"^Total (\d+) MB allocated$", exe.debug_str(), re.MULTILINE)
    assert int(found.group(1)) == 1  # of output; as in MXNet what is bound is not counted
    assert exe.get_optimized_symbol().list_outputs() == ["fc_output"]
    assert repr(exe) == "<Executor of fc_output on cpu(0): x (256, 1024), fc_weight (1024, 1024)>"


def test_the_optimized_symbol_is_the_one_that_is_run():
    weight = S.var("w")
    layers = [S.FullyConnected(S.var(x), weight, num_hidden=2, no_bias=True, name=f"fc_{x}") for x in "ab"]
    state = S.zeros(shape=(0, 2), name="state")
    net = S.Group([layers[0] + state, layers[1]])
    exe = net.simple_bind(mx.cpu(), a=(3, 4), b=(5, 4))
    optimized = exe.get_optimized_symbol()
    operators = [node.operator.name for node in optimized.graph.nodes if node.operator is not None]
    assert operators.count("_joint_fully_connected") == 1 and "FullyConnected" not in operators
    assert optimized.attr_dict()["state"]["shape"] == "(3, 2)"
    # Without shapes the size stays open, and what the passes made is a symbol like any other.
    without = net.get_optimized_symbol()
    assert without.attr_dict()["state"]["shape"] == "(0, 2)"
    loaded = mx.sym.load_json(without.tojson())
    values = {name: nd.ones(array.shape) for name, array in exe.arg_dict.items()}
    for one, other in zip(
        loaded.bind(mx.cpu(), values).forward(), net.bind(mx.cpu(), values).forward(), strict=True
    ):
        assert one.asnumpy().tolist() == other.asnumpy().tolist()


def test_a_symbol_for_a_backend():
    net = S.tanh(S.var("x"), name="tanh")
    assert net.optimize_for("MKLDNN").tojson() == net.tojson()
    assert net.get_backend_symbol("default").list_outputs() == ["tanh_output"]
    with pytest.raises(mx.base.MXNetError, match="no backend 'nothing'"):
        net.optimize_for("nothing")


@pytest.mark.parametrize(("wanted", "blocked"), [("write", True), ("null", False)])
def test_a_chain_without_gradients_needs_a_sixth(wanted, blocked):
    def total(request, block):
        net = X
        for _ in range(10):
            net = S.dot(net, S.var("y"))
        net = S.BlockGrad(net) if block else net
        exe = net.simple_bind(mx.cpu(), grad_req=request, x=(512, 512), y=(512, 512))
        # What the executor's passes hold: the results that autograd saves for backward.
        saved = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda tensor: saved.append(tensor) or tensor, lambda t: t
        ):
            exe.forward(is_train=True)
        found = re.search(r"^Total (\d+) MB allocated$", exe.debug_str(), re.MULTILINE)
        return int(found.group(1)), len(saved)

    (most, saved), (least, none) = total("write", False), total(wanted, blocked)
    assert least * 6 == most and saved >= 10 and none == 0
