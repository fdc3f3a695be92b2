"""Weights that an executor gives up, as they follow from what it has packed: they come back to the last bit."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pytest
import torch
from tests.executor.compiled.networks import QUICK

import rebind as mx
from rebind.executor import kept, released_weights
from rebind.ndarray.deferred import memory_of
from rebind.ndarray.released import ReleasedStorage
from rebind.ops.nn import inference_dense
from rebind.ops.nn.inference_layers import can_fuse

#: Images so large that no convolution is computed without oneDNN.
SHAPE = (4, 4, 40, 40)

pytestmark = pytest.mark.skipif(
    not can_fuse(torch.float32), reason="this PyTorch packs no filters: it has no oneDNN"
)


@pytest.fixture(autouse=True)
def small_weights_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(released_weights, "_LEAST", 1)
    monkeypatch.setattr(released_weights, "_PART", 50)  # several parts
    monkeypatch.setattr(inference_dense, "_LEAST", 1)


def conv(data: Any, name: str, **given: Any) -> Any:
    given = {"kernel": (3, 3), "num_filter": 8, "name": name, "pad": (1, 1), **given}
    return mx.sym.Convolution(data, **given)


def norm(data: Any, name: str, **given: Any) -> Any:
    return mx.sym.BatchNorm(data, name=name, fix_gamma=False, eps=1e-3, **given)


def relu(data: Any) -> Any:
    return mx.sym.Activation(data, act_type="relu")


def deconv(data: Any, name: str, **given: Any) -> Any:
    return mx.sym.Deconvolution(
        data, num_filter=6, name=name, **{"kernel": (2, 2), "stride": (2, 2), **given}
    )


def tied(data: Any) -> Any:
    return relu(mx.sym.FullyConnected(data, D, num_hidden=70, no_bias=True))


X, W, D = mx.sym.var("data"), mx.sym.var("w", shape=(8, 4, 3, 3)), mx.sym.var("d_weight")
V = mx.sym.reshape(X, (0, 0, 4, 10, 40))

#: Networks of images with four channels, and the weights that they need not keep.
NETWORKS: dict[str, tuple[Any, Collection[str]]] = {
    "convolution": (conv(X, "a"), ["a"]),
    "without a bias": (conv(X, "a", no_bias=True), ["a"]),
    "groups": (conv(X, "a", num_group=2), ["a"]),
    "each channel by itself": (conv(X, "a", num_group=4), ["a"]),
    "strides": (conv(X, "a", stride=(2, 2), dilate=(2, 2)), ["a"]),
    "norm after": (relu(norm(conv(X, "a"), "n")), ["a"]),
    "norm after groups": (norm(conv(X, "a", num_group=2, no_bias=True), "n"), ["a"]),
    "norm before": (conv(norm(X, "n"), "a", pad=(0, 0)), ["a"]),
    "norm before groups": (conv(norm(X, "n"), "a", pad=(0, 0), num_group=2), ["a"]),
    "deconvolution": (deconv(X, "a"), ["a"]),
    "norm after a deconvolution": (norm(deconv(X, "a", no_bias=True), "n"), ["a"]),
    "norm after groups of a deconvolution": (relu(norm(deconv(X, "a", num_group=2), "n")), ["a"]),
    "norm before a deconvolution": (deconv(norm(X, "n"), "a"), ["a"]),
    "dense": (norm(mx.sym.FullyConnected(X, num_hidden=7, name="a"), "n"), ["a"]),
    "packed dense": (relu(mx.sym.FullyConnected(X, num_hidden=70, name="a")), ["a"]),
    "packed dense of a norm": (relu(norm(mx.sym.FullyConnected(X, num_hidden=70, name="a"), "n")), ["a"]),
    "packed dense twice": (tied(tied(mx.sym.FullyConnected(X, num_hidden=70, name="a"))), "ad"),
    "volumes": (conv(V, "a", kernel=(3, 3, 3), pad=(1, 1, 1), num_group=2), ["a"]),
    "norm after volumes": (norm(conv(V, "a", kernel=(3, 3, 3), pad=(1, 1, 1)), "n"), ["a"]),
    "deconvolution of volumes": (deconv(V, "a", kernel=(2, 3, 2), stride=(2, 2, 2), num_group=2), ["a"]),
    "a block": (relu(conv(relu(norm(conv(X, "a"), "n")), "b") + conv(X, "c", kernel=(1, 1), pad=(0, 0))), "abc"),
    "one weight twice": (conv(X, "a", weight=W) + conv(X, "b", weight=W), []),
    "a weight of an output": (mx.sym.Group([conv(X, "a", weight=W), W * 1]), []),
}  # fmt: skip


def bound(net: Any, grad_req: str = "null", backend: str = "default", **values: np.ndarray) -> Any:
    exe = net.simple_bind(mx.cpu(), grad_req=grad_req, backend=backend, data=SHAPE)
    draws = np.random.default_rng(0)
    for name, array in {**exe.arg_dict, **exe.aux_dict}.items():
        low = 0.5 if name.endswith(("var", "gamma")) else -1.0
        array[:] = values.get(name, draws.uniform(low, 1.5, array.shape))
    return exe


def out_of_sight(exe: Any) -> set[str]:
    """The arrays of which the network has something that stands for the values."""
    arrays = {**exe.arg_dict, **exe.aux_dict}
    return {name for name, array in arrays.items() if isinstance(array.storage, ReleasedStorage)}


def given_up(exe: Any) -> set[str]:
    """Those of them whose values are not in memory; others are put away, until somebody looks at them."""
    stand_ins = {name: memory_of(exe.arg_dict[name].storage) for name in out_of_sight(exe) & {*exe.arg_dict}}
    return {name for name, each in stand_ins.items() if each.restore() is not each.restore()}


def bits(exe: Any) -> dict[str, bytes]:
    return {name: array.asnumpy().tobytes() for name, array in {**exe.arg_dict, **exe.aux_dict}.items()}


def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts how often what is kept is computed from now on."""
    runs: list[int] = []
    compute = kept._computed
    monkeypatch.setattr(kept, "_computed", lambda *given: runs.append(1) or compute(*given))
    return runs


