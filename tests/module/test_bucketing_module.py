"""`BucketingModule`, point by point; what it computes is compared with MXNet in tests/parity/test_modules.py."""

import gc
import re
import weakref

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind import sym as S
from rebind.io import DataBatch, DataDesc
from rebind.module import BucketingModule, Module

ROWS = 4


def network(key):
    """Sum over time, then a layer without a name of its own."""
    net = S.FullyConnected(S.sum(S.var("data"), axis=1), num_hidden=3)
    return S.SoftmaxOutput(net, name="softmax"), ["data"], ["softmax_label"]


def batch(length, rows=ROWS, described=True, label=True, key=None, seed=0):
    random = np.random.RandomState(seed)
    shapes = {}
    if described:
        shapes["provide_data"] = [DataDesc("data", (rows, length, 2))]
        shapes["provide_label"] = [DataDesc("softmax_label", (rows,))] if label else None
    return DataBatch(
        [nd.array(random.rand(rows, length, 2))],
        [nd.array(random.randint(0, 3, rows))] if label else [],
        bucket_key=length if key is None else key,
        **shapes,
    )


def module(
    gen=network, key=8, labels=True, train=True, optimizer=True, devices=1, for_training=True, **kwargs
):
    bind = {name: kwargs.pop(name) for name in ("grad_req", "inputs_need_grad") if name in kwargs}
    settings = kwargs.pop("optimizer_params", {"learning_rate": 0.1, "momentum": 0.9})
    kvstore = kwargs.pop("kvstore", "local")
    mod = BucketingModule(gen, key, context=[mx.cpu(k) for k in range(devices)], **kwargs)
    mod.bind(
        [("data", (ROWS, 8, 2))],
        [("softmax_label", (ROWS,))] if labels else None,
        for_training=for_training,
        **bind,
    )
    if train:
        mod.init_params(mx.init.Constant(0.1))
    if train and optimizer and for_training:
        mod.init_optimizer(kvstore=kvstore, optimizer_params=settings)
    return mod


def step(mod, one):
    mod.forward_backward(one)
    mod.update()


def weight(mod, name="fullyconnected0_weight"):
    return mod.get_params()[0][name].asnumpy()


@pytest.mark.parametrize(
    ("arguments", "names", "error", "says"),
    [
        ((network,), {}, ValueError, "needs default_bucket_key"),
        ((None, 8), {}, TypeError, "sym_gen must be a function from a bucket's key"),
        (
            (lambda key: network(key)[:2], 8),
            {},
            TypeError,
            "must return (symbol, data_names, label_names); for key 8 it returned",
        ),
        (
            (lambda key: (network(key)[0], ["dat"], None), 8),
            {},
            ValueError,
            "no argument 'dat'; did you mean 'data'",
        ),
        (
            (network, 8),
            {"fixed_param_names": ["zz"]},
            ValueError,
            "fixed_param_names: the symbol has no argument 'zz'",
        ),
        ((network, 8), {"state_names": ["zz"]}, ValueError, "state_names: the symbol has no argument 'zz'"),
    ],
)
def test_bad_arguments(arguments, names, error, says):
    with pytest.raises(error, match=re.escape(says)):
        BucketingModule(*arguments, **names)


