#!/usr/bin/env bash
# MXNet 1.9.1: score and predict with num_batch=n take n + 1 batches from their iterator; the last one is lost.
# With reset=False, as for reading a stream in parts, every part loses a batch.
# Seen: two calls of predict(num_batch=1) read the batches 0 and 2
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

module = mx.mod.Module(mx.sym.var("data") * 1, label_names=None)
data = mx.io.NDArrayIter(np.arange(4), batch_size=1)
module.bind(data.provide_data, for_training=False)
module.init_params()
read = [int(module.predict(data, num_batch=1, reset=False).asscalar()) for _ in range(2)]
print("two calls of predict(num_batch=1) read the batches", " and ".join(map(str, read)))
assert read == [0, 2]
PY
