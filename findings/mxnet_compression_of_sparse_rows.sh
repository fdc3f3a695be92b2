#!/usr/bin/env bash
# MXNet 1.9.1, KVStore: 2-bit compression takes the stored rows of a row_sparse gradient for the first rows of the array.
# A push of rows 1 and 4 changes rows 0 and 1, without an error or a warning. Dense gradients are right.
# Seen: rows changed by a push of rows 1 and 4: dense [1, 4], row_sparse [0, 1]
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
export MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0
"$dir/venv/bin/python" - <<'PY'
import mxnet as mx
import numpy as np
from mxnet import nd


def changed(storage):
    store = mx.kv.create("device")
    store.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    store.init("weight", nd.zeros((6, 2)))
    rows = (np.ones((2, 2), "float32"), [1, 4])
    store.push("weight", nd.sparse.row_sparse_array(rows, shape=(6, 2), dtype="float32").tostype(storage))
    weight = nd.zeros((6, 2))
    store.pull("weight", out=weight)
    return np.flatnonzero(weight.asnumpy().any(axis=1)).tolist()


dense, row_sparse = changed("default"), changed("row_sparse")
print(f"rows changed by a push of rows 1 and 4: dense {dense}, row_sparse {row_sparse}")
assert dense == [1, 4] and row_sparse == [0, 1]
PY
