"""``mx.onnx.import_model`` and its kin."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...device import Device, as_devices
from ...gluon import SymbolBlock
from ...ndarray import NDArray
from ...symbol import Symbol, var
from .files import load_model, prepare_model
from .graph_reader import GraphReader

if TYPE_CHECKING:
    import onnx

__all__ = ["import_model", "import_to_gluon", "read_model"]


def import_model(
    model_file: str | os.PathLike[str], *, constants: Mapping[str, np.ndarray | NDArray] | None = None
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Read an ONNX file as a symbol with parameters, which can be trained and saved.

    Operator sets from 1 to the latest that the installed onnx knows are read. Functions are written out, constants
    computed, and arithmetic of shapes becomes parameters of operators, in which free sizes stay free. Numbers that
    ONNX stores as values without axes are arrays of one element, and those of a type that MXNet lacks are in arrays of
    a wider one, within the range of their own.

    Parameters
    ----------
    model_file
        The file. Its external data must lie in its folder.
    constants
        Numbers of inputs that become constants: where a file takes a shape, axes or a number of repeats as an input,
        since MXNet's operators need those before the network runs.

    Returns
    -------
    sym
        The network.
    arg_params, aux_params
        Parameters and auxiliary states by name.

    Raises
    ------
    MXNetError
        If MXNet has no operator for a node; the message names it.
    FormatError
        If the file is damaged.

    Examples
    --------
    >>> import rebind as mx, tempfile, onnx
    >>> text = '<ir_version: 8, opset_import: ["": 17]> g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     onnx.save(onnx.parser.parse_model(text), f"{folder}/relu.onnx")
    ...     sym, arg_params, aux_params = import_model(f"{folder}/relu.onnx")
    >>> sym.list_arguments(), sym.list_outputs(), arg_params
    (['x'], ['y_output'], {})
    """
    model = load_model(model_file)
    return read_model(model, Path(model_file).parent, constants=constants)[:3]


def read_model(
    model: onnx.ModelProto,
    folder: Path | None = None,
    *,
    constants: Mapping[str, np.ndarray | NDArray] | None = None,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray], list[str]]:
    """Read a model as `import_model` does, and return the names of its inputs as well.

    `folder` is where its external data may lie.
    """
    reader = GraphReader(prepare_model(model, folder, constants))
    symbol = reader.read()
    states = set(symbol.list_auxiliary_states())
    used = {*symbol.list_arguments(), *states}
    params = {name: value for name, value in reader.params.items() if name in used}
    return (
        symbol,
        {name: value for name, value in params.items() if name not in states},
        {name: value for name, value in params.items() if name in states},
        reader.inputs,
    )


def import_to_gluon(model_file: str | os.PathLike[str], ctx: Device) -> SymbolBlock:
    """Read an ONNX file as a block, with its parameters on a device.

    Parameters
    ----------
    model_file
        The file.
    ctx
        The device of the parameters.

    Examples
    --------
    >>> import rebind as mx, tempfile, onnx
    >>> text = '<ir_version: 8, opset_import: ["": 17]> g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     onnx.save(onnx.parser.parse_model(text), f"{folder}/relu.onnx")
    ...     block = import_to_gluon(f"{folder}/relu.onnx", mx.cpu())
    >>> block(mx.nd.array([[-1, 2]])).asnumpy().tolist()
    [[0.0, 2.0]]
    """
    devices = as_devices(ctx, "import_to_gluon: ctx")
    model = load_model(model_file, "import_to_gluon")
    symbol, arg_params, aux_params, inputs = read_model(model, Path(model_file).parent)
    block = SymbolBlock(symbol, [var(name) for name in inputs])
    values = {**arg_params, **aux_params}
    for name, parameter in block.collect_params().items():
        parameter.shape, parameter.dtype = values[name].shape, values[name].dtype
        parameter.initialize(ctx=devices)
        parameter.set_data(values[name])
    return block
