"""A trained network, read from the files of a checkpoint, of Gluon's export, of SageMaker or of safetensors."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from .. import symbol as symbols
from ..checkpoint import load_checkpoint, read_params, symbol_path
from ..checks import LIST, Kind, check_kind
from ..errors import FormatError, MissingFileError
from ..ndarray import NDArray
from ..shapes import Shape
from ..symbol import Symbol
from .archives import unpack
from .safetensors_files import load_safetensors
from .shape_files import shapes_in_files

__all__ = ["Model", "read_model"]

PathLike: TypeAlias = "str | os.PathLike[str]"


@dataclass(frozen=True)
class Model:
    """A trained network.

    Attributes
    ----------
    symbol, arg_params, aux_params
        The network, its parameters and its auxiliary states.
    name
        What files that are made of it are named after: the end of the prefix.
    shapes
        Shapes of inputs, as far as files beside the checkpoint tell them; 0 for the size of the batch.
    notes
        Sentences on what was read, such as the epoch where nobody named one.
    """

    symbol: Symbol
    arg_params: Mapping[str, NDArray]
    aux_params: Mapping[str, NDArray]
    name: str
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_model(path: PathLike | Sequence[PathLike], epoch: int | None = None) -> Model:
    """Return a trained network from its files.

    Parameters
    ----------
    path
        A checkpoint's prefix (``"resnet-50"``), also with the epoch behind it (``"resnet-50-0010"``,
        ``"model,10"``); either of its two files; both, of any names, as two paths; a folder with a checkpoint; an
        archive of one (``.tar.gz``), as SageMaker's image classification and object detection make it; or a file of
        `save_safetensors`.
    epoch
        Which epoch's parameters; by default the newest that there are.

    Raises
    ------
    MissingFileError
        When there is no such checkpoint.
    FormatError
        When a file is not what its name says.

    Examples
    --------
    >>> import tempfile, rebind as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mx.model.save_checkpoint(f"{folder}/net", 3, 2 * mx.sym.var("w"), {"w": mx.nd.ones((2,))}, {})
    ...     model = read_model(f"{folder}/net")
    >>> model.name, list(model.arg_params), model.notes
    ('net', ['w'], ('The parameters are those of epoch 3.',))
    """
    if not isinstance(path, (str, os.PathLike)):
        check_kind("read_model", Kind("a path, or a list of two", LIST.allows), path=path)
        return _from_pair([os.fspath(each) for each in path])
    text = os.fspath(path)
    if re.search(r"\.(tar|tar\.gz|tgz)$", text):
        with tempfile.TemporaryDirectory() as folder:
            unpack(text, folder)
            return _from_folder(folder, text, epoch)
    if os.path.isdir(text):
        return _from_folder(text, text, epoch)
    if text.endswith(".safetensors"):
        return _from_safetensors(text)
    prefix, named = _divided(text)
    return _from_prefix(prefix, epoch if named is None else named)


def _divided(path: str) -> tuple[str, int | None]:
    """Return the prefix and the epoch in a path; None for no epoch.

    >>> _divided("net-0010.params"), _divided("net-symbol.json"), _divided("net,10"), _divided("net-0010")
    (('net', 10), ('net', None), ('net', 10), ('net', 10))
    """
    if path.endswith("-symbol.json"):
        return path.removesuffix("-symbol.json"), None
    if os.path.exists(symbol_path(path)):  # a prefix may itself end in a number
        return path, None
    match = re.fullmatch(r"(.+?)(?:-(\d{4,})(?:\.params)?|,\s*(\d+))", path)
    return (path, None) if match is None else (match[1], int(match[2] or match[3]))


def _from_prefix(prefix: str, epoch: int | None) -> Model:
    known = epoch if epoch is not None else _newest_epoch(prefix)
    # Where there is none, the error for epoch 0 lists near prefixes.
    symbol, arg_params, aux_params = load_checkpoint(prefix, known or 0)
    notes = () if epoch is not None else (f"The parameters are those of epoch {known}.",)
    shapes = shapes_in_files(os.path.dirname(prefix) or ".")
    return Model(symbol, arg_params, aux_params, os.path.basename(prefix), shapes, notes)


def _newest_epoch(prefix: str) -> int | None:
    folder, name = os.path.split(prefix)
    pattern = re.compile(re.escape(name) + r"-(\d{4,})\.params")
    names = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
    return max((int(match[1]) for each in names if (match := pattern.fullmatch(each))), default=None)


def _from_folder(folder: str, shown: str, epoch: int | None) -> Model:
    """Read the one checkpoint in a folder; messages and the model's name come from what the user named."""
    names = sorted(os.listdir(folder))
    networks = [name for name in names if name.endswith("-symbol.json")]
    if len(networks) != 1:
        raise MissingFileError(_no_network(shown, names, networks))
    model = _from_prefix(os.path.join(folder, networks[0].removesuffix("-symbol.json")), epoch)
    notes = (f"The checkpoint is {model.name!r} in {shown}.", *model.notes)
    return Model(model.symbol, model.arg_params, model.aux_params, model.name, model.shapes, notes)


def _no_network(shown: str, names: Sequence[str], networks: Sequence[str]) -> str:
    if networks:
        prefix = os.path.join(shown, networks[0].removesuffix("-symbol.json"))
        way = (
            f"Name its prefix, as in {prefix}." if os.path.isdir(shown) else "Unpack it, and name the prefix."
        )
        return f"{shown}: it must have one network; it has {', '.join(networks)}. {way}"
    text = (
        f"{shown}: it must have a network, a file NAME-symbol.json; it has {', '.join(names) or 'nothing'}."
    )
    if "model_algo-1" in names:  # what SageMaker's semantic segmentation makes
        text += (
            " model_algo-1 has parameters only, for a network that GluonCV builds (FCN, PSPNet, DeepLab): load them "
            "into that there, with net.load_parameters, and write both with net.export."
        )
    return text


def _from_pair(paths: Sequence[str]) -> Model:
    networks = [path for path in paths if path.endswith(".json")]
    params = [path for path in paths if not path.endswith(".json")]
    if len(networks) != 1 or len(params) != 1:
        raise FormatError(
            f"read_model: two paths must be those of a .json and a .params file; got {list(paths)}"
        )
    for path in paths:
        if not os.path.exists(path):
            raise MissingFileError(f"read_model: the file {path!r} must exist")
    name = re.sub(r"-symbol$", "", Path(networks[0]).stem)
    shapes = shapes_in_files(os.path.dirname(networks[0]) or ".")
    return Model(symbols.load(networks[0]), *read_params(params[0]), name, shapes)


def _from_safetensors(path: str) -> Model:
    if not os.path.exists(path):
        raise MissingFileError(f"read_model: the file {path!r} must exist")
    symbol, arg_params, aux_params = load_safetensors(path)
    if symbol is None:
        raise FormatError(
            f"{path}: it has no network in its metadata, only tensors. rebind.convert.load_safetensors reads those."
        )
    return Model(symbol, arg_params, aux_params, Path(path).stem)
