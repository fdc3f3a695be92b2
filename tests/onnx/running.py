"""Run an exported network in onnxruntime, and in onnx's own reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import onnxruntime as ort
from onnx.reference import ReferenceEvaluator

import onnx
from rebind.onnx import to_onnx

Arrays = Mapping[str, np.ndarray]


def exported(
    symbol: Any, params: Mapping[str, Any], inputs: Arrays, *, free: bool = True, opset: int = 17
) -> onnx.ModelProto:
    """Export a network, and have onnx check it; with `free` the first axes have free sizes."""
    shapes = {
        name: ((0, *value.shape[1:]) if free and value.ndim else value.shape)
        for name, value in inputs.items()
    }
    types = {name: value.dtype for name, value in inputs.items()}
    return _checked(to_onnx(symbol, params, shapes, types, opset=opset))


def in_onnxruntime(proto: onnx.ModelProto, inputs: Arrays) -> Sequence[np.ndarray]:
    """Return the outputs that onnxruntime computes; inputs that the model does not have are left out."""
    return _session(proto).run(None, _used(proto, inputs))


def in_reference(proto: onnx.ModelProto, inputs: Arrays) -> Sequence[np.ndarray]:
    """Return the outputs that onnx's own evaluator computes."""
    return ReferenceEvaluator(proto).run(None, _used(proto, inputs))


def run_in_onnxruntime(
    symbol: Any, params: Mapping[str, Any], inputs: Arrays, *, free: bool = True, opset: int = 17
) -> Sequence[np.ndarray]:
    """Export a network, have onnx check it, and return its outputs; with `free` the first axes have free sizes."""
    return in_onnxruntime(exported(symbol, params, inputs, free=free, opset=opset), inputs)


def session_of(model: ir.Model) -> ort.InferenceSession:
    """Have onnx check a model, and return it ready to run."""
    return _session(_checked(model))


def _checked(model: ir.Model) -> onnx.ModelProto:
    proto = ir.to_proto(model)
    onnx.checker.check_model(proto, full_check=True)
    return proto


def _session(proto: onnx.ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _used(proto: onnx.ModelProto, inputs: Arrays) -> dict[str, np.ndarray]:
    names = {each.name for each in proto.graph.input}
    return {name: value for name, value in inputs.items() if name in names}
