"""Arithmetic with 8-bit whole numbers, where no record of MXNet can tell: exactness, errors, odd sizes and types."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import rebind as mx
from rebind.errors import MXNetError
from rebind.ops import OPERATORS, all_operators

HERE = [op for op in all_operators() if op.kernels.function.__module__.startswith("rebind.ops.quantization")]
INT8 = (-128, 128)
UINT8 = (0, 256)


def call(name: str, *tensors: torch.Tensor | None, **parameters):
    op = OPERATORS[f"_contrib_{name}"]
    return op(*tensors, **op.signature.keywords(op.parse(parameters)))


def one(*numbers: float) -> list[torch.Tensor]:
    return [torch.tensor([number]) for number in numbers]


def levels(dtype: torch.dtype, *shape: int, extreme: bool = False) -> torch.Tensor:
    low, high = UINT8 if dtype is torch.uint8 else INT8
    if extreme:
        return torch.full(shape, low if dtype is torch.int8 else high - 1, dtype=dtype)
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(1)).to(dtype)


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (20, 64), (17, 4097), (0, 4), (2, 0)])
def test_products_are_exact(shape, dtype, extreme):
    rows, columns = shape
    data = levels(dtype, rows, columns, extreme=extreme)
    weight = levels(torch.int8, 8, columns, extreme=extreme)
    out, low, high = call(
        "quantized_fully_connected", data, weight, None, *one(-1, 2, -3, 1), num_hidden=8, no_bias=True
    )
    assert torch.equal(out, (data.long() @ weight.long().t()).int())
    width = 127 if dtype is torch.int8 else 255
    assert high.item() == pytest.approx(2 / width * 3 / 127 * (2**31 - 1)) and low == -high


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
@pytest.mark.parametrize(
    ("data_shape", "weight_shape", "parameters"),
    [
        ((2, 3, 9), (4, 3, 3), {"stride": 2, "pad": 2}),
        ((2, 4, 7, 6), (6, 2, 3, 2), {"stride": (2, 1), "pad": (1, 1), "groups": 2}),
        ((1, 130, 5, 5), (3, 130, 3, 3), {"pad": 1}),  # more than one part on the CPU
        ((1, 300, 4, 4), (4, 150, 3, 3), {"dilation": 1, "groups": 2}),
        ((1, 2, 30, 40), (1, 2, 24, 25), {}),  # a window whose sums leave float32
        ((1, 2, 4, 5, 4), (3, 2, 2, 2, 2), {"pad": (1, 0, 0)}),
        ((0, 2, 4, 4), (3, 2, 2, 2), {}),
    ],
)
def test_convolutions_are_exact(data_shape, weight_shape, parameters, dtype, extreme):
    data = levels(dtype, *data_shape, extreme=extreme)
    weight = levels(torch.int8, *weight_shape, extreme=extreme)
    convolve = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[data.ndim]
    names = {"stride": "stride", "pad": "padding", "groups": "groups", "dilation": "dilation"}
    exact = convolve(data.double(), weight.double(), **{names[k]: v for k, v in parameters.items()})
    own = {"stride": "stride", "pad": "pad", "groups": "num_group", "dilation": "dilate"}
    axes = data.ndim - 2
    given = {
        own[k]: v if k == "groups" else (v if isinstance(v, tuple) else (v,) * axes)
        for k, v in parameters.items()
    }
    out, *_ = call(
        "quantized_conv", data, weight, None, *one(-1, 2, -3, 1),
        kernel=weight_shape[2:], num_filter=weight_shape[0], no_bias=True, **given,
    )  # fmt: skip
    assert torch.equal(out, exact.int())


@pytest.mark.parametrize(
    ("name", "arrays", "moved", "parameters", "last"),
    [
        pytest.param(
            "quantized_conv",
            [
                levels(torch.int8, 2, 3, 6, 5),
                levels(torch.int8, 4, 3, 3, 3),
                levels(torch.int8, 4),
                *one(-1, 2, -0.5, 0.5, -0.2, 0.1),
            ],
            2,
            {"kernel": (3, 3), "num_filter": 4},
            {"layout": "NHWC"},
            id="convolution",
        ),
        pytest.param(
            "quantized_batch_norm",
            [
                levels(torch.uint8, 4, 3, 5),
                torch.tensor([0.6, 1.1, 1.4]),
                torch.tensor([-0.7, 0.1, 0.4]),
                torch.tensor([0.5, -0.9, 1.2]),
                torch.tensor([0.7, 1.3, 0.9]),
                *one(0, 2),
            ],
            1,
            {},
            {"axis": -1},
            id="batch-norm",
        ),
    ],
)
def test_channels_last_are_channels_first(name, arrays, moved, parameters, last):
    first = call(name, *arrays, **parameters)
    turned = [array.movedim(1, -1) for array in arrays[:moved]]
    found = call(name, *turned, *arrays[moved:], **parameters, **last)
    assert torch.equal(first[0], found[0].movedim(-1, 1))


@pytest.mark.parametrize("out_type", ["int8", "uint8"])
@pytest.mark.parametrize("kind", ["quantized_conv", "quantized_fully_connected"])
def test_quantized_layers_come_near_the_layers(kind, out_type):
    """The ranges of sums and the bias are right: MXNet's convolution has both wrong."""
    torch.manual_seed(0)
    data, weight, bias = torch.rand(2, 4, 6, 6), torch.randn(3, 4, 6, 6), torch.randn(3)
    if kind == "quantized_conv":
        weight, own = weight[..., :3, :3].contiguous(), {"kernel": (3, 3), "num_filter": 3}
        exact = F.conv2d(data, weight, bias)
    else:
        weight, own = weight.flatten(1), {"num_hidden": 3}
        exact = F.linear(data.flatten(1), weight, bias)
    d, *of_d = call("quantize_v2", data, out_type=out_type)
    w, *of_w = call("quantize_v2", weight)
    b, *of_b = call("quantize_v2", bias)
    sums = call(kind, d, w, b, *of_d, *of_w, *of_b, **own)
    back = call("dequantize", *call("requantize", *sums))
    assert (back - exact).abs().max() < 0.03 * exact.abs().max()


