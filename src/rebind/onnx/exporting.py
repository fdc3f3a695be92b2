"""`export_model` as MXNet has it: a network and its parameters, as objects or files, to an ONNX file."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence, Sized
from typing import Any, TypeAlias

import numpy as np
import onnx_ir as ir

from ..checks import INT, LIST, PATH, Kind, check_kind, check_writable, or_none
from ..dtypes import DTypeLike, torch_dtype
from ..errors import ArgumentError, MXNetError, ShapeError, shown
from ..graph import Application, Deployment, Entry, Graph, deployed
from ..ndarray import NDArray
from ..ndarray import load as load_arrays
from ..symbol import Symbol
from ..symbol import load as load_symbol
from .export import to_onnx
from .export.graph_writer import DEFAULT_OPSET

__all__ = ["export_model"]

_Params: TypeAlias = "Mapping[str, NDArray] | Sequence[Mapping[str, NDArray]]"
_Shape: TypeAlias = "Sequence[int | str | None]"

_NETWORK = Kind("a Symbol or a path", lambda value: isinstance(value, Symbol) or PATH.allows(value))
_DICTS = Kind(
    "a dict, a list of dicts or a path",
    lambda value: (
        isinstance(value, Mapping)
        or PATH.allows(value)
        or (isinstance(value, (list, tuple)) and all(isinstance(each, Mapping) for each in value))
    ),
)

#: A protobuf file holds less than 2 GiB; the rest is for the graph itself.
_LARGEST_FILE = 2**31 - 2**24


def export_model(
    sym: Symbol | str | os.PathLike,
    params: _Params | str | os.PathLike,
    in_shapes: Sequence[_Shape] | None = None,
    in_types: DTypeLike | Sequence[DTypeLike] = np.float32,
    onnx_file_path: str = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: Sequence[_Shape] | None = None,
    run_shape_inference: bool = False,
    input_type: DTypeLike | Sequence[DTypeLike] | None = None,
    input_shape: Sequence[_Shape] | None = None,
    large_model: bool = False,
    *,
    opset: int = DEFAULT_OPSET,
) -> str:
    """Write a network and its parameters to an ONNX file, and return the file's path.

    Losses become what they give in inference, and labels are left out. Outputs have MXNet's names: that of their node
    (``fc1``), with a number where it has several (``split0``, ``split1``).

    Parameters
    ----------
    sym
        The network, or its ``-symbol.json`` file.
    params
        Parameters and auxiliary states: one dict, whose names may begin with ``arg:`` and ``aux:``, a list of dicts,
        or a ``.params`` file.
    in_shapes, in_types
        The shape and the type of each input in the order of `Symbol.list_inputs`, without parameters and labels; one
        type is that of all.
    onnx_file_path
        The file to write.
    verbose
        Print what was left out of the network.
    dynamic
        Leave sizes of inputs free: all of them, or those that `dynamic_input_shapes` says.
    dynamic_input_shapes
        Shapes with None, or a name, where a size is free.
    run_shape_inference
        For MXNet's programs; shapes are always inferred.
    input_type, input_shape
        Older names of `in_types` and `in_shapes`.
    large_model
        Write parameters to a file beside the model, with ``.data`` at its end. Above 2 GB that is done anyway.
    opset
        The version of ONNX's operators.

    Raises
    ------
    MXNetError
        When the number of shapes or types is not that of the inputs, or a node cannot be exported.

    Examples
    --------
    >>> import tempfile, rebind as mx
    >>> net = mx.sym.Activation(mx.sym.var("data"), act_type="relu", name="relu")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = export_model(net, {}, [(2, 3)], onnx_file_path=f"{folder}/relu.onnx")
    ...     ir.load(path).graph.outputs[0].name
    'relu'
    """
    check_kind("export_model", _NETWORK, sym=sym)
    check_kind("export_model", _DICTS, params=params)
    check_kind("export_model", PATH, onnx_file_path=onnx_file_path)
    check_writable(onnx_file_path, "export_model")
    symbol = sym if isinstance(sym, Symbol) else load_symbol(sym)
    arrays = _parameters(params)
    deployment = _deployed_with_features(symbol.graph, arrays)
    inputs = [node.name for node in deployment.graph.variables if node.name not in arrays]
    given_shapes = {
        "in_shapes": in_shapes,
        "dynamic_input_shapes": dynamic_input_shapes,
        "input_shape": input_shape,
    }
    check_kind("export_model", or_none(LIST), **given_shapes)
    fixed = in_shapes if in_shapes is not None else input_shape
    shapes = (dynamic_input_shapes or _free(fixed)) if dynamic else fixed
    given = in_types if input_type is None else input_type
    types: list[Any] = list(given) if isinstance(given, list | tuple) else [given] * len(inputs)
    _check_count("shapes", shapes or (), inputs)
    _check_count("types", types, inputs)
    for name, dtype in zip(inputs, types, strict=True):
        torch_dtype(dtype, f"export_model: the type of {name!r}")
    sizes = {name: _sizes(name, shape) for name, shape in zip(inputs, shapes or (), strict=True)}
    model = to_onnx(
        Symbol(deployment.graph), arrays, sizes, dict(zip(inputs, types, strict=True)), opset=opset
    )
    _name_outputs(model, deployment.graph)
    if verbose:
        print(*deployment.left_out, sep="\n")
    _save(model, onnx_file_path, large_model)
    return onnx_file_path


def _deployed_with_features(graph: Graph, params: Mapping[str, NDArray]) -> Deployment:
    """Return what is used after training, with outputs of `BlockGrad` too: MXNet's exporter writes those.

    What such an output makes from labels stays out.
    """
    deployment = deployed(graph)
    predicted = set(deployment.graph.output_names)
    known = {node.name for node in deployment.graph.variables} | params.keys()

    def is_feature(entry: Entry) -> bool:
        if getattr(entry.node.operator, "name", "") != "BlockGrad":
            return False
        return known >= {node.name for node in deployed(graph, outputs=[entry.name]).graph.variables}

    wanted = [entry.name for entry in graph.outputs if entry.name in predicted or is_feature(entry)]
    return deployment if predicted >= set(wanted) else deployed(graph, outputs=wanted)


def _parameters(params: _Params | str | os.PathLike) -> dict[str, NDArray]:
    """Return all arrays by their names in the network."""
    if isinstance(params, str | os.PathLike):
        loaded = load_arrays(params)
        if not isinstance(loaded, dict):
            raise MXNetError(
                f"export_model: params must hold arrays with names; got {os.fspath(params)!r}, a list without names"
            )
        params = loaded
    dicts = [params] if isinstance(params, Mapping) else params
    found: dict[str, NDArray] = {}
    for name, value in itertools.chain.from_iterable(arrays.items() for arrays in dicts):
        if not isinstance(value, NDArray):
            raise ArgumentError(f"export_model: {name!r} in params must be an NDArray; got {shown(value)}")
        found[name.removeprefix("arg:").removeprefix("aux:")] = value
    return found


def _free(shapes: Sequence[_Shape] | None) -> list[_Shape] | None:
    if shapes is None:
        return None
    return [(None,) * len(shape) if isinstance(shape, Sized) else shape for shape in shapes]


def _sizes(name: str, shape: _Shape) -> tuple[int | str, ...]:
    """Return a shape with 0 for None; an error for what is no shape."""
    sizes = tuple(shape) if LIST.allows(shape) else None
    if sizes is None or not all(size is None or isinstance(size, str) or INT.allows(size) for size in sizes):
        raise ShapeError(
            f"export_model: the shape of {name!r} must be a list of sizes, each an int, a name or None; "
            f"got {shown(shape)}"
        )
    return tuple(0 if size is None else size for size in sizes)


def _check_count(what: str, values: Sequence[object], inputs: Sequence[str]) -> None:
    if len(values) != len(inputs):
        how = ""
        if values and all(isinstance(each, int) for each in values):
            how = f". For one input give a list of one shape: [{tuple(values)}]"
        raise MXNetError(
            f"export_model: {what} must have one entry for each input ({', '.join(inputs)}); got {len(values)}{how}"
        )


def _name_outputs(model: ir.Model, graph: Graph) -> None:
    """Name the outputs as MXNet's exporter does; inputs, and names that another value has, stay as they are."""
    taken = {value.name for value in [*model.graph.inputs, *model.graph.initializers.values()]}
    taken |= {value.name for node in model.graph.all_nodes() for value in node.outputs}
    for entry, value in zip(graph.outputs, model.graph.outputs, strict=True):
        if isinstance(entry.node, Application):
            several = len(entry.node.outputs) > 1
            name = f"{entry.node.name}{entry.index}" if several else entry.node.name
            if name not in taken:
                value.name = name
                taken.add(name)


def _save(model: ir.Model, path: str, large: bool) -> None:
    size = sum(
        value.const_value.nbytes
        for value in model.graph.initializers.values()
        if value.const_value is not None
    )
    if large or size > _LARGEST_FILE:
        ir.save(model, path, external_data=f"{os.path.basename(path)}.data")
    else:
        ir.save(model, path)
