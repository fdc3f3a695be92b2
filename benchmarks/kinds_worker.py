"""MXNet with a network of `benchmarks.kinds`: `PYTHON -m benchmarks.kinds_worker mxnet`, under MXNet's own Python.

Requests and answers are as in `worker`. The network, its parameters and a batch come as files.

    {"do": "prepare", "network": "net.json", "arrays": "net.params", "training": true}   -> {}
    {"do": "output", "file": "output.npy"}                                               -> {}
    {"do": "run", "steps": 10}                                                           -> {"seconds": 0.05}
"""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any

import numpy as np

from .networks import LEARNING_RATE, MOMENTUM
from .worker import serve

__all__ = ["BATCH"]

#: What the file of arrays calls those of the batch; parameters are ``arg:NAME`` and ``aux:NAME``, as in checkpoints.
BATCH = ("data", "softmax_label")


class _Networks:
    def __init__(self, engine: str) -> None:
        self._mx = importlib.import_module(engine)

    def prepare(self, network: str, arrays: str, training: bool) -> dict[str, Any]:
        """Bind a network, with an optimizer if it is trained."""
        mx, self._training = self._mx, training
        given = mx.nd.load(arrays)
        data, labels = given.pop(BATCH[0]), given.pop(BATCH[1])
        self._module = mx.mod.Module(mx.sym.load(network))
        self._module.bind(
            [(BATCH[0], data.shape)], [(BATCH[1], labels.shape)] if training else None, for_training=training
        )
        named = {
            kind: {name[4:]: value for name, value in given.items() if name.startswith(kind)}
            for kind in ("arg:", "aux:")
        }
        self._module.init_params(arg_params=named["arg:"], aux_params=named["aux:"])
        if training:
            settings = {"learning_rate": LEARNING_RATE, "momentum": MOMENTUM}
            self._module.init_optimizer(optimizer="sgd", optimizer_params=settings)
        self._batch = mx.io.DataBatch([data], [labels] if training else None)
        return {}

    def output(self, file: str) -> dict[str, Any]:
        """Write the output of a forward run."""
        self._module.forward(self._batch, is_train=self._training)
        np.save(file, self._module.get_outputs()[0].asnumpy())
        return {}

    def run(self, steps: int) -> dict[str, Any]:
        """Take steps, which MXNet may overlap in training, as it does in a user's loop."""
        module, batch = self._module, self._batch
        start = time.perf_counter()
        for _ in range(steps):
            if self._training:
                module.forward_backward(batch)
                module.update()
            else:
                module.forward(batch, is_train=False)
                module.get_outputs()[0].wait_to_read()
        self._mx.nd.waitall()
        return {"seconds": time.perf_counter() - start}


if __name__ == "__main__":
    serve(_Networks(sys.argv[1]))
