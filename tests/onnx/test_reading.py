"""`import_model`: networks that can be trained and saved, free sizes, and files that are not trusted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

import onnx
import rebind as mx
from onnx import TensorProto, helper, numpy_helper, parser
from rebind.errors import FormatError, MXNetError
from rebind.onnx import import_model, import_to_gluon, to_onnx
from rebind.onnx.reading import read_model


def model(text: str, opset: int = 17, **weights: np.ndarray) -> onnx.ModelProto:
    """Return a model in onnx's text format, with weights."""
    found = parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]>\n{text}')
    found.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in weights.items())
    return found


def weights(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(0, 0.5, shape).astype(np.float32)


def cnn() -> onnx.ModelProto:
    """Return a small network for images, with a free batch."""
    return model(
        """
        g (float[N,1,8,8] data) => (float[N,3] y) {
            c = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (data, conv_w, conv_b)
            b = BatchNormalization (c, gamma, beta, mean, var)
            r = Relu (b)
            p = MaxPool <kernel_shape=[2,2], strides=[2,2]> (r)
            s = Shape (p)
            zero = Constant <value = int64 {0}> ()
            batch = Gather (s, zero)
            axes = Constant <value_ints = [0]> ()
            first = Unsqueeze (batch, axes)
            rest = Constant <value_ints = [-1]> ()
            shape = Concat <axis = 0> (first, rest)
            f = Reshape (p, shape)
            g = Gemm <transB = 1> (f, fc_w, fc_b)
            y = Softmax (g)
        }""",
        conv_w=weights(4, 1, 3, 3),
        conv_b=weights(4),
        gamma=np.full(4, 1.5, np.float32),
        beta=weights(4),
        mean=weights(4),
        var=np.full(4, 0.7, np.float32),
        fc_w=weights(3, 64),
        fc_b=weights(3),
    )


def lstm() -> onnx.ModelProto:
    """Return a recurrent layer in both directions, with free sizes of time and batch."""
    return model(
        """
        g (float[T,N,5] data) => (float[T,2,N,4] y, float[2,N,4] h, float[2,N,4] c) {
            y, h, c = LSTM <hidden_size = 4, direction = "bidirectional"> (data, w, r, b)
        }""",
        w=weights(2, 16, 5),
        r=weights(2, 16, 4),
        b=weights(2, 32),
    )


def borders() -> onnx.ModelProto:
    """Return borders of pictures of any size, and of their channels, whose number is known."""
    return model(
        """
        g (float[N,2,H,W] data) => (float[N,6,A,B] y) {
            sides = Constant <value_ints = [0,0,1,2,0,0,3,1]> ()
            r = Pad <mode = "reflect"> (data, sides)
            e = Pad <mode = "edge"> (r, sides)
            more = Constant <value_ints = [0,1,0,0,0,3,0,0]> ()
            y = Pad <mode = "edge"> (e, more)
        }""",
        opset=17,
    )


def repeated() -> onnx.ModelProto:
    """Return weights and positions, repeated as often as arrays with free sizes are long."""
    return model(
        """
        g (float[N,4] data) => (float[N,2,4] y) {
            sizes = Shape (data)
            first = Constant <value_ints = [0]> ()
            batch = Gather (sizes, first)
            rest = Constant <value_ints = [2, 4]> ()
            whole = Concat <axis = 0> (batch, rest)
            e = Expand (w, whole)
            zero = Constant <value = int64 {0}> ()
            one = Constant <value = int64 {1}> ()
            count = Squeeze (batch, first)
            numbers = Range (zero, count, one)
            column = Constant <value_ints = [-1, 1, 1]> ()
            rows = Reshape (numbers, column)
            cast = Cast <to = 1> (rows)
            y = Add (e, cast)
        }""",
        w=weights(2, 1),
    )


def run_onnx(proto: onnx.ModelProto, **inputs: np.ndarray) -> list[np.ndarray]:
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def run(symbol: mx.sym.Symbol, params: dict, states: dict, **inputs: np.ndarray) -> list[np.ndarray]:
    arrays = {name: mx.nd.array(value) for name, value in inputs.items()}
    executor = symbol.bind(mx.cpu(), {**arrays, **params}, aux_states=states, grad_req="null")
    return [output.asnumpy() for output in executor.forward()]


def fractions() -> onnx.ModelProto:
    """Numbers to a size, each a part of it, and the part of a number that the size is."""
    return model(
        """
        g (float[N, 3, 4] data) => (float[N, 3, 4] y, float[N] parts, float[N, 3, 4] middle) {
            size = Shape <start = 0, end = 1> (data)
            float_size = Cast <to = 1> (size)
            two = Constant <value = float[1] {2.0}> ()
            two_whole = Constant <value = int64[1] {2}> ()
            half = Div (float_size, two)
            inverse = Div (two, float_size)
            factor = Add (half, inverse)
            y = Mul (data, factor)
            zero = Constant <value = float {0.0}> ()
            one = Constant <value = float {1.0}> ()
            end = Squeeze (float_size)
            places = Range (zero, end, one)
            parts = Div (places, float_size)
            half_size = Div (size, two_whole)
            rest = Sub (size, half_size)
            as_float = Cast <to = 1> (rest)
            middle = Mul (data, as_float)
        }"""
    )


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (cnn, (1, 8, 8)),
        (lstm, (2, 5)),
        (borders, (2, 5, 4)),
        (repeated, (4,)),
        (fractions, (3, 4)),
    ],
)
@pytest.mark.parametrize("size", [1, 3])
def test_free_sizes(make, shape, size):
    proto = make()
    symbol, params, states, names = read_model(proto)
    data = weights(size, *shape)
    for found, expected in zip(
        run(symbol, params, states, data=data), run_onnx(proto, data=data), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert names == ["data"]


def test_sizes_that_no_array_has_are_refused():
    text = """
        g (float[N] data) => (float[M] y) {{
            size = Shape (data)
            two = Constant <value_ints = [2]> ()
            twice = Mul (size, two)
            {}
        }}"""
    number = (
        "first = Constant <value = int64 {0}> () one = Constant <value = int64 {1}> () end = Squeeze (twice)"
    )
    for last, message in (
        ("y = Expand (w, twice)", "each free \\(dynamic\\) size must be a size of an input; got .*2[*]N"),
        (
            f"{number} r = Range (first, end, one) y = Cast <to = 1> (r)",
            "start, limit and delta must be numbers",
        ),
    ):
        with pytest.raises(MXNetError, match=message):
            read_model(model(text.format(last), w=weights(1)))


def test_layers_are_layers_of_mxnet():
    symbol, params, states, _ = read_model(cnn())
    operators = [node.operator.name for node in symbol.graph.nodes if not node.is_variable]
    assert operators == [
        "Convolution", "BatchNorm", "relu", "Pooling", "Reshape", "FullyConnected", "softmax",
    ]  # fmt: skip
    assert sorted(params) == ["beta", "conv_b", "conv_w", "fc_b", "fc_w", "gamma"]
    assert sorted(states) == ["mean", "var"]


def test_recurrent_weights_are_packed():
    symbol, params, _, _ = read_model(lstm())
    assert [node.operator.name for node in symbol.graph.nodes if not node.is_variable].count("RNN") == 1
    assert [value.shape for value in params.values()] == [(2 * (16 * 5 + 16 * 4 + 32),)]


def test_imported_networks_are_trained(tmp_path: Path):
    onnx.save(cnn(), tmp_path / "cnn.onnx")
    symbol, arg_params, aux_params = import_model(tmp_path / "cnn.onnx")
    scores = symbol.get_internals()["g_output"]
    net = mx.sym.SoftmaxOutput(scores, name="softmax")
    images, labels = weights(30, 1, 8, 8), np.arange(30) % 3
    images[np.arange(30), 0, labels, labels] += 4
    batches = mx.io.NDArrayIter(images, labels, batch_size=10)
    module = mx.mod.Module(net)
    module.fit(
        batches,
        num_epoch=30,
        arg_params=arg_params,
        aux_params=aux_params,
        optimizer_params={"learning_rate": 0.1},
    )
    assert module.score(batches, "acc")[0][1] > 0.9
    assert not np.allclose(module.get_params()[0]["conv_w"].asnumpy(), arg_params["conv_w"].asnumpy())


def test_saved_and_loaded_again(tmp_path: Path):
    symbol, params, states, _ = read_model(cnn())
    mx.model.save_checkpoint(str(tmp_path / "net"), 0, symbol, params, states)
    loaded = mx.model.load_checkpoint(str(tmp_path / "net"), 0)
    data = weights(2, 1, 8, 8)
    np.testing.assert_array_equal(run(*loaded, data=data)[0], run(symbol, params, states, data=data)[0])


def test_operators_that_mxnet_lacks_are_named_when_they_are_saved(tmp_path: Path):
    text = "g (float[2,3] x) => (float[2,3] y) { a = Round(x)  y = Trilu(a) }"
    symbol, params, states, _ = read_model(model(text))
    for save in (
        lambda: symbol.save(tmp_path / "net-symbol.json"),
        lambda: mx.model.save_checkpoint(str(tmp_path / "net"), 0, symbol, params, states),
    ):
        with pytest.warns(
            UserWarning, match="MXNet cannot load .* no _onnx_round, _onnx_triangle: operators of"
        ):
            save()
    assert mx.sym.load(str(tmp_path / "net-symbol.json")).list_arguments() == ["x"]


@pytest.mark.parametrize(
    ("text", "shapes", "operator"),
    [
        ("(float[n,2,t,4] x, float[n,2,4,t] z) => (float[n,2,t,t] y) { y = MatMul(x, z) }",
         ((3, 2, 5, 4), (3, 2, 4, 5)), "batch_dot"),  # attention: several heads
        ("(float[n,2,3] x, float[m,3,2] z) => (float[n,2,2] y) { y = MatMul(x, z) }",
         ((3, 2, 3), (1, 3, 2)), "_onnx_matmul"),  # which broadcasts
        ("(float[n,4] x, float[4,t] z) => (float[n,t] y) { y = Gemm(x, z) }", ((3, 4), (4, 2)), "dot"),
        ("(float[n,4] x, float[t,4] z) => (float[n,t] y) { y = Gemm <transB=1, alpha=0.5> (x, z) }",
         ((3, 4), (2, 4)), "dot"),
    ],
)  # fmt: skip
def test_products_of_matrices_are_mxnets_where_it_has_them(text: str, shapes: tuple, operator: str):
    proto = model(f"g {text}")
    symbol, params, states, _ = read_model(proto)
    assert operator in [node.operator.name for node in symbol.graph.nodes if not node.is_variable]
    given = {name: weights(*shape) for name, shape in zip("xz", shapes, strict=True)}
    np.testing.assert_allclose(
        run(symbol, params, states, **given)[0], run_onnx(proto, **given)[0], rtol=1e-5, atol=1e-6
    )


def test_there_and_back():
    data = mx.sym.var("data")
    net = mx.sym.FullyConnected(mx.sym.Activation(data, act_type="tanh"), num_hidden=3, name="fc")
    params = {"fc_weight": mx.nd.array(weights(3, 4)), "fc_bias": mx.nd.array(weights(3))}
    import onnx_ir as ir

    symbol, found, _, _ = read_model(ir.to_proto(to_onnx(net, params, {"data": (0, 4)})))
    assert found.keys() == params.keys()
    data = weights(2, 4)
    np.testing.assert_array_equal(run(symbol, found, {}, data=data)[0], run(net, params, {}, data=data)[0])


def test_as_a_block_of_gluon(tmp_path: Path):
    onnx.save(cnn(), tmp_path / "cnn.onnx")
    block = import_to_gluon(tmp_path / "cnn.onnx", mx.cpu())
    data = weights(2, 1, 8, 8)
    expected = run_onnx(cnn(), data=data)[0]
    np.testing.assert_allclose(block(mx.nd.array(data)).asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_constants_are_not_trained():
    proto = model(
        "g (float[2] x) => (float[2] y) { c = Constant <value_floats = [1.0, 2.0]> ()  y = Mul(x, c) }"
    )
    symbol, params, _, _ = read_model(proto)
    gradient = mx.nd.zeros((2,))
    executor = symbol.bind(mx.cpu(), {"x": mx.nd.ones((2,)), **params}, args_grad={"c": gradient})
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones((2,))])
    assert gradient.asnumpy().tolist() == [0, 0]


