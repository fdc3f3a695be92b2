"""What `fit` says before the first batch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import Tensor

import rebind as mx
from rebind.errors import (
    ArgumentError,
    MissingFileError,
    MXNetError,
    NameLookupError,
    ParameterError,
    StateError,
    UnknownArgumentError,
)
from rebind.executor import DataParallelExecutorGroup
from rebind.ops import OPERATORS, Asked, Labels, operator
from rebind.symbol.symbol import compose

from .classifier import batches, fit, network

FROM_ONE = (1, 2, 3, 1, 2, 3, 1, 2)

BEFORE: dict[str, tuple[Callable[[Any], object], type[MXNetError], str]] = {
    "EarlyStopping after a batch": (
        lambda mod: fit(mod, batch_end_callback=mx.callback.EarlyStopping()),
        ArgumentError,
        "fit: batch_end_callback must not be EarlyStopping. Give it as eval_end_callback.",
    ),
    "EarlyStopping without a validation": (
        lambda mod: fit(mod, eval_end_callback=mx.callback.EarlyStopping()),
        ParameterError,
        "fit: EarlyStopping needs a validation set; give eval_data",
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
    "a callback of FeedForward as a member": (
        lambda mod: fit(mod, callbacks=[mx.callback.EpochCallback(print)]),
        ArgumentError,
        "fit: callbacks must not hold EpochCallback. Give it as callbacks of FeedForward.fit.",
    ),
    "a class as a member": (
        lambda mod: fit(mod, callbacks=[mx.callback.Speedometer]),
        ArgumentError,
        "fit: a member of callbacks must be an instance; got the class Speedometer. Call it: Speedometer(...).",
    ),
    "a function as a member": (
        lambda mod: fit(mod, callbacks=[print]),
        ArgumentError,
        "got <built-in function print>. Functions are for batch_end_callback and the like.",
    ),
    "a name as a member": (
        lambda mod: fit(mod, callbacks=["speedometer"]),
        ArgumentError,
        "fit: callbacks must hold objects with hooks",
    ),
    "a hook of the wrong arguments": (
        lambda mod: fit(mod, callbacks=[WrongArguments()]),
        ArgumentError,
        "fit: on_epoch_end of WrongArguments in callbacks must take one argument, an EpochRecord; got "
        "WrongArguments.on_epoch_end, which does not.",
    ),
    "EarlyStopping as a member without a validation": (
        lambda mod: fit(mod, callbacks=[mx.callback.EarlyStopping()]),
        ParameterError,
        "fit: EarlyStopping needs a validation set; give eval_data",
    ),
    "a member's checkpoints in a missing folder": (
        lambda mod: fit(mod, callbacks=[mx.callback.do_checkpoint("none/such/net")]),
        MissingFileError,
        "fit: callbacks: the folder 'none/such' of 'none/such/net' must exist",
    ),
    "a member's table in a missing folder": (
        lambda mod: fit(mod, callbacks=[mx.callback.CSVLogger("none/log.csv")]),
        MissingFileError,
        "fit: callbacks: the folder 'none' of 'none/log.csv' must exist",
    ),
    "a class of the wrong arguments as a callback": (
        lambda mod: fit(mod, epoch_end_callback=WrongArguments),
        ArgumentError,
        "fit: epoch_end_callback must be an instance; got the class WrongArguments. Call it: WrongArguments(...).",
    ),
    "a number as num_epoch": (
        lambda mod: fit(mod, num_epoch=3.0),
        ArgumentError,
        "fit: num_epoch must be an int; got 3.0. Convert it with int().",
    ),
    "a text as begin_epoch": (
        lambda mod: fit(mod, begin_epoch="3"),
        ParameterError,
        "fit: begin_epoch must be a number; got the text '3'. Convert it with float() or int()",
    ),
    "optimizer_params in a row": (
        lambda mod: fit(mod, optimizer_params=["learning_rate", 0.1]),
        ArgumentError,
        "optimizer_params must be a dict, or pairs of a name and a value; got ['learning_rate', 0.1]. "
        "Write {'learning_rate': 0.01}.",
    ),
    "a number as optimizer_params": (
        lambda mod: fit(mod, optimizer_params=0.1),
        ArgumentError,
        "optimizer_params must be a dict, or pairs of a name and a value; got 0.1.",
    ),
    "a text as monitor": (
        lambda mod: fit(mod, monitor="all"),
        ArgumentError,
        "fit: monitor must be a Monitor; got 'all'. Give mx.mon.Monitor(interval).",
    ),
    "no metric": (
        lambda mod: fit(mod, eval_metric=None),
        ArgumentError,
        "metric: must be a name or an instance; got None",
    ),
    "a number as metric": (
        lambda mod: fit(mod, eval_metric=[1]),
        ArgumentError,
        "metric: must be a name or an instance; got 1",
    ),
    **{
        f"{name} for num_epoch": (
            lambda mod, name=name: fit(mod, **{name: 3}),
            UnknownArgumentError,
            f"fit: no argument {name!r}; did you mean 'num_epoch'?",
        )
        for name in ("num_round", "num_epochs", "epochs")
    },
    "another keyword": (
        lambda mod: fit(mod, optimiser="adam"),
        UnknownArgumentError,
        "fit: no argument 'optimiser'; did you mean 'optimizer' or 'optimizer_params'?",
    ),
    "num_round for num_epoch of FeedForward": (
        lambda mod: feed_forward(num_round=3),
        UnknownArgumentError,
        "fit: no argument 'num_round'; did you mean 'num_epoch'?",
    ),
    "one input's name for two": (
        lambda mod: mx.mod.Module(
            mx.sym.SoftmaxOutput(
                mx.sym.FullyConnected(mx.sym.var("left") + mx.sym.var("right"), num_hidden=2), name="softmax"
            )
        ),
        NameLookupError,
        "Module: data_names: the symbol has no argument 'data'. Inputs and labels: 'left', 'right', 'softmax_label'.",
    ),
    "a class as a member in FeedForward": (
        lambda mod: feed_forward(callbacks=[mx.callback.Speedometer]),
        ArgumentError,
        "FeedForward.fit: a member of callbacks must be an instance; got the class Speedometer",
    ),
    "a function of the wrong arguments in FeedForward": (
        lambda mod: feed_forward(batch_end_callback=lambda epoch, symbol, args, aux: None),
        ArgumentError,
        "fit: batch_end_callback must take one argument, a BatchEndParam",
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
    "no loss layer": (
        lambda mod: fit(unlabelled(network(loss=False)), batches(labels=None), eval_metric="loss"),
        StateError,
        "fit: the network must end in a loss layer, such as SoftmaxOutput, LinearRegressionOutput or MakeLoss; got "
        "'fc1_output', which is no loss.",
    ),
    "an output beside the loss": (
        lambda mod: fit(beside(mx.sym.identity)),
        StateError,
        "got 'scores_output', which is no loss. Add one; an output that is not trained needs BlockGrad.",
    ),
    "no loss layer in buckets": (
        lambda mod: fit(
            mx.mod.BucketingModule(lambda key: (network(loss=False), ["data"], []), default_bucket_key=4),
            batches(labels=None),
            eval_metric="loss",
        ),
        StateError,
        "got 'fc1_output', which is no loss",
    ),
    "no loss layer at the end of a chain": (
        lambda mod: fit(
            mx.mod.SequentialModule().add(unlabelled(network(loss=False))),
            batches(labels=None),
            eval_metric="loss",
        ),
        StateError,
        "got 'fc1_output', which is no loss",
    ),
    "labels of softmax_cross_entropy": (
        lambda mod: fit(
            reading(lambda x, y: mx.sym.MakeLoss(mx.sym.softmax_cross_entropy(x, y, name="ce"))),
            batches(labels=FROM_ONE),
            eval_metric="loss",
        ),
        ParameterError,
        "fit: labels of 'ce' must be classes from 0 to 2; got 3 at index 2",
    ),
    "labels of CTCLoss": (
        lambda mod: fit(ctc(), sequences([[1, 2], [2, 3], [1, 0], [0, 9]]), eval_metric="loss"),
        ParameterError,
        "fit: labels of 'ctc' must be classes from 1 to 2; got 3 at index 3 of 'softmax_label' (1 of 8 labels are "
        "outside). Has the layer before it too few outputs?",
    ),
    "labels of CTCLoss with the last class as blank": (
        lambda mod: fit(
            ctc(blank_label="last"), sequences([[0, 1], [-2, 1], [1, -1], [-1, 9]]), eval_metric="loss"
        ),
        ParameterError,
        "fit: labels of 'ctc' must be classes from 0 to 2; got -2 at index 2 of 'softmax_label' (1 of 8 labels are "
        "outside). A negative label is no class.",
    ),
    "labels of the cross-entropy metric": (
        lambda mod: fit(
            reading(lambda x, y: mx.sym.LogisticRegressionOutput(x, mx.sym.one_hot(y, depth=3))),
            batches(labels=FROM_ONE),
            eval_metric=["acc", "ce"],
        ),
        ParameterError,
        "fit: labels of eval_metric 'cross-entropy' must be classes from 0 to 2; got 3 at index 2",
    ),
    "labels of the cross-entropy metric that no end reaches": (
        lambda mod: fit(
            reading(lambda x, y: mx.sym.LogisticRegressionOutput(x, mx.sym.one_hot(y, depth=3))),
            batches(labels=(0, 1, -1, 0, -4, 2, 0, 1)),
            eval_metric="nll_loss",
        ),
        ParameterError,
        "got -4 at index 4 of 'softmax_label' (1 of 8 labels are outside). A negative label is no class.",
    ),
    "no labels for the default metric": (
        lambda mod: fit(unlabelled(mx.sym.BlockGrad(network(loss=False))), batches(labels=None)),
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


def unlabelled(symbol: Any) -> Any:
    return mx.mod.Module(symbol, label_names=None)


def reading(loss: Callable[[Any, Any], Any]) -> Any:
    return mx.mod.Module(loss(network(loss=False), mx.sym.var("softmax_label")))


def beside(operator: Callable[[Any], Any]) -> Any:
    """Return a module with an output beside its loss."""
    scores = network(loss=False)
    return mx.mod.Module(
        mx.sym.Group([mx.sym.SoftmaxOutput(scores, name="softmax"), operator(scores, name="scores")])
    )


def ctc(**settings: Any) -> Any:
    steps = mx.sym.transpose(mx.sym.var("data"), axes=(1, 0, 2))
    steps = mx.sym.broadcast_mul(steps, mx.sym.var("scale_weight", shape=(1, 1, 1)))
    return mx.mod.Module(
        mx.sym.MakeLoss(mx.sym.CTCLoss(steps, mx.sym.var("softmax_label"), name="ctc", **settings))
    )


def sequences(labels: Any) -> Any:
    return mx.io.NDArrayIter(np.zeros((4, 5, 3), "float32"), np.array(labels, "float32"), 4)


class WrongArguments:
    def on_epoch_end(self, epoch: int, symbol: object, arg_params: object, aux_params: object) -> None:
        """Take what `epoch_end_callback` is given."""


def feed_forward(**settings: Any) -> Any:
    model = mx.model.FeedForward(network(), num_epoch=1, numpy_batch_size=4)
    return model.fit(np.ones((4, 4)), np.zeros(4), verbosity=0, **settings)


@pytest.mark.parametrize(("call", "error", "text"), BEFORE.values(), ids=BEFORE)
def test_before_the_first_batch(
    call: Callable[[Any], object], error: type[MXNetError], text: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    module = mx.mod.Module(network())
    trained = []

    def forward(self: Any, batch: Any, *_: Any, **settings: Any) -> None:
        trained.append(batch)

    # Not a step of the module: of a user's own less is known.
    monkeypatch.setattr(DataParallelExecutorGroup, "forward", forward)
    with pytest.raises(error) as caught:
        call(module)
    assert text in str(caught.value) and not trained


def test_labels_of_a_loss_of_ones_own() -> None:
    @operator("example_far", labels=Labels(lambda p, scores, label, others: Asked(scores[-1]), "classes"))
    def far(data: Tensor, classes: Tensor) -> Tensor:
        return data.sum(1, keepdim=True)

    try:
        inputs = [network(loss=False), mx.sym.var("softmax_label")]
        loss = compose(far, "own", inputs, {"name": "own"})
        with pytest.raises(ParameterError, match="fit: labels of 'own' must be classes from 0 to 2; got 3"):
            fit(mx.mod.Module(mx.sym.MakeLoss(loss)), batches(labels=FROM_ONE), eval_metric="loss")
    finally:
        del OPERATORS["example_far"]


def test_a_loss_of_another_name_with_the_default_label_names() -> None:
    with pytest.warns(UserWarning, match="no argument 'softmax_label'; did you mean 'sm_label'"):
        module = mx.mod.Module(network("sm"))
    with pytest.raises(ParameterError, match=r"label_names must hold it; got \['softmax_label'\]"):
        fit(module)


WARNED: dict[str, tuple[Callable[[], object], str]] = {
    "no epochs": (
        lambda: fit(num_epoch=3, begin_epoch=3),
        "nothing is trained: epochs run from begin_epoch to num_epoch - 1",
    ),
    "a validation callback": (
        lambda: fit(eval_end_callback=lambda param: None),
        "fit: eval_end_callback is never called without a validation set; give eval_data",
    ),
    "a member for validations": (
        lambda: fit(callbacks=[Validated()]),
        "fit: Validated of callbacks is never called without a validation set; give eval_data",
    ),
    "a member with a hook that is nearly one": (
        lambda: fit(callbacks=[NearlyAHook()]),
        "fit: on_bacth_end of NearlyAHook in callbacks is never called; did you mean 'on_batch_end'",
    ),
    "MakeLoss with the default metric": (
        lambda: fit(
            mx.mod.Module(mx.sym.MakeLoss(mx.sym.sum(network(loss=False), axis=1)), label_names=None)
        ),
        "the outputs are losses (MakeLoss). Give eval_metric='loss'.",
    ),
    "negative labels": (
        lambda: fit(data=batches(labels=(0, 1, -1, 0, 1, 2, 0, 1))),
        "got -1 at index 2 of 'softmax_label' (1 of 8 labels are outside). They count as no class: all scores of their "
        "samples are lowered. If they are to be ignored, give use_ignore=True and ignore_label.",
    ),
    "labels that count from 1": (
        lambda: fit(data=batches(labels=FROM_ONE)),
        "fit: labels of 'softmax' must be classes from 0 to 2; got 3 at index 2 of 'softmax_label' (2 of 8 labels are "
        "outside). They count as no class: all scores of their samples are lowered. If they are to be ignored, give "
        "use_ignore=True and ignore_label. Do they count from 1, or has the layer before it too few outputs?",
    ),
    "labels of SVMOutput": (
        lambda: fit(reading(lambda x, y: mx.sym.SVMOutput(x, y, name="svm")), batches(labels=FROM_ONE)),
        "fit: labels of 'svm' must be classes from 0 to 2; got 3 at index 2",
    ),
    "labels of SoftmaxOutput in another shape": (
        lambda: fit(
            reading(lambda x, y: mx.sym.SoftmaxOutput(x, mx.sym.Reshape(y, shape=(-1,)), name="softmax")),
            batches(labels=np.array(FROM_ONE)[:, None]),
        ),
        "fit: labels of 'softmax' must be classes from 0 to 2; got 3 at index 2 of 'softmax_label'",
    ),
    "negative labels of the cross-entropy metric": (
        lambda: fit(
            reading(lambda x, y: mx.sym.LogisticRegressionOutput(x, mx.sym.one_hot(y, depth=3))),
            batches(labels=(0, 1, -1, 0, 1, 2, 0, 1)),
            eval_metric="nll_loss",
        ),
        "nll-loss: labels must be classes from 0 to 2, since there are predictions for 3; got -1 at sample 2 of the "
        "batch (1 of 4 labels are outside). Negative ones count from the end, as in MXNet: -1 is the last class.",
    ),
    "negative labels of SVMOutput": (
        lambda: fit(
            reading(lambda x, y: mx.sym.SVMOutput(x, y, name="svm")),
            batches(labels=(0, 1, -1, 0, 1, 2, 0, 1)),
        ),
        "fit: labels of 'svm' must be classes from 0 to 2; got -1 at index 2 of 'softmax_label' (1 of 8 labels are "
        "outside). They count as no class",
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
}


class Validated:
    def on_eval_end(self, param: object) -> None:
        """Take the record of an evaluation."""


class NearlyAHook(mx.callback.Callback):
    def on_bacth_end(self, param: object) -> None:
        """Never be called."""


def with_multiplier(setter: str) -> Any:
    optimizer = mx.optimizer.create("sgd", rescale_grad=0.25)
    getattr(optimizer, setter)({"fc1_weigth": 0.1})
    return optimizer


@pytest.mark.parametrize(("call", "text"), WARNED.values(), ids=WARNED)
def test_warnings_are_at_the_users_line(call: Callable[[], object], text: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    found = [each for each in caught if text in str(each.message)]
    assert len(found) == 1, [str(each.message) for each in caught]
    assert Path(found[0].filename).parent == Path(__file__).parent  # here, or in `fit` of classifier.py


def test_a_second_fit_is_silent() -> None:
    fit(fit())  # warnings are errors here


def replaced(name: str, function: Callable[..., object], **settings: Any) -> None:
    """Train a module whose step is replaced on the object, and look whether it was called."""
    module = mx.mod.Module(
        network(loss=name == "update"), label_names=None if name != "update" else ["softmax_label"]
    )
    calls = []

    def step(*args: Any, **kwargs: Any) -> object:
        calls.append(name)
        return function(module, *args, **kwargs)

    setattr(module, name, step)
    fit(module, **settings)
    assert len(calls) == 2, calls


def head_gradients(module: Any, batch: Any = None) -> None:
    """Compute gradients of outputs that are no losses."""
    if batch is not None:
        module.forward(batch, is_train=True)
    mx.mod.Module.backward(module, [mx.nd.ones((4, 3))])


ACCEPTED: dict[str, Callable[[], object]] = {
    "labels that are ignored": lambda: fit(
        reading(lambda x, y: mx.sym.SoftmaxOutput(x, y, use_ignore=True, ignore_label=-1)),
        batches(labels=(0, 1, -1, 0, 1, 2, 0, 1)),
    ),
    "probabilities": lambda: fit(
        reading(mx.sym.SoftmaxOutput), batches(labels=np.full((8, 3), 9.0)), eval_metric="mse"
    ),
    "numbers of a regression": lambda: fit(
        reading(lambda x, y: mx.sym.LinearRegressionOutput(mx.sym.sum(x, axis=1), y)),
        batches(labels=FROM_ONE),
        eval_metric="mse",
    ),
    "sequences with padding": lambda: fit(
        ctc(), sequences([[1, 2], [2, 0], [1, 0], [0, 9]]), eval_metric="loss", initializer="ones"
    ),
    "labels from which others are computed": lambda: fit(
        reading(lambda x, y: mx.sym.SoftmaxOutput(x, y - 1)), batches(labels=FROM_ONE)
    ),
    "an output that is blocked": lambda: fit(beside(mx.sym.BlockGrad), eval_metric=one_output()),
    "parameters that are fixed": lambda: fit(
        mx.mod.Module(network(loss=False), label_names=None, fixed_param_names=["fc1_weight", "fc1_bias"]),
        batches(labels=None),
        eval_metric="loss",
    ),
    "backward replaced on the object": lambda: replaced(
        "backward", head_gradients, data=batches(labels=None), eval_metric="loss"
    ),
    "forward_backward replaced on the object": lambda: replaced(
        "forward_backward", head_gradients, data=batches(labels=None), eval_metric="loss"
    ),
    "update replaced on the object": lambda: replaced("update", lambda module: mx.mod.Module.update(module)),
    "update_metric replaced on the object": lambda: measured_by_a_program(),
    "a metric that reads outputs by itself": lambda: fit(
        mx.mod.Module(mx.sym.MakeLoss(network(loss=False)), label_names=None),
        batches(labels=None),
        eval_metric=OwnUpdateDict("own"),
    ),
    "head gradients in a module of one's own": lambda: fit(
        GivesHeadGradients(network(loss=False), label_names=None), batches(labels=None), eval_metric="loss"
    ),
}


class OwnUpdateDict(mx.metric.EvalMetric):
    def update_dict(self, label: Any, pred: Any) -> None:
        assert not label and len(pred) == 1


def measured_by_a_program() -> None:
    module, seen = mx.mod.Module(mx.sym.MakeLoss(network(loss=False)), label_names=None), []
    module.update_metric = lambda metric, labels, pre_sliced=False: seen.append(labels)  # type: ignore[method-assign]
    fit(module, batches(labels=None))
    assert len(seen) == 2


def one_output() -> Any:
    return mx.metric.Accuracy(output_names=["softmax_output"], label_names=["softmax_label"])


class GivesHeadGradients(mx.mod.Module):
    def backward(self, out_grads: Any = None) -> None:
        super().backward([mx.nd.ones((4, 3))])


@pytest.mark.parametrize("call", ACCEPTED.values(), ids=ACCEPTED)
def test_what_is_no_mistake(call: Callable[[], object]) -> None:
    call()  # warnings are errors here
