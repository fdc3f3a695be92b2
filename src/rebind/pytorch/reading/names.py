"""Names of nodes and parameters, after the paths of modules; those of published checkpoints where they are known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

__all__ = ["ModuleNames"]

#: Patterns of paths of modules, and what makes names of what they match.
_Rows: TypeAlias = "tuple[tuple[str, Callable[[re.Match[str]], str]], ...]"

#: Of torchvision's ResNet: the paths of modules, and the names of `mx.models.resnet(version=1)`.
_RESNET: _Rows = (
    (r"conv1", lambda m: "conv0"),
    (r"bn1", lambda m: "bn0"),
    (r"relu", lambda m: "relu0"),
    (r"maxpool", lambda m: "pooling0"),
    (r"layer(\d)\.(\d+)\.downsample\.0", lambda m: f"{_unit(m)}_conv1sc"),
    (r"layer(\d)\.(\d+)\.downsample\.1", lambda m: f"{_unit(m)}_sc"),
    (r"layer(\d)\.(\d+)\.(\w+)", lambda m: f"{_unit(m)}_{m[3]}"),
    (r"layer(\d)\.(\d+)", lambda m: f"{_unit(m)}_plus"),
    (r"avgpool", lambda m: "pool1"),
    (r"fc", lambda m: "fc1"),
)
#: Of MobileNet v2: where its blocks are in stages, by their numbers in torchvision's `features`.
_BLOCKS = [f"seq-{stage}-block{i}" for stage, count in enumerate((1, 2, 3, 4, 3, 3, 1)) for i in range(count)]
_LAYERS = ("conv2d", "batchnorm", "relu6")


def _unit(match: re.Match[str]) -> str:
    return f"stage{match[1]}_unit{int(match[2]) + 1}"


def _block(match: re.Match[str]) -> str:
    block, path = _BLOCKS[int(match[1]) - 1], match[2]
    # The first block does not widen its input.
    parts = ["depthwise", "linear"] if match[1] == "1" else ["exp", "depthwise", "linear"]
    if "." in path:
        part, layer = map(int, path.split("."))
        return f"{block}-{parts[part]}-{_LAYERS[layer]}"
    return f"{block}-linear-{_LAYERS[int(path) - len(parts) + 1]}"


_MOBILENET_V2: _Rows = (
    (r"features\.0\.(\d)", lambda m: f"first-3x3-conv-{_LAYERS[int(m[1])]}"),
    (r"features\.18\.(\d)", lambda m: f"last-1x1-conv-{_LAYERS[int(m[1])]}"),
    (r"features\.(\d+)\.conv\.(\d\.\d|\d)", _block),
    (r"features\.(\d+)", lambda m: f"{_BLOCKS[int(m[1]) - 1]}-plus"),
    (r"classifier\.1", lambda m: "fc"),
)
#: What parameters only such a network has, and its names.
_PUBLISHED: tuple[tuple[set[str], _Rows], ...] = (
    ({"conv1.weight", "bn1.weight", "layer1.0.conv1.weight", "layer4.0.conv1.weight", "fc.weight"}, _RESNET),
    ({"features.0.0.weight", "features.1.conv.0.0.weight", "features.17.conv.3.weight", "classifier.1.weight"},
     _MOBILENET_V2),
)  # fmt: skip


class ModuleNames:
    """How nodes are named after modules: as published checkpoints of MXNet name them, if the network is known.

    Attributes
    ----------
    input
        The name of the only input of a known network.

    Examples
    --------
    >>> names = ModuleNames(["head.0.weight"])
    >>> names("head.0"), names.input
    ('head_0', None)
    """

    def __init__(self, parameters: Iterable[str]) -> None:
        names = set(parameters)
        self._rows: _Rows = next((rows for some, rows in _PUBLISHED if some <= names), ())
        self.input = "data" if self._rows else None

    def __call__(self, path: str) -> str:
        """Return the name of a module."""
        for pattern, name in self._rows:
            if match := re.fullmatch(pattern, path):
                return name(match)
        return re.sub(r"\W", "_", path)
