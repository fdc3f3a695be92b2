#!/usr/bin/env bash
# MXNet 1.9.1: the second derivative of arcsinh has the wrong sign.
# It is -x / (1 + x^2)^1.5.
# Seen: at 1 and 2: [0.3536 0.1789], right is [-0.3536 -0.1789]
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

x = nd.array([1.0, 2.0])
x.attach_grad()
with autograd.record():
    slope = autograd.grad(nd.arcsinh(x), [x], create_graph=True)[0]
slope.backward()
right = -x.asnumpy() / (1 + x.asnumpy() ** 2) ** 1.5
print(f"at 1 and 2: {x.grad.asnumpy().round(4)}, right is {right.round(4)}")
assert np.allclose(x.grad.asnumpy(), -right, atol=1e-5)
PY
