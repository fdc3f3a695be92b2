"""Inference by OpenVINO, to which a network is handed as PyTorch exports it."""

from __future__ import annotations

import contextlib
import functools
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from ..extras import imported

__all__ = ["compile_with_openvino", "openvino_model", "unreported"]

#: Types that OpenVINO computes in as they are; of float64 and int64 it makes narrower ones.
_TYPES = (torch.float32, torch.int32, torch.int8, torch.uint8, torch.bool)


def compile_with_openvino(module: torch.nn.Module, data: Sequence[Tensor]) -> Callable[..., Sequence[Tensor]]:
    """Return a function that computes what a module does, for data of these shapes, on the processor.

    Parameters
    ----------
    module
        It returns a tuple of tensors, and has its parameters as buffers.
    data
        What it takes.

    Raises
    ------
    MissingExtraError
        Without OpenVINO.
    RuntimeError
        For a network that it cannot take.
    """
    for tensor in (*data, *module.buffers()):
        if not tensor.is_cpu or tensor.dtype not in _TYPES:
            names = ", ".join(str(each).removeprefix("torch.") for each in _TYPES)
            raise RuntimeError(f"OpenVINO takes {names} on the CPU; got {tensor.dtype} on {tensor.device}")
    with _quiet():
        model = openvino_model(torch.export.export(module, tuple(data), strict=False))
    if len(model.inputs) != len(data):
        raise RuntimeError(f"OpenVINO's model must have {len(data)} inputs; it has {len(model.inputs)}")
    # It takes sizes for unknown, and would find them out in each run.
    model.reshape({i: list(tensor.shape) for i, tensor in enumerate(data)})
    settings = {
        # By itself it takes bfloat16 where the processor can.
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": torch.get_num_threads(),
    }
    return _Request(_core().compile_model(model, "CPU", settings))


def openvino_model(program: torch.export.ExportedProgram) -> Any:
    """Return OpenVINO's model of a program: what `openvino.convert_model` does, which also reports it to its makers.

    Raises
    ------
    MissingExtraError
        Without OpenVINO.
    """
    with unreported():
        frontends = imported("openvino.frontend", "openvino", package="OpenVINO")
        decoders = imported("openvino.frontend.pytorch.fx_decoder", "openvino", package="OpenVINO")
    with _quiet():
        frontend = frontends.FrontEndManager().load_by_framework("pytorch")
        # To be held until all is converted.
        decoder = decoders.TorchFXPythonDecoder.from_exported_program(program)
        return frontend.convert(frontend.load(decoder))


@contextlib.contextmanager
def unreported() -> Iterator[None]:
    """Import OpenVINO as if its telemetry were not installed: the import itself is reported to its makers otherwise."""
    telemetry = "openvino_telemetry"
    before = sys.modules.get(telemetry)
    sys.modules[telemetry] = None  # type: ignore[assignment]  # Python's own way to say that there is no such module
    try:
        yield
    finally:
        if before is None:
            sys.modules.pop(telemetry, None)
        else:
            sys.modules[telemetry] = before


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep what PyTorch and OpenVINO say of each other's versions from the user, who can do nothing about it."""
    root = logging.getLogger()
    # Without a handler its first message would give the root logger one, before the program does.
    handler = logging.NullHandler()
    root.addHandler(handler)
    root.addFilter(_is_not_of_decoder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.removeFilter(_is_not_of_decoder)
        root.removeHandler(handler)


def _is_not_of_decoder(record: logging.LogRecord) -> bool:
    return record.module != "fx_decoder"


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Let PyTorch compute in one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@functools.cache
def _core() -> Any:
    import openvino

    return openvino.Core()


class _Request:
    """Runs a compiled model, in whose own arrays data are put, and from which results are taken.

    To be given others in each run takes it longer: 70 µs, and 35 with copies, for a small network that it computes in
    17. They are copied by one thread: of pictures PyTorch would leave half to its second one, which then looks for more
    to do while OpenVINO's threads compute, and takes 5 ms of ResNet-50's 48 from them.
    """

    def __init__(self, compiled: Any) -> None:
        self._request = compiled.create_infer_request()
        # They hold the memory that the arrays are views of.
        self._tensors = (
            [self._request.get_input_tensor(i) for i in range(len(compiled.inputs))],
            [self._request.get_output_tensor(i) for i in range(len(compiled.outputs))],
        )
        inputs, outputs = self._tensors
        self._data = [torch.from_numpy(tensor.data) for tensor in inputs]
        self._results = [tensor.data for tensor in outputs]
        # Executors of one network have it in common, and may run in several threads.
        self._lock = threading.Lock()

    def __call__(self, *data: Tensor) -> list[Tensor]:
        with self._lock:
            with _one_thread():
                for target, given in zip(self._data, data, strict=True):
                    target.copy_(given)
            self._request.infer(share_outputs=True)
            return [torch.from_numpy(array.copy()) for array in self._results]
