#!/usr/bin/env bash
# MXNet 1.9.1: Ftrl with a learning rate (or lr_mult) of 0 turns the weights into nan.
# 0 is what a frozen layer (lr_mult=0) or the first step of a warm-up gives; the step divides by it.
# Seen: weights become [nan nan]
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

update, weight = optimizer.get_updater(optimizer.Ftrl(learning_rate=0.0)), nd.ones((2,))
update(0, nd.ones((2,)), weight)
print(f"weights become {weight.asnumpy()}")
assert np.isnan(weight.asnumpy()).all()
PY
