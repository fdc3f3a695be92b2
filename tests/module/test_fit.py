"""`fit`, `score`, `predict`: what is called in which order, what is logged, what comes back."""

import logging
import warnings

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind import sym as S
from rebind.io import DataBatch, DataDesc
from rebind.module import BatchEndParam, Module

ROWS = 10
RANDOM = np.random.RandomState(0)
POINTS = RANDOM.rand(ROWS, 4).astype("float32")
CLASSES = (POINTS[:, 0] > POINTS[:, 1]).astype("float32")
NET = S.SoftmaxOutput(S.FullyConnected(S.var("data"), num_hidden=2, name="fc"), name="softmax")


def batches(size=5, points=POINTS, **kwargs):
    return mx.io.NDArrayIter(points, CLASSES[: len(points)], size, **kwargs)


def module(devices=1, net=NET, **kwargs):
    return Module(net, context=[mx.cpu(k) for k in range(devices)], **kwargs)


def fitted(**kwargs):
    mod = module(kwargs.pop("devices", 1))
    mod.fit(batches(), num_epoch=1, **kwargs)
    return mod


@pytest.mark.parametrize("devices", [1, 2])
def test_fit_on_a_fresh_module_learns_and_warns_of_nothing(devices):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        history = module(devices).fit(
            batches(), batches(), num_epoch=30, optimizer_params={"learning_rate": 2.0}
        )
    assert list(history) == ["train", "validation"] and len(history["train"]["accuracy"]) == 30
    assert history["train"]["accuracy"][-1] == 1.0 and history["validation"]["accuracy"][-1] == 1.0


@pytest.mark.parametrize(
    "settings",
    [{}, {"force_rebind": True}, {"force_rebind": True, "force_init": True}],
    ids=["as it is", "force_rebind", "force_init"],
)
def test_fit_may_be_called_twice(settings):  # without a warning: they are errors in the tests
    mod = module()
    mod.fit(batches(), num_epoch=1)
    first = mod.get_params()[0]["fc_weight"].asnumpy()
    mod.fit(batches(), num_epoch=1, **settings)
    assert not np.array_equal(mod.get_params()[0]["fc_weight"].asnumpy(), first)


def test_log_lines(caplog):
    with caplog.at_level(logging.INFO):
        module().fit(batches(), batches(), num_epoch=4, begin_epoch=3)
    lines = [message.split("=")[0] for message in caplog.messages]
    assert lines == ["Epoch[3] Train-accuracy", "Epoch[3] Time cost", "Epoch[3] Validation-accuracy"]
    assert all(part.replace(".", "").isdigit() for part in (m.split("=")[1] for m in caplog.messages))


def test_callbacks_come_in_mxnets_order():
    seen = []
    mod = module()

    def note(name):
        def callback(param):
            assert isinstance(param, BatchEndParam)
            seen.append((name, param.epoch, param.nbatch))
            if name == "batch":
                assert param.locals["self"] is mod and param.locals["nbatch"] == param.nbatch
                assert param.locals["data_batch"].data[0].shape == (5, 4)
                assert (
                    param.locals["eval_metric"] is param.eval_metric and param.locals["epoch"] == param.epoch
                )

        return callback

    def epoch_end(epoch, symbol, arg_params, aux_params):
        seen.append(("epoch", epoch, sorted(arg_params)))
        assert symbol is NET and aux_params == {}
        arg_params["fc_weight"][:] = np.nan  # a copy

    mod.fit(
        batches(),
        batches(),
        num_epoch=4,
        begin_epoch=3,
        batch_end_callback=[note("batch"), note("second")],
        epoch_end_callback=epoch_end,
        eval_batch_end_callback=note("eval batch"),
        eval_end_callback=[note("eval")],
    )
    assert seen == [
        ("batch", 3, 0), ("second", 3, 0), ("batch", 3, 1), ("second", 3, 1),
        ("epoch", 3, ["fc_bias", "fc_weight"]),
        ("eval batch", 3, 0), ("eval batch", 3, 1), ("eval", 3, 2),
    ]  # fmt: skip
    assert not np.isnan(mod.get_params()[0]["fc_weight"].asnumpy()).any()