CALLS = {
    "init_params": (),
    "set_params": ({}, {}),
    "init_optimizer": (),
    "forward": (batch(8),),
    "backward": (),
    "get_outputs": (),
    "get_input_grads": (),
    "get_states": (),
    "set_states": (),
    "update_metric": (mx.metric.create("acc"), batch(8).label),
    "prepare": (batch(8),),
    "switch_bucket": (4, [("data", (ROWS, 4, 2))]),
    "install_monitor": (None,),
    "save_checkpoint": ("never", 0),
    "clear_gradients": (),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_that_need_bind(name):
    with pytest.raises(mx.MXNetError, match=rf"BucketingModule\.{name}\(\) needs bind\(\) first"):
        getattr(BucketingModule(network, 8), name)(*CALLS[name])


@pytest.mark.parametrize("name", ["data_shapes", "label_shapes", "output_shapes"])
def test_properties_that_need_bind(name):
    with pytest.raises(mx.MXNetError, match=rf"BucketingModule\.{name} needs bind\(\) first"):
        getattr(BucketingModule(network, 8), name)


@pytest.mark.parametrize(
    "name", ["init_optimizer", "forward", "backward", "get_outputs", "update_metric", "prepare"]
)
def test_calls_that_need_parameters(name):
    with pytest.raises(mx.MXNetError, match=rf"BucketingModule\.{name}\(\) needs init_params\(\) first"):
        getattr(module(train=False), name)(*CALLS[name])


@pytest.mark.parametrize(
    ("make", "call", "says"),
    [
        (
            lambda: BucketingModule(network, 8),
            lambda mod: mod.get_params(),
            "get_params() needs init_params() first",
        ),
        (
            lambda: module(train=False),
            lambda mod: mod.get_params(),
            "get_params() needs init_params() first",
        ),
        (
            lambda: module(train=False),
            lambda mod: mod.switch_bucket(4, [("data", (ROWS, 4, 2))]),
            "to a new bucket needs init_params() first",
        ),
        (
            lambda: module(optimizer=False),
            lambda mod: mod.save_checkpoint("never", 0, save_optimizer_states=True),
            "save_optimizer_states=True) needs init_optimizer",
        ),
    ],
    ids=["get_params, unbound", "get_params, bound", "switch_bucket", "save_checkpoint with states"],
)
def test_calls_in_the_wrong_order_name_what_is_missing(make, call, says):
    with pytest.raises(mx.MXNetError, match=re.escape(says)):
        call(make())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("update", ()), ("save_optimizer_states", ("x",)), ("load_optimizer_states", ("x",))],
)
def test_calls_that_need_an_optimizer(name, arguments):
    mod = module(optimizer=False)
    mod.forward(batch(8))
    with pytest.raises(mx.MXNetError, match=rf"BucketingModule\.{name}\(\) needs init_optimizer\(\) first"):
        getattr(mod, name)(*arguments)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("binded", False),
        ("params_initialized", False),
        ("optimizer_initialized", False),
        ("data_names", ["data"]),
        ("output_names", ["softmax_output"]),
    ],
)
def test_what_an_unbound_module_reports(name, expected):
    assert getattr(BucketingModule(network, 8), name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("binded", True),
        ("params_initialized", True),
        ("optimizer_initialized", True),
        ("data_shapes", [("data", (ROWS, 4, 2))]),
        ("label_shapes", [("softmax_label", (ROWS,))]),
        ("output_shapes", [("softmax_output", (ROWS, 3))]),
        ("_curr_bucket_key", 4),
    ],
)
def test_what_a_module_reports_of_the_last_batch(name, expected):
    mod = module()
    mod.forward(batch(4))
    assert getattr(mod, name) == expected


def test_the_current_module_is_that_of_the_last_batch():
    mod = module()
    mod.forward(batch(4))
    assert mod.symbol is mod._buckets[4].symbol and mod._curr_module is mod._buckets[4]
    assert "bound for [8, 4], now 4" in repr(mod)


def test_a_bucket_is_made_and_bound_once():
    asked = []

    def gen(key):
        asked.append(key)
        return network(key)

    mod = module(gen)
    for length in (8, 4, 8, 4, 6, 4):
        mod.prepare(batch(length))
        step(mod, batch(length))
    assert asked == [8, 4, 6] and list(mod._buckets) == [8, 4, 6]


@pytest.mark.parametrize("kind", ["param_arrays", "grad_arrays"])
@pytest.mark.parametrize("devices", [1, 2])
def test_buckets_share_arrays_and_optimizer(kind, devices):
    mod = module(devices=devices)
    step(mod, batch(4))
    one, other = mod._buckets[4], mod._buckets[8]
    for mine, its in zip(getattr(one._exec_group, kind), getattr(other._exec_group, kind), strict=True):
        assert len(mine) == devices and all(a is b for a, b in zip(mine, its, strict=True))
    assert one._updater is other._updater is mod._updater and one._optimizer is mod._optimizer


def test_automatic_names_are_the_same_in_all_buckets():
    mod = module()
    mod.forward(batch(4))
    assert mod._buckets[4]._param_names == ["fullyconnected0_weight", "fullyconnected0_bias"]


