"""Deformable convolution: against its definition, and what the recorded values of MXNet do not cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from rebind.errors import MXNetError
from rebind.ops import OPERATORS

PLAIN, MODULATED = "_contrib_DeformableConvolution", "_contrib_ModulatedDeformableConvolution"
WINDOWS = [
    {"kernel": (3, 3)},
    {"kernel": (3, 3), "pad": (1, 1), "no_bias": True},
    {"kernel": (3, 2), "stride": (2, 1), "dilate": (1, 2), "pad": (2, 0)},
    {"kernel": (1, 2), "num_group": 2, "pad": (1, 1)},
    {"kernel": (2, 2), "num_deformable_group": 2, "layout": "NCHW"},
    {"kernel": (2, 2), "num_deformable_group": 4, "num_group": 2, "stride": (2, 2)},
]


def run(name, *tensors, **parameters):
    op = OPERATORS[name]
    return op(*tensors, **op.signature.keywords(op.parse({"num_filter": 4, **parameters})))


def arrays(name, window, dtype=torch.float64, data=(2, 4, 5, 6), far=1.7):
    """Make all inputs; offsets keep a distance from whole numbers, where the slope changes."""
    random = np.random.default_rng(3)
    op = OPERATORS[name]
    p = op.parse({"num_filter": 4, **window})
    shapes = op.inference.filled_shapes({"data": data, **dict.fromkeys(op.signature.inputs_for(p)[1:])}, p)
    made = [torch.tensor(random.standard_normal(data))]
    for key in op.signature.inputs_for(p)[1:]:
        made.append(torch.tensor(random.uniform(-1, 1, shapes[key])))
    made[1] = (made[1] * far).floor() + 0.1 + 0.8 * torch.tensor(random.uniform(0, 1, shapes["offset"]))
    return [array.to(dtype) for array in made]


def pixel(image, y, x):
    inside = 0 <= y < image.shape[0] and 0 <= x < image.shape[1]
    return image[y, x] if inside else 0.0


def with_zeros_around(image, y, x):
    top, left = math.floor(y), math.floor(x)
    return sum(
        (1 - abs(y - row)) * (1 - abs(x - column)) * pixel(image, row, column)
        for row in (top, top + 1)
        for column in (left, left + 1)
    )


def with_the_edge_going_on(image, y, x):
    height, width = image.shape
    if not (0 <= y < height and 0 <= x < width):
        return 0.0
    return with_zeros_around(image, min(y, height - 1), min(x, width - 1))


def by_definition(name, data, offset, mask, weight, bias, window):
    """Sum element by element; `mask` may be None."""
    read = with_zeros_around if name == MODULATED else with_the_edge_going_on
    rows, columns = window["kernel"]
    stride, dilate = window.get("stride", (1, 1)), window.get("dilate", (1, 1))
    pad, maps = window.get("pad", (0, 0)), window.get("num_deformable_group", 1)
    offset = offset.reshape(len(data), maps, rows, columns, 2, *offset.shape[2:])
    mask = None if mask is None else mask.reshape(len(data), maps, rows, columns, *mask.shape[2:])
    filters, inner = weight.shape[:2]
    out = np.zeros((len(data), filters, *offset.shape[5:]))
    for n, f, i, j in np.ndindex(*out.shape):
        total = 0.0 if bias is None else bias[f]
        first = f // (filters // window.get("num_group", 1)) * inner
        for c, a, b in np.ndindex(inner, rows, columns):
            map_ = (first + c) // (data.shape[1] // maps)
            down, right = offset[n, map_, a, b, :, i, j]
            y = i * stride[0] - pad[0] + a * dilate[0] + down
            x = j * stride[1] - pad[1] + b * dilate[1] + right
            factor = 1.0 if mask is None else mask[n, map_, a, b, i, j]
            total += weight[f, c, a, b] * factor * read(data[n, first + c], y, x)
        out[n, f, i, j] = total
    return out


@pytest.mark.parametrize("name", [PLAIN, MODULATED])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_is_what_the_definition_says(name, window):
    inputs = arrays(name, window)
    data, offset, *others = (array.numpy() for array in inputs)
    mask = others.pop(0) if name == MODULATED else None
    weight, bias = others if len(others) == 2 else (others[0], None)
    expected = by_definition(name, data, offset, mask, weight, bias, window)
    np.testing.assert_allclose(run(name, *inputs, **window), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [PLAIN, MODULATED])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_gradients_are_derivatives(name, window):
    inputs = [array.requires_grad_() for array in arrays(name, window, data=(1, 4, 4, 5))]
    function = lambda *tensors: run(name, *tensors, **window)  # noqa: E731
    torch.autograd.gradcheck(function, inputs, fast_mode=True)
    torch.autograd.gradgradcheck(function, inputs, fast_mode=True)


@pytest.mark.parametrize("name", [PLAIN, MODULATED])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_without_offsets_it_is_a_convolution(name, window):
    data, offset, *others = arrays(name, window)
    if name == MODULATED:
        others[0] = torch.ones_like(others[0])
    weight, bias = (others[-2], others[-1]) if not window.get("no_bias") else (others[-1], None)
    out = run(name, data, torch.zeros_like(offset), *others, **window)
    expected = F.conv2d(
        data, weight, bias, window.get("stride", 1), window.get("pad", 0), window.get("dilate", 1),
        window.get("num_group", 1),
    )  # fmt: skip
    torch.testing.assert_close(out, expected)


@pytest.mark.parametrize("step", [0, 1, 3, 64])
def test_any_batch_goes_with_any_im2col_step(step):
    inputs = arrays(MODULATED, WINDOWS[0], data=(4, 4, 5, 6))
    torch.testing.assert_close(
        run(MODULATED, *inputs, **WINDOWS[0], im2col_step=step), run(MODULATED, *inputs, **WINDOWS[0])
    )


@pytest.mark.parametrize("name", [PLAIN, MODULATED])
@pytest.mark.parametrize("number", [math.nan, math.inf, 1e30])
def test_offsets_to_nowhere_read_nothing_else(name, number):
    data, offset, *others = arrays(name, WINDOWS[0])
    expected = run(name, data, offset, *others, **WINDOWS[0])
    offset[0, :, 0, 0] = number
    out = run(name, data, offset, *others, **WINDOWS[0])
    assert torch.equal(out[1], expected[1]) and torch.equal(out[0, :, 1:], expected[0, :, 1:])


@pytest.mark.parametrize("name", [PLAIN, MODULATED])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_sizes_and_types(name, window):
    inputs = arrays(name, window)
    expected = run(name, *inputs, **window)
    for dtype, tolerance in ((torch.float16, 2e-2), (torch.bfloat16, 1e-1), (torch.float32, 1e-5)):
        narrow = [array.to(dtype) for array in inputs]
        out = run(name, *narrow, **window)
        assert out.dtype is dtype
        near = run(name, *(array.double() for array in narrow), **window)
        torch.testing.assert_close(out.double(), near, rtol=0, atol=tolerance * float(near.abs().max()))
        meta = run(name, *(array.to("meta") for array in narrow), **window)
        assert (meta.shape, meta.dtype) == (expected.shape, dtype)
    empty = run(name, *arrays(name, window, data=(0, 4, 5, 6)), **window)
    assert empty.shape == (0, *expected.shape[1:])


@pytest.mark.parametrize("name", [PLAIN, MODULATED])
@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"kernel": (3,)}, "kernel must have 2 sizes, (h, w); got (3,)"),
        ({"kernel": (0, 3)}, "kernel must be a tuple of ints >= 1; got (0, 3)"),
        ({"stride": (1,)}, "stride must have 2 numbers as kernel has; got (1,)"),
        ({"layout": "NCW"}, "layout must be 'NCHW' or None, for kernel has 2 sizes; got 'NCW'"),
        ({"num_filter": 5, "num_group": 2}, "num_filter must be a multiple of num_group 2; got 5"),
        ({"num_group": 0}, "num_group must be an int >= 1; got 0"),
        (
            {"kernel": (6, 3)},
            "kernel (6, 3) (dilate (1, 1)) must fit into the padded data; got data (2, 4, 5, 6)",
        ),
        ({"num_deformable_group": 3}, "num_deformable_group=3 channels; got shape (2, 4, 5, 6)"),
        (
            {"pad": (1, 1)},
            "offset must have shape (2, 18, 5, 6) to match data (2, 4, 5, 6); got (2, 18, 3, 4)",
        ),
        (
            {"num_filter": 8},
            "weight must have shape (8, 4, 3, 3) to match data (2, 4, 5, 6); got (4, 4, 3, 3)",
        ),
    ],
)
def test_mistakes_meet_a_sentence(name, changed, says):
    inputs = arrays(name, {"kernel": (3, 3)})
    with pytest.raises(MXNetError) as caught:
        run(name, *inputs, **{"kernel": (3, 3), **changed})
    assert str(caught.value).startswith(f"{name}: ")
    assert says in str(caught.value)


@pytest.mark.parametrize("name", [PLAIN, MODULATED])
def test_inputs_that_are_no_maps_meet_a_sentence(name):
    inputs = arrays(name, WINDOWS[0])
    with pytest.raises(MXNetError, match=r"data must have 4 axes, \(N, C, H, W\); got shape \(4, 5, 6\)"):
        run(name, inputs[0][0], *inputs[1:], **WINDOWS[0])
    with pytest.raises(
        MXNetError, match=r"data must be at least 1 high and 1 wide; got shape \(2, 4, 0, 6\)"
    ):
        run(name, inputs[0][:, :, :0], *inputs[1:], **WINDOWS[0])
    with pytest.raises(MXNetError, match="data must be of a floating type; got int32"):
        run(name, inputs[0].int(), *inputs[1:], **WINDOWS[0])
