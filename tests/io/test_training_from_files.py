"""Training from files, as MXNet's examples do it."""

import numpy as np
import pytest

import rebind as mx

from .files import write, write_idx


@pytest.fixture
def pictures():
    """Pictures of 6 x 6 with a bright row for each of three classes."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 240)
    values = rng.integers(0, 80, (240, 6, 6))
    values[np.arange(240), labels * 2] += 150
    return values, labels


def classifier(flat: bool) -> mx.sym.Symbol:
    data = mx.sym.var("data")
    net = mx.sym.FullyConnected(data if flat else mx.sym.flatten(data), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def accuracy(module, batches) -> float:
    return dict(module.score(batches, "acc"))["accuracy"]


@pytest.mark.parametrize("flat", [False, True])
def test_mnist(flat, pictures, tmp_path):
    image = write_idx(tmp_path / "i", pictures[0], compress=True)
    label = write_idx(tmp_path / "l", pictures[1])
    parts = [
        mx.io.MNISTIter(
            image=image, label=label, batch_size=20, flat=flat, silent=True, num_parts=2, part_index=part
        )
        for part in range(2)
    ]
    mx.random.seed(0)
    module = mx.mod.Module(classifier(flat))
    module.fit(parts[0], num_epoch=20, optimizer_params={"learning_rate": 0.5})
    assert accuracy(module, parts[1]) > 0.95


def test_libsvm(pictures, tmp_path):
    rows = pictures[0].reshape(-1, 36) / 256
    lines = [
        f"{label} {' '.join(f'{column}:{row[column]:.4f}' for column in np.flatnonzero(row > 0.1))}\n"
        for row, label in zip(rows, pictures[1])
    ]
    path = write(tmp_path / "a.t", "".join(lines))
    batches = mx.io.LibSVMIter(data_libsvm=path, data_shape=(36,), batch_size=50)
    mx.random.seed(0)
    module = mx.mod.Module(classifier(True))
    module.fit(batches, num_epoch=20, optimizer_params={"learning_rate": 0.5})
    batches.reset()
    assert accuracy(module, batches) > 0.95


def test_csv(tmp_path):
    rng = np.random.default_rng(0)
    data = rng.standard_normal((200, 4)).round(4)
    target = data @ [1, -2, 3, 0.5]
    for name, values in (("a.csv", data), ("b.csv", target)):
        np.savetxt(tmp_path / name, values, delimiter=",", fmt="%.6f")
    batches = mx.io.CSVIter(
        data_csv=tmp_path / "a.csv",
        data_shape=(4,),
        label_csv=tmp_path / "b.csv",
        label_name="target",
        batch_size=30,
    )
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    net = mx.sym.LinearRegressionOutput(net, mx.sym.var("target"), name="out")
    mx.random.seed(0)
    module = mx.mod.Module(net, label_names=["target"])
    module.fit(batches, num_epoch=40, optimizer_params={"learning_rate": 0.1}, eval_metric="mse")
    weights, _ = module.get_params()
    np.testing.assert_allclose(weights["fc_weight"].asnumpy(), [[1, -2, 3, 0.5]], atol=0.01)
