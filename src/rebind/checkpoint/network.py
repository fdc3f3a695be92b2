"""Checkpoints: a symbol and parameters in files.

``prefix-symbol.json`` holds the network, ``prefix-0010.params`` the parameters after epoch 10, under the keys
``arg:name`` and ``aux:name``. Each file appears whole or not at all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from .. import symbol as symbols
from ..checks import DICT, PATH, Kind, check_kind, or_none
from ..errors import FormatError, MissingFileError, ParameterError, near_names, shown
from ..logs import log
from ..ndarray import NDArray, load, save
from ..symbol import Symbol

__all__ = [
    "load_checkpoint",
    "load_params",
    "params_path",
    "read_params",
    "save_checkpoint",
    "states_path",
    "symbol_path",
    "write_params",
]

Params = dict[str, NDArray]

_KINDS = ("arg", "aux")
_SYMBOL = Kind("a Symbol", lambda value: hasattr(value, "tojson"))


def save_checkpoint(
    prefix: str,
    epoch: int,
    symbol: Symbol | None,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    remove_amp_cast: bool = True,
) -> None:
    """Write a network and its parameters.

    Parameters
    ----------
    prefix
        Where the files go, and how their names begin.
    epoch
        The number of finished epochs; it is in the file's name.
    symbol
        The network; with None only the parameters are written.
    arg_params, aux_params
        Parameters and auxiliary states.
    remove_amp_cast
        Whether to leave out the casts that mixed precision put in.

    Examples
    --------
    >>> import os, tempfile, rebind as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_checkpoint(f"{folder}/net", 3, 2 * mx.sym.var("w"), {"w": mx.nd.ones((2,))}, {})
    ...     sorted(os.listdir(folder))
    ['net-0003.params', 'net-symbol.json']
    """
    check_kind("save_checkpoint", or_none(_SYMBOL), symbol=symbol)
    check_kind("save_checkpoint", DICT, arg_params=arg_params, aux_params=aux_params)
    path = params_path(prefix, epoch)  # before anything is written
    if symbol is not None:
        symbol.save(symbol_path(prefix), remove_amp_cast)
    write_params(path, arg_params, aux_params)
    log().info('Saved checkpoint to "%s"', path)


def load_params(prefix: str, epoch: int) -> tuple[Params, Params]:
    """Read the parameters of a checkpoint.

    Returns
    -------
    tuple
        Parameters and auxiliary states, each a dict from name to array.

    Raises
    ------
    FormatError
        When the file is cut short, or holds arrays under other names.

    Examples
    --------
    >>> import tempfile, rebind as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_checkpoint(f"{folder}/net", 3, None, {"w": mx.nd.ones((2,))}, {})
    ...     arg_params, aux_params = load_params(f"{folder}/net", 3)
    >>> list(arg_params), aux_params
    (['w'], {})
    """
    check_kind("load_checkpoint", PATH, prefix=prefix)
    path = params_path(prefix, epoch)
    if not os.path.exists(path):
        raise _no_file(path, os.fsdecode(prefix))
    return read_params(path)


def write_params(path: str, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]) -> None:
    """Write parameters and auxiliary states to one file, which appears whole or not at all.

    >>> import tempfile, rebind as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_params(f"{folder}/net.params", {"w": mx.nd.ones((2,))}, {"mean": mx.nd.zeros((2,))})
    ...     print(*mx.nd.load(f"{folder}/net.params"))
    arg:w aux:mean
    """
    save(
        path,
        {
            f"{kind}:{name}": value
            for kind, params in zip(_KINDS, (arg_params, aux_params), strict=True)
            for name, value in params.items()
        },
    )


def read_params(path: str) -> tuple[Params, Params]:
    """Return the parameters and auxiliary states in a file.

    Raises
    ------
    FormatError
        When the file is cut short, or holds arrays under other names.

    Examples
    --------
    >>> import tempfile, rebind as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mx.nd.save(f"{folder}/net.params", {"arg:w": mx.nd.ones((2,))})
    ...     read_params(f"{folder}/net.params")[0]["w"].asnumpy().tolist()
    [1.0, 1.0]
    """
    loaded = load(path)
    if not loaded:  # as in MXNet, no error: a network may have no parameters
        log().warning("Params file '%s' is empty", path)
        return {}, {}
    if not isinstance(loaded, dict):
        raise FormatError(f"{path}: arrays of a checkpoint must have names; got a list of {len(loaded)}")
    params: dict[str, Params] = {kind: {} for kind in _KINDS}
    for key, value in loaded.items():
        kind, colon, name = key.partition(":")  # at the first colon: a name may have more
        if not colon or kind not in params:
            raise FormatError(f"{path}: names must begin with 'arg:' or 'aux:'; got {key!r}")
        params[kind][name] = value
    return params["arg"], params["aux"]


def load_checkpoint(prefix: str, epoch: int) -> tuple[Symbol, Params, Params]:
    """Read a checkpoint.

    Returns
    -------
    tuple
        The symbol, parameters and auxiliary states.

    Examples
    --------
    >>> import tempfile, rebind as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_checkpoint(f"{folder}/net", 3, 2 * mx.sym.var("w"), {"w": mx.nd.ones((2,))}, {})
    ...     symbol, arg_params, aux_params = load_checkpoint(f"{folder}/net", 3)
    >>> symbol.list_arguments(), list(arg_params), aux_params
    (['w'], ['w'], {})
    """
    check_kind("load_checkpoint", PATH, prefix=prefix)
    path = symbol_path(prefix)  # one network for all epochs
    if not os.path.exists(path):
        raise _no_file(path, os.fsdecode(prefix))
    return symbols.load(path), *load_params(prefix, epoch)


def _no_file(path: str, prefix: str) -> MissingFileError:
    """Return the error for a missing file of a checkpoint: it lists the epochs, or near prefixes, that there are."""
    whole = re.fullmatch(r"(.+?)(-\d{4,}\.params|-symbol\.json)", prefix)
    if whole is not None:
        return MissingFileError(
            f"load_checkpoint: the file {path!r} must exist. prefix is what the names begin with, without the epoch: "
            f"for {prefix!r} it is {whole[1]!r}."
        )
    # Four digits at least: late epochs have more.
    pattern = re.compile(re.escape(os.path.basename(prefix)) + r"-(\d{4,})\.params")
    folder = os.path.dirname(prefix) or "."
    if not os.path.isdir(folder):
        return MissingFileError(f"load_checkpoint: the folder {folder!r} of {path!r} must exist")
    names = os.listdir(folder)
    epochs = sorted(int(match[1]) for name in names if (match := pattern.fullmatch(name)))
    if epochs:
        known = f"There are files of the epochs {', '.join(map(str, epochs))} ({prefix}-*.params)."
    else:
        # A network without parameters is enough to know a prefix by.
        prefixes = {name.removesuffix("-symbol.json") for name in names if name.endswith("-symbol.json")}
        near = near_names(os.path.basename(prefix), prefixes)
        known = f"There are none of the prefix {prefix!r}{near}"
    return MissingFileError(f"load_checkpoint: the file {path!r} must exist. {known}")


def symbol_path(prefix: str) -> str:
    """Return the name of a checkpoint's file with the network.

    >>> symbol_path("digits")
    'digits-symbol.json'
    """
    return f"{prefix}-symbol.json"


def params_path(prefix: str, epoch: int) -> str:
    """Return the name of a checkpoint's file with the parameters.

    >>> params_path("digits", 10)
    'digits-0010.params'
    """
    return f"{prefix}-{_in_name(epoch)}.params"


def states_path(prefix: str, epoch: int) -> str:
    """Return the name of a checkpoint's file with the optimizer's states.

    >>> states_path("digits", 10)
    'digits-0010.states'
    """
    return f"{prefix}-{_in_name(epoch)}.states"


def _in_name(epoch: Any) -> str:
    """Return a number of epochs as the names of files have it; one that is whole, of any type."""
    if isinstance(epoch, str) or not hasattr(epoch, "__float__") or int(epoch) != epoch:
        raise ParameterError(f"checkpoint: epoch must be an int; got {shown(epoch)}")
    return f"{int(epoch):04d}"
