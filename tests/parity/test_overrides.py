"""A program's own optimizers and updaters: what is called with which arguments, and the weights, as in MXNet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import rebind as mx

from .golden import DATA, Pack, assert_close, read_manifest
from .overrides import HOOKS, MIXED, PROGRAMS, RATES, SETTINGS, Program, cases, changed, make, mixed, recorded

MANIFEST: dict[str, Any] = read_manifest(DATA / "overrides.json")
PACK = Pack.read(DATA / "overrides.npz")
KINDS = mx.optimizer.Optimizer.opt_registry
#: Numbers that are others, with reasons in docs/differences.md: noise, and the momentum schedule of Nadam.
OTHER_NUMBERS = ("sgld", "nadam")

#: Where gradients are summed over the devices, and in MXNet are not.
ON_ITS_OWN = "two devices"

program = lru_cache(lambda key, biases: Program(mx, SETTINGS[key], biases))


def train(name: str, key: str, kind: type) -> np.ndarray:
    trained = program(key, name != "groupadagrad")
    trained.start(make(kind, name, SETTINGS[key]))
    return trained.train()


def calls_of(calls: Sequence[str], hooks: Sequence[str]) -> list[str]:
    return [each for each in calls if each.partition("(")[0] in hooks]


def hooks_of(name: str) -> list[str]:
    """Return the methods that MXNet has and calls."""
    # An `update` that MXNet never calls is called here: docs/differences.md.
    unused = ("update",) if KINDS[name].impl_of == "update_multi_precision" else ()
    return [hook for hook in HOOKS if hook not in unused and (hook != "_update_impl" or KINDS[name].impl_of)]


@pytest.mark.parametrize(("name", "key"), list(cases()))
def test_methods_are_called_as_in_mxnet(name, key):
    """Each one overridden alone, and all of them."""
    entry = MANIFEST["optimizers"][name][key]
    expected = MANIFEST["traces"][entry["calls"]]
    ours = hooks_of(name)
    for hooks in (*([hook] for hook in ours), ours):
        calls: list[str] = []
        weights = train(name, key, recorded(KINDS[name], hooks, calls))
        assert calls == calls_of(expected, hooks), hooks
        if name not in OTHER_NUMBERS and key != ON_ITS_OWN:
            assert_close(weights, PACK.get(entry["weights"]), rtol=2e-5, what=f"{name}, {key}, {hooks}")


@pytest.mark.parametrize(
    ("name", "key"), [(name, key) for name, key in cases() if name not in OTHER_NUMBERS and key != ON_ITS_OWN]
)
def test_what_they_return_counts(name, key):
    """A rate that is overridden counts where MXNet asks for it, and only there."""
    entry = MANIFEST["optimizers"][name][key]
    for rate in RATES:
        weights = train(name, key, changed(KINDS[name], rate))
        assert_close(weights, PACK.get(entry["changed"][rate]), rtol=2e-5, what=f"{name}, {key}, {rate}")


@pytest.mark.parametrize("name", MIXED)
def test_methods_are_called_as_in_mxnet_with_master_copies(name):
    entry = MANIFEST["mixed"][name]
    expected = MANIFEST["traces"][entry["calls"]]
    for hooks in (*([hook] for hook in hooks_of(name)), hooks_of(name)):
        calls: list[str] = []
        weights = mixed(mx, recorded(KINDS[name], hooks, calls))
        assert calls == calls_of(expected, hooks), hooks
        assert_close(weights, PACK.get(entry["weights"]), rtol=1e-3, what=f"{name}, {hooks}")


@pytest.mark.parametrize("key", SETTINGS)
def test_names_of_indices(key):
    optimizer = make(KINDS["sgd"], "sgd", SETTINGS[key])
    program(key, True).start(optimizer)
    assert (
        sorted([*each] for each in optimizer.idx2name.items())
        == MANIFEST["optimizers"]["sgd"][key]["idx2name"]
    )


@pytest.mark.parametrize(
    ("name", "key"), [(name, key) for name, settings in MANIFEST["programs"].items() for key in settings]
)
def test_programs(name, key):
    entry, calls = MANIFEST["programs"][name][key], []
    PROGRAMS[name](program(key, True), calls)
    weights = program(key, True).train()
    assert calls == MANIFEST["traces"][entry["calls"]]
    if key != ON_ITS_OWN:
        assert_close(weights, PACK.get(entry["weights"]), rtol=2e-5, what=f"{name}, {key}")
