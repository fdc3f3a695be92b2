"""What messages have in common: near names for unknown ones, and no more than a screen of text."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import rebind as mx
from rebind.errors import (
    LONGEST_MESSAGE,
    ArgumentError,
    MXNetError,
    NameLookupError,
    shown,
)

from .module.classifier import fit

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
