#!/usr/bin/env bash
# PyTorch 2.13.0: an int that a slice separates from a list in an index is not an advanced index, as it is in NumPy.
# y[0, :, [0, 1]] of shape (2, 3, 4) is (2, 3) in NumPy, since the int broadcasts with the list and the axes that they
# make come first; PyTorch takes the int's row before, and gives (3, 2). With equal sizes nothing tells that the result
# is transposed.
# Seen: NumPy (2, 3), PyTorch (3, 2)
# Needs Python 3.10 or newer; another one: PYTHON=python3.12.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.3.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import numpy as np
import torch

y = np.arange(24).reshape(2, 3, 4)
of_numpy, of_torch = y[0, :, [0, 1]], torch.from_numpy(y)[0, :, [0, 1]]
print(f"NumPy {of_numpy.shape}, PyTorch {tuple(of_torch.shape)}")
assert of_numpy.shape == (2, 3) and tuple(of_torch.shape) == (3, 2)
assert np.array_equal(of_numpy.T, of_torch.numpy())
PY