def test_bias_out_of_proportion_stays_within_int32():
    data, weight = torch.ones(1, 2, dtype=torch.int8), torch.ones(1, 2, dtype=torch.int8)
    bias = torch.tensor([127], dtype=torch.int8)
    out, *_ = call(
        "quantized_fully_connected", data, weight, bias, *one(-1e-6, 1e-6, -1e-5, 1e-5, -1, 1), num_hidden=1
    )
    assert out.item() > 2**31 - 2**17


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("out_type", ["int8", "uint8"])
def test_round_trip(dtype, out_type):
    data = torch.linspace(0 if out_type == "uint8" else -3, 3, 101).to(dtype)
    back = call("dequantize", *call("quantize_v2", data, out_type=out_type))
    assert back.dtype is torch.float32
    assert (back - data.float()).abs().max() <= 3 / 127.5 * (1 if out_type == "int8" else 0.5) + 1e-6


@pytest.mark.parametrize("shape", [(), (0,), (4,), (2, 3), (2, 1, 3, 2)])
def test_asymmetric_levels_for_any_number_of_axes(shape):
    data = torch.arange(float(np.prod(shape))).reshape(shape) - 1
    out, scale, shift = call("quantize_asym", data)
    assert out.shape == shape and out.dtype is torch.uint8
    if data.numel() > 1:
        assert out.min() == 0 and out.max() == 255
        assert torch.allclose((out - shift) / scale, data, atol=0.5 / scale.item())


