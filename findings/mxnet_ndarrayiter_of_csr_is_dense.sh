#!/usr/bin/env bash
# MXNet 1.9.1: NDArrayIter of a csr array gives dense batches. Its documentation shows csr batches for the same call.
# Seen: csr in, batches of storage ['default', 'default']
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
export MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0
"$dir/venv/bin/python" - <<'PY'
import mxnet as mx
from mxnet import nd

data = nd.arange(12).reshape((4, 3)).tostype("csr")
batches = mx.io.NDArrayIter(data, nd.ones((4, 1)), batch_size=2, last_batch_handle="discard")
storages = [batch.data[0].stype for batch in batches]
print(f"{data.stype} in, batches of storage {storages}")
assert "<CSRNDArray" in mx.io.NDArrayIter.__doc__
assert storages == ["default", "default"]
PY
