#!/usr/bin/env bash
# MXNet 1.9.1: Adamax turns every element whose gradient was 0 so far into nan.
# Its step divides by the largest gradient seen, which is 0: rows of an embedding that the first batch lacks, dead ReLUs.
# Seen: weights 1, 1 with gradients 0, 1 become [nan 0.9]
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import numpy as np
from mxnet import nd, optimizer

update, weight = optimizer.get_updater(optimizer.Adamax(learning_rate=0.1)), nd.ones((2,))
update(0, nd.array([0.0, 1.0]), weight)
print(f"weights 1, 1 with gradients 0, 1 become {weight.asnumpy()}")
assert np.isnan(weight.asnumpy()[0]) and abs(weight.asnumpy()[1] - 0.9) < 1e-6
PY
