#!/usr/bin/env bash
# MXNet 1.9.1: SoftmaxOutput(out_grad=True) multiplies its gradient by its own output, not by the head gradient.
# The documentation says that the gradient is multiplied with the output gradient; head gradients of 1 and of 2 give the
# same, and each element is (p - onehot) * p.
# Seen: head gradient 1: [-0.0819  0.0599  0.4425]; 2: [-0.0819  0.0599  0.4425]
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


def gradient(head):
    scores = nd.array([[1.0, 2.0, 3.0]])
    scores.attach_grad()
    with autograd.record():
        out = nd.SoftmaxOutput(scores, nd.array([0]), out_grad=True)
    out.backward(nd.full((1, 3), head))
    return scores.grad.asnumpy()[0], out.asnumpy()[0]


(one, p), (two, _) = gradient(1), gradient(2)
print(f"head gradient 1: {one.round(4)}; 2: {two.round(4)}")
assert np.array_equal(one, two)
assert np.allclose(one, (p - [1, 0, 0]) * p, atol=1e-6)
PY
