"""A bound `Module`: batches of any size, outputs, head gradients, layouts and states."""

import re
from collections import namedtuple

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind import sym as S
from rebind.io import DataBatch, DataDesc
from rebind.module import Module

from .linear_network import DATA, batch, module, step, weight


@pytest.mark.parametrize("for_training", [True, False])
@pytest.mark.parametrize("is_train", [None, True, False])
def test_the_mode_of_forward_is_that_of_bind_unless_given(for_training, is_train):
    net = S.Dropout(DATA, p=0.5, name="drop")
    mod = module(net=net, label_names=None, for_training=for_training, rows=100)
    mod.forward(DataBatch([nd.ones((100, 3))]), is_train=is_train)
    dropped = not mod.get_outputs()[0].asnumpy().all()
    assert dropped == (for_training if is_train is None else is_train)


@pytest.mark.parametrize("devices", [1, 2])
def test_batches_of_other_sizes_and_shapes(devices):
    mod = module(
        devices=devices, net=S.LinearRegressionOutput(S.sum(DATA, axis=1, keepdims=True), name="out")
    )
    for rows, columns, label in (
        (8, 3, True),
        (4, 3, True),
        (6, 5, False),
        (8, 3, True),
        (8, 3, False),
        (4, 3, False),
    ):
        one = batch(rows, columns, label)
        mod.forward(one, is_train=False)
        assert np.allclose(
            mod.get_outputs()[0].asnumpy(), one.data[0].asnumpy().sum(1, keepdims=True), atol=1e-6
        )


@pytest.mark.parametrize("devices", [1, 2])
def test_labels_count_again_after_a_batch_without(devices):
    mod = module(rows=8, devices=devices)
    mod.forward(batch(4, label=False), is_train=False)
    assert mod.label_shapes is None
    mod.forward(batch(4), is_train=True)
    mod.backward()
    found = np.concatenate([array.asnumpy() for _, array in mod._exec_group.label_arrays[0]])
    assert np.array_equal(found, batch(4).label[0].asnumpy())


@pytest.mark.parametrize("devices", [1, 2])
def test_shapes_that_come_again_are_not_lowered_again(devices, monkeypatch):
    from rebind.executor import bound, reshape

    mod = module(rows=8, devices=devices)
    mod.init_optimizer()
    step(mod, batch(8))
    first, traces = mod._exec_group.execs, []
    for place in bound, reshape:
        monkeypatch.setattr(place, "infer_shapes", lambda *args, **kwargs: traces.append(args))
    step(mod, batch(8, seed=2))
    monkeypatch.undo()
    step(mod, batch(4))
    step(mod, batch(8))
    assert not traces and mod._exec_group.execs is first


DataOnly = namedtuple("DataOnly", ["data"])


@pytest.mark.parametrize("rows", [8, 5])
def test_a_batch_is_anything_with_data(rows):
    mod = module()
    mod.forward(DataOnly([nd.ones((rows, 3))]))
    assert mod.get_outputs()[0].asnumpy().tolist() == [[3]] * rows
    mod.forward(DataOnly([np.ones((rows, 3))]), is_train=False)
    anything = type("Batch", (), {"data": [nd.ones((rows, 3))], "label": [nd.zeros((rows, 1))]})
    mod.forward_backward(anything())
    assert mod.get_outputs()[0].shape == (rows, 1)


@pytest.mark.parametrize(
    ("bad", "error", "says"),
    [
        (nd.ones((8, 3)), TypeError, "a batch must have data, a list of arrays; got NDArray"),
        (DataBatch([]), ValueError, "the batch must hold ['data']; got 0 arrays"),
        (DataBatch([nd.ones((8, 4))]), ValueError, "fc_weight"),
    ],
)
def test_what_is_no_batch(bad, error, says):
    mod = module()
    with pytest.raises(error, match=re.escape(says)):
        mod.forward(bad)
    mod.forward(batch())  # still works
    assert mod.data_shapes == [("data", (8, 3))]


def test_batches_cut_already():
    mod, whole = module(devices=2), module(devices=2)
    one = batch()
    halves = [DataBatch([one.data[0][half]], [one.label[0][half]]) for half in (slice(0, 4), slice(4, 8))]
    scores = []
    for each, data in ((mod, halves), (whole, one)):
        each.init_optimizer()
        step(each, data)
        metric = mx.metric.create("mse")
        if each is mod:
            each.update_metric(metric, [half.label for half in halves], pre_sliced=True)
        else:
            each.update_metric(metric, one.label)
        scores.append(metric.get()[1])
    assert np.array_equal(weight(mod), weight(whole)) and scores[0] == scores[1]