@pytest.mark.parametrize(
    ("name", "tensors", "parameters", "expected", "ends"),
    [
        pytest.param("quantize_v2", [torch.zeros(3)], {}, [0, 0, 0], (0, 0), id="zeros"),
        pytest.param("quantize_v2", [torch.zeros(0, 2)], {}, [], (0, 0), id="empty"),
        pytest.param(
            "requantize",
            [torch.zeros(3, dtype=torch.int32), *one(-1, 1)],
            {},
            [0, 0, 0],
            (0, 0),
            id="zero-sums",
        ),
        pytest.param(
            "requantize", [torch.zeros(0, 2, dtype=torch.int32), *one(-1, 1)], {}, [], (0, 0), id="empty-sums"
        ),
        pytest.param(
            "requantize",
            [torch.tensor([-(2**31), 2**30], dtype=torch.int32), *one(-1, 1)],
            {},
            [-127, 64],
            (-1, 1),
            id="the-least-int32-has-a-magnitude",
        ),
        pytest.param(
            "quantize_v2",
            [levels(torch.uint8, 5)],
            {"out_type": "int8"},
            levels(torch.uint8, 5).tolist(),
            (0, 255.5),
            id="what-is-quantized-passes",
        ),
        pytest.param(
            "quantized_elemwise_mul",
            [
                torch.tensor([127, -128], dtype=torch.int8),
                torch.tensor([127, 127], dtype=torch.int8),
                *one(-1, 1, -1, 1),
            ],
            {"min_calib_range": -0.1, "max_calib_range": 0.1},
            [127, -128],
            (pytest.approx(-0.1), pytest.approx(0.1)),
            id="a-product-beyond-its-range-takes-the-outermost-level",
        ),
    ],
)
def test_levels_and_ranges(name, tensors, parameters, expected, ends):
    out, low, high = call(name, *tensors, **parameters)
    assert out.tolist() == expected and (low.item(), high.item()) == ends


def test_no_gradient_flows():
    data = torch.randn(3, requires_grad=True)
    assert not any(out.requires_grad for out in call("quantize_v2", data))


@pytest.mark.parametrize("left", (torch.int8, torch.uint8))
@pytest.mark.parametrize("right", (torch.int8, torch.uint8))
def test_sums_without_calibration_are_right_for_every_pair_of_types(left, right):
    lhs, rhs = levels(left, 4, 5), levels(right, 4, 5)
    out, low, high = call("quantized_elemwise_add", lhs, rhs, *one(-1, 2, -0.5, 0.25))
    widths = {torch.int8: 127.5, torch.uint8: 255.5}
    real = lhs * 2.0 / widths[left] + rhs * 0.5 / widths[right]
    assert (low.item(), high.item()) == (-2.5, 2.5)
    assert torch.allclose(out.double() * 2.5 / (2**31 - 1), real.double(), atol=1e-6)


@pytest.mark.parametrize("calibration", [{}, {"min_calib_range": -6.0, "max_calib_range": 6.0}])
@pytest.mark.parametrize("fix", [False, True])
def test_batch_norm_is_batch_norm(fix, calibration):
    torch.manual_seed(0)
    data = levels(torch.uint8, 4, 3, 5)
    gamma, beta, mean, variance = torch.rand(3) + 0.5, torch.randn(3), torch.randn(3), torch.rand(3) + 0.5
    exact = F.batch_norm(data * (2 / 255.5), mean, variance, None if fix else gamma, beta, eps=0.1)
    out, low, high = call(
        "quantized_batch_norm", data, gamma, beta, mean, variance, *one(0, 2),
        eps=0.1, fix_gamma=fix, **calibration,
    )  # fmt: skip
    back = call("dequantize", out, low, high)
    assert (back - exact).abs().max() <= 0.51 * max(high.item(), 6) / 127.5 + 1e-5


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_mean_of_a_window_cut_short_divides_by_what_is_there(layout):
    data = torch.full((1, 1, 3, 3), 100, dtype=torch.int8)
    out, *_ = call(
        "quantized_pooling", data if layout == "NCHW" else data.movedim(1, -1), *one(-1, 1),
        kernel=(2, 2), stride=(2, 2), pool_type="avg", pooling_convention="full", layout=layout,
    )  # fmt: skip
    assert (out == 100).all() and out.numel() == 4


