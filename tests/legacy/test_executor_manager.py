"""`mx.executor_manager`, point by point; numbers are compared with MXNet in tests/parity/test_modules.py."""

import logging
import re

import numpy as np
import pytest
from rebind.executor_manager import (
    DataParallelExecutorGroup,
    DataParallelExecutorManager,
    _bind_exec,
    _check_arguments,
    _load_data,
    _load_general,
    _load_label,
    _split_input_slice,
)

import rebind as mx
from rebind import nd
from rebind import sym as S
from rebind.io import DataBatch, DataDesc, NDArrayIter

NET = S.SoftmaxOutput(
    S.BatchNorm(S.FullyConnected(S.var("data"), num_hidden=3, name="fc"), fix_gamma=False, name="bn"),
    name="softmax",
)
PARAMS = ["fc_weight", "fc_bias", "bn_gamma", "bn_beta"]
SHAPES = {"data": (4, 5), "softmax_label": (4,)}


def cpus(count):
    return [mx.cpu(k) for k in range(count)]


def data(rows=8, size=4, **kwargs):
    random = np.random.RandomState(0)
    return NDArrayIter(
        random.rand(rows, 5).astype("float32"), random.randint(0, 3, rows).astype("float32"), size, **kwargs
    )


def manager(devices=2, net=NET, params=PARAMS, source=None, **kwargs):
    return DataParallelExecutorManager(
        net,
        cpus(devices),
        source or data(),
        net.list_arguments(),
        params,
        net.list_auxiliary_states(),
        **kwargs,
    )


@pytest.mark.parametrize(
    ("size", "loads", "stops"),
    [  # as MXNet
        (10, [1, 1, 1], [3, 6, 10]),
        (7, [1, 1], [4, 7]),
        (5, [1, 1], [2, 5]),
        (8, [1, 2, 1], [2, 6, 8]),
        (11, [1, 1, 1, 1], [3, 6, 9, 11]),
        (16, [1] * 7, [2, 4, 6, 8, 10, 12, 16]),
        (13, [2, 3, 5], [3, 7, 13]),
    ],
)
def test_slices(size, loads, stops):
    assert [each.stop for each in _split_input_slice(size, loads)] == stops


@pytest.mark.parametrize(
    ("size", "loads", "says"),
    [
        (2, [1, 1, 1], "Too many slices"),
        (5, [1, 0], "Too many slices"),
        (10, [1] * 6, "Too many slices"),
        (5, [], "work_load_list: must hold a positive number for each device"),
        (5, [0, 0], "work_load_list: must hold a positive number for each device"),
    ],
)
def test_slices_that_would_be_empty(size, loads, says):
    with pytest.raises(ValueError, match=says):
        _split_input_slice(size, loads)


def layers_of_one_name():
    inner = S.FullyConnected(S.var("x"), num_hidden=2, name="a")
    return S.FullyConnected(inner, num_hidden=2, name="a")


def norms_of_one_name():
    norm = S.BatchNorm(S.var("x"), S.var("g1"), S.var("b1"), name="a")
    return S.BatchNorm(norm, S.var("g2"), S.var("b2"), name="a")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (layers_of_one_name, "names of arguments must differ; 'a_weight', 'a_bias'"),
        (norms_of_one_name, "names of auxiliary states must differ; 'a_moving_mean'"),
    ],
)
def test_duplicate_names(make, says):
    _check_arguments(NET)
    with pytest.raises(ValueError, match=says):
        _check_arguments(make())


