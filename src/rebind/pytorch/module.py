"""Networks as modules of PyTorch, and as Python files."""

from __future__ import annotations

import hashlib
import json
import linecache
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from .._version import __version__
from ..checks import DICT, an, check_folder, check_kind, or_none
from ..dtypes import DTypeLike
from ..errors import NameLookupError, near_names
from ..extras import imported
from ..files import check_free
from ..ndarray import NDArray
from ..shapes import Shape, as_shape
from ..symbol import Symbol
from .network_writer import WrittenNetwork, write_network

__all__ = ["to_torch", "write_python"]

#: Makes an object of a class of a written network, without `rebind`: pickles hold the text, and this to run it.
_REBUILD = (
    "(lambda sys, types: (lambda module: (module.__dict__.get(name) or exec(compile(text, '<' + key + '>', "
    "'exec', 0, True), module.__dict__.update(text=text, key=key) or module.__dict__), "
    "object.__new__(module.__dict__[name]))[1])"
    "(sys.modules.setdefault(key, types.ModuleType(key))))(__import__('sys'), __import__('types'))"
)
#: What the text of a module has besides that of a Python file: classes that no file has are pickled with their text.
_PICKLING = f"""

def _reduce(self):
    values = {{"name": type(self).__name__, "text": text, "key": key}}
    return eval, ({_REBUILD!r}, values), self.__dict__


for _class in [value for value in globals().values() if isinstance(value, type)]:
    if _class.__module__ == __name__:
        _class.__reduce__ = _reduce
"""


def to_torch(
    symbol: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray] | None = None,
    *,
    shapes: Mapping[str, Shape] | None = None,
    types: Mapping[str, DTypeLike] | None = None,
) -> nn.Module:
    """Return a network as a `torch.nn.Module` of PyTorch's own layers, in training mode as MXNet's.

    It has nothing of rebind in it: it can be trained, compiled, exported, copied and pickled as any other, and read
    where there is no rebind. A pickle of it holds the text of its classes, and reading the pickle runs that text.
    ``fc1_weight`` is its ``fc1.weight``, ``bn0_gamma`` its ``bn0.weight``, ``bn0_moving_mean`` its
    ``bn0.running_mean``; parameters that several layers share have their own names. Its `mxnet_names` maps its names to
    MXNet's, its `mxnet_inputs` the arguments of ``forward`` to MXNet's inputs. Losses give what they give in inference,
    and labels are no inputs.

    Parameters
    ----------
    symbol
        The network. What has no parameter is an input, in the symbol's order.
    arg_params, aux_params
        As in a checkpoint.
    shapes
        Of the inputs, with 0 where a size is free. Most networks need none; those with operators that PyTorch has not
        do.
    types
        Of the inputs, where they are not float32.

    Raises
    ------
    MXNetError
        For an operator that runs Python of the user's, or on the host; it names the node.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc1")
    >>> module = to_torch(net, {"fc1_weight": mx.nd.ones((2, 3)), "fc1_bias": mx.nd.zeros(2)})
    >>> module
    Network(
      (fc1): Linear(in_features=3, out_features=2, bias=True)
    )
    >>> module.mxnet_names["fc1.weight"]
    'fc1_weight'
    """
    check_kind("to_torch", an(Symbol), symbol=symbol)
    check_kind("to_torch", DICT, arg_params=arg_params)
    check_kind("to_torch", or_none(DICT), aux_params=aux_params)
    shapes = _shapes("to_torch", symbol, shapes)
    written = write_network(symbol, {**arg_params, **(aux_params or {})}, shapes, types)
    module: Any = _run(written.source + _PICKLING)
    module.load_state_dict(written.state, strict=True)
    module.mxnet_names, module.mxnet_inputs = written.names, written.inputs
    network: nn.Module = module
    return network


def _shapes(who: str, symbol: Symbol, shapes: Mapping[str, Shape] | None) -> dict[str, Shape] | None:
    """Return the shapes of inputs after a check of them and their names."""
    check_kind(who, or_none(DICT), shapes=shapes)
    names = symbol.list_inputs()
    for name in shapes or {}:
        if name not in names:
            raise NameLookupError(f"{who}: shapes must name inputs; got {name!r}{near_names(name, names)}")
    return (
        None
        if shapes is None
        else {name: as_shape(shape, f"{who}: shapes[{name!r}]") for name, shape in shapes.items()}
    )


def _run(text: str) -> nn.Module:
    """Return the network of a text."""
    key = f"network_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    # For tracebacks, and for what reads the source of functions.
    linecache.cache[f"<{key}>"] = (len(text), None, text.splitlines(keepends=True), f"<{key}>")
    scope = {"name": "Network", "text": text, "key": key}
    network: nn.Module = type(eval(_REBUILD, scope))()
    return network


def write_python(
    symbol: Symbol,
    params: Mapping[str, NDArray],
    path: str | os.PathLike[str],
    *,
    shapes: Mapping[str, Shape] | None = None,
    types: Mapping[str, DTypeLike] | None = None,
    overwrite: bool = False,
) -> WrittenNetwork:
    """Write a network as a Python file that needs PyTorch alone, and its parameters beside it as safetensors.

    The file has a class ``Network``, whose ``load_state_dict`` takes what ``net.safetensors`` holds. Parts that repeat,
    which are found by what their nodes' names have in common, are copies of one class: ``stage1_unit2_conv1_weight`` is
    ``stage1.1.conv1.weight`` then. Recurrent cells that were unrolled are layers: ``lstm_l0_i2h_weight`` is
    ``lstm_l0.weight_ih_l0``. The metadata of the safetensors file has the names: ``mxnet_names``.

    Parameters
    ----------
    symbol
        The network.
    params
        Parameters and auxiliary states by name.
    path
        ``net.py``.
    shapes, types
        See `to_torch`.
    overwrite
        Replace files that are there already; otherwise they are an error.

    Returns
    -------
    WrittenNetwork
        The text, the state, and the names.
    """
    safetensors = imported("safetensors.torch", "safetensors", "write_python")
    check_kind("write_python", an(Symbol), symbol=symbol)
    check_kind("write_python", DICT, params=params)
    shapes = _shapes("write_python", symbol, shapes)
    path = Path(path)
    check_folder(str(path), "write_python")
    tensors = path.with_suffix(".safetensors")
    if not overwrite:
        check_free("write_python", [path, tensors])
    written = write_network(symbol, params, shapes, types, units=True)
    path.write_text(written.source, encoding="utf-8")
    state = {name: value.contiguous().clone() for name, value in written.state.items()}
    names = {"mxnet_names": json.dumps(written.names), "mxnet_inputs": json.dumps(written.inputs)}
    metadata = {"format": "pt", "rebind": __version__, **names}
    safetensors.save_file(state, tensors, metadata)
    return written
