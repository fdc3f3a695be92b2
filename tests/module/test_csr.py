"""Modules whose inputs are csr: one device or several, batches of either storage type, smaller and padded ones."""

from __future__ import annotations

import numpy as np
import pytest

import rebind as mx


@pytest.fixture(autouse=True)
def without_warnings_of_dense_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested is how batches reach the network, not which of its operators have kernels for them."""
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")


X = (np.random.RandomState(0).rand(12, 8) * (np.random.RandomState(1).rand(12, 8) > 0.6)).astype("float32")
LABELS = np.linspace(-1, 1, 12, dtype="float32").reshape(12, 1)


def module(
    devices: int = 1, stype: str = "csr", weight: str = "row_sparse", labels: bool = True
) -> mx.mod.Module:
    data = mx.sym.var("data", stype=stype)
    hidden = mx.sym.sparse.dot(data, mx.sym.var("w", shape=(8, 3), stype=weight))
    net = mx.sym.FullyConnected(hidden, num_hidden=1, name="fc")
    if labels:
        net = mx.sym.LinearRegressionOutput(net, mx.sym.var("label"), name="out")
    context = [mx.cpu(i) for i in range(devices)]
    return mx.mod.Module(net, ["data"], ["label"] if labels else None, context=context)


def batch(begin: int, end: int, stype: str = "csr", pad: int = 0) -> mx.io.DataBatch:
    data = mx.nd.array(X[begin:end]).tostype(stype)
    return mx.io.DataBatch([data], [mx.nd.array(LABELS[begin:end])], pad=pad)


def values() -> dict[str, mx.nd.NDArray]:
    draws = np.random.RandomState(3)
    shapes = {"w": (8, 3), "fc_weight": (1, 3), "fc_bias": (1,)}
    return {name: mx.nd.array(draws.randn(*shape)) for name, shape in shapes.items()}


def bound(devices: int = 1, stype: str = "csr", **given: object) -> mx.mod.Module:
    of = module(devices, stype, **given)
    of.bind([("data", (4, 8))], [("label", (4, 1))] if given.get("labels", True) else None)
    of.init_params(arg_params=values())
    return of


def expected(begin: int, end: int) -> np.ndarray:
    found = {name: array.asnumpy() for name, array in values().items()}
    return X[begin:end] @ found["w"] @ found["fc_weight"].T + found["fc_bias"]


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("given", ["csr", "default"])
@pytest.mark.parametrize("stype", ["csr", "default"])
def test_inputs_are_of_the_storage_type_of_their_variable(stype: str, given: str, devices: int) -> None:
    of = bound(devices, stype)
    for begin, end in ((0, 4), (4, 8), (8, 10)):  # the last batch is smaller, which MXNet refuses
        of.forward(batch(begin, end, given), is_train=False)
        arrays = [each.arg_dict["data"] for each in of._exec_group.execs]
        assert {each.stype for each in arrays} == {stype}
        np.testing.assert_array_equal(np.concatenate([each.asnumpy() for each in arrays]), X[begin:end])
        np.testing.assert_allclose(of.get_outputs()[0].asnumpy(), expected(begin, end), rtol=1e-5)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_batch_that_does_not_fit(devices: int) -> None:
    of = bound(devices)
    with pytest.raises(mx.MXNetError):
        of.forward(mx.io.DataBatch([mx.nd.ones((4, 9)).tostype("csr")], [mx.nd.ones((4, 1))]))
    with pytest.raises(mx.MXNetError, match="must have"):
        of._exec_group.forward(mx.io.DataBatch([mx.nd.ones((5, 8)).tostype("csr")], [mx.nd.ones((4, 1))]))


def test_batches_that_are_sliced_already() -> None:
    of = bound(2)
    of.forward([batch(0, 2), batch(2, 4)], is_train=False)
    np.testing.assert_allclose(of.get_outputs()[0].asnumpy(), expected(0, 4), rtol=1e-5)


class Batches:
    """An iterator of csr batches, of which the last one is padded."""

    batch_size = 4
    provide_data = [mx.io.DataDesc("data", (4, 8))]
    provide_label = [mx.io.DataDesc("label", (4, 1))]

    def __iter__(self):
        yield from (batch(0, 4), batch(4, 8), batch(8, 12, pad=1))

    def reset(self) -> None:
        pass


@pytest.mark.parametrize("devices", [1, 2])
def test_prediction_and_scores_leave_padding_out(devices: int) -> None:
    of = bound(devices)
    np.testing.assert_allclose(of.predict(Batches()).asnumpy(), expected(0, 11), rtol=1e-5)
    found, wanted = (dict(each.score(Batches(), "mse"))["mse"] for each in (of, bound(devices, "default")))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("weight", ["row_sparse", "default"])
@pytest.mark.parametrize(("store", "devices"), [(None, 1), ("local", 2), ("device", 2)])
def test_training_is_that_of_dense_batches(store: str | None, devices: int, weight: str) -> None:
    found = []
    for stype, each, contexts in (("default", "default", 1), ("csr", weight, devices)):
        of = module(contexts, stype, each)
        of.fit(
            Batches(), eval_metric="mse", kvstore=store, optimizer_params={"learning_rate": 0.1}, num_epoch=3,
            arg_params=values(),
        )  # fmt: skip
        found.append(of.get_params()[0])
    assert found[1]["w"].stype == weight
    for name, value in found[0].items():
        np.testing.assert_allclose(found[1][name].asnumpy(), value.asnumpy(), rtol=1e-4, atol=1e-5)


def test_csr_labels_of_several_devices() -> None:
    of = bound(2, labels=False)
    of.forward(mx.io.DataBatch([mx.nd.array(X[:4]).tostype("csr")]), is_train=False)
    metric = mx.metric.MSE()
    of.update_metric(metric, [mx.nd.array(LABELS[:4]).tostype("csr")])
    np.testing.assert_allclose(metric.get()[1], ((expected(0, 4) - LABELS[:4]) ** 2).mean(), rtol=1e-5)


def test_a_list_of_batches_is_known_again(tmp_path) -> None:
    batches = [batch(0, 4), batch(4, 8)]
    for epochs in (1, 2):
        of = module()
        of.fit(
            batches,
            eval_metric="mse",
            num_epoch=epochs,
            arg_params=values(),
            checkpoint=str(tmp_path / "run"),
        )
