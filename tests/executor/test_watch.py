"""What a monitor is told in `backward`; names of `forward` are in test_executor.py."""

import numpy as np
import pytest

import rebind as mx

S = mx.sym
X, Y = S.var("x"), S.var("y")


def run(network, monitor_all=False, head=None, requests="write", active=None, **arrays):
    """Run forward and backward; return what was told in `backward`, in order, and the executor."""
    exe = network.simple_bind(
        mx.cpu(), grad_req=requests, **{name: np.shape(value) for name, value in arrays.items()}
    )
    for name, value in arrays.items():
        exe.arg_dict[name][:] = value
    told = []
    exe.set_monitor_callback(
        lambda name, array: told.append((name, array.asnumpy().tolist())), monitor_all, active=active
    )
    exe.forward(is_train=True)
    forward = len(told)
    exe.backward(head)
    return told[forward:], exe


def test_each_operator_tells_its_own_gradients():
    """`x` has two consumers: each tells its part, and the gradient of `x` is their sum."""
    twice = S.elemwise_mul(X, Y, name="product")
    told, exe = run(
        S.MakeLoss(S.elemwise_add(twice, S.negative(X, name="minus"), name="sum"), name="loss"),
        x=[1.0, 2.0],
        y=[5.0, 6.0],
    )
    found = dict(told)
    assert found["product_backward_output0"] == [5, 6] and found["product_backward_output1"] == [1, 2]
    assert found["minus_backward_output"] == [-1, -1]
    assert exe.grad_dict["x"].asnumpy().tolist() == [4, 5]
    assert [name for name, _ in told][:3] == [
        "loss_backward_output",
        "sum_backward_output0",
        "sum_backward_output1",
    ]


def test_gradients_that_come_in_are_told_before_those_that_go_out():
    told, _ = run(S.exp(X, name="e"), monitor_all=True, head=[mx.nd.array([2.0])], x=[0.0])
    assert told == [("e_backward_input0", [2.0]), ("e_backward_output", [2.0])]


def test_inputs_without_a_gradient_are_not_told():
    told, _ = run(
        S.elemwise_mul(X, Y, name="product"),
        head=[mx.nd.array([1.0])],
        requests={"y": "write"},
        x=[3.0],
        y=[4.0],
    )
    assert told == [("product_backward_output1", [3.0])]


@pytest.mark.parametrize("monitor_all", [False, True])
def test_an_inference_pass_can_be_watched(monitor_all):
    exe = S.identity(S.exp(X, name="e"), name="same").simple_bind(mx.cpu(), x=(1,))
    told = []
    exe.set_monitor_callback(lambda name, array: told.append(name), monitor_all)
    exe.forward(is_train=False)
    inputs = ["x", "e_data", "e_output", "same_data", "same_output"]
    assert told == (inputs if monitor_all else ["e_output", "same_output"])
    exe.backward([mx.nd.ones((1,))])  # which runs the network once more
    assert exe.grad_dict["x"].asnumpy().tolist() == [1]


def test_a_loop_is_one_operator():
    outputs, _ = S.contrib.foreach(lambda step, state: (S.log(step) + state, state), X, Y, name="loop")
    told, exe = run(S.MakeLoss(outputs, name="loss"), x=[[1.0], [2.0]], y=[0.0])
    assert {name.rpartition("_backward")[0].rstrip("0123456789") for name, _ in told} == {"loss", "_foreach"}
    assert exe.grad_dict["x"].asnumpy().tolist() == [[1], [0.5]]


def test_what_was_told_stays():
    """Memory of gradients is used again: what a callback keeps must not change."""
    kept = []
    exe = S.exp(X, name="e").simple_bind(mx.cpu(), x=(1,))
    exe.set_monitor_callback(lambda name, array: kept.append(array))
    for head in (1.0, 2.0):
        exe.forward(is_train=True)
        exe.backward([mx.nd.array([head])])
        exe.grad_dict["x"][:] = 77
    assert [array.asnumpy().item() for array in kept] == [1, 1, 1, 2]


def test_a_watch_that_is_not_active_costs_nothing():
    told, exe = run(S.exp(X, name="e"), head=[mx.nd.array([1.0])], active=lambda: False, x=[0.0])
    assert told == []
    assert exe.grad_dict["x"].asnumpy().tolist() == [1]
    assert not exe._plans.has_watched


def test_errors_of_a_callback_come_through():
    exe = S.exp(X, name="e").simple_bind(mx.cpu(), x=(1,))

    def refuse(name, array):
        raise KeyError(name)

    exe.set_monitor_callback(refuse)
    with pytest.raises(KeyError, match="e_output"):
        exe.forward(is_train=True)


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


def test_a_monitored_run_of_several_devices_computes_the_same():
    with mx.AttrScope(ctx_group="a"):
        hidden = S.FullyConnected(X, num_hidden=3, name="one")
    with mx.AttrScope(ctx_group="b"):
        network = S.MakeLoss(S.FullyConnected(hidden, num_hidden=2, name="two").sum())
    results = []
    for callback in (None, lambda name, array: array.asnumpy()):
        exe = network.simple_bind(mx.cpu(), group2ctx={"a": mx.cpu(0), "b": mx.cpu(1)}, x=(2, 4))
        for array in exe.arg_arrays:
            array[:] = np.cos(np.arange(array.size)).reshape(array.shape)
        exe.set_monitor_callback(callback)
        exe.forward(is_train=True)
        exe.backward()
        results.append(exe.grad_dict["one_weight"].asnumpy())
    np.testing.assert_array_equal(*results)
