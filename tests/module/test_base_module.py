from pathlib import Path

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind.io import DataBatch, DataDesc, NDArrayIter
from rebind.module import BaseModule
from rebind.module.descs import read_descs


class Doubler(BaseModule):
    """A module written by a user: nothing but the steps that prediction and training need."""

    binded = params_initialized = optimizer_initialized = True
    data_names, output_names, label_shapes = ["x"], ["y"], None

    def __init__(self):
        super().__init__()
        self.calls = []

    def bind(self, *args, **kwargs):
        self.calls.append("bind")

    def init_params(self, *args, **kwargs):
        self.calls.append("init_params")

    def init_optimizer(self, *args, **kwargs):
        self.calls.append("init_optimizer")

    def forward(self, data_batch, is_train=None):
        self.calls.append(f"forward {is_train}")
        self.outputs = [data_batch.data[0] * 2]

    def get_outputs(self, merge_multi_context=True):
        return self.outputs

    def backward(self, out_grads=None):
        self.calls.append("backward")

    def update(self):
        self.calls.append("update")

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        eval_metric.update(labels, self.outputs)


def rows(count):
    return nd.array(range(count)).reshape((count, 1))


def test_a_users_module_is_trained_by_the_same_steps():
    mod = Doubler()
    history = mod.fit(NDArrayIter(rows(4), rows(4), 2), eval_metric="mse", num_epoch=1)
    step = ["forward True", "backward", "update"]
    assert mod.calls == ["bind", "init_params", "init_optimizer", *step, *step]
    assert history["train"]["mse"] == [(0 + 1 + 4 + 9) / 4]


def test_a_users_module_predicts_without_padding():
    mod = Doubler()
    assert mod.predict(NDArrayIter(rows(5), batch_size=2)).asnumpy().ravel().tolist() == [0, 2, 4, 6, 8]
    assert mod.score(NDArrayIter(rows(5), rows(5), 2), "mse") == [
        ("mse", pytest.approx((1 / 2 + 13 / 2 + 16) / 3))
    ]


@pytest.mark.parametrize(
    ("use", "what"),
    [
        (lambda mod: mod.data_names, "data_names"),
        (lambda mod: mod.bind([]), "bind()"),
        (lambda mod: mod.init_params(), "init_params()"),
        (lambda mod: mod.get_params(), "get_params()"),
        (lambda mod: mod.forward(DataBatch([])), "forward()"),
        (lambda mod: mod.forward_backward(DataBatch([])), "forward()"),
        (lambda mod: mod.install_monitor(None), "install_monitor()"),
    ],
)
def test_what_is_not_defined_is_named(use, what):
    class Empty(BaseModule):
        pass

    with pytest.raises(mx.MXNetError) as caught:
        use(Empty())
    assert str(caught.value) == f"Empty: must define {what}; BaseModule only declares it"


def test_read_descs():
    assert read_descs(None, "it") == []
    found = read_descs([("a", (1, 2)), ["b", (3,), "float64"], DataDesc("c", (4,), layout="T")], "it")
    assert found == [("a", (1, 2)), ("b", (3,)), ("c", (4,))]
    assert found[1].dtype == "float64" and found[2].layout == "T"
    with pytest.raises(TypeError, match="it must hold DataDesc records or pairs"):
        read_descs([("a",)], "it")


@pytest.mark.parametrize("kind", ["array", "iterator", "batches", "generator"])
def test_a_loaded_module_binds_itself_to_what_it_predicts(kind: str, tmp_path: Path) -> None:
    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"), name="softmax"
    )
    module = mx.mod.Module(net)
    module.bind([("data", (5, 3))], [("softmax_label", (5,))])
    module.init_params(mx.init.Normal(1))
    module.save_checkpoint(str(tmp_path / "net"), 1)
    x = np.arange(15, dtype="float32").reshape(5, 3) / 10
    data = {
        "array": x,
        "iterator": mx.io.NDArrayIter(x, batch_size=2),
        "batches": [mx.io.DataBatch([mx.nd.array(x)])],
        "generator": (mx.io.DataBatch([mx.nd.array(rows)]) for rows in (x[:2], x[2:])),
    }
    loaded = mx.mod.Module.load(str(tmp_path / "net"), 1)
    np.testing.assert_allclose(loaded.predict(data[kind]).asnumpy(), module.predict(x).asnumpy(), rtol=1e-6)
    assert not loaded.for_training
