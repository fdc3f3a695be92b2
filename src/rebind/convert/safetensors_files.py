"""Checkpoints as safetensors: parameters under their names, the network and the versions in the metadata."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TypeAlias

import torch

from .._version import __version__
from ..errors import FormatError
from ..extras import imported
from ..files import atomic_write
from ..ndarray import NDArray
from ..symbol import Symbol, load_json

__all__ = ["load_safetensors", "save_safetensors"]

Params: TypeAlias = Mapping[str, NDArray]
PathLike: TypeAlias = "str | os.PathLike[str]"


def save_safetensors(path: PathLike, symbol: Symbol | None, arg_params: Params, aux_params: Params) -> None:
    """Write a checkpoint to a safetensors file, which appears whole or not at all.

    Parameters and auxiliary states are tensors under their names. The metadata has the names of the states
    (``aux_names``), the symbol's JSON (``symbol``), and who wrote it (``rebind_version``).

    Parameters
    ----------
    path
        The file.
    symbol
        The network; with None the file has parameters only.
    arg_params, aux_params
        Parameters and auxiliary states.

    Raises
    ------
    FormatError
        When a parameter and a state have one name.

    Examples
    --------
    >>> import tempfile, rebind as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_safetensors(f"{folder}/net.safetensors", 2 * mx.sym.var("w"), {"w": mx.nd.ones((2,))}, {})
    ...     symbol, arg_params, aux_params = load_safetensors(f"{folder}/net.safetensors")
    >>> symbol.list_arguments(), arg_params["w"].asnumpy().tolist()
    (['w'], [1.0, 1.0])
    """
    if twice := sorted(arg_params.keys() & aux_params.keys()):
        raise FormatError(f"{os.fspath(path)}: a parameter and a state cannot both be named {twice[0]!r}")
    metadata = {"format": "pt", "rebind_version": __version__, "aux_names": json.dumps(list(aux_params))}
    if symbol is not None:
        metadata["symbol"] = symbol.tojson()
    tensors = {name: _as_stored(value) for name, value in {**arg_params, **aux_params}.items()}
    content: bytes = imported("safetensors.torch", "safetensors", "save_safetensors").save(tensors, metadata)
    with atomic_write(path) as file:
        file.write(content)


def _as_stored(value: NDArray) -> torch.Tensor:
    """Return a copy of the numbers in rows, on the CPU: what is in another order would be stored in that."""
    dense = value if value.stype == "default" else value.tostype("default")
    return dense.tensor.detach().cpu().clone(memory_format=torch.contiguous_format)


def load_safetensors(path: PathLike) -> tuple[Symbol | None, dict[str, NDArray], dict[str, NDArray]]:
    """Read a checkpoint from a safetensors file.

    Files of others can be read, too: all their tensors are parameters, and there is no symbol.

    Returns
    -------
    tuple
        The symbol, or None when the file has none; parameters; auxiliary states.

    Raises
    ------
    FormatError
        When the file is no whole safetensors file, or its metadata are not those that `save_safetensors` writes.

    Examples
    --------
    >>> import tempfile, rebind as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_safetensors(f"{folder}/net.safetensors", None, {}, {"mean": mx.nd.zeros((2,))})
    ...     load_safetensors(f"{folder}/net.safetensors")
    (None, {}, {'mean':
    [0. 0.]
    <NDArray 2 @cpu(0)>})
    """
    who = os.fspath(path)
    package = imported("safetensors", "safetensors", "load_safetensors")
    try:
        with package.safe_open(who, "pt") as file:
            metadata = file.metadata() or {}
            arrays = {name: NDArray(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118  # no mapping
    except package.SafetensorError as error:
        raise FormatError(f"{who}: it must be a whole safetensors file; {error}") from error
    aux_names = _names(metadata.get("aux_names", "[]"), who)
    if missing := [name for name in aux_names if name not in arrays]:
        raise FormatError(f"{who}: aux_names in its metadata must be of tensors in it; {missing[0]!r} is not")
    symbol = load_json(metadata["symbol"]) if "symbol" in metadata else None
    aux_params = {name: arrays.pop(name) for name in aux_names}
    return symbol, arrays, aux_params


def _names(text: str, who: str) -> list[str]:
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FormatError(
            f"{who}: aux_names in its metadata must be a list of names in JSON; got {text[:80]!r}"
        )
    return list(dict.fromkeys(names))
