#!/usr/bin/env bash
# MXNet 1.9.1, contrib SVRGModule: each snapshot's full gradient is added to the last one's mean, not to zero.
# With a learning rate of 0 the full gradient must stay the same from snapshot to snapshot; with 4 batches it grows
# towards 4/3 of the true one, and the variance-reduced gradients are biased.
# Seen: growth of the full gradient over five snapshots: 1.000 1.250 1.313 1.328 1.332
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
from mxnet.contrib.svrg_optimization.svrg_module import SVRGModule

x = np.random.RandomState(0).rand(32, 3).astype("float32")
data = mx.io.NDArrayIter(x, 2 * x.sum(1), batch_size=8, label_name="line_label")
net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
module = SVRGModule(mx.sym.LinearRegressionOutput(net, name="line"), update_freq=1, label_names=["line_label"])
module.bind(data.provide_data, data.provide_label)
module.init_params(mx.init.One())
module.init_optimizer(optimizer_params={"learning_rate": 0.0})
norms = []
for _ in range(5):
    module.update_full_grads(data)
    norms.append(float(module._param_dict[0]["fc_weight"].norm().asscalar()))
growth = [norm / norms[0] for norm in norms]
print("growth of the full gradient over five snapshots:", *(f"{each:.3f}" for each in growth))
assert np.allclose(growth, [1, 1.25, 1.3125, 1.328125, 1.33203125], atol=1e-3)
PY
