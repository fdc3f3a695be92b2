"""SVRGModule computes what MXNet 1.9.1 computes, where that is right (``generate_svrg.py``)."""

from __future__ import annotations

import numpy as np
import pytest

import rebind as mx
from rebind.contrib.svrg_optimization import SVRGModule

from .golden import SVRG, Pack, assert_close, read_manifest
from .svrg import INITIAL, batches, network

MANIFEST = read_manifest(SVRG / "runs.json")
PACK = Pack.read(SVRG / "runs.npz")


def initial():
    return {name: mx.nd.array(value) for name, value in INITIAL.items()}


def same(found, references, what):
    assert sorted(found) == sorted(references)
    for name, reference in references.items():
        assert_close(found[name].asnumpy(), PACK.get(reference), rtol=2e-5, what=f"{what}, {name}")


@pytest.mark.parametrize(
    "row", MANIFEST["runs"], ids=lambda row: f"{row['optimizer']}-{row['batch_size']}-{row['handle']}"
)
def test_training_within_one_period(row):
    np.random.seed(3)
    weights = []
    mod = SVRGModule(network(mx), update_freq=row["epochs"])
    mod.fit(
        batches(mx, row["batch_size"], row["handle"]),
        optimizer=row["optimizer"],
        optimizer_params=row["settings"],
        arg_params=initial(),
        num_epoch=row["epochs"],
        epoch_end_callback=lambda epoch, symbol, args, aux: weights.append(args),
    )
    same(mod._param_dict[0], row["full"], "full gradient")
    for epoch, (found, references) in enumerate(zip(weights, row["weights"], strict=True)):
        same(found, references, f"weights after epoch {epoch}")


@pytest.mark.parametrize("row", MANIFEST["full gradients"], ids=lambda row: f"{row['devices']} devices")
def test_full_gradients_in_the_store_and_on_devices(row):
    mod = SVRGModule(network(mx), update_freq=1, context=[mx.cpu(k) for k in range(row["devices"])])
    data = batches(mx, 6, "pad", shuffle=False)
    mod.bind(data.provide_data, data.provide_label)
    mod.init_params(arg_params=initial())
    store = mx.kv.create("local")
    mod.init_optimizer(kvstore=store)
    for stage in ("before", "after"):
        if stage == "after":
            mod.update_full_grads(data)
        pulled = {key: mx.nd.ones(PACK.get(reference).shape) for key, reference in row[stage].items()}
        store.pull(list(pulled), out=list(pulled.values()))
        same(pulled, row[stage], stage)
    for found, references in zip(mod._param_dict, row["held"], strict=True):
        same(found, references, "on a device")


def test_rule():
    given = [[mx.nd.array(PACK.get(each)) for each in arrays] for arrays in MANIFEST["rule"]["given"]]
    found = SVRGModule(network(mx), update_freq=1)._svrg_grads_update_rule(*given)
    assert all(one is other for one, other in zip(found, given[0], strict=True))
    for array, reference in zip(found, MANIFEST["rule"]["found"], strict=True):
        assert_close(array.asnumpy(), PACK.get(reference), rtol=1e-6, what="rule")