@pytest.mark.parametrize("bidirectional", [False, True])
def test_rnn_comes_near_the_rnn(bidirectional):
    torch.manual_seed(0)
    given = {"state_size": 8, "num_layers": 2, "mode": "lstm", "bidirectional": bidirectional}
    symbol = mx.sym.RNN(mx.sym.var("data"), name="op", **given)
    shapes, _, _ = symbol.infer_shape(data=(5, 3, 4))
    parameters, *states = (torch.rand(shape) - 0.5 for shape in shapes[1:])
    data = torch.randn(5, 3, 4)
    exact = OPERATORS["RNN"].kernels.function(data, parameters, *states, **given, state_outputs=True)
    quantized = call("quantize_asym", data)
    out = call(
        "quantized_rnn", quantized[0], parameters, *states, *quantized[1:], state_outputs=True, **given
    )
    assert all((one - other).abs().max() < 0.02 for one, other in zip(out, exact, strict=True))


def test_rnn_as_mxnet_writes_it():
    symbol = mx.sym.contrib.quantized_rnn(name="op", mode="lstm", num_layers=1, state_size=4)
    graph = json.loads(symbol.tojson())
    graph["nodes"][-1]["attrs"]["quantized"] = "true"
    loaded = mx.sym.load_json(json.dumps(graph))
    assert loaded.list_arguments() == [
        f"op_{name}" for name in ("data", "parameters", "state", "state_cell", "min_data", "max_data")
    ]
    _, (out,), _ = loaded.infer_shape(op_data=(2, 3, 5))
    assert out == (2, 3, 4)


def test_entropy_on_a_large_histogram():
    counts = torch.randn(20000, generator=torch.Generator().manual_seed(0)).mul(3)
    counts[0] = 100.0  # alone far out: the threshold leaves it out
    hist = torch.histc(counts, 4001, -100, 100)
    threshold, divergence = call("calibrate_entropy", hist, torch.linspace(-100, 100, 4002))
    assert 5 < threshold.item() < 30 and 0 <= divergence.item() < 0.1


@pytest.mark.parametrize("hist", [torch.zeros(11), torch.tensor([0.0] * 5 + [9.0] + [0.0] * 5)])
def test_entropy_without_information_takes_the_smallest_part(hist):
    threshold, divergence = call("calibrate_entropy", hist, torch.arange(12.0) - 5.5, num_quantized_bins=5)
    assert threshold.item() == 2.5
    assert divergence.item() == (0 if hist.any() else torch.finfo(torch.float32).max)


def test_without_a_bias_there_is_no_range_of_it():
    names = ("min_data", "max_data", "min_weight", "max_weight")
    ends = dict(zip(names, map(mx.nd.array, ([-1], [1], [-1], [1])), strict=True))
    data, weight = mx.nd.ones((2, 3), dtype="int8"), mx.nd.ones((4, 3), dtype="int8")
    out, _, high = mx.nd.contrib.quantized_fully_connected(data, weight, num_hidden=4, no_bias=True, **ends)
    assert (out.asnumpy() == 3).all() and high.shape == (1,)


I8, U8, F4 = torch.zeros(2, 2, dtype=torch.int8), torch.zeros(2, 2, dtype=torch.uint8), torch.zeros(2, 2)