def test_loading():
    whole, first, rest = nd.zeros((3,)), nd.zeros((1,)), nd.zeros((2,), dtype="int32")
    batch = DataBatch([nd.array([1, 2, 3])], [np.array([4.5, 5.5, 6.5])])
    _load_data(batch, [whole])
    _load_label(batch, [[(slice(0, 1), first), (slice(1, 3), rest)]])
    assert whole.asnumpy().tolist() == [1, 2, 3]
    assert first.asnumpy().tolist() == [4.5] and rest.asnumpy().tolist() == [5, 6]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([nd.ones((4,))], "the batch size must be 3, as it was bound; array 0 has shape (4,)"),
        ([nd.ones((2,))], "the batch size must be 3, as it was bound; array 0 has shape (2,)"),
        ([nd.ones((3, 2))], "array 0 must have shape (1,) on cpu(0); got (1, 2)"),
        ([], "the batch must hold 1 arrays, array 0; got 0"),
    ],
)
def test_what_does_not_fit_is_not_loaded(given, says):
    targets = [(slice(0, 1), nd.zeros((1,))), (slice(1, 3), nd.zeros((2,)))]
    with pytest.raises(ValueError, match=re.escape(says)):
        _load_general(given, [targets])
    assert not any(array.asnumpy().any() for _, array in targets)


def test_a_whole_array_that_does_not_fit_is_not_loaded():
    target = nd.zeros((3,))
    with pytest.raises(ValueError, match=re.escape("must have shape (3,) on cpu(0); got (2,)")):
        _load_general([nd.ones((2,))], [target])
    assert not target.asnumpy().any()


@pytest.mark.parametrize(
    ("need_grad", "expected"),
    [(False, []), (True, PARAMS), ({"fc_weight", "data"}, ["data", "fc_weight"]), (set(), [])],
)
def test_which_gradients_are_bound(need_grad, expected):
    exe = _bind_exec(NET, mx.cpu(), SHAPES, PARAMS, need_grad)
    assert [name for name, grad in exe.grad_dict.items() if grad is not None] == expected


@pytest.mark.parametrize(
    ("need_grad", "error", "says"),
    [
        (["fc_weight"], TypeError, "need_grad must be True, False or a set of names"),
        (None, TypeError, "need_grad must be True, False or a set of names; got None"),
        ({"fc_weigh"}, ValueError, "no argument 'fc_weigh'; did you mean 'fc_weight'"),
    ],
)
def test_requests_that_are_none(need_grad, error, says):
    with pytest.raises(error, match=says):
        _bind_exec(NET, mx.cpu(), SHAPES, PARAMS, need_grad)


@pytest.mark.parametrize("given", ["input_shapes", "input_types"])
def test_names_that_are_no_arguments(given):
    keywords = {"input_shapes": SHAPES, "input_types": {}}
    keywords[given] = {**keywords[given], "dat": (4, 5)}
    with pytest.raises(ValueError, match=f"{given}: the symbol has no argument 'dat'; did you mean 'data'"):
        _bind_exec(NET, mx.cpu(), param_names=PARAMS, **keywords)


def rows(count):
    return {"data": (count, 5), "softmax_label": (count,)}


def test_memory_of_inputs(caplog):
    memory = {}

    def bind(count):
        return _bind_exec(NET, mx.cpu(), rows(count), PARAMS, True, shared_data_arrays=memory)

    bind(4)
    first = memory["data"]
    assert set(memory) == {"data", "softmax_label"} and first.shape == (4, 5)
    same, smaller = bind(4), bind(2)
    assert memory["data"] is first and not caplog.messages  # 1.9.1 fails when it needs less
    first[:] = 3
    assert (same.arg_dict["data"].asnumpy() == 3).all() and smaller.arg_dict["data"].shape == (2, 5)
    assert (smaller.arg_dict["data"].asnumpy() == 3).all()
    larger = bind(8)
    assert memory["data"].shape == (8, 5) and memory["data"] is larger.arg_dict["data"]
    assert re.search(r'"data" has shape \(8, 5\).*\(4, 5\)', caplog.messages[0]) and len(caplog.messages) == 2
    assert (first.asnumpy() == 3).all()


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32"])
def test_memory_of_another_type_is_not_used(dtype, caplog):
    memory = {"data": nd.zeros((4, 5), dtype=dtype)}
    exe = _bind_exec(NET, mx.cpu(), SHAPES, PARAMS, shared_data_arrays=memory)
    assert memory["data"] is exe.arg_dict["data"] and memory["data"].dtype is np.float32
    assert dtype in caplog.text


