"""What a network can be exported to: how a file is written, and how its own runtime runs it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..errors import ParameterError, near_names
from ..extras import imported
from . import phone_targets as phone
from . import pytorch_targets as pytorch
from .network import Network

__all__ = ["TARGETS", "Runner", "Target", "find_target"]

#: Runs a file that was loaded: arrays by the names of inputs to outputs, in the network's order.
Runner: TypeAlias = "Callable[[Mapping[str, np.ndarray]], list[np.ndarray]]"

#: From here on weights are in a file of their own beside it: a protocol buffer holds 2 GB.
_LARGE = 2_000_000_000


@dataclass(frozen=True)
class Target:
    """A kind of file.

    Attributes
    ----------
    name
        As ``rebind export --to`` takes it.
    suffix
        The end of the file's name.
    write
        Writes a network to a path, and further files beside it; it takes the options as keywords.
    load
        Returns what runs a file; None where that is on other systems only.
    runtime
        What runs it, for reports.
    options
        The names of what can be chosen of such a file, for example ``"opset"``.
    fixed_sizes
        Whether such a file takes data of one shape only: no size can stay free.
    """

    name: str
    suffix: str
    write: Callable[..., None]
    load: Callable[[str], Runner] | None
    runtime: str
    options: tuple[str, ...] = ()
    fixed_sizes: bool = False


def write_onnx(network: Network, path: str, *, opset: int | None = None) -> None:
    """Write a network to an ONNX file, and with 2 GB or more its weights beside it."""
    ir = imported("onnx_ir", "onnx", "export")
    from ..onnx import to_onnx

    given = {} if opset is None else {"opset": opset}
    model = to_onnx(network.symbol, network.params, network.inputs.shapes, network.types, **given)
    size = sum(tensor.nbytes for tensor in _weights(model))
    ir.save(model, path, **({"external_data": f"{os.path.basename(path)}.data"} if size >= _LARGE else {}))


def _weights(model: Any) -> list[Any]:
    return [value.const_value for value in model.graph.initializers.values()]


def load_onnx(path: str) -> Runner:
    """Return what runs an ONNX file in onnxruntime, on the CPU."""
    runtime = imported("onnxruntime", "onnx", "export")
    options = runtime.SessionOptions()
    options.log_severity_level = 3  # errors; its advice on graphs is no business of users
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    taken = {each.name for each in session.get_inputs()}

    def run_it(data: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        outputs: list[np.ndarray] = session.run(None, {name: data[name] for name in data if name in taken})
        return outputs

    return run_it


#: By name.
TARGETS: Mapping[str, Target] = {
    target.name: target
    for target in [
        Target("onnx", ".onnx", write_onnx, load_onnx, "onnxruntime", ("opset",)),
        Target("torch", ".pt", pytorch.write_torch, pytorch.load_torch, "PyTorch"),
        Target("python", "_torch.py", pytorch.write_python_file, pytorch.load_python, "PyTorch"),
        Target("pt2", ".pt2", pytorch.write_pt2, pytorch.load_pt2, "PyTorch"),
        Target("openvino", ".xml", pytorch.write_openvino, pytorch.load_openvino, "OpenVINO"),
        Target("pte", ".pte", phone.write_pte, phone.load_pte, "ExecuTorch"),
        Target("tflite", ".tflite", phone.write_tflite, phone.load_tflite, "LiteRT", fixed_sizes=True),
        Target("coreml", ".mlpackage", phone.write_coreml, None, "Core ML"),
        Target("coreai", ".aimodel", phone.write_coreai, None, "Core AI"),
    ]
}


def find_target(name: str) -> Target:
    """Return a target by its name.

    >>> find_target("onnx").suffix
    '.onnx'
    >>> find_target("onx")
    Traceback (most recent call last):
        ...
    rebind.errors.ParameterError: export: to must be one of onnx, ..., coreai; got 'onx'; did you mean 'onnx'?
    """
    if name not in TARGETS:
        known = ", ".join(TARGETS)
        raise ParameterError(f"export: to must be one of {known}; got {name!r}{near_names(name, TARGETS)}")
    return TARGETS[name]
