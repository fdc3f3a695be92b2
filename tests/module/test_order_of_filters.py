"""Filters that stay in the order of memory in which convolutions take them: the same training, and no copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.ndarray.storage import DenseStorage

SHAPE = (2, 3, 8, 8)


def network() -> Any:
    x = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, name="a")
    x = mx.sym.relu(mx.sym.BatchNorm(x, name="n"))
    x = mx.sym.Convolution(x, kernel=(2, 3), stride=(2, 1), num_filter=6, name="b")
    x = mx.sym.Convolution(x, kernel=(1, 1), num_filter=5, name="c")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=3, name="fc"), name="softmax")


def module(optimizer: str = "sgd", **settings: Any) -> Any:
    made = mx.mod.Module(network())
    made.bind([("data", SHAPE)], [("softmax_label", SHAPE[:1])])
    draws = np.random.default_rng(0)
    shapes = dict(zip(network().list_arguments(), network().infer_shape(data=SHAPE)[0], strict=True))
    values = {
        name: mx.nd.array(draws.normal(size=shape))
        for name, shape in shapes.items()
        if name not in ("data", "softmax_label")
    }
    made.init_params(arg_params=values, initializer=mx.init.Zero(), allow_missing=True)
    made.init_optimizer(optimizer=optimizer, optimizer_params=settings)
    return made


def batch() -> Any:
    draws = np.random.default_rng(1)
    return mx.io.DataBatch([mx.nd.array(draws.normal(size=SHAPE))], [mx.nd.array([0, 2])])


def step(of: Any) -> None:
    of.forward_backward(batch())
    of.update()


def values(of: Any) -> dict[str, np.ndarray]:
    arguments, auxiliary = of.get_params()
    return {name: array.asnumpy() for name, array in {**arguments, **auxiliary}.items()}


def filters(of: Any) -> dict[str, Any]:
    """The arrays of the filters themselves."""
    return {name: of._exec_group.execs[0].arg_dict[name] for name in ("a_weight", "b_weight")}


def compare(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-5, err_msg=name)


OPTIMIZERS: dict[str, dict[str, Any]] = {
    "sgd": {"momentum": 0.9, "wd": 0.01},
    "nag": {"momentum": 0.9},
    "signum": {"momentum": 0.9},
    "adam": {},
    "rmsprop": {"centered": True},
    "ftrl": {},
    "dcasgd": {"momentum": 0.9},
    "sgld": {},  # draws numbers
    "lars": {},  # sees a weight at once
    "lamb": {},
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("clip", [None, 0.5], ids=["", "clipped"])
def test_training_is_the_same(optimizer: str, clip: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"learning_rate": 0.01, **OPTIMIZERS[optimizer], "clip_global_norm": clip}

    def trained() -> dict[str, np.ndarray]:
        mx.random.seed(5)
        of = module(optimizer, **settings)
        for _ in range(3):
            step(of)
        layouts = {each.storage.layout for each in filters(of).values()}
        assert (torch.channels_last in layouts) == (not plain)
        return values(of)

    plain = optimizer in ("sgld", "lars", "lamb")
    found = trained()
    plain = True
    monkeypatch.setattr(DenseStorage, "put_channels_last", lambda storage: False)
    compare(found, trained())


def test_nothing_is_put_in_order_in_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    of = module(momentum=0.9)
    step(of)  # makes the states, like the weights
    step(of)
    memory = {name: array.storage.memory for name, array in filters(of).items()}
    monkeypatch.setattr(DenseStorage, "materialize", lambda storage: pytest.fail("put in order"))
    for _ in range(2):
        step(of)
    for name, array in filters(of).items():
        assert array.storage.memory is memory[name]
        assert memory[name].is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("when", ["before backward", "before update", "after update"])
def test_arrays_may_be_looked_at_at_any_time(when: str) -> None:
    def look(at: str) -> None:
        if at == when:
            executor = of._exec_group.execs[0]
            for name, array in {**executor.arg_dict, **executor.grad_dict}.items():
                assert array is None or array.tensor.is_contiguous(), name

    of, untouched = module(momentum=0.9), module(momentum=0.9)
    for _ in range(3):
        of.forward(batch(), is_train=True)
        look("before backward")
        of.backward()
        look("before update")
        of.update()
        look("after update")
        step(untouched)
    compare(values(of), values(untouched))


def test_what_is_written_is_used() -> None:
    of, fresh = module(momentum=0.9), module()
    step(of)
    for array in filters(of).values():
        array[:] = 0.5
    fresh.set_params(*of.get_params())
    np.testing.assert_array_equal(filters(fresh)["a_weight"].asnumpy(), 0.5)
    for each in (of, fresh):
        each.forward(batch(), is_train=True)
    np.testing.assert_allclose(of.get_outputs()[0].asnumpy(), fresh.get_outputs()[0].asnumpy(), rtol=1e-5)


def executor(**grad_req: str) -> Any:
    made = network().simple_bind(mx.cpu(), grad_req=grad_req or "write", data=SHAPE)
    draws = np.random.default_rng(2)
    for array in made.arg_dict.values():
        array[:] = draws.normal(size=array.shape)
    made.arg_dict["softmax_label"][:] = [0, 2]
    return made


def gradients(of: Any, times: int = 1) -> dict[str, np.ndarray]:
    for _ in range(times):
        of.forward(is_train=True)
        of.backward()
    return {name: array.asnumpy() for name, array in of.grad_dict.items() if array is not None}


def test_a_view_keeps_its_memory() -> None:
    exe = executor()
    seen = exe.arg_dict["a_weight"].to_torch()
    found = gradients(exe)
    compare(found, gradients(executor()))
    seen.zero_()
    assert not exe.arg_dict["a_weight"].asnumpy().any()


def test_a_marked_array_keeps_its_leaf() -> None:
    exe = executor()
    weight = exe.arg_dict["a_weight"]
    weight.attach_grad()
    gradients(exe)
    weight[:] = 2
    with mx.autograd.record():
        total = mx.nd.sum(weight * weight)
    total.backward()
    np.testing.assert_array_equal(weight.grad.asnumpy(), np.full(weight.shape, 4, "float32"))


def test_gradients_are_added_up() -> None:
    names = network().list_arguments()
    once = gradients(executor())
    added = gradients(executor(**dict.fromkeys(names, "add")), times=2)
    for name in ("a_weight", "b_weight", "fc_weight"):
        np.testing.assert_allclose(added[name], 2 * once[name], rtol=1e-4, atol=1e-5)


def test_gradients_are_seen_as_they_come() -> None:
    exe, seen = executor(), {}
    exe.forward(is_train=True)
    exe.backward(on_gradient=lambda name: seen.setdefault(name, exe.grad_dict[name].asnumpy()))
    assert {"a_weight", "b_weight", "fc_weight"} <= seen.keys()
    compare(seen, {name: array for name, array in gradients(executor()).items() if name in seen})


def test_executors_share_weights() -> None:
    exe = executor()
    expected = gradients(executor().reshape(data=(1, *SHAPE[1:]), softmax_label=(1,)))
    gradients(exe)
    small = exe.reshape(data=(1, *SHAPE[1:]), softmax_label=(1,))
    compare(gradients(small), expected)
    before = gradients(exe)
    small.arg_dict["a_weight"][:] = 0
    after = gradients(exe)
    assert np.abs(before["a_weight"] - after["a_weight"]).max() > 0
    assert not exe.arg_dict["a_weight"].asnumpy().any()


def test_inference_after_training() -> None:
    of = module(momentum=0.9)
    step(of)
    of.forward(batch(), is_train=False)
    found = of.get_outputs()[0].asnumpy()
    fresh = module()
    fresh.set_params(*of.get_params())
    fresh.forward(batch(), is_train=False)
    np.testing.assert_allclose(found, fresh.get_outputs()[0].asnumpy(), rtol=1e-5)
    step(of)


def test_states_are_saved_in_order(tmp_path: Any) -> None:
    of = module(momentum=0.9)
    for _ in range(2):
        step(of)
    file = str(tmp_path / "net.states")
    of.save_optimizer_states(file)
    resumed = module(momentum=0.9)
    resumed.set_params(*of.get_params())
    resumed.load_optimizer_states(file)
    for each in (of, resumed):
        step(each)
    compare(values(resumed), values(of))
