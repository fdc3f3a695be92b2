"""ONNX files: read, checked, with functions written out and shapes inferred."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

import onnx
from onnx import inliner, shape_inference

from ...checks import DICT, PATH, check_kind, or_none
from ...errors import FormatError, MissingFileError, MXNetError
from ...ndarray import NDArray
from .readings import find_reading

__all__ = ["load_model", "prepare_model"]

#: What MXNet 1.9.1's exporter writes its operators for.
_OPSET_OF_MXNET = 13


def load_model(file: str | os.PathLike[str], who: str = "import_model") -> onnx.ModelProto:
    """Read a file; numbers that lie in other files are left there. Errors begin with `who`."""
    check_kind(who, PATH, model_file=file)
    path = Path(file)
    if not path.is_file():
        raise MissingFileError(f"{who}: no file {str(path)!r}")
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception as error:  # protobuf has its own class for each kind of damage
        raise FormatError(f"{who}: {str(path)!r} is not an ONNX model: {error}") from error
    if not model.HasField("graph"):
        raise FormatError(f"{who}: {str(path)!r} is not an ONNX model: it has no graph")
    return model


def prepare_model(
    model: onnx.ModelProto, folder: Path | None, constants: Mapping[str, np.ndarray | NDArray] | None = None
) -> ir.Model:
    """Return a model as onnx-ir has it: functions written out, types and shapes inferred, files checked.

    Parameters
    ----------
    model
        The model.
    folder
        Where its external data may lie; None for a model that has none.
    constants
        Numbers of inputs that become constants.
    """
    check_kind("import_model", or_none(DICT), constants=constants)
    # Shapes are inferred without what onnx calls data propagation: that would make the numbers of any ConstantOfShape,
    # as many as a file of a hundred bytes asks for. What a constant or a shape gives is computed in `folding`.
    _check_opset(model)
    model = _with_opset_of_mxnet(model)
    model = _with_constants(model, constants or {})
    try:
        model = shape_inference.infer_shapes(_without_functions(model))
    except Exception as error:  # errors of onnx's C++ are RuntimeErrors and its own
        raise FormatError(f"import_model: the model is malformed: {error}") from error
    _check_types(model.graph)
    found = ir.from_proto(model)
    _check_external(found, folder)
    return found


def _check_types(graph: onnx.GraphProto) -> None:
    for kind, values in (("input", graph.input), ("output", graph.output)):
        for value in values:
            if _holds_maps(value.type):
                raise FormatError(
                    f"import_model: the {kind} {value.name!r} must be an array; got maps. skl2onnx writes arrays "
                    "with options={'zipmap': False}."
                )


def _holds_maps(found: onnx.TypeProto) -> bool:
    kind = found.WhichOneof("value")
    return kind == "map_type" or (kind == "sequence_type" and _holds_maps(found.sequence_type.elem_type))


def _check_opset(model: onnx.ModelProto) -> None:
    latest = onnx.defs.onnx_opset_version()
    for each in model.opset_import:
        if each.domain in ("", "ai.onnx") and each.version > latest:
            raise FormatError(
                f"import_model: the file's opset, {each.version}, must be at most {latest}, "
                "the latest that the installed onnx knows. Install a newer onnx."
            )


def _with_opset_of_mxnet(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a file of MXNet's exporter with the opset of its operators, 13; it writes that of the installed onnx."""
    stamped = [each for each in model.opset_import if each.version > _OPSET_OF_MXNET]
    if model.graph.name != "mxnet_converted_model" or not stamped:
        return model
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for each in changed.opset_import:
        each.version = min(each.version, _OPSET_OF_MXNET)
    return changed


def _with_constants(model: onnx.ModelProto, constants: Mapping[str, np.ndarray | NDArray]) -> onnx.ModelProto:
    if not constants:
        return model
    names = [each.name for each in model.graph.input]
    if unknown := sorted(constants.keys() - set(names)):
        raise MXNetError(f"import_model: constants must name inputs of the model, {names}; got {unknown}")
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for name, array in constants.items():
        numbers = array.asnumpy() if isinstance(array, NDArray) else array
        changed.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(numbers), name))
    inputs = [each for each in changed.graph.input if each.name not in constants]
    del changed.graph.input[:]
    changed.graph.input.extend(inputs)
    return changed


