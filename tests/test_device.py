"""Devices."""

from __future__ import annotations

import pickle
import threading

import pytest

import rebind as mx
from rebind.device import parse_device


def test_one_class_has_two_names() -> None:
    assert mx.Context is mx.Device and mx.current_context is mx.current_device


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(lambda: mx.Device("cpu", 1), mx.cpu(1), id="kind-and-number"),
        pytest.param(lambda: mx.Context(mx.cpu(1)), mx.cpu(1), id="of-a-device"),
        pytest.param(lambda: parse_device("gpu(2)"), mx.gpu(2), id="text"),
        pytest.param(lambda: parse_device("cpu"), mx.cpu(), id="text-without-a-number"),
        pytest.param(lambda: pickle.loads(pickle.dumps(mx.cpu(3))), mx.cpu(3), id="pickle"),
        pytest.param(lambda: repr(mx.gpu(2)), "gpu(2)", id="repr"),
        pytest.param(lambda: mx.cpu(1) != mx.cpu(), True, id="unequal"),
        pytest.param(lambda: len({mx.cpu(), mx.cpu(0), mx.cpu(1), mx.gpu()}), 3, id="hash"),
        pytest.param(lambda: mx.cpu().device_typeid, 1, id="typeid-cpu"),
        pytest.param(lambda: mx.gpu().device_typeid, 2, id="typeid-gpu"),
        pytest.param(lambda: mx.cpu_pinned().device_typeid, 3, id="typeid-pinned"),
    ],
)
def test_devices(found, expected) -> None:
    assert found() == expected


def test_default() -> None:
    device = mx.cpu(1)
    with device, mx.cpu(2), device:
        assert mx.nd.zeros((1,)).context == device
        assert mx.nd.random.uniform(shape=(1,)).context == device
    assert mx.current_device() == mx.cpu(0)


def test_default_belongs_to_a_thread() -> None:
    seen = []
    with mx.cpu(1):
        thread = threading.Thread(target=lambda: seen.append(mx.current_device()))
        thread.start()
        thread.join()
    assert seen == [mx.cpu(0)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("cpuu", 0), "did you mean 'cpu'"),
        (("cpu", -1), "must be an int >= 0"),
        (("cpu", "1"), "must be an int >= 0"),
    ],
)
def test_mistakes(arguments, says) -> None:
    with pytest.raises(ValueError, match=says):
        mx.Device(*arguments)
