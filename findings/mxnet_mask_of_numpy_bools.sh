#!/usr/bin/env bash
# MXNet 1.9.1: indexing with a NumPy array of bools takes True and False for the indices 1 and 0.
# No error, and a result of as many rows as the mask is long.
# Seen: rows 0, 2 asked for; got rows 1, 0, 1
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import numpy as np
from mxnet import nd

rows = nd.array([[0], [1], [2]])[np.array([True, False, True])].asnumpy().ravel().astype(int).tolist()
print("rows 0, 2 asked for; got rows", ", ".join(map(str, rows)))
assert rows == [1, 0, 1]
PY
