"""What the callbacks for TensorBoard write, read back by TensorBoard's own reader."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx

pytest.importorskip("tensorboard")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of TensorBoard's own protobufs


def read(folder: Path) -> Any:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    return EventAccumulator(str(folder), size_guidance={"histograms": 0}).Reload()


def points(events: Any, tag: str) -> list[tuple[int, float]]:
    return [(event.step, pytest.approx(event.value)) for event in events.Scalars(tag)]


def network() -> mx.sym.Symbol:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    net = mx.sym.FullyConnected(net, num_hidden=2, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def data() -> mx.io.NDArrayIter:
    x = np.random.RandomState(0).rand(32, 4).astype("float32")
    return mx.io.NDArrayIter(x, x[:, 0] > 0.5, batch_size=4)


def fit(module: Any, folder: Path, **settings: Any) -> Any:
    more = {name: settings.pop(name) for name in ("num_epoch", "checkpoint", "optimizer") if name in settings}
    callback = mx.callback.TensorBoard(folder, **settings)
    options = {"num_epoch": 3, "optimizer_params": {"learning_rate": 0.5}, **more}
    return module.fit(data(), data(), eval_metric=["acc", "ce"], callbacks=[callback], **options)


def test_figures_of_epochs_are_those_of_the_history(tmp_path: Path) -> None:
    history = fit(mx.mod.Module(network()), tmp_path)
    events = read(tmp_path)
    for split in ("train", "validation"):
        for name in ("accuracy", "cross-entropy"):
            assert points(events, f"{name}/{split}") == list(enumerate(history[split][name]))
    assert points(events, "learning_rate") == [(0, 0.5), (1, 0.5), (2, 0.5)]
    assert all(seconds > 0 for _, seconds in [(e.step, e.value) for e in events.Scalars("seconds")])


def test_histograms_are_of_weights_and_gradients(tmp_path: Path) -> None:
    module = mx.mod.Module(network())
    fit(module, tmp_path)
    events = read(tmp_path)
    names = ["fc1_bias", "fc1_weight", "fc2_bias", "fc2_weight"]
    assert sorted(events.Tags()["histograms"]) == [
        f"{kind}/{name}" for kind in ("gradients", "weights") for name in names
    ]
    last = events.Histograms("weights/fc1_weight")[-1]
    weight = module.get_params()[0]["fc1_weight"].asnumpy()
    assert last.step == 2 and last.histogram_value.num == weight.size
    assert last.histogram_value.sum == pytest.approx(weight.sum(), abs=1e-5)
    gradient = module.trained_gradients()["fc2_bias"].asnumpy()
    last = events.Histograms("gradients/fc2_bias")[-1].histogram_value
    assert (last.min, last.max) == (pytest.approx(gradient.min()), pytest.approx(gradient.max()))


def test_curves_within_epochs_are_a_run_of_their_own(tmp_path: Path) -> None:
    fit(mx.mod.Module(network()), tmp_path, frequent=4)
    assert [event.step for event in read(tmp_path / "batches").Scalars("accuracy/train")] == [
        1,
        5,
        9,
        13,
        17,
        21,
    ]


def test_the_network_has_the_names_of_its_nodes_and_operators(tmp_path: Path) -> None:
    fit(mx.mod.Module(network()), tmp_path, num_epoch=1)
    nodes = {node.name: node for node in read(tmp_path).Graph().node}
    assert nodes["relu1"].op == "Activation" and list(nodes["relu1"].input) == ["fc1"]
    assert list(nodes["fc2"].input) == ["relu1", "fc2_weight", "fc2_bias"]
    assert nodes["fc2"].attr["num_hidden"].s == b"2" and nodes["data"].op == "Variable"


@pytest.mark.parametrize(
    ("settings", "missing"),
    [({"histograms": False}, "histograms"), ({"graph": False}, "graph"), ({"frequent": None}, "batches")],
)
def test_each_part_can_be_left_out(tmp_path: Path, settings: dict[str, Any], missing: str) -> None:
    fit(mx.mod.Module(network()), tmp_path, num_epoch=1, **settings)
    events = read(tmp_path)
    have = {
        "histograms": bool(events.Tags()["histograms"]),
        "graph": events.Tags()["graph"],
        "batches": (tmp_path / "batches").exists(),
    }
    assert have == {"histograms": True, "graph": True, "batches": True} | {missing: False}


def test_a_resumed_run_continues_its_curves(tmp_path: Path) -> None:
    run = {"checkpoint": str(tmp_path / "run"), "frequent": 8}
    fit(mx.mod.Module(network()), tmp_path / "logs", num_epoch=2, **run)
    history = fit(mx.mod.Module(network()), tmp_path / "logs", num_epoch=4, **run)
    assert points(read(tmp_path / "logs"), "accuracy/train") == list(enumerate(history["train"]["accuracy"]))
    assert [e.step for e in read(tmp_path / "logs" / "batches").Scalars("accuracy/train")] == [1, 9, 17, 25]


def test_modules_of_all_kinds(tmp_path: Path) -> None:
    def bucket(key: int) -> tuple[Any, list[str], list[str]]:
        return network(), ["data"], ["softmax_label"]

    chain = mx.mod.SequentialModule()
    chain.add(
        mx.mod.Module(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"), label_names=None)
    )
    chain.add(
        mx.mod.Module(mx.sym.SoftmaxOutput(mx.sym.var("data"), name="softmax")),
        take_labels=True,
        auto_wiring=True,
    )
    iterator = data()
    iterator.default_bucket_key = 0
    for name, module, weights in (
        ("devices", mx.mod.Module(network(), context=[mx.cpu(0), mx.cpu(1)]), 4),
        ("buckets", mx.mod.BucketingModule(bucket, default_bucket_key=0), 4),
        ("chain", chain, 2),
    ):
        fit(module, tmp_path / name, num_epoch=1)
        assert len(read(tmp_path / name).Tags()["histograms"]) == 2 * weights, name


def test_gradients_of_several_devices_are_summed() -> None:
    found = []
    for devices in ([mx.cpu(0)], [mx.cpu(0), mx.cpu(1)]):
        module = mx.mod.Module(network(), context=devices)
        batches = data()
        module.bind(batches.provide_data, batches.provide_label)
        module.init_params(mx.init.Constant(0.1))
        module.forward_backward(batches.next())
        found.append(module.trained_gradients()["fc2_weight"].asnumpy())
    np.testing.assert_allclose(*found, rtol=1e-5)


def test_mxnets_callback_counts_by_epochs(tmp_path: Path) -> None:
    # As MXNet 1.9.1: the step of each point is the epoch's number; the prefix and a hyphen come first.
    metric = mx.metric.create(["acc", "ce"])
    metric.update([mx.nd.array([0])], [mx.nd.array([[0.6, 0.4]])])
    callback = mx.contrib.tensorboard.LogMetricsCallback(str(tmp_path), prefix="train")
    for epoch, batch in ((0, 0), (0, 1), (1, 0)):
        callback(mx.callback.BatchEndParam(epoch, batch, metric, None))
    callback(mx.callback.BatchEndParam(1, 1, None, None))  # without a metric there is nothing to write
    callback.summary_writer.close()
    events = read(tmp_path)
    assert points(events, "train-accuracy") == [(0, 1.0), (0, 1.0), (1, 1.0)]
    assert points(events, "train-cross-entropy") == [(0, 0.5108256), (0, 0.5108256), (1, 0.5108256)]


def test_without_the_package_the_message_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch.utils.tensorboard", None)
    with pytest.raises(ImportError, match=r"needs tensorboard.*pip install 'rebind\[tensorboard\]'"):
        mx.contrib.tensorboard.LogMetricsCallback(str(tmp_path))


def test_a_callback_alone_is_taken_for_a_list_of_it(tmp_path: Path) -> None:
    mx.mod.Module(network()).fit(data(), num_epoch=1, callbacks=mx.callback.TensorBoard(tmp_path))
    assert "accuracy/train" in read(tmp_path).Tags()["scalars"]


def test_as_a_function_it_says_where_it_belongs(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"batch_end_callback must be a function.*Give it in callbacks="):
        mx.mod.Module(network()).fit(
            data(),
            num_epoch=1,
            batch_end_callback=mx.callback.TensorBoard(tmp_path),  # type: ignore[arg-type]
        )
    with pytest.raises(TypeError, match=r"batch_end_callback must be a function.*Give it in callbacks="):
        mx.model.FeedForward(network(), num_epoch=1).fit(
            data(),
            batch_end_callback=mx.callback.TensorBoard(tmp_path),  # type: ignore[arg-type]
        )
