"""The walk over the graph: names, free sizes, what is left out, errors, graphs inside nodes."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import onnxruntime as ort
import pytest
import torch

import onnx
import rebind as mx
from rebind.errors import MXNetError
from rebind.onnx import to_onnx
from rebind.onnx.export.body_writer import BodyWriter
from rebind.onnx.export.translations import TRANSLATIONS


def run(model: ir.Model, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    proto = ir.to_proto(model)
    onnx.checker.check_model(proto, full_check=True)
    return ort.InferenceSession(proto.SerializeToString()).run(None, inputs)


def relu(data: object, name: str) -> object:
    return mx.sym.Activation(data, act_type="relu", name=name)


def test_free_sizes_have_the_given_names_up_to_the_outputs() -> None:
    net = relu(relu(mx.sym.var("data"), "a"), "b")
    model = to_onnx(net, {}, {"data": ("batch", 3, 0)})
    assert str(model.graph.inputs[0].shape) == "[batch,3,data_2]"
    assert str(model.graph.outputs[0].shape) == "[batch,3,data_2]"


def test_two_nodes_of_one_name_and_an_output_that_is_asked_for_twice() -> None:
    first = relu(mx.sym.var("data"), "same")
    second = relu(first, "same")
    model = to_onnx(mx.sym.Group([first, second, second]), {}, {"data": (2,)})
    found = run(model, {"data": np.array([-1, 1], "float32")})
    assert [each.tolist() for each in found] == [[0, 1]] * 3


def test_a_parameter_that_no_node_reads_and_an_input_that_is_an_output() -> None:
    data = mx.sym.var("data")
    model = to_onnx(mx.sym.Group([data, relu(data, "r")]), {"x": mx.nd.ones(3)}, {"data": (2,)})
    assert not model.graph.initializers
    found = run(model, {"data": np.array([-1, 1], "float32")})
    assert [each.tolist() for each in found] == [[-1, 1], [0, 1]]


def test_all_operators_that_onnx_cannot_say_are_in_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TRANSLATIONS, "exp", raising=False)
    monkeypatch.delitem(TRANSLATIONS, "log", raising=False)
    data = mx.sym.var("data")
    net = mx.sym.exp(mx.sym.log(mx.sym.exp(data, name="e0"), name="l0"), name="e1")
    with pytest.raises(MXNetError) as caught:
        to_onnx(net, {}, {"data": (2,)})
    assert "exp ('e0', 'e1'): " in str(caught.value)
    assert "log ('l0'): " in str(caught.value)


def test_all_refused_nodes_are_in_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(writer, data):
        raise writer.refuse("of no reason")

    monkeypatch.setitem(TRANSLATIONS, "Activation", refuse)
    with pytest.raises(MXNetError) as caught:
        to_onnx(relu(relu(mx.sym.var("data"), "a"), "b"), {}, {"data": (2,)})
    assert "'a'" in str(caught.value) and "'b'" in str(caught.value) and "of no reason" in str(caught.value)


@pytest.mark.parametrize("opset", [12, 27])
def test_an_opset_that_is_not_written(opset: int) -> None:
    with pytest.raises(MXNetError, match="opset must be from 13 to 26"):
        to_onnx(relu(mx.sym.var("data"), "a"), {}, {"data": (2,)}, opset=opset)


@pytest.mark.parametrize("opset", [13, 17, 18, 21, 26])
def test_forms_that_depend_on_the_opset(monkeypatch: pytest.MonkeyPatch, opset: int) -> None:
    def through_all(writer, data):
        total = writer.reduce("ReduceMean", data, [1], keepdims=True)
        total = writer.op("Add", total, writer.reduce("ReduceSum", data, [1], keepdims=True))
        total = writer.squeeze(writer.unsqueeze(total, [0]), [0])
        total = writer.pad(total, [(0, 0), (1, 1)], writer.dtype(), value=2)
        total = writer.clip(total, 0, 5, writer.dtype())
        return writer.reshape(total, writer.concat(writer.ints([3]), writer.size_of(data, 0)))

    monkeypatch.setitem(TRANSLATIONS, "Activation", through_all)
    model = to_onnx(relu(mx.sym.var("data"), "a"), {}, {"data": (2, 3)}, opset=opset)
    assert model.opset_imports == {"": opset}
    (found,) = run(model, {"data": np.array([[1, 0, 2], [3, 3, 3]], "float32")})
    assert found.tolist() == [[2, 4], [2, 2], [5, 2]]


def test_a_graph_inside_a_node_sees_the_values_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = relu(mx.sym.var("x"), "inside")

    def repeat(writer, data):
        """Three times: relu of the state less one, which the graph outside has."""
        one = writer.like(1)
        body = BodyWriter(writer, "body")
        body.input("step", torch.int64, ())
        going = body.input("going", torch.bool, ())
        state = body.input("state", writer.dtype(), writer.shape())
        less = body.op("Sub", state, one)
        outputs = body.apply(inner.graph, [less], [writer.shape()], [writer.dtype()])
        graph = body.finish([going, *outputs])
        return writer.op("Loop", writer.ints(3), None, data, body=graph)

    monkeypatch.setitem(TRANSLATIONS, "exp", repeat)
    net = mx.sym.exp(mx.sym.exp(mx.sym.var("data"), name="loop"), name="loop2")
    model = to_onnx(net, {}, {"data": (0, 2)})
    (found,) = run(model, {"data": np.array([[7, 1]], "float32")})
    assert found.tolist() == [[1, 0]]
    names = [node.name for node in model.graph.all_nodes()]
    assert "loop" in names and "loop/inside" in names and len(set(names)) == len(names)


def test_lists_of_integers_do_not_stop_the_inference_of_shapes(caplog: pytest.LogCaptureFixture) -> None:
    net = mx.sym.SequenceReverse(mx.sym.var("data"), mx.sym.var("lengths"), use_sequence_length=True)
    model = to_onnx(net, {}, {"data": (5, 2, "features"), "lengths": (2,)})
    data = np.arange(10, dtype="float32").reshape(5, 2, 1)
    (found,) = run(model, {"data": data, "lengths": np.array([2, 5], "float32")})
    assert found[..., 0].T.tolist() == [[2, 0, 4, 6, 8], [9, 7, 5, 3, 1]]
    assert str(model.graph.outputs[0].shape) == "[5,2,features]"
    assert not caplog.records


def test_gammas_that_are_1_have_their_own_names() -> None:
    first = mx.sym.BatchNorm(mx.sym.var("data"), fix_gamma=True, name="first")
    shared = mx.sym.var("shared")
    second = mx.sym.BatchNorm(first, gamma=shared, fix_gamma=True, name="second")
    net = mx.sym.broadcast_add(second, mx.sym.reshape(shared, shape=(1, 3, 1, 1)), name="sum")
    params = {
        f"{layer}_{name}": mx.nd.ones((3,))
        for layer in ("first", "second")
        for name in ("beta", "moving_mean", "moving_var")
    }
    params |= {"first_gamma": mx.nd.array([4, 5, 6]), "shared": mx.nd.array([7, 8, 9])}
    initializers = to_onnx(net, params, {"data": (2, 3, 4, 4)}).graph.initializers
    assert initializers["first_gamma"].const_value.numpy().tolist() == [1, 1, 1]
    assert initializers["shared"].const_value.numpy().tolist() == [7, 8, 9]