def _without_functions(model: onnx.ModelProto) -> onnx.ModelProto:
    """Write out functions: the model's own, and those that ONNX defines itself where no reading does better."""
    model = inliner.inline_local_functions(model, convert_version=True)
    while _make_local(model := shape_inference.infer_shapes(model)):
        model = inliner.inline_local_functions(model, convert_version=True)
    return model


def _make_local(model: onnx.ModelProto) -> bool:
    """Make each operator that ONNX defines by others, and that has no reading, a function of the model's own."""
    versions = {each.domain: each.version for each in model.opset_import}
    functions: list[onnx.FunctionProto] = []
    for node, types in _typed_nodes(model.graph, {}):
        domain = "" if node.domain == "ai.onnx" else node.domain
        if domain == "" and find_reading(node.op_type, versions.get("", 1)):
            continue
        function = _definition(node, domain, versions.get(domain, 1), types)
        if function is not None:
            function.domain = node.domain = "rebind.expanded"
            function.name = node.op_type = f"{node.op_type}_{len(functions)}"
            functions.append(function)
            for each in function.opset_import:
                if each.domain not in versions:
                    model.opset_import.append(each)
                    versions[each.domain] = each.version
    if functions and "rebind.expanded" not in versions:
        model.opset_import.append(onnx.helper.make_opsetid("rebind.expanded", 1))
    model.functions.extend(functions)
    return bool(functions)


def _definition(
    node: onnx.NodeProto, domain: str, version: int, types: Mapping[str, onnx.TypeProto]
) -> onnx.FunctionProto | None:
    """Return how ONNX defines an operator by others; None where it does not."""
    try:
        schema: Any = onnx.defs.get_schema(node.op_type, version, domain)
    except onnx.defs.SchemaError:
        return None
    given_names = {each.name for each in node.attribute}
    for (
        name,
        attribute,
    ) in schema.attributes.items():  # definitions refer to attributes that are left out, too
        if name not in given_names and attribute.default_value.name:
            node.attribute.append(attribute.default_value)
    # The latest definition that is not newer than the model's operators.
    if usable := [each for each in schema.function_opset_versions if each <= version]:
        text = schema.get_function_with_opset_version(max(usable))
    elif usable := [each for each in schema.context_dependent_function_opset_versions if each <= version]:
        given = [types.get(name, onnx.TypeProto()).SerializeToString() for name in node.input]
        text = schema.get_context_dependent_function_with_opset_version(
            max(usable), node.SerializeToString(), given
        )
    else:
        return None
    function = onnx.FunctionProto()
    function.ParseFromString(text)
    return function


def _typed_nodes(
    graph: onnx.GraphProto, outer: Mapping[str, onnx.TypeProto]
) -> Iterator[tuple[onnx.NodeProto, Mapping[str, onnx.TypeProto]]]:
    """Give all nodes, those of bodies too, each with the types of the values that it sees."""
    types = dict(outer)
    types |= {each.name: each.type for each in (*graph.input, *graph.output, *graph.value_info)}
    for tensor in graph.initializer:
        types[tensor.name] = onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
    for node in graph.node:
        yield node, types
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _typed_nodes(attribute.g, types)


def _check_external(model: ir.Model, folder: Path | None) -> None:
    """Have external numbers read from files inside the model's folder only, and as much as those hold."""
    for graph in (model.graph, *model.graph.subgraphs()):
        for value in graph.initializers.values():
            tensor = value.const_value
            if isinstance(tensor, ir.ExternalTensor):
                value.const_value = _checked(tensor, folder)


def _checked(tensor: ir.ExternalTensor, folder: Path | None) -> ir.ExternalTensor:
    who = f"import_model: the tensor {tensor.name!r}"
    if folder is None:
        raise FormatError(
            f"{who} is stored in another file, {str(tensor.location)!r}. "
            "Give the path of the model, not the model itself."
        )
    path = (folder / tensor.location).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise FormatError(
            f"{who} must be stored in a file in the folder of the model; got {str(tensor.location)!r}"
        )
    offset = tensor.offset or 0
    needed = offset + (tensor.length if tensor.length is not None else tensor.nbytes)
    if tensor.length not in (None, tensor.nbytes) or offset < 0 or needed > path.stat().st_size:
        raise FormatError(
            f"{who} of {tensor.nbytes} bytes must be within its file of {path.stat().st_size} bytes; "
            f"got offset {offset}, length {tensor.length}"
        )
    return ir.ExternalTensor(
        path.name,
        tensor.offset,
        tensor.length,
        tensor.dtype,
        shape=tensor.shape,
        name=tensor.name,
        base_dir=path.parent,
    )
