"""Files for phones, made from what `torch.export` gives: ExecuTorch, LiteRT, Core ML and Core AI."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import MXNetError
from ..extras import imported
from ..pytorch.names import Names
from .network import Network
from .pytorch_targets import as_arrays, as_module, as_tensors, exported_program
from .samples import random_samples

__all__ = ["load_pte", "load_tflite", "write_coreai", "write_coreml", "write_pte", "write_tflite"]

#: The method of a .pte file that returns MXNet's names of its inputs, and the entry of a Core ML model's metadata.
_INPUTS = "mxnet_inputs"
#: The largest free sizes, of the batch and of other axes: ExecuTorch plans its memory for them, Core ML wants bounds.
_LARGEST = (64, 2048)


@contextlib.contextmanager
def _quietly(package: str) -> Iterator[None]:
    """Drop what a package reports of its own progress and versions; what it cannot convert is one sentence."""
    output, disabled = io.StringIO(), logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(output),
        ):
            warnings.simplefilter("ignore")
            yield
    except MXNetError:
        raise
    except Exception as error:  # of several kinds; all of them say what of the network is the reason
        raise MXNetError(f"export: {package} cannot convert the network: {error}") from error
    finally:
        logging.disable(disabled)


def write_pte(network: Network, path: str) -> None:
    """Write a program of ExecuTorch, in which XNNPACK computes what it has."""
    exir = imported("executorch.exir", "executorch", "export")
    xnnpack = imported("executorch.backends.xnnpack.partition.xnnpack_partitioner", "executorch", "export")
    program, names = exported_program(network, _LARGEST)
    with _quietly("ExecuTorch"):
        lowered = exir.to_edge_transform_and_lower(
            program,
            partitioner=[xnnpack.XnnpackPartitioner()],
            constant_methods={_INPUTS: json.dumps(names)},
        )
        program = lowered.to_executorch()
    with open(path, "wb") as file:
        program.write_to_file(file)


def load_pte(path: str) -> Any:
    """Return what runs a program of ExecuTorch."""
    program = imported("executorch.runtime", "executorch", "export").Runtime.get().load_program(path)
    [names] = program.load_method(_INPUTS).execute([])
    method = program.load_method("forward")

    def run_it(data: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        return as_arrays(method.execute(as_tensors(data, json.loads(names))))

    return run_it


def write_tflite(network: Network, path: str) -> None:
    """Write a LiteRT model, whose signature has MXNet's names; of inputs as Python can spell them."""
    with _quietly("LiteRT"):
        litert = imported("litert_torch", "litert", "export")
        module: Any = as_module(network)
        samples = random_samples(network, 1)
        outputs = network.symbol.list_outputs()
        # A dictionary gives outputs their names.
        module.register_forward_hook(lambda module, inputs, found: dict(zip(outputs, _tuple(found))))
        data = {argument: torch.from_numpy(samples[name]) for argument, name in module.mxnet_inputs.items()}
        litert.convert(module, sample_kwargs=data).export(path)


def _tuple(found: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (found,) if isinstance(found, Tensor) else found


def load_tflite(path: str) -> Any:
    """Return what runs a LiteRT model in its interpreter."""
    with _quietly("LiteRT"):
        interpreter = imported("ai_edge_litert.interpreter", "litert", "export").Interpreter(path)
        run_signature = interpreter.get_signature_runner()
    inputs = run_signature.get_input_details()
    # Signatures list their names by the alphabet.
    names = {output["index"]: name for name, output in run_signature.get_output_details().items()}
    order = [names[output["index"]] for output in interpreter.get_output_details()]

    def run_it(data: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        spelled = Names()
        arguments = {spelled.new(name): value for name, value in data.items()}
        found = run_signature(**{name: arguments[name] for name in inputs})
        return [found[name] for name in order]

    return run_it


def write_coreml(network: Network, path: str) -> None:
    """Write a package of Core ML, in float32, with MXNet's names: of letters, digits and underscores there."""
    with _quietly("Core ML"):
        coreml = imported("coremltools", "coreml", "export")
        program, names = exported_program(network)
        inputs = [_coreml_input(coreml, network, name) for name in names]
        model = coreml.convert(
            _without_recurrent_layers(program),
            inputs=inputs,
            outputs=[coreml.TensorType(name) for name in network.symbol.list_outputs()],
            compute_precision=coreml.precision.FLOAT32,
            minimum_deployment_target=coreml.target.iOS16,
            skip_model_load=True,
        )
        model.user_defined_metadata[_INPUTS] = json.dumps(names)
        model.save(path)


def _coreml_input(coreml: Any, network: Network, name: str) -> Any:
    """Return an input of a Core ML model, with ranges for free sizes, in the nearest of the three types that it has."""
    shape, dtype = network.inputs.shapes[name], network.types[name]
    sizes = [size or coreml.RangeDim(1, _LARGEST[min(axis, 1)], 1) for axis, size in enumerate(shape)]
    if dtype == torch.float16:
        return coreml.TensorType(name, sizes, np.float16)
    return coreml.TensorType(name, sizes, np.float32 if dtype.is_floating_point else np.int32)


def _without_recurrent_layers(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """Write recurrent layers step by step: Core ML takes none from `torch.export`; other layers remain as they are."""
    aten, known = torch.ops.aten, torch.export.default_decompositions()
    layers = (aten.lstm.input, aten.gru.input, aten.rnn_tanh.input, aten.rnn_relu.input)
    return program.run_decompositions({layer: known[layer] for layer in layers})


def write_coreai(network: Network, path: str) -> None:
    """Write a model of Core AI, with MXNet's names."""
    with _quietly("Core AI"):
        coreai = imported("coreai_torch", "coreai", "export")
        program, names = exported_program(network)
        converter = coreai.TorchConverter().add_exported_program(
            program.run_decompositions(coreai.get_decomp_table()),
            input_names=names,
            output_names=network.symbol.list_outputs(),
        )
        converter.to_coreai().save_asset(Path(path))
