"""Fused recurrent layers as those of PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.pytorch import to_torch


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_outputs_and_weights(mode: str, bidirectional: bool) -> None:
    net = mx.sym.RNN(
        mx.sym.var("data"),
        state_size=4,
        num_layers=2,
        mode=mode,
        bidirectional=bidirectional,
        state_outputs=True,
        name="rnn",
    )
    shapes = {"data": (5, 3, 6)}
    exe = net.simple_bind(mx.cpu(), **shapes)
    for array in exe.arg_dict.values():
        array[:] = mx.nd.array(np.random.RandomState(len(array)).uniform(-0.5, 0.5, array.shape))
    module = to_torch(net, {"rnn_parameters": exe.arg_dict["rnn_parameters"]})
    assert {name.rpartition(".")[0] for name in module.state_dict()} == {"rnn"}
    assert set(module.mxnet_names.values()) == {"rnn_parameters"}
    inputs = {
        name: torch.from_numpy(array.asnumpy())
        for name, array in exe.arg_dict.items()
        if name != "rnn_parameters"
    }
    expected = tuple(torch.from_numpy(output.asnumpy()) for output in exe.forward())
    torch.testing.assert_close(module.eval()(**inputs), expected, rtol=1e-5, atol=1e-6)