@pytest.mark.parametrize("devices", [1, 2, 4])
@pytest.mark.parametrize("wrap", [lambda head: head, lambda head: [head], lambda head: {"fc_output": head}])
def test_head_gradients_for_the_whole_batch(devices, wrap):
    mod = module(
        devices=devices,
        net=S.FullyConnected(DATA, num_hidden=1, name="fc"),
        label_names=None,
        inputs_need_grad=True,
    )
    mod.forward(batch())
    mod.backward(wrap(nd.array(np.arange(8).reshape(8, 1))))
    (grad,) = mod.get_input_grads()
    assert grad.asnumpy().tolist() == [[i] * 3 for i in range(8)]
    assert len(mod.get_input_grads(merge_multi_context=False)[0]) == devices
    assert [out.shape for out in mod.get_outputs(merge_multi_context=False)[0]] == [
        (8 // devices, 1)
    ] * devices


def test_gradients_of_inputs_must_be_asked_for():
    mod = module()
    mod.forward_backward(batch())
    with pytest.raises(mx.MXNetError, match="must be bound with inputs_need_grad=True"):
        mod.get_input_grads()


def test_outputs_are_handles_that_show_the_newest_values():
    mod = module()
    mod.forward(batch())
    (out,) = mod.get_outputs()
    mod.forward(DataOnly([nd.ones((8, 3)) * 2]))
    assert out.asnumpy().tolist() == [[6]] * 8 and mod._exec_group.execs[0].outputs[0] is out


@pytest.mark.parametrize("devices", [1, 2, 4])
def test_a_layout_says_which_axis_is_the_batch(devices):
    net = S.FullyConnected(S.transpose(DATA, axes=(1, 0, 2)), num_hidden=1, name="fc")
    mod = Module(net, label_names=None, context=[mx.cpu(k) for k in range(devices)])
    mod.bind([DataDesc("data", (5, 8, 2), layout="TNC")])
    mod.init_params(mx.init.One())
    data = np.arange(80).reshape(5, 8, 2)
    mod.forward(DataBatch([nd.array(data)]), is_train=False)
    assert mod.get_outputs()[0].asnumpy().ravel().tolist() == data.sum(axis=(0, 2)).tolist()


def stateful(devices=1):
    mod = Module(S.elemwise_add(DATA, S.var("h"), name="sum"), label_names=None, state_names=["h"],
                 context=[mx.cpu(k) for k in range(devices)])  # fmt: skip
    mod.bind([("data", (4, 3))])
    mod.init_params()
    return mod


WHOLE = nd.array(np.arange(12).reshape(4, 3))


def test_a_state_is_no_parameter_and_starts_at_zero():
    mod = stateful()
    assert mod.get_params()[0] == {} and not mod.get_states()[0].asnumpy().any()


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(lambda devices: dict(value=2), np.full((4, 3), 2), id="one value"),
        pytest.param(lambda devices: dict(states=[WHOLE]), WHOLE.asnumpy(), id="the whole batch"),
        pytest.param(
            lambda devices: dict(
                states=[[WHOLE[k * 4 // devices : (k + 1) * 4 // devices] for k in range(devices)]]
            ),
            WHOLE.asnumpy(),
            id="by device",
        ),
    ],
)
def test_states(given, expected, devices):
    mod = stateful(devices)
    mod.set_states(**given(devices))
    assert np.array_equal(mod.get_states()[0].asnumpy(), expected)
    assert len(mod.get_states(merge_multi_context=False)[0]) == devices
    mod.forward(batch(4), is_train=False)
    assert np.allclose(mod.get_outputs()[0].asnumpy(), batch(4).data[0].asnumpy() + expected)
    mod.set_states(states=mod.get_outputs(merge_multi_context=False))
    assert np.array_equal(mod.get_states()[0].asnumpy(), mod.get_outputs()[0].asnumpy())
    mod.forward(batch(2), is_train=False)  # another batch size: states of that size, from zero
    assert np.allclose(mod.get_outputs()[0].asnumpy(), batch(2).data[0].asnumpy())


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "needs either states or value; got neither"),
        (dict(states=[WHOLE], value=1), "got both"),
        (dict(states=[]), r"states must hold an array for each of \['h'\]; got 0"),
        (dict(states=[nd.ones((9, 3))]), "'h' must have"),
    ],
    ids=["neither", "both", "none", "another shape"],
)
def test_states_that_are_refused(given, says, devices):
    with pytest.raises(ValueError, match=says):
        stateful(devices).set_states(**given)
