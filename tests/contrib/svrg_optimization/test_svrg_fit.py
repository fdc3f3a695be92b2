"""SVRGModule in `fit`: the same as by hand, over devices and stores, accumulated, killed, saved."""

import logging
import re
import warnings

import numpy as np
import pytest

import rebind as mx
from rebind.contrib.svrg_optimization import SVRGModule
from rebind.io import DataBatch
from rebind.module import Module

from .svrg_runs import (
    BATCH,
    INITIAL,
    LABEL,
    POINTS,
    ROWS,
    TARGETS,
    arrays,
    assert_same,
    batches,
    fitted,
    initial,
    module,
    network,
    plain_gradients,
    total_gradients,
    weights,
)


def by_hand(epochs, update_freq, learning_rate=0.1, begin_epoch=0):
    """SVRG in NumPy, on gradients of a plain module."""
    current = dict(INITIAL)
    for epoch in range(begin_epoch, epochs):
        if epoch == begin_epoch or epoch % update_freq == 0:
            snapshot, full = dict(current), total_gradients(current)
        for batch in batches():
            now, then = plain_gradients(current, batch), plain_gradients(snapshot, batch)
            current = {
                name: value - learning_rate / BATCH * (now[name] - then[name] + full[name])
                for name, value in current.items()
            }
    return current


@pytest.mark.parametrize("begin_epoch", [0, 3])
@pytest.mark.parametrize("update_freq", [1, 2])
def test_fit(update_freq, begin_epoch):
    mod = fitted(mod=module(update_freq=update_freq), begin_epoch=begin_epoch, num_epoch=begin_epoch + 3)
    expected = by_hand(begin_epoch + 3, update_freq, begin_epoch=begin_epoch)
    assert_same(weights(mod), expected, rtol=1e-4)


