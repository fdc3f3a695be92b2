"""`predict` and `score` of FeedForward: which weights, which shapes, which rows."""

import logging

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind import sym as S
from rebind.model import FeedForward

ROWS = 10
POINTS = np.random.RandomState(0).rand(ROWS, 3).astype("float32")
CLASSES = (POINTS[:, 0] > POINTS[:, 1]).astype("float32")
FC = S.FullyConnected(S.var("data"), num_hidden=2, name="fc")
NET = S.SoftmaxOutput(FC, name="softmax")


def params(value=1.0):
    return {"fc_weight": nd.full((2, 3), value), "fc_bias": nd.array([0.0, value])}


def model(net=FC, value=1.0, **kwargs):
    return FeedForward(net, numpy_batch_size=4, arg_params=params(value), **kwargs)


def batches(size=4, **kwargs):
    return mx.io.NDArrayIter(POINTS, CLASSES, size, **kwargs)


def expected(value=1.0):
    return POINTS @ np.full((3, 2), value, "float32") + np.array([0.0, value], "float32")


@pytest.mark.parametrize("data", [POINTS, nd.array(POINTS), batches(), batches(3), batches(40)])
def test_rows_without_padding(data):
    found = model().predict(data)
    assert isinstance(found, np.ndarray) and np.allclose(found, expected())


def test_several_outputs_are_a_list():
    found = model(S.Group([FC, S.sum(FC, axis=1)])).predict(POINTS)
    assert isinstance(found, list) and [each.shape for each in found] == [(ROWS, 2), (ROWS,)]


@pytest.mark.parametrize("data", [batches(), batches(3), batches(40), POINTS])
def test_the_data_too(data):
    out, points, labels = model().predict(data, return_data=True)
    assert np.allclose(out, expected()) and np.array_equal(points, POINTS)
    assert labels is None if data is POINTS else np.array_equal(labels, CLASSES)


def test_several_data_and_labels_are_lists():
    several = mx.io.NDArrayIter({"data": POINTS, "more": POINTS * 2}, {"a": CLASSES, "b": CLASSES}, 4)
    net = FC + S.slice_axis(S.var("more"), axis=1, begin=0, end=2)
    _, data, labels = model(net).predict(several, return_data=True)
    assert [each.shape for each in data] == [(ROWS, 3)] * 2
    assert [each.shape for each in labels] == [(ROWS,)] * 2


@pytest.mark.parametrize(
    ("arguments", "taken"),
    [
        ({"X": batches(), "num_batch": 2}, slice(0, 8)),
        ({"X": POINTS, "num_batch": 1}, slice(0, 4)),
    ],
    ids=["iterator", "array"],
)
def test_some_batches(arguments, taken):
    assert np.allclose(model().predict(**arguments), expected()[taken])


@pytest.mark.parametrize("used", [1, 2])
def test_the_rest_without_a_reset(used):
    data = batches()
    model().predict(data, num_batch=used)
    assert np.allclose(model().predict(data, reset=False), expected()[4 * used :])


@pytest.mark.parametrize("net", [FC, S.Group([FC, FC * 2])])
def test_a_callback_gets_the_batches(net):
    seen = []
    assert model(net).predict(batches(), callback=seen.append) is None
    first = seen if net is FC else [each[0] for each in seen]
    assert [len(each) for each in first] == [4, 4, 2] and np.allclose(np.concatenate(first), expected())
    with pytest.raises(ValueError, match="return_data and callback exclude each other"):
        model(net).predict(POINTS, callback=seen.append, return_data=True)


def test_the_newest_weights_unless_overwrite_is_false():
    made = model()
    made.predict(POINTS)
    bound = made._predictor
    made.arg_params = params(3.0)
    assert np.allclose(made.predict(POINTS, overwrite=False), expected())
    assert np.allclose(made.predict(POINTS), expected(3.0)) and made._predictor is bound
    made.arg_params["fc_bias"][:] = 9
    assert np.allclose(made.predict(POINTS) - expected(3.0), [9, 6])


def test_after_a_second_fit():
    made = model(NET, num_epoch=1, learning_rate=1.0)
    found = []
    for _ in range(2):
        made.fit(POINTS, CLASSES)
        found.append(made.predict(POINTS))
        assert np.array_equal(FeedForward(NET, arg_params=made.arg_params).predict(POINTS), found[-1])
    assert not np.allclose(*found)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda made: made.predict(POINTS, overwrite=False),
            r"overwrite=False the shapes must be those of the bound predictor, data \(2, 3\); got data",
        ),
        (lambda made: made.score(batches(), overwrite=False), "overwrite=False"),
    ],
    ids=["predict", "score"],
)
def test_other_shapes(call, says):
    made = model()
    made.predict(POINTS)
    assert made.predict(POINTS[:2]).shape == (2, 2)
    with pytest.raises(ValueError, match=says):
        call(made)


