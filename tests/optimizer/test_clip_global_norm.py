"""`clip_global_norm`, a setting of every optimizer."""

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.errors import ParameterError
from rebind.ndarray import array
from rebind.optimizer import SGD, Optimizer, Updater, create
from rebind.optimizer.base import optimizers

from .samples import make, some_tensors, wrap


def clipped_by_torch(grads, limit):
    """Return gradients as torch clips them."""
    holders = [torch.nn.Parameter(torch.zeros_like(each)) for each in grads]
    for holder, grad in zip(holders, grads, strict=True):
        holder.grad = grad.clone()
    torch.nn.utils.clip_grad_norm_(holders, limit)
    return [holder.grad for holder in holders]


@pytest.mark.parametrize("limit", [0.01, 1.0, 3.0, 1000.0])
@pytest.mark.parametrize("rescale", [1.0, 0.25, -2.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_clips_as_torch(limit, rescale, dtype):
    grads = some_tensors(dtype)
    weights = wrap([torch.zeros_like(each) for each in grads])
    made = SGD(learning_rate=1.0, rescale_grad=rescale, clip_global_norm=limit)
    Updater(made)([0, 1, 2, 3], wrap(grads), weights)
    for weight, expected in zip(
        weights, clipped_by_torch([each * rescale for each in grads], limit), strict=True
    ):
        torch.testing.assert_close(weight.tensor, -expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", list(optimizers))
def test_every_optimizer_has_it(name):
    """It is what the optimizer does with gradients that were clipped before; `clip_gradient` comes after."""
    found, expected = wrap(some_tensors()), wrap(some_tensors())
    settings = {"rescale_grad": 1.0, "clip_gradient": 0.1}
    grads = some_tensors()
    Updater(make(name, clip_global_norm=0.5, **settings))([0, 1, 2, 3], wrap(grads), found)
    Updater(make(name, **settings))([0, 1, 2, 3], wrap(clipped_by_torch(grads, 0.5)), expected)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.tensor, other.tensor, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("grads", "types", "masters"),
    [
        ([[300.0, 400.0], [1200.0], [0.0, 0.0]], ["float16", "float32", "bfloat16"], True),
        ([[60000.0, 0.0]], ["float16"], False),
        ([[0.0, 0.0]], ["float32"], False),
        ([[3.0], [0.0]], ["bfloat16", "float64"], True),
    ],
    ids=["masters and others", "without masters", "zeros", "masters and wider"],
)
def test_types_are_clipped_together(grads, types, masters):
    """The norm of float16 gradients, whose squares overflow, is taken in float32."""
    weights = [array(np.zeros(len(each)), dtype=dtype) for each, dtype in zip(grads, types, strict=True)]
    arrays = [array(np.array(each), dtype=dtype) for each, dtype in zip(grads, types, strict=True)]
    made = SGD(learning_rate=1.0, clip_global_norm=1.0, multi_precision=masters)
    index = list(range(len(grads)))
    if masters:
        Updater(made)(index, arrays, weights)
    else:
        made.update(index, weights, arrays, [None] * len(grads))
    norm = max(np.linalg.norm(np.concatenate(grads)), 1.0)
    for weight, each in zip(weights, grads, strict=True):
        np.testing.assert_allclose(weight.astype("float32").asnumpy(), -np.array(each) / norm, rtol=1e-3)


def test_an_old_optimizer_gets_clipped_gradients():
    class Old(Optimizer):
        def create_state(self, index, weight):
            return None

        def update(self, index, weight, grad, state):
            weight[:] = weight.asnumpy() - grad.asnumpy()

    weights = [array(np.zeros(1)), array(np.zeros(1))]
    Updater(Old(clip_global_norm=1.0))([0, 1], [array(np.array([3.0])), array(np.array([4.0]))], weights)
    np.testing.assert_allclose([each.asnumpy()[0] for each in weights], [-0.6, -0.8], rtol=1e-6)


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_a_limit_is_positive(bad):
    with pytest.raises(ParameterError, match=f"SGD: clip_global_norm must be > 0, or None.*; got {bad}"):
        create("sgd", clip_global_norm=bad)


def test_an_optimizer_with_methods_of_its_own_is_clipped_over_all_keys_of_a_store():
    class Own(mx.optimizer.SGD):
        def _get_lrs(self, indices):
            return super()._get_lrs(indices)

    found = []
    for kind in (mx.optimizer.SGD, Own):
        store = mx.kv.create("local")
        store.set_optimizer(kind(learning_rate=1.0, clip_global_norm=2.5))
        store.init(["a", "b"], [mx.nd.zeros((1,)), mx.nd.zeros((1,))])
        store.push(["a", "b"], [mx.nd.array([3.0]), mx.nd.array([4.0])])
        outs = [mx.nd.zeros((1,)), mx.nd.zeros((1,))]
        store.pull(["a", "b"], out=outs)
        found.append([each.item() for each in outs])
    assert found[0] == found[1] == [-1.5, -2.0]
