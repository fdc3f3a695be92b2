"""Inference with onnxruntime and OpenVINO, from the ONNX file that PyTorch writes of its network.

The file is written by another process (`python -m benchmarks.peers_onnx ROW FILE`), so that the time and the memory of
PyTorch are not counted for engines that do not need it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .drivers import Setting
from .networks import ROWS, make_batch

OPSET = 20


def onnxruntime(setting: Setting) -> Callable[[], OnnxRuntimeDriver]:
    """An `InferenceSession` on the processor, with its default optimizations."""
    import onnxruntime as ort

    file = _file_of(setting)
    return lambda: OnnxRuntimeDriver(ort, file, setting)


def openvino(setting: Setting) -> Callable[[], OpenVINODriver]:
    """A model compiled for the processor, in float32 (by itself it computes in bfloat16 where the processor can)."""
    import openvino as ov

    file = _file_of(setting)
    return lambda: OpenVINODriver(ov, file, setting)


class OnnxRuntimeDriver:
    """A row in onnxruntime."""

    def __init__(self, ort: Any, file: str, setting: Setting) -> None:
        options = ort.SessionOptions()
        if setting.threads is not None:
            options.intra_op_num_threads = setting.threads
        self._session = ort.InferenceSession(file, options, providers=["CPUExecutionProvider"])
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

    def __init__(self, ov: Any, file: str, setting: Setting) -> None:
        settings: dict[str, Any] = {"INFERENCE_PRECISION_HINT": "f32"}
        if setting.threads is not None:
            settings["INFERENCE_NUM_THREADS"] = setting.threads
        self._request = ov.Core().compile_model(file, "CPU", settings).create_infer_request()
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


def _file_of(setting: Setting) -> str:
    """Have the network written to a file; its folder goes with the process."""
    folder = tempfile.TemporaryDirectory(prefix="rebind-benchmark-")
    _FOLDERS.append(folder)
    file = str(Path(folder.name) / "network.onnx")
    command = [sys.executable, "-m", "benchmarks.peers_onnx", setting.row.name, file]
    ended = subprocess.run(command, stdout=sys.stderr, stderr=subprocess.PIPE, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"torch.onnx.export failed: {ended.stderr[-1000:]}")
    return file


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []


def _export(row: str, file: str) -> None:
    import torch

    from .peers_torch import TorchDriver

    driver = TorchDriver(ROWS[row])
    torch.onnx.export(
        driver.model, (driver.data,), file, input_names=["data"], output_names=["scores"],
        opset_version=OPSET, dynamo=True, external_data=False, verbose=False,
    )  # fmt: skip


if __name__ == "__main__":
    _export(*sys.argv[1:])