@pytest.mark.parametrize("kind", ["arg_dict", "grad_dict", "aux_dict"])
def test_a_base_shares_its_arrays(kind):
    base = _bind_exec(NET, mx.cpu(), SHAPES, PARAMS, True)
    exe = _bind_exec(NET, mx.cpu(), rows(2), PARAMS, True, base_exec=base)
    for name in base.aux_dict if kind == "aux_dict" else PARAMS:
        assert getattr(exe, kind)[name] is getattr(base, kind)[name]
    assert exe.arg_dict["data"] is not base.arg_dict["data"]


@pytest.mark.parametrize(
    ("net", "shapes", "need_grad", "of_base"),
    [
        pytest.param(NET, SHAPES, False, True, id="gradients of the base only"),
        pytest.param(NET, SHAPES, True, False, id="gradients of the new one only"),
        pytest.param(
            S.BatchNorm(S.var("data"), name="bn", fix_gamma=False),
            {"data": (4, 3)},
            True,
            True,
            id="fewer parameters",
        ),
    ],
)
def test_a_base_that_fits(net, shapes, need_grad, of_base):
    base = _bind_exec(NET, mx.cpu(), SHAPES, PARAMS, of_base)
    names = [name for name in net.list_arguments() if name not in shapes]
    exe = _bind_exec(net, mx.cpu(), shapes, names, need_grad, base_exec=base)
    assert all(exe.arg_dict[name] is base.arg_dict[name] for name in names)


@pytest.mark.parametrize(
    ("net", "shapes", "types", "says"),
    [
        (NET, {**SHAPES, "data": (4, 6)}, None, "'fc_weight' must have shape (3, 6) and type"),
        (NET, SHAPES, {"data": "float64"}, "'fc_weight' must have shape (3, 5) and type torch.float64"),
        (
            S.FullyConnected(S.var("data"), num_hidden=3, name="other"),
            {"data": (4, 5)},
            None,
            "base_exec must have all parameters; it lacks 'other_weight', 'other_bias'",
        ),
        (
            S.BatchNorm(S.var("data"), name="bn2", gamma=S.var("bn_gamma"), beta=S.var("bn_beta")),
            {"data": (4, 3)},
            None,
            "'bn2_moving_mean' of base_exec must have shape and type (3,) float32; got none",
        ),
    ],
    ids=["another shape", "another type", "another layer", "other states"],
)
def test_a_base_that_does_not_fit(net, shapes, types, says):
    base = _bind_exec(NET, mx.cpu(), SHAPES, PARAMS, True)
    names = [name for name in net.list_arguments() if name not in shapes]
    with pytest.raises(ValueError, match=re.escape(says)):
        _bind_exec(net, mx.cpu(), shapes, names, True, base_exec=base, input_types=types)


def test_what_it_holds(caplog):
    with caplog.at_level("INFO"):
        it = manager()
    assert caplog.messages == ["Start training with [cpu(0), cpu(1)]"]
    group = it.execgrp
    assert it.slices == [slice(0, 2), slice(2, 4)] and it.curr_execgrp is None
    assert isinstance(group, DataParallelExecutorGroup) and len(group.train_execs) == 2
    assert (group.data_names, group.label_names, group.param_names) == (["data"], ["softmax_label"], PARAMS)
    assert group.param_idx == [1, 2, 3, 4] and group.aux_names == ["bn_moving_mean", "bn_moving_var"]
    assert set(group.shared_data_arrays[1]) == {"data", "softmax_label"}
    assert it.param_arrays[0][1] is group.train_execs[1].arg_dict["fc_weight"]
    assert it.grad_arrays[0][1] is group.train_execs[1].grad_dict["fc_weight"]
    assert it.aux_arrays[0][1] is group.train_execs[1].aux_dict["bn_moving_mean"]
    assert group.data_arrays[0][1][0] == slice(2, 4) and group.label_arrays[0][1][1].shape == (2,)


