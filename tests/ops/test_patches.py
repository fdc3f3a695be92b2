"""im2col and col2im: against convolutions, in as many dimensions as they have."""

from __future__ import annotations

import inspect

import pytest
import torch
import torch.nn.functional as F

import rebind as mx
from rebind.errors import DTypeError, MXNetError
from rebind.ops import OPERATORS, patches

CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}

ROWS = [
    ((2, 3, 9), {"kernel": (3,)}),
    ((2, 3, 9), {"kernel": (3,), "stride": (2,), "dilate": (2,), "pad": (1,)}),
    ((2, 3, 6, 7), {"kernel": (3, 2)}),
    ((2, 3, 6, 7), {"kernel": (2, 3), "stride": (2, 1), "dilate": (3, 1), "pad": (1, 2)}),
    ((2, 2, 4, 5, 6), {"kernel": (2, 3, 2)}),
    ((2, 2, 4, 5, 6), {"kernel": (2, 1, 3), "stride": (1, 2, 2), "dilate": (2, 1, 2), "pad": (1, 0, 2)}),
]


def drawn(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64) - 0.5


@pytest.mark.parametrize("name", patches.__all__)
def test_documentation_states_shapes(name):
    assert "Shapes" in inspect.getdoc(getattr(patches, name).kernels.function)


@pytest.mark.parametrize(("shape", "keywords"), ROWS)
def test_a_convolution_is_a_product_with_the_columns(shape, keywords):
    data, weight = drawn(*shape), drawn(4, shape[1], *keywords["kernel"])
    columns = patches.im2col(data, **keywords)
    expected = CONVOLUTIONS[len(shape) - 2](
        data, weight, None, keywords.get("stride", 1), keywords.get("pad", 0), keywords.get("dilate", 1)
    )
    torch.testing.assert_close(weight.flatten(1) @ columns, expected.flatten(2))


@pytest.mark.parametrize(("shape", "keywords"), ROWS)
def test_each_is_the_transpose_of_the_other(shape, keywords):
    data = drawn(*shape)
    columns = patches.im2col(data, **keywords)
    others = drawn(*columns.shape)
    back = patches.col2im(others, output_size=shape[2:], **keywords)
    assert back.shape == shape
    torch.testing.assert_close((columns * others).sum(), (data * back).sum())


@pytest.mark.parametrize(("shape", "keywords"), ROWS)
def test_empty_arrays(shape, keywords):
    rows = patches.im2col(drawn(*shape), **keywords).shape
    for empty in ((0, *shape[1:]), (shape[0], 0, *shape[2:])):
        data = torch.zeros(empty, requires_grad=True)
        columns = patches.im2col(data, **keywords)
        assert columns.shape == (empty[0], rows[1] if empty[1] else 0, rows[2])
        assert columns.shape == patches.im2col(data.to("meta"), **keywords).shape
        back = patches.col2im(columns, output_size=shape[2:], **keywords)
        assert back.shape == empty
        back.sum().backward()
        assert data.grad.shape == empty


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_types(dtype):
    data = drawn(1, 2, 3, 3, 3).to(dtype)
    columns = patches.im2col(data, kernel=(2, 2, 2))
    assert columns.dtype is dtype
    assert patches.col2im(columns, kernel=(2, 2, 2), output_size=(3, 3, 3)).dtype is dtype


@pytest.mark.parametrize(
    ("name", "keywords", "out", "data", "filled"),
    [
        ("im2col", {}, (5, 12, 4), (5, 3, 0, 0), None),
        ("col2im", {"output_size": (3, 4)}, (5, 3, 3, 4), (5, 12, 0), (0, 0, 6)),
    ],
)
def test_shapes_flow_both_ways(name, keywords, out, data, filled):
    op = OPERATORS[name]
    p = op.parse({"kernel": (2, 2), **keywords})
    assert op.inference.shapes_of_inputs({"data": None}, [out], p) == {"data": data}
    assert op.inference.filled_shapes({"data": None}, p).get("data") == filled


@pytest.mark.parametrize(
    ("name", "shape", "keywords", "says"),
    [
        (
            "im2col",
            (1, 1, 3),
            {"kernel": ()},
            "im2col: kernel must have 1, 2 or 3 sizes, one for each spatial axis",
        ),
        ("im2col", (1, 1, 3), {"kernel": (0,)}, "im2col: kernel must be >= 1 in each axis; got (0,)"),
        (
            "im2col",
            (1, 1, 3, 3),
            {"kernel": (2, 2), "stride": (1,)},
            "stride must have 2 values, as many as kernel",
        ),
        ("im2col", (1, 1, 3, 3), {"kernel": (2, 2), "dilate": (0, 1)}, "dilate must be >= 1 in each axis"),
        (
            "im2col",
            (1, 1, 3, 3),
            {"kernel": (2, 2), "pad": (-1, 1)},
            "pad must be >= 0 in each axis; got (-1, 1)",
        ),
        ("im2col", (1, 1, 3), {"kernel": (2, 2)}, "im2col: data must have 4 axes (NCHW) for kernel (2, 2)"),
        (
            "im2col",
            (1, 1, 3, 3),
            {"kernel": (2, 2), "dilate": (3, 1)},
            "must fit into the sizes (3, 3) with pad (0, 0); got 4 over 3",
        ),
        ("col2im", (1, 4, 2), {"kernel": (2,), "output_size": (3, 3)}, "output_size must be 1 sizes >= 1"),
        ("col2im", (4, 2), {"kernel": (2,), "output_size": (3,)}, "data must have 3 axes, (N, C * K, W)"),
        (
            "col2im",
            (1, 3, 2),
            {"kernel": (2,), "output_size": (3,)},
            "axis 1 of data must be a multiple of 2",
        ),
        (
            "col2im",
            (1, 4, 3),
            {"kernel": (2,), "output_size": (3,)},
            "axis 2 of data must be 2, the number of windows",
        ),
    ],
)
def test_mistakes_meet_a_sentence(name, shape, keywords, says):
    op = OPERATORS[name]
    with pytest.raises(MXNetError) as caught:
        op(torch.zeros(shape), **op.parse(keywords))
    assert says in str(caught.value)


def test_whole_numbers():
    data = mx.nd.array([[[1, 2, 3]]], dtype="int32")
    assert mx.nd.im2col(data, kernel=(2,)).asnumpy().tolist() == [[[1, 2], [2, 3]]]
    with pytest.raises(DTypeError, match="col2im: cannot compute with arrays of this type"):
        mx.nd.col2im(mx.nd.ones((1, 2, 2), dtype="int32"), kernel=(2,), output_size=(3,))
