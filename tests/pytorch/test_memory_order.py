"""Arrays whose memory is in another order than their axes."""

from __future__ import annotations

import pytest
import torch

import rebind as mx


@pytest.mark.parametrize("shows", [False, True])
def test_group_norm(shows: bool) -> None:
    data, gamma, beta = mx.sym.var("data"), mx.sym.var("gamma"), mx.sym.var("beta")
    net = mx.sym.transpose(data, axes=(2, 1, 3, 0))
    net = mx.sym.GroupNorm(net, gamma, beta, num_groups=2, output_mean_var=shows, name="norm")
    params = {"gamma": mx.nd.array([1.5, 2]), "beta": mx.nd.array([0, 1])}
    module = mx.to_torch(net, params, shapes={"data": (0, 6, 4, 5)})
    value = torch.randn(3, 6, 4, 5)
    found = module(value)
    exe = net.bind(mx.cpu(), {**params, "data": mx.nd.array(value.numpy())})
    for output, expected in zip(found if shows else [found], exe.forward(), strict=True):
        torch.testing.assert_close(output.detach(), torch.from_numpy(expected.asnumpy()))


def test_written_out_reshapes() -> None:
    net = mx.sym.Reshape(mx.sym.transpose(mx.sym.var("data"), axes=(0, 2, 1)), shape=(0, -1), reverse=True)
    module = mx.to_torch(net, {}, shapes={"data": (4, 5, 6)})
    value = torch.randn(4, 5, 6)
    assert torch.equal(module(value), value.permute(0, 2, 1).reshape(6, 20))
