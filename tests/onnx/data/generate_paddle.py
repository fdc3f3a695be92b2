"""Write files of paddle2onnx, with what PaddlePaddle computes: ``python tests/onnx/data/generate_paddle.py``.

The files are of PaddlePaddle 3.3 and paddle2onnx 2.1.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

FOLDER = Path(__file__).parent


class Images(nn.Layer):
    """Layers of a network for images."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2D(3, 4, 3, padding=1), nn.BatchNorm2D(4), nn.Hardswish())
        self.second = nn.Sequential(nn.Conv2D(4, 4, 3, padding=1, groups=4), nn.ReLU6())
        self.head = nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 5), nn.Softmax())

    def forward(self, data):
        hidden = self.first(data)
        return self.head(F.adaptive_avg_pool2d(F.max_pool2d(hidden + self.second(hidden), 2), 1).flatten(1))


class Words(nn.Layer):
    """An embedding and a recurrent layer in both directions."""

    def __init__(self):
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(11, 4), nn.LSTM(4, 3, direction="bidirect")
        self.head = nn.Sequential(nn.LayerNorm(6), nn.GELU(), nn.Linear(6, 2))

    def forward(self, data):
        return self.head(self.lstm(self.embedding(data))[0])


for network, shape, dtype in ((Images, [None, 3, 8, 8], "float32"), (Words, [2, 6], "int64")):
    paddle.seed(0)
    model, name = network(), f"paddle_{network.__name__.lower()}"
    model.eval()
    random, sizes = np.random.RandomState(0), [size or 2 for size in shape]
    values = random.randint(0, 11, sizes) if dtype == "int64" else random.randn(*sizes).astype(dtype)
    specification = paddle.static.InputSpec(shape, dtype, "data")
    paddle.onnx.export(model, str(FOLDER / name), input_spec=[specification], opset_version=17)
    np.savez(FOLDER / f"{name}.npz", values, model(paddle.to_tensor(values)).numpy())
