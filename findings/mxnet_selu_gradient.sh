#!/usr/bin/env bash
# MXNet 1.9.1 (CPU): the gradient of LeakyReLU(act_type='selu') is wrong below zero.
# At -2 the function's slope is 0.2379 (finite differences agree with scale * alpha * exp(x)); the gradient is 0.1609:
# the formula is applied to the output where the input belongs.
# Seen: gradient 0.1609, slope 0.2379
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
from mxnet import autograd, nd

x = nd.array([-2.0])
x.attach_grad()
with autograd.record():
    y = nd.LeakyReLU(x, act_type="selu")
y.backward()
gradient = float(x.grad.asscalar())
above, below = (float(nd.LeakyReLU(nd.array([-2.0 + d]), act_type="selu").asscalar()) for d in (1e-3, -1e-3))
slope = (above - below) / 2e-3
print(f"gradient {gradient:.4f}, slope {slope:.4f}")
assert abs(slope - 0.2379) < 1e-3 and abs(gradient - 0.1609) < 1e-3
PY
