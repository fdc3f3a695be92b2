"""`SequentialModule`, point by point; what it computes is compared with MXNet in tests/parity/test_modules.py."""

import re
import warnings

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind import sym as S
from rebind.io import DataBatch, NDArrayIter
from rebind.module import BucketingModule, Module, PythonLossModule, SequentialModule

WIRED = {"auto_wiring": True, "take_labels": True}


def body(hidden=4, name="body", data="data", **kwargs):
    net = S.FullyConnected(S.var(data), num_hidden=hidden, name=name)
    return Module(net, data_names=[data], label_names=None, **kwargs)


def head(data="data", **kwargs):
    net = S.FullyConnected(S.var(data), num_hidden=3, name="head")
    return Module(S.SoftmaxOutput(net, name="softmax"), data_names=[data], **kwargs)


def chain(*links, devices=1):
    context = [mx.cpu(k) for k in range(devices)]
    made = SequentialModule()
    for module, options in links or ((body(context=context), {}), (head(context=context), WIRED)):
        made.add(module, **options)
    return made


def ready(made=None, rows=4, optimizer=True, devices=1, **kwargs):
    made = made or chain(devices=devices)
    made.bind([("data", (rows, 5))], [("softmax_label", (rows,))], **kwargs)
    made.init_params(mx.init.Constant(0.1))
    if optimizer:
        made.init_optimizer(optimizer_params={"learning_rate": 0.5})
    return made


def batch(rows=4, seed=0):
    random = np.random.RandomState(seed)
    return DataBatch([nd.array(random.rand(rows, 5))], [nd.array(random.randint(0, 3, rows))])


def step(made, one):
    made.forward_backward(one)
    made.update()


@pytest.mark.parametrize("devices", [1, 2, 4])
def test_one_symbol_and_a_chain_learn_the_same(devices):
    made = ready(devices=devices)
    hidden = S.FullyConnected(S.var("data"), num_hidden=4, name="body")
    whole = Module(S.SoftmaxOutput(S.FullyConnected(hidden, num_hidden=3, name="head"), name="softmax"))
    ready(whole)
    for seed in range(3):
        for each in (made, whole):
            step(each, batch(seed=seed))
    for name, value in whole.get_params()[0].items():
        assert np.allclose(made.get_params()[0][name].asnumpy(), value.asnumpy(), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("binded", True),
        ("params_initialized", True),
        ("optimizer_initialized", True),
        ("data_names", ["data"]),
        ("output_names", ["softmax_output"]),
        ("data_shapes", [("data", (4, 5))]),
        ("label_shapes", [("softmax_label", (4,))]),
        ("output_shapes", [("softmax_output", (4, 3))]),
    ],
)
def test_what_a_chain_reports(name, expected):
    assert getattr(ready(), name) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("data_names", []), ("output_names", []), ("symbol", None), ("binded", False)]
)
def test_what_an_empty_chain_reports(name, expected):
    assert getattr(SequentialModule(), name) == expected


def test_a_module_that_is_added_unbinds_the_chain():
    made = SequentialModule()
    assert made.add(body()) is made
    made.add(head(), take_labels=True, auto_wiring=True)
    ready(made)
    assert list(made.get_params()[0]) == ["body_weight", "body_bias", "head_weight", "head_bias"]
    made.add(body(name="more"), auto_wiring=True)
    assert not made.binded and not made.params_initialized and not made.optimizer_initialized
    assert "SequentialModule of [<Module body_output" in repr(made)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda made: made.add(body(), take_label=True),
            TypeError,
            "no parameter 'take_label'; did you mean 'take_labels'?",
        ),
        (lambda made: made.add(3), TypeError, "module must be a BaseModule; got int"),
        (lambda made: made.bind([("data", (4, 5))]), mx.MXNetError, "bind() needs add() first"),
    ],
)
def test_bad_arguments(call, error, says):
    made = SequentialModule()
    with pytest.raises(error, match=re.escape(says)):
        call(made)
    assert made._modules == []  # MXNet adds the module all the same


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        pytest.param(
            lambda made: made.forward([batch()]),
            TypeError,
            "a batch must have data, a list of arrays; got list",
            id="a batch",
        ),
        pytest.param(
            lambda made: made.set_params({"body_weight": nd.ones((4, 5))}, {}),
            RuntimeError,
            "'body_bias' is not among the given parameters",
            id="parameters",
        ),
    ],
)
def test_what_a_chain_refuses(call, error, says):
    with pytest.raises(error, match=says):
        call(ready())


def bound():
    made = chain()
    made.bind([("data", (4, 5))], [("softmax_label", (4,))])
    return made


def for_prediction():
    made = ready(optimizer=False)
    made.bind([("data", (4, 5))], for_training=False, force_rebind=True)
    return made


