"""Write files of skl2onnx, with what scikit-learn computes: ``python tests/onnx/data/generate_sklearn.py``.

The files are of scikit-learn 1.9 and skl2onnx 1.20.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.cluster import KMeans
from sklearn.neural_network import MLPRegressor

FOLDER = Path(__file__).parent
RANDOM = np.random.RandomState(0)
DATA = RANDOM.randn(60, 4).astype(np.float32)


def perceptron():
    """Two hidden layers and one number."""
    model = MLPRegressor(hidden_layer_sizes=(6, 5), activation="tanh", max_iter=100, tol=0.1, random_state=0)
    model.fit(DATA, DATA @ RANDOM.randn(4))
    return model, lambda data: [model.predict(data)[:, None]]


def clusters():
    """The nearest centre, and the distances to all."""
    model = KMeans(3, n_init=1, random_state=0).fit(DATA)
    return model, lambda data: [model.predict(data), model.transform(data)]


for network in (perceptron, clusters):
    model, compute = network()
    written = to_onnx(model, initial_types=[("data", FloatTensorType([None, 4]))], target_opset=17)
    (FOLDER / f"sklearn_{network.__name__}.onnx").write_bytes(written.SerializeToString())
    np.savez(FOLDER / f"sklearn_{network.__name__}.npz", DATA[:5], *compute(DATA[:5]))
