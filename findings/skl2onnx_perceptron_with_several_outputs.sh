#!/usr/bin/env bash
# skl2onnx 1.20.0: an MLPRegressor that predicts several numbers for a sample becomes a network that gives them all in one
# column: its last node is a Reshape to (-1, 1). Conversion and checker say nothing.
# Seen: scikit-learn gives (5, 3); the file gives (15, 1), with the same numbers
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check \
    skl2onnx==1.20.0 scikit-learn==1.9.1 onnx==1.23.2 onnxruntime==1.31.1 numpy==2.4.6
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import warnings

import numpy as np
import onnx
import onnxruntime
from skl2onnx import to_onnx
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

warnings.simplefilter("ignore", ConvergenceWarning)
random = np.random.RandomState(0)
x = random.randn(60, 4).astype(np.float32)
model = MLPRegressor(hidden_layer_sizes=(6,), max_iter=50, random_state=0).fit(x, x @ random.randn(4, 3))
file = to_onnx(model, x[:1])
onnx.checker.check_model(file, full_check=True)
session = onnxruntime.InferenceSession(file.SerializeToString())
expected, [found] = model.predict(x[:5]), session.run(None, {session.get_inputs()[0].name: x[:5]})
print(f"scikit-learn gives {expected.shape}; the file gives {found.shape}, with the same numbers")
assert expected.shape == (5, 3) and found.shape == (15, 1)
np.testing.assert_allclose(found.ravel(), expected.ravel(), rtol=1e-4, atol=1e-5)
PY
