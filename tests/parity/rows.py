"""What stores and modules do with rows: the calls that are recorded from MXNet 1.9.1, and repeated here."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["STORES", "TRAINING", "pulls", "train"]

ROWS, WIDTH = 7, 2
EVERY = list(range(ROWS))

#: What is pushed to a store, an array for each device: the rows that it has, or "dense" ones; with which optimizer; and
#: which ids are pulled then.
STORES: dict[str, dict[str, Any]] = {
    "one device": {"pushes": [[[5, 2]]]},
    "two devices": {"pushes": [[[0, 2], [2, 5]]]},
    "three devices, one without rows": {"pushes": [[[6, 1], [], [1, 0]]]},
    # Of a value without rows MXNet gives none, and not zeros as for rows that a value lacks.
    "no rows": {"pushes": [[[], []]], "pulls_rows": False},
    # The value is dense then, of which no rows are pulled.
    "rows and dense": {"pushes": [[[0, 2], "dense"]], "pulls_rows": False},
    "dense and rows": {"pushes": [["dense", [0, 2]]], "pulls_rows": False},
    "several pushes": {"pushes": [[[0, 2], [2, 5]], [[4]], [[4, 1], [3]]]},
    **{
        f"{name}, {'lazy' if lazy else 'not lazy'}": {
            "optimizer": name,
            "settings": {"learning_rate": 0.1, "lazy_update": lazy, **settings},
            "pushes": [[[0, 2], [2, 5]], [[4]], [[0], [6, 4]]],
        }
        for name, settings in (("sgd", {}), ("sgd", {"momentum": 0.9, "wd": 0.1}), ("adam", {"wd": 0.1}))
        for lazy in (True, False)
    },
    "adagrad": {
        "optimizer": "adagrad",
        "settings": {"learning_rate": 0.1},
        "pushes": [[[0, 2], [2, 5]], [[4]], [[0], [6, 4]]],
    },
}

#: The ids of each `row_sparse_pull`, and their type.
IDS = [
    ([3, 1, 3], "float32"),
    ([5, 0], "int64"),
    ([[6, 2], [2, 0]], "int32"),
    ([1.75], "float32"),
    (EVERY, "int64"),
]


def pulls(mx: ModuleType, kind: str, name: str, key: str) -> list[Any]:
    """Return what is pulled after each push: all of a key, whose value is row_sparse or dense, and some rows."""
    case, draws = STORES[name], np.random.RandomState(len(name))

    def pushed(rows: Any, device: int) -> Any:
        values = np.zeros((ROWS, WIDTH), dtype="float32")
        chosen = [1, 4] if rows == "dense" else rows
        values[chosen] = draws.randint(1, 9, (len(chosen), WIDTH))
        array = mx.nd.array(values, ctx=mx.cpu(device))
        return array if rows == "dense" else array.tostype("row_sparse")

    store = mx.kv.create(kind)
    first = mx.nd.array(draws.randint(1, 9, (ROWS, WIDTH)))
    store.init("w", first.tostype(key))
    if "optimizer" in case:
        store.set_optimizer(mx.optimizer.create(case["optimizer"], **case["settings"]))
    found = []
    for rows in case["pushes"]:
        store.push("w", [pushed(each, device) for device, each in enumerate(rows)])
        whole = mx.nd.zeros((ROWS, WIDTH), stype=key)
        store.pull("w", out=whole, ignore_sparse=False)
        found.append(described(whole))
        if key == "row_sparse" and case.get("pulls_rows", True):
            found += [described(some_rows(mx, store, *ids)) for ids in IDS]
    return found


def some_rows(mx: ModuleType, store: Any, ids: Any, dtype: str) -> Any:
    """Return some rows of the store's value."""
    out = mx.nd.zeros((ROWS, WIDTH), stype="row_sparse")
    store.row_sparse_pull("w", out=out, row_ids=mx.nd.array(ids, dtype=dtype))
    return out


def described(array: Any) -> dict[str, Any]:
    """Return an array as what JSON can hold."""
    if array.stype == "default":
        return {"stype": "default", "data": array.asnumpy().tolist()}
    order = np.argsort(array.indices.asnumpy())
    return {
        "stype": array.stype,
        "indices": array.indices.asnumpy()[order].tolist(),
        "data": array.data.asnumpy()[order].tolist(),
    }


#: Runs of ten steps: the weight's storage type, the store, the devices, the optimizer. MXNet does not sum the gradients
#: of several devices without a store, nor give the devices new rows where none are asked for.
TRAINING = [
    {"stype": stype, "store": store, "devices": devices, "optimizer": optimizer}
    for optimizer in ("sgd", "adam", "adagrad")
    for stype in ("row_sparse", "default")
    for store, devices in ((None, 1), ("local", 1), ("local", 2), ("device", 2))
]

_SETTINGS = {"sgd": {"momentum": 0.9, "wd": 0.01}, "adam": {"wd": 0.01}, "adagrad": {}}


def train(mx: ModuleType, run: dict[str, Any]) -> list[Any]:
    """Return the embedding after each of ten steps, and the outputs before it."""
    draws = np.random.RandomState(5)
    weight = mx.sym.var("w", stype=run["stype"])
    taken = mx.sym.Embedding(mx.sym.var("data"), weight, input_dim=ROWS, output_dim=3, sparse_grad=True)
    output = mx.sym.FullyConnected(taken, num_hidden=1, name="fc")
    net = mx.sym.LinearRegressionOutput(output, mx.sym.var("label"), name="out")
    devices = [mx.cpu(device) for device in range(run["devices"])]
    module = mx.mod.Module(net, ["data"], ["label"], context=devices)
    module.bind([("data", (4, 2))], [("label", (4, 1))])
    values = {"w": draws.randn(ROWS, 3), "fc_weight": draws.randn(1, 6), "fc_bias": draws.randn(1)}
    arrays = {name: mx.nd.array(value) for name, value in values.items()}
    module.init_params(arg_params={**arrays, "w": arrays["w"].tostype(run["stype"])})
    settings = {"learning_rate": 0.1, **_SETTINGS[run["optimizer"]]}
    module.init_optimizer(kvstore=run["store"], optimizer=run["optimizer"], optimizer_params=settings)
    needs_rows = run["stype"] == "row_sparse" and run["devices"] > 1
    found = []
    for _ in range(10):
        data = [mx.nd.array(draws.randint(0, ROWS, (4, 2)))]
        batch = mx.io.DataBatch(data, [mx.nd.array(draws.randn(4, 1))])
        if needs_rows:
            module.prepare(batch, sparse_row_id_fn=lambda batch: {"w": batch.data[0]})
        module.forward_backward(batch)
        outputs = module.get_outputs()[0].asnumpy().tolist()
        module.update()
        found.append([outputs, module.get_params()[0]["w"].asnumpy().tolist()])
    return found
