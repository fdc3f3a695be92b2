"""Batch norms whose statistics are among `fixed_param_names`."""

from __future__ import annotations

import numpy as np
import pytest

import rebind as mx
from rebind.errors import MXNetError, ParameterError
from rebind.graph.passes import freeze_statistics

NAMES = ["bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var"]


def network():
    net = mx.sym.BatchNorm(mx.sym.var("data"), name="bn", fix_gamma=False)
    net = mx.sym.BatchNorm(mx.sym.FullyConnected(net, num_hidden=3, name="fc"), name="free")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def test_a_frozen_batch_norm_computes_in_training_as_in_inference_and_stays() -> None:
    rng = np.random.RandomState(0)
    x, y = rng.randn(32, 4).astype("float32") + 3, rng.randint(0, 3, 32).astype("float32")
    mod = mx.mod.Module(network(), fixed_param_names=NAMES)
    data = mx.io.NDArrayIter(x, y, 8)
    mod.bind(data.provide_data, data.provide_label)
    mod.init_params(mx.init.Xavier())
    before = {name: value.asnumpy() for part in mod.get_params() for name, value in part.items()}
    mod.init_optimizer(optimizer_params={"learning_rate": 0.1})
    for batch in data:
        mod.forward_backward(batch)
        mod.update()
    after = {name: value.asnumpy() for part in mod.get_params() for name, value in part.items()}
    for name in before:
        assert (before[name] == after[name]).all() == (name in NAMES or name == "free_gamma"), name
    assert mod.symbol.tojson() == network().tojson()  # what is saved is the network as it was given


REGULARIZED = mx.sym.IdentityAttachKLSparseReg(mx.sym.var("data"), name="kl")


@pytest.mark.parametrize(
    ("freeze", "error", "says"),
    [
        pytest.param(
            lambda: freeze_statistics(network().graph, {"bn_moving_mean"}),
            ParameterError,
            r"BatchNorm 'bn': all of its auxiliary states, .* must be frozen together",
            id="some-of-an-operators-states",
        ),
        pytest.param(
            lambda: freeze_statistics(REGULARIZED.graph, set(REGULARIZED.list_auxiliary_states())),
            ParameterError,
            r"its auxiliary states .* cannot be frozen",
            id="another-operators-states",
        ),
        pytest.param(
            lambda: mx.mod.Module(network(), fixed_param_names=["bn_moving_men"]),
            MXNetError,
            "fixed_param_names",
            id="unknown-name",
        ),
    ],
)
def test_what_cannot_be_frozen_is_refused(freeze, error, says) -> None:
    with pytest.raises(error, match=says):
        freeze()
