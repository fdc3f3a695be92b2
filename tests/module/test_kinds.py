"""What holds for modules of every kind: resuming, scaled losses, gradients over several batches, what a run is of."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind import sym as S
from rebind.checkpoint import Checkpoint
from rebind.contrib import amp
from rebind.contrib.svrg_optimization import SVRGModule
from rebind.errors import StateError

Kind = Callable[[], Any]

RANDOM = np.random.RandomState(5)
POINTS = RANDOM.randn(24, 4).astype("float32")
TARGETS = (POINTS @ np.array([1.0, -2.0, 0.5, 1.5]) + 0.5).astype("float32")
WEIGHTS = {
    "hidden_weight": RANDOM.randn(3, 4).astype("float32"),
    "hidden_bias": RANDOM.randn(3).astype("float32"),
    "out_weight": RANDOM.randn(1, 3).astype("float32"),
    "out_bias": RANDOM.randn(1).astype("float32"),
}


def hidden(data: str = "data") -> Any:
    return S.tanh(S.FullyConnected(S.var(data), num_hidden=3, name="hidden"), name="hidden_act")


def out(below: Any) -> Any:
    return S.FullyConnected(below, num_hidden=1, name="out")


def loss(below: Any) -> Any:
    return S.LinearRegressionOutput(below, S.var("label"), name="lro")


def plain(devices: int = 1, kind: Any = mx.mod.Module, **settings: Any) -> Any:
    context = [mx.cpu(k) for k in range(devices)]
    return kind(loss(out(hidden())), label_names=["label"], context=context, **settings)


def bucketing() -> Any:
    return mx.mod.BucketingModule(
        lambda key: (loss(out(hidden())), ["data"], ["label"]), default_bucket_key=4
    )


def chain() -> Any:
    made = mx.mod.SequentialModule()
    made.add(mx.mod.Module(hidden(), label_names=None))
    top = mx.mod.Module(loss(out(S.var("below"))), data_names=["below"], label_names=["label"])
    return made.add(top, take_labels=True, auto_wiring=True)


def chain_with_a_loss_in_python() -> Any:
    made = mx.mod.SequentialModule()
    made.add(mx.mod.Module(out(hidden()), label_names=None))
    python = mx.mod.PythonLossModule(
        label_names=["label"], grad_func=lambda scores, labels: scores - labels.reshape((-1, 1))
    )
    return made.add(python, take_labels=True, auto_wiring=True)


KINDS: dict[str, Kind] = {
    "one device": plain,
    "two devices": lambda: plain(2),
    "bucketing": bucketing,
    "chain": chain,
    "chain in a chain": lambda: mx.mod.SequentialModule().add(chain(), take_labels=True),
    "chain with a loss in Python": chain_with_a_loss_in_python,
    "SVRG": lambda: plain(kind=SVRGModule, update_freq=2),
    "SVRG on two devices": lambda: plain(2, kind=SVRGModule, update_freq=2),
}


def data(rows: int = 4, **settings: Any) -> Any:
    return mx.io.NDArrayIter(POINTS, TARGETS, rows, label_name="label", **settings)


def fit(module: Any, rows: int = 4, **changed: Any) -> dict[str, bytes]:
    """Train from the same start; return the weights."""
    settings: dict[str, Any] = {
        "num_epoch": 3,
        "eval_metric": "mse",
        "optimizer_params": {"learning_rate": 0.05, "momentum": 0.9},
        "arg_params": {name: mx.nd.array(value) for name, value in WEIGHTS.items()},
        "aux_params": {},
        "progress": False,
        **changed,
    }
    np.random.seed(2)
    module.fit(settings.pop("data", None) or data(rows, shuffle=True), **settings)
    return {name: value.asnumpy().tobytes() for name, value in module.get_params()[0].items()}


def values(weights: dict[str, bytes]) -> dict[str, np.ndarray]:
    return {name: np.frombuffer(value, "float32") for name, value in weights.items()}


class Kill(BaseException):
    """What nothing catches."""


def kill_at(epoch: int, nbatch: int) -> Callable[[Any], None]:
    def callback(param: Any) -> None:
        if (param.epoch, param.nbatch) == (epoch, nbatch):
            raise Kill

    return callback


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_a_killed_run_ends_as_one_that_was_not(make: Kind, tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "run", every_n_batches=2)
    for position in ((0, 3), (1, 0), (2, 4)):
        with pytest.raises(Kill):
            fit(make(), checkpoint=checkpoint, batch_end_callback=kill_at(*position))
    assert fit(make(), checkpoint=checkpoint) == fit(make())


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_a_run_resumes_after_its_epochs(make: Kind, tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    fit(make(), checkpoint=run, num_epoch=1)
    assert fit(make(), checkpoint=run) == fit(make())


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_a_run_of_other_networks_is_refused(make: Kind, tmp_path: Path) -> None:
    fit(make(), checkpoint=str(tmp_path / "run"), num_epoch=1)
    other = mx.mod.SequentialModule()
    other.add(mx.mod.Module(S.relu(out(S.var("data"))), label_names=None))
    top = S.LinearRegressionOutput(S.var("below"), S.var("label"))
    other.add(
        mx.mod.Module(top, data_names=["below"], label_names=["label"]), take_labels=True, auto_wiring=True
    )
    with pytest.raises(StateError, match="is a run of another network"):
        fit(other, checkpoint=str(tmp_path / "run"), arg_params=None, aux_params=None)


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_scaled_losses_give_the_same_weights(make: Kind) -> None:
    scaled = make()
    scaler = amp.LossScaler(2.0**10, scale_window=7)  # powers of two are exact, and it changes on the way
    amp.init_trainer(scaled, scaler)
    assert fit(scaled) == fit(make())
    assert scaler.loss_scale > 2.0**10 and scaler.skipped == 0


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_an_overflow_leaves_all_weights_alone(make: Kind) -> None:
    module, scaler = make(), amp.LossScaler(2.0**10)
    amp.init_trainer(module, scaler)
    before = fit(module)
    one = next(iter(data()))
    module.forward_backward(one)
    module.scaled_gradients()[0][0][:] = np.inf  # of the first parameter alone
    updates = scaler.state_dict()["skipped"]
    module.update()
    assert scaler.state_dict()["skipped"] == updates + 1
    assert {name: value.asnumpy().tobytes() for name, value in module.get_params()[0].items()} == before


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_gradients_can_be_unscaled_before_the_update(make: Kind) -> None:
    found = []
    for scale in (None, 2.0**8):
        module = make()
        if scale is not None:
            amp.init_trainer(module, amp.LossScaler(scale))
        fit(module, num_epoch=1, optimizer_params={"learning_rate": 0.05})
        module.forward_backward(next(iter(data())))
        if scale is not None:
            amp.unscale(module)
        found.append([[each.asnumpy().tolist() for each in grads] for grads in module.scaled_gradients()])
        module.update()
        found[-1].append({name: value.asnumpy().tobytes() for name, value in module.get_params()[0].items()})
    assert found[0] == found[1]


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_gradients_over_two_batches_are_those_of_a_large_one(make: Kind) -> None:
    small = fit(make(), rows=2, accumulate=2, data=data(2))
    large = fit(make(), rows=4, data=data(4))
    for name, value in values(large).items():
        np.testing.assert_allclose(values(small)[name], value, rtol=2e-4, atol=1e-6, err_msg=name)


def test_a_module_of_a_chain_cannot_scale_by_itself() -> None:
    top = mx.mod.Module(loss(out(S.var("below"))), data_names=["below"], label_names=["label"])
    amp.init_trainer(top)
    made = mx.mod.SequentialModule().add(mx.mod.Module(hidden(), label_names=None))
    made.add(top, take_labels=True, auto_wiring=True)
    with pytest.raises(StateError, match=r"module 1 scales its own losses.*whole chain to amp\.init_trainer"):
        fit(made)


def test_a_snapshot_that_overflows_is_taken_again_with_half_of_the_scale() -> None:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="out")
    net = amp.convert_symbol(loss(net), "float16")
    module = SVRGModule(net, label_names=["label"], update_freq=2)
    scaler = amp.LossScaler(2.0**24)
    amp.init_trainer(module, scaler)
    module.bind(data().provide_data, data().provide_label)
    module.init_params(arg_params={"out_weight": mx.nd.zeros((1, 4))}, aux_params={})
    module.init_optimizer()
    module.update_full_grads(data())
    assert 0 < scaler.skipped < 24
    full = -(POINTS * TARGETS[:, None]).sum(0) / 6  # of six batches; the weights are zero
    np.testing.assert_allclose(module._param_dict[0]["out_weight"].asnumpy()[0], full, rtol=1e-2)


def test_a_bucketing_run_resumes_the_states_of_every_bucket(tmp_path: Path) -> None:
    def network(rows: int) -> Any:
        state = S.var("state", shape=(rows, 1))
        return loss(out(hidden()) + state), ["data"], ["label"]

    def made() -> Any:
        module = mx.mod.BucketingModule(network, default_bucket_key=4, state_names=["state"])
        module.bind([("data", (4, 4))], [("label", (4,))])
        module.init_params()
        module.init_optimizer()
        return module

    module = made()
    for rows in (4, 2):
        module.forward(
            mx.io.DataBatch([mx.nd.ones((rows, 4))], [mx.nd.ones((rows,))], bucket_key=rows), is_train=False
        )
        module.set_states(value=rows)
    checkpoint = Checkpoint(tmp_path / "run")
    checkpoint.save(mx.checkpoint.Position(1, 0), {"module": module.run_state()})
    again = made()
    again.load_run_state(checkpoint.newest()[1]["module"])
    assert again._curr_bucket_key == 4 and sorted(again._buckets) == [2, 4]
    for rows in (2, 4):
        again.switch_bucket(rows, [("data", (rows, 4))])
        assert (again.get_states()[0].asnumpy() == rows).all()


@pytest.mark.parametrize(
    "kind", [*(getattr(mx.mod, name) for name in mx.mod.__all__ if "Module" in name), SVRGModule]
)
def test_the_line_of_a_class_is_short(kind: type) -> None:
    assert len(kind.__mro__) <= 4  # with `object`


def test_what_a_module_of_buckets_hands_on_has_the_signature_of_modules() -> None:
    handed_on = {
        name: each
        for name, each in vars(mx.mod.BucketingModule).items()
        if inspect.isfunction(each) and hasattr(each, "__wrapped__") and name != "__init__"
    }
    assert len(handed_on) > 20
    for name, method in handed_on.items():
        assert inspect.signature(method) == inspect.signature(getattr(mx.mod.Module, name))
        assert inspect.getdoc(getattr(mx.mod.BucketingModule, name))