@pytest.mark.parametrize(
    ("metrics", "train", "validation"),
    [
        pytest.param({}, ["accuracy"], ["accuracy"], id="by default"),
        pytest.param(
            {"eval_metric": ["acc", "ce"]},
            ["accuracy", "cross-entropy"],
            ["accuracy", "cross-entropy"],
            id="several",
        ),
        pytest.param(
            {"eval_metric": ["acc", "ce"], "validation_metric": "mse"},
            ["accuracy", "cross-entropy"],
            ["mse"],
            id="another one for validation",
        ),
    ],
)
def test_metrics_of_training_and_validation(metrics, train, validation):
    history = module().fit(batches(), batches(), num_epoch=2, **metrics)
    assert list(history["train"]) == train and list(history["validation"]) == validation


class Recorder:
    """A monitor, as far as `fit` is concerned."""

    def __init__(self):
        self.seen = []

    def install(self, exe):
        exe.set_monitor_callback(lambda name, array: self.seen.append(name))

    def tic(self):
        self.seen.append("tic")

    def toc_print(self):
        self.seen.append("toc")


def test_a_monitor_hears_of_every_batch():
    monitor = Recorder()
    module().fit(batches(), num_epoch=1, monitor=monitor)
    backward = ["softmax_backward_output0", "fc_backward_output1", "fc_backward_output2"]
    assert monitor.seen == ["tic", "fc_output", "softmax_output", *backward, "toc"] * 2


@pytest.mark.parametrize("devices", [1, 2])
def test_first_values_from_a_larger_checkpoint(devices):
    params = {"fc_weight": nd.ones((2, 4)), "fc_bias": nd.zeros((2,)), "other": nd.ones((1,))}
    mod = module(devices)
    mod.fit(
        batches(),
        num_epoch=1,
        arg_params=params,
        aux_params={"more": nd.ones((1,))},
        optimizer_params={"learning_rate": 0},
    )
    assert mod.get_params()[0]["fc_weight"].asnumpy().tolist() == np.ones((2, 4)).tolist()


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("rows", [2, 8], ids=["smaller", "larger"])
def test_bound_to_another_batch_size_before(rows, devices):
    mod = module(devices)
    mod.bind([("data", (rows, 4))], [("softmax_label", (rows,))])
    mod.fit(batches(), num_epoch=1)
    assert mod.data_shapes == [("data", (5, 4))]


class Plain:
    """What only has descriptions and can be iterated."""

    provide_data = [("data", (5, 4))]
    provide_label = [("softmax_label", (5,))]

    def __iter__(self):
        for begin in (0, 5):
            rows = slice(begin, begin + 5)
            yield DataBatch([nd.array(POINTS[rows])], [nd.array(CLASSES[rows])])


def test_an_iterator_may_be_a_generator_with_descriptions():
    history = module().fit(Plain(), Plain(), num_epoch=2)
    assert len(history["validation"]["accuracy"]) == 2
    mod = fitted()
    assert mod.predict(iter(Plain())).shape == (10, 2)
    assert len(mod.score(iter(Plain()), "acc")) == 1


class Once(Plain):
    def __init__(self):
        self.left = super().__iter__()

    def __iter__(self):
        return self.left


