"""Run an exported network in onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import onnxruntime as ort

import onnx
from rebind.onnx import to_onnx

Arrays = Mapping[str, np.ndarray]


def run_in_onnxruntime(
    symbol: Any, params: Mapping[str, Any], inputs: Arrays, *, free: bool = True, opset: int = 17
) -> Sequence[np.ndarray]:
    """Export a network, have onnx check it, and return its outputs; with `free` the first axes have free sizes."""
    shapes = {
        name: ((0, *value.shape[1:]) if free and value.ndim else value.shape)
        for name, value in inputs.items()
    }
    types = {name: value.dtype for name, value in inputs.items()}
    session = session_of(to_onnx(symbol, params, shapes, types, opset=opset))
    used = {each.name for each in session.get_inputs()}
    return session.run(None, {name: value for name, value in inputs.items() if name in used})


def session_of(model: ir.Model) -> ort.InferenceSession:
    """Have onnx check a model, and return it ready to run."""
    proto = ir.to_proto(model)
    onnx.checker.check_model(proto, full_check=True)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
