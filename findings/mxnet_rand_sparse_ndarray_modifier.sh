#!/usr/bin/env bash
# MXNet 1.9.1: test_utils.rand_sparse_ndarray of csr ignores modifier_func, whose results should be the stored numbers.
# Of row_sparse it applies it. Tests that keep their numbers off a border in this way do so for row_sparse alone.
# Seen, with a modifier_func that returns 5: row_sparse [5], csr some numbers between 0 and 1
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
export MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0
"$dir/venv/bin/python" - <<'PY'
from mxnet.test_utils import rand_sparse_ndarray

numbers = {}
for storage in ["row_sparse", "csr"]:
    array, _ = rand_sparse_ndarray((4, 4), storage, density=1.0, modifier_func=lambda number: 5.0)
    numbers[storage] = sorted(set(array.asnumpy().ravel().tolist()))
print(f"row_sparse {numbers['row_sparse']}, csr from {numbers['csr'][0]:.2f} to {numbers['csr'][-1]:.2f}")
assert numbers["row_sparse"] == [5.0]
assert 5.0 not in numbers["csr"] and len(numbers["csr"]) > 1
PY