def test_what_binding_took_is_logged(caplog):
    made = model()
    with caplog.at_level(logging.INFO):
        made.predict(POINTS)
        made.predict(POINTS[:3], verbosity=1)
        made.predict(POINTS[:3], verbosity=1)
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("FeedForward.predict: bound to data (3, 3) in ")


@pytest.mark.parametrize("devices", [[0], [1, 0], [2, 1, 0]])
def test_the_first_device_predicts(devices):
    made = model(ctx=[mx.cpu(k) for k in devices])
    made.predict(POINTS)
    assert made._predictor.module._context == [mx.cpu(devices[0])]


@pytest.mark.parametrize("what", ["predict", "score"])
@pytest.mark.parametrize(
    ("net", "arg_params", "says"),
    [
        pytest.param(NET, None, r"{what}\(\) needs weights; call fit\(\), init_model\(\) or load", id="all"),
        pytest.param(
            NET,
            {"fc_weight": nd.ones((2, 3))},
            r"parameters without values, \['fc_bias'\]; call fit\(\)",
            id="a parameter",
        ),
        pytest.param(
            S.BatchNorm(S.var("data"), name="bn"),
            {"bn_gamma": nd.ones((3,)), "bn_beta": nd.ones((3,))},
            "auxiliary states without values",
            id="auxiliary states",
        ),
    ],
)
def test_weights_must_be_there(what, net, arg_params, says):
    with pytest.raises(mx.MXNetError, match=says.replace("{what}", what)):
        getattr(FeedForward(net, arg_params=arg_params), what)(batches())


def test_weights_that_the_network_lacks():
    made = FeedForward(FC, arg_params={**params(), "other": nd.ones((1,))})
    with pytest.raises(ValueError, match=r"no parameters \['other'\]. Set allow_extra_params=True"):
        made.predict(POINTS)
    made.allow_extra_params = True
    assert np.allclose(made.predict(POINTS), expected())


@pytest.mark.parametrize("data", [POINTS, batches()], ids=["no labels", "labels of another name"])
def test_a_network_with_labels_predicts_without_them(data):
    assert np.allclose(model(S.LinearRegressionOutput(FC, name="lro")).predict(data), expected())


def test_labels_that_the_output_hangs_on_are_used():
    net = S.sum(S.square(S.broadcast_sub(FC, S.reshape(S.var("softmax_label"), shape=(-1, 1)))), axis=1)
    found = model(net).predict(batches())
    assert np.allclose(found, ((expected() - CLASSES[:, None]) ** 2).sum(1), rtol=1e-5)


@pytest.mark.parametrize(
    "arguments",
    [*({"X": batches(size)} for size in (3, 4, 10, 40)), {"X": POINTS, "y": CLASSES}],
    ids=["3", "4", "10", "40", "arrays"],
)
def test_score_counts_no_padding(arguments):
    truth = (expected().argmax(1) == CLASSES).mean()
    assert model(NET).score(**arguments) == pytest.approx(truth)
    assert model(NET).score(**arguments, eval_metric=["acc", "acc"]) == [pytest.approx(truth)] * 2


def test_score_of_some_batches_with_callbacks():
    seen = []
    value = model(NET).score(batches(), "acc", 2, lambda param: seen.append((param.epoch, param.nbatch)))
    assert seen == [(0, 0), (0, 1)] and value == (expected().argmax(1) == CLASSES)[:8].mean()


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        (POINTS, ValueError, "score: y must be given when X is an array"),
        (
            "points",
            TypeError,
            r"score: X must be an iterator .* arrays \(x, y\), or an iterable .*; got str",
        ),
    ],
    ids=["an array", "a string"],
)
def test_data_that_score_refuses(data, error, says):
    with pytest.raises(error, match=says):
        model(NET).score(data)


def test_another_network_is_bound_again():
    made = model()
    made.predict(POINTS)
    made.symbol = FC * 2
    assert np.allclose(made.predict(POINTS), 2 * expected())


@pytest.mark.parametrize(("dtype", "rtol"), [("float16", 1e-2), ("float64", 1e-6)])
def test_other_types(dtype, rtol):
    made = FeedForward(FC, arg_params={name: each.astype(dtype) for name, each in params().items()})
    found = made.predict(nd.array(POINTS, dtype=dtype))
    assert found.dtype == dtype and np.allclose(found, expected(), rtol=rtol)
