"""The pass that scales losses: every gradient is multiplied once, whatever stands between it and the outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.graph import check
from rebind.graph.passes import scale_losses


def hidden() -> Any:
    return mx.sym.tanh(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc"))


def softmax(features: Any = None, **parameters: Any) -> Any:
    return mx.sym.SoftmaxOutput(hidden() if features is None else features, name="softmax", **parameters)


def two_losses_in_a_row() -> Any:
    first = mx.sym.MakeLoss(mx.sym.square(features := hidden()), name="first")
    return mx.sym.Group([first, mx.sym.MakeLoss(mx.sym.exp(first + features), name="second")])


NETWORKS: dict[str, Callable[[], Any]] = {
    "loss": softmax,
    "loss that looks at its head": lambda: softmax(out_grad=True),
    "loss used twice": lambda: mx.sym.Group([(s := softmax()), mx.sym.BlockGrad(s, name="blocked"), s * 2]),
    "regression": lambda: mx.sym.LinearRegressionOutput(hidden(), mx.sym.var("softmax_label"), name="lro"),
    "no loss": lambda: mx.sym.Group([mx.sym.exp(h := hidden(), name="e"), mx.sym.sum(h, name="s")]),
    "loss and no loss": lambda: mx.sym.Group([softmax(h := hidden()), h]),
    "losses in a row": two_losses_in_a_row,
    "an output of several": lambda: mx.sym.split(hidden(), num_outputs=3, name="parts"),
    "a variable": lambda: mx.sym.Group([mx.sym.var("data"), softmax()]),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_every_gradient_is_scaled_once(name: str) -> None:
    symbol, scale = NETWORKS[name](), [1.0]
    scaled = mx.sym.Symbol(check(scale_losses(symbol.graph, lambda: scale[0])))
    assert scaled.list_outputs() == symbol.list_outputs()
    assert scaled.list_arguments() == symbol.list_arguments()
    label = {"lro": (2, 3)}.get(symbol.name, (2,))
    shapes = {"data": (2, 4)} | (
        {"softmax_label": label} if "softmax_label" in symbol.list_arguments() else {}
    )
    results = []
    for net, factor in ((symbol, 1.0), (scaled, 1.0), (scaled, 1024.0)):
        executor = net.simple_bind(mx.cpu(), **shapes)
        random = np.random.default_rng(0)
        for key, array in executor.arg_dict.items():
            array[:] = 1 if key == "softmax_label" else random.uniform(-1, 1, array.shape)
        outputs = executor.forward(is_train=True)
        scale[0] = factor  # it is read by backward
        executor.backward([mx.nd.ones(out.shape) for out in outputs])
        results.append([[a.asnumpy() for a in outputs], executor.grad_dict["fc_weight"].asnumpy() / factor])
    for outputs, gradient in results[1:]:
        for one, other in zip(outputs, results[0][0], strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(gradient, results[0][1], rtol=1e-6)
    assert np.abs(results[0][1]).max() > 0
