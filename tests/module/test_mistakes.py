"""Mistakes in calls of a module: their order, data and labels that do not fit, and files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.errors import (
    ArgumentError,
    FormatError,
    MissingFileError,
    MXNetError,
    ParameterError,
    ShapeError,
    StateError,
)

from .classifier import batches, fit, network

ORDER: dict[str, tuple[Callable[[Any], object], str]] = {
    "get_outputs": (lambda mod: mod.get_outputs(), "Module.get_outputs() needs forward() first"),
    "backward": (lambda mod: mod.backward(), "Module.backward() needs forward() first"),
    "update_metric": (
        lambda mod: mod.update_metric(mx.metric.Accuracy(), [mx.nd.zeros((4,))]),
        "Module.update_metric() needs forward() first",
    ),
}


@pytest.mark.parametrize(("call", "text"), ORDER.values(), ids=ORDER)
def test_calls_in_the_wrong_order(call: Callable[[Any], object], text: str) -> None:
    module = mx.mod.Module(network())
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    if text.endswith("get_outputs() needs forward() first"):
        with pytest.raises(StateError) as caught:  # without parameters too
            call(module)
        assert str(caught.value) == text
    module.init_params()
    module.init_optimizer()
    with pytest.raises(StateError) as caught:
        call(module)
    assert str(caught.value) == text
    module.forward_backward(next(batches()))
    call(module)


@pytest.mark.parametrize("ran", ["nothing", "forward", "another bind"])
@pytest.mark.parametrize("devices", [1, 2])
def test_an_update_before_backward_takes_zeros(ran: str, devices: int) -> None:
    module = mx.mod.Module(network(), context=[mx.cpu(i) for i in range(devices)])
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9, "wd": 0.1})
    if ran == "forward":
        module.forward(next(batches()), is_train=True)
    if ran == "another bind":
        module.bind([("data", (4, 4))], [("softmax_label", (4,))], force_rebind=True)
    with pytest.warns(
        UserWarning,
        match=r"Module.update: backward\(\) must run first; it has not run since bind\(\), so the gradients are zeros",
    ):
        module.update()
    with pytest.warns(UserWarning, match="it has not run since bind"):
        module.update()
    weight = module.get_params()[0]["fc1_weight"].asnumpy()
    np.testing.assert_allclose(weight, 0.9711, rtol=1e-5)  # as MXNet 1.9.1 has it after two


def test_the_bucket_and_the_chain_update_before_backward() -> None:
    bucketing = mx.mod.BucketingModule(
        lambda key: (network(), ["data"], ["softmax_label"]), default_bucket_key=1
    )
    chain = mx.mod.SequentialModule().add(mx.mod.Module(network()), take_labels=True)
    for module in (bucketing, chain):
        module.bind([("data", (4, 4))], [("softmax_label", (4,))])
        module.init_params(mx.init.One())
        module.init_optimizer(optimizer_params={"learning_rate": 0.1, "wd": 0.1})
        with pytest.warns(UserWarning, match="Module.update: backward"):
            module.update()
        np.testing.assert_allclose(module.get_params()[0]["fc1_weight"].asnumpy(), 0.99, rtol=1e-6)


def test_gradients_that_a_program_writes_itself_can_be_used() -> None:
    module = mx.mod.Module(network())
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    module.init_params(mx.init.Zero())
    module.init_optimizer(optimizer_params={"learning_rate": 4.0})
    module._exec_group.grad_arrays[0][0][:] = 1
    module.update()
    assert module.get_params()[0]["fc1_weight"][0, 0] == -1


def test_training_on_a_batch_without_labels() -> None:
    module = fit()
    unlabelled = mx.io.DataBatch([mx.nd.ones((4, 4))])
    module.forward(unlabelled, is_train=True)  # as for dropout in predictions
    with pytest.warns(
        UserWarning,
        match=r"the batch must have labels, 'softmax_label'; got none, so the values that the bound",
    ):
        module.backward()
    module.forward_backward(next(batches()))


DATA: dict[str, tuple[Callable[[], object], type[MXNetError], str]] = {
    "another width": (
        lambda: fit().predict(batches(width=6)),
        ShapeError,
        "Module: the data must fit the weights, which are for 'data' (4, 4); got 'data' (4, 6), for which 'fc1_weight' "
        "would have shape (3, 6) instead of (3, 4).",
    ),
    "another width in a second fit": (lambda: fit(fit(), batches(width=6)), ShapeError, "got 'data' (4, 6)"),
    "channels last": (
        lambda: image_module().forward(mx.io.DataBatch([mx.nd.zeros((2, 8, 8, 3))])),
        ShapeError,
        "Are the channels on another axis? x.transpose(0, 3, 1, 2) has the right shape.",
    ),
    "None in a batch": (
        lambda: fit().forward(mx.io.DataBatch([None])),
        ArgumentError,
        "Module.forward: data[0] of the batch, 'data', must be an array; got None",
    ),
    "no data in a batch": (
        lambda: fit().forward(mx.io.DataBatch(None)),
        ShapeError,
        "the batch must hold ['data']; got none",
    ),
    "score(X, Y)": (
        lambda: feed_forward().score(np.ones((4, 4)), np.zeros(4)),
        ArgumentError,
        "FeedForward.score: eval_metric must be a metric; got ndarray. Give labels by name: score(X, y=labels).",
    ),
    "a label outside the classes": (
        lambda: mx.metric.create("ce").update([mx.nd.array([0, 7])], [mx.nd.array([[0.1, 0.9]] * 2)]),
        ParameterError,
        "cross-entropy: labels must be classes from 0 to 1, since there are predictions for 2; got 7 at sample 1",
    ),
    "a metric's function without a return": (
        lambda: fit(eval_metric=lambda label, pred: None),
        ArgumentError,
        "the function must return a number, or a sum and a number of samples; got None. Does it lack a return?",
    ),
    "backward without record": (
        lambda: (mx.nd.ones((2,)) * 2).backward(),
        StateError,
        "Mark them with x.attach_grad(), and compute in a block: with autograd.record(): y = f(x).",
    ),
    "a history that is none": (
        lambda: mx.viz.plot_history([1]),
        ArgumentError,
        "plot_history: history must be what fit() returned, {'train': {metric: [value of each epoch]}, ...}; got [1]",
    ),
    "missing values": (
        lambda: fit(arg_params={"fc1_weigth": mx.nd.ones((3, 4))}),
        ParameterError,
        "'fc1_weight' is not among the given parameters; did you mean 'fc1_weigth'?",
    ),
}


def image_module() -> Any:
    layer = mx.sym.Convolution(mx.sym.var("data"), num_filter=2, kernel=(3, 3), name="c1")
    module = mx.mod.Module(layer, label_names=None)
    module.bind([("data", (2, 3, 8, 8))], for_training=False)
    module.init_params()
    return module


def feed_forward() -> Any:
    model = mx.model.FeedForward(network(), num_epoch=1, numpy_batch_size=4)
    model.fit(np.ones((4, 4)), np.zeros(4), verbosity=0)
    return model


@pytest.mark.parametrize(("call", "error", "text"), DATA.values(), ids=DATA)
def test_data_that_do_not_fit(call: Callable[[], object], error: type[MXNetError], text: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


@pytest.mark.parametrize("wrong", [np.ones((2, 4)), 3, "data"], ids=["array", "number", "key"])
def test_what_is_no_batch(wrong: Any) -> None:
    with pytest.raises(ArgumentError, match=r"a batch must have data, .* go into an io.NDArrayIter"):
        fit().forward(wrong)


def test_fine_tuning_says_what_was_not_given_and_not_used(caplog: pytest.LogCaptureFixture) -> None:
    given = {"fc1_weigth": mx.nd.ones((3, 4)), "fc1_bias": mx.nd.ones((3,)), "old_bias": mx.nd.ones((1,))}
    fit(arg_params=given, allow_missing=True)
    assert caplog.messages == [
        "Module.init_params: not given, so initialized: 'fc1_weight'; given, but not used: 'fc1_weigth' (near "
        "'fc1_weight'), 'old_bias'"
    ]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    module = fit()
    path = str(tmp_path / "none" / "net")
    for save in (
        lambda: module.save_params(f"{path}.params"),
        lambda: module.save_checkpoint(path, 1),
        lambda: module.save_optimizer_states(f"{path}.states"),
        lambda: network().save(f"{path}.json"),
        lambda: mx.nd.save(path, mx.nd.ones((1,))),
    ):
        with pytest.raises(FileNotFoundError) as caught:
            save()
        assert f"the folder {os.path.dirname(path)!r} of" in str(caught.value)
        assert ".tmp" not in str(caught.value)


def test_a_missing_epoch_lists_those_that_there_are(tmp_path: Path) -> None:
    prefix = str(tmp_path / "digits")
    module = fit()
    for epoch in (1, 3):
        module.save_checkpoint(prefix, epoch)
    with pytest.raises(
        FileNotFoundError, match=r"digits-0007.params' must exist. There are files of the epochs 1, 3 "
    ):
        mx.model.load_checkpoint(prefix, 7)
    with pytest.raises(MissingFileError, match=r"There are none of the prefix .*; did you mean 'digits'\?"):
        mx.mod.Module.load(str(tmp_path / "digit"), 1)


def test_a_bad_states_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "net.states"
    path.write_bytes(b"no pickle")
    with pytest.raises(FormatError) as caught:
        fit().load_optimizer_states(str(path))
    assert str(caught.value).startswith(f"{path}: must be a .states file; got what cannot be read")


def test_the_states_of_another_optimizer_are_named(tmp_path: Path) -> None:
    path = str(tmp_path / "net.states")
    fit(optimizer="adam").save_optimizer_states(path)
    module = fit(optimizer_params={"momentum": 0.9})
    module.load_optimizer_states(path)
    with pytest.raises(
        FormatError, match=r"Are the states of another one\? They are from .*net.states; the optimizer is SGD"
    ):
        fit(module)
