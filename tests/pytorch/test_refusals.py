"""What plain PyTorch cannot say is refused by name and with a reason; layers are free in their sizes."""

from __future__ import annotations

import pytest
import torch

import rebind as mx


@mx.operator.register("doubled_in_python")
class Doubled(mx.operator.CustomOpProp):
    def create_operator(self, context: object, shapes: object, types: object) -> mx.operator.CustomOp:
        return mx.operator.CustomOp()


def test_custom_operators() -> None:
    net = mx.sym.Custom(mx.sym.var("data"), op_type="doubled_in_python", name="twice")
    with pytest.raises(mx.MXNetError, match=r"'twice': .* it runs Python code of the user"):
        mx.to_torch(net, {}, shapes={"data": (3,)})


def test_unknown_shapes() -> None:
    with pytest.raises(mx.MXNetError, match=r"'op': .* give the shapes of the inputs in `shapes`"):
        mx.to_torch(mx.sym.topk(mx.sym.var("data"), name="op"), {})


def test_height_and_width_are_free() -> None:
    net = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    net = mx.sym.Pooling(mx.sym.BatchNorm(net, name="bn"), global_pool=True, kernel=(1, 1), pool_type="avg")
    exe = net.simple_bind(mx.cpu(), data=(2, 3, 8, 8))
    params = {name: value for name, value in exe.arg_dict.items() if name != "data"}
    module = mx.to_torch(net, params, exe.aux_dict).eval()
    free = {axis: torch.export.Dim.DYNAMIC for axis in (0, 2, 3)}
    exported = torch.export.export(module, (torch.ones(2, 3, 8, 8),), dynamic_shapes={"data": free})
    assert exported.module()(torch.ones(5, 3, 9, 11)).shape == (5, 4, 1, 1)


def test_dropout_along_axes() -> None:
    module = mx.to_torch(mx.sym.Dropout(mx.sym.var("data"), axes=(2, 3)), {})
    ones = torch.ones(2, 30, 4, 4)
    dropped = module(ones)
    assert torch.equal(dropped, dropped[:, :, :1, :1].expand_as(dropped))
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert torch.equal(module.eval()(ones), ones)
