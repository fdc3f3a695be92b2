"""What an ONNX file takes and gives, and which operators go out to ONNX."""

from __future__ import annotations

import os

import onnx_ir as ir

from .export.translations import TRANSLATIONS
from .reading.files import load_model

__all__ = ["get_model_metadata", "get_operator_support"]


def get_model_metadata(model_file: str | os.PathLike) -> dict[str, list[tuple]]:
    """Return the inputs and the outputs of an ONNX file.

    Parameters
    ----------
    model_file
        The file.

    Returns
    -------
    dict
        Under ``input_tensor_data`` for each input its name, its shape, and ONNX's number of its type (1 is float32);
        under ``output_tensor_data`` for each output its name and its shape. A free size is its name, or None.

    Examples
    --------
    >>> import tempfile, rebind as mx
    >>> from rebind.onnx import export_model
    >>> net = mx.sym.Activation(mx.sym.var("data"), act_type="relu", name="relu")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     get_model_metadata(export_model(net, {}, [(2, 3)], onnx_file_path=f"{folder}/relu.onnx"))
    {'input_tensor_data': [('data', (2, 3), 1)], 'output_tensor_data': [('relu', (2, 3))]}
    """
    graph = ir.from_proto(load_model(model_file, "get_model_metadata")).graph
    # Files of opsets before 9 have parameters among the inputs.
    inputs = [each for each in graph.inputs if each.name not in graph.initializers]
    return {
        "input_tensor_data": [
            (each.name, _shape(each), None if each.dtype is None else each.dtype.value) for each in inputs
        ],
        "output_tensor_data": [(each.name, _shape(each)) for each in graph.outputs],
    }


def _shape(value: ir.Value) -> tuple[int | str | None, ...]:
    if value.shape is None:
        return ()
    return tuple(size if isinstance(size, int) else size.value for size in value.shape)


def get_operator_support(opset_version: int | None = None) -> list[str]:
    """Return the names of the operators that `export_model` writes.

    Parameters
    ----------
    opset_version
        Not used: operators that an older opset lacks are written by those that it has.

    Examples
    --------
    >>> "Convolution" in get_operator_support()
    True
    """
    return sorted(TRANSLATIONS)