CALLS = {
    "init_params": (),
    "init_optimizer": (),
    "forward": (batch(),),
    "backward": (),
    "get_params": (),
    "get_outputs": (),
    "get_input_grads": (),
    "update_metric": (mx.metric.create("acc"), batch().label),
    "install_monitor": (None,),
    "clear_gradients": (),
    "run_state": (),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_that_need_bind(name):
    with pytest.raises(mx.MXNetError, match=rf"SequentialModule\.{name}\(\) needs bind\(\) first"):
        getattr(chain(), name)(*CALLS[name])


@pytest.mark.parametrize("name", ["data_shapes", "label_shapes", "output_shapes"])
def test_properties_that_need_bind(name):
    with pytest.raises(mx.MXNetError, match=rf"SequentialModule\.{name} needs bind\(\) first"):
        getattr(chain(), name)


@pytest.mark.parametrize(
    "name", ["init_optimizer", "forward", "backward", "get_params", "get_outputs", "update_metric"]
)
def test_calls_that_need_parameters(name):
    with pytest.raises(mx.MXNetError, match=rf"SequentialModule\.{name}\(\) needs init_params\(\) first"):
        getattr(bound(), name)(*CALLS[name])


@pytest.mark.parametrize(
    ("make", "name", "says"),
    [
        (lambda: ready(optimizer=False), "update", "update() needs init_optimizer() first"),
        (lambda: ready(optimizer=False), "get_input_grads", "needs bind(inputs_need_grad=True)"),
        (for_prediction, "backward", "backward() needs bind(for_training=True)"),
    ],
    ids=["update", "get_input_grads", "backward"],
)
def test_calls_in_the_wrong_order_name_what_is_missing(make, name, says):
    with pytest.raises(mx.MXNetError, match=re.escape(says)):
        getattr(make(), name)()


def test_outputs_go_to_inputs_of_their_names():
    made = ready(chain((body(), {}), (head("body_output"), {"take_labels": True})))
    step(made, batch())
    assert made._modules[1].data_shapes == [("body_output", (4, 4))]


TWO_OUTPUTS = S.Group([S.identity(S.var("data"), name=name) for name in "ab"])


@pytest.mark.parametrize(
    ("links", "says"),
    [
        (
            ((body(), {}), (head(), {"take_labels": True})),
            "module 1 has the inputs ['data']; the outputs before it are ['body_output']. Add it with auto_wiring",
        ),
        (
            ((Module(TWO_OUTPUTS, label_names=None), {}), (head(), WIRED)),
            "module 1 has the inputs ['data']; got 2 arrays for them, ['a_output', 'b_output']",
        ),
    ],
    ids=["other names", "one output too many"],
)
def test_wires_that_lead_nowhere(links, says):
    made = chain(*links)
    with pytest.raises(ValueError, match=re.escape(says)):
        made.bind([("data", (4, 5))], [("softmax_label", (4,))])
    assert not made.binded


def test_names_of_parameters_must_differ():
    made = chain((body(), {}), (body(), {"auto_wiring": True}))
    made.bind([("data", (4, 4))])
    with pytest.raises(ValueError, match="'body_weight' is in module 0 and in module 1"):
        made.init_params()


def test_labels_that_nobody_takes():
    made = chain((body(), {}), (head(), {"auto_wiring": True}))
    with pytest.warns(UserWarning, match=r"module 1 has the labels \['softmax_label'\], which stay zero"):
        made.bind([("data", (4, 5))], [("softmax_label", (4,))])
    assert made.label_shapes is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made.bind([("data", (4, 5))], [("softmax_label", (4,))], for_training=False, force_rebind=True)


def test_several_modules_take_labels():
    scores = S.FullyConnected(S.var("data"), num_hidden=3, name="body")
    first = Module(S.Group([S.SoftmaxOutput(scores, name="softmax"), S.identity(scores, name="scores")]))
    last = PythonLossModule(data_names=["scores_output"], grad_func=lambda given, labels: given * 0)
    second = Module(S.identity(S.var("scores_output") + 0 * S.var("softmax_output"), name="scores"),
                    data_names=["softmax_output", "scores_output"], label_names=None)  # fmt: skip
    made = ready(chain((first, {"take_labels": True}), (second, {}), (last, {"take_labels": True})))
    metric = mx.metric.create("loss")
    step(made, batch())
    made.update_metric(metric, batch().label)
    assert metric.num_inst == 4 * 3 * 2 + 4 * 3  # both outputs of the first, and those of the last
    assert made.label_shapes == [("softmax_label", (4,))]


def test_types_and_batch_axes_reach_the_next_module():
    time_major = S.transpose(S.var("data"), axes=(1, 0, 2), name="turned")
    time_major._set_attr(__layout__="TNC")
    first = Module(time_major, label_names=None, context=[mx.cpu(0), mx.cpu(1)])
    second = Module(
        S.sum(S.var("data"), axis=0, name="total"), label_names=None, context=[mx.cpu(0), mx.cpu(1)]
    )
    made = chain((first, {}), (second, {"auto_wiring": True}))
    made.bind([mx.io.DataDesc("data", (4, 3, 2), "float64")], for_training=False)
    made.init_params()
    data = np.arange(24.0).reshape(4, 3, 2)
    made.forward(DataBatch([nd.array(data, dtype="float64")], []))
    out = made.get_outputs()[0]
    assert out.dtype is np.float64 and np.array_equal(out.asnumpy(), data.sum(axis=1))
    assert second.data_shapes[0].layout == "TNC"


@pytest.mark.parametrize("devices", [1, 2])
def test_a_forced_bind_leaves_parameters_as_they_are(devices):
    made = ready(devices=devices)
    step(made, batch())
    before = made.get_params()[0]["head_weight"].asnumpy()
    made.bind([("data", (2, 5))], [("softmax_label", (2,))], force_rebind=True)
    assert made.output_shapes == [("softmax_output", (2, 3))]
    assert np.array_equal(made.get_params()[0]["head_weight"].asnumpy(), before)
    step(made, batch(2))


@pytest.mark.parametrize(
    ("kwargs", "says"),
    [
        (dict(for_training=False, inputs_need_grad=True), "inputs_need_grad=True needs for_training=True"),
        (dict(shared_module=body()), "shared_module must be None"),
    ],
)
def test_what_bind_refuses(kwargs, says):
    with pytest.raises(ValueError, match=says):
        chain().bind([("data", (4, 5))], **kwargs)


@pytest.mark.parametrize("devices", [1, 2])
def test_gradients_of_the_inputs(devices):
    made, single = ready(inputs_need_grad=True, devices=devices), ready(inputs_need_grad=True)
    for each in (made, single):
        each.forward_backward(batch())
    (grad,), (expected,) = made.get_input_grads(), single.get_input_grads()
    assert grad.shape == (4, 5) and grad.asnumpy().any()
    assert np.allclose(grad.asnumpy(), expected.asnumpy(), atol=1e-6)


@pytest.mark.parametrize("devices", [1, 2])
def test_gradients_that_are_added_up_are_those_of_parameters(devices):
    made = ready(grad_req="add", optimizer=False, devices=devices)
    single = ready(optimizer=False, devices=devices)
    for _ in range(2):
        made.forward_backward(batch())
    single.forward_backward(batch())
    for mine, its in zip(made._modules, single._modules, strict=True):
        for grads, once in zip(mine._exec_group.grad_arrays, its._exec_group.grad_arrays, strict=True):
            for k in range(devices):
                assert np.allclose(grads[k].asnumpy(), 2 * once[k].asnumpy(), atol=1e-6)
    made.clear_gradients()
    assert not any(grad.asnumpy().any() for grad in made._modules[0]._exec_group.grad_arrays[0])


def test_head_gradients():
    made = chain((body(), {}))
    made.bind([("data", (4, 5))])
    made.init_params(mx.init.One())
    made.forward(DataBatch([nd.ones((4, 5))], []))
    made.backward([nd.ones((4, 4))])
    assert (made._modules[0]._exec_group.grad_arrays[0][0].asnumpy() == 4).all()


@pytest.mark.parametrize(
    ("call", "warning"),
    [
        pytest.param(
            lambda made: made.bind([("data", (2, 5))]),
            r"SequentialModule\.bind: already bound",
            id="bind",
        ),
        pytest.param(
            lambda made: made.init_params(mx.init.Zero()),
            r"SequentialModule\.init_params.*force_init=True",
            id="init_params",
        ),
        pytest.param(
            lambda made: made.init_optimizer(optimizer="adam"),
            r"SequentialModule\.init_optimizer.*force_init=True",
            id="init_optimizer",
        ),
    ],
)
def test_a_second_call_changes_nothing_and_warns(call, warning):
    made = ready()
    with pytest.warns(UserWarning, match=warning):
        call(made)
    assert made.data_shapes == [("data", (4, 5))]
    assert np.allclose(made.get_params()[0]["head_weight"].asnumpy(), 0.1)
    assert all(isinstance(module._optimizer, mx.optimizer.SGD) for module in made._modules)


def test_another_optimizer_is_that_of_all_modules():
    made = ready()
    made.init_optimizer(optimizer="adam", force_init=True)
    assert all(isinstance(module._optimizer, mx.optimizer.Adam) for module in made._modules)


def test_modules_that_have_parameters_are_not_initialised_again():
    first = body()
    first.bind([("data", (4, 5))])
    first.init_params(mx.init.Constant(7))
    made = chain((first, {}), (head(), WIRED))
    made.bind([("data", (4, 5))], [("softmax_label", (4,))])
    made.init_params(mx.init.One())
    params = made.get_params()[0]
    assert (params["body_weight"].asnumpy() == 7).all() and (params["head_weight"].asnumpy() == 1).all()


@pytest.mark.parametrize("devices", [1, 2])
def test_parameters_are_set_and_saved(devices, tmp_path):
    made, path = ready(devices=devices), str(tmp_path / "it.params")
    made.save_params(path)
    step(made, batch())
    made.load_params(path)
    assert np.allclose(made.get_params()[0]["head_weight"].asnumpy(), 0.1)


def test_one_optimizer_object_counts_each_parameter_by_itself():
    """In MXNet parameters of different modules share a number, and so a count and a multiplier."""
    optimizer = mx.optimizer.create("adam", learning_rate=0.1, rescale_grad=0.25)
    optimizer.set_lr_mult({"head_weight": 0.0})
    made, named = ready(optimizer=False), ready(optimizer=False)
    made.init_optimizer(optimizer=optimizer)
    named.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.1})
    for seed in range(3):
        for each in (made, named):
            step(each, batch(seed=seed))
        assert optimizer.num_update == seed + 1
        if seed == 0:
            found, expected = (each.get_params()[0]["body_weight"].asnumpy() for each in (made, named))
            assert np.allclose(found, expected, atol=1e-6)
    assert np.allclose(made.get_params()[0]["head_weight"].asnumpy(), 0.1)
    assert not np.allclose(named.get_params()[0]["head_weight"].asnumpy(), 0.1)


