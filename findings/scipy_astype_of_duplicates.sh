#!/usr/bin/env bash
# SciPy 1.17.1: astype of a csr matrix with duplicate entries converts them one by one, nonzero() lists them one by one.
# SciPy allows duplicates, whose sum is the element. 0.5 and 0.5 of one element are 1, but astype(int) makes 0 of them;
# power, sqrt, max, count_nonzero and others add them up first.
# Seen: toarray() [[1.0, 0.0]], astype(int) [[0, 0]]; nonzero() has 2 entries, count_nonzero() says 1
# Needs Python 3.11 or newer; another one: PYTHON=python3.12.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check scipy==1.17.1 numpy==2.3.5
"$dir/venv/bin/python" - <<'PY'
import numpy as np
from scipy import sparse


def matrix():
    """A row of two elements; the first is 0.5 + 0.5. Some methods add up in place: a new one for each call."""
    return sparse.csr_array((np.array([0.5, 0.5]), np.array([0, 0]), np.array([0, 2])), shape=(1, 2))


dense = matrix().toarray().tolist()
converted = matrix().astype(int).toarray().tolist()
listed, counted = len(matrix().nonzero()[0]), int(matrix().count_nonzero())
print(f"toarray() {dense}, astype(int) {converted}; nonzero() has {listed} entries, count_nonzero() says {counted}")
assert dense == [[1.0, 0.0]] and matrix().power(2).toarray().tolist() == [[1.0, 0.0]]
assert converted == [[0, 0]] and (listed, counted) == (2, 1)
PY
