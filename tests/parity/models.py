"""The networks of `mx.models` that MXNet reads: usual inputs, small variants that run, and numbers for parameters."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .golden import DATA, Arrays

INTERFACES = DATA / "models.json.gz"
OUTPUTS = DATA / "models.npz"

Shapes = Mapping[str, tuple[int, ...]]

_FACES = (1, 3, 112, 112)
_SIZES: dict[str, tuple[int, ...]] = {
    "alexnet": (1, 3, 227, 227), "caffenet": (1, 3, 227, 227), "mlp": (1, 784), "lenet": (1, 1, 28, 28),
    "lstm_language_model": (1, 32), "mobilefacenet": _FACES, "arcface_resnet34": _FACES,
    "arcface_resnet50": _FACES, "arcface_resnet100": _FACES, "inception_v3": (1, 3, 299, 299),
    "inception_v4": (1, 3, 299, 299), "inception_resnet_v2": (1, 3, 299, 299),
    **{f"ssd{size}_{network}": (1, 3, size, size)
       for size in (300, 512) for network in ("vgg16_reduced", "resnet50", "resnet101")},
}  # fmt: skip
#: What does not follow from the shape of data.
_OTHERS: dict[str, Shapes] = {
    "lstm_language_model": {"softmax_label": (1, 32)},
    **{f"faster_rcnn_{network}": {"im_info": (1, 3)} for network in ("vgg16", "resnet50", "resnet101")},
}


def usual_shapes(name: str) -> Shapes:
    """Return the shapes of the inputs that a network was made for, for a batch of one."""
    return {"data": _SIZES.get(name, (1, 3, 224, 224)), **_OTHERS.get(name, {})}


@dataclass(frozen=True)
class Variant:
    """A network that is small, or has small inputs, so that it soon runs.

    Attributes
    ----------
    model, parameters
        The function in `mx.models` and what it gets.
    shapes
        Of the inputs.
    scores
        The internal output that is recorded, too, where a softmax hides differences.
    """

    model: str
    shapes: Shapes
    parameters: Mapping[str, Any] = field(default_factory=dict)
    scores: str | None = None


_IMAGES, _IMAGE, _TINY = {"data": (2, 3, 64, 64)}, {"data": (1, 3, 64, 64)}, {"data": (2, 3, 32, 32)}
_TEN: dict[str, Any] = {"num_classes": 10}
_CIFAR: dict[str, Any] = {"num_classes": 10, "num_layers": 8, "image_shape": (3, 32, 32)}
_SSD: dict[str, Any] = {"num_classes": 2, "network": "resnet50"}
_WORDS: dict[str, Any] = {"vocabulary": 30, "steps": 5, "num_hidden": 8, "num_embed": 6}
_RCNN: dict[str, Any] = {"num_classes": 3, "num_rois": 5, "network": "resnet50"}
VARIANTS: dict[str, Variant] = {
    "mlp": Variant("mlp", {"data": (2, 1, 8, 8)}, {"hidden": (16, 8)}, "fc3_output"),
    "lenet": Variant("lenet", {"data": (2, 1, 28, 28)}, {}, "fc2_output"),
    "resnet8_v1": Variant("resnet", _TINY, {**_CIFAR, "version": 1}, "fc1_output"),
    "resnet8_v2": Variant("resnet", _TINY, {**_CIFAR, "version": 2}, "fc1_output"),
    "resnet18_v1": Variant("resnet", _IMAGES, {**_TEN, "num_layers": 18, "version": 1}, "fc1_output"),
    "mobilenet": Variant("mobilenet", _IMAGES, {**_TEN, "multiplier": 0.25}, "fc_output"),
    "mobilenet_v2": Variant("mobilenet_v2", _IMAGES, {**_TEN, "multiplier": 0.5}, "fc_output"),
    "mobilenet_v3_small": Variant("mobilenet_v3", _IMAGES, {**_TEN, "small": True}, "fc2_output"),
    "densenet121": Variant("densenet", _IMAGE, _TEN, "fc1_output"),
    "squeezenet": Variant("squeezenet", _IMAGES, _TEN, "flatten_output"),
    "googlenet": Variant("googlenet", _IMAGES, _TEN, "fc1_output"),
    "inception_bn": Variant("inception_bn", _IMAGES, _TEN, "fc1_output"),
    "lstm_language_model": Variant(
        "lstm_language_model", {"data": (2, 5), "softmax_label": (2, 5)}, _WORDS, "pred_output"
    ),
    "mobilefacenet": Variant("mobilefacenet", {"data": (1, 3, 112, 112)}),
    "retinaface": Variant("retinaface", _IMAGE),
    "faster_rcnn": Variant("faster_rcnn", {"data": (1, 3, 128, 160), "im_info": (1, 3)}, _RCNN),
    "ssd": Variant("ssd", {"data": (1, 3, 64, 64)}, _SSD, "multibox_loc_pred_output"),
    "ssd_training": Variant("ssd", {"data": (1, 3, 64, 64), "label": (1, 2, 5)}, {**_SSD, "training": True}),
}


def outputs(name: str, symbol: Any) -> Any:
    """Return what is recorded of a variant: its outputs, and its scores."""
    scores = VARIANTS[name].scores
    return symbol if scores is None else [symbol.get_internals()[scores], *symbol]


def inputs(name: str) -> Arrays:
    """Return a batch for a variant."""
    random = np.random.RandomState(zlib.crc32(name.encode()))
    batch = {key: random.standard_normal(shape) for key, shape in VARIANTS[name].shapes.items()}
    if name == "lstm_language_model":
        batch["data"] = random.randint(0, _WORDS["vocabulary"], batch["data"].shape)
    if "im_info" in batch:
        batch["im_info"] = np.array([[*batch["data"].shape[2:], 1]])
    if "label" in batch:
        batch["label"] = np.array([[[1, 0.1, 0.2, 0.6, 0.7], [0, 0.5, 0.5, 0.9, 0.8]]])
    return {key: value.astype(np.float32) for key, value in batch.items()}


def draw(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return numbers that depend on a parameter's name and shape only.

    With a beta above 0 most units are on, as a trained network is no chaos that multiplies rounding errors.
    """
    random = np.random.RandomState(zlib.crc32(name.encode()))
    if name.endswith(("_gamma", "_moving_var")):
        value = random.uniform(0.3, 0.9, shape)
    elif name.endswith("_beta"):
        value = random.uniform(0, 1, shape)
    elif name.endswith(("_bias", "_moving_mean")):
        value = 0.1 * random.standard_normal(shape)
    else:
        value = random.standard_normal(shape) * math.sqrt(2 / math.prod(shape[1:]))
        if "_pred" in name:  # a detector's, of which exponentials are taken
            value *= 0.02
    return value.astype(np.float32)


def run(mx: Any, name: str, symbol: Any) -> Arrays:
    """Return what either library computes of a variant."""
    given = inputs(name)
    arguments, _, states = symbol.infer_shape(**VARIANTS[name].shapes)
    named = zip(symbol.list_arguments(), arguments)
    executor = mx.sym.Group(list(outputs(name, symbol))).bind(
        mx.cpu(),
        {key: mx.nd.array(given[key] if key in given else draw(key, shape)) for key, shape in named},
        grad_req="null",
        aux_states={
            key: mx.nd.array(draw(key, shape)) for key, shape in zip(symbol.list_auxiliary_states(), states)
        },
    )
    executor.forward(is_train=False)
    return {key: value.asnumpy() for key, value in executor.output_dict.items()}
