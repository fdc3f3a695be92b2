"""Run an exported network in onnxruntime, and in onnx's own reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import onnxruntime as ort
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

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
    return ReferenceEvaluator(proto, new_ops=[GatherElements, LRN, MaxRoiPool]).run(
        None, _used(proto, inputs)
    )


class LRN(OpRun):
    """As ONNX's document says: onnx 1.23's own sums for as many channels as there are images in the batch."""

    op_domain = ""

    def _run(self, x: np.ndarray, alpha: float, beta: float, bias: float, size: int) -> tuple[np.ndarray]:
        before = (size - 1) // 2
        padded = np.pad(x * x, [(0, 0), (before, size - 1 - before), *[(0, 0)] * (x.ndim - 2)])
        sums = sum(padded[:, i : i + x.shape[1]] for i in range(size))
        return ((x / (bias + alpha / size * sums) ** beta).astype(x.dtype),)


class GatherElements(OpRun):
    """NumPy's; onnx 1.23's reference takes axes of 63 elements at most."""

    op_domain = ""

    def _run(self, data: np.ndarray, indices: np.ndarray, axis: int = 0) -> tuple[np.ndarray]:
        return (np.take_along_axis(data, indices, axis),)


class MaxRoiPool(OpRun):
    """As Fast R-CNN computes it; onnx 1.23's reference has none."""

    op_domain = ""

    def _run(
        self, x: np.ndarray, rois: np.ndarray, pooled_shape: Sequence[int], spatial_scale: float
    ) -> tuple[np.ndarray]:
        out = np.zeros((len(rois), x.shape[1], *pooled_shape), x.dtype)
        scaled = rois[:, 1:] * np.float32(spatial_scale)
        corners = np.trunc(scaled + np.copysign(0.5, scaled)).astype(int)  # halves away from 0
        for number, (left, top, right, bottom) in enumerate(corners):
            image = x[int(rois[number, 0])]
            rows, columns = (
                self._bins(first, last, bins, size)
                for first, last, bins, size in zip(
                    (top, left), (bottom, right), pooled_shape, image.shape[1:], strict=True
                )
            )
            for i, down in enumerate(rows):
                for j, across in enumerate(columns):
                    if (cut := image[:, down, across]).size:
                        out[number, :, i, j] = cut.max((1, 2))
        return (out,)

    @staticmethod
    def _bins(first: int, last: int, bins: int, size: int) -> list[slice]:
        width = np.float32(max(last - first + 1, 1)) / np.float32(bins)
        edges = np.arange(bins + 1, dtype="float32") * width  # float32 decides which bin a position is in
        begins, ends = np.floor(edges[:-1]) + first, np.ceil(edges[1:]) + first
        return [slice(int(b), int(e)) for b, e in zip(begins.clip(0, size), ends.clip(0, size), strict=True)]


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