@pytest.mark.parametrize("backend", ["default", QUICK])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_weight_comes_back_as_it_was(name: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    net, expected = NETWORKS[name]
    exe = bound(net, backend=backend)
    before = bits(exe)
    first = exe.forward()[0].asnumpy()
    assert exe.is_compiled == (backend == QUICK)
    assert given_up(exe) == {f"{each}_weight" for each in expected}
    runs = computed(monkeypatch)
    np.testing.assert_array_equal(exe.forward()[0].asnumpy(), first)
    assert given_up(exe) == {f"{each}_weight" for each in expected}
    assert bits(exe) == before
    assert not given_up(exe)
    # Nothing is computed anew for that they were looked at, nor do they go again.
    np.testing.assert_array_equal(exe.forward()[0].asnumpy(), first)
    assert not runs and not given_up(exe)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_result_is_that_of_weights_that_stay(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    net, _ = NETWORKS[name]
    found = bound(net).forward()[0].asnumpy()
    monkeypatch.setattr(released_weights, "_LEAST", 1 << 60)
    np.testing.assert_array_equal(found, bound(net).forward()[0].asnumpy())


def spread(values: np.ndarray, special: float) -> np.ndarray:
    values[::3] = special
    return values


WEIGHT = np.random.default_rng(1).normal(size=(8, 4, 3, 3)).astype(np.float32)
SPECIAL: dict[str, tuple[float, bool]] = {
    "zeros": (0.0, True),
    "negative zeros": (-0.0, True),
    "small": (1e-20, True),
    "large": (1e20, True),
    "very small": (1e-35, False),
    "denormal": (1e-41, False),
    "infinite": (np.inf, False),
    "not a number": (np.nan, False),
}


@pytest.mark.parametrize("special", SPECIAL)
def test_numbers_of_every_kind_come_back(special: str) -> None:
    value, goes = SPECIAL[special]
    exe = bound(NETWORKS["norm after"][0], a_weight=spread(WEIGHT.copy(), value))
    before = bits(exe)
    exe.forward()
    assert given_up(exe) == ({"a_weight"} if goes else set())
    assert bits(exe) == before


@pytest.mark.parametrize("gamma", [0.0, 1e-38, np.inf, np.nan])
def test_what_does_not_follow_stays(gamma: float) -> None:
    exe = bound(NETWORKS["norm after"][0], n_gamma=np.array([gamma] + [1] * 7))
    exe.forward()
    assert not given_up(exe)


def test_a_weight_in_another_order_stays() -> None:
    exe = bound(NETWORKS["norm after"][0])
    weight = torch.from_numpy(WEIGHT.copy()).contiguous(memory_format=torch.channels_last)
    exe.arg_dict["a_weight"].exchange(weight)
    del weight
    exe.forward()
    assert not given_up(exe)
    np.testing.assert_array_equal(exe.arg_dict["a_weight"].asnumpy(), WEIGHT)


def test_who_may_train_keeps_them() -> None:
    exe = bound(NETWORKS["a block"][0], grad_req="write")
    exe.forward()
    assert not given_up(exe)


def test_small_weights_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(released_weights, "_LEAST", 8 * 8 * 9 + 1)
    exe = bound(NETWORKS["a block"][0])
    exe.forward()
    assert not given_up(exe)


def scaled(exe: Any) -> None:
    exe.arg_dict["a_weight"] *= 2


def replaced(exe: Any) -> None:
    exe.arg_dict["a_weight"][:] = 0.5


def one_written(exe: Any) -> None:
    exe.arg_dict["a_weight"][2] = 7


def looked_at_and_scaled(exe: Any) -> None:
    exe.arg_dict["a_weight"].asnumpy()
    exe.forward()
    scaled(exe)


def gamma_written(exe: Any) -> None:
    exe.arg_dict["n_gamma"][:] = 3


def taken_out(exe: Any) -> None:
    exe.arg_dict["a_weight"].to_torch().mul_(3)


@pytest.mark.parametrize(
    "change",
    [scaled, replaced, one_written, looked_at_and_scaled, gamma_written, taken_out],
    ids=lambda each: each.__name__,
)
def test_a_write_is_seen(change: Callable[[Any], None]) -> None:
    net = NETWORKS["norm after"][0]
    exe, other = bound(net), bound(net, grad_req="write")
    for each in (exe, other):
        each.forward()
        change(each)
    np.testing.assert_array_equal(exe.forward()[0].asnumpy(), other.forward()[0].asnumpy())
    assert bits(exe) == bits(other)


def test_tensors_that_a_program_holds_stay() -> None:
    exe = bound(NETWORKS["norm after"][0])
    weight, gamma = (exe.arg_dict[name].tensor for name in ("a_weight", "n_gamma"))
    first = exe.forward()[0].asnumpy()
    assert out_of_sight(exe) == {"a_bias", "n_beta", "n_moving_mean", "n_moving_var"}
    for held in (weight, gamma):
        held.mul_(2)
        second = exe.forward()[0].asnumpy()
        assert np.abs(second - first).max() > 0.1
        first = second


def test_one_array_may_be_several_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    net = conv(norm(conv(X, "a", num_filter=4, no_bias=True), "n"), "b", num_filter=4, no_bias=True)
    exe = bound(net)
    arrays = dict(exe.arg_dict)
    arrays["b_weight"], arrays["n_beta"] = arrays["a_weight"], arrays["n_gamma"]
    one = net.bind(mx.cpu(), arrays, grad_req="null", aux_states=exe.aux_dict)
    first = one.forward()[0].asnumpy()
    runs = computed(monkeypatch)
    np.testing.assert_array_equal(one.forward()[0].asnumpy(), first)
    assert not runs and given_up(one) == {"a_weight", "b_weight"}
    one.arg_dict["b_weight"][:] *= 2
    assert np.abs(one.forward()[0].asnumpy() - first).max() > 0.1


def test_what_only_a_fold_reads_is_put_away(monkeypatch: pytest.MonkeyPatch) -> None:
    exe = bound(NETWORKS["norm after"][0])
    address = exe.arg_dict["n_gamma"].tensor.data_ptr()
    first = exe.forward()[0].asnumpy()
    runs = computed(monkeypatch)
    norms = {"n_gamma", "n_beta", "n_moving_mean", "n_moving_var"}
    assert out_of_sight(exe) == {"a_weight", "a_bias"} | norms
    assert exe.arg_dict["n_gamma"].tensor.data_ptr() == address
    exe.forward()
    assert not runs and out_of_sight(exe) == {"a_weight", "a_bias", *norms} - {"n_gamma"}
    exe.aux_dict["n_moving_mean"][:] += 1
    assert np.abs(exe.forward()[0].asnumpy() - first).max() > 0.1
    assert runs == [1]


def test_a_monitor_finds_them() -> None:
    exe, seen = bound(NETWORKS["norm after"][0]), []
    first = exe.forward()[0].asnumpy()
    exe.set_monitor_callback(lambda name, array: seen.append(name))
    np.testing.assert_allclose(exe.forward()[0].asnumpy(), first, rtol=1e-4, atol=1e-5)
    assert "a_output" in seen


def in_batches_of(size: int, exe: Any) -> Any:
    return exe.reshape(partial_shaping=True, allow_up_sizing=True, data=(size, *SHAPE[1:]))


@pytest.mark.parametrize("first_goes", [False, True])
def test_executors_for_several_shapes(first_goes: bool) -> None:
    net = NETWORKS["a block"][0]
    exe = bound(net)
    before = bits(exe)
    del before["data"]
    first = exe.forward()[0].asnumpy()
    other = in_batches_of(7, exe)
    other.arg_dict["data"][:4] = exe.arg_dict["data"]
    if first_goes:
        del exe
        gc.collect()
    for _ in range(2):
        np.testing.assert_allclose(other.forward()[0].asnumpy()[:4], first, rtol=1e-4, atol=1e-5)
        assert given_up(other) == {"a_weight", "b_weight", "c_weight"}
    if not first_goes:
        np.testing.assert_array_equal(exe.forward()[0].asnumpy(), first)
    found = bits(other)
    assert {name: found[name] for name in before} == before


def trained(net: Any) -> Any:
    """Train, and look at another network of the same parameters between the steps."""
    mx.random.seed(3)
    np.random.seed(3)  # initializers draw from it
    module = mx.mod.Module(net, label_names=["label"])
    module.bind([("data", SHAPE)], [("label", (4, 8, 40, 40))])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.01, "momentum": 0.9})
    other = mx.mod.Module(net, label_names=["label"])
    other.bind([("data", SHAPE)], [("label", (4, 8, 40, 40))], for_training=False, shared_module=module)
    draws = np.random.default_rng(5)
    found = []
    for _ in range(4):
        data = mx.nd.array(draws.normal(size=SHAPE))
        batch = mx.io.DataBatch([data], [mx.nd.array(draws.normal(size=(4, 8, 40, 40)))])
        module.forward_backward(batch)
        module.update()
        other.forward(batch)
        found.append(other.get_outputs()[0].asnumpy())
    arguments, states = module.get_params()
    return found, {name: array.asnumpy() for name, array in {**arguments, **states}.items()}