def test_prepare_binds_a_bucket_and_stays_where_it_is():
    mod = module()
    mod.prepare(batch(4))
    assert list(mod._buckets) == [8, 4] and mod._curr_bucket_key == 8 and mod._buckets[4].binded
    with pytest.warns(UserWarning, match="sparse_row_id_fn"):
        mod.prepare(batch(4), sparse_row_id_fn=lambda one: {})


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize(
    ("one", "bucket", "rows"),
    [
        pytest.param(batch(5, described=False), 5, ROWS, id="shapes as the arrays have them"),
        pytest.param(batch(5, rows=2, described=False), 5, 2, id="another batch size"),
        pytest.param(
            type("Batch", (), {"data": [nd.ones((ROWS, 8, 2))], "label": [nd.zeros((ROWS,))]})(),
            8,
            ROWS,
            id="without a key",
        ),
        pytest.param(DataBatch([nd.ones((ROWS, 8, 2))]), 8, ROWS, id="data only"),
    ],
)
def test_batches_that_describe_little(one, bucket, rows, devices):
    mod = module(devices=devices)
    mod.forward(batch(5, described=False))
    mod.forward(one, is_train=False)
    assert mod._curr_bucket_key == bucket and mod.get_outputs()[0].shape == (rows, 3)


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (nd.ones((2, 2)), "a batch must have data, a list of arrays; got NDArray"),
        (batch(4, key=[1]), "unhashable"),
        ([batch(4), batch(4)], "the first batch of a bucket must be whole; got a list of 2 for 4"),
    ],
    ids=["an array", "an unhashable key", "a new bucket in slices"],
)
def test_batches_that_are_refused(one, says):
    with pytest.raises(TypeError, match=says):
        module(devices=2).forward(one)


def test_batches_cut_already():
    mod, one = module(devices=2), batch(4)
    halves = [
        DataBatch([one.data[0][half]], [one.label[0][half]], bucket_key=4)
        for half in (slice(0, 2), slice(2, 4))
    ]
    step(mod, one)
    other = module(devices=2)
    other.prepare(one)
    step(other, halves)
    assert np.array_equal(weight(mod), weight(other))


@pytest.mark.parametrize("devices", [1, 2])
def test_labels_count_in_a_bucket_that_was_bound_for_prediction(devices):
    mod, other = module(devices=devices), module(devices=devices)
    mod.forward(batch(4, label=False), is_train=False)
    assert mod.label_shapes is None
    for each in (mod, other):
        step(each, batch(4))
    assert np.array_equal(weight(mod), weight(other))


@pytest.mark.parametrize("length", [4, 8])
@pytest.mark.parametrize("devices", [1, 2])
def test_a_module_without_labels_predicts(length, devices):
    mod = module(labels=False, for_training=False, devices=devices)
    mod.forward(batch(length))
    assert mod.get_outputs()[0].shape == (ROWS, 3) and mod.label_shapes is None


def two_layers(key):
    data = S.sum(S.var("data"), axis=1)
    a, b = (S.FullyConnected(data, num_hidden=3, name=name) for name in "ab")
    net = {8: lambda: a + b, 4: lambda: b + a, 2: lambda: a}[key]()
    return S.SoftmaxOutput(net, name="softmax"), ["data"], ["softmax_label"]


@pytest.mark.parametrize(("devices", "kvstore"), [(1, None), (2, None), (2, "local")])
def test_the_order_of_parameters_does_not_matter(devices, kvstore):
    """MXNet numbers the parameters of each bucket by itself, and gives them each other's momentum."""
    mod = module(two_layers, devices=devices, kvstore=kvstore)
    plain = Module(two_layers(8)[0])
    plain.bind([("data", (ROWS, 8, 2))], [("softmax_label", (ROWS,))])
    plain.init_params(mx.init.Constant(0.1))
    plain.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    for seed, length in enumerate((8, 4, 4, 8, 4)):
        one = batch(length, seed=seed)
        step(mod, one)
        step(plain, one)
    for name in ("a_weight", "b_weight", "b_bias"):
        assert np.allclose(weight(mod, name), weight(plain, name), rtol=1e-5)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_bucket_may_have_fewer_parameters(devices):
    mod = module(two_layers, kvstore=None, fixed_param_names=["b_bias"], devices=devices)
    before = weight(mod, "b_weight")
    step(mod, batch(2))
    assert np.array_equal(weight(mod, "b_weight"), before)  # MXNet gives the last bucket's parameters only
    assert not np.array_equal(weight(mod, "a_weight"), before)


