"""Files that are made of a network in PyTorch: a module, Python, and by `torch.export` those of other engines."""

from __future__ import annotations

import json
import os
import runpy
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from ..errors import MXNetError
from ..executor.openvino import openvino_model, unreported
from ..extras import imported
from ..pytorch import to_torch, write_python
from .network import Network
from .samples import random_samples

__all__ = [
    "as_arrays", "as_module", "as_tensors", "exported_program", "load_openvino", "load_pt2", "load_python",
    "load_torch", "write_openvino", "write_pt2", "write_python_file", "write_torch",
]  # fmt: skip

#: What a .pt2 file has besides the program: MXNet's names of its inputs and outputs.
_NAMES = "mxnet.json"


def as_module(network: Network) -> nn.Module:
    """Return a network as a module in evaluation mode."""
    shapes, types = network.inputs.shapes, network.types
    return to_torch(network.symbol, network.arg_params, network.aux_params, shapes=shapes, types=types).eval()


def _arguments(module: Any) -> list[str]:
    """Return MXNet's names of a module's inputs, in order."""
    return list(module.mxnet_inputs.values())


def as_tensors(data: Mapping[str, np.ndarray], names: Sequence[str]) -> tuple[Tensor, ...]:
    """Return arrays as tensors, in the order of the names."""
    return tuple(torch.from_numpy(np.ascontiguousarray(data[name])) for name in names)


def as_arrays(outputs: Tensor | Sequence[Tensor]) -> list[np.ndarray]:
    """Return one or several tensors as arrays."""
    found = (outputs,) if isinstance(outputs, Tensor) else outputs
    return [output.detach().numpy() for output in found]


def write_torch(network: Network, path: str) -> None:
    """Write a pickled module, in evaluation mode: the one file from which PyTorch has what can be trained on."""
    torch.save(as_module(network), path)


def load_torch(path: str) -> Any:
    """Return what runs a pickled module."""
    return _runner(torch.load(path, weights_only=False))


def write_python_file(network: Network, path: str) -> None:
    """Write a Python file, and the parameters beside it."""
    imported("safetensors", "safetensors", "export")
    write_python(network.symbol, network.params, path, shapes=network.inputs.shapes, types=network.types)


def load_python(path: str) -> Any:
    """Return what runs a Python file with its parameters."""
    safetensors = imported("safetensors", "safetensors", "export")
    module = runpy.run_path(path)["Network"]()  # an import would write bytecode beside it
    with safetensors.safe_open(f"{os.path.splitext(path)[0]}.safetensors", "pt") as file:
        module.load_state_dict({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118  # no mapping
        module.mxnet_inputs = json.loads(file.metadata()["mxnet_inputs"])
    return _runner(module.eval())


def _runner(module: Any) -> Any:
    names = _arguments(module)

    @torch.no_grad()
    def run_it(data: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        return as_arrays(module(*as_tensors(data, names)))

    return run_it


def exported_program(
    network: Network, largest: tuple[int, int] | None = None
) -> tuple[ExportedProgram, list[str]]:
    """Return a network as `torch.export` gives it, and MXNet's names of its inputs.

    Parameters
    ----------
    network
        The network; sizes that are free stay so.
    largest
        The greatest free sizes, of the batch and of other axes, for engines that must know.

    Raises
    ------
    MXNetError
        Where a free size must be known.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.convert import Model, prepared
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> program, names = exported_program(prepared(Model(net, {"fc_weight": mx.nd.ones((2, 5))}, {}, "net")))
    >>> names, program.module()(torch.ones(4, 5)).shape
    (['data'], torch.Size([4, 2]))
    """
    module = as_module(network)
    names = _arguments(module)
    samples = as_tensors(random_samples(network, 2), names)
    shapes = network.inputs.shapes
    free = tuple(
        {axis: _size(axis, largest) for axis, size in enumerate(shapes[name]) if size == 0} for name in names
    )
    try:
        with warnings.catch_warnings():
            # Recurrent layers list their weights once more in each call, and the program has them all.
            warnings.filterwarnings("ignore", r"The tensor attributes .*_flat_weights", UserWarning)
            program = torch.export.export(module, samples, dynamic_shapes=free, strict=False)
    except Exception as error:  # of several kinds; all of them say what of the network is the reason
        raise MXNetError(f"export: torch.export cannot export the network: {error}") from error
    return program, names


def _size(axis: int, largest: tuple[int, int] | None) -> Any:
    return Dim.DYNAMIC if largest is None else Dim.DYNAMIC(max=largest[min(axis, 1)])


def write_pt2(network: Network, path: str) -> None:
    """Write what `torch.export` gives, with MXNet's names in a file inside."""
    program, names = exported_program(network)
    facts = {"inputs": names, "outputs": network.symbol.list_outputs()}
    torch.export.save(program, path, extra_files={_NAMES: json.dumps(facts)})


def load_pt2(path: str) -> Any:
    """Return what runs a program of `torch.export`."""
    extra = {_NAMES: ""}
    module: Any = torch.export.load(path, extra_files=extra).module()
    names = json.loads(extra[_NAMES])["inputs"]

    def run_it(data: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        return as_arrays(module(*as_tensors(data, names)))

    return run_it


def write_openvino(network: Network, path: str) -> None:
    """Write OpenVINO's .xml and .bin, with MXNet's names and weights in the types that they have."""
    with unreported():
        openvino = imported("openvino", "openvino", "export")
    program, names = exported_program(network)
    model = openvino_model(program)
    for port, name in zip(model.inputs, names, strict=True):
        port.get_tensor().set_names({name})
    for port, name in zip(model.outputs, network.symbol.list_outputs(), strict=True):
        port.get_tensor().add_names({name})
    model.set_rt_info("f32", ["runtime_options", "INFERENCE_PRECISION_HINT"])
    openvino.save_model(model, path, compress_to_fp16=False)


def load_openvino(path: str) -> Any:
    """Return what runs OpenVINO's files on the processor, in float32: by itself it takes bfloat16 where it can."""
    with unreported():
        openvino = imported("openvino", "openvino", "export")
    compiled = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

    def run_it(data: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        found = compiled({port: data[port.get_any_name()] for port in compiled.inputs})
        return [np.array(found[port]) for port in compiled.outputs]

    return run_it
