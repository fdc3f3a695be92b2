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


@pytest.mark.skipif(mx.num_gpus() > 0, reason="there is a GPU")
@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda: mx.nd.array([0], ctx=mx.gpu()), id="array"),
        pytest.param(lambda: mx.nd.zeros((1,), ctx=mx.gpu()), id="zeros"),
        pytest.param(lambda: mx.nd.random.uniform(shape=(1,), ctx=mx.gpu()), id="random"),
        pytest.param(lambda: mx.nd.ones((1,)).as_in_context(mx.gpu()), id="copy"),
        pytest.param(
            lambda: mx.mod.Module(mx.sym.exp(mx.sym.var("data")), label_names=None, context=mx.gpu(0)).bind(
                [("data", (1,))]
            ),
            id="module",
        ),
        pytest.param(lambda: mx.sym.exp(mx.sym.var("x")).simple_bind(mx.gpu(0), x=(1,)), id="executor"),
    ],
)
def test_a_gpu_that_cannot_be_used(use) -> None:
    with pytest.raises(mx.MXNetError, match=r"gpu\(0\): must be an available GPU; .+ Use mx\.cpu\(\)"):
        use()


def test_there_is_no_need_of_a_gpu_to_name_one() -> None:
    assert repr(mx.gpu(7)) == "gpu(7)"
    with mx.AttrScope(ctx_group="a"):
        net = mx.sym.exp(mx.sym.var("x"))
    assert net.simple_bind(mx.cpu(), x=(1,)) is not None


def test_the_default_is_an_attribute_of_the_class_too() -> None:
    assert mx.Context.default_ctx == mx.current_context() == mx.cpu(0)
    before = mx.Context.default_ctx
    mx.Context.default_ctx = mx.cpu(1)
    try:
        assert mx.nd.ones((1,)).context == mx.cpu(1) == mx.Context.default_ctx
    finally:
        mx.Context.default_ctx = before
    with pytest.raises(TypeError, match=r"Context\.default_ctx must be a Device"):
        mx.Context.default_ctx = 3


def test_default_by_the_name_in_mxnets_own_code() -> None:
    try:
        mx.Context._default_ctx.value = mx.cpu(3)
        assert mx.Context._default_ctx.value == mx.current_context() == mx.cpu(3)
    finally:
        mx.Context._default_ctx.value = mx.cpu(0)
