#!/usr/bin/env bash
# MXNet 1.9.1: SoftmaxOutput ignores smooth_alpha when multi_output=True.
# The same scores with classes in the last axis get smoothed gradients; with classes in axis 1 they do not.
# Seen: classes last -0.558 -> -0.258 by smooth_alpha=0.3; multi_output -0.140 -> -0.140
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

SCORES = np.random.RandomState(0).randn(1, 3, 2, 2).astype("float32")


def gradient(multi_output, smooth_alpha):
    scores = nd.array(SCORES if multi_output else SCORES.transpose(0, 2, 3, 1).reshape(4, 3))
    scores.attach_grad()
    with autograd.record():
        out = nd.SoftmaxOutput(
            scores, nd.zeros((1, 2, 2) if multi_output else (4,)), multi_output=multi_output, smooth_alpha=smooth_alpha
        )
    out.backward()
    return float(scores.grad.reshape((-1,))[0].asscalar())


last = gradient(False, 0), gradient(False, 0.3)
multi = gradient(True, 0), gradient(True, 0.3)
print("classes last {:.3f} -> {:.3f} by smooth_alpha=0.3; multi_output {:.3f} -> {:.3f}".format(*last, *multi))
assert abs(last[0] - last[1]) > 0.1 and multi[0] == multi[1]
PY
