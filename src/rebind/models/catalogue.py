"""The networks by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from ..checks import TEXT, check_keywords, check_kind
from ..registry import Registry
from ..symbol import Symbol
from .alexnet import alexnet, caffenet
from .arcface import arcface_resnet
from .densenet import densenet
from .faster_rcnn import faster_rcnn
from .googlenet import googlenet
from .inception_bn import inception_bn
from .inception_resnet_v2 import inception_resnet_v2
from .inception_v3 import inception_v3
from .inception_v4 import inception_v4
from .language_model import lstm_language_model
from .lenet import lenet
from .mlp import mlp
from .mobilefacenet import mobilefacenet
from .mobilenet import mobilenet, mobilenet_v2
from .mobilenet_v3 import mobilenet_v3
from .resnet import resnet
from .resnext import resnext
from .retinaface import retinaface
from .squeezenet import squeezenet
from .ssd import ssd
from .vgg import vgg

__all__ = ["MODELS", "get", "names"]

Builder: TypeAlias = Callable[..., Symbol]

_BUILDERS: dict[str, Builder] = {
    **{
        builder.__name__: builder
        for builder in (
            mlp, lenet, alexnet, caffenet, googlenet, inception_bn, inception_v3, inception_v4, inception_resnet_v2,
            mobilenet, mobilenet_v2, lstm_language_model, mobilefacenet,
        )
    },
    **{f"vgg{depth}": partial(vgg, num_layers=depth) for depth in (11, 13, 16, 19)},
    **{f"vgg{depth}_bn": partial(vgg, num_layers=depth, batch_norm=True) for depth in (11, 13, 16, 19)},
    **{
        f"resnet{depth}{suffix}": partial(resnet, num_layers=depth, version=version)
        for depth in (18, 34, 50, 101, 152, 200, 269)
        for suffix, version in (("", 1), ("_v1", 1), ("_v2", 2))  # without a version: the first, as elsewhere
    },
    **{f"resnext{depth}": partial(resnext, num_layers=depth) for depth in (50, 101, 152)},
    **{f"densenet{depth}": partial(densenet, num_layers=depth) for depth in (121, 161, 169, 201)},
    **{f"squeezenet{version}": partial(squeezenet, version=version) for version in ("1.0", "1.1")},
    **{f"arcface_resnet{depth}": partial(arcface_resnet, num_layers=depth) for depth in (34, 50, 100)},
    **{
        f"ssd{size}_{network}": partial(ssd, network=network, data_size=size)
        for size in (300, 512)
        for network in ("vgg16_reduced", "resnet50", "resnet101")
    },
    "mobilenet_v3_large": partial(mobilenet_v3, small=False),
    "mobilenet_v3_small": partial(mobilenet_v3, small=True),
    **{
        f"faster_rcnn_{network}": partial(faster_rcnn, network=network)
        for network in ("vgg16", "resnet50", "resnet101")
    },
    "retinaface_mnet.25": partial(retinaface, network="mnet.25"),
    "retinaface_r50": partial(retinaface, network="R50"),
}  # fmt: skip

MODELS: Registry[Builder] = Registry("model")
for _name, _builder in _BUILDERS.items():
    MODELS.register(_name)(_builder)


def get(name: str, **parameters: Any) -> Symbol:
    """Return a network by name.

    Parameters
    ----------
    name
        One of those that `mx.models.list` gives.
    parameters
        Those of its function, such as ``num_classes``.

    Examples
    --------
    >>> get("resnet50_v1", num_classes=10).list_outputs()
    ['softmax_output']
    """
    check_kind("models.get", TEXT, name=name)
    builder = MODELS[name]
    check_keywords(f"models.get({name!r})", parameters, list(inspect.signature(builder).parameters))
    return builder(**parameters)


def names() -> list[str]:
    """Return the names of all networks.

    >>> "vgg16_bn" in names()
    True
    """
    return sorted(_BUILDERS)
