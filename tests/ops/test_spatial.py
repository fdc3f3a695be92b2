"""Correlation and the old crop: what the recorded values of MXNet do not cover."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.errors import MXNetError
from rebind.ops import OPERATORS

PATCHES = [
    {},
    {"max_displacement": 2, "pad_size": 2},
    {"max_displacement": 3, "stride1": 2, "stride2": 2, "pad_size": 3},
    {"kernel_size": 3, "max_displacement": 3, "stride1": 2, "stride2": 2, "pad_size": 4},
    {"kernel_size": 3, "max_displacement": 0, "stride1": 3},
    {"max_displacement": 2, "stride2": 3, "pad_size": 2},
]


def run(name, *tensors, **parameters):
    op = OPERATORS[name]
    return op(*tensors, **op.signature.keywords(op.parse(parameters)))


def maps(*shape, dtype=torch.float64):
    random = np.random.default_rng(5)
    return [torch.tensor(random.standard_normal(shape)).to(dtype) for _ in range(2)]


def by_definition(
    first, second, multiply, *, kernel_size=1, max_displacement=1, stride1=1, stride2=1, pad_size=0
):
    first, second = (np.pad(a, ((0, 0), (0, 0), (pad_size,) * 2, (pad_size,) * 2)) for a in (first, second))
    radius = max_displacement // stride2
    border = max_displacement + kernel_size // 2
    places = [-(-(n - 2 * border) // stride1) for n in first.shape[2:]]
    out = np.zeros((len(first), (2 * radius + 1) ** 2, *places))
    for n, q, i, j in np.ndindex(*out.shape):
        down, right = (stride2 * (d - radius) for d in divmod(q, 2 * radius + 1))
        y, x = i * stride1 + max_displacement, j * stride1 + max_displacement
        one = first[n, :, y : y + kernel_size, x : x + kernel_size]
        other = second[n, :, y + down : y + down + kernel_size, x + right : x + right + kernel_size]
        out[n, q, i, j] = np.mean(one * other if multiply else abs(one - other))
    return out


@pytest.mark.parametrize("patch", PATCHES, ids=str)
@pytest.mark.parametrize("is_multiply", [True, False])
def test_correlation_is_what_the_definition_says(patch, is_multiply):
    first, second = maps(2, 3, 7, 8)
    out = run("Correlation", first, second, **patch, is_multiply=is_multiply)
    np.testing.assert_allclose(
        out, by_definition(first.numpy(), second.numpy(), is_multiply, **patch), atol=1e-12
    )


@pytest.mark.parametrize("patch", PATCHES, ids=str)
@pytest.mark.parametrize("is_multiply", [True, False])
def test_gradients_of_correlation_are_derivatives(patch, is_multiply):
    inputs = [array.requires_grad_() for array in maps(1, 1, 6, 7)]
    function = lambda *tensors: run("Correlation", *tensors, **patch, is_multiply=is_multiply)  # noqa: E731
    torch.autograd.gradcheck(function, inputs, fast_mode=True)
    torch.autograd.gradgradcheck(function, inputs, fast_mode=True)


@pytest.mark.parametrize("patch", PATCHES, ids=str)
@pytest.mark.parametrize("is_multiply", [True, False])
def test_sizes_and_types_of_correlation(patch, is_multiply):
    patch = {**patch, "is_multiply": is_multiply}
    expected = run("Correlation", *maps(2, 3, 7, 8), **patch)
    for dtype, tolerance in ((torch.float16, 2e-3), (torch.bfloat16, 1.6e-2), (torch.float32, 1e-6)):
        inputs = maps(2, 3, 7, 8, dtype=dtype)
        out = run("Correlation", *inputs, **patch)
        assert out.dtype is dtype
        near = run("Correlation", *(array.double() for array in inputs), **patch)
        torch.testing.assert_close(out.double(), near, rtol=0, atol=tolerance * float(near.abs().max()))
        meta = run("Correlation", *(array.to("meta") for array in inputs), **patch)
        assert (meta.shape, meta.dtype) == (expected.shape, dtype)
    assert run("Correlation", *maps(0, 3, 7, 8), **patch).shape == (0, *expected.shape[1:])
    without = run("Correlation", *maps(2, 0, 7, 8), **patch)
    assert without.shape == expected.shape and not without.any()


@pytest.mark.parametrize("given", [{"data1": (2, 3, 7, 8)}, {"data2": (2, 3, 7, 8)}])
def test_symbol_of_correlation(given):
    symbol = mx.sym.Correlation(mx.sym.var("data1"), mx.sym.var("data2"), kernel_size=3, pad_size=1)
    assert symbol.infer_shape(**given) == ([(2, 3, 7, 8)] * 2, [(2, 9, 5, 6)], [])
    pointers = json.loads(symbol.tojson())["node_row_ptr"]
    assert pointers[-1] - pointers[-2] == 3


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.int32])
def test_crop_takes_every_type_and_an_empty_part(dtype):
    image = torch.arange(60).reshape(1, 3, 4, 5).to(dtype)
    assert torch.equal(run("Crop", image, h_w=(2, 3), offset=(1, 2)), image[:, :, 1:3, 2:5])
    assert torch.equal(run("Crop", image, torch.zeros(2, 1, 3, 2), center_crop=True), image[:, :, 0:3, 1:3])
    assert run("Crop", image, torch.zeros(1, 1, 0, 2)).shape == (1, 3, 0, 2)
    assert run("Crop", image[:0], h_w=(2, 2)).shape == (0, 3, 2, 2)
    assert run("Crop", image.to("meta"), h_w=(2, 2)).shape == (1, 3, 2, 2)


def test_gradients_of_crop_are_derivatives():
    image, like = maps(2, 1, 4, 5)
    image.requires_grad_()
    like = like[..., :3, :2].requires_grad_()
    torch.autograd.gradcheck(lambda x: run("Crop", x, like, offset=(1, 2)), [image])
    assert torch.autograd.grad(run("Crop", image, like).sum(), like, allow_unused=True) == (None,)


@pytest.mark.parametrize(
    ("name", "shapes", "parameters", "says"),
    [
        ("Correlation", [(2, 3, 4)] * 2, {}, "Correlation: data1 must have 4 axes, (N, C, H, W); got shape (2, 3, 4)"),
        ("Correlation", [(2, 3, 4, 4), (1, 3, 4, 4)], {}, "data2 must have the shape of data1, (2, 3, 4, 4); got (1,"),
        ("Correlation", [], {"kernel_size": 2}, "Correlation: kernel_size must be odd; got 2"),
        ("Correlation", [], {"stride2": 0}, "Correlation: stride2 must be an int >= 1; got 0"),
        (
            "Correlation",
            [(2, 3, 4, 9)] * 2,
            {"max_displacement": 2},
            "kernel_size=1 and max_displacement=2 must fit into the padded data; got data (2, 3, 4, 9) with pad_size=0",
        ),
        ("Correlation", [(2, 3, 0, 9)] * 2, {}, "data1 must be at least 1 high and 1 wide; got shape (2, 3, 0, 9)"),
        ("Crop", [(2, 3, 4)], {"h_w": (1, 1)}, "Crop: arrays must have 4 axes, (N, C, H, W); got (2, 3, 4)"),
        ("Crop", [(1, 1, 4, 4)] * 3, {}, "Crop: must be called with one or two arrays; got 3"),
        ("Crop", [(1, 1, 4, 4)], {}, "Crop: h_w must be (height, width) from (1, 1) to (4, 4), the size of data; got"),
        ("Crop", [(1, 1, 4, 4)], {"h_w": (5, 1)}, "from (1, 1) to (4, 4), the size of data; got (5, 1)"),
        ("Crop", [(1, 1, 4, 4)], {"h_w": (2,)}, "from (1, 1) to (4, 4), the size of data; got (2,)"),
        ("Crop", [(1, 1, 4, 4), (1, 1, 4, 5)], {}, "Crop: the size of the second array must be (height, width) from"),
        ("Crop", [(1, 1, 4, 4)], {"h_w": (3, 3), "offset": (2, 0)}, "two numbers from (0, 0) to (1, 1), for a region"),
        ("Crop", [(1, 1, 4, 4)], {"h_w": (3, 3), "offset": (-1, 0)}, "of data (1, 1, 4, 4); got (-1, 0)"),
    ],
)  # fmt: skip
def test_mistakes_meet_a_sentence(name, shapes, parameters, says):
    with pytest.raises(MXNetError) as caught:
        run(name, *(torch.zeros(shape) for shape in shapes), **parameters)
    assert says in str(caught.value)


@pytest.mark.parametrize("is_multiply", [True, False])
def test_correlation_of_integers_is_refused(is_multiply):
    with pytest.raises(MXNetError, match="Correlation: data must be of a floating type; got int64"):
        run("Correlation", *(torch.ones(1, 1, 4, 4).long() for _ in range(2)), is_multiply=is_multiply)
