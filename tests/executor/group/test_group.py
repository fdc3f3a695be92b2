"""`DataParallelExecutorGroup` by itself; what `Module` makes of it is in tests/module."""

import re

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind import sym as S
from rebind.executor import DataParallelExecutorGroup
from rebind.io import DataBatch, DataDesc
from rebind.tuning import current

NET = S.LinearRegressionOutput(S.FullyConnected(S.var("data"), num_hidden=1, name="fc"), name="out")
NAMES = ["fc_weight", "fc_bias"]


def group(size=8, devices=2, **kwargs):
    return DataParallelExecutorGroup(
        NET,
        [mx.cpu(k) for k in range(devices)],
        None,
        *shapes(size),
        NAMES,
        **{"for_training": True, "inputs_need_grad": False, **kwargs},
    )


def shapes(size):
    return [DataDesc("data", (size, 3))], [DataDesc("out_label", (size, 1))]


@pytest.mark.parametrize(
    ("kwargs", "expected"),
    [
        (dict(), "null write write null"),
        (dict(grad_req="add"), "null add add null"),
        (dict(for_training=False), "null null null null"),
        (dict(inputs_need_grad=True), "write write write null"),
        (dict(fixed_param_names=["fc_bias"]), "null write null null"),
        (dict(fixed_param_names=["fc_bias"], grad_req={"fc_bias": "add"}), "null write add null"),  # as MXNet
        (dict(grad_req={"fc_bias": "null"}), "null write null null"),
        (dict(grad_req=["write", "add", "null", "write"]), "write add null write"),
    ],
)
def test_requests(kwargs, expected):
    assert list(group(**kwargs).grad_req.values()) == expected.split()


@pytest.mark.parametrize(
    ("grad_req", "error", "says"),
    [
        ("wrong", ValueError, "must be one of 'write', 'add', 'null'; got 'wrong' for 'fc_weight'"),
        (
            ["write"],
            ValueError,
            "a list must hold one word for each of ['data', 'fc_weight', 'fc_bias', 'out_label']",
        ),
        (5, TypeError, "must be a word, a list or a dict; got 5"),
    ],
)
def test_bad_requests(grad_req, error, says):
    with pytest.raises(error, match=re.escape(says)):
        group(grad_req=grad_req)


def test_the_lists_that_programs_reach_for():
    it = group()
    assert it.batch_size == 8 and [each.stop for each in it.slices] == [4, 8]
    assert it.data_arrays[0][1][1] is it.execs[1].arg_dict["data"]
    assert it.label_arrays[0][0][1] is it.execs[0].arg_dict["out_label"]
    assert it.param_arrays[0][1] is it.execs[1].arg_dict["fc_weight"]
    assert it.grad_arrays[1][0] is it.execs[0].grad_dict["fc_bias"]
    it.data_arrays[0][0][1][:] = 5
    assert it.execs[0].arg_dict["data"].asnumpy().tolist() == [[5] * 3] * 4