def test_a_bucket_must_not_have_more_parameters():
    def gen(key):
        if key == 4:
            net = S.BatchNorm(S.FullyConnected(S.sum(S.var("data"), axis=1), num_hidden=3), name="bn")
            return S.SoftmaxOutput(net, name="softmax"), ["data"], ["softmax_label"]
        return network(key)

    mod = module(gen)
    with pytest.raises(
        ValueError, match=r"default bucket, 8, must have all parameters; that of 4 has also 'bn_g"
    ):
        mod.forward(batch(4))
    mod.forward(batch(8))
    assert list(mod._buckets) == [8]


def test_another_buckets_turn_frees_what_nobody_holds():
    mod = module()
    mod.forward(batch(4), is_train=True)
    held, dropped = mod.get_outputs()[0], weakref.ref(mod._buckets[4]._exec_group.execs[0].runner.last)
    values = held.asnumpy()
    mod.forward(batch(8), is_train=True)
    gc.collect()
    assert dropped() is None  # intermediate results
    assert np.array_equal(held.asnumpy(), values)
    output = weakref.ref(mod.get_outputs()[0])
    mod.forward(batch(4), is_train=True)
    gc.collect()
    assert output() is None
    assert mod.get_outputs()[0] is held


@pytest.mark.parametrize(("devices", "kvstore"), [(1, None), (2, None), (2, "local")])
def test_a_second_bind(devices, kvstore):
    mod = module(devices=devices, kvstore=kvstore)
    step(mod, batch(4))
    with pytest.warns(UserWarning, match=r"already bound, so this call changes nothing.*\(2, 8, 2\)"):
        mod.bind([("data", (2, 8, 2))], [("softmax_label", (2,))])
    before, optimizer = weight(mod), mod._optimizer
    mod.bind([("data", (2, 8, 2))], [("softmax_label", (2,))], force_rebind=True)
    assert mod._curr_bucket_key == 8 and not mod._buckets[4].binded
    assert np.array_equal(weight(mod), before) and mod._optimizer is optimizer
    step(mod, batch(4))  # MXNet wants a new optimizer here
    assert not np.array_equal(weight(mod), before)


@pytest.mark.parametrize("again", ["init_params", "set_params"])
def test_parameters_made_again_are_those_of_all_buckets(again):
    mod = module()
    step(mod, batch(4))
    arguments = () if again == "init_params" else mod.get_params()
    mod.params_initialized = False
    getattr(mod, again)(*arguments)
    step(mod, batch(4))


def test_flags_that_programs_set():
    mod = module()
    step(mod, batch(4))
    mod.binded = False
    assert not mod.binded and mod.params_initialized
    mod.bind([("data", (ROWS, 8, 2))], [("softmax_label", (ROWS,))])
    mod.params_initialized = False
    mod.init_params(mx.init.Zero())
    mod.optimizer_initialized = False
    mod.init_optimizer()
    step(mod, batch(4))


@pytest.mark.parametrize("devices", [1, 2])
def test_a_shared_module(devices):
    one = module(devices=devices)
    step(one, batch(4))
    other = BucketingModule(network, 8, context=[mx.cpu(k) for k in range(devices)])
    other.bind([("data", (2, 8, 2))], [("softmax_label", (2,))], shared_module=one)
    assert other.params_initialized and other.optimizer_initialized
    step(other, batch(4, rows=2))
    assert np.array_equal(weight(one), weight(other))


