"""MXNet 1.9.1, started in the way in which values are recorded. Only the generators import this module."""

from __future__ import annotations

import os
from typing import Any

# All three are read when MXNet starts.
# Without the fusion of operators: with it, a network that is bound without gradients uses the moving
# statistics of BatchNorm in a training-mode forward.
os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"
# Without oneDNN: with it, the bias of a FullyConnected whose weight has no gradient gets zeros for its own,
# the gradient of average pooling with the convention "full" does not belong to its output, deconvolutions
# with some target shapes fail, and other processors choose other kernels, which round differently.
# Quantized operators run with it only: a process that records them is told so.
os.environ["MXNET_MKLDNN_ENABLED"] = "1" if os.environ.get("REBIND_ORACLE_ONEDNN") else "0"
# Only a message, for every operator that oneDNN would have run.
os.environ["MXNET_STORAGE_FALLBACK_LOG_VERBOSE"] = "0"

import mxnet as mx
import numpy as np

from .golden import Arrays

__all__ = ["mx", "origin", "settle", "to_mxnet", "to_numpy"]


def origin() -> dict[str, Any]:
    """Tell what made the data; no date, so that making it again gives the same file."""
    return {
        "mxnet": mx.__version__,
        "numpy": np.__version__,
        "environment": {
            name: os.environ[name] for name in ("MXNET_SUBGRAPH_BACKEND", "MXNET_MKLDNN_ENABLED")
        },
    }


def to_numpy(arrays: dict[str, Any]) -> Arrays:
    """Copy NDArrays out of MXNet."""
    return {name: array.asnumpy() for name, array in arrays.items() if array is not None}


def to_mxnet(arrays: Arrays) -> dict[str, Any]:
    """Copy arrays into MXNet with the types that they have."""
    return {name: mx.nd.array(value, dtype=value.dtype) for name, value in arrays.items()}


def settle() -> None:
    """Wait until MXNet has finished everything that it was told to do.

    Reading an array waits for what computes it, with one exception: BatchNorm writes its moving averages in
    ``backward`` behind the back of that bookkeeping, and a read may still see the old ones.
    """
    mx.nd.waitall()
