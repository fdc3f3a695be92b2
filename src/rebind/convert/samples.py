"""What a network is checked on: pictures of a folder, arrays of a file, or random numbers."""

from __future__ import annotations

import itertools
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import torch

from ..errors import FormatError, MissingFileError, ShapeError
from ..graph import Application, Entry, Graph, infer_shapes
from ..image import imread, imresize
from ..recordio.lists import find_pictures
from ..shapes import Shape
from .network import Network

__all__ = ["Pictures", "Samples", "random_samples", "read_samples", "sample_shapes"]

#: Arrays by the names of inputs.
Samples = dict[str, np.ndarray]

#: What free sizes are in data: height and width of pictures, and all others; and what else, to see that they are free.
_PICTURE, _LENGTH = (224, 224), 16
_OTHER_PICTURE, _OTHER_LENGTH = (192, 256), 24
_ENDINGS = (".jpg", ".jpeg", ".png", ".bmp")
_MOST_PICTURES = 32
#: Free heights and widths of pictures in a check: multiples of what networks halve five times, to a bound of memory.
_STEP, _LARGEST_SIDE = 32, 640


def random_samples(network: Network, batch: int, *, other: bool = False) -> Samples:
    """Return random numbers for each input: of the normal distribution, or indices where an `Embedding` takes them.

    Free sizes have numbers that networks are used with; others with `other`.

    >>> import rebind as mx
    >>> from rebind.convert.network import prepared
    >>> from rebind.convert import Model
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> network = prepared(Model(net, {"fc_weight": mx.nd.ones((2, 5))}, {}, "net"))
    >>> random_samples(network, batch=3)["data"].shape
    (3, 5)
    """
    generator = np.random.default_rng(0)
    made = {}
    for name, shape in network.inputs.data.items():
        whole = with_sizes(shape, batch, other=other)
        classes = _classes(network.symbol.graph, name)
        values = generator.integers(0, classes, whole) if classes else generator.standard_normal(whole)
        made[name] = values.astype(_type(network, name))
    return made | _states(network, made)


def with_sizes(shape: Shape, batch: int, *, other: bool = False) -> Shape:
    """Return a shape with numbers for its free sizes.

    >>> with_sizes((0, 3, 0, 0), 2), with_sizes((0, 0, 8), 2), with_sizes((0, 3, 0, 0), 2, other=True)
    ((2, 3, 224, 224), (2, 16, 8), (2, 3, 192, 256))
    """
    length = _OTHER_LENGTH if other else _LENGTH
    picture = (length, *(_OTHER_PICTURE if other else _PICTURE))
    free = (batch, *(picture if len(shape) == 4 else [length] * len(shape)))
    return tuple(size or number for size, number in zip(shape, free))


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


def read_samples(network: Network, path: str | os.PathLike[str], *, own_size: bool = False) -> Samples:
    """Return the data in an ``.npz`` file, or the pictures in a folder, resized to what the network takes.

    Pictures are in RGB, from 0 to 255, as `mx.io.ImageRecordIter` gives them; 32 of them at most. A network whose data
    were prepared otherwise is checked on an ``.npz`` file of such data. Where height and width are free, they are 224;
    with `own_size` those of the first picture, as multiples of 32 and 640 at most.

    Raises
    ------
    MissingFileError
        When there is no such file, or the folder has no pictures.
    FormatError, ShapeError
        When they are not what the network takes.
    """
    text = os.fspath(path)
    if os.path.isdir(text):
        return _pictures(network, text, own_size)
    return _checked(network, _arrays(text), text)


def sample_shapes(path: str | os.PathLike[str]) -> dict[str, Shape]:
    """Return the shapes of the arrays in an ``.npz`` file; nothing of a folder of pictures, which take any size.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/data.npz", data=np.ones((2, 3)))
    ...     sample_shapes(f"{folder}/data.npz"), sample_shapes(folder)
    ({'data': (2, 3)}, {})
    """
    if os.path.isdir(path):
        return {}
    return {name: array.shape for name, array in _arrays(os.fspath(path)).items()}


def _arrays(path: str) -> dict[str, np.ndarray]:
    if not os.path.exists(path):
        raise MissingFileError(f"check: {path!r} must be a folder of pictures or an .npz file; there is none")
    if not zipfile.is_zipfile(path):
        raise FormatError(f"check: {path!r} must be an .npz file of arrays, as numpy.savez writes it")
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise FormatError(f"check: {path!r} must be an .npz file of arrays; {error}") from error


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


def _pictures(network: Network, folder: str, own_size: bool) -> Samples:
    pictures = Pictures(network, folder, own_size=own_size)
    return pictures.read(itertools.islice(itertools.cycle(pictures.paths), pictures.most))


class Pictures:
    """The pictures of a folder, for a network that takes nothing else.

    Parameters
    ----------
    network
        What takes them.
    folder
        A folder, with folders below it.
    own_size
        Whether free heights and widths are those of the first picture; they are 224 otherwise.

    Attributes
    ----------
    paths
        Of the pictures, below the folder, in their order.
    most
        How many are read at once.
    batch_is_fixed
        Whether the network takes batches of `most` only.

    Raises
    ------
    MissingFileError
        When the folder has no pictures.
    ShapeError
        When the network takes something else.
    """

    def __init__(self, network: Network, folder: str, *, own_size: bool = False) -> None:
        shapes = [(name, shape) for name, shape in network.inputs.data.items() if len(shape) == 4]
        if len(shapes) != 1 or len(network.inputs.data) != 1 or shapes[0][1][1] not in (1, 3):
            raise ShapeError(
                f"check: pictures are for networks that take nothing else, in the shape (N, 3, H, W) or (N, 1, H, W); "
                f"this one takes {dict(network.inputs.data)}. Give an .npz file."
            )
        self._name, shape = shapes[0]
        self.paths = [item.path for item in find_pictures(folder, _ENDINGS, True)]
        if not self.paths:
            raise MissingFileError(
                f"check: the folder {folder!r} must have pictures, files that end in {', '.join(_ENDINGS)}"
            )
        self._folder, self._color, self._type = folder, shape[1] == 3, _type(network, self._name)
        first = imread(os.path.join(folder, self.paths[0])).shape[:2]
        own = [min(max(side // _STEP * _STEP, _STEP), _LARGEST_SIDE) for side in first]
        self._sides = [size or side for size, side in zip(shape[2:], own if own_size else _PICTURE)]
        self.batch_is_fixed = shape[0] > 0
        self.most = shape[0] or min(len(self.paths), _MOST_PICTURES)

    def batches(self) -> Iterator[tuple[Sequence[str], Samples]]:
        """Yield all pictures, with their paths; the last one fills a batch of a fixed size."""
        for first in range(0, len(self.paths), self.most):
            paths = self.paths[first : first + self.most]
            filled = paths + paths[-1:] * (self.most - len(paths)) if self.batch_is_fixed else paths
            yield paths, self.read(filled)

    def read(self, paths: Iterable[str]) -> Samples:
        """Return pictures as the network's input."""
        pictures = [_picture(os.path.join(self._folder, path), self._color, *self._sides) for path in paths]
        return {self._name: np.stack(pictures).astype(self._type)}


def _picture(path: str, color: bool, height: int, width: int) -> np.ndarray:
    picture = imresize(imread(path, flag=int(color)), width, height)
    return picture.asnumpy().transpose(2, 0, 1)