@pytest.mark.parametrize("devices", [1, 2])
def test_a_request_for_gradients_holds_in_all_buckets(devices):
    mod = module(optimizer=False, grad_req="add", inputs_need_grad=True, devices=devices)
    for length in (8, 4, 4):
        mod.forward_backward(batch(length))
    single = module(optimizer=False, inputs_need_grad=True, devices=devices)
    totals = [0] * devices
    for length in (8, 4, 4):
        single.forward_backward(batch(length))
        grads = single._curr_module._exec_group.grad_arrays[0]
        totals = [total + grad.asnumpy() for total, grad in zip(totals, grads, strict=True)]
    for grad, total in zip(mod._curr_module._exec_group.grad_arrays[0], totals, strict=True):
        assert np.allclose(grad.asnumpy(), total, atol=1e-6)
    assert mod.get_input_grads()[0].shape == (ROWS, 4, 2)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda mod: mod.init_params(mx.init.Zero()), id="init_params"),
        pytest.param(
            lambda mod: mod.set_params({}, {}, allow_missing=True, force_init=False), id="set_params"
        ),
        pytest.param(lambda mod: mod.init_optimizer(), id="init_optimizer"),
    ],
)
def test_a_second_call_changes_nothing_and_warns(call):
    mod = module()
    before, optimizer = weight(mod), mod._optimizer
    with pytest.warns(UserWarning, match="force_init"):
        call(mod)
    assert np.array_equal(weight(mod), before) and mod._optimizer is optimizer


def test_another_optimizer_is_that_of_all_buckets():
    mod = module()
    mod.forward(batch(4))
    mod.init_optimizer(optimizer="adam", force_init=True)
    assert mod._buckets[4]._optimizer is mod._optimizer and isinstance(mod._optimizer, mx.optimizer.Adam)


@pytest.mark.parametrize(("devices", "kvstore"), [(1, None), (2, "local")])
def test_parameters_that_are_set_count_in_all_buckets(devices, kvstore):
    mod = module(devices=devices, kvstore=kvstore, optimizer_params={"learning_rate": 0.0})
    step(mod, batch(4))
    mod.set_params({"fullyconnected0_weight": nd.ones((3, 2)) * 5}, {}, allow_missing=True)
    step(mod, batch(4))
    assert (weight(mod) == 5).all()
    with pytest.raises(ValueError, match="no argument 'zz'"):
        mod.set_params({"zz": nd.ones((1,))}, {}, allow_missing=True)


@pytest.mark.parametrize("time", [False, True])
def test_states(time):
    """A state of one shape goes from bucket to bucket; one that has the length in its shape is each bucket's own."""

    def gen(key):
        state, data = S.var("h"), S.var("data")
        data = data if time else S.sum(data, axis=1)
        return S.elemwise_add(data, state, name="sum"), ["data"], None

    mod = module(gen, labels=False, state_names=["h"], for_training=False)
    mod.set_states(value=7)
    mod.forward(batch(4, label=False))
    (state,) = mod.get_states()
    assert state.shape == ((ROWS, 4, 2) if time else (ROWS, 2))
    assert (state.asnumpy() == (0 if time else 7)).all()
    mod.set_states(states=mod.get_outputs(merge_multi_context=False))
    assert np.array_equal(mod.get_states()[0].asnumpy(), mod.get_outputs()[0].asnumpy())


class Monitor:
    def __init__(self):
        self.seen = []

    def install(self, executor):
        executor.set_monitor_callback(lambda name, array: self.seen.append((name, array.shape)))


@pytest.mark.parametrize("length", [4, 8, 6], ids=["bound before", "the default bucket", "bound after"])
def test_a_monitor_hears_of_buckets_before_and_after(length):
    mod, monitor = module(), Monitor()
    mod.forward(batch(4))
    mod.install_monitor(monitor)
    mod.forward(batch(length), is_train=False)
    assert ("softmax_output", (ROWS, 3)) in monitor.seen


class Lengths:
    """An iterator over batches of several lengths."""

    def __init__(self, lengths=(8, 4, 6, 4), **kwargs):
        self.batches = [batch(length, seed=i, **kwargs) for i, length in enumerate(lengths)]
        self.provide_data = [DataDesc("data", (ROWS, 8, 2))]
        self.provide_label = [DataDesc("softmax_label", (ROWS,))]
        self.batch_size, self.default_bucket_key = ROWS, 8

    def __iter__(self):
        return iter(self.batches)

    def reset(self):
        pass


