"""Pooling from slices of the array gives what torch's own pooling does, which takes over for small arrays."""

from typing import Any

import pytest
import torch

from rebind import tuning
from rebind.ops.nn import window_slices
from rebind.ops.nn.memory_order import channels_last
from rebind.ops.nn.pooling import pooling

WINDOWS = [
    ((2, 2), (2, 2)),
    ((3, 2), (3, 3)),
    ((1, 3), (1, 3)),
    ((3, 3), (2, 2)),
    ((2,), (2,)),
    ((2, 1, 2), (2, 2, 2)),
    ((1, 1, 1), (2, 1, 2)),
]
CASES = [
    *((*windows, False) for windows in WINDOWS),
    # With their channels last in memory.
    *((*windows, True) for windows in WINDOWS if len(windows[0]) > 1),
]


@pytest.mark.parametrize(("kernel", "stride", "last"), CASES, ids=str)
@pytest.mark.parametrize("convention", ["valid", "full"])
@pytest.mark.parametrize("pad", [0, 1])
@pytest.mark.parametrize("kind", ["max", "avg", "sum"])
@pytest.mark.parametrize("differentiated", [False, True])
def test_slices_are_windows(
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    last: bool,
    convention: str,
    pad: int,
    kind: str,
    differentiated: bool,
) -> None:
    # Whole numbers: some are equal within a window, and one of them takes the gradient.
    data = torch.randint(-3, 4, (2, 3, 7, 8, 5)[: len(kernel) + 2]).double()
    if last:
        data = channels_last(data)
    data.requires_grad_(differentiated)
    padding = tuple(pad if size > 1 else 0 for size in kernel)
    found = []
    for least in (0, 1 << 30):
        with tuning.changed(pooling_slice_elements=least, channels_last_slice_elements=least):
            out = pooling(
                data, kernel=kernel, stride=stride, pad=padding, pooling_convention=convention, pool_type=kind
            )
            found.append([out])
            if differentiated:
                head_grad = torch.arange(1.0, out.numel() + 1).double().view(out.shape)
                found[-1] += torch.autograd.grad(out, data, head_grad)
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize(
    ("shape", "given", "is_sliced"),
    [
        ((2, 64, 40, 40), {}, True),
        ((2, 65, 40, 40), {}, False),
        ((2, 32, 8, 20, 20), {}, False),
        ((2, 8, 40, 40), {}, False),  # few numbers
        ((2, 64, 40, 40), {"kernel": (3, 3)}, False),
        ((2, 64, 40, 40), {"recorded": True}, False),
    ],
)
def test_where_maxima_of_channels_are_sliced(
    shape: tuple[int, ...], given: dict[str, Any], is_sliced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    largest = window_slices.largest
    monkeypatch.setattr(
        "rebind.ops.nn.pooling.largest", lambda *args: found.append(args[1]) or largest(*args)
    )
    kernel, axes = given.get("kernel", (2,) * (len(shape) - 2)), len(shape) - 2
    data = channels_last(torch.randn(shape)).requires_grad_(given.get("recorded", False))
    out = pooling(data, kernel=kernel, stride=(2,) * axes)
    assert bool(found) == is_sliced
    torch.testing.assert_close(out, pooling(data.contiguous(), kernel=kernel, stride=(2,) * axes))


def test_volumes_keep_their_order() -> None:
    data = channels_last(torch.randn(2, 3, 4, 6, 5)).requires_grad_()
    with tuning.changed(pooling_slice_elements=0):
        out = pooling(data, kernel=(2, 3, 2), stride=(2, 3, 2), pool_type="avg")
    (grad,) = torch.autograd.grad(out.sum(), data)
    assert [each.is_contiguous(memory_format=torch.channels_last_3d) for each in (out, grad)] == [True, True]


@pytest.mark.parametrize("function", [window_slices.largest, window_slices.total])
def test_derivatives(function) -> None:
    data = torch.randn(1, 2, 5, 6, dtype=torch.float64, requires_grad=True)
    windows = (2, 2), (2, 3)
    torch.autograd.gradcheck(lambda data: function(data, *windows), data)
    torch.autograd.gradgradcheck(lambda data: function(data, *windows), data)


def test_spreading_is_the_other_way_round() -> None:
    data = torch.randn(1, 2, 3, 4, dtype=torch.float64, requires_grad=True)
    expected = data.detach().repeat_interleave(2, 2).repeat_interleave(3, 3)
    torch.testing.assert_close(window_slices.spread(data, (2, 3)), expected)
    torch.autograd.gradcheck(lambda data: window_slices.spread(data, (2, 3)), data)


def test_not_a_number_is_the_maximum() -> None:
    data = torch.zeros(1, 1, 2, 4)
    data[0, 0, 1, 2] = torch.nan
    assert window_slices.largest(data, (2, 2), (2, 2)).isnan().flatten().tolist() == [False, True]
