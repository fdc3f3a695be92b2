"""`mx.contrib.quantization`: accuracy, what is quantized in each mode, calibration, blocks, and mistakes.

The symbols that MXNet makes are in `parity/test_quantize_model.py` and `parity/test_quantize_fused.py`.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.contrib import quantization as q
from rebind.contrib.quantization.collectors import Histogram, optimal_thresholds
from rebind.errors import ArgumentError, ParameterError

EXAMPLES = str(Path(__file__).parents[2] / "examples")
RANDOM = np.random.RandomState(3)
DATA = RANDOM.uniform(-1, 1, (16, 2, 6, 6)).astype("float32")


def conv(x: Any, name: str, **given: Any) -> Any:
    return mx.sym.Convolution(x, kernel=(1, 1), num_filter=2, name=name, **given)


def relu(x: Any, name: str = "relu") -> Any:
    return mx.sym.Activation(x, act_type="relu", name=name)


def tanh(x: Any, name: str = "tanh") -> Any:
    return mx.sym.Activation(x, act_type="tanh", name=name)


def fc(x: Any, name: str = "fc", **given: Any) -> Any:
    return mx.sym.FullyConnected(x, num_hidden=2, name=name, **given)


def params(symbol: Any, **inputs: tuple[int, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    random = np.random.RandomState(5)
    shapes, _, state_shapes = symbol.infer_shape(**inputs)
    named = zip(symbol.list_arguments(), shapes, strict=True)
    return (
        {name: mx.nd.array(random.uniform(-1, 1, shape)) for name, shape in named if name not in inputs},
        {
            name: mx.nd.array(random.uniform(0.5, 1.5, shape))
            for name, shape in zip(symbol.list_auxiliary_states(), state_shapes, strict=True)
        },
    )


def names(symbol: Any) -> str:
    return " ".join(node.name for node in symbol.graph.nodes if not node.is_variable)


def batches(data: np.ndarray = DATA, size: int = 4) -> Any:
    return mx.io.NDArrayIter(data, batch_size=size)


def quantized(symbol: Any, data: np.ndarray = DATA, **given: Any) -> tuple[Any, dict[str, Any], float]:
    """A quantized network, its parameters, and its error relative to the largest output."""
    args, aux = params(symbol, data=data.shape)
    options = {"calib_mode": "naive", "calib_data": batches(data), "quantized_dtype": "auto", **given}
    found, levels, states = q.quantize_model(symbol, args, aux, **options)
    inputs = {"data": mx.nd.array(data)}
    actual, expected = (
        net.bind(mx.cpu(), {**values, **inputs}, aux_states=states).forward()[0].asnumpy()
        for net, values in ((found, levels), (symbol, args))
    )
    return found, levels, float(np.abs(actual - expected).max() / np.abs(expected).max())


# Which nodes are quantized: MXNet 1.9.1 gives these names.

X = mx.sym.var("data")
SPLIT = relu(conv(X, "c1"), "r")
MODES = [
    (conv(relu(X, "r"), "c"), "r r_output_quantize quantized_c requantize_c c_dequantize", "quantized_r"),
    (tanh(mx.sym.Pooling(conv(X, "c"), kernel=(1, 1), name="p")), "c_dequantize p tanh", "quantized_p"),
    (mx.sym.elemwise_add(conv(X, "c"), X, name="add"), "c_dequantize add", "quantized_add requantize_add"),
    (conv(mx.sym.concat(conv(X, "c"), X, name="cat"), "c2"), "requantize_c quantized_cat quantized_c2", ""),
    (
        mx.sym.Group([tanh(SPLIT), conv(SPLIT, "c2")]),
        "requantize_c1 quantized_r r_dequantize tanh quantized_c2",
        "",
    ),
    (
        mx.sym.concat(conv(X, "c1"), conv(X, "c2"), dim=0, name="cat"),
        "c2_dequantize cat",
        "c2_dequantize cat",
    ),
    (
        fc(mx.sym.Embedding(X, input_dim=3, output_dim=2, name="e")),
        "e e_0_quantize quantized_fc",
        "quantized_e quantized_fc",
    ),
    (fc(mx.sym.exp(X, name="exp")), "exp exp_0_quantize quantized_fc", ""),
    (fc(mx.sym.split(X, num_outputs=2, name="sp")[1]), "sp sp_output1_quantize quantized_fc", ""),
    (
        mx.sym.elemwise_mul(conv(X, "c1"), conv(X, "c2"), name="mul"),
        "c2_dequantize mul",
        "quantized_mul requantize_mul mul_dequantize",
    ),
]


@pytest.mark.parametrize(("symbol", "smart", "full"), MODES)
def test_modes(symbol: Any, smart: str, full: str) -> None:
    args = {name: mx.nd.ones((1,)) for name in symbol.list_arguments() if name != "data"}
    for mode, wanted in (("smart", smart), ("full", full or smart)):
        found, _, _, collector = q.quantize_graph(symbol, args, {}, calib_mode="none", quantize_mode=mode)
        assert wanted in names(found)
        assert collector is None


W = mx.sym.var("w", shape=(2, 72))
LAYERS = {
    "sum-pooling": mx.sym.Pooling(conv(X, "c"), kernel=(2, 2), pool_type="sum", name="p"),
    "grouped": conv(X, "c", num_group=2),
    "axis": mx.sym.concat(conv(X, "c"), conv(X, "d"), dim=2),
    "norm": mx.sym.BatchNorm(conv(X, "c"), fix_gamma=False, name="bn"),
    "product": mx.sym.elemwise_mul(conv(X, "c"), conv(X, "d")),
    "weight-used-twice": mx.sym.Group([fc(X, "f", weight=W, no_bias=True), mx.sym.exp(W)]),
    "dense-after-sum-pooling": fc(mx.sym.Pooling(X, kernel=(2, 2), pool_type="sum", name="p")),
}


@pytest.mark.parametrize("mode", ["full", "smart"])
@pytest.mark.parametrize("name", LAYERS)
def test_near_the_network_in_real_numbers(name: str, mode: str) -> None:
    found, levels, error = quantized(LAYERS[name], quantize_mode=mode)
    assert error < 0.03
    assert set(levels) == set(found.list_arguments()) - {"data"}


def test_lstm_from_levels() -> None:
    net = fc(mx.sym.RNN(X, mode="lstm", state_size=3, num_layers=1, name="rnn"))
    data = RANDOM.uniform(-1, 1, (4, 2, 5)).astype("float32")
    found, _, error = quantized(net, data, calib_data=batches(data))
    assert names(found).split()[:3] == ["data_quantize", "quantized_rnn", "rnn_output_quantize"]
    assert error < 0.03
    gru = mx.sym.RNN(X, mode="gru", state_size=3, num_layers=1, name="rnn")
    assert names(quantized(gru, data, calib_data=batches(data))[0]) == "rnn"


def test_excluded_names_and_operators() -> None:
    net = fc(mx.sym.Flatten(relu(conv(X, "c"), "r"), name="flat"))
    assert "quantized_c" not in names(quantized(net, excluded_sym_names=["c"])[0])
    without = names(quantized(net, excluded_op_names=["Flatten", "FullyConnected"])[0])
    assert "quantized_c" in without
    assert "quantized_f" not in without
    with pytest.warns(UserWarning, match="no node 'cc'; did you mean 'c'"):
        quantized(net, excluded_sym_names=["cc"])
    args, aux = params(net, data=DATA.shape)
    given = {"calib_mode": "none", "excluded_sym_names": ["c"]}
    assert names(q.quantize_model_mkldnn(net, args, aux, **given)[0]).startswith("sg_mkldnn_conv_act_0 ")


# Calibration.


@pytest.mark.parametrize(
    "mode", ["naive", pytest.param("entropy", marks=pytest.mark.slow), "percentile", "none"]
)
def test_calibration_modes(mode: str) -> None:
    net = fc(X)
    data = RANDOM.standard_normal((512, 3)).astype("float32")
    data[0, 0] = 40.0  # an outlier
    found, _, _ = quantized(net, data, calib_data=batches(data, 64), calib_mode=mode, percentile=99.0)
    given = found.attr_dict()["data_quantize"]
    if mode == "none":
        assert "max_calib_range" not in given
    else:
        high = float(given["max_calib_range"])
        assert high == 40 if mode == "naive" else high < 10


def test_num_calib_examples_and_several_labels() -> None:
    net = mx.sym.Group(
        [mx.sym.LinearRegressionOutput(fc(X), name="one"), mx.sym.MakeLoss(mx.sym.var("extra"))]
    )
    data = np.arange(8, dtype="float32").reshape(8, 1)
    args, _ = params(fc(X), data=(2, 1))
    given = mx.io.NDArrayIter(data, {"extra": np.zeros(8), "one_label": np.zeros((8, 2))}, 2)
    for limit, largest in ((3, "3.000000"), (None, "7.000000")):
        found, _, _ = q.quantize_model(
            net, args, {}, label_names=["extra", "one_label"], calib_mode="naive", calib_data=given,
            num_calib_examples=limit,
        )  # fmt: skip
        assert found.attr_dict()["data_quantize"]["max_calib_range"] == largest


def test_two_steps_with_a_monitor_are_one() -> None:
    net = fc(relu(conv(X, "c")))
    args, aux = params(net, data=DATA[:4].shape)
    for mode in ("naive", "percentile"):
        whole, _, _ = q.quantize_model(
            net, args, aux, calib_mode=mode, calib_data=batches(), quantize_mode="full"
        )
        symbol, _, _, collector = q.quantize_graph(net, args, aux, calib_mode=mode)
        executor = net.simple_bind(mx.cpu(), data=DATA[:4].shape, grad_req="null")
        executor.copy_params_from(args, aux)
        executor.set_monitor_callback(collector.collect, monitor_all=True)
        for start in range(0, 16, 4):
            executor.forward(data=mx.nd.array(DATA[start : start + 4]))
        assert q.calib_graph(symbol, args, aux, collector, calib_mode=mode)[0].tojson() == whole.tojson()


def test_customize_takes_the_ranges_of_a_collector() -> None:
    class Fixed:
        min_max_dict = {"data": (-2.0, 1.0)}

        def collect(self, name: str, arr: Any) -> None: ...

    net = fc(X)
    args, _ = params(net, data=(1, 3))
    symbol, levels, _, collector = q.quantize_graph(
        net, args, {}, calib_mode="customize", LayerOutputCollector=Fixed()
    )
    assert isinstance(collector, Fixed)
    found, again, _ = q.calib_graph(symbol, levels, {}, collector, calib_mode="customize")
    assert found.attr_dict()["data_quantize"]["min_calib_range"] == "-2.000000"
    assert "min_calib_range" not in found.attr_dict()["requantize_fc"]
    assert again.keys() == levels.keys()


def test_histograms_grow_as_in_mxnet() -> None:
    old = (np.array([1, 2, 3]), np.array([-1.0, -0.3, 0.3, 1.0]), -1.0, 1.0, 1.0)
    counts, edges, low, high, th = q.combine_histogram(old, np.array([-0.5, 0.5, 2.0]), -0.5, 2.0, 2.0)
    assert (counts.tolist(), low, high) == ([0, 0, 2, 2, 4, 0, 1], -1.0, 2.0)
    np.testing.assert_allclose(edges[[0, -1]], [-th, th])
    np.testing.assert_allclose(th, 7 / 3)
    collector = q._LayerHistogramCollector(num_bins=3)
    for values in ([0.0, 0.0], [-1.5, 1.0], [0.0, 3.0]):
        collector.collect("x", mx.nd.array(values))
    assert collector.hist_dict["x"].hist.sum() == 6
    assert collector.hist_dict["x"].th >= 3


def test_tiny_ranges_have_digits() -> None:
    net = fc(X)
    found, _, error = quantized(net, 1e-7 * DATA, calib_data=batches(1e-7 * DATA))
    assert float(found.attr_dict()["data_quantize"]["max_calib_range"]) == pytest.approx(1e-7, rel=0.1)
    assert error < 1  # the bias is near all of the output


def test_logger_hears_of_each_step(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="quantize"):
        quantized(fc(X), calib_mode="percentile", logger=logging.getLogger("quantize"))
        hist = Histogram(np.array([0, 1, 9, 1, 0]), np.arange(6) - 2.5, -1.0, 1.0, 2.5)
        optimal_thresholds({"fc_output": hist}, "int8", 3, logging.getLogger("quantize"))
    text = caplog.text
    for part in (
        "Quantizing symbol",
        "Collecting layer data histogram",
        "Collected statistics from 4 batches",
    ):
        assert part in text
    assert "layer=fc_output, min_val=" in text


def test_symbol_from_a_file(tmp_path: Path) -> None:
    net, path = fc(X), tmp_path / "net-symbol.json"
    net.save(str(path))
    args, _ = params(net, data=(1, 3))
    assert names(q.quantize_model(str(path), args, {}, calib_mode="none")[0]).startswith("data_quantize")
    with pytest.raises(FileNotFoundError):
        q.quantize_model(str(tmp_path / "none.json"), args, {}, calib_mode="none")


MISTAKES = [
    ({"calib_mode": "best"}, ParameterError, "calib_mode must be one of .*; got 'best'"),
    (
        {"quantized_dtype": "int4"},
        ParameterError,
        "quantized_dtype must be 'int8', 'uint8' or 'auto'; got 'int4'",
    ),
    ({"quantize_mode": "half"}, ParameterError, "quantize_mode must be 'full' or 'smart'; got 'half'"),
    (
        {"quantize_granularity": "row"},
        ParameterError,
        "quantize_granularity must be 'tensor-wise' or 'channel-wise'; got 'row'",
    ),
    (
        {"excluded_sym_names": "c"},
        ParameterError,
        "excluded_sym_names must be a list of the names that are not quantized",
    ),
    (
        {"excluded_op_names": 3},
        ParameterError,
        "excluded_op_names must be a list of the names that are not quantized",
    ),
    ({"calib_data": None}, ParameterError, "calib_data must be given for calib_mode='naive'"),
    ({"calib_data": mx.nd.ones((2, 2))}, ArgumentError, "calib_data must be of DataIter type; got NDArray"),
    ({"calib_mode": "customize"}, ParameterError, "is for quantize_graph"),
    ({"percentile": 0}, ParameterError, r"percentile must be within \(0, 100\]; got 0"),
]


@pytest.mark.parametrize(("given", "kind", "says"), MISTAKES)
def test_mistakes(given: dict[str, Any], kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        quantized(fc(X), **given)


def test_mistakes_with_graphs() -> None:
    net = fc(X)
    args, _ = params(net, data=(1, 3))
    with pytest.raises(ArgumentError, match="sym must be a Symbol or the path of its file; got 3"):
        q.quantize_model(3, args, {})
    with pytest.raises(
        ParameterError, match="calib_mode must be 'naive', 'entropy' or 'percentile'; got 'none'"
    ):
        q.calib_graph(net, args, {}, None, calib_mode="none")
    with pytest.raises(ArgumentError, match="collector must be what quantize_graph returned"):
        q.calib_graph(net, args, {}, None)
    with pytest.raises(ParameterError, match="needs a LayerOutputCollector"):
        q.quantize_graph(net, args, {}, calib_mode="customize")
    with pytest.raises(ParameterError, match="num_bins must be odd"):
        q._LayerHistogramCollector(num_bins=4)


# Blocks.


def block() -> Any:
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Conv2D(2, 1), mx.gluon.nn.Activation("relu"), mx.gluon.nn.Dense(3))
    net.initialize(mx.init.Uniform(1.0))
    return net


@pytest.mark.parametrize("data", [batches(), [mx.nd.array(DATA)], [[mx.nd.array(DATA), mx.nd.zeros(16)]]])
def test_quantize_net(data: Any) -> None:
    net = block()
    found = q.quantize_net(net, calib_data=data, calib_mode="naive")
    x = mx.nd.array(DATA)
    actual, expected = found(x).asnumpy(), net(x).asnumpy()
    assert np.abs(actual - expected).max() < 0.03 * np.abs(expected).max()
    wanted = "data_quantize quantized_sg_mkldnn_conv_act_0 quantized_sg_mkldnn_fully_connected_0"
    assert names(found(mx.sym.var("data"))) == wanted


def test_quantize_net_leaves_what_is_excluded() -> None:
    shapes = [mx.io.DataDesc("data", DATA.shape)]
    for given in ({"exclude_layers_match": ["conv"]}, {"exclude_operators": ["Convolution"]}):
        found = q.quantize_net_v2(block(), data_shapes=shapes, **given)
        assert names(found(mx.sym.var("data"))).startswith(
            "sg_mkldnn_conv_act_0 sg_mkldnn_conv_act_0_output_q"
        )


def test_quantize_net_with_a_collector() -> None:
    collector = q._LayerOutputMinMaxCollector("int8")
    given = {"calib_data": [mx.nd.array(DATA)], "calib_mode": "customize"}
    found = q.quantize_net_v2(block(), LayerOutputCollector=collector, **given)
    assert "data" in collector.min_max_dict
    assert "requantize" not in names(found(mx.sym.var("data")))
    with pytest.raises(ParameterError, match="needs a LayerOutputCollector and calib_data"):
        q.quantize_net_v2(block(), **given)


def test_quantize_net_mistakes() -> None:
    with pytest.raises(ParameterError, match="data_shapes or calib_data must be given"):
        q.quantize_net(block())
    with pytest.raises(ArgumentError, match="network must be a HybridBlock; got <Symbol fc>"):
        q.quantize_net(fc(X))
    with pytest.raises(ArgumentError, match="calib_data must be a DataIter, or an iterable over arrays"):
        q.quantize_net(block(), calib_data=["a"], calib_mode="naive")


# What users see of it: accuracy and speed.


@pytest.fixture(scope="module")
def examples() -> Any:
    pytest.importorskip("sklearn")
    sys.path.insert(0, EXAMPLES)
    try:
        import digits
        import mixed_precision
    finally:
        sys.path.remove(EXAMPLES)
    return digits, mixed_precision


#: What each costs: a share of the digits, of which a percent is 3.6.
POINT = 0.01


def accuracies(examples: Any, network: Any, epochs: int, modes: tuple[str, ...]) -> tuple[float, list[float]]:
    """The share of digits read right in real numbers, and in 8 bits by each function and kind of calibration."""
    digits, mixed_precision = examples
    with torch.random.fork_rng():
        module, _ = mixed_precision.trained(network, epochs)
        args, aux = module.get_params()
    learned, _ = digits.digits()
    found = []
    for make in (q.quantize_model, q.quantize_model_mkldnn):
        for mode in modes:
            symbol, levels, states = make(
                network, args, aux, calib_mode=mode, calib_data=learned, num_calib_examples=256,
                quantized_dtype="auto",
            )  # fmt: skip
            found.append(mixed_precision.tested(symbol, levels, states)[0])
    return mixed_precision.tested(network, args, aux)[0], found


def test_lenet_reads_digits_as_before(examples: Any) -> None:
    floats, levels = accuracies(examples, examples[0].lenet(), 2, ("naive", "percentile"))
    assert floats > 0.9
    assert min(levels) >= floats - POINT


@pytest.mark.slow
def test_resnet_reads_digits_as_before(examples: Any) -> None:
    floats, levels = accuracies(examples, examples[1].resnet(), 3, ("naive", "percentile"))
    assert floats > 0.95
    assert min(levels) >= floats - POINT
