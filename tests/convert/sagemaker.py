"""Archives as SageMaker's built-in algorithms leave them, of networks of `mx.models` with numbers of their own."""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.parity.models import draw

import rebind as mx


@dataclass(frozen=True)
class Archive:
    """What an algorithm leaves.

    Attributes
    ----------
    symbol
        The network that was trained, with losses.
    prefix, epoch
        Of the checkpoint's two files.
    shapes
        Shapes of inputs, with which the shapes of parameters are known.
    described
        The other files.
    """

    symbol: Any
    prefix: str
    epoch: int
    shapes: Mapping[str, tuple[int, ...]]
    described: Mapping[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """Make ``model.tar.gz`` in a folder."""
        symbol = self.symbol
        shapes, _, states = symbol.infer_shape(**self.shapes)
        arguments = {
            name: mx.nd.array(draw(name, shape))
            for name, shape in zip(symbol.list_arguments(), shapes, strict=True)
            if name not in self.shapes and not name.endswith("label")
        }
        moving = {
            name: mx.nd.array(draw(name, shape))
            for name, shape in zip(symbol.list_auxiliary_states(), states, strict=True)
        }
        path = folder / "model.tar.gz"
        with tempfile.TemporaryDirectory() as made, tarfile.open(path, "w:gz", compresslevel=1) as archive:
            mx.model.save_checkpoint(f"{made}/{self.prefix}", self.epoch, symbol, arguments, moving)
            for name in (f"{self.prefix}-symbol.json", f"{self.prefix}-{self.epoch:04d}.params"):
                archive.add(f"{made}/{name}", name)
            for name, content in self.described.items():
                text = json.dumps(content).encode()
                info = tarfile.TarInfo(name)
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text))
        return path


def image_classification() -> Archive:
    """ResNet for small images; the shape is that of a batch."""
    return Archive(
        mx.models.resnet(num_classes=3, num_layers=8, image_shape=(3, 28, 28), version=2),
        "image-classification",
        10,
        {"data": (4, 3, 28, 28)},
        {"model-shapes.json": [{"shape": [4, 3, 28, 28], "name": "data"}]},
    )


def object_detection() -> Archive:
    """SSD as it is trained, with its targets and losses; the shape is one number, all settings are texts."""
    return Archive(
        mx.models.ssd(num_classes=2, network="resnet50", training=True),
        "model_algo_1",
        0,
        {"data": (1, 3, 64, 64), "label": (1, 2, 6)},
        {"hyperparams.json": {"base_network": "resnet-50", "image_shape": "64", "num_classes": "2"}},
    )


def semantic_segmentation() -> Archive:
    """A fully convolutional network, as GluonCV's ``export`` writes it: two outputs for each pixel, no losses."""
    body = mx.models.resnet(num_layers=8, image_shape=(3, 32, 32), version=1).get_internals()
    outputs = []
    for name, layer in (("fcnhead0", "_plus2_output"), ("fcnhead1", "_plus1_output")):
        data = mx.sym.Convolution(
            body[layer], kernel=(3, 3), pad=(1, 1), num_filter=8, no_bias=True, name=f"{name}_conv0"
        )
        data = mx.sym.BatchNorm(data, fix_gamma=False, use_global_stats=False, name=f"{name}_batchnorm0")
        data = mx.sym.Dropout(mx.sym.Activation(data, act_type="relu", name=f"{name}_relu0"), p=0.1)
        data = mx.sym.Convolution(data, kernel=(1, 1), num_filter=4, name=f"{name}_conv1")
        outputs.append(mx.sym.contrib.BilinearResize2D(data, height=24, width=24, name=f"{name}_resize"))
    settings = {"algorithm": "fcn", "backbone": "resnet-50", "crop_size": "24", "num_classes": "4"}
    return Archive(mx.sym.Group(outputs), "fcn", 0, {"data": (1, 3, 24, 24)}, {"hyperparams.json": settings})
