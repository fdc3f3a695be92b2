#!/usr/bin/env bash
# MXNet 1.9.1: c[0:0] of a csr array is the whole array. c[1:1] has no rows, as it should.
# Seen, of shape (4, 3): c[0:0] (4, 3), c[1:1] (0, 3); of the dense array x[0:0] (0, 3)
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
export MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0
"$dir/venv/bin/python" - <<'PY'
from mxnet import nd, util

with util.np_shape():  # where a 0 in a shape is a size
    x = nd.arange(12).reshape((4, 3))
    c = x.tostype("csr")
    shapes = c[0:0].shape, c[1:1].shape, x[0:0].shape
print(f"of shape {c.shape}: c[0:0] {shapes[0]}, c[1:1] {shapes[1]}; of the dense array x[0:0] {shapes[2]}")
assert shapes == ((4, 3), (0, 3), (0, 3))
PY
