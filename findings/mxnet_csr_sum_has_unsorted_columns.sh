#!/usr/bin/env bash
# MXNet 1.9.1: csr + csr has unsorted columns, which its own check_format(True) refuses.
# The columns that only the right operand has come first in a row.
# Seen: columns of [[1, 0, 0]] + [[0, 0, 1]]: [2, 0]; check_format(True): "Indices of csr NDArray should be non-negative,
# in ascending order per row [...]"
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
from mxnet import nd

left, right = nd.array([[1, 0, 0]]).tostype("csr"), nd.array([[0, 0, 1]]).tostype("csr")
left.check_format(True)
right.check_format(True)
total = left + right
columns = total.indices.asnumpy()[: int(total.indptr.asnumpy()[-1])].tolist()
print(f"columns of [[1, 0, 0]] + [[0, 0, 1]]: {columns}")
assert total.stype == "csr" and total.asnumpy().tolist() == [[1, 0, 1]] and columns == [2, 0]
try:
    total.check_format(True)
except mx.base.MXNetError as error:
    message = str(error).strip().split("\n")[-1]
    print(f"check_format(True): {message}")
    assert "Indices of csr NDArray" in message and "in ascending order" in message
else:
    raise AssertionError("check_format(True) takes it")
PY