@pytest.mark.parametrize("rows", [2, 6, 4])
def test_batches_of_other_sizes(rows):
    made, one = ready(), batch(rows)
    made.forward(one, is_train=False)
    assert made.get_outputs()[0].shape == (rows, 3) and len(one.data) == 1 and one.data[0].shape == (rows, 5)
    assert made.get_outputs(merge_multi_context=False)[0][0].shape == (rows, 3)


def data(rows=10, size=4):
    random = np.random.RandomState(1)
    x = random.rand(rows, 5).astype("float32")
    return NDArrayIter(x, (x[:, 0] > 0.5).astype("float32"), size)


@pytest.mark.parametrize("devices", [1, 2])
def test_fit_score_and_predict(devices):
    mx.random.seed(1)
    context = [mx.cpu(k) for k in range(devices)]
    made = chain(
        (body(name="one", context=context), {}),
        (body(name="two", context=context), {"auto_wiring": True}),
        (head(context=context), WIRED),
    )
    history = made.fit(
        data(),
        num_epoch=20,
        eval_metric="ce",
        initializer=mx.init.Xavier(),
        optimizer_params={"learning_rate": 0.5},
    )
    losses = history["train"]["cross-entropy"]
    assert losses[-1] < losses[0]
    metric = mx.metric.create("acc")
    made.score(data(), metric)
    assert metric.num_inst == 10  # padding is not counted
    assert made.predict(data()).shape == (10, 3)


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize(("size", "accumulate"), [(2, 2), (2, 4), (4, 2)])
def test_gradients_of_several_batches(size, accumulate, devices):
    def trained(made, size, **kwargs):
        made.fit(data(8, size), num_epoch=2, initializer=mx.init.Constant(0.1), **kwargs)
        return made.get_params()[0]["body_weight"].asnumpy()

    found = trained(chain(devices=devices), size, accumulate=accumulate)
    assert np.allclose(found, trained(chain(), size * accumulate), atol=1e-6)


@pytest.mark.parametrize("devices", [1, 2])
def test_buckets_in_a_chain(devices):
    def network(key):
        return S.FullyConnected(S.sum(S.var("data"), axis=1), num_hidden=4, name="body"), ["data"], None

    context = [mx.cpu(k) for k in range(devices)]
    made = chain((BucketingModule(network, 8, context=context), {}), (head(context=context), WIRED))
    made.bind([("data", (4, 8, 2))], [("softmax_label", (4,))])
    made.init_params(mx.init.Constant(0.1))
    made.init_optimizer(optimizer=mx.optimizer.create("sgd", learning_rate=0.1, rescale_grad=0.25))
    for length in (8, 3, 8):
        step(made, DataBatch([nd.ones((4, length, 2))], [nd.ones((4,))], bucket_key=length))
    assert list(made._modules[0]._buckets) == [8, 3]


class Monitor:
    def __init__(self):
        self.installed = []

    def install(self, executor):
        self.installed.append(executor)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_monitor_watches_all_modules(devices):
    made, monitor = ready(devices=devices), Monitor()
    made.install_monitor(monitor)
    assert len(monitor.installed) == 2 * devices
