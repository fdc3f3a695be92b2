"""Layers: what the recorded numbers do not cover. Messages, layouts, random behaviour, half types."""

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import rebind as mx
import rebind.ops.loss
import rebind.ops.nn
import rebind.ops.sequence
from rebind.errors import ParameterError, ShapeError
from rebind.ops import explain, find


def call(name, *tensors, training=None, generator=None, **given):
    op = find(name)
    p = op.parse(given)
    modes = {"training": training, "generator": generator}
    return op(
        *tensors,
        **op.signature.keywords(p),
        **{k: v for k, v in modes.items() if k in op.signature.modes and v is not None},
    )


def randn(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize("name", ["Convolution", "Deconvolution"])
@pytest.mark.parametrize("layout", ["NHWC", "NDHWC"])
def test_channels_last_is_channels_first_moved(name, layout):
    axes = len(layout) - 2
    data, weight = randn(2, 4, *(5,) * axes), randn(4, 2, *(3,) * axes, seed=1)
    given = {"kernel": (3,) * axes, "num_filter": 4, "num_group": 2, "stride": (2,) * axes, "no_bias": True}
    first = call(name, data, weight, **given)
    last = call(name, data.movedim(1, -1), weight.movedim(1, -1), layout=layout, **given)
    assert last.is_contiguous()
    torch.testing.assert_close(last.movedim(-1, 1), first)


@pytest.mark.parametrize("axes", (1, 2, 3))
def test_deconvolution_is_the_transpose_of_convolution(axes):
    data, out = randn(2, 3, *(5,) * axes), randn(2, 4, *(3,) * axes, seed=1)
    weight = randn(4, 3, *(3,) * axes, seed=2)
    given = {"kernel": (3,) * axes, "stride": (2,) * axes, "pad": (1,) * axes, "no_bias": True}
    forward = call("Convolution", data, weight, num_filter=4, **given)
    back = call("Deconvolution", out, weight, num_filter=3, **given)
    torch.testing.assert_close((forward * out).sum(), (data * back).sum())


@pytest.mark.parametrize("target", [7, 8, 9])
def test_deconvolution_target_shape(target):
    data, weight = randn(1, 1, 4), randn(1, 1, 3, seed=1)
    whole = call("Deconvolution", data, weight, kernel=3, num_filter=1, stride=2)
    out = call("Deconvolution", data, weight, kernel=3, num_filter=1, stride=2, target_shape=target)
    start = (whole.shape[2] - target + 1) // 2
    torch.testing.assert_close(F.pad(out, (start, 0))[..., start : start + target], out)
    torch.testing.assert_close(F.pad(whole, (0, 1))[..., start : start + target], out)


@pytest.mark.parametrize(
    ("pool", "wanted"), [("max", [2, 4, 6, 6]), ("sum", [3, 9, 15, 6]), ("avg", [1, 3, 5, 6])]
)
def test_pooling_same_covers_the_end(pool, wanted):
    data = torch.arange(7.0).view(1, 1, 7)
    out = call("Pooling", data, kernel=3, stride=2, pooling_convention="same", pool_type=pool)
    assert out.flatten().tolist() == wanted  # max as MXNet gives it, where it can be made to run


@pytest.mark.parametrize(
    ("pool", "wanted"),
    [
        ("max", [10, 10, 12, 12]),
        ("avg", [11 / 3, 11 / 3, 5, 5]),
        ("sum", [44, 44, 60, 60]),
        ("lp", [18, 18, 532**0.5, 532**0.5]),
    ],
)
def test_pooling_of_volumes_that_are_smaller_than_a_window_without_padding(pool, wanted):
    data = torch.arange(1.0, 13).view(1, 1, 2, 3, 2)
    out = call("Pooling", data, kernel=(2, 2, 3), pad=(0, 0, 1), pool_type=pool, p_value=2)
    torch.testing.assert_close(out.flatten(), torch.tensor(wanted, dtype=torch.float32))  # MXNet's


def test_global_max_gives_its_gradient_to_the_first_of_equals():
    data = torch.zeros(1, 1, 2, 2, requires_grad=True)
    call("Pooling", data, global_pool=True).sum().backward()
    assert data.grad.flatten().tolist() == [1, 0, 0, 0]


def drop(data, seed=1, **given):
    return call("Dropout", data, generator=torch.Generator().manual_seed(seed), **given)


def test_dropout():
    data = torch.ones(200, 300)
    out, mask = drop(data, p=0.3, training=True)
    again, _ = drop(data, p=0.3, training=True)
    assert torch.equal(out, again) and torch.equal(out, mask)
    assert set(out.unique().tolist()) == {0.0, float(torch.tensor(1.0) / torch.tensor(0.7))}
    assert abs((out == 0).double().mean() - 0.3) < 0.01
    assert call("Dropout", data, p=0.3)[0] is data


@pytest.mark.parametrize(
    ("given", "drops"),
    [
        ({"p": 0.3}, False),
        ({"p": 0.3, "training": True}, True),
        ({"p": 0.3, "mode": "always"}, True),
        ({"p": 0.0, "training": True}, False),
    ],
    ids=str,
)
def test_when_dropout_drops(given, drops):
    data = torch.ones(200, 300)
    assert torch.equal(call("Dropout", data, **given)[0], data) is not drops


def test_dropout_along_axes():
    out, mask = call("Dropout", torch.ones(50, 6, 7), p=0.5, axes=(1, -1), training=True)
    assert mask.shape == (50, 1, 1)
    assert torch.equal(out, mask.expand(50, 6, 7))


def test_dropout_of_everything():
    data = torch.ones(3, requires_grad=True)
    out, _ = drop(data, p=1.0, training=True)
    out.sum().backward()
    assert out.eq(0).all() and data.grad.eq(0).all()


def test_rrelu():
    data = torch.linspace(-1, 1, 10001).requires_grad_()
    out, mask = call("LeakyReLU", data, act_type="rrelu", training=True, generator=torch.Generator())
    slopes = mask[data < 0]
    assert slopes.min() >= 0.125 and slopes.max() <= 0.334 and abs(slopes.mean() - 0.2295) < 0.005
    assert (mask[data > 0] == 1).all()
    out.sum().backward()
    assert torch.equal(data.grad, mask)
    out, mask = call("LeakyReLU", data, act_type="rrelu")
    torch.testing.assert_close(out, F.leaky_relu(data, 0.2295))
    assert not mask.any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_batch_norm_of_half_data_keeps_statistics_in_float(dtype):
    data = randn(8, 3, 4, 4, dtype=torch.float32).to(dtype).requires_grad_()
    params = [torch.ones(3), torch.zeros(3), torch.zeros(3), torch.ones(3)]
    for training in (False, True):
        out, *statistics = call("BatchNorm", data, *params, training=training)
        assert out.dtype == dtype
        assert all(s is None or s.dtype == torch.float32 for s in statistics)
        out.sum().backward()


def test_batch_norm_ignores_a_stored_gamma_that_is_fixed():
    data, beta = randn(4, 3), torch.zeros(3).double()
    gamma = torch.tensor([2.0, 0.0, -1.0]).double().requires_grad_()
    stats = torch.zeros(3).double(), torch.ones(3).double()
    out = call("BatchNorm", data, gamma, beta, *stats, training=True)[0]
    assert not out.requires_grad
    torch.testing.assert_close(out, (data - data.mean(0)) / (data.var(0, correction=0) + 1e-3).sqrt())


@pytest.mark.parametrize(
    ("name", "data", "weight", "bias", "given", "shape"),
    [
        ("FullyConnected", (0, 2, 3), (4, 6), torch.ones(4), {"num_hidden": 4}, (0, 4)),
        ("Convolution", (0, 2, 5), (4, 2, 3), None, {"kernel": 3, "num_filter": 4}, (0, 4, 3)),
    ],
)
def test_batches_of_nothing(name, data, weight, bias, given, shape):
    assert call(name, torch.ones(data), torch.ones(weight), bias, **given).shape == shape


def test_softmax_of_length_zero_is_zero():
    out = call("softmax", torch.ones(2, 3), torch.tensor([0, 9]), use_length=True)
    np.testing.assert_allclose(out, [[0, 0, 0], [1 / 3] * 3], rtol=1e-6)


PARAMETERS = [
    ("FullyConnected", {"num_hidden": 0}, "FullyConnected: num_hidden must be an int >= 1; got 0"),
    ("Convolution", {"kernel": (3, 3), "num_filter": 0}, "num_filter must be an int >= 1; got 0"),
    ("Convolution", {"num_filter": 2}, "needs a value for kernel"),
    ("Convolution", {"kernel": (), "num_filter": 2}, "kernel must have 1, 2 or 3 sizes"),
    ("Convolution", {"kernel": (3, 3), "num_filter": 2, "stride": 2}, "stride must have 2 values"),
    (
        "Convolution",
        {"kernel": 3, "num_filter": 2, "stride": 0},
        "stride must be >= 1 in each axis; got (0,)",
    ),
    ("Convolution", {"kernel": 3, "num_filter": 2, "layout": "NHWC"}, "layout must be 'NCW' or 'NWC'"),
    ("Convolution", {"kernel": 3, "num_filter": 2, "layout": "CHW"}, "layout must be one of 'NCW', 'NCHW'"),
    ("Convolution", {"kernel": 3, "num_filter": 3, "num_group": 2}, "a multiple of num_group 2; got 3"),
    ("Deconvolution", {"kernel": 3, "num_filter": 2, "adj": 1}, "adj must be less than stride (1,)"),
    (
        "Deconvolution",
        {"kernel": (3, 3), "num_filter": 2, "target_shape": 4},
        "target_shape must have 2 sizes",
    ),
    ("Pooling", {}, "kernel must be given unless global_pool is True"),
    ("Pooling", {"kernel": 2, "pool_type": "lp"}, "p_value must be 1, 2 or 3 with pool_type 'lp'; got None"),
    ("Pooling", {"kernel": 2, "pad": 1, "pooling_convention": "same"}, "pad must be 0"),
    ("Pooling_v1", {"kernel": 2}, "kernel must have 2 sizes"),
    (
        "Activation",
        {"act_type": "rely"},
        "act_type must be one of 'relu', 'sigmoid', 'tanh', 'softrelu', 'softsign'",
    ),
    ("LeakyReLU", {"act_type": "rrelu", "lower_bound": 0.5}, "lower_bound must not exceed upper_bound"),
    ("log_softmax", {"use_length": True}, "use_length must be False"),
    ("softmax", {"temperature": 0}, "temperature must not be 0"),
    ("LRN", {"nsize": 4}, "nsize must be odd; got 4"),
    ("Dropout", {"p": 1.5}, "Dropout: p must be in [0, 1]; got 1.5"),
    ("Dropout", {"p": -0.1}, "p must be in [0, 1]"),
    ("GroupNorm", {"num_groups": 0}, "num_groups must be an int >= 1"),
    ("SequenceMask", {"axis": 2}, "axis must be an int in [0, 1]; got 2"),
    ("SoftmaxOutput", {"normalization": "mean"}, "normalization must be one of 'batch', 'null', 'valid'"),
]


@pytest.mark.parametrize(("name", "given", "says"), PARAMETERS)
def test_wrong_parameters(name, given, says):
    with pytest.raises(ParameterError) as raised:
        find(name).parse(given)
    assert says in str(raised.value)
    assert str(raised.value).startswith(f"{name}: ")


SHAPES = [
    ("FullyConnected", {"num_hidden": 64}, [(8, 3, 4), (64, 11), (64,)],
     "FullyConnected: weight must have shape (64, 12) to match data (8, 3, 4); got (64, 11)"),
    ("FullyConnected", {"num_hidden": 7}, [(8, 3), (5, 3), (5,)], "weight must have"),
    ("Embedding", {"input_dim": 4, "output_dim": 2}, [(3,), (4, 3)], "weight must have shape (4, 2)"),
    ("Convolution", {"kernel": (3, 3), "num_filter": 4}, [(2, 3, 8), (4, 3, 3, 3), (4,)], "data must have 4 axes"),
    ("Convolution", {"kernel": (3, 3), "num_filter": 4}, [(2, 3, 8, 8), (4, 2, 3, 3), (4,)],
     "weight must have shape (4, 3, 3, 3) to match data (2, 3, 8, 8); got (4, 2, 3, 3)"),
    ("Convolution", {"kernel": (9, 3), "num_filter": 4}, [(2, 3, 8, 8), (4, 3, 9, 3), (4,)],
     "kernel (9, 3) (dilate 1) must fit into the padded data; got data (2, 3, 8, 8) with pad 0"),
    ("Convolution", {"kernel": 3, "num_filter": 4, "num_group": 2}, [(2, 3, 8), (4, 2, 3), (4,)],
     "a multiple of num_group"),
    ("Deconvolution", {"kernel": 3, "num_filter": 4, "target_shape": 99}, [(2, 3, 8), (3, 4, 3)],
     "at most (10,); got (99,)"),
    ("Deconvolution", {"kernel": 3, "num_filter": 4, "target_shape": 9}, [(2, 3, 8), (3, 4, 3)], "an even number"),
    ("Pooling", {"kernel": (3, 3)}, [(2, 3, 8)], "data must have 4 axes"),
    ("Pooling", {"kernel": (9, 9)}, [(2, 3, 8, 8)], "kernel (9, 9) must fit into the padded data"),
    *(
        ("Pooling", {"kernel": (4, 4), "stride": (2, 2), "pooling_convention": "full", "pool_type": pool_type},
         [(2, 3, 3, 8)], "kernel (4, 4) must fit into the padded data")
        for pool_type in ("max", "avg", "sum")
    ),
    ("BatchNorm", {"fix_gamma": False}, [(2, 3, 4), (4,), (3,), (3,), (3,)],
     "must have shape (3,) to match the channels of data; got (4,), (3,), (3,), (3,)"),
    ("LayerNorm", {}, [(2, 3), (2,), (3,)], "gamma must have shape (3,)"),
    ("GroupNorm", {"num_groups": 2}, [(2, 3, 4), (2,), (2,)], "a multiple of num_groups 2 channels"),
    ("LeakyReLU", {"act_type": "prelu"}, [(2, 3, 4), (2,)], "gamma must have shape (3,)"),
    ("SoftmaxOutput", {}, [(4, 3), (4, 1)], "label must have shape (4,) to match data (4, 3); got (4, 1)"),
    ("SoftmaxOutput", {"multi_output": True}, [(4, 3, 2), (8,)], "label must have shape (4, 2)"),
    ("SVMOutput", {}, [(4, 3), (3,)], "label must have shape (4,)"),
    ("softmax_cross_entropy", {}, [(4, 3), (3,)], "label must have shape (4,)"),
    ("LinearRegressionOutput", {}, [(4, 2), (4,)], "label must have the shape of data (4, 2); got (4,)"),
    ("SequenceMask", {"use_sequence_length": True}, [(4, 3, 2), (4,)], "sequence_length must have shape (3,)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "shapes", "says"), SHAPES)
def test_wrong_shapes(name, given, shapes, says):
    op = find(name)
    p = op.parse(given)
    modes = {"training": True} if "training" in op.signature.modes else {}
    tensors = [torch.ones(shape) for shape in shapes]
    with pytest.raises((RuntimeError, IndexError)) as raised:
        op(*tensors, **op.signature.keywords(p), **modes)
    error = explain(raised.value, op, tensors, p)
    assert isinstance(error, ShapeError)
    assert says in str(error)
    assert str(error).startswith(f"{name}: ")


# As `print(mx.nd.X.__doc__)` shows them.
ORDERS = {
    "Convolution": "data weight bias kernel stride dilate pad num_filter num_group workspace no_bias cudnn_tune "
    "cudnn_off layout",
    "Deconvolution": "data weight bias kernel stride dilate pad adj target_shape num_filter num_group workspace "
    "no_bias cudnn_tune cudnn_off layout",
    "Pooling": "data kernel pool_type global_pool cudnn_off pooling_convention stride pad p_value "
    "count_include_pad layout",
    "BatchNorm": "data gamma beta moving_mean moving_var eps momentum fix_gamma use_global_stats output_mean_var "
    "axis cudnn_off min_calib_range max_calib_range",
    "LeakyReLU": "data gamma act_type slope lower_bound upper_bound",
    "softmax": "data length axis temperature dtype use_length",
    "Dropout": "data p mode axes cudnn_off",
    "SoftmaxOutput": "data label grad_scale ignore_label multi_output use_ignore preserve_shape normalization "
    "out_grad smooth_alpha",
    "MakeLoss": "data grad_scale valid_thresh normalization",
    "SVMOutput": "data label margin regularization_coefficient use_linear",
    "SequenceMask": "data sequence_length use_sequence_length value axis",
    "LRN": "data alpha beta knorm nsize",
    "Embedding": "data weight input_dim output_dim dtype sparse_grad",
}


@pytest.mark.parametrize("name", ORDERS)
def test_every_parameter_of_mxnet_is_there(name):
    assert find(name).signature.order == tuple(ORDERS[name].split())


def test_layer_norm_of_many_vectors_sums_its_gradients_exactly():
    data, gamma, beta, heads = (
        randn(*shape, seed=i) for i, shape in enumerate([(4096, 64), (64,), (64,), (4096, 64)])
    )
    heads += 0.3  # sums that grow

    def gradients(dtype, again=False):
        inputs = [each.to(dtype).requires_grad_() for each in (data, gamma, beta)]
        out, _, _ = call("LayerNorm", *inputs)
        found = torch.autograd.grad(out, inputs, heads.to(dtype), create_graph=again)
        return torch.autograd.grad(found[0].square().sum(), inputs[:2]) if again else found

    # MXNet's own are 4e-5 off at this size, torch's 5e-4.
    for one, other in zip(gradients(torch.float32), gradients(torch.float64), strict=True):
        scale = other.abs().max()
        torch.testing.assert_close(one.double() / scale, other / scale, rtol=0, atol=1e-6)
    for one, other in zip(gradients(torch.float32, True), gradients(torch.float64, True), strict=True):
        scale = other.abs().max()
        torch.testing.assert_close(one.double() / scale, other / scale, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("index", "named"), [([0, 4, 1], 4), ([0, -1, 7], -1)])
def test_embedding_reports_indices_outside_of_the_table(index, named):
    """MXNet 1.9.1 takes the nearest row, in silence."""
    data, weight = mx.nd.array(index), mx.nd.array([[0.0], [1.0], [2.0], [3.0]])
    says = (
        f"Embedding: data must hold indices from 0 to 3; got {named}. As in MXNet the nearest row is taken."
    )
    symbol = mx.sym.Embedding(mx.sym.var("data"), mx.sym.var("weight"), input_dim=4, output_dim=1)
    for run in (
        lambda: mx.nd.Embedding(data, weight, input_dim=4, output_dim=1),
        lambda: symbol.bind(mx.cpu(), {"data": data, "weight": weight}).forward()[0],
    ):
        with pytest.warns(UserWarning, match=re.escape(says)):
            found = run()
        assert found.asnumpy().ravel().tolist() == [float(min(max(each, 0), 3)) for each in index]
