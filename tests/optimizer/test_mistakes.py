"""What `init_optimizer`, `optimizer.create` and the optimizers say to mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import rebind as mx
from rebind.errors import ArgumentError, NameLookupError, ParameterError
from rebind.lr_scheduler import FactorScheduler
from rebind.optimizer import SGD, Optimizer, create, get_updater


def init(**arguments: Any) -> Any:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    module.bind([("data", (4, 3))], [("softmax_label", (4,))])
    module.init_params()
    module.init_optimizer(**arguments)
    return module


PAIRS = [
    ["learning_rate", 0.1], ("learning_rate", 0.1), "learning_rate=0.1", 0.1, {"learning_rate"},
    [("learning_rate", 0.1, 2)], [(1, 0.1)], {1: 0.1}, [{"learning_rate": 0.1}],
]  # fmt: skip
MISTAKES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    *(
        (
            lambda given=given: init(optimizer_params=given),
            ArgumentError,
            f"Module.init_optimizer: optimizer_params must be a dict, or pairs of a name and a value; got {given!r}. "
            "Write {'learning_rate': 0.01}.",
        )
        for given in PAIRS
    ),
    (
        lambda: init(optimizer_params={"learning_rte": 0.1}),
        ArgumentError,
        "optimizer 'sgd': no setting 'learning_rte'; did you mean 'learning_rate'?",
    ),
    (
        lambda: init(optimizer_params={"lr": 0.1}),
        ArgumentError,
        "no setting 'lr'; did you mean 'learning_rate'?",
    ),
    (
        lambda: init(optimizer_params={"learning_rate": "0.1"}),
        ParameterError,
        "SGD: learning_rate must be a number; got the text '0.1'. Convert it with float()",
    ),
    (
        lambda: init(optimizer_params={"learning_rate": [0.1]}),
        ParameterError,
        "SGD: learning_rate must be a number or None; got [0.1]",
    ),
    (
        lambda: init(optimizer="adam", optimizer_params={"beta1": None}),
        ParameterError,
        "Adam: beta1 must be a number; got None",
    ),
    (
        lambda: init(optimizer_params={"lr_scheduler": FactorScheduler}),
        ArgumentError,
        "SGD: lr_scheduler must be a scheduler or a function of the number of updates; got the class FactorScheduler",
    ),
    (
        lambda: init(optimizer=SGD),
        ArgumentError,
        "optimizer must be an instance; got the class SGD. Call it: SGD(...).",
    ),
    (lambda: init(optimizer=None), ArgumentError, "optimizer must be a name or an Optimizer; got None"),
    (lambda: init(optimizer="adma"), NameLookupError, "no optimizer 'adma'; did you mean 'adamax' or 'adam'"),
    (lambda: create(SGD), ArgumentError, "optimizer must be an instance; got the class SGD"),
    (lambda: create(None), ArgumentError, "optimizer: must be a name or an instance; got None"),
    (
        lambda: create("sgd", momentm=0.9),
        ArgumentError,
        "optimizer 'sgd': no setting 'momentm'; did you mean",
    ),
    (lambda: SGD(momentm=0.9), ArgumentError, "SGD: no setting 'momentm'; did you mean 'momentum'?"),
    (
        lambda: SGD(0.9),
        ArgumentError,
        "SGD: settings must be given by name; got 0.9. Write SGD(learning_rate=...)",
    ),
    (lambda: SGD(wd=None), ParameterError, "SGD: wd must be a number; got None"),
    (lambda: SGD(rescale_grad=object), ParameterError, "SGD: rescale_grad must be a number; got"),
    (lambda: SGD(param_idx2name=["a"]), ArgumentError, "param_idx2name must be a dict from index to name"),
    (lambda: SGD(sym="net"), ArgumentError, "SGD: sym must be a Symbol; got 'net'"),
    (lambda: SGD(param_dict=[1]), ArgumentError, "SGD: param_dict must be a dict from index to an object"),
    (
        lambda: SGD().set_lr_mult([1]),
        ArgumentError,
        "SGD.set_lr_mult: args_lr_mult must be a dict or a list of pairs; got [1]",
    ),
    (
        lambda: SGD().set_wd_mult({"w": "0"}),
        ParameterError,
        "SGD.set_wd_mult: args_wd_mult['w'] must be a number; got the text '0'",
    ),
    (
        lambda: SGD().set_learning_rate(None),
        ParameterError,
        "SGD.set_learning_rate: lr must be a number; got None",
    ),
    (lambda: get_updater(SGD), ArgumentError, "Updater: optimizer must be an instance; got the class SGD"),
    (lambda: get_updater("sgd"), ArgumentError, "Updater: optimizer must be an Optimizer; got 'sgd'"),
    (
        lambda: mx.kv.create("local").set_updater(3),
        ArgumentError,
        "KVStore.set_updater: must be a function of key, gradient and weight; got 3",
    ),
    (lambda: Optimizer.register(SGD()), ArgumentError, "Optimizer.register: must be a class; got SGD("),
]


@pytest.mark.parametrize(("make", "error", "says"), MISTAKES)
def test_mistakes_meet_a_sentence(make: Callable[[], Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=re.escape(says)):
        make()


def test_params_beside_an_instance_change_nothing_and_warn() -> None:
    optimizer = SGD(learning_rate=0.5, rescale_grad=0.25)
    with pytest.warns(UserWarning, match=r"got \{'learning_rate': 0.1\} beside an instance of SGD"):
        init(optimizer=optimizer, optimizer_params={"learning_rate": 0.1})
    assert optimizer.learning_rate == 0.5


@pytest.mark.parametrize("given", [None, {}, (), [["learning_rate", 0.01]], {"learning_rate": 0.01}.items()])
def test_forms_of_params(given: Any) -> None:
    assert init(optimizer_params=given).optimizers()[0].learning_rate == 0.01
