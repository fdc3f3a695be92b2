"""What a monitor sees in `backward`; names of `forward` are in test_executor.py."""

import numpy as np
import pytest

import rebind as mx

S = mx.sym
X, Y = S.var("x"), S.var("y")


def run(network, monitor_all=False, head_grad=None, requests="write", active=None, **arrays):
    """Run forward and backward; return what was reported in `backward`, in order, and the executor."""
    exe = network.simple_bind(
        mx.cpu(), grad_req=requests, **{name: np.shape(value) for name, value in arrays.items()}
    )
    for name, value in arrays.items():
        exe.arg_dict[name][:] = value
    seen = []
    exe.set_monitor_callback(
        lambda name, array: seen.append((name, array.asnumpy().tolist())), monitor_all, active=active
    )
    exe.forward(is_train=True)
    forward = len(seen)
    exe.backward(head_grad)
    return seen[forward:], exe


def test_each_operator_reports_its_own_gradients():
    """`x` has two consumers: each reports its own gradient, and the gradient of `x` is their sum."""
    twice = S.elemwise_mul(X, Y, name="product")
    seen, exe = run(
        S.MakeLoss(S.elemwise_add(twice, S.negative(X, name="minus"), name="sum"), name="loss"),
        x=[1.0, 2.0],
        y=[5.0, 6.0],
    )
    found = dict(seen)
    assert found["product_backward_output0"] == [5, 6] and found["product_backward_output1"] == [1, 2]
    assert found["minus_backward_output"] == [-1, -1]
    assert exe.grad_dict["x"].asnumpy().tolist() == [4, 5]
    assert [name for name, _ in seen][:3] == [
        "loss_backward_output",
        "sum_backward_output0",
        "sum_backward_output1",
    ]


def test_gradients_that_come_in_are_reported_before_those_that_go_out():
    seen, _ = run(S.exp(X, name="e"), monitor_all=True, head_grad=[mx.nd.array([2.0])], x=[0.0])
    assert seen == [("e_backward_input0", [2.0]), ("e_backward_output", [2.0])]


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ({"y": "write"}, [("product_backward_output1", [3.0])]),
        ({"x": "write"}, [("product_backward_output0", [4.0])]),
        ("null", []),
    ],
)
def test_inputs_without_a_gradient_are_not_reported(requests, expected):
    product = S.elemwise_mul(X, Y, name="product")
    seen, _ = run(product, head_grad=[mx.nd.array([1.0])], requests=requests, x=[3.0], y=[4.0])
    assert seen == expected


@pytest.mark.parametrize("monitor_all", [False, True])
def test_an_inference_pass_can_be_watched(monitor_all):
    exe = S.identity(S.exp(X, name="e"), name="same").simple_bind(mx.cpu(), x=(1,))
    seen = []
    exe.set_monitor_callback(lambda name, array: seen.append(name), monitor_all)
    exe.forward(is_train=False)
    inputs = ["x", "e_input0", "e_output", "same_input0", "same_output"]  # as MXNet 1.9.1 names them
    assert seen == (inputs if monitor_all else ["e_output", "same_output"])
    exe.backward([mx.nd.ones((1,))])  # which runs the network once more
    assert exe.grad_dict["x"].asnumpy().tolist() == [1]


@pytest.mark.parametrize("monitor_all", [False, True])
def test_a_loop_is_one_operator(monitor_all):
    outputs, _ = S.contrib.foreach(lambda step, state: (S.log(step) + state, state), X, Y, name="loop")
    seen, exe = run(S.MakeLoss(outputs, name="loss"), monitor_all, x=[[1.0], [2.0]], y=[0.0])
    assert {name.rpartition("_backward")[0].rstrip("0123456789") for name, _ in seen} == {"loss", "_foreach"}
    assert exe.grad_dict["x"].asnumpy().tolist() == [[1], [0.5]]


def test_what_was_reported_does_not_change():
    """Memory of gradients is used again: what a callback stores must not change."""
    stored = []
    exe = S.exp(X, name="e").simple_bind(mx.cpu(), x=(1,))
    exe.set_monitor_callback(lambda name, array: stored.append(array))
    for head_grad in (1.0, 2.0):
        exe.forward(is_train=True)
        exe.backward([mx.nd.array([head_grad])])
        exe.grad_dict["x"][:] = 77
    assert [array.asnumpy().item() for array in stored] == [1, 1, 1, 2]


@pytest.mark.parametrize("monitor_all", [False, True])
def test_a_watch_that_is_not_active_costs_nothing(monitor_all):
    seen, exe = run(
        S.exp(X, name="e"), monitor_all, head_grad=[mx.nd.array([1.0])], active=lambda: False, x=[0.0]
    )
    assert seen == []
    assert exe.grad_dict["x"].asnumpy().tolist() == [1]
    assert not exe.runner.plans.has_watched


@pytest.mark.parametrize("is_train", [False, True])
def test_errors_of_a_callback_come_through(is_train):
    exe = S.exp(X, name="e").simple_bind(mx.cpu(), x=(1,))

    def refuse(name, array):
        raise KeyError(name)

    exe.set_monitor_callback(refuse)
    with pytest.raises(KeyError, match="e_output"):
        exe.forward(is_train)


@pytest.mark.parametrize(
    ("name", "operator"),
    [
        ("fc_output", "FullyConnected 'fc'"),
        ("fc_2_output", "Activation 'fc_2'"),
        ("fc_backward_output0", "FullyConnected 'fc'"),
        ("fc_weight", None),
        ("nothing", None),
    ],
)
def test_operator_of_a_name(name, operator):
    network = S.Activation(S.FullyConnected(X, num_hidden=2, name="fc"), act_type="relu", name="fc_2")
    assert network.simple_bind(mx.cpu(), x=(1, 2)).operator_of(name) == operator


@pytest.mark.parametrize("monitor_all", [False, True])
def test_a_monitored_run_of_several_devices_computes_the_same(monitor_all):
    with mx.AttrScope(ctx_group="a"):
        hidden = S.FullyConnected(X, num_hidden=3, name="one")
    with mx.AttrScope(ctx_group="b"):
        network = S.MakeLoss(S.FullyConnected(hidden, num_hidden=2, name="two").sum())
    results = []
    for callback in (None, lambda name, array: array.asnumpy()):
        exe = network.simple_bind(mx.cpu(), group2ctx={"a": mx.cpu(0), "b": mx.cpu(1)}, x=(2, 4))
        for array in exe.arg_arrays:
            array[:] = np.cos(np.arange(array.size)).reshape(array.shape)
        exe.set_monitor_callback(callback, monitor_all)
        exe.forward(is_train=True)
        exe.backward()
        results.append(exe.grad_dict["one_weight"].asnumpy())
    np.testing.assert_array_equal(*results)
