"""What updates a `Module`: the store and the optimizer that it makes, and `rescale_grad`."""

import pytest

import rebind as mx

from .linear_network import batch, module, step


@pytest.mark.parametrize(
    ("devices", "kvstore", "store", "store_updates"),
    [
        (1, None, None, False),
        (1, "local", None, False),
        (1, "device", None, False),
        (2, None, None, False),
        (2, "local", "local", True),
        (2, "device", "device", True),
        (1, mx.kv.create("local"), "local", True),
    ],
)
def test_which_store(devices, kvstore, store, store_updates):
    mod = module(devices=devices)
    mod.init_optimizer(kvstore=kvstore)
    assert (mod._kvstore and mod._kvstore.type) == store and mod._update_on_kvstore is store_updates
    assert (mod._updater is None) == store_updates


@pytest.mark.parametrize("bad", [3, ["local"], True])
def test_what_is_no_store(bad):
    mod = module()
    with pytest.raises(TypeError, match="kvstore: must be None, a name or a KVStore"):
        mod.init_optimizer(kvstore=bad)
    assert not mod.optimizer_initialized


@pytest.mark.parametrize(
    ("kwargs", "error", "says"),
    [
        (dict(optimizer=3), TypeError, "optimizer must be a name or an Optimizer; got 3"),
        (dict(optimizer="sgdd"), ValueError, "no optimizer 'sgdd'"),
        (dict(optimizer_params={"momntum": 1}), (TypeError, ValueError), "did you mean 'momentum'"),
        (dict(kvstore="lokal"), ValueError, "did you mean 'local'"),
    ],
)
@pytest.mark.parametrize("devices", [1, 2])
def test_an_optimizer_that_fails_is_not_there(kwargs, error, says, devices):
    mod = module(devices=devices)
    if devices == 1 and "kvstore" in kwargs:
        return  # one device needs no store and does not look for it
    with pytest.raises(error, match=says):
        mod.init_optimizer(**kwargs)
    assert not mod.optimizer_initialized and mod._kvstore is None


@pytest.mark.parametrize(("devices", "kvstore"), [(1, None), (2, None), (2, "local")])
def test_rescale_grad_is_one_over_the_batch_size_at_the_start_and_stays(devices, kvstore):
    mod = module(rows=8, devices=devices)
    mod.init_optimizer(kvstore=kvstore)
    assert mod._optimizer.rescale_grad == 1 / 8
    step(mod, batch(4))
    assert mod._optimizer.rescale_grad == 1 / 8
    mod.init_optimizer(kvstore=kvstore, optimizer_params={"rescale_grad": 3.0}, force_init=True)
    assert mod._optimizer.rescale_grad == 3


def test_an_optimizer_object_with_another_rescale_grad_is_used_with_a_warning():
    mod, optimizer = module(rows=8), mx.optimizer.SGD(learning_rate=0.1)
    with pytest.warns(UserWarning, match=r"rescale_grad is 1\.0.*is 0\.125"):
        mod.init_optimizer(optimizer=optimizer)
    assert mod._optimizer is optimizer and optimizer.rescale_grad == 1
    module(rows=8).init_optimizer(optimizer=mx.optimizer.SGD(rescale_grad=0.125))


@pytest.mark.parametrize(
    ("capabilities", "workers"),
    [
        pytest.param(dict(spans_processes=True), 3, id="synchronous"),
        pytest.param(dict(spans_processes=True, compresses=True), 3, id="compressed"),
        pytest.param(dict(spans_processes=True, is_synchronous=False), 1, id="asynchronous"),
    ],
)
def test_rescale_grad_counts_the_workers_of_a_synchronous_store(capabilities, workers):
    class Distributed(mx.kvstore.KVStore):
        num_workers = 3

    Distributed.capabilities = mx.kvstore.Capabilities(**capabilities)
    mod = module(rows=8)
    mod.init_optimizer(kvstore=Distributed("mine"))
    assert mod._optimizer.rescale_grad == 1 / (8 * workers)
