"""Write files of PyTorch's exporter, with what PyTorch computes: ``python tests/onnx/data/generate_torch.py``.

Both of its exporters write each network: that of today, for which onnxscript must be installed, at its opset, and
that of TorchScript at opset 14. The files are of torch 2.13 and onnxscript 0.7.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import onnx

FOLDER = Path(__file__).parent


class Residual(nn.Module):
    """Layers of a network for images."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.SiLU())
        self.second = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1, groups=4, bias=False), nn.GroupNorm(2, 4))
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(), nn.Linear(4, 3))

    def forward(self, data: Tensor) -> Tensor:
        hidden = nn.functional.max_pool2d(self.first(data), 2)
        hidden = nn.functional.hardswish(hidden + self.second(hidden))
        return self.head(nn.functional.interpolate(hidden, scale_factor=2.0, mode="bilinear")).softmax(-1)


class Language(nn.Module):
    """An embedding, a recurrent layer in both directions, attention, and scores by the embedding's own weight."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 4)
        self.lstm = nn.LSTM(4, 2, bidirectional=True, batch_first=True)
        self.block = nn.TransformerEncoderLayer(4, 2, 5, batch_first=True)
        self.scores = nn.Linear(4, 7, bias=False)
        self.scores.weight = self.embedding.weight

    def forward(self, data: Tensor) -> Tensor:
        return self.scores(self.block(self.lstm(self.embedding(data))[0]))


def _strip(path: Path) -> None:
    """Leave out where in PyTorch's code each node is from, which is most of the file."""
    model = onnx.load(path)
    for item in (
        *model.graph.node,
        *model.graph.value_info,
        *model.graph.input,
        *model.graph.output,
        model.graph,
    ):
        del item.metadata_props[:]
        item.doc_string = ""
    onnx.save(model, path)


def main() -> None:
    """Write the files, each with an archive of its inputs and outputs."""
    warnings.simplefilter("ignore")
    random = torch.Generator().manual_seed(0)
    for name, make, data in (
        ("residual", Residual, torch.randn(2, 3, 8, 8, generator=random)),
        ("language", Language, torch.randint(0, 7, (2, 5), generator=random)),
    ):
        torch.manual_seed(0)
        model = make().eval()
        with torch.no_grad():
            output = model(data)
        for suffix, options in (
            ("", {"external_data": False}),
            ("_script", {"dynamo": False, "opset_version": 14}),
        ):
            path = FOLDER / f"torch_{name}{suffix}.onnx"
            torch.onnx.export(
                model, (data,), path, input_names=["data"], output_names=["scores"], verbose=False, **options
            )
            _strip(path)
            np.savez_compressed(path.with_suffix(".npz"), data.numpy(), output.numpy())


if __name__ == "__main__":
    main()
