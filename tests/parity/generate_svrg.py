"""Record what MXNet 1.9.1's SVRGModule does where it is right.

Run with the Python of an environment that has MXNet 1.9.1::

    python -m tests.parity.generate_svrg

It writes ``data/svrg/runs.json`` and ``data/svrg/runs.npz`` beside this file: training within the period of one
snapshot (MXNet adds the second full gradient to the first), full gradients on one device and on two, the store's keys,
and the rule. MXNet zeroes the weights on the devices when a store updates them, so with a store no steps are recorded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .golden import SVRG, Pack, write_manifest
from .oracle import mx, origin, settle, to_numpy
from .svrg import FULL, INITIAL, RUNS, batches, network

from mxnet.contrib.svrg_optimization.svrg_module import SVRGModule  # isort: skip  (after the oracle's settings)


def run(pack: Pack, row: dict[str, Any]) -> dict[str, Any]:
    """Train, and keep the parameters after each epoch."""
    np.random.seed(3)
    epochs: list[Any] = []
    mod = SVRGModule(network(mx), update_freq=row["epochs"])
    mod.fit(
        batches(mx, row["batch_size"], row["handle"]),
        optimizer=row["optimizer"],
        optimizer_params=row["settings"],
        arg_params={name: mx.nd.array(value) for name, value in INITIAL.items()},
        num_epoch=row["epochs"],
        epoch_end_callback=lambda epoch, symbol, args, aux: epochs.append(pack.add_all(to_numpy(args))),
    )
    fulls = pack.add_all(to_numpy(mod._param_dict[0]))
    return {**row, "weights": epochs, "full": fulls}


def full_gradients(pack: Pack, devices: int) -> dict[str, Any]:
    """Compute full gradients through a store, and pull them from it by their keys."""
    mod = SVRGModule(network(mx), update_freq=1, context=[mx.cpu(k) for k in range(devices)])
    data = batches(mx, 6, "pad", shuffle=False)
    mod.bind(data.provide_data, data.provide_label)
    mod.init_params(arg_params={name: mx.nd.array(value) for name, value in INITIAL.items()})
    store = mx.kv.create("local")
    mod.init_optimizer(kvstore=store)
    # On the devices they are zero now, see above.
    mod.set_params({name: mx.nd.array(value) for name, value in INITIAL.items()}, {})
    stages = []
    for stage in ("before", "after"):
        if stage == "after":
            mod.update_full_grads(data)
        pulled = {name + FULL: mx.nd.ones(value.shape) for name, value in INITIAL.items()}
        for key, out in pulled.items():
            store.pull(key, out=out)
        settle()
        stages.append(pack.add_all(to_numpy(pulled)))
    held = [pack.add_all(to_numpy(fulls)) for fulls in mod._param_dict]
    return {"devices": devices, "before": stages[0], "after": stages[1], "held": held}


def rule(pack: Pack) -> dict[str, Any]:
    """Apply the rule to two gradients."""
    random = np.random.RandomState(8)
    given = [[random.randn(2, 3).astype("float32"), random.randn(4).astype("float32")] for _ in range(3)]
    mod = SVRGModule(network(mx), update_freq=1)
    found = mod._svrg_grads_update_rule(*([mx.nd.array(each) for each in arrays] for arrays in given))
    return {
        "given": [[pack.add(each) for each in arrays] for arrays in given],
        "found": [pack.add(each.asnumpy()) for each in found],
    }


def main() -> None:
    """Make the record."""
    pack = Pack()
    manifest = {
        "origin": origin(),
        "runs": [run(pack, row) for row in RUNS],
        "full gradients": [full_gradients(pack, devices) for devices in (1, 2)],
        "rule": rule(pack),
    }
    pack.write(SVRG / "runs.npz")
    write_manifest(SVRG / "runs.json", manifest)


if __name__ == "__main__":
    main()