@pytest.mark.parametrize("devices", [1, 2])
def test_shapes_that_come_again_are_not_bound_again_and_share_parameters(devices):
    it = group(devices=devices)
    first = it.execs
    it.reshape(*shapes(4))
    assert it.batch_size == 4 and it.execs[0].arg_dict["data"].shape == (4 // devices, 3)
    assert it.execs[-1].arg_dict["fc_weight"] is first[-1].arg_dict["fc_weight"]
    assert it.execs[-1].grad_dict["fc_weight"] is first[-1].grad_dict["fc_weight"]
    it.reshape(*shapes(8))
    assert it.execs is first
    it.reshape([DataDesc("data", (6, 3))], None)
    assert it.label_shapes is None and it.label_arrays is None


@pytest.mark.parametrize("devices", [1, 2])
def test_a_limited_number_of_shapes_stays_bound(devices):
    it, most = group(devices=devices), current().bound_shape_combinations
    for size in range(devices, most + 5):
        it.reshape(*shapes(size))
    assert len(it._cache) == most
    assert set(it.execs) <= set(it._cache) and it.batch_size == most + 4


@pytest.mark.parametrize("devices", [1, 2])
def test_intermediate_results_of_other_shapes_are_freed(devices):
    it = group(devices=devices)
    first = it.execs
    it.forward(DataBatch([nd.ones((8, 3))], [nd.ones((8, 1))]), is_train=True)
    it.reshape(*shapes(4))
    assert [exe.runner.last for exe in first] == [None] * devices


@pytest.mark.parametrize(
    ("batch", "says"),
    [
        (
            DataBatch([nd.ones((8, 3))], [nd.ones((5, 1))]),
            "label 'out_label' must have 8 samples, on axis 0; got shape (5, 1)",
        ),
        (
            DataBatch([nd.ones((8, 2))], [nd.ones((8, 1))]),
            "data 'data' must have shape (4, 3) on cpu(0); got (4, 2)",
        ),
        (DataBatch([], [nd.ones((8, 1))]), "the batch must hold data 'data'; got 0 arrays of data"),
        ([DataBatch([nd.ones((4, 3))])], "a list must hold a batch for each of"),
    ],
)
def test_a_batch_that_does_not_fit_is_not_copied(batch, says):
    it = group()
    with pytest.raises(ValueError, match=re.escape(says)):
        it.forward(batch)
    assert not it.execs[0].arg_dict["data"].asnumpy().any()


@pytest.mark.parametrize(
    ("head_grads", "says"),
    [
        ([], "backward: out_grads must hold 1 arrays, for ['out_output']; got 0"),
        (nd.ones((6, 1)), "the gradient of 'out_output' must have 8 samples"),
        ({"other": nd.ones((8, 1))}, "no output 'other'"),
    ],
)
def test_head_gradients_that_do_not_fit(head_grads, says):
    it = group()
    it.forward(DataBatch([nd.ones((8, 3))], [nd.ones((8, 1))]))
    with pytest.raises(ValueError, match=re.escape(says)):
        it.backward(head_grads)


def test_more_head_gradients_than_outputs_are_not_used():
    it = group()
    it.forward(DataBatch([nd.ones((8, 3))], [nd.ones((8, 1))]))
    with pytest.warns(UserWarning, match=r"for \['out_output'\]; got 2. The first are used."):
        it.backward([nd.ones((8, 1))] * 2)


def test_shapes_may_be_plain_tuples():
    """MXNet 1.9.1 takes them so."""
    it = DataParallelExecutorGroup(
        NET, [mx.cpu(0), mx.cpu(1)], None, [("data", (8, 3))], [("out_label", (8, 1))], NAMES, True, False
    )
    assert it.batch_size == 8 and [desc.layout for desc in it.data_shapes] == ["NCHW"]
    it.reshape([("data", (6, 3))], [("out_label", (6, 1))])
    assert it.batch_size == 6


def test_only_a_bound_label_that_the_network_has_is_copied():
    it = DataParallelExecutorGroup(
        NET,
        [mx.cpu()],
        None,
        [DataDesc("data", (2, 3))],
        [DataDesc("unknown", (2,)), DataDesc("out_label", (2, 1))],
        NAMES,
        for_training=True,
        inputs_need_grad=False,
    )
    it.forward(DataBatch([nd.ones((2, 3))], [nd.zeros((2,)), nd.array([[5], [6]])]))
    assert it.execs[0].arg_dict["out_label"].asnumpy().tolist() == [[5], [6]]


class Monitor:
    def __init__(self):
        self.installed = []

    def install(self, exe):
        self.installed.append(exe)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_monitor_watches_executors_of_later_shapes_too(devices):
    it, monitor = group(devices=devices), Monitor()
    it.install_monitor(monitor)
    it.reshape(*shapes(4))
    assert len(monitor.installed) == 2 * devices and monitor.installed[devices] is it.execs[0]


@pytest.mark.parametrize(
    "groups",
    [
        {"a": mx.cpu(1)},
        {"a": [mx.cpu(1)]},  # as MXNet: one device serves all
        {"a": [mx.cpu(0), mx.cpu(1)]},
        [{"a": mx.cpu(1)}, None],
        None,
    ],
)
def test_devices_of_groups(groups):
    assert len(group(group2ctxs=groups).group2ctxs) == 2


@pytest.mark.parametrize("groups", [{"a": [mx.cpu(0)] * 3}, [{"a": mx.cpu(1)}]])
def test_devices_of_groups_must_be_as_many_as_devices(groups):
    with pytest.raises(ValueError, match="group2ctxs"):
        group(group2ctxs=groups)


def test_auxiliary_states_are_unified():
    net = S.BatchNorm(S.var("data"), name="bn")
    it = DataParallelExecutorGroup(
        net,
        [mx.cpu(0), mx.cpu(1)],
        None,
        [DataDesc("data", (4, 2))],
        None,
        ["bn_gamma", "bn_beta"],
        True,
        False,
    )
    for exe, value in zip(it.execs, (1, 3), strict=True):
        exe.aux_dict["bn_moving_mean"][:] = value
    it.unify_auxiliary()
    assert all(np.array_equal(exe.aux_dict["bn_moving_mean"].asnumpy(), [2, 2]) for exe in it.execs)
