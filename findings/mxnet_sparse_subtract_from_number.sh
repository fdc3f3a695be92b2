#!/usr/bin/env bash
# MXNet 1.9.1: nd.sparse.subtract(2, x) computes x - 2 and nd.sparse.divide(2, x) computes x / 2, for csr and row_sparse x.
# The operators 2 - x and 2 / x, and nd.subtract and nd.divide of dense arrays, are right.
# Seen, of [[1, 4]]: subtract(2, x) [[-1, 2]] for 2 - x [[1, -2]]; divide(2, x) [[0.5, 2]] for 2 / x [[2, 0.5]]
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
export MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0
"$dir/venv/bin/python" - <<'PY'
from mxnet import nd

for storage in ["csr", "row_sparse"]:
    x = nd.array([[1, 4]]).tostype(storage)
    differences = nd.sparse.subtract(2, x).asnumpy().tolist(), (2 - x).asnumpy().tolist()
    quotients = nd.sparse.divide(2, x).asnumpy().tolist(), (2 / x).asnumpy().tolist()
    print(f"{storage}: subtract(2, x) {differences[0]} for 2 - x {differences[1]}; ", end="")
    print(f"divide(2, x) {quotients[0]} for 2 / x {quotients[1]}")
    assert differences == ([[-1, 2]], [[1, -2]])
    assert quotients == ([[0.5, 2]], [[2, 0.5]])
PY
