#!/usr/bin/env bash
# MXNet 1.9.1: nd.sort of numbers with a NaN among them does not sort the others.
# Seen: [3, nan, 3, -1] sorted ascending is [-1.0, 3.0, nan, 3.0]
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

found = nd.sort(nd.array([3, np.nan, 3, -1])).asnumpy().tolist()
print(f"[3, nan, 3, -1] sorted ascending is {found}")
finite = [i for i, value in enumerate(found) if value == value]
assert finite == [0, 1, 3] and np.isnan(found[2]), found
PY
