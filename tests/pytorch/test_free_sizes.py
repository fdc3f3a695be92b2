"""Inputs whose free sizes differ, and those whose free sizes must be the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import rebind as mx

BOXES = {"lhs": (0, 4), "rhs": (0, 4)}


def boxes(count: int) -> torch.Tensor:
    low = torch.rand(count, 2)
    return torch.cat([low, low + torch.rand(count, 2)], 1)


def test_different_sizes_on_one_axis() -> None:
    net = mx.sym.contrib.box_iou(mx.sym.var("lhs"), mx.sym.var("rhs"))
    module = mx.to_torch(net, {}, shapes=BOXES)
    for counts in ((3, 5), (7, 2), (4, 4)):
        lhs, rhs = map(boxes, counts)
        expected = mx.nd.contrib.box_iou(mx.nd.array(lhs.numpy()), mx.nd.array(rhs.numpy())).asnumpy()
        torch.testing.assert_close(module(lhs, rhs), torch.from_numpy(expected))


def test_sizes_that_must_be_equal_are_one() -> None:
    lhs, rhs, other = (mx.sym.var(name) for name in ("lhs", "rhs", "other"))
    net = mx.sym.contrib.box_iou(lhs + rhs, other)
    module = mx.to_torch(net, {}, shapes={**BOXES, "other": (0, 4)})
    assert module(boxes(3), boxes(3), boxes(5)).shape == (3, 5)
    filled = mx.sym.Concat(lhs, mx.sym.zeros((0, 4)) + rhs, dim=1)
    assert mx.to_torch(filled, {}, shapes=BOXES)(boxes(3), boxes(3)).shape == (3, 8)


def test_sizes_that_cannot_be_distinguished_are_refused() -> None:
    # 30 is tried for the second size, which less 24 is the number that is tried for the first.
    rest = mx.sym.slice_axis(mx.sym.var("rhs"), axis=0, begin=24, end=None)
    net = mx.sym.contrib.box_iou(mx.sym.var("lhs"), rest, name="op")
    with pytest.raises(mx.MXNetError, match=r"'op': .* two of its free sizes cannot be distinguished"):
        mx.to_torch(net, {}, shapes=BOXES)


def norm_of_swapped(data: mx.Symbol) -> mx.Symbol:
    swapped = mx.sym.SwapAxis(data, dim1=1, dim2=2)
    return mx.sym.InstanceNorm(swapped, mx.sym.var("gamma"), mx.sym.var("beta"), name="norm")


@pytest.mark.parametrize(
    "network",
    [
        lambda data: mx.sym.slice(data, begin=(None, 1, -3, 1), end=(None, 9, None, -2)),
        lambda data: mx.sym.slice(data, begin=(1, 0), end=(-1, None), step=(2, 3)),
        lambda data: mx.sym.Pad(data, mode="edge", pad_width=(0, 0, 0, 0, 1, 1, 2, 2)),
        norm_of_swapped,
        lambda data: mx.sym.contrib.BilinearResize2D(data, height=9, width=4),
        lambda data: mx.sym.contrib.BilinearResize2D(
            mx.sym.slice_axis(data, axis=2, begin=1, end=None), data, mode="like"
        ),
    ],
    ids=[
        "a slice",
        "a slice of the batch with steps",
        "padding",
        "an instance norm of swapped axes",
        "pictures of a size",
        "pictures as large as others",
    ],
)
def test_a_batch_is_free(network: Callable[[mx.Symbol], mx.Symbol]) -> None:
    net = network(mx.sym.var("data"))
    shape = (0, 4, 5, 6)
    params = {name: mx.nd.random.uniform(0.5, 1.5, (5,)) for name in net.list_arguments() if name != "data"}
    module = mx.to_torch(net, params, {}, shapes={"data": shape})
    for batch in (3, 7):
        data = torch.randn(batch, *shape[1:])
        bound = net.bind(mx.cpu(), {**params, "data": mx.nd.array(data.numpy())})
        torch.testing.assert_close(
            module(data), torch.from_numpy(bound.forward()[0].asnumpy()), check_dtype=False
        )
