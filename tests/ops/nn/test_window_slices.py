"""Pooling from slices of the array gives what torch's own pooling does, which takes over for small arrays."""

import pytest
import torch

from rebind.ops.nn import window_slices
from rebind.ops.nn.pooling import pooling

WINDOWS = [
    ((2, 2), (2, 2)),
    ((3, 2), (3, 3)),
    ((1, 3), (1, 3)),
    ((3, 3), (2, 2)),
    ((2,), (2,)),
    ((2, 1, 2), (2, 2, 2)),
]


@pytest.mark.parametrize(("kernel", "stride"), WINDOWS, ids=str)
@pytest.mark.parametrize("convention", ["valid", "full"])
@pytest.mark.parametrize("pad", [0, 1])
@pytest.mark.parametrize("kind", ["max", "avg", "sum"])
@pytest.mark.parametrize("differentiated", [False, True])
def test_slices_are_windows(
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    convention: str,
    pad: int,
    kind: str,
    differentiated: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Whole numbers: some are equal within a window, and one of them takes the gradient.
    data = torch.randint(-3, 4, (2, 3, 7, 8, 5)[: len(kernel) + 2]).double().requires_grad_(differentiated)
    padding = tuple(pad if size > 1 else 0 for size in kernel)
    found = []
    for least in (0, 1 << 30):
        monkeypatch.setattr(window_slices, "_LEAST_ELEMENTS", least)
        out = pooling(
            data, kernel=kernel, stride=stride, pad=padding, pooling_convention=convention, pool_type=kind
        )
        found.append([out])
        if differentiated:
            head_grad = torch.arange(1.0, out.numel() + 1).double().view(out.shape)
            found[-1] += torch.autograd.grad(out, data, head_grad)
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


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