@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize("kvstore", [None, "local", "device"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_several_devices_give_what_one_gives(devices, kvstore, optimizer):
    settings = {"optimizer": optimizer, "optimizer_params": {"learning_rate": 0.05, "wd": 0.01}}
    assert_same(weights(fitted(devices, kvstore=kvstore, **settings)), weights(fitted(**settings)), rtol=1e-4)


def test_gradients_are_summed_in_a_store_that_does_not_update(monkeypatch):
    monkeypatch.setenv("MXNET_KVSTORE_BIGARRAY_BOUND", "3")
    mod = fitted(2)
    assert mod._kvstore is not None and not mod._update_on_kvstore
    assert_same(weights(mod), weights(fitted()), rtol=1e-4)


@pytest.mark.parametrize("name", ["fullyconnected0", "a_full", "out_full"])
@pytest.mark.parametrize("devices", [1, 2])
def test_names_with_full_in_them_train(name, devices):
    renamed = {key.replace("hidden", name): value for key, value in initial().items()}
    mod = fitted(mod=module(devices, net=network(hidden=name)), arg_params=renamed)
    found = {key.replace(name, "hidden"): value for key, value in weights(mod).items()}
    assert_same(found, weights(fitted()), rtol=1e-4)


def test_a_parameter_that_is_called_as_anothers_full_gradient():
    weight, bias = (mx.sym.var(name, init=mx.init.One()) for name in ("w", "w_full"))
    net = mx.sym.FullyConnected(mx.sym.var("data"), weight=weight, bias=bias, num_hidden=1)
    net = mx.sym.LinearRegressionOutput(net, name="lro")
    runs = [fitted(mod=module(devices, net=net), arg_params=None) for devices in (1, 2)]
    assert_same(weights(runs[1]), weights(runs[0]))
    assert not np.array_equal(weights(runs[0])["w_full"], np.ones(1))


@pytest.mark.parametrize("devices", [1, 2])
def test_fixed_parameters_stay(devices):
    mod = fitted(mod=module(devices, fixed_param_names=["hidden_weight"]))
    found = weights(mod)
    np.testing.assert_array_equal(found["hidden_weight"], INITIAL["hidden_weight"])
    assert not np.array_equal(found["hidden_bias"], INITIAL["hidden_bias"])
    assert "hidden_weight" not in mod._param_dict[0]


def test_dropout_and_moving_averages():
    net = mx.sym.BatchNorm(mx.sym.var("data"), name="bn", fix_gamma=False)
    net = mx.sym.FullyConnected(mx.sym.Dropout(net, p=0.5), num_hidden=1, name="fc")
    mod = fitted(
        mod=module(net=mx.sym.LinearRegressionOutput(net, name="lro")),
        arg_params=None,
        optimizer_params={"learning_rate": 0.01},
    )
    moving = arrays(mod.get_params()[1])
    np.testing.assert_allclose(moving["bn_moving_mean"], 0.8 * POINTS.mean(axis=0), atol=0.2)
    assert np.isfinite(weights(mod)["fc_weight"]).all()


class Watched(mx.io.NDArrayIter):
    """Batches that note who takes them."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self.seen = []

    def reset(self):
        super().reset()
        self.seen.append("reset")

    def next(self):
        batch = super().next()
        self.seen.append("batch")
        return batch


def test_fit_logs_and_calls_as_module_does(caplog):
    runs = []
    for mod in (module(), Module(network(), label_names=[LABEL])):
        data = Watched(POINTS, TARGETS, 11, label_name=LABEL)
        caplog.clear()
        with caplog.at_level(logging.INFO):
            fitted(
                mod=mod,
                data=data,
                eval_data=batches(),
                num_epoch=3,
                batch_end_callback=lambda param: data.seen.append(f"batch {param.epoch} {param.nbatch}"),  # noqa: B023
                epoch_end_callback=lambda epoch, *_: data.seen.append(f"epoch {epoch}"),  # noqa: B023
                eval_end_callback=lambda param: data.seen.append(f"validated {param.epoch}"),  # noqa: B023
            )
        lines = [re.sub(r"=.*", "", message) for message in caplog.messages]
        runs.append((lines, [entry for entry in data.seen if entry not in ("reset", "batch")], data.seen))
    assert runs[0][0] == runs[1][0]
    assert runs[0][1] == runs[1][1]
    first = ["reset", "batch", "batch", "reset", "batch", "batch 0 0", "batch", "batch 0 1", "epoch 0"]
    assert runs[0][2][: len(first)] == first  # the order of MXNet
    third = ["validated 1", "reset", "batch", "batch", "reset", "batch", "batch 2 0"]
    start = runs[0][2].index("validated 1")
    assert runs[0][2][start : start + len(third)] == third


@pytest.mark.parametrize("devices", [1, 2])
def test_fit_again_takes_a_snapshot_again(devices):
    mod = fitted(devices, num_epoch=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted(mod=mod, begin_epoch=1, num_epoch=2)
    assert not np.array_equal(weights(mod._mod_aux)["out_bias"], INITIAL["out_bias"])


@pytest.mark.parametrize(("size", "accumulate"), [(5, 2), (5, 4), (10, 2), (2, 5)])
def test_accumulated_gradients_are_those_of_a_larger_batch(size, accumulate):
    def trained(size, **settings):
        return weights(
            fitted(data=mx.io.NDArrayIter(POINTS[:20], TARGETS[:20], size, label_name=LABEL), **settings)
        )

    small, large = trained(size, accumulate=accumulate), trained(size * accumulate)
    assert_same(small, large, rtol=1e-4)
    assert not np.allclose(small["out_weight"], trained(4)["out_weight"])


class Kill(BaseException):
    """What nothing catches."""


class Stateless:
    """Batches that cannot report their position in the data; each `reset` decides the order again."""

    def __init__(self, points, targets, size, shuffle, label_name):
        plain = mx.io.NDArrayIter(points, targets, size, label_name=label_name)
        self.provide_data, self.provide_label = plain.provide_data, plain.provide_label
        self.size = size
        self.reset()

    def reset(self):
        self.rest = np.split(np.random.permutation(ROWS - ROWS % self.size), ROWS // self.size)

    def __iter__(self):
        while self.rest:
            rows = self.rest.pop()
            yield DataBatch([mx.nd.array(POINTS[rows])], [mx.nd.array(TARGETS[rows])])


@pytest.mark.parametrize(
    ("devices", "accumulate", "iterator"),
    [(1, 1, mx.io.NDArrayIter), (2, 1, mx.io.NDArrayIter), (2, 3, mx.io.NDArrayIter), (1, 1, Stateless)],
)
def test_a_killed_run_ends_as_one_that_was_not(devices, accumulate, iterator, tmp_path):
    def run(checkpoint, stop=None):
        def batch_end(param):
            if (param.epoch, param.nbatch) == stop:
                raise Kill

        mx.random.seed(5)
        np.random.seed(6)
        return fitted(
            mod=module(devices, net=network(dropout=0.3), update_freq=2),
            data=iterator(POINTS, TARGETS, BATCH, shuffle=True, label_name=LABEL),
            begin_epoch=1,
            num_epoch=5,
            optimizer_params={"learning_rate": 0.05, "momentum": 0.9},
            checkpoint=checkpoint,
            batch_end_callback=batch_end,
            accumulate=accumulate,
        )

    whole = weights(run(None))
    checkpoint = mx.checkpoint.Checkpoint(str(tmp_path / "run"), every_n_batches=1)
    for stop in ((1, 1), (2, 0), (3, 1), (4, 0)):
        with pytest.raises(Kill):
            run(checkpoint, stop)
    again = weights(run(checkpoint))
    for name, value in whole.items():
        np.testing.assert_array_equal(again[name], value, err_msg=name)


@pytest.mark.parametrize("devices", [1, 2])
def test_saved_and_loaded(devices, tmp_path):
    settings = {"learning_rate": 0.1, "momentum": 0.9}
    mod = fitted(devices, optimizer_params=settings)
    mod.save_checkpoint(str(tmp_path / "net"), 4, save_optimizer_states=True)
    data, context = batches(), [mx.cpu(k) for k in range(devices)]
    loaded = SVRGModule.load(
        str(tmp_path / "net"), 4, True, label_names=[LABEL], context=context, update_freq=3
    )
    assert isinstance(loaded, SVRGModule) and loaded.update_freq == 3
    loaded.bind(data.provide_data, data.provide_label)
    loaded.init_optimizer(optimizer_params=settings)
    assert_same(weights(loaded), weights(mod))
    for each in (loaded, mod):
        each.update_full_grads(data)
        each.forward_backward(next(batches()))
        each.update()
    assert_same(weights(loaded), weights(mod))
    plain = SVRGModule.load(str(tmp_path / "net"), 4, label_names=[LABEL])
    assert type(plain) is Module
