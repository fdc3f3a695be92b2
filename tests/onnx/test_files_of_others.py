"""Files that other programs wrote are read, and give what those programs computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import onnx
import rebind as mx
from rebind.errors import FormatError
from rebind.onnx.reading import read_model

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("*.onnx"))


def run(symbol: mx.Symbol, arg_params: dict, aux_params: dict, data: np.ndarray) -> list[np.ndarray]:
    arguments = {"data": mx.nd.array(data, dtype=data.dtype), **arg_params}
    executor = symbol.bind(mx.cpu(), arguments, aux_states=aux_params, grad_req="null")
    return [output.asnumpy() for output in executor.forward()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_numbers(path: Path) -> None:
    data, *expected = np.load(path.with_suffix(".npz")).values()
    symbol, arg_params, aux_params = mx.onnx.import_model(path)
    assert set(symbol.list_arguments()) == {"data", *arg_params}
    found = run(symbol, arg_params, aux_params, data)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5 * np.abs(other).max())


def test_a_weight_that_is_used_twice_stays_one_parameter() -> None:
    symbol, arg_params, _ = mx.onnx.import_model(DATA / "mxnet_tied.onnx")
    assert [name for name, value in arg_params.items() if value.ndim == 2] == ["table"]
    gradients = {"table": mx.nd.zeros((7, 4))}  # and none for the bias of zeros, which the exporter adds
    arguments = {"data": mx.nd.ones((3, 5)), **arg_params}
    executor = symbol.bind(mx.cpu(), arguments, args_grad=gradients)
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones(executor.outputs[0].shape)])
    # Through the scores to all rows, and through the embedding to the one that was looked up.
    rows = gradients["table"].asnumpy()
    assert (rows[2:] == rows[0]).all() and rows[0].any() and (rows[1] != rows[0]).any()


def test_maps_of_scikit_learn_are_an_error_that_says_what_to_do() -> None:
    """A classifier of skl2onnx gives a map for each sample, unless it is asked for arrays."""
    key, scores = onnx.TensorProto.INT64, onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [])
    maps = onnx.helper.make_sequence_type_proto(onnx.helper.make_map_type_proto(key, scores))
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("ZipMap", ["x"], ["p"], classlabels_int64s=[0, 1], domain="ai.onnx.ml")],
        "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [None, 2])],
        [onnx.helper.make_value_info("p", maps)],
    )
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("ai.onnx.ml", 1)]
    with pytest.raises(
        FormatError, match=r"^import_model: the output 'p' must be an array; got maps. skl2onnx writes"
    ):
        read_model(onnx.helper.make_model(graph, opset_imports=opsets))


@pytest.mark.parametrize("kind", ["Transpose", "twice"])
def test_a_matrix_that_is_transposed_or_read_twice_is_no_copy(kind: str) -> None:
    if kind == "Transpose":
        text = "g (float[2,3] x) => (float[2,3] y) { wt = Transpose(w)  y = MatMul(x, wt) }"
    else:
        text = "g (float[2,3] x) => (float[2,3] y) { a = MatMul(x, w)  y = MatMul(a, w) }"
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]>\n{text}')
    weight = np.arange(9, dtype="float32").reshape(3, 3)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    symbol, arg_params, _, _ = read_model(proto)
    assert list(arg_params) == ["w"]
    data = np.ones((2, 3), "float32")
    expected = data @ weight.T if kind == "Transpose" else data @ weight @ weight
    np.testing.assert_allclose(symbol.eval(x=mx.nd.array(data), **arg_params)[0].asnumpy(), expected)
