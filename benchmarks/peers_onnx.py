"""Inference with onnxruntime and OpenVINO, from the ONNX file that `export_onnx` has written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .drivers import Setting
from .networks import make_batch


def onnxruntime(setting: Setting) -> Callable[[], OnnxRuntimeDriver]:
    """An `InferenceSession` on the processor, with its default optimizations."""
    import onnxruntime as ort

    return lambda: OnnxRuntimeDriver(ort, setting)


def openvino(setting: Setting) -> Callable[[], OpenVINODriver]:
    """A model compiled for the processor, in float32 (by itself it computes in bfloat16 where the processor can)."""
    import openvino as ov

    return lambda: OpenVINODriver(ov, setting)


class OnnxRuntimeDriver:
    """A row in onnxruntime."""

    def __init__(self, ort: Any, setting: Setting) -> None:
        options = ort.SessionOptions()
        if setting.threads is not None:
            options.intra_op_num_threads = setting.threads
        self._session = ort.InferenceSession(setting.file, options, providers=["CPUExecutionProvider"])
        self._data = make_batch(setting.row)[0]
        self._scores: np.ndarray | None = None

    def run(self, steps: int) -> None:
        for _ in range(steps):
            (self._scores,) = self._session.run(None, {"data": self._data})

    def results(self) -> dict[str, np.ndarray]:
        assert self._scores is not None, "run() comes first"
        return {"output": _softmax(self._scores)}


class OpenVINODriver:
    """A row in OpenVINO."""

    def __init__(self, ov: Any, setting: Setting) -> None:
        settings: dict[str, Any] = {"INFERENCE_PRECISION_HINT": "f32"}
        if setting.threads is not None:
            settings["INFERENCE_NUM_THREADS"] = setting.threads
        self._request = ov.Core().compile_model(setting.file, "CPU", settings).create_infer_request()
        self._data = make_batch(setting.row)[0]
        self._scores: np.ndarray | None = None

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self._scores = self._request.infer({0: self._data})[0]

    def results(self) -> dict[str, np.ndarray]:
        assert self._scores is not None, "run() comes first"
        return {"output": _softmax(self._scores)}


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    answer: np.ndarray = powers / powers.sum(axis=1, keepdims=True)
    return answer