@pytest.mark.parametrize(
    ("name", "tensors", "parameters", "says"),
    [
        (
            "quantize",
            [I8, *one(0, 1)],
            {},
            "data must be float32 or float64 or float16 or bfloat16; got int8",
        ),
        ("quantize", [F4, F4, *one(1)], {}, "min_range must have one element, shape (1,); got (2, 2)"),
        ("dequantize", [F4, *one(0, 1)], {}, "_contrib_dequantize: data must be int8 or uint8; got float32"),
        ("quantize_v2", [F4], {"min_calib_range": 1.0}, "must be given together; got 1.0 and None"),
        ("requantize", [I8, *one(0, 1)], {}, "data must be int32; got int8"),
        (
            "requantize",
            [],
            {"min_calib_range": 1.0, "max_calib_range": 0.0},
            "min_calib_range must be at most max_calib_range; got 1.0 and 0.0",
        ),
        ("quantized_act", [I8, *one(0, 1)], {"act_type": "tanh"}, "act_type must be 'relu'; got 'tanh'"),
        (
            "quantized_pooling",
            [I8],
            {"kernel": (2, 2), "pool_type": "sum"},
            "must be 'max' or 'avg'; got 'sum'",
        ),
        (
            "quantized_fully_connected",
            [I8, I8, *one(0, 1)],
            {"num_hidden": 2, "no_bias": True},
            "needs min_data, max_data, min_weight, max_weight after weight with no_bias=True; got 2 arrays",
        ),
        (
            "quantized_fully_connected",
            [I8, I8, None, *one(0, 1, 0, 1)],
            {"num_hidden": 3, "no_bias": True},
            "weight must have shape (3, 2) to match data (2, 2); got (2, 2)",
        ),
        ("quantized_concat", [I8, I8, *one(0, 1)], {"num_args": 2}, "needs 6 arrays for num_args=2"),
        (
            "quantized_concat",
            [I8, torch.zeros(3, 2, dtype=torch.int8), *one(0, 1, 0, 1)],
            {"num_args": 2},
            "arg1 must have the shape of arg0, (2, 2), but for axis 1; got (3, 2)",
        ),
        (
            "quantized_elemwise_add",
            [I8, torch.zeros(3, dtype=torch.int8), *one(0, 1, 0, 1)],
            {},
            "rhs must have the shape of lhs, (2, 2); got (3,)",
        ),
        (
            "quantized_embedding",
            [F4, I8, *one(0, 1)],
            {"input_dim": 3, "output_dim": 2},
            "weight must have shape (3, 2); got (2, 2)",
        ),
        (
            "quantized_batch_norm",
            [I8, *(torch.ones(3) for _ in range(4)), *one(0, 1)],
            {},
            "gamma must have shape (2,) to match axis 1 of data (2, 2); got (3,)",
        ),
        (
            "quantized_rnn",
            [],
            {"mode": "gru", "state_size": 2, "num_layers": 1},
            "_contrib_quantized_rnn: mode must be 'lstm'; got 'gru'",
        ),
        (
            "calibrate_entropy",
            [torch.ones(10), torch.ones(11)],
            {"num_quantized_bins": 5},
            "hist must have an odd number of bins, at least num_quantized_bins 5; got shape (10,)",
        ),
        (
            "calibrate_entropy",
            [torch.ones(11), torch.ones(11)],
            {"num_quantized_bins": 5},
            "hist_edges must have shape (12,) to match hist (11,); got (11,)",
        ),
    ],
)
def test_mistakes_meet_a_sentence(name, tensors, parameters, says):
    with pytest.raises(MXNetError) as caught:
        call(name, *tensors, **parameters)
    assert says in str(caught.value)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
@pytest.mark.parametrize(
    ("shape", "settings"),
    [
        ((2, 3, 7, 8), {"kernel": (2, 2), "stride": (2, 2)}),
        ((1, 5, 4, 5), {"kernel": (3, 2), "pad": (1, 1)}),
        ((1, 16, 9, 9), {"kernel": (3, 3), "stride": (2, 1), "pad": (1, 0)}),
        ((1, 2, 6, 6), {"kernel": (3, 3), "stride": (2, 2), "pooling_convention": "full"}),
        ((1, 2, 6, 6), {"kernel": (1, 1), "global_pool": True}),
        ((1, 2, 6), {"kernel": (2,)}),
        ((0, 2, 6, 6), {"kernel": (2, 2)}),
    ],
)
@pytest.mark.parametrize("last", [False, True])
def test_maxima_of_bytes_are_those_of_numbers(shape, settings, dtype, last):
    data = levels(dtype, *shape)
    if last and data.dim() == 4:
        data = data.contiguous(memory_format=torch.channels_last)
    out, *_ = call("quantized_pooling", data, *one(-1, 1), pool_type="max", **settings)
    pooling = OPERATORS["Pooling"]
    expected = pooling(
        data.float(), **pooling.signature.keywords(pooling.parse({"pool_type": "max", **settings}))
    )
    assert torch.equal(out, expected.to(dtype))
