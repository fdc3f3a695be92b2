"""Arguments of the wrong kind, in every part of the library: numbers as text, and classes instead of instances."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import pytest

import rebind as mx
from rebind.checks import check_numbers
from rebind.errors import (
    ArgumentError,
    ParameterError,
)

from .module.classifier import batches, fit, network

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


CLASSES: dict[str, tuple[Callable[[], object], str]] = {
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
