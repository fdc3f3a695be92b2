"""Adaptive pooling and bilinear resizing: sizes, types, empty arrays, mistakes."""

from __future__ import annotations

import doctest

import pytest
import torch

import rebind as mx
from rebind.errors import DTypeError, MXNetError
from rebind.ops import OPERATORS
from rebind.ops.contrib import resize

POOLING, RESIZE = "_contrib_AdaptiveAvgPooling2D", "_contrib_BilinearResize2D"


@pytest.mark.parametrize("name", resize.__all__)
def test_documentation(name):
    for test in doctest.DocTestFinder().find(
        getattr(resize, name).kernels.function, name, globs={name: getattr(resize, name)}
    ):
        assert not doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed


@pytest.mark.parametrize(
    ("given", "size"), [((), (1, 1)), (None, (1, 1)), (3, (3, 3)), ((2,), (2, 2)), ("(2, 7)", (2, 7))]
)
def test_sizes_of_a_pooling(given, size):
    data = torch.arange(30.0).view(1, 1, 5, 6)
    out = resize.adaptive_avg_pooling(data, **OPERATORS[POOLING].parse({"output_size": given}))
    for i in range(size[0]):
        for j in range(size[1]):
            rows = slice(5 * i // size[0], -(-5 * (i + 1) // size[0]))
            columns = slice(6 * j // size[1], -(-6 * (j + 1) // size[1]))
            torch.testing.assert_close(out[0, 0, i, j], data[0, 0, rows, columns].mean())
    assert out.shape == (1, 1, *size)


#: What MXNet 1.9.1 infers for axes of 1, 2, 3, 4, 5, 7, 8 pixels; 0 is none.
SIZES = {
    ("size", 0.3): (0, 0, 0, 1, 1, 2, 2),
    ("size", 0.7): (0, 1, 2, 2, 3, 4, 5),
    ("size", 1.5): (1, 3, 4, 6, 7, 10, 12),
    ("size", 2.3): (2, 4, 6, 9, 11, 16, 18),
    ("odd_scale", 0.3): (1, 0, 1, 1, 2, 2, 2),
    ("odd_scale", 0.7): (1, 1, 2, 2, 3, 5, 5),
    ("odd_scale", 1.5): (1, 3, 4, 6, 7, 10, 12),
    ("odd_scale", 2.3): (1, 4, 5, 9, 10, 14, 18),
    ("to_even_down", None): (0, 2, 2, 4, 4, 6, 8),
    ("to_even_up", None): (2, 2, 4, 4, 6, 8, 8),
    ("to_odd_down", None): (1, 1, 3, 3, 5, 7, 7),
    ("to_odd_up", None): (1, 3, 3, 5, 5, 7, 9),
}


@pytest.mark.parametrize(("mode", "scale"), SIZES)
def test_sizes_of_a_resizing(mode, scale):
    symbol = mx.sym.contrib.BilinearResize2D(
        mx.sym.var("x"), mode=mode, height=3, width=3, scale_height=scale, scale_width=scale
    )
    for n, size in zip((1, 2, 3, 4, 5, 7, 8), SIZES[mode, scale], strict=True):
        if size:
            assert symbol.infer_shape(x=(1, 2, n, n))[1] == [(1, 2, size, size)]
        else:
            with pytest.raises(MXNetError, match="the result must be at least 1 pixel high and 1 pixel wide"):
                symbol.infer_shape(x=(1, 2, n, n))


@pytest.mark.parametrize(("n", "scale", "size"), ((10, 0.7, 7), (30, 0.1, 3), (10, 0.3, 3), (39, 1 / 3, 13)))
def test_scales_are_rounded_as_in_mxnet(n, scale, size):
    assert resize.bilinear_resize(torch.zeros(1, 1, n, n), scale_height=scale, width=5).shape == (
        1,
        1,
        size,
        5,
    )


def test_shapes_from_outputs():
    op = OPERATORS[RESIZE]
    p = op.parse({"mode": "like"})
    assert op.inference.shapes_of_inputs({"data": None, "like": None}, [(2, 3, 4, 5)], p) == {
        "data": (2, 3, 0, 0),
        "like": (0, 0, 4, 5),
    }


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_types(dtype):
    data = torch.rand(1, 2, 4, 5).to(dtype)
    assert resize.adaptive_avg_pooling(data, output_size=(2, 2)).dtype is dtype
    assert resize.bilinear_resize(data, height=2, width=7).dtype is dtype


@pytest.mark.parametrize("shape", [(0, 2, 4, 5), (2, 0, 4, 5)])
def test_empty_arrays(shape):
    data = torch.zeros(shape, requires_grad=True)
    for out in (
        resize.adaptive_avg_pooling(data, output_size=(2, 2)),
        resize.bilinear_resize(data, height=2, width=2),
        resize.bilinear_resize(data, torch.zeros(1, 1, 2, 2), mode="like", align_corners=False),
    ):
        assert out.shape == (*shape[:2], 2, 2)
        out.sum().backward()


@pytest.mark.parametrize(
    ("name", "shapes", "keywords", "says"),
    [
        (POOLING, [(1, 2, 3)], {}, f"{POOLING}: data must have 4 axes (N, C, H, W); got shape (1, 2, 3)"),
        (
            POOLING,
            [(1, 2, 3, 3)],
            {"output_size": (1, 2, 3)},
            "output_size must be an int or two of them, (H, W)",
        ),
        (POOLING, [(1, 2, 3, 3)], {"output_size": 0}, "output_size must be"),
        (RESIZE, [(2, 3, 3)], {}, f"{RESIZE}: data must have 4 axes (N, C, H, W); got shape (2, 3, 3)"),
        (RESIZE, [(1, 2, 3, 3)], {"height": 0}, "height must be an int >= 1; got 0"),
        (RESIZE, [(1, 2, 3, 3)], {"scale_height": -1.0}, "scale_height must be above 0; got -1.0"),
        (RESIZE, [(1, 2, 3, 3)], {"mode": "odd_scale", "scale_height": 2.0}, "scale_width must be given"),
        (RESIZE, [(1, 2, 3, 3)], {"mode": "like"}, "like must be given with mode 'like'; got None"),
        (
            RESIZE,
            [(1, 2, 3, 3), (2, 2, 2)],
            {"mode": "like"},
            "like must have 4 axes (N, C, H, W); got shape (2, 2, 2)",
        ),
        (
            RESIZE,
            [(1, 2, 3, 3)],
            {"mode": "scale"},
            "mode must be one of 'like', 'odd_scale', 'size', 'to_even_down'",
        ),
    ],
)
def test_mistakes_meet_a_sentence(name, shapes, keywords, says):
    op = OPERATORS[name]
    with pytest.raises(MXNetError) as caught:
        op(*(torch.zeros(shape) for shape in shapes), **op.parse(keywords))
    assert says in str(caught.value)


@pytest.mark.parametrize("name", ["AdaptiveAvgPooling2D", "BilinearResize2D"])
def test_whole_numbers(name):
    whole = mx.nd.ones((1, 2, 3, 3), dtype="int32")
    with pytest.raises(
        DTypeError, match=r"data must be of a floating type|cannot compute with arrays of this type"
    ):
        getattr(mx.nd.contrib, name)(whole)
