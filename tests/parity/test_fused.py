"""Networks that MXNet fused for oneDNN: they load, are saved as they were, and compute what they computed there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.graph import Application, Entry, Graph, Variable
from rebind.symbol import Symbol

from .fused import NETWORKS, ROWS
from .golden import FUSED, Arrays, assert_close, read_arrays

NAMES = [row.name for row in ROWS]
#: MXNet adds int8 to uint8 in the memory of the result, and reads the bytes of one as the other; it mixes up what the
#: levels of filters in groups are worth.
WRONG = {
    "projection-naive": "quantized_sg_mkldnn_conv_bn_add_act_1_output",
    "grouped-naive": "quantized_sg_mkldnn_conv_2_output",
}
#: How many elements may be another level: those whose real number lies between two, to MXNet's last digit.
SHARE = 0.03


def load(name: str) -> tuple[Any, dict[str, Any], dict[str, Any], Arrays]:
    """Return the symbol, its arguments with the recorded data, its states, and what MXNet's nodes gave."""
    symbol, arguments, states = mx.model.load_checkpoint(str(FUSED / name), 0)
    recorded = read_arrays(FUSED / f"{name}.npz")
    return symbol, {**arguments, "data": mx.nd.array(recorded["data"])}, states, recorded


def same(name: str, actual: np.ndarray, expected: np.ndarray) -> None:
    assert actual.dtype == expected.dtype, name
    if actual.dtype == np.float32:
        # MXNet rounds the bias to what the sums count: half of that is more than rounding of float32.
        assert_close(actual, expected, rtol=1e-5 if actual.shape == (1,) else 2e-4, what=name)
        return
    assert actual.shape == expected.shape, name
    apart = np.abs(actual.astype(np.int64) - expected.astype(np.int64))
    # Sums are rounded in another order: what an int32 counts is far less than a level.
    most = 1 if actual.dtype != np.int32 else 2
    assert apart.max() <= most, name
    assert actual.dtype == np.int32 or (apart > 0).mean() <= SHARE, name


@pytest.mark.parametrize("name", NAMES)
def test_saved_as_it_was(name: str, tmp_path: Any) -> None:
    symbol, _, _, recorded = load(name)
    symbol.save(str(tmp_path / "saved.json"))
    assert (tmp_path / "saved.json").read_text() == (FUSED / f"{name}-symbol.json").read_text()
    outputs = symbol.get_internals().list_outputs()
    assert outputs == [key for key in recorded if key in outputs]


@pytest.mark.parametrize("name", NAMES)
def test_inferred_shapes_and_types(name: str) -> None:
    symbol, arguments, states, recorded = load(name)
    nodes = symbol.get_internals()
    given = {key: value.dtype for key, value in {**arguments, **states}.items()}
    _, types, _ = nodes.infer_type(**{key: given[key] for key in symbol.list_arguments()})
    assert [np.dtype(kind) for kind in types] == [recorded[key].dtype for key in nodes.list_outputs()]
    found, shapes, state_shapes = nodes.infer_shape(data=recorded["data"].shape)
    assert [tuple(shape) for shape in shapes] == [recorded[key].shape for key in nodes.list_outputs()]
    assert found == [arguments[key].shape for key in nodes.list_arguments()]
    assert state_shapes == [states[key].shape for key in nodes.list_auxiliary_states()]


@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
@pytest.mark.parametrize("name", NAMES)
def test_every_fused_layer_on_recorded_inputs(name: str, training: bool) -> None:
    """In inference layers run on levels; what gradients may be asked of runs in real numbers."""
    symbol, _, _, recorded = load(name)
    seen = 0
    for node in symbol.graph.nodes:
        if not isinstance(node, Application) or not node.operator.subgraphs:
            continue
        seen += 1
        keys = [_key(entry) for entry in node.inputs]
        inputs = {
            f"input{i}": mx.nd.array(recorded[key], dtype=recorded[key].dtype) for i, key in enumerate(keys)
        }
        alone = node.with_inputs([Entry(Variable(key)) for key in inputs])
        one = Symbol(Graph(Entry(alone, i) for i in range(alone.visible_outputs)))
        states = {key: inputs[key] for key in one.list_auxiliary_states()}
        executor = one.bind(mx.cpu(), inputs, aux_states=states, grad_req="null")
        results = executor.forward(is_train=training)
        for result, key in zip(results, alone.output_names, strict=True):
            if key != WRONG.get(name) and not (training and "_bn_" in key):
                same(key, result.asnumpy(), recorded[key])
    assert seen >= 3


def _key(entry: Entry) -> str:
    return entry.node.name if entry.node.is_variable else entry.node.output_names[entry.index]


@pytest.mark.parametrize("name", NAMES)
def test_whole_network(name: str) -> None:
    symbol, arguments, states, recorded = load(name)
    (result,) = symbol.list_outputs()
    (output,) = symbol.bind(mx.cpu(), arguments, aux_states=states, grad_req="null").forward(is_train=False)
    floats, actual = recorded["floats"], output.asnumpy()
    apart = np.abs(actual - floats).max() / np.abs(floats).max()
    theirs = np.abs(recorded[result] - floats).max() / np.abs(floats).max()
    if name.endswith("float"):
        assert_close(actual, recorded[result], rtol=1e-5, what=result)
    elif name in WRONG:
        assert apart < 0.03 and theirs > 0.05
    else:
        # A level's difference in one layer is one of a few in the next.
        assert apart < theirs + 0.02


@pytest.mark.parametrize("name", [row.name for row in ROWS if row.calibration == "float"])
def test_a_fused_network_learns_as_the_network_does(name: str) -> None:
    symbol, arguments, states, _ = load(name)
    build, _, _ = NETWORKS[name.partition("-")[0]]
    gradients = []
    for each in (symbol, build(mx)):
        copies = {key: value.copy() for key, value in arguments.items()}
        own = {key: value.copy() for key, value in states.items()}
        executor = each.bind(
            mx.cpu(), copies, {key: value.zeros_like() for key, value in copies.items()}, "write", own
        )
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones(executor.outputs[0].shape))
        gradients.append({key: value.asnumpy() for key, value in {**executor.grad_dict, **own}.items()})
    assert gradients[0].keys() == gradients[1].keys()
    for key, expected in gradients[1].items():
        # A bias before a norm has no gradient but for rounding.
        np.testing.assert_allclose(gradients[0][key], expected, rtol=1e-5, atol=1e-6, err_msg=key)