def test_functions_are_written_out():
    proto = model("g (float[2] x) => (float[2] y) { y = own.Twice(x) }")
    proto.opset_import.append(helper.make_opsetid("own", 1))
    node = helper.make_node("Add", ["a", "a"], ["b"])
    proto.functions.append(
        helper.make_function("own", "Twice", ["a"], ["b"], [node], [helper.make_opsetid("", 17)])
    )
    symbol, *_ = read_model(proto)
    assert symbol.eval(x=mx.nd.array([1, 2]))[0].asnumpy().tolist() == [2, 4]


def test_inputs_that_must_be_known():
    proto = model("g (float[2,3] x, int64[1] shape) => (float[6] y) { y = Reshape(x, shape) }")
    with pytest.raises(
        MXNetError, match=r"Reshape 'y': shape \('shape'\) must be constant; .* constants={'shape': ...}"
    ):
        read_model(proto)
    symbol, _, _, names = read_model(proto, constants={"shape": np.array([6])})
    assert names == ["x"] and symbol.infer_shape(x=(2, 3))[1] == [(6,)]
    with pytest.raises(MXNetError, match="constants must name inputs of the model"):
        read_model(proto, constants={"shapes": np.array([6])})


def test_operators_that_are_missing_are_all_named():
    proto = model("g (string[2] x) => (string[2] y) { a = StringNormalizer(x)  y = own.Secret(a) }")
    proto.opset_import.append(helper.make_opsetid("own", 1))
    with pytest.raises(MXNetError, match=r"no operators for StringNormalizer \('a'\), own::Secret \('y'\)"):
        read_model(proto)


