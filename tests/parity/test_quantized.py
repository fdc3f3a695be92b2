"""Networks that MXNet quantized: they load, and all their nodes compute what they computed there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx

from .golden import QUANTIZED, Arrays, assert_close, read_arrays

NETWORKS = [
    "perceptron-none",
    "perceptron-naive",
    "perceptron-entropy",
    "convolutional-naive",
    "convolutional-entropy",
]
#: MXNet gives the sums of a convolution of uint8 data the range of int8: all that follows counts twice.
WRONG_RANGES = ("quantized_conv1_min_output", "quantized_conv1_max_output")


def load(name: str) -> tuple[Any, dict[str, Any], dict[str, Any], Arrays]:
    """Return the symbol, its arguments with the recorded data, its states, and what MXNet's nodes gave."""
    symbol, arguments, states = mx.model.load_checkpoint(str(QUANTIZED / name), 0)
    recorded = read_arrays(QUANTIZED / f"{name}.npz")
    data = {"data": mx.nd.array(recorded["data"])}
    return symbol, {**arguments, **data}, states, recorded


def same(name: str, actual: np.ndarray, expected: np.ndarray) -> None:
    assert actual.dtype == expected.dtype, name
    assert_close(actual, expected, rtol=1e-5, what=name)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_node_on_recorded_inputs(name: str) -> None:
    symbol, _, _, recorded = load(name)
    graph = symbol.get_internals()
    seen = 0
    for node in graph.graph.nodes:
        if node.operator is None:
            continue
        inputs = iter(torch.from_numpy(recorded[_output(entry.node, entry.index)]) for entry in node.inputs)
        wanted = node.operator.signature.inputs_for(node.params, len(node.inputs))
        tensors = (
            list(inputs)
            if node.operator.signature.variadic
            else [next(inputs) if key in wanted else None for key in node.operator.signature.input_names]
        )
        modes = node.operator.signature.mode_keywords(False, None, torch.device("cpu"))
        result = node.operator.kernels.function(
            *tensors, **node.operator.signature.keywords(node.params), **modes
        )
        results = result if isinstance(result, tuple) else (result,)
        for index in range(node.visible_outputs):
            key = _output(node, index)
            if key not in WRONG_RANGES:
                same(key, results[index].numpy(), recorded[key])
                seen += 1
    assert seen >= 10


def _output(node: Any, index: int) -> str:
    return node.name if node.operator is None else node.output_names[index]


@pytest.mark.parametrize("name", NETWORKS)
def test_whole_network(name: str) -> None:
    symbol, arguments, states, recorded = load(name)
    nodes = symbol.get_internals()
    assert nodes.list_outputs() == [key for key in recorded if key != "floats"]
    outputs = nodes.bind(mx.cpu(), arguments, aux_states=states).forward()
    actual = {key: value.asnumpy() for key, value in zip(nodes.list_outputs(), outputs, strict=True)}
    for key, value in actual.items():
        if key in WRONG_RANGES:
            break
        same(key, value, recorded[key])
    (result,) = symbol.list_outputs()
    floats, scale = recorded["floats"], np.abs(recorded["floats"]).max()
    assert np.abs(actual[result] - floats).max() < 0.05 * scale
    if name.startswith("perceptron"):
        same(result, actual[result], recorded[result])
    else:
        assert np.abs(recorded[result] - floats).max() > 0.2 * scale  # in MXNet


@pytest.mark.parametrize("name", NETWORKS)
def test_inferred_types_are_those_of_the_outputs(name: str) -> None:
    symbol, arguments, states, recorded = load(name)
    nodes = symbol.get_internals()
    given = {key: value.dtype for key, value in {**arguments, **states}.items()}
    arguments_types = {key: given[key] for key in symbol.list_arguments()}
    _, types, _ = nodes.infer_type(**arguments_types)
    assert [np.dtype(kind) for kind in types] == [recorded[key].dtype for key in nodes.list_outputs()]
    _, shapes, _ = nodes.infer_shape(data=recorded["data"].shape)
    assert [tuple(shape) for shape in shapes] == [recorded[key].shape for key in nodes.list_outputs()]
