#!/usr/bin/env bash
# MXNet 1.9.1, lazy SGD of a row_sparse float16 weight: with multi_precision=True weight decay reaches all rows.
# Without it rows that the gradient lacks stay as they are, as the documentation of lazy_update=True says.
# Seen, after a step from [1, 1, 1] with a gradient of row 1:
# without master weights [1, 0.85, 1], with them [0.95, 0.85, 0.95]
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
export MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0
"$dir/venv/bin/python" - <<'PY'
import numpy as np
from mxnet import nd, optimizer


def step(multi_precision):
    sgd = optimizer.SGD(
        learning_rate=0.1, momentum=0.9, wd=0.5, lazy_update=True, multi_precision=multi_precision
    )
    weight = nd.ones((3, 1), dtype="float16").tostype("row_sparse")
    gradient = nd.sparse.row_sparse_array((np.ones((1, 1), "float16"), [1]), shape=(3, 1), dtype="float16")
    optimizer.get_updater(sgd)(0, gradient, weight)
    return weight.asnumpy().ravel()


without, with_them = step(False), step(True)
print(f"without master weights {without}, with them {with_them}")
assert np.allclose(without, [1, 0.85, 1], atol=1e-3)
assert np.allclose(with_them, [0.95, 0.85, 0.95], atol=1e-3)
PY
