"""A program's own schedules, initializers, metrics and callbacks: what is called with which arguments, as in MXNet."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
import pytest

import rebind as mx

from .golden import DATA, read_manifest
from .hooks import called_back, filled, fillings, initialized, measured, scheduled

MANIFEST: dict[str, Any] = read_manifest(DATA / "hooks.json")


def without_repetition(calls: list[str]) -> list[str]:
    return [call for call, _ in groupby(calls)]


def test_an_initializer_is_called_in_the_order_of_names():
    found, expected = initialized(mx), MANIFEST["initialized"]
    assert found["calls"] == expected["calls"]
    for name, values in expected["parameters"].items():
        np.testing.assert_allclose(found["parameters"][name], values, atol=2e-5, err_msg=name)


@pytest.mark.parametrize(("name", "form"), fillings())
def test_a_name_leads_to_a_method(name, form):
    assert filled(mx, name, form) == MANIFEST["filled"][f"{name}, {form}"]


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_schedule_is_asked_for_each_update(optimizer):
    """Once, where MXNet asks for each weight or group: docs/differences.md."""
    numbers = [each for each in MANIFEST["scheduled"][optimizer] if each.startswith("__call__")]
    found = scheduled(mx, optimizer)
    assert [each for each in found if each.startswith("__call__")] == without_repetition(numbers)
    assert set(found) == set(MANIFEST["scheduled"][optimizer])


@pytest.mark.parametrize("devices", [1, 2])
def test_a_metric_is_updated_and_reset(devices):
    # `reset_local` calls the `reset` of a metric that overrides it, so that its sums are saved: one more call.
    expected = MANIFEST["measured"][str(devices)]
    assert without_repetition(measured(mx, devices)) == without_repetition(expected)


def test_callbacks_get_epoch_batch_and_metric():
    assert called_back(mx) == MANIFEST["called_back"]
