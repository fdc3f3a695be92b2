#!/usr/bin/env bash
# MXNet 1.9.1: Module.score counts the samples that only fill the last batch.
# NDArrayIter pads it with samples from the beginning and says so in batch.pad; predict() removes them, score() does not,
# so that figures of a validation depend on the batch size.
# Seen: 10 samples in batches of 8 were counted as 16
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

data = mx.io.NDArrayIter(np.random.RandomState(0).rand(10, 3), np.arange(10) % 2, batch_size=8)
net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), name="softmax")
module = mx.mod.Module(net)
module.bind(data.provide_data, data.provide_label, for_training=False)
module.init_params()
metric = mx.metric.Accuracy()
module.score(data, metric)
print(f"10 samples in batches of 8 were counted as {metric.num_inst}")
assert metric.num_inst == 16 and len(module.predict(data)) == 10
PY
