"""What people meet when they make a mistake: each message, in a table of the mistakes of one kind."""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.checks import check_numbers
from rebind.errors import (
    LONGEST_MESSAGE,
    ArgumentError,
    FormatError,
    MissingFileError,
    MXNetError,
    NameLookupError,
    ParameterError,
    ShapeError,
    StateError,
    shown,
)


def network(name: str = "softmax", *, loss: bool = True) -> Any:
    scores = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc1")
    return mx.sym.SoftmaxOutput(scores, name=name) if loss else scores


def batches(width: int = 4, labels: Any = (0, 1, 2, 0, 1, 2, 0, 1), label_name: str = "softmax_label") -> Any:
    x = np.arange(8 * width, dtype="float32").reshape(8, width) / 100
    y = None if labels is None else np.array(labels, "float32")
    return mx.io.NDArrayIter(x, y, 4, label_name=label_name)


def fit(module: Any = None, data: Any = None, **settings: Any) -> Any:
    module = mx.mod.Module(network()) if module is None else module
    module.fit(batches() if data is None else data, **{"num_epoch": 1, **settings})
    return module


# Numbers given as text.

TEXT: dict[str, tuple[Callable[[], object], str]] = {
    "learning_rate": (lambda: fit(optimizer_params={"learning_rate": "0.1"}), "SGD: learning_rate"),
    "momentum": (lambda: fit(optimizer_params={"momentum": "0.9"}), "SGD: momentum"),
    "wd": (lambda: mx.optimizer.create("adam", wd="1e-4"), "Adam: wd"),
    "beta1": (lambda: mx.optimizer.create("adam", beta1="0.9"), "Adam: beta1"),
    "clip_gradient": (lambda: mx.optimizer.create("nag", clip_gradient="1"), "NAG: clip_gradient"),
    "set_learning_rate": (
        lambda: mx.optimizer.create("sgd").set_learning_rate("1"),
        "SGD.set_learning_rate: lr",
    ),
    "num_epoch": (lambda: fit(num_epoch="3"), "fit: num_epoch"),
    "begin_epoch": (lambda: fit(begin_epoch="0"), "fit: begin_epoch"),
    "accumulate": (lambda: fit(accumulate="2"), "fit: accumulate"),
    "batch_size": (lambda: mx.io.NDArrayIter(np.ones((2, 2)), batch_size="2"), "NDArrayIter: batch_size"),
    "size": (lambda: mx.io.ResizeIter(batches(), "2"), "ResizeIter: size"),
    "Speedometer": (lambda: mx.callback.Speedometer("32"), "Speedometer: batch_size"),
    "frequent": (lambda: mx.callback.Speedometer(32, "10"), "Speedometer: frequent"),
    "period": (lambda: mx.callback.do_checkpoint("net", "2"), "do_checkpoint: period"),
    "patience": (lambda: mx.callback.EarlyStopping(patience="2"), "EarlyStopping: patience"),
    "min_delta": (lambda: mx.callback.EarlyStopping(min_delta="0.1"), "EarlyStopping: min_delta"),
    "decay": (lambda: mx.callback.ExponentialMovingAverage("0.9"), "ExponentialMovingAverage: decay"),
    "step": (lambda: mx.lr_scheduler.FactorScheduler("10"), "FactorScheduler: step"),
    "steps": (lambda: mx.lr_scheduler.MultiFactorScheduler([5, "10"]), "MultiFactorScheduler: step[1]"),
    "base_lr": (lambda: mx.lr_scheduler.PolyScheduler(10, base_lr="0.1"), "PolyScheduler: base_lr"),
    "final_lr": (lambda: mx.lr_scheduler.CosineScheduler(10, final_lr="0.1"), "CosineScheduler: final_lr"),
    "scale": (lambda: mx.init.Uniform("0.1"), "Uniform: scale"),
    "sigma": (lambda: mx.init.Normal("0.1"), "Normal: sigma"),
    "magnitude": (lambda: mx.init.Xavier(magnitude="2"), "Xavier: magnitude"),
    "top_k": (lambda: mx.metric.TopKAccuracy("5"), "TopKAccuracy: top_k"),
    "ignore_label": (lambda: mx.metric.Perplexity("0"), "Perplexity: ignore_label"),
}


