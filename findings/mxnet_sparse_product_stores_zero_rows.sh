#!/usr/bin/env bash
# MXNet 1.9.1: a product of row_sparse arrays stores all rows that either of them has, and so does the gradient of square.
# The other array's rows are 0 in it, and lazy optimizers take a stored row for one that has a gradient: a gradient of
# two rows makes Adam move all rows that square(v) was computed of.
# Seen: rows of the head gradient [0, 2], of the gradient [0, 1, 2, 3]; rows moved by lazy Adam [0, 1, 2, 3]
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
from mxnet import nd, optimizer

v = nd.array([[1], [2], [3], [4]]).tostype("row_sparse")
head = nd.array([[1], [0], [1], [0]]).tostype("row_sparse")
square = mx.sym.square(mx.sym.var("v", stype="row_sparse"))
executor = square.bind(mx.cpu(), {"v": v}, {"v": nd.zeros((4, 1), stype="row_sparse")})
executor.forward(is_train=True)
executor.backward([head])
gradient = executor.grad_dict["v"]

update = optimizer.get_updater(optimizer.Adam(learning_rate=0.1, lazy_update=True))
update(0, nd.ones((4, 1)).tostype("row_sparse"), v)
before = v.asnumpy()
update(0, gradient, v)
moved = np.flatnonzero(before != v.asnumpy()).tolist()
rows = head.indices.asnumpy().tolist(), gradient.indices.asnumpy().tolist()
print(f"rows of the head gradient {rows[0]}, of the gradient {rows[1]}; rows moved by lazy Adam {moved}")
assert rows == ([0, 2], [0, 1, 2, 3]) and gradient.asnumpy().ravel().tolist() == [2, 0, 6, 0]
assert moved == [0, 1, 2, 3]
PY
