#!/usr/bin/env bash
# MXNet 1.9.1: with several devices and kvstore=None a Module trains each device by itself.
# No warning is given; each device keeps weights of its own, learnt from its slice of the batches alone.
# Seen: after 3 steps the devices' weights differ by 0.0018
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

x = np.random.RandomState(0).rand(8, 3).astype("float32")
data = mx.io.NDArrayIter(x, np.arange(8) % 2, batch_size=8)
net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"), name="softmax")
module = mx.mod.Module(net, context=[mx.cpu(0), mx.cpu(1)])
module.bind(data.provide_data, data.provide_label)
module.init_params(mx.init.One())
module.init_optimizer(kvstore=None)
batch = next(iter(data))
for _ in range(3):
    module.forward_backward(batch)
    module.update()
first, second = (executor.arg_dict["fc_weight"].asnumpy() for executor in module._exec_group.execs)
print(f"after 3 steps the devices' weights differ by {abs(first - second).max():.4f}")
assert abs(first - second).max() > 1e-3
PY
