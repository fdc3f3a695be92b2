#!/usr/bin/env bash
# MXNet 1.9.1 (CPU): the gradient of a learnt PReLU slope is wrong inside of a bound graph.
# The same three calls give the right gradient (-30) imperatively and 1/4 of it through Symbol.bind: the executor lets
# LeakyReLU's neighbour overwrite the array that its backward pass reads.
# Seen: imperative -30.0, bound -7.5
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import mxnet as mx
from mxnet import autograd, nd

x, slope = nd.array([[-1.0, 2.0], [3.0, -4.0]]), nd.array([0.25])
slope.attach_grad()
with autograd.record():
    y = nd.LeakyReLU(x * 2, slope, act_type="prelu") * 3
y.backward()
imperative = float(slope.grad.asscalar())

net = mx.sym.LeakyReLU(mx.sym.var("x") * 2, mx.sym.var("slope"), act_type="prelu") * 3
gradient = nd.zeros((1,))
gradients = {"x": nd.zeros((2, 2)), "slope": gradient}
executor = net.bind(mx.cpu(), {"x": x, "slope": nd.array([0.25])}, args_grad=gradients)
executor.forward(is_train=True)
executor.backward(nd.ones((2, 2)))
bound = float(gradient.asscalar())
print(f"imperative {imperative}, bound {bound}")
assert imperative == -30.0 and bound != imperative
PY
