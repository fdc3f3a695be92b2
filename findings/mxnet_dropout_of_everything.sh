#!/usr/bin/env bash
# MXNet 1.9.1: Dropout(p=1) in training gives nan, not 0: what is dropped is multiplied by 1 / (1 - p).
# A schedule that raises p to 1, or a layer switched off by p=1, poisons the network.
# Seen: [nan nan nan nan]
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import numpy as np
from mxnet import autograd, nd

with autograd.record():
    out = nd.Dropout(nd.ones((4,)), p=1)
print(out.asnumpy())
assert np.isnan(out.asnumpy()).all()
PY