def test_a_network_that_trains_may_share_them(monkeypatch: pytest.MonkeyPatch) -> None:
    net = mx.sym.LinearRegressionOutput(NETWORKS["norm after"][0], mx.sym.var("label"))
    found, parameters = trained(net)
    monkeypatch.setattr(released_weights, "_LEAST", 1 << 60)
    expected, expected_parameters = trained(net)
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, two)
    for name, value in expected_parameters.items():
        np.testing.assert_array_equal(parameters[name], value)


def test_a_module_that_predicts_has_them_once(tmp_path: Any) -> None:
    module = mx.mod.Module(NETWORKS["a block"][0], label_names=None)
    module.bind([("data", SHAPE)], for_training=False)
    module.init_params(mx.init.Xavier())
    [exe] = module._exec_group.execs
    before = bits(exe)
    names = {"a_weight", "b_weight", "c_weight"}
    batches = [mx.io.DataBatch([mx.nd.random.normal(shape=SHAPE)]) for _ in range(5)]
    for batch in batches:
        module.forward(batch)
        module.get_outputs()[0].asnumpy()
        assert given_up(exe) == names
    assert exe.ready_inference([exe.arg_dict["data"]]) is not None
    assert given_up(exe) == names
    module.save_checkpoint(str(tmp_path / "net"), 1)
    loaded = mx.nd.load(str(tmp_path / "net-0001.params"))
    for name in names:
        assert loaded[f"arg:{name}"].asnumpy().tobytes() == before[name]


def test_memory_is_free() -> None:
    exe = bound(conv(X, "a", num_filter=64))
    weight = exe.arg_dict["a_weight"]
    held = torch.utils.weak.WeakTensorKeyDictionary({weight.tensor: "here"})
    exe.forward()
    assert len(held) == 0
    assert isinstance(weight.storage, ReleasedStorage)
