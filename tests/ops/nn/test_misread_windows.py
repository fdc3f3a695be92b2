"""Convolutions that oneDNN computes wrongly, and their transposes, are right, with gradients, in either order."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from rebind.ops.nn.convolution import convolution, deconvolution
from rebind.ops.nn.memory_order import FORMATS, channels_last
from rebind.ops.nn.misread_windows import misread_axes, without_misread_windows

TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}

# Data, filters, what is said of the convolution, and the axes along which it is computed wrongly.
Case = tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], list[int]]
FLOAT: dict[str, Case] = {
    "one-window": ((2, 1, 9, 8), (20, 1, 3, 8), {"stride": (1, 8)}, [1]),
    "one-window-of-more": ((2, 1, 2, 4), (16, 1, 3, 3), {"stride": (1, 2), "pad": (1, 0)}, [1]),
    "padded": ((2, 1, 5, 2), (20, 1, 2, 3), {"stride": (1, 3), "pad": (0, 1)}, [1]),
    "dilated": ((2, 1, 9, 5), (3, 1, 2, 2), {"stride": (1, 4), "dilate": (2, 3)}, [1]),
    "volume": ((2, 1, 3, 5, 4), (4, 1, 1, 3, 3), {"stride": (1, 1, 3), "pad": (0, 1, 0)}, [2]),
    "volume-of-padding": (
        (5, 2, 8, 5, 1), (16, 2, 3, 2, 1), {"stride": (1, 1, 2), "pad": (1, 0, 1), "dilate": (1, 1, 2)}, [2],
    ),
    "padding": ((2, 3, 4, 4), (2, 3, 1, 1), {"pad": (1, 0)}, [0]),
    "deep-padding": ((2, 4, 6, 5, 5), (8, 4, 7, 3, 3), {"stride": (2, 1, 1), "pad": (3, 1, 1)}, [0]),
    "deep-padding-of-much": ((2, 4, 8, 5, 5), (8, 4, 7, 3, 3), {"stride": (2, 1, 1), "pad": (3, 1, 1)}, []),
    "few-channels": ((2, 8, 4, 4), (8, 8, 1, 1), {"stride": (2, 2)}, [0, 1]),
    "few-channels-one-stride": ((2, 15, 4, 4), (8, 15, 1, 1), {"stride": (1, 2)}, [1]),
    "few-channels-and-windows": ((2, 3, 3, 2), (8, 3, 1, 1), {"stride": (2, 2)}, [0, 1]),
    "few-channels-line": ((2, 8, 8), (8, 8, 1), {"stride": (2,)}, []),
    "few-channels-volume": ((2, 8, 4, 4, 4), (8, 8, 1, 1, 1), {"stride": (2, 2, 2)}, []),
    "block-of-channels": ((2, 16, 4, 4), (8, 16, 1, 1), {"stride": (2, 2)}, []),
    "more-channels": ((2, 2, 9, 8), (4, 2, 3, 8), {"stride": (1, 8)}, []),
    "more-windows": ((2, 1, 9, 16), (4, 1, 3, 8), {"stride": (1, 8)}, []),
    "without-stride": ((2, 1, 9, 8), (4, 1, 3, 8), {}, []),
    "line": ((2, 1, 8), (4, 1, 8), {"stride": (8,)}, []),
}  # fmt: skip
SHORT: dict[str, Case] = {
    "one-element": ((2, 8, 1, 1), (8, 8, 3, 3), {"stride": (2, 2), "pad": (1, 1)}, [0, 1]),
    "windows-of-padding": ((2, 2, 3, 1), (4, 2, 2, 1), {"stride": (1, 2), "pad": (0, 1)}, [1]),
    "smaller-than-a-window": ((2, 3, 2, 5), (8, 3, 3, 2), {"pad": (2, 0)}, [0]),
    "one-window": ((2, 4, 9, 8), (4, 2, 3, 8), {"stride": (1, 8), "num_group": 2}, [1]),
    "one-element-of-many": ((2, 8, 6, 9), (2, 8, 1, 1), {"stride": (2, 1)}, [0]),
    "one-element-padded": ((2, 8, 4, 9), (2, 8, 1, 1), {"stride": (2, 1), "pad": (1, 0)}, [0]),
    "volume": ((2, 2, 1, 4, 5), (8, 1, 3, 3, 3), {"stride": (1, 1, 2), "pad": (1, 0, 0), "num_group": 2}, [0]),
    "usual": ((2, 8, 6, 6), (8, 8, 3, 3), {"stride": (2, 2), "pad": (1, 1)}, []),
    "few-channels": ((2, 8, 6, 6), (8, 8, 1, 1), {"stride": (2, 2)}, [0, 1]),
    "usual-one-element": ((2, 16, 6, 6), (8, 16, 1, 1), {"stride": (2, 2)}, []),
}  # fmt: skip
BYTES: dict[str, Case] = {
    "depthwise": ((2, 4, 3, 2), (64, 1, 1, 2), {"stride": (1, 2), "num_group": 4}, [1]),
    "usual": ((2, 4, 8, 8), (4, 4, 3, 3), {"stride": (2, 2), "pad": (1, 1)}, []),
}
COMPUTED = [
    *(pytest.param(case, torch.float32, id=f"float32-{name}") for name, case in FLOAT.items()),
    *(pytest.param(case, torch.bfloat16, id=f"bfloat16-{name}") for name, case in SHORT.items()),
]
CASES = [*COMPUTED, *(pytest.param(case, torch.uint8, id=f"uint8-{name}") for name, case in BYTES.items())]


def settings(case: Case) -> tuple[tuple[int, ...], ...]:
    _, filters, given, _ = case
    return (filters[2:], *(given.get(name, ()) for name in ("stride", "pad", "dilate")))


@pytest.mark.parametrize(("case", "dtype"), CASES)
def test_axes(case: Case, dtype: torch.dtype) -> None:
    shape, _, _, axes = case
    assert misread_axes(shape, dtype, *settings(case)) == axes
    data = torch.ones(shape, dtype=dtype)
    changed, _, pad = without_misread_windows(data, *settings(case))
    assert (changed is data) == (not axes)
    assert all(not pad[i] for i in axes)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(("case", "dtype"), COMPUTED)
def test_results_are_right(case: Case, dtype: torch.dtype, last: bool) -> None:
    shape, filters, given, _ = case
    generator = torch.Generator().manual_seed(0)
    arrays = [torch.randn(each, generator=generator).to(dtype) for each in (shape, filters)]
    exact = [each.double().requires_grad_() for each in arrays]
    groups = given.get("num_group", 1)
    kernel, stride, pad, dilate = settings(case)
    run: Any = CONVOLUTIONS[len(kernel)]
    expected = run(*exact, None, stride or 1, pad or 0, dilate or 1, groups)
    head = torch.randn(expected.shape, generator=generator).to(dtype)

    order = channels_last if last and len(shape) in FORMATS else torch.clone
    data, weight = (order(each).requires_grad_() for each in arrays)
    out = convolution(data, weight, kernel=kernel, num_filter=filters[0], no_bias=True, **given)
    found = [out, *torch.autograd.grad(out, (data, weight), order(head))]
    close([out], [expected], dtype)
    close(found[1:], torch.autograd.grad(expected, exact, head.double()), dtype)


@pytest.mark.parametrize(
    ("shape", "filters"), [((2, 8, 4, 4), (8, 8, 1, 1)), ((2, 1, 4, 8), (4, 1, 1, 8))], ids=["one", "width"]
)
def test_few_channels_have_no_strides(shape: tuple[int, ...], filters: tuple[int, ...]) -> None:
    """Filters as wide as the data become filters of one element."""
    data, weight = (channels_last(torch.ones(each)).requires_grad_() for each in (shape, filters))
    out = convolution(data, weight, kernel=filters[2:], num_filter=filters[0], no_bias=True, stride=(2, 1))
    assert out.grad_fn._saved_stride == (1, 1)


def windows(size: int, kernel: int, stride: int, pad: int, dilate: int) -> tuple[int, int]:
    """Return how many windows a convolution has along an axis, and what is beyond the last one."""
    return divmod(size + 2 * pad - dilate * (kernel - 1) - 1, stride)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(("case", "dtype"), COMPUTED)
def test_deconvolutions_are_right(case: Case, dtype: torch.dtype, last: bool) -> None:
    """The transpose of each convolution: from its windows to its data."""
    (count, channels, *sizes), filters, given, _ = case
    kernel, stride, pad, dilate = settings(case)
    axes = [*zip(sizes, kernel, stride or (1,) * 3, pad or (0,) * 3, dilate or (1,) * 3, strict=False)]
    counts, rests = zip(*(windows(*axis) for axis in axes), strict=True)
    generator = torch.Generator().manual_seed(0)
    shapes = ((count, filters[0], *(n + 1 for n in counts)), filters, (channels,))
    arrays = [torch.randn(each, generator=generator).to(dtype) for each in shapes]
    exact = [each.double().requires_grad_() for each in arrays]
    groups = given.get("num_group", 1)
    run: Any = TRANSPOSED[len(kernel)]
    expected = run(*exact, stride or 1, pad or 0, rests, groups, dilate or 1)
    head = torch.randn(expected.shape, generator=generator).to(dtype)

    order = channels_last if last and len(kernel) + 2 in FORMATS else torch.clone
    data, weight = (order(each).requires_grad_() for each in arrays[:2])
    bias = arrays[2].requires_grad_()
    out = deconvolution(
        data, weight, bias, kernel=kernel, num_filter=channels, no_bias=False, adj=rests, **given
    )
    assert tuple(out.shape) == (count, channels, *sizes)
    found = [out, *torch.autograd.grad(out, (data, weight, bias), order(head))]
    close([out], [expected], dtype)
    close(found[1:], torch.autograd.grad(expected, exact, head.double()), dtype)


def close(found: Any, expected: Any, dtype: torch.dtype) -> None:
    tolerance = 2**-6 if dtype is torch.bfloat16 else 1e-5
    for one, other in zip(found, expected, strict=True):
        scale = float(other.detach().abs().max())
        torch.testing.assert_close(one.double(), other, rtol=tolerance, atol=tolerance * scale)
