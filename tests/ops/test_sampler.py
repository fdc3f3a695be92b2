"""UpSampling, grids and samplers: what the recorded cases do not show."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import rebind as mx
from rebind.errors import DTypeError, MXNetError, ShapeError
from rebind.ops import OPERATORS, sampler, upsampling

AFFINE = {"transform_type": "affine", "target_shape": (2, 3)}
TRANSFORMER = {**AFFINE, "sampler_type": "bilinear"}


def drawn(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(len(shape)), dtype=dtype) * 2 - 1


@pytest.mark.parametrize("module", [sampler, upsampling], ids=lambda module: module.__name__)
def test_documentation_states_shapes(module):
    for name in module.__all__:
        assert "Shapes" in inspect.getdoc(getattr(module, name).kernels.function)


@pytest.mark.parametrize("loaded", [False, True], ids=["built", "loaded"])
def test_a_kernel_is_made_for_bilinear_and_starts_as_interpolation(loaded):
    symbol = mx.sym.UpSampling(mx.sym.var("x"), scale=2, sample_type="bilinear", num_filter=3, name="up")
    if loaded:
        symbol = mx.sym.load_json(symbol.tojson())
    assert symbol.list_arguments() == ["x", "up_weight"]
    assert symbol.attr_dict()["up_weight"]["__init__"] == '["bilinear", {}]'
    assert symbol.infer_shape(x=(2, 3, 4, 5)) == ([(2, 3, 4, 5), (3, 1, 4, 4)], [(2, 3, 8, 10)], [])


@pytest.mark.parametrize(
    ("sample_type", "given", "init"),
    [
        ("bilinear", {}, '["bilinear", {}]'),
        ("bilinear", {"init": mx.init.One()}, '["one", {}]'),
        ("nearest", {}, None),
    ],
)
def test_a_kernel_that_is_given_starts_so_too_unless_it_says_otherwise(sample_type, given, init):
    weight = mx.sym.var("w", **given)
    symbol = mx.sym.UpSampling(mx.sym.var("x"), weight, scale=2, sample_type=sample_type, num_filter=3)
    assert symbol.attr_dict().get("w", {}).get("__init__") == init


def test_inputs_that_are_counted_but_not_given_become_variables():
    symbol = mx.sym.UpSampling(mx.sym.var("x"), scale=2, sample_type="nearest", num_args=2, name="up")
    assert symbol.list_arguments() == ["x", "up_arg1"]


@pytest.mark.parametrize("scale", [1, 2, 3, 4, 5])
def test_bilinear_initializer_interpolates(scale):
    weight = mx.nd.zeros((1, 1, 2 * scale - scale % 2, 2 * scale - scale % 2))
    mx.init.Bilinear()("weight", weight)
    flat = mx.nd.UpSampling(mx.nd.ones((1, 1, 4, 4)), weight, scale=scale, sample_type="bilinear").asnumpy()
    np.testing.assert_allclose(flat[:, :, scale:-scale, scale:-scale], 1.0, rtol=1e-6)


def test_all_inputs_get_the_size_of_the_result():
    inputs = [drawn(1, 2, 2, 4), drawn(1, 1, 1, 8)]  # the second by 4 down and by 1 across
    out = upsampling.up_sampling(*inputs, scale=2, sample_type="nearest")
    assert torch.equal(out[:, :2], F.interpolate(inputs[0], scale_factor=2))
    assert torch.equal(out[:, 2:], inputs[1].expand(-1, -1, 4, -1))


def test_the_exact_form_is_the_fast_one():
    """What second derivatives are made of: values and first derivatives, within the picture and beyond."""
    data = drawn(2, 3, 4, 5, dtype=torch.float64).requires_grad_()
    grid = (drawn(2, 2, 6, 7, dtype=torch.float64) * 3).requires_grad_()
    head = drawn(2, 3, 6, 7, dtype=torch.float64)
    results = []
    for function in (sampler._grid_sample, sampler._interpolated):
        out = function(data, grid)
        results.append((out, *torch.autograd.grad(out, (data, grid), head)))
    for fast, exact in zip(*results, strict=True):
        torch.testing.assert_close(fast, exact)


@pytest.mark.parametrize("function", [sampler._grid_sample, sampler._interpolated])
def test_far_positions_and_nan(function):
    grid = torch.tensor([[1e30, -1e30, float("nan")], [0.0, 0.0, 0.0]]).view(1, 2, 1, 3)
    out = function(torch.ones(1, 1, 2, 2), grid).flatten().tolist()
    assert out[:2] == [0.0, 0.0] and out[2] != out[2]


def test_transformer_is_sampler_on_grid():
    data, loc = drawn(2, 3, 4, 5), drawn(2, 6)
    grid = sampler.grid_generator(loc, **AFFINE)
    expected = sampler.bilinear_sampler(data, grid)
    torch.testing.assert_close(sampler.spatial_transformer(data, loc, **TRANSFORMER), expected)
    torch.testing.assert_close(
        grid.movedim(1, -1), F.affine_grid(loc.view(-1, 2, 3), [2, 3, 2, 3], align_corners=True)
    )


@pytest.mark.parametrize("pixels", [0, 1, 2])
def test_a_flow_displaces_images(pixels):
    data = drawn(2, 3, 4, 5)
    grid = sampler.grid_generator(torch.full((2, 2, 4, 5), float(pixels)), transform_type="warp")
    found = sampler.bilinear_sampler(data, grid)[:, :, : 4 - pixels, : 5 - pixels]
    torch.testing.assert_close(found, data[:, :, pixels:, pixels:])


def test_an_axis_of_one_pixel_has_its_middle():
    unchanged = torch.tensor([[1.0, 0.0, 0.0, 0.0, 1.0, 0.0]])
    grid = sampler.grid_generator(unchanged, transform_type="affine", target_shape=(1, 3))
    assert grid.tolist() == [[[[-1.0, 0.0, 1.0]], [[0.0, 0.0, 0.0]]]]
    assert sampler.grid_generator(torch.zeros(1, 2, 1, 1), transform_type="warp").isfinite().all()


CALLS = [
    ("UpSampling", [(2, 3, 4, 5)], {"scale": 2, "sample_type": "nearest"}, (2, 3, 8, 10)),
    ("UpSampling", [(2, 3, 4, 5), (3, 1, 4, 4)], {"scale": 2, "sample_type": "bilinear"}, (2, 3, 8, 10)),
    ("BilinearSampler", [(2, 3, 4, 5), (2, 2, 6, 7)], {}, (2, 3, 6, 7)),
    ("GridGenerator", [(2, 6)], AFFINE, (2, 2, 2, 3)),
    ("GridGenerator", [(2, 2, 4, 5)], {"transform_type": "warp"}, (2, 2, 4, 5)),
    ("SpatialTransformer", [(2, 3, 4, 5), (2, 6)], TRANSFORMER, (2, 3, 2, 3)),
]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize(("name", "shapes", "keywords", "expected"), CALLS)
def test_types(name, shapes, keywords, expected, dtype):
    inputs = [drawn(*shape).to(dtype) for shape in shapes]
    out = OPERATORS[name](*inputs, **keywords)
    assert out.dtype is dtype and out.shape == expected
    exact = OPERATORS[name](*(each.double() for each in inputs), **keywords)
    torch.testing.assert_close(out.double(), exact, rtol=0, atol=8 * torch.finfo(dtype).eps)


@pytest.mark.parametrize(("name", "shapes", "keywords", "expected"), CALLS)
def test_an_empty_batch(name, shapes, keywords, expected):
    shapes = [shapes[0], shapes[1]] if name == "UpSampling" and len(shapes) == 2 else shapes
    empty = [torch.zeros(0, *shape[1:]) if shape[0] == 2 else torch.zeros(shape) for shape in shapes]
    assert OPERATORS[name](*empty, **keywords).shape == (0, *expected[1:])


@pytest.mark.parametrize(
    ("name", "shapes", "keywords", "says"),
    [
        (
            "UpSampling",
            [],
            {"scale": 2, "sample_type": "nearest"},
            "UpSampling: needs at least one array; got none",
        ),
        (
            "UpSampling",
            [(1, 2, 3)],
            {"scale": 2, "sample_type": "nearest"},
            "data must have 4 axes (N, C, H, W)",
        ),
        (
            "UpSampling",
            [(1, 2, 3, 3)],
            {"scale": 0, "sample_type": "nearest"},
            "scale must be an int >= 1; got 0",
        ),
        ("UpSampling", [(1, 2, 3, 3)], {"scale": 2}, "UpSampling: needs a value for sample_type"),
        (
            "UpSampling",
            [(1, 2, 3, 3), (1, 2, 4, 3)],
            {"scale": 2, "sample_type": "nearest"},
            "height and width of all arrays must divide those of the result, (6, 6); got (1, 2, 4, 3)",
        ),
        (
            "UpSampling",
            [(1, 2, 3, 3), (2, 2, 3, 3)],
            {"scale": 2, "sample_type": "nearest"},
            "must have the same batch with multi_input_mode 'concat'; got (1, 2, 3, 3) and (2, 2, 3, 3)",
        ),
        (
            "UpSampling",
            [(1, 2, 3, 3), (1, 1, 3, 3)],
            {"scale": 2, "sample_type": "nearest", "multi_input_mode": "sum"},
            "must have the same batch and channels with multi_input_mode 'sum'",
        ),
        (
            "UpSampling",
            [(1, 2, 3, 3)],
            {"scale": 2, "sample_type": "bilinear"},
            "two arrays, data and weight, must be given",
        ),
        (
            "UpSampling",
            [(1, 2, 3, 3), (2, 1, 3, 3)],
            {"scale": 2, "sample_type": "bilinear"},
            "UpSampling: weight must have shape (2, 1, 4, 4) to match data (1, 2, 3, 3); got (2, 1, 3, 3)",
        ),
        (
            "UpSampling",
            [(1, 2, 3, 3), (2, 1, 4, 4)],
            {"scale": 2, "sample_type": "bilinear", "num_filter": 3},
            "num_filter must be the number of channels of data, 2, or 0; got 3",
        ),
        (
            "BilinearSampler",
            [(1, 2, 3), (1, 2, 3, 3)],
            {},
            "data must have 4 axes (N, C, H, W); got shape (1, 2, 3)",
        ),
        (
            "BilinearSampler",
            [(1, 2, 3, 3), (1, 3, 3, 3)],
            {},
            "grid must have shape (N, 2, H, W); got (1, 3, 3, 3)",
        ),
        (
            "BilinearSampler",
            [(2, 2, 3, 3), (1, 2, 3, 3)],
            {},
            "grid must have the batch size of data, 2; got 1",
        ),
        (
            "GridGenerator",
            [(1, 6)],
            {"transform_type": "affine"},
            "target_shape must be two sizes >= 1, (H, W)",
        ),
        ("GridGenerator", [(1, 2, 3)], AFFINE, "data must have shape (N, 6) with transform_type 'affine'"),
        ("GridGenerator", [(1, 6)], {"transform_type": "warp"}, "data must have shape (N, 2, H, W)"),
        (
            "SpatialTransformer",
            [(2, 1, 3, 3), (1, 6)],
            TRANSFORMER,
            "loc must have shape (2, 6) to match data",
        ),
        ("SpatialTransformer", [(2, 1, 3), (2, 6)], TRANSFORMER, "data must have 4 axes (N, C, H, W)"),
        (
            "SpatialTransformer",
            [(2, 1, 3, 3), (2, 6)],
            {**TRANSFORMER, "target_shape": (0, 3)},
            "target_shape must be two sizes >= 1, (H, W), with transform_type 'affine'; got (0, 3)",
        ),
    ],
)
def test_mistakes_meet_a_sentence(name, shapes, keywords, says):
    op = OPERATORS[name]
    with pytest.raises(MXNetError) as caught:
        op(*(torch.zeros(shape) for shape in shapes), **op.signature.keywords(op.parse(keywords)))
    assert says in str(caught.value)


X, Y = mx.sym.var("x"), mx.sym.var("y")


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        pytest.param(
            lambda: mx.nd.GridGenerator(mx.nd.ones((1, 6), dtype="int32"), **AFFINE),
            DTypeError,
            "GridGenerator: data must be of a floating type; got int32",
            id="grid-of-whole-numbers",
        ),
        pytest.param(
            lambda: mx.nd.BilinearSampler(*(mx.nd.ones((1, 2, 3, 3), dtype="int32") for _ in range(2))),
            DTypeError,
            "BilinearSampler: cannot compute with arrays of this type",
            id="samples-of-whole-numbers",
        ),
        pytest.param(
            lambda: mx.sym.UpSampling(X, Y, scale=2, sample_type="bilinear", name="up").infer_shape(
                x=(2, 3, 4, 5), y=(3, 1, 3, 3)
            ),
            ShapeError,
            r"UpSampling 'up'.*weight \('y'\) must have shape \(3, 1, 4, 4\)",
            id="shape-of-a-kernel",
        ),
    ],
)
def test_mistakes_in_types_and_symbols(call, error, says):
    with pytest.raises(error, match=says):
        call()