# Files


def external(folder: Path, location: str, length: int = 24) -> Path:
    """Write a model whose weight lies in another file."""
    proto = model("g (float[2,3] x) => (float[2,3] y) { y = Add(x, w) }")
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 3])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", str(length))):
        tensor.external_data.add(key=key, value=value)
    proto.graph.initializer.append(tensor)
    (folder / "net.onnx").write_bytes(proto.SerializeToString())
    return folder / "net.onnx"


def test_external_data(tmp_path: Path):
    path = external(tmp_path, "net.data")
    weights(2, 3).tofile(tmp_path / "net.data")
    np.testing.assert_array_equal(import_model(path)[1]["w"].asnumpy(), weights(2, 3))


@pytest.mark.parametrize("location", ["../outside.data", "link.data", "none.data"])
def test_external_data_outside_the_folder(tmp_path: Path, location: str):
    folder = tmp_path / "model"
    folder.mkdir()
    weights(2, 3).tofile(tmp_path / "outside.data")
    (folder / "link.data").symlink_to(tmp_path / "outside.data")
    with pytest.raises(FormatError, match="'w' must be stored in a file in the folder of the model; got"):
        import_model(external(folder, location))


@pytest.mark.parametrize("length", [12, 48])
def test_external_data_of_other_sizes(tmp_path: Path, length: int):
    weights(2, 3).tofile(tmp_path / "net.data")
    with pytest.raises(FormatError, match="'w' of 24 bytes must be within its file of 24 bytes"):
        import_model(external(tmp_path, "net.data", length))