@pytest.mark.parametrize(
    ("data", "settings", "error", "says"),
    [
        (Once(), {"num_epoch": 2}, RuntimeError, "fit: train_data must yield at least one batch in epoch 1"),
        (
            POINTS,
            {"num_epoch": 1},
            TypeError,
            r"train_data: arrays need labels for 'softmax_label'; give \(x, y\), or x and y=",
        ),
        (batches(), {}, ValueError, "num_epoch must be given"),
        (
            batches(),
            {"num_epoch": 1, "arg_params": {"fc_weight": nd.ones((2, 4))}},
            RuntimeError,
            "'fc_bias' is not among the given parameters",
        ),
    ],
    ids=["data that are used up", "an array", "no number of epochs", "a missing parameter"],
)
def test_fit_refuses(data, settings, error, says):
    with pytest.raises(error, match=says):
        module().fit(data, **settings)


def test_batches_cut_already():
    class Cut(Plain):
        def __iter__(self):
            for whole in super().__iter__():
                yield [
                    DataBatch([whole.data[0][cut]], [whole.label[0][cut]])
                    for cut in (slice(0, 2), slice(2, 5))
                ]

    found, wanted = ({}, {})
    for data, into in ((Cut(), found), (Plain(), wanted)):
        mod = module(2)
        mx.random.seed(1)
        into["history"] = mod.fit(data, data, num_epoch=2, progress=False)
        into["weight"] = mod.get_params()[0]["fc_weight"].asnumpy()
    assert found["history"] == wanted["history"] and np.array_equal(found["weight"], wanted["weight"])


@pytest.mark.parametrize("devices", [2, 3])
def test_auxiliary_states_of_devices_agree_after_an_epoch(devices):
    net = S.SoftmaxOutput(
        S.BatchNorm(S.FullyConnected(S.var("data"), num_hidden=2, name="fc"), name="bn"), name="softmax"
    )
    mod = module(devices, net)
    mod.fit(batches(), num_epoch=1)
    first, *others = (exe.aux_dict["bn_moving_mean"].asnumpy() for exe in mod._exec_group.execs)
    assert first.any() and len(others) == devices - 1
    assert all(np.array_equal(first, other) for other in others)


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("size", [5, 4, 8])
def test_score_does_not_count_padding(devices, size):
    mod = fitted(devices=devices)
    predicted = mod.predict(batches(size)).asnumpy().argmax(axis=1)
    metric = mx.metric.create("acc")
    assert mod.score(batches(size), metric) == [("accuracy", np.mean(predicted == CLASSES))]
    assert metric.num_inst == ROWS


@pytest.mark.parametrize(("num_batch", "taken"), [(1, 1), (3, 3), (None, 5)])
def test_score_measures_a_number_of_batches(num_batch, taken):
    mod, data, metric = fitted(), batches(2), mx.metric.create("acc")
    seen = []
    mod.score(
        data,
        metric,
        num_batch=num_batch,
        batch_end_callback=seen.append,
        score_end_callback=seen.append,
        epoch=7,
    )
    assert metric.num_inst == 2 * taken
    assert [(p.epoch, p.nbatch) for p in seen] == [(7, k) for k in range(taken + 1)]
    assert len(list(data)) == max(4 - taken, 0)  # one more is taken, as in MXNet


def test_score_without_a_reset_takes_the_rest():
    mod, data, metric = fitted(), batches(2), mx.metric.create("acc")
    next(data)
    mod.score(data, metric, reset=False)
    assert metric.num_inst == 8


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(lambda: batches(5), id="whole batches"),
        pytest.param(lambda: batches(4), id="a padded batch"),
        pytest.param(lambda: batches(8), id="a batch of mostly padding"),
        pytest.param(lambda: POINTS, id="a NumPy array"),
        pytest.param(lambda: nd.array(POINTS), id="an NDArray"),
        pytest.param(lambda: POINTS.astype("float64"), id="float64"),
    ],
)
def test_predict(data, devices):
    mod = fitted(devices=devices)
    expected = mod.predict(batches(10)).asnumpy()
    assert np.allclose(expected.sum(axis=1), 1)
    assert np.allclose(mod.predict(data()).asnumpy(), expected)


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize(
    ("settings", "taken", "left"),
    [
        pytest.param({"num_batch": 2}, 2, 2, id="some batches"),
        pytest.param({"reset": False}, 4, 0, id="the rest"),
    ],
)
def test_predict_a_number_of_batches(settings, taken, left, devices):
    mod, data = fitted(devices=devices), batches(2)
    next(data)
    assert mod.predict(data, **settings).shape == (2 * taken, 2) and len(list(data)) == left
    assert mod.predict(data, num_batch=0) == []


