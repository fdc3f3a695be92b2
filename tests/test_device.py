"""Devices."""

from __future__ import annotations

import pickle
import threading

import pytest

import rebind as mx
from rebind.device import parse_device


def test_one_class_has_two_names() -> None:
    assert mx.Context is mx.Device and mx.current_context is mx.current_device
    assert mx.cpu(1) == mx.Device("cpu", 1) == mx.Context(mx.cpu(1)) != mx.cpu()
    assert (
        repr(mx.gpu(2)) == "gpu(2)"
        and parse_device("gpu(2)") == mx.gpu(2)
        and parse_device("cpu") == mx.cpu()
    )
    assert len({mx.cpu(), mx.cpu(0), mx.cpu(1), mx.gpu()}) == 3
    assert pickle.loads(pickle.dumps(mx.cpu(3))) == mx.cpu(3)
    assert (mx.cpu().device_typeid, mx.gpu().device_typeid, mx.cpu_pinned().device_typeid) == (1, 2, 3)


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