def test_tensors_that_are_too_short():
    proto = model("g (float[2,3] x) => (float[2,3] y) { y = Add(x, w) }", w=weights(2, 3))
    proto.graph.initializer[0].raw_data = b"1234"
    with pytest.raises(FormatError, match="import_model"):
        read_model(proto)


def test_nodes_that_are_malformed():
    proto = model("g (float[2,3] x) => (float[2,3] y) { y = Hardmax <axis = 99> (x) }")
    with pytest.raises(FormatError, match=r"Hardmax 'y' must be a valid node of opset .* IndexError"):
        read_model(proto)


def test_files_that_are_none(tmp_path: Path):
    (tmp_path / "text.onnx").write_text("not a model")
    with pytest.raises(FormatError, match="is not an ONNX model"):
        import_model(tmp_path / "text.onnx")
    with pytest.raises(MXNetError, match="no file"):
        import_model(tmp_path / "absent.onnx")


def test_small_files_do_not_take_all_memory():
    proto = model(
        "g (float[1] x) => (float[N] y) {"
        " s = Constant <value_ints = [1000000000000]> ()  z = ConstantOfShape(s)  y = Add(x, z) }"
    )
    symbol, params, _, _ = read_model(proto)  # the numbers are left to the network
    assert params == {} and symbol.list_arguments() == ["x"]


def test_later_opsets_ask_for_a_newer_onnx():
    proto = model("g (float[2] x) => (float[2] y) { y = Relu(x) }", opset=99)
    with pytest.raises(FormatError, match=r"the file's opset, 99, must be at most \d+"):
        read_model(proto)


@pytest.mark.parametrize(
    ("kind", "attributes", "operator"),
    [
        ("MaxPool", "kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1", "Pooling"),
        ("MaxPool", "kernel_shape = [3, 3], strides = [2, 2], pads = [0, 0, 1, 1]", "Pooling"),
        (
            "MaxPool",
            "kernel_shape = [3, 3], strides = [3, 3], pads = [0, 0, 1, 1]",
            "_onnx_pool",
        ),  # only for some sizes
        ("MaxPool", "kernel_shape = [2, 2], strides = [3, 3], ceil_mode = 1", "_onnx_pool"),
        (
            "AveragePool",
            "kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1",
            "_onnx_pool",
        ),  # other means
    ],
)
def test_max_pooling_that_rounds_up_is_mxnets(kind: str, attributes: str, operator: str) -> None:
    x = np.random.RandomState(0).rand(1, 1, 8, 8).astype("float32")
    proto = model(f"net (float[1, 1, 8, 8] x) => (float[1, 1, n, m] y) {{ y = {kind} <{attributes}> (x) }}")
    symbol, *_ = read_model(proto)
    assert [node.operator.name for node in symbol.graph.nodes if not node.is_variable] == [operator]
    found = symbol.bind(mx.cpu(), {"x": mx.nd.array(x)}).forward()[0].asnumpy()
    [wanted] = ort.InferenceSession(proto.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