@pytest.mark.parametrize("devices", [1, 2])
def test_predict_gives_a_list_where_asked(devices):
    mod = fitted(devices=devices)
    expected = mod.predict(batches(10)).asnumpy()
    by_batch = mod.predict(batches(4), merge_batches=False)
    assert [[out.shape for out in outputs] for outputs in by_batch] == [[(4, 2)], [(4, 2)], [(2, 2)]]
    assert np.allclose(np.concatenate([outputs[0].asnumpy() for outputs in by_batch]), expected)
    assert [out.shape for out in mod.predict(batches(4), always_output_list=True)] == [(10, 2)]
    assert np.allclose(mod.predict(POINTS[:4], always_output_list=True)[0].asnumpy(), expected[:4])


@pytest.mark.parametrize("devices", [1, 2])
def test_iter_predict_yields_arrays_that_stay(devices):
    mod = fitted(devices=devices)
    results = list(mod.iter_predict(batches(4)))
    assert [(outputs[0].shape, nbatch, batch.pad) for outputs, nbatch, batch in results] == [
        ((4, 2), 0, 0), ((4, 2), 1, 0), ((2, 2), 2, 2),
    ]  # fmt: skip
    found = np.concatenate([outputs[0].asnumpy() for outputs, _, _ in results])
    assert np.allclose(found, mod.predict(batches(10)).asnumpy())


@pytest.mark.parametrize(
    ("net", "expected"),
    [
        pytest.param(S.Dropout(S.var("data"), p=0.5), [POINTS], id="dropout is off"),
        pytest.param(
            S.Group([S.var("data") * 2, S.sum(S.var("data"), axis=1)]),
            [POINTS * 2, POINTS.sum(axis=1)],
            id="several outputs are a list",
        ),
    ],
)
@pytest.mark.parametrize("data", [POINTS, mx.io.NDArrayIter(POINTS, batch_size=4)], ids=["array", "iterator"])
def test_what_prediction_gives(net, expected, data):
    mod = module(net=net, label_names=None)
    mod.bind([DataDesc("data", (5, 4))])
    mod.init_params()
    found = mod.predict(data)
    for one, other in zip(found if len(expected) > 1 else [found], expected, strict=True):
        assert np.allclose(one.asnumpy(), other)


def test_outputs_of_other_numbers_cannot_be_joined():
    class Changing(Module):
        def get_outputs(self, merge_multi_context=True):
            self.count = getattr(self, "count", 0) + 1
            return super().get_outputs() * self.count

        @property
        def output_names(self):
            return ["softmax_output"] * (getattr(self, "count", 0) + 1)

        def output_axes(self):
            return [0] * (getattr(self, "count", 0) + 1)

    mod = Changing(NET)
    mod.bind([("data", (5, 4))], for_training=False)
    mod.init_params()
    with pytest.raises(ValueError, match=r"different numbers of outputs .* merge_batches=False"):
        mod.predict(batches())


def test_speedometer_does_not_spoil_the_figures_of_the_epoch(caplog):
    seen = []
    with caplog.at_level(logging.INFO):
        history = module().fit(
            batches(1),
            num_epoch=1,
            batch_end_callback=[
                mx.callback.Speedometer(1, 3),
                lambda p: seen.append(p.eval_metric.get_global()[1]),
            ],
        )
    assert history["train"]["accuracy"] == [seen[-1]]
    assert any("Speed:" in message for message in caplog.messages)
