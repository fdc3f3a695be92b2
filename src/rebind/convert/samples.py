"""What a network is checked on: pictures of a folder, arrays of a file, or random numbers."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping

import numpy as np
import torch

from ..errors import FormatError, MissingFileError, ShapeError
from ..graph import Application, Entry, Graph, infer_shapes
from ..image import imread, imresize
from ..recordio.lists import find_pictures
from ..shapes import Shape
from .network import Network

__all__ = ["Samples", "random_samples", "read_samples"]

#: Arrays by the names of inputs.
Samples = dict[str, np.ndarray]

#: How large free sizes are in random data: those of pictures, and all others.
_PICTURE, _LENGTH = 224, 16
_ENDINGS = (".jpg", ".jpeg", ".png", ".bmp")
_MOST_PICTURES = 32


def random_samples(network: Network, batch: int, seed: int = 0) -> Samples:
    """Return random numbers for each input: of the normal distribution, or indices where an `Embedding` takes them.

    >>> import rebind as mx
    >>> from rebind.convert.network import prepared
    >>> from rebind.convert import Model
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> network = prepared(Model(net, {"fc_weight": mx.nd.ones((2, 5))}, {}, "net"))
    >>> random_samples(network, batch=3)["data"].shape
    (3, 5)
    """
    generator = np.random.default_rng(seed)
    made = {}
    for name, shape in network.inputs.data.items():
        whole = with_sizes(shape, batch)
        classes = _classes(network.symbol.graph, name)
        values = generator.integers(0, classes, whole) if classes else generator.standard_normal(whole)
        made[name] = values.astype(_type(network, name))
    return made | _states(network, made)


def with_sizes(shape: Shape, batch: int) -> Shape:
    """Return a shape with numbers for its free sizes.

    >>> with_sizes((0, 3, 0, 0), 2), with_sizes((0, 0, 8), 2)
    ((2, 3, 224, 224), (2, 16, 8))
    """
    free = _PICTURE if len(shape) == 4 else _LENGTH
    return tuple(size or (free if axis else batch) for axis, size in enumerate(shape))


def _states(network: Network, data: Mapping[str, np.ndarray]) -> Samples:
    """Return zeros for states, of the shapes that follow from the data."""
    names = list(network.inputs.states)
    if not names:
        return {}
    graph = network.symbol.graph
    inferred = infer_shapes(graph, {name: value.shape for name, value in data.items()})
    shapes = {node.name: inferred.of(Entry(node)) or () for node in graph.variables if node.name in names}
    return {name: np.zeros(shapes[name], _type(network, name)) for name in names}


def _type(network: Network, name: str) -> np.dtype:
    return torch.empty(0, dtype=network.types[name]).numpy().dtype


def _classes(graph: Graph, name: str) -> int:
    """Return how many rows the `Embedding` has that takes an input; 0 for other inputs."""
    for node in graph.nodes:
        if (
            isinstance(node, Application)
            and node.operator.name == "Embedding"
            and node.inputs[0].node.name == name
        ):
            return node.params.input_dim
    return 0


def read_samples(network: Network, path: str | os.PathLike[str]) -> Samples:
    """Return the data in an ``.npz`` file, or the pictures in a folder, resized to what the network takes.

    Pictures are in RGB, from 0 to 255, as `mx.io.ImageRecordIter` gives them; 32 of them at most. A network whose data
    were prepared otherwise is checked on an ``.npz`` file of such data.

    Raises
    ------
    MissingFileError
        When there is no such file, or the folder has no pictures.
    FormatError, ShapeError
        When they are not what the network takes.
    """
    text = os.fspath(path)
    if os.path.isdir(text):
        return _pictures(network, text)
    if not os.path.exists(text):
        raise MissingFileError(f"check: {text!r} must be a folder of pictures or an .npz file; there is none")
    try:
        with np.load(text, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, OSError, AttributeError) as error:
        raise FormatError(f"check: {text!r} must be an .npz file of arrays; {error}") from error
    return _checked(network, arrays, text)


def _checked(network: Network, arrays: Mapping[str, np.ndarray], path: str) -> Samples:
    """Return arrays in the types of the inputs; an error names what is missing or has another shape."""
    for name, shape in network.inputs.data.items():
        if name not in arrays:
            raise FormatError(f"{path}: it must have an array {name!r}; it has {', '.join(arrays) or 'none'}")
        found = arrays[name].shape
        if len(found) != len(shape) or any(
            size not in (0, other) for size, other in zip(shape, found, strict=True)
        ):
            raise ShapeError(
                f"{path}: {name!r} must have the shape {shape}, where 0 is any size; got {found}"
            )
    data = {name: arrays[name].astype(_type(network, name)) for name in network.inputs.data}
    return data | _states(network, data)


def _pictures(network: Network, folder: str) -> Samples:
    shapes = [(name, shape) for name, shape in network.inputs.data.items() if len(shape) == 4]
    if len(shapes) != 1 or len(network.inputs.data) != 1 or shapes[0][1][1] not in (1, 3):
        raise ShapeError(
            f"check: pictures are for networks that take nothing else, in the shape (N, 3, H, W) or (N, 1, H, W); this "
            f"one takes {dict(network.inputs.data)}. Give an .npz file."
        )
    name, shape = shapes[0]
    found = [item.path for item in find_pictures(folder, _ENDINGS, True)]
    if not found:
        raise MissingFileError(
            f"check: the folder {folder!r} must have pictures, files that end in {', '.join(_ENDINGS)}"
        )
    size = with_sizes(shape, 1)
    chosen = itertools.islice(itertools.cycle(found), shape[0] or min(len(found), _MOST_PICTURES))
    pictures = [_picture(os.path.join(folder, path), size) for path in chosen]
    return {name: np.stack(pictures).astype(_type(network, name))}


def _picture(path: str, size: Shape) -> np.ndarray:
    picture = imresize(imread(path, flag=int(size[1] == 3)), size[3], size[2])
    return picture.asnumpy().transpose(2, 0, 1)
