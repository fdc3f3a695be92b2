#!/usr/bin/env bash
# MXNet 1.9.1 (CPU): a training-mode forward of Convolution + BatchNorm uses the moving statistics when the executor was
# bound with grad_req='null'. Fusion for oneDNN folds the norm into the convolution without asking for the mode.
# Bound with gradients the same call normalises by the batch's statistics, as is_train=True says.
# Seen: grad_req null: mean 15.10, std 5.29; grad_req write: mean -0.00, std 1.00
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import mxnet as mx
import numpy as np

data = mx.nd.array(np.random.RandomState(0).rand(4, 3, 5, 5) * 10)
net = mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=2, no_bias=True, name="conv")
net = mx.sym.BatchNorm(net, fix_gamma=False, name="norm")


def statistics(grad_req):
    executor = net.simple_bind(mx.cpu(), data=data.shape, grad_req=grad_req)
    for name in ("conv_weight", "norm_gamma"):
        executor.arg_dict[name][:] = 1
    executor.aux_dict["norm_moving_var"][:] = 1
    out = executor.forward(is_train=True, data=data)[0].asnumpy()
    print(f"grad_req {grad_req}: mean {out.mean():.2f}, std {out.std():.2f}")
    return out.mean(), out.std()


null, write = statistics("null"), statistics("write")
assert abs(write[0]) < 1e-3 and abs(write[1] - 1) < 1e-2
assert null[0] > 10
PY
