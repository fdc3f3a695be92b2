"""Full gradients of SVRG over workers: rows travel, and all workers get the same."""

from __future__ import annotations

import numpy as np
from tests.distributed.workers import run_job

import rebind as mx
from rebind.contrib.svrg_optimization import SVRGModule
from rebind.distributed import current_job

IDS = np.array([[0, 1], [1, 4], [5, 5], [4, 0], [0, 1], [3, 5], [6, 7], [7, 0]])


def trained(samples: slice, kvstore: str | None, batch_size: int) -> dict[str, np.ndarray]:
    weight = mx.sym.var("w", stype="row_sparse")
    taken = mx.sym.Embedding(mx.sym.var("data"), weight, input_dim=9, output_dim=3, sparse_grad=True)
    output = mx.sym.FullyConnected(taken, num_hidden=1, name="fc")
    net = mx.sym.LinearRegressionOutput(output, mx.sym.var("label"), name="out")
    of = SVRGModule(net, ["data"], ["label"], update_freq=1)
    labels = np.linspace(-1, 1, 8).reshape(8, 1)
    draws = np.random.RandomState(3)
    shapes = {"w": (9, 3), "fc_weight": (1, 6), "fc_bias": (1,)}
    of.fit(
        mx.io.NDArrayIter(IDS[samples], labels[samples], batch_size, label_name="label"),
        eval_metric="mse",
        kvstore=kvstore,
        optimizer_params={"learning_rate": 0.2},
        num_epoch=2,
        arg_params={name: mx.nd.array(draws.randn(*shape)) for name, shape in shapes.items()},
    )
    full = of._param_dict[0]["w"]
    return {
        **{name: array.asnumpy() for name, array in of.get_params()[0].items()},
        "full": full.asnumpy() * current_job().size,
        "rows": full.indices.asnumpy(),
    }


def worker() -> dict[str, np.ndarray]:
    # Of each batch of four the worker has two samples.
    return trained(slice(current_job().rank, None, 2), "dist_sync", 2)


def test_full_gradients_over_workers() -> None:
    expected = trained(slice(None), None, 4)
    for found in run_job(worker, 2):
        for name, value in found.items():
            np.testing.assert_allclose(value, expected[name], rtol=1e-4, atol=1e-5, err_msg=name)
        assert found["rows"].tolist() == [0, 1, 3, 4, 5, 6, 7]
