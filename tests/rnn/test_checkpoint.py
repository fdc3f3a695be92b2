"""Checkpoints with the weights of each gate. Their bytes are compared with MXNet's in tests/parity."""

from __future__ import annotations

import numpy as np
import pytest

import rebind as mx
from rebind import rnn


def trained(cell, folder, epochs=2, **settings):
    """Fit a few steps with checkpoints; return the module."""
    outputs, _ = cell.unroll(4, mx.sym.var("data"), layout="TNC", merge_outputs=True)
    net = mx.sym.LinearRegressionOutput(mx.sym.mean(outputs, axis=(0, 2)), name="out")
    module = mx.mod.Module(net, label_names=["out_label"])
    data = mx.nd.array(np.random.RandomState(0).normal(size=(4, 2, 3)))
    batch = mx.io.DataBatch([data], [mx.nd.ones((2,))])
    descs = [mx.io.DataDesc("data", (4, 2, 3), layout="TNC")], [mx.io.DataDesc("out_label", (2,), layout="N")]
    module.bind(*descs)
    module.init_params(mx.init.Uniform(0.5))
    module.init_optimizer()
    save = rnn.do_rnn_checkpoint(cell, str(folder / "net"), **settings)
    for epoch in range(epochs):
        module.forward_backward(batch)
        module.update()
        save(epoch, net, *module.get_params())
    return module, batch, descs


def test_what_a_fused_network_saved_an_unfused_one_loads(tmp_path):
    cell = rnn.FusedRNNCell(3, 2, "gru")
    module, batch, descs = trained(cell, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "net-0001.params", "net-0002.params", "net-symbol.json",
    ]  # fmt: skip
    stack = cell.unfuse()
    symbol, arg_params, aux_params = rnn.load_rnn_checkpoint(stack, str(tmp_path / "net"), 2)
    assert "gru_rnn_output" in symbol.get_internals().list_outputs()
    outputs, _ = stack.unroll(4, mx.sym.var("data"), layout="TNC", merge_outputs=True)
    other = mx.mod.Module(mx.sym.mean(outputs, axis=(0, 2)), label_names=None)
    other.bind(descs[0], for_training=False)
    other.set_params(arg_params, aux_params)
    for each in (module, other):
        each.forward(mx.io.DataBatch(batch.data), is_train=False)
    np.testing.assert_allclose(
        other.get_outputs()[0].asnumpy(), module.get_outputs()[0].asnumpy(), rtol=1e-5, atol=1e-6
    )


def test_a_period(tmp_path):
    trained(rnn.FusedRNNCell(3), tmp_path, epochs=5, period=2)
    assert sorted(path.name for path in tmp_path.glob("*.params")) == ["net-0002.params", "net-0004.params"]


def test_a_checkpoint_of_another_kind(tmp_path):
    cell = rnn.LSTMCell(2)
    weights = {"lstm_i2h_weight": mx.nd.ones((8, 2))}
    mx.model.save_checkpoint(str(tmp_path / "net"), 1, mx.sym.var("x"), weights, {})
    with pytest.raises(ValueError, match="the parameters must have 'lstm_i2h_i_bias'; got"):
        rnn.load_rnn_checkpoint(cell, str(tmp_path / "net"), 1)


def test_what_is_no_cell():
    with pytest.raises(TypeError, match="save_rnn_checkpoint: cells must be recurrent cells; got 3"):
        rnn.save_rnn_checkpoint([3], "net", 1, None, {}, {})