@pytest.mark.parametrize("devices", [1, 2])
def test_fit_score_and_predict(devices):
    mod = BucketingModule(network, 8, context=[mx.cpu(k) for k in range(devices)])
    data = Lengths()
    history = mod.fit(
        data, eval_data=data, num_epoch=3, eval_metric="ce", optimizer_params={"learning_rate": 0.02}
    )
    losses = history["train"]["cross-entropy"]
    assert losses[-1] < losses[0] and len(history["validation"]["cross-entropy"]) == 3
    assert mod.score(data, ["acc", "ce"])[1][0] == "cross-entropy"
    assert mod.predict(data).shape == (4 * ROWS, 3)
    assert [len(outputs) for outputs in mod.predict(data, merge_batches=False)] == [1] * 4
    assert mod.predict(np.ones((6, 8, 2), "float32")).shape == (6, 3)  # an array is for the default bucket


def test_outputs_of_unlike_shapes_cannot_be_joined():
    def gen(key):
        return S.identity(S.var("data"), name="same"), ["data"], None

    mod = module(gen, labels=False, for_training=False)
    data = Lengths((8, 4), label=False)
    with pytest.raises(
        ValueError, match=r"'same_output' of some batches has other shapes .*merge_batches=False"
    ):
        mod.predict(data)
    assert [out[0].shape[1] for out in mod.predict(data, merge_batches=False)] == [8, 4]


@pytest.mark.parametrize("devices", [1, 2])
def test_padding_is_not_counted_where_time_steps_have_become_rows(devices):
    def gen(key):
        net = S.FullyConnected(S.reshape(S.var("data"), shape=(-1, 2)), num_hidden=3)
        label = S.reshape(S.var("softmax_label"), shape=(-1,))
        return S.SoftmaxOutput(net, label, name="softmax"), ["data"], ["softmax_label"]

    mod = BucketingModule(gen, 8, context=[mx.cpu(k) for k in range(devices)])
    mod.bind([("data", (ROWS, 8, 2))], [("softmax_label", (ROWS, 8))])
    mod.init_params(mx.init.Uniform())
    values = np.random.RandomState(0).rand(ROWS, 4, 2)
    one = DataBatch([nd.array(values)], [nd.zeros((ROWS, 4))], pad=1, bucket_key=4)
    metric = mx.metric.create("perplexity", ignore_label=None)
    mod.score([one], metric)
    assert metric.num_inst == 12
    assert mod.predict([one]).shape == (12, 3)


@pytest.mark.parametrize("lengths", [(8, 4, 2, 4), (2, 2, 8, 2)])
def test_accumulated_gradients_of_all_buckets_count(lengths):
    settings = {"learning_rate": 0.1}
    mod = BucketingModule(two_layers, 8)
    start = {name: nd.ones(shape) * 0.1 for name, shape in
             (("a_weight", (3, 2)), ("b_weight", (3, 2)), ("a_bias", (3,)), ("b_bias", (3,)))}  # fmt: skip
    mod.fit(Lengths(lengths), num_epoch=1, accumulate=2, optimizer_params=settings, arg_params=start)
    by_hand = module(two_layers, optimizer=False)
    by_hand.set_params(start, {})
    for pair in zip(*[iter(Lengths(lengths).batches)] * 2, strict=True):
        total = {name: 0.0 for name in start}
        for one in pair:
            by_hand.forward_backward(one)
            group = by_hand._curr_module._exec_group
            for name, (grad,) in zip(group.param_names, group.grad_arrays, strict=True):
                total[name] = total[name] + grad.asnumpy()
        params = by_hand.get_params()[0]
        updated = {name: nd.array(params[name].asnumpy() - 0.1 / (2 * ROWS) * total[name]) for name in start}
        by_hand.set_params(updated, {})
    for name in start:
        assert np.allclose(weight(mod, name), weight(by_hand, name), atol=1e-6)