def test_the_logger_is_the_given_one(caplog):
    with caplog.at_level("INFO", logger="mine"):
        manager(logger=logging.getLogger("mine"))
    assert caplog.records[0].name == "mine"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        *(
            ({"work_load_list": loads}, "work_load_list must have a number for each of [cpu(0), cpu(1)]")
            for loads in ([1], [1, 2, 3], 3)
        ),
        ({"source": data(label_name="labels")}, "the network has no argument 'labels'"),
    ],
)
def test_settings_that_are_refused(settings, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        manager(**settings)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("forward", ()), ("backward", ()), ("update_metric", (mx.metric.create("acc"), []))],
)
def test_calls_that_need_a_batch(name, arguments):
    with pytest.raises(
        mx.MXNetError, match=rf"DataParallelExecutorManager\.{name}\(\) needs load_data_batch\(\) first"
    ):
        getattr(manager(), name)(*arguments)


def filled(value=0.1, **changes):
    params = {"fc_weight": nd.ones((3, 5)) * value, "fc_bias": nd.zeros((3,))}
    return {**params, "bn_gamma": nd.ones((3,)), "bn_beta": nd.zeros((3,)), **changes}


@pytest.mark.parametrize("loads", [[1, 1], [1, 3]])
def test_a_step(loads):
    it, source = manager(work_load_list=loads), data()
    it.set_params(filled(), {})
    batch = next(source)
    it.load_data_batch(batch)
    assert it.curr_execgrp is it.execgrp
    it.forward()
    inference = [exe.outputs[0].asnumpy() for exe in it.execgrp.train_execs]
    it.forward(is_train=True)
    it.backward()
    assert len(inference[0]) == it.slices[0].stop and it.grad_arrays[3][0].asnumpy().any()
    whole, cut = mx.metric.create("ce"), mx.metric.create("ce")
    it.update_metric(whole, batch.label)
    it.update_metric(cut, [[batch.label[0][each]] for each in it.slices], pre_sliced=True)
    assert whole.get() == cut.get() and whole.num_inst == 4
    with pytest.raises(ValueError, match="labels must hold a list for each of 2 devices; got 1"):
        it.update_metric(cut, [batch.label], pre_sliced=True)


@pytest.mark.parametrize(("settings", "drops"), [({}, False), ({"is_train": True}, True)])
def test_forward_is_in_inference_mode_by_default(settings, drops):
    net = S.Dropout(S.FullyConnected(S.var("data"), num_hidden=64, name="fc"), p=0.5, name="drop")
    source = NDArrayIter(np.ones((4, 5), "float32"), batch_size=4)
    it = manager(net=net, params=["fc_weight", "fc_bias"], source=source)
    it.set_params({"fc_weight": nd.ones((64, 5)), "fc_bias": nd.zeros((64,))}, {})
    it.load_data_batch(DataBatch([nd.ones((4, 5))], None))
    it.forward(**settings)
    assert (it.execgrp.train_execs[0].outputs[0].asnumpy() == 5).all() != drops


@pytest.mark.parametrize(("size", "devices"), [(6, 2), (2, 2), (6, 1)])
def test_batches_of_another_size(size, devices):
    it = manager(devices=devices)
    says = rf"the batch size must be 4, as it was bound; 'data' has shape \({size}, 5\)"
    with pytest.raises(ValueError, match=says):
        it.load_data_batch(next(data(size=size)))


@pytest.mark.parametrize(
    ("params", "aux", "says"),
    [
        ({"fc_weigh": nd.ones((3, 5))}, {}, "no argument '"),
        ({}, {"bn": nd.ones((3,))}, "no auxiliary state '"),
    ],
)
def test_names_that_set_params_refuses(params, aux, says):
    with pytest.raises(ValueError, match=says):
        manager().set_params(params, aux)


def test_parameters_in_and_out():
    it = manager()
    it.set_params(filled(), {"bn_moving_var": nd.ones((3,)) * 3})
    it.param_arrays[0][1][:] = 0.3
    into = filled(9, fc_weight=nd.zeros((3, 5), dtype="float64"), extra=nd.ones((1,)))
    states = {"bn_moving_mean": nd.ones((3,)), "bn_moving_var": nd.ones((3,), dtype="float16")}
    target = into["fc_weight"]
    it.copy_to(into, states)
    assert into["fc_weight"] is target and target.dtype is np.float64
    assert np.allclose(target.asnumpy(), 0.2) and (states["bn_moving_var"].asnumpy() == 3).all()
    before = into["fc_bias"].asnumpy()
    with pytest.raises(ValueError, match="missing are 'bn_moving_mean', 'bn_moving_var'"):
        it.copy_to(into, {})
    assert np.array_equal(into["fc_bias"].asnumpy(), before)


