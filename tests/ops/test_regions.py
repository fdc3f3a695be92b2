"""Pooling over regions: what the recorded values of MXNet do not cover."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.errors import MXNetError
from rebind.ops import OPERATORS
from rebind.ops.regions import _boxes, maxima, means

BOXES = [
    [0, 3, 2, 21, 17],
    [1, 0, 0, 43, 35],
    [1, -9.5, -14.5, 12.5, 60],
    [0, 50, 40, 70, 66],
    [1, 17.3, 9.8, 17.9, 11],
]
TURNED = [[0, 20, 16, 24, 12, 0], [1, 5, 30, 40.5, 9, -75], [0, 22, 18, 90, 60, 200], [1, 10, 10, 0, 0, 90]]
ROI_POOL, ALIGN, TURNED_ALIGN = "ROIPooling", "_contrib_ROIAlign", "_contrib_RROIAlign"
SENSITIVE, DEFORMABLE = "_contrib_PSROIPooling", "_contrib_DeformablePSROIPooling"
SCALE = {"spatial_scale": 0.25}
GRID = {**SCALE, "pooled_size": (2, 3)}
GROUPS = {**SCALE, "output_dim": 2, "pooled_size": 2, "group_size": 2}

# name, parameters, channels of data
CALLS = [
    (ROI_POOL, GRID, 3),
    (ALIGN, GRID, 3),
    (ALIGN, {**GRID, "aligned": True}, 3),
    (ALIGN, {**GRID, "sample_ratio": 2}, 3),
    (ALIGN, {**GRID, "position_sensitive": True}, 12),
    (ALIGN, {**GRID, "position_sensitive": True, "sample_ratio": 1}, 12),
    (TURNED_ALIGN, GRID, 3),
    (TURNED_ALIGN, {**GRID, "sampling_ratio": 2}, 3),
    (SENSITIVE, GROUPS, 8),
    (SENSITIVE, {**GROUPS, "pooled_size": 3}, 8),
    (DEFORMABLE, {**GROUPS, "trans_std": 0.1, "sample_per_part": 2}, 8),
    (DEFORMABLE, {**GROUPS, "no_trans": True, "sample_per_part": 2}, 8),
]
CALL_IDS = [f"{i}-{name}" for i, (name, *_) in enumerate(CALLS)]


def run(name, *tensors, **parameters):
    op = OPERATORS[name]
    return op(*tensors, **op.signature.keywords(op.parse(parameters)))


def arrays(name, parameters, channels, dtype=torch.float64, boxes=None, shape=(2, 9, 11)):
    random = np.random.default_rng(7)
    if boxes is None:
        boxes = TURNED if name == TURNED_ALIGN else BOXES
    rois = torch.tensor(boxes, dtype=torch.float64).reshape(-1, 6 if name == TURNED_ALIGN else 5)
    made = [torch.tensor(random.standard_normal((shape[0], channels, *shape[1:]))), rois]
    if name == DEFORMABLE and not parameters.get("no_trans"):
        size = parameters["pooled_size"]
        made.append(torch.tensor(random.standard_normal((len(rois), 2, size, size))))
    return [array.to(dtype) for array in made]


@pytest.mark.parametrize(("name", "parameters", "channels"), CALLS, ids=CALL_IDS)
def test_gradients_are_derivatives(name, parameters, channels):
    data, rois, *trans = arrays(name, parameters, channels, shape=(2, 4, 5))
    if name == TURNED_ALIGN:
        rois = rois[:2]
    inputs = [array.requires_grad_() for array in (data, *trans)]
    function = lambda data, *trans: run(name, data, rois, *trans, **parameters)  # noqa: E731
    torch.autograd.gradcheck(function, inputs, fast_mode=True)
    torch.autograd.gradgradcheck(function, inputs, fast_mode=True)


@pytest.mark.parametrize(("name", "parameters", "channels"), CALLS, ids=CALL_IDS)
def test_boxes_get_no_gradient(name, parameters, channels):
    data, rois, *trans = (array.requires_grad_() for array in arrays(name, parameters, channels))
    out = run(name, data, rois, *trans, **parameters)
    assert torch.autograd.grad(out.sum(), rois, allow_unused=True) == (None,)


def test_first_of_equal_maxima_takes_the_gradient():
    data = torch.zeros(1, 1, 4, 4, requires_grad=True)
    run(
        ROI_POOL, data, torch.tensor([[0.0, 0, 0, 3, 3]]), pooled_size=(2, 2), spatial_scale=1.0
    ).sum().backward()
    expected = torch.zeros(4, 4)
    expected[::2, ::2] = 1
    assert torch.equal(data.grad[0, 0], expected)


@pytest.mark.parametrize(("name", "parameters", "channels"), CALLS, ids=CALL_IDS)
@pytest.mark.parametrize("image", [-1, -7, 2, 1e30, -1e30, math.nan])
def test_an_image_that_is_none_gives_zeros(name, parameters, channels, image):
    data, rois, *trans = arrays(name, parameters, channels)
    expected = run(name, data, rois, *trans, **parameters)
    rois[1, 0] = image
    data.requires_grad_()
    out = run(name, data, rois, *trans, **parameters)
    expected[1] = 0
    torch.testing.assert_close(out, expected)
    assert torch.autograd.grad(out[1].sum(), data)[0].abs().sum() == 0


@pytest.mark.parametrize(("name", "parameters", "channels"), CALLS, ids=CALL_IDS)
@pytest.mark.parametrize("number", [math.nan, math.inf, -1e20])
def test_coordinates_that_are_no_pixels_give_zeros(name, parameters, channels, number):
    data, rois, *trans = arrays(name, parameters, channels, torch.float32)
    rois[0, 3] = number
    assert run(name, data, rois, *trans, **parameters)[0].abs().sum() == 0


@pytest.mark.parametrize(
    ("name", "parameters", "channels"), [row for row in CALLS if row[0] != TURNED_ALIGN], ids=str
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_huge_boxes_stay_within_memory(name, parameters, channels, dtype):
    boxes = [[0, -1e9, -1e9, 1e9, 1e9], [1, 1e9, 1e9, -1e9, -1e9], [0, 1e8, 1e8, 1e9, 1e9]]
    inputs = arrays(name, parameters, channels, dtype, boxes)
    assert torch.isfinite(run(name, *inputs, **parameters)).all()


@pytest.mark.parametrize("ratio", [-1, 2])
def test_aligned_boxes_without_an_inside_give_zeros(ratio):
    data = torch.ones(1, 1, 6, 6)
    boxes = torch.tensor([[0.0, 4, 4, 2, 2], [0, 2, 2, 2, 4], [0, 2, 2, 2.5, 2.5]])
    out = run(ALIGN, data, boxes, pooled_size=(1, 1), spatial_scale=1.0, aligned=True, sample_ratio=ratio)
    assert out.flatten().tolist() == [0, 0, 1]


def test_a_maximum_of_values_that_are_no_numbers_is_none():
    data = torch.arange(16.0).reshape(1, 1, 4, 4)
    data[0, 0, 0, 0] = math.nan
    out = run(ROI_POOL, data, torch.tensor([[0.0, 0, 0, 3, 3]]), pooled_size=(2, 2), spatial_scale=1.0)
    assert out.isnan().flatten().tolist() == [True, False, False, False]


@pytest.mark.parametrize(("name", "parameters", "channels"), CALLS, ids=CALL_IDS)
@pytest.mark.parametrize("empty", ["rois", "images", "rows", "columns"])
def test_nothing_in_gives_zeros_or_nothing(name, parameters, channels, empty):
    shape = {"images": (0, 9, 11), "rows": (2, 0, 11), "columns": (2, 9, 0)}.get(empty, (2, 9, 11))
    inputs = arrays(name, parameters, channels, boxes=[] if empty == "rois" else None, shape=shape)
    inputs[0].requires_grad_()
    out = run(name, *inputs, **parameters)
    assert len(out) == len(inputs[1]) and out.abs().sum() == 0
    assert out.shape[2:] == (2, 3) or out.shape[2:] == (parameters["pooled_size"],) * 2
    out.sum().backward()
    assert inputs[0].grad.shape == inputs[0].shape


@pytest.mark.parametrize(("name", "parameters", "channels"), CALLS, ids=CALL_IDS)
def test_meta_tensors_give_shapes_and_types(name, parameters, channels):
    for dtype in (torch.float16, torch.float32):
        inputs = arrays(name, parameters, channels, dtype)
        real = run(name, *inputs, **parameters)
        meta = run(name, *(array.to("meta") for array in inputs), **parameters)
        assert (meta.shape, meta.dtype, meta.device.type) == (real.shape, dtype, "meta")


@pytest.mark.parametrize(("name", "parameters", "channels"), CALLS, ids=CALL_IDS)
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float16, 2e-3), (torch.bfloat16, 1.6e-2), (torch.float32, 1e-5)], ids=str
)
def test_narrow_types_are_near_the_wide_one(name, parameters, channels, dtype, tolerance):
    """Boxes and data are rounded first, so that what is left is the arithmetic."""
    inputs = [array.to(dtype) for array in arrays(name, parameters, channels)]
    expected = run(name, *(array.double() for array in inputs), **parameters)
    out = run(name, *inputs, **parameters)
    assert out.dtype is dtype
    torch.testing.assert_close(out.double(), expected, rtol=0, atol=tolerance * float(expected.abs().max()))


def bilinear(image, y, x):
    """Value of an image (H, W) between its pixels; beyond the edge that of the edge, more than a pixel out 0."""
    height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = min(max(y, 0.0), height - 1), min(max(x, 0.0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    down, over = y - top, x - left
    above = (1 - over) * image[top, left] + over * image[top, right]
    below = (1 - over) * image[bottom, left] + over * image[bottom, right]
    return (1 - down) * above + down * below


def aligned_mean(image, box, size, ratio, turn=0.0):
    """Means over the bins of a box (x, y of the middle, width, height), turned by an angle."""
    middle_x, middle_y, wide, high = box
    out = np.zeros(size)
    for i, j in np.ndindex(*size):
        bin_high, bin_wide = high / size[0], wide / size[1]
        rows, columns = (ratio, ratio) if ratio > 0 else (math.ceil(bin_high), math.ceil(bin_wide))
        for m, n in np.ndindex(rows, columns):
            y = -high / 2 + i * bin_high + (m + 0.5) * bin_high / rows
            x = -wide / 2 + j * bin_wide + (n + 0.5) * bin_wide / columns
            turned_x = x * math.cos(turn) + y * math.sin(turn) + middle_x
            turned_y = y * math.cos(turn) - x * math.sin(turn) + middle_y
            out[i, j] += bilinear(image, turned_y, turned_x) / (rows * columns)
    return out


@pytest.mark.parametrize("ratio", [-1, 1, 3])
@pytest.mark.parametrize("scale", [0.25, 0.37, 1.0])
def test_turned_boxes_by_definition(ratio, scale):
    data, rois = arrays(TURNED_ALIGN, {}, 1)
    out = run(TURNED_ALIGN, data, rois, pooled_size=(2, 3), spatial_scale=scale, sampling_ratio=ratio)
    for found, (image, x, y, wide, high, angle) in zip(out[:, 0], rois.tolist(), strict=True):
        box = (x * scale, y * scale, max(wide * scale, 1), max(high * scale, 1))
        expected = aligned_mean(data[int(image), 0].numpy(), box, (2, 3), ratio, math.radians(angle))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("ratio", [-1, 2])
def test_boxes_that_are_not_turned_are_those_of_align(ratio):
    data, rois = arrays(ALIGN, {}, 3)
    middle, size = (rois[:, 1:3] + rois[:, 3:]) / 2, rois[:, 3:] - rois[:, 1:3]
    turned = torch.cat((rois[:, :1], middle, size, torch.zeros_like(rois[:, :1])), 1)
    plain = run(ALIGN, data, rois, pooled_size=(2, 2), spatial_scale=1.0, sample_ratio=ratio)
    out = run(TURNED_ALIGN, data, turned, pooled_size=(2, 2), spatial_scale=1.0, sampling_ratio=ratio)
    small = (size < 1).any(1)  # these grow from their corner in one, and from their middle in the other
    torch.testing.assert_close(out[~small], plain[~small])


def test_points_as_many_as_pixels_are_those_of_a_fixed_number():
    """Bins of 2 and a bit pixels have three points on each axis."""
    data = torch.randn(1, 2, 12, 14, dtype=torch.float64)
    rois = torch.tensor([[0.0, 1, 2, 7.8, 6.7], [0, -3.3, 8, 3.3, 12.9]], dtype=torch.float64)
    some = {"pooled_size": (2, 3), "spatial_scale": 1.0}
    torch.testing.assert_close(run(ALIGN, data, rois, **some), run(ALIGN, data, rois, sample_ratio=3, **some))


@pytest.mark.parametrize("ratio", [-1, 2])
def test_position_sensitive_bins_read_their_own_maps(ratio):
    data, rois = arrays(ALIGN, {}, 12)
    out = run(ALIGN, data, rois, **GRID, position_sensitive=True, sample_ratio=ratio)
    every = run(ALIGN, data, rois, **GRID, sample_ratio=ratio).unflatten(1, (2, 2, 3))
    for i, j in np.ndindex(2, 3):
        torch.testing.assert_close(out[:, :, i, j], every[:, :, i, j, i, j])


@pytest.mark.parametrize(("name", "parameters", "channels"), CALLS, ids=CALL_IDS)
def test_boxes_do_not_depend_on_how_many_there_are(name, parameters, channels):
    data, *others = arrays(name, parameters, channels)
    few = run(name, data, *(array[:2] for array in others), **parameters)
    many = run(name, data, *(array.repeat(50, *(1,) * (array.ndim - 1)) for array in others), **parameters)
    torch.testing.assert_close(many[-len(others[0]) :][:2], few)


@pytest.mark.parametrize(("factor", "trans_std"), [(0, 0.1), (1, 0.0)], ids=["trans", "trans_std"])
def test_a_bin_that_is_displaced_by_nothing_stays(factor, trans_std):
    parameters = {**GROUPS, "sample_per_part": 3, "trans_std": 0.1}
    data, rois, trans = arrays(DEFORMABLE, parameters, 8)
    still = run(DEFORMABLE, data, rois, **parameters, no_trans=True)
    found = run(DEFORMABLE, data, rois, factor * trans, **{**parameters, "trans_std": trans_std})
    torch.testing.assert_close(found, still)


@pytest.mark.parametrize(
    ("name", "parameters", "inputs", "recorded"),
    [
        (ROI_POOL, GRID, ["data", "rois"], 2),
        (ALIGN, GRID, ["data", "rois"], 1),
        (TURNED_ALIGN, GRID, ["data", "rois"], 1),
        (SENSITIVE, GROUPS, ["data", "rois"], 1),
        (DEFORMABLE, GROUPS, ["data", "rois", "trans"], 2),
        (DEFORMABLE, {**GROUPS, "no_trans": True}, ["data", "rois"], 2),
    ],
)
def test_symbols(name, parameters, inputs, recorded):
    space = mx.sym.contrib if name.startswith("_contrib_") else mx.sym
    symbol = getattr(space, name.removeprefix("_contrib_"))(*map(mx.sym.var, inputs), name="op", **parameters)
    assert (symbol.list_arguments(), symbol.list_outputs()) == (inputs, ["op_output"])
    pointers = json.loads(symbol.tojson())["node_row_ptr"]
    assert pointers[-1] - pointers[-2] == recorded


@pytest.mark.parametrize(
    ("name", "shapes", "parameters", "says"),
    [
        (ROI_POOL, [(2, 3, 4), (1, 5)], GRID, "ROIPooling: data must have 4 axes, (N, C, H, W); got shape (2, 3, 4)"),
        (ROI_POOL, [(2, 3, 4, 4), (1, 4)], GRID, "ROIPooling: rois must have shape (R, 5); got (1, 4)"),
        (ROI_POOL, [(2, 3, 4, 4), (5,)], GRID, "ROIPooling: rois must have shape (R, 5); got (5,)"),
        (ROI_POOL, [], {**GRID, "pooled_size": (2,)}, "pooled_size must be two sizes, (h, w); got (2,)"),
        (ROI_POOL, [], {**GRID, "pooled_size": (0, 2)}, "pooled_size must be a tuple of ints >= 1; got (0, 2)"),
        (ROI_POOL, [], {"pooled_size": (2, 2)}, "ROIPooling: needs a value for spatial_scale (a float)"),
        (ALIGN, [(2, 3, 4, 4), (1, 6)], GRID, "_contrib_ROIAlign: rois must have shape (R, 5); got (1, 6)"),
        (
            ALIGN,
            [(2, 3, 4, 4), (1, 5)],
            {**GRID, "position_sensitive": True},
            "data must have a multiple of 6 channels, one for each bin; got shape (2, 3, 4, 4)",
        ),
        (TURNED_ALIGN, [(2, 3, 4, 4), (1, 5)], GRID, "_contrib_RROIAlign: rois must have shape (R, 6); got (1, 5)"),
        (SENSITIVE, [(2, 3, 4, 4), (1, 5)], GROUPS, "output_dim * group_size**2 = 8 channels; got shape (2, 3, 4, 4)"),
        (SENSITIVE, [], {**GROUPS, "output_dim": 0}, "output_dim must be an int >= 1; got 0"),
        (
            DEFORMABLE,
            [(2, 8, 4, 4), (1, 5), (1, 2, 3, 3)],
            GROUPS,
            "trans must have shape (R, 2 * K, 2, 2) with K a divisor of output_dim 2; got (1, 2, 3, 3)",
        ),
        (DEFORMABLE, [(2, 8, 4, 4), (2, 5), (1, 2, 2, 2)], GROUPS, "a row for each of the 2 boxes; got 1"),
        (DEFORMABLE, [(2, 8, 4, 4), (1, 5)], GROUPS, "trans must be given unless no_trans is True"),
    ],
)  # fmt: skip
def test_mistakes_meet_a_sentence(name, shapes, parameters, says):
    with pytest.raises(MXNetError) as caught:
        run(name, *(torch.zeros(shape) for shape in shapes), **parameters)
    assert says in str(caught.value)


@pytest.mark.parametrize(("name", "parameters", "channels"), CALLS, ids=CALL_IDS)
def test_whole_numbers_are_refused(name, parameters, channels):
    inputs = [array.int() for array in arrays(name, parameters, channels)]
    with pytest.raises(MXNetError, match=f"{name}: data must be of a floating type; got int32"):
        run(name, *inputs, **parameters)


@pytest.mark.parametrize(("name", "parameters", "channels"), CALLS, ids=CALL_IDS)
def test_devices_that_are_not_read_give_the_same(name, parameters, channels, monkeypatch):
    found = []
    for can_read in (True, False):
        for module in (_boxes, maxima, means):
            monkeypatch.setattr(module, "can_read", lambda array, answer=can_read: answer)
        data, *others = arrays(name, parameters, channels)
        out = run(name, data.requires_grad_(), *others, **parameters)
        found.append((out, *torch.autograd.grad(out.square().sum(), data)))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)