@pytest.mark.parametrize(("before", "after"), [(1, 1), (2, 2), (1, 2), (2, 1)])
def test_a_run_resumes(tmp_path, before, after):
    def trained(prefix, epochs, devices):
        mod = BucketingModule(network, 8, context=[mx.cpu(k) for k in range(devices)])
        mx.random.seed(1)
        mod.fit(Lengths(), num_epoch=epochs, checkpoint=str(tmp_path / prefix))
        return weight(mod)

    whole = trained("whole", 3, before)
    trained("stopped", 1, before)
    found = trained("stopped", 3, after)
    assert np.array_equal(found, whole) if before == after else np.allclose(found, whole, atol=1e-6)


@pytest.mark.parametrize(
    "keys", [(8, 4), ("long", "short"), ((8, 1), (4, 1)), ((8, "a"), (4, "b")), (2**40, 1)]
)
def test_a_checkpoint_resumes_where_training_stopped(tmp_path, keys):
    prefix, settings = str(tmp_path / "net"), {"learning_rate": 0.1, "momentum": 0.9}
    mod = module(key=keys[0], optimizer_params=settings)
    step(mod, batch(4, key=keys[1]))
    mod.save_checkpoint(prefix, 3, save_optimizer_states=True)
    names = [f"net-{key}-symbol.json" for key in keys] + ["net.buckets", "net-0003.params", "net-0003.states"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    again = BucketingModule.load(prefix, 3, network, keys[0], load_optimizer_states=True)
    assert list(again._buckets) == list(keys) and again.params_initialized and not again.binded
    assert np.array_equal(weight(again), weight(mod))
    again.bind([("data", (ROWS, 8, 2))], [("softmax_label", (ROWS,))])
    again.init_optimizer(optimizer_params=settings)
    for each in (mod, again):
        step(each, batch(4, key=keys[1], seed=1))
        step(each, batch(6, key=keys[0], seed=2))
    assert np.array_equal(weight(again), weight(mod))
    mod.save_optimizer_states(str(tmp_path / "states"))
    again.load_optimizer_states(str(tmp_path / "states"))


@pytest.mark.parametrize(
    ("length", "of_file"), [(8, True), (4, False)], ids=["from the file", "from the function"]
)
def test_networks_of_a_file_are_those_that_run(length, of_file, tmp_path):
    prefix = str(tmp_path / "net")
    module().save_checkpoint(prefix, 0)

    def changed(key):
        net = S.FullyConnected(S.sum(S.var("data"), axis=1) * 0, num_hidden=3, name="fullyconnected0")
        return S.SoftmaxOutput(net, name="softmax"), ["data"], ["softmax_label"]

    again = BucketingModule.load(prefix, 0, changed, 8)
    again.bind([("data", (ROWS, 8, 2))], for_training=False)
    again.set_params({"fullyconnected0_weight": nd.array(np.arange(6).reshape(3, 2))}, {}, allow_missing=True)
    again.forward(batch(length))
    assert (np.ptp(again.get_outputs()[0].asnumpy()) > 0) == of_file


def test_the_callback_saves_the_optimizers_states(tmp_path):
    """MXNet takes its third argument for `remove_amp_cast` here."""
    mx.callback.module_checkpoint(module(), str(tmp_path / "net"), save_optimizer_states=True)(0)
    assert (tmp_path / "net-0001.states").exists()


@pytest.mark.parametrize("missing", ["sym_dict", "sym_gen", "default_bucket_key", "arg_params"])
def test_what_load_dict_needs(missing):
    given = {
        "sym_dict": {8: network(8)[0]},
        "sym_gen": network,
        "default_bucket_key": 8,
        "arg_params": {},
        "aux_params": None,
        missing: None,
    }
    with pytest.raises(ValueError, match=f"needs {missing}"):
        BucketingModule.load_dict(**given)


@pytest.mark.parametrize("length", [4, 8, 6])
def test_load_dict(length):
    mod = module()
    given = {4: mod.buckets._make(4).symbol}
    again = BucketingModule.load_dict(given, network, 8, *mod.get_params())
    again.bind([("data", (ROWS, 8, 2))], for_training=False)
    for each in (mod, again):
        each.forward(batch(length), is_train=False)
    assert np.array_equal(again.get_outputs()[0].asnumpy(), mod.get_outputs()[0].asnumpy())