def test_types_and_layouts_of_the_iterator():
    class TimeMajor:
        batch_size = 5
        provide_data = [DataDesc("data", (7, 5, 2), "float64", layout="TNC")]
        provide_label = [("softmax_label", (5,))]

    net = S.FullyConnected(S.sum(S.var("data"), axis=0), num_hidden=3, name="fc")
    net = S.SoftmaxOutput(net, S.cast(S.var("softmax_label"), dtype="float64"), name="softmax")
    it = manager(net=net, params=["fc_weight", "fc_bias"], source=TimeMajor)
    values = np.random.RandomState(0).rand(7, 5, 2)
    it.load_data_batch(DataBatch([nd.array(values, dtype="float64")], [nd.zeros((5,))]))
    assert it.param_arrays[0][0].dtype is np.float64 and [each.stop for each in it.slices] == [2, 5]
    for each, exe in zip(it.slices, it.execgrp.train_execs, strict=True):
        assert np.array_equal(exe.arg_dict["data"].asnumpy(), values[:, each])
    with pytest.raises(
        ValueError, match=r"the batch size must be 5, as it was bound; 'data' has shape \(7, 4, 2\)"
    ):
        it.load_data_batch(DataBatch([nd.ones((7, 4, 2))], []))


def network(key):
    net = S.FullyConnected(S.sum(S.var("data"), axis=1), num_hidden=3)
    return S.SoftmaxOutput(net, name="softmax")


def described(key, rows=4):
    return dict(
        provide_data=[DataDesc("data", (rows, key, 5))], provide_label=[DataDesc("softmax_label", (rows,))]
    )


class Lengths:
    batch_size, default_bucket_key = 4, 8
    provide_data, provide_label = described(8).values()


def text(key, **kwargs):
    return DataBatch([nd.ones((4, key, 5))], [nd.zeros((4,))], bucket_key=key, **{**described(key), **kwargs})


class Monitor:
    def __init__(self):
        self.seen = []

    def install(self, executor):
        executor.set_monitor_callback(lambda name, array: self.seen.append(name))


def test_buckets(caplog):
    asked = []

    def gen(key):
        asked.append(key)
        return network(key)

    with mx.name.NameManager():
        first = network(8)
    it = manager(
        net=first, params=["fullyconnected0_weight", "fullyconnected0_bias"], source=Lengths, sym_gen=gen
    )
    monitor = Monitor()
    it.install_monitor(monitor)
    for key in (8, 4, 6, 4, 8):
        monitor.seen.clear()
        it.load_data_batch(text(key))
        it.forward(is_train=True)
        it.backward()
        assert it.curr_execgrp is it.execgrp_bucket[key] and "softmax_output" in monitor.seen
        assert it.curr_execgrp.param_arrays[0][1] is it.param_arrays[0][1]
        assert it.curr_execgrp.grad_arrays[0][1] is it.grad_arrays[0][1]
    assert asked == [4, 6] and it.execgrp is it.execgrp_bucket[8] and not caplog.messages
    memory = it.execgrp.shared_data_arrays[0]["data"]
    assert memory.shape == (2, 8, 5) and it.execgrp_bucket[4].shared_data_arrays[0]["data"] is memory
    it.load_data_batch(text(10))
    assert len([line for line in caplog.messages if '"data"' in line]) == 2  # once for each device
    it.load_data_batch(DataBatch([nd.ones((4, 8, 5))], []))  # without a key: the default bucket
    assert it.curr_execgrp is it.execgrp
    with pytest.raises(TypeError, match="the first batch of bucket 3 must have provide_data"):
        it.load_data_batch(text(3, provide_data=None))
