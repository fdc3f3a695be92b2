#!/usr/bin/env bash
# MXNet 1.9.1: NDArrayIter with an unknown last_batch_handle drops the samples that do not fill a batch, silently.
# 'padd' for 'pad' trains on 8 of 10 samples.
# Seen: pad 10 samples, padd 8 samples
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import numpy as np
from mxnet.io import NDArrayIter


def samples(handle):
    data = NDArrayIter(np.arange(10), batch_size=4, last_batch_handle=handle)
    return sum(batch.data[0].shape[0] - batch.pad for batch in data)


pad, padd = samples("pad"), samples("padd")
print(f"pad {pad} samples, padd {padd} samples")
assert (pad, padd) == (10, 8)
PY