@pytest.mark.parametrize(("call", "who"), TEXT.values(), ids=TEXT)
def test_a_number_given_as_text(call: Callable[[], object], who: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert str(caught.value).startswith(f"{who} must be a number; got the text '")
    assert "type=float" in str(caught.value)


def test_numbers_of_every_optimizer_are_checked() -> None:
    for name, kind in mx.optimizer.Optimizer.opt_registry._entries.items():
        fields = getattr(kind, "__dataclass_fields__", {})
        for setting in [each for each, field in fields.items() if field.type in ("float", "float | None")]:
            needed = {"momentum": 0.9} if name == "test" and "momentum" in fields else {}
            with pytest.raises(ParameterError, match=f"{setting} must be a number; got the text 'x'"):
                mx.optimizer.create(name, **{**needed, setting: "x"})


def test_argparse_without_type_is_what_the_message_is_about() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", default=0.1)
    with pytest.raises(ParameterError, match=r"got the text '0\.5'"):
        mx.optimizer.create("sgd", learning_rate=parser.parse_args(["--lr", "0.5"]).lr)
    check_numbers("SGD", learning_rate=np.float32(0.5), momentum=None)


# Classes instead of instances, and unknown names.

CLASSES: dict[str, tuple[Callable[[], object], str]] = {
    "callback": (
        lambda: fit(batch_end_callback=mx.callback.Speedometer),
        "fit: batch_end_callback must be an instance; got the class Speedometer. Call it: Speedometer(...).",
    ),
    "callback in a list": (
        lambda: fit(epoch_end_callback=[mx.callback.ProgressBar]),
        "fit: epoch_end_callback must be an instance; got the class ProgressBar",
    ),
    "initializer": (
        lambda: fit(initializer=mx.init.Xavier),
        "init_params: initializer must be an instance; got the class Xavier",
    ),
    "FeedForward": (
        lambda: mx.model.FeedForward(
            network(), num_epoch=1, initializer=mx.init.Xavier, numpy_batch_size=4
        ).fit(np.ones((4, 4)), np.zeros(4)),
        "FeedForward: initializer must be an instance; got the class Xavier",
    ),
    "Mixed": (
        lambda: mx.init.Mixed([".*"], [mx.init.Xavier]),
        "Mixed: the initializer of '.*' must be an instance; got the class Xavier",
    ),
    "var": (
        lambda: mx.sym.var("w", init=mx.init.Xavier),
        "sym.var: init of 'w' must be an instance; got the class Xavier",
    ),
    "scheduler": (
        lambda: fit(optimizer_params={"lr_scheduler": mx.lr_scheduler.FactorScheduler}),
        "got the class FactorScheduler. Make one, as lr_scheduler.FactorScheduler(...).",
    ),
    "optimizer": (
        lambda: fit(optimizer=mx.optimizer.SGD),
        "Module.init_optimizer: optimizer must be an instance; got the class SGD",
    ),
    "monitor": (
        lambda: fit(monitor=mx.mon.Monitor),
        "fit: monitor must be an instance; got the class Monitor",
    ),
    "data": (
        lambda: fit(data=mx.io.NDArrayIter),
        "fit: train_data must be an instance; got the class NDArrayIter",
    ),
}


@pytest.mark.parametrize(("call", "text"), CLASSES.values(), ids=CLASSES)
def test_a_class_instead_of_an_instance(call: Callable[[], object], text: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        call()
    assert text in str(caught.value)


def test_a_class_of_metrics_is_made() -> None:  # as MXNet's documentation has it
    assert fit(eval_metric=mx.metric.Accuracy).binded


NAMES: dict[str, tuple[Callable[[], object], str]] = {
    "initializer": (lambda: fit(initializer="xaviar"), "no initializer 'xaviar'; did you mean 'xavier'?"),
    "optimizer": (lambda: fit(optimizer="sgdd"), "no optimizer 'sgdd'; did you mean 'sgd'"),
    "metric": (lambda: fit(eval_metric="acuracy"), "no metric 'acuracy'; did you mean 'accuracy'"),
    "scheduler": (
        lambda: fit(optimizer_params={"lr_scheduler": "cosin"}),
        "got 'cosin'. Make one, as lr_scheduler.CosineScheduler(...).",
    ),
    "callback": (lambda: fit(batch_end_callback="speedometer"), "must be a function, or a list of functions"),
    "setting": (
        lambda: fit(optimizer_params={"lr": 0.1}),
        "optimizer 'sgd': no setting 'lr'; did you mean 'learning_rate'? Settings: begin_num_update,",
    ),
    "setting of another library": (
        lambda: mx.optimizer.create("adam", weight_decay=0.1),
        "did you mean 'wd'?",
    ),
}


@pytest.mark.parametrize(("call", "text"), NAMES.values(), ids=NAMES)
def test_an_unknown_name(call: Callable[[], object], text: str) -> None:
    with pytest.raises((NameLookupError, ArgumentError)) as caught:
        call()
    assert text in str(caught.value)


def test_settings_of_an_optimizer_are_listed_without_what_the_module_gives() -> None:
    with pytest.raises(ArgumentError) as caught:
        mx.optimizer.create("sgd", rate=1)
    listed = str(caught.value)
    for internal in ("param_idx2name", "sym", "state_type", "aggregate_num", "master_first", "param_dict"):
        assert internal not in listed


def test_an_initializer_may_be_a_name() -> None:
    assert (
        fit(initializer="ones", optimizer_params={"learning_rate": 0}).get_params()[0]["fc1_weight"][0, 0]
        == 1
    )


# Callbacks, labels and metrics: before the first batch.

BEFORE: dict[str, tuple[Callable[[Any], object], type[MXNetError], str]] = {
    "EarlyStopping after a batch": (
        lambda mod: fit(mod, batch_end_callback=mx.callback.EarlyStopping()),
        ArgumentError,
        "fit: batch_end_callback must not be EarlyStopping. Give it as eval_end_callback.",
    ),
    "EarlyStopping without a validation": (
        lambda mod: fit(mod, eval_end_callback=mx.callback.EarlyStopping()),
        ParameterError,
        "fit: EarlyStopping watches a validation, and there is none; give eval_data",
    ),
    "Speedometer after an epoch": (
        lambda mod: fit(mod, epoch_end_callback=mx.callback.Speedometer(4)),
        ArgumentError,
        "Give it as batch_end_callback or eval_batch_end_callback.",
    ),
    "do_checkpoint after a batch": (
        lambda mod: fit(mod, batch_end_callback=mx.callback.do_checkpoint("net")),
        ArgumentError,
        "fit: batch_end_callback must not be do_checkpoint. Give it as epoch_end_callback.",
    ),
    "a function of the wrong arguments": (
        lambda mod: fit(mod, epoch_end_callback=lambda param: None),
        ArgumentError,
        "fit: epoch_end_callback must take (epoch, symbol, arg_params, aux_params)",
    ),
    "a callback of FeedForward": (
        lambda mod: fit(mod, batch_end_callback=mx.callback.BatchCallback(print)),
        ArgumentError,
        "Give it as callbacks of FeedForward.fit.",
    ),
    "checkpoints in a missing folder": (
        lambda mod: fit(mod, epoch_end_callback=mx.callback.do_checkpoint("none/such/net")),
        MissingFileError,
        "fit: epoch_end_callback: the folder 'none/such' of 'none/such/net' must exist",
    ),
    "the best checkpoint in a missing folder": (
        lambda mod: fit(mod, eval_data=batches(), eval_end_callback=mx.callback.BestCheckpoint("none/net")),
        MissingFileError,
        "the folder 'none' of 'none/net' must exist",
    ),
    "a run in a missing folder": (
        lambda mod: fit(mod, checkpoint="none/net"),
        MissingFileError,
        "fit: checkpoint: the folder 'none' of 'none/net' must exist",
    ),
    "labels that count from 1": (
        lambda mod: fit(mod, batches(labels=(1, 2, 3, 1, 2, 3, 1, 2))),
        ParameterError,
        "fit: labels of 'softmax' must be classes from 0 to 2; got 3 at index 2 of 'softmax_label' (2 of 8 labels are "
        "outside). Do they count from 1",
    ),
    "no labels for the default metric": (
        lambda mod: fit(
            mx.mod.Module(mx.sym.identity(network(loss=False)), label_names=None), batches(labels=None)
        ),
        ParameterError,
        "fit: eval_metric 'accuracy' compares outputs with labels, and the batches have none",
    ),
    "MakeLoss with the default metric": (
        lambda mod: fit(
            mx.mod.Module(mx.sym.MakeLoss(network(loss=False)), label_names=None), batches(labels=None)
        ),
        ParameterError,
        "Give eval_metric='loss', since the outputs are losses.",
    ),
    "a loss of another name": (
        lambda mod: fit(mx.mod.Module(network("sm"), label_names=["data2"][:0]), batches()),
        ParameterError,
        "Module.init_params: 'sm_label' is the label of 'sm', and label_names must hold it; got []. Give "
        "Module(..., label_names=['sm_label'])",
    ),
}


@pytest.mark.parametrize(("call", "error", "text"), BEFORE.values(), ids=BEFORE)
def test_before_the_first_batch(
    call: Callable[[Any], object], error: type[MXNetError], text: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    module = mx.mod.Module(network())
    trained = []
    monkeypatch.setattr(mx.mod.Module, "forward_backward", lambda self, batch: trained.append(batch))
    with pytest.raises(error) as caught:
        call(module)
    assert text in str(caught.value) and not trained


def test_a_loss_of_another_name_with_the_default_label_names() -> None:
    with pytest.warns(UserWarning, match="no argument 'softmax_label'; did you mean 'sm_label'"):
        module = mx.mod.Module(network("sm"))
    with pytest.raises(ParameterError, match=r"label_names must hold it; got \['softmax_label'\]"):
        fit(module)


WARNED: dict[str, tuple[Callable[[], object], str]] = {
    "no epochs": (
        lambda: fit(num_epoch=3, begin_epoch=3),
        "nothing is trained: begin_epoch must be below num_epoch",
    ),
    "a validation callback": (
        lambda: fit(eval_end_callback=lambda param: None),
        "fit: eval_end_callback is never called, since there is no validation; give eval_data",
    ),
    "MakeLoss with the default metric": (
        lambda: fit(
            mx.mod.Module(mx.sym.MakeLoss(mx.sym.sum(network(loss=False), axis=1)), label_names=None)
        ),
        "the outputs are losses (MakeLoss). Give eval_metric='loss'.",
    ),
    "negative labels": (
        lambda: fit(data=batches(labels=(0, 1, -1, 0, 1, 2, 0, 1))),
        "got -1 at index 2 of 'softmax_label' (1 of 8 labels are outside). If negative labels are to be ignored",
    ),
    "lr_mult": (
        lambda: fit(optimizer=with_multiplier("set_lr_mult")),
        "set_lr_mult: no parameter 'fc1_weigth'; did you mean 'fc1_weight'?",
    ),
    "wd_mult": (
        lambda: fit(optimizer=with_multiplier("set_wd_mult")),
        "set_wd_mult: no parameter 'fc1_weigth'; did you mean 'fc1_weight'?",
    ),
    "arg_params of a second fit": (
        lambda: fit(fit(), arg_params={"fc1_weight": mx.nd.ones((3, 4))}),
        "fit: the parameters have values already, so arg_params and aux_params are not used",
    ),
    "optimizer of a second fit": (
        lambda: fit(fit(), optimizer="adam"),
        "fit: the module has an optimizer already, so optimizer 'adam' is not used",
    ),
    "bind": (lambda: fit().bind([("data", (4, 4))]), "Module.bind: already bound"),
    "init_params": (lambda: fit().init_params(), "Module.init_params: the parameters have values already"),
    "init_optimizer": (
        lambda: fit().init_optimizer(),
        "Module.init_optimizer: there is an optimizer already",
    ),
    "two layers of one name": (
        lambda: twice("two_of_one_name"),
        "sym: FullyConnected 'two_of_one_name' and Convolution 'two_of_one_name' have one name, and share "
        "'two_of_one_name_weight', 'two_of_one_name_bias'.",
    ),
    "two branches with layers of one name": (
        lambda: branches(mx.sym.elemwise_add, "branches"),
        "sym: FullyConnected 'branches' and FullyConnected 'branches' have one name",
    ),
    "a group of them": (
        lambda: branches(lambda a, b: mx.sym.Group([a, b]), "grouped"),
        "sym: FullyConnected 'grouped' and FullyConnected 'grouped' have one name",
    ),
}


def with_multiplier(setter: str) -> Any:
    optimizer = mx.optimizer.create("sgd", rescale_grad=0.25)
    getattr(optimizer, setter)({"fc1_weigth": 0.1})
    return optimizer


def twice(name: str) -> Any:
    first = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name=name)
    image = mx.sym.reshape(first, shape=(0, 1, 2, 2))
    return mx.sym.Convolution(image, kernel=(1, 1), num_filter=1, name=name)


def branches(join: Callable[[Any, Any], Any], name: str) -> Any:
    data = mx.sym.var("data")
    return join(*(mx.sym.exp(mx.sym.FullyConnected(data, num_hidden=4, name=name)) for _ in range(2)))


@pytest.mark.parametrize(("call", "text"), WARNED.values(), ids=WARNED)
def test_warnings_are_at_the_users_line(call: Callable[[], object], text: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    found = [each for each in caught if text in str(each.message)]
    assert len(found) == 1, [str(each.message) for each in caught]
    assert os.path.basename(found[0].filename) == os.path.basename(__file__)


def test_a_second_fit_is_silent() -> None:
    fit(fit())  # warnings are errors here


def test_layers_that_share_on_purpose_do_not_warn() -> None:
    weight = mx.sym.var("shared_weight")
    data = mx.sym.FullyConnected(mx.sym.var("data"), weight, num_hidden=4, no_bias=True, name="one_step")
    mx.sym.FullyConnected(data, weight, num_hidden=4, no_bias=True, name="one_step")
    for _ in range(2):  # the same network made again is another network
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="made_again")


def test_print_summary_counts_shared_weights_once(capsys: pytest.CaptureFixture[str]) -> None:
    data = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="counted_once")
    with pytest.warns(UserWarning, match="have one name"):
        network = mx.sym.FullyConnected(data, num_hidden=4, name="counted_once")
    mx.viz.print_summary(network, shape={"data": (1, 4)})
    assert "Total params: 20" in capsys.readouterr().out


# The order of calls.

ORDER: dict[str, tuple[Callable[[Any], object], str]] = {
    "get_outputs": (lambda mod: mod.get_outputs(), "Module.get_outputs() needs forward() first"),
    "backward": (lambda mod: mod.backward(), "Module.backward() needs forward() first"),
    "update": (lambda mod: mod.update(), "Module.update() needs backward() first"),
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
    with pytest.raises(
        ParameterError, match=r"Module.backward: the batch must have labels, 'softmax_label'; got none"
    ):
        module.backward()
    module.forward_backward(next(batches()))


# Data that do not fit.

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
    "no loss layer": (
        lambda: fit(
            mx.mod.Module(network(loss=False), label_names=None), batches(labels=None), eval_metric="loss"
        ),
        StateError,
        "output 'fc1_output' is no loss, so out_grads must hold its head gradient; it is missing. To train without, "
        "end the network in a loss layer",
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


# Files.


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


# Resuming with other settings.


def resume(folder: Path, on_change: str = "keep", data: Any = None, **settings: Any) -> Any:
    module = mx.mod.Module(network())
    checkpoint = mx.checkpoint.Checkpoint(folder / "run", on_change=on_change)
    settings = {"num_epoch": 2, "optimizer_params": {"learning_rate": 0.5}, **settings}
    module.fit(batches() if data is None else data, checkpoint=checkpoint, **settings)
    return module


CHANGES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "learning rate": (
        {"optimizer_params": {"learning_rate": 0.25}},
        ["learning_rate  0.5    0.25   saved"],
    ),
    "weight decay": (
        {"optimizer_params": {"learning_rate": 0.5, "wd": 0.1}},
        ["wd         0.0    0.1    saved"],
    ),
    "fewer epochs": ({"num_epoch": 1}, ["num_epoch  2      1      given", "is less than the 2 epochs that"]),
    "data": (
        {"data": mx.io.NDArrayIter(np.ones((6, 4)), np.zeros(6), 2)},
        ["data (4, 4) float32, softmax_label (4,) float32  data (2, 4)", "samples     8", "6"],
    ),
    "metric": ({"eval_metric": "ce"}, ["eval_metric  accuracy  cross-entropy  given"]),
    "accumulate": ({"accumulate": 2}, ["accumulate  1      2      given"]),
}


@pytest.mark.parametrize(("settings", "lines"), CHANGES.values(), ids=CHANGES)
def test_a_resumed_run_shows_what_differs(
    settings: dict[str, Any], lines: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    resume(tmp_path)
    assert not caplog.messages
    resume(tmp_path, **{"num_epoch": 3, **settings})
    shown_text = "\n".join(caplog.messages)
    assert "was saved with other settings" in shown_text
    for line in lines:
        assert line in shown_text


def test_more_epochs_are_no_change(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    resume(tmp_path)
    resume(tmp_path, "error", num_epoch=3)
    assert not caplog.messages


def test_which_learning_rate_counts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    changed = {"learning_rate": 0.125, "wd": 0.25}
    resume(tmp_path)
    kept = resume(tmp_path, num_epoch=3, optimizer_params=changed).optimizers()[0]
    assert (kept.lr, kept.wd) == (0.5, 0.0) and "on_change='use new'" in caplog.text
    with pytest.raises(StateError, match=r"(?s)saved with other settings.*learning_rate  0.5    0.125"):
        resume(tmp_path, "error", num_epoch=4, optimizer_params=changed)
    new = resume(tmp_path, "use new", num_epoch=4, optimizer_params=changed).optimizers()[0]
    assert (new.lr, new.wd, new.num_update) == (0.125, 0.25, 8)
    caplog.clear()
    resume(tmp_path, num_epoch=5, optimizer_params=changed)  # the file now has what was used
    assert not caplog.messages


def test_a_new_schedule_gives_the_rates_that_it_would_have_given(tmp_path: Path, caplog: Any) -> None:
    def settings(step: int) -> dict[str, Any]:
        schedule = mx.lr_scheduler.FactorScheduler(step, 0.5, base_lr=1.0)
        return {"optimizer_params": {"learning_rate": 1.0, "lr_scheduler": schedule}}

    resume(tmp_path, **settings(100))
    resumed = resume(tmp_path, "use new", num_epoch=3, **settings(2)).optimizers()[0]
    whole = fit(mx.mod.Module(network()), num_epoch=3, **settings(2)).optimizers()[0]
    assert resumed.learning_rate == whole.learning_rate
    assert "FactorScheduler(step=100, factor=0.5, base_lr=1.0)" in caplog.text


def test_other_data_begin_the_epoch_again_at_their_own_scale(tmp_path: Path) -> None:
    resume(tmp_path)
    other = mx.io.NDArrayIter(np.ones((6, 4)), np.zeros(6), 2)
    assert resume(tmp_path, num_epoch=3, data=other).optimizers()[0].rescale_grad == 0.5


OTHER: dict[str, tuple[dict[str, Any], str]] = {
    "optimizer": ({"optimizer": "adam"}, r"run-0002-000000.run is a run with the optimizer SGD; got Adam"),
    "states": (
        {"optimizer_params": {"learning_rate": 0.5, "momentum": 0.9}, "on_change": "use new"},
        r"must fit its settings; for the given ones \(momentum\) it needs others",
    ),
}


@pytest.mark.parametrize(("settings", "text"), OTHER.values(), ids=OTHER)
def test_settings_that_cannot_be_changed(settings: dict[str, Any], text: str, tmp_path: Path) -> None:
    resume(tmp_path)
    with pytest.raises(StateError, match=text):
        resume(tmp_path, **{"num_epoch": 3, **settings})


def test_on_change_must_be_known() -> None:
    with pytest.raises(
        ParameterError, match="on_change must be one of 'keep', 'use new', 'error'; got 'new'"
    ):
        mx.checkpoint.Checkpoint("net", on_change="new")  # type: ignore[arg-type]


# Long values.

LONG: dict[str, tuple[Callable[[], object], str]] = {
    "a ragged list": (lambda: mx.nd.array([[1, 2]] * 100_000 + [[1]]), "(100001 items)"),
    "letters as an array": (lambda: mx.nd.array("a" * 100_000), "(100000 characters)"),
    "letters as a parameter": (
        lambda: mx.nd.Activation(mx.nd.ones((2,)), act_type="a" * 100_000),
        "characters left out)",
    ),
    "letters as a name": (lambda: mx.optimizer.create("a" * 100_000), "(100000 characters)"),
    "a list as an optimizer": (lambda: fit(optimizer=["a"] * 100_000), "(100000 items)"),
    "symbols": (lambda: mx.sym.Group(["a"] * 100_000), "characters left out)"),
    "JSON": (lambda: mx.sym.load_json(json.dumps(["a"] * 100_000)), ""),
}


@pytest.mark.parametrize(("call", "count"), LONG.values(), ids=LONG)
def test_messages_are_no_longer_than_a_screen(call: Callable[[], object], count: str) -> None:
    with pytest.raises(MXNetError) as caught:
        call()
    text = str(caught.value)
    assert len(text) < LONGEST_MESSAGE + 100 and count in text


def test_short_values_are_shown_whole() -> None:
    assert shown([[1, 2], [3]]) == "[[1, 2], [3]]" and shown("sgd") == "'sgd'"
