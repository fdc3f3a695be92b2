#!/usr/bin/env bash
# MXNet 1.9.1 (CPU): the bias of FullyConnected gets no gradient when its weight's grad_req is 'null'.
# Through oneDNN both are written by one call, which is skipped. MXNET_MKLDNN_ENABLED=0 gives the right one (4, 4), so a
# fine-tuned network with fixed_param_names of weights alone trains differently with and without oneDNN.
# Seen: with oneDNN [0. 0.], without [4. 4.]
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import os
import subprocess
import sys

CODE = '''
import mxnet as mx
net = mx.sym.FullyConnected(mx.sym.var("data"), mx.sym.var("weight"), mx.sym.var("bias"), num_hidden=2)
executor = net.simple_bind(mx.cpu(), data=(4, 3), grad_req={"data": "null", "weight": "null", "bias": "write"})
executor.forward(is_train=True, data=mx.nd.ones((4, 3)))
executor.backward(mx.nd.ones((4, 2)))
print(executor.grad_dict["bias"].asnumpy())
'''


def bias(**environment):
    done = subprocess.run([sys.executable, "-c", CODE], env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return done.stdout.strip()


with_onednn, without = bias(), bias(MXNET_MKLDNN_ENABLED="0")
print(f"with oneDNN {with_onednn}, without {without}")
assert without == "[4. 4.]" and with_onednn == "[0. 0.]"
PY
