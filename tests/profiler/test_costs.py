"""Multiply-adds of a profile, compared with what PyTorch counts for its own operators."""

from __future__ import annotations

from typing import Any

import pytest
from torch.utils.flop_counter import FlopCounterMode

import rebind as mx

S = mx.sym
X = S.var("x")

NETS: dict[str, tuple[Any, dict[str, tuple[int, ...]]]] = {
    "dense": (S.FullyConnected(X, num_hidden=5, name="node"), {"x": (4, 3, 2)}),
    "dense_rows": (S.FullyConnected(X, num_hidden=5, flatten=False, name="node"), {"x": (4, 3, 2)}),
    "convolution": (
        S.Convolution(X, num_filter=8, kernel=(3, 2), stride=(2, 1), pad=(1, 0), num_group=2, name="node"),
        {"x": (2, 4, 9, 8)},
    ),
    "dilated": (S.Convolution(X, num_filter=6, kernel=(3,), dilate=(2,), name="node"), {"x": (2, 4, 9)}),
    "deconvolution": (
        S.Deconvolution(X, num_filter=4, kernel=(3, 3), stride=(2, 2), num_group=2, name="node"),
        {"x": (2, 6, 5, 4)},
    ),
    "dot": (S.dot(X, S.var("y"), name="node"), {"x": (4, 3), "y": (3, 7)}),
    "dot_axes": (S.dot(X, S.var("y"), transpose_b=True, name="node"), {"x": (4, 2, 3), "y": (6, 5, 3)}),
    "dot_transposed": (S.dot(X, S.var("y"), transpose_a=True, name="node"), {"x": (3, 4), "y": (3, 7)}),
    "batch_dot": (
        S.batch_dot(X, S.var("y"), transpose_a=True, name="node"), {"x": (5, 3, 4), "y": (5, 3, 7)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("is_train", [False, True], ids=["inference", "training"])
@pytest.mark.parametrize("name", NETS)
def test_products_are_those_that_pytorch_counts(name: str, is_train: bool) -> None:
    net, shapes = NETS[name]
    exe = net.simple_bind(mx.cpu(), "write" if is_train else "null", **shapes)
    with mx.profiler.Profile() as profile:
        exe.forward(is_train=is_train)
    [row] = [row for row in profile.nodes() if row.name == "node"]
    # The plain operators: PyTorch does not count those of oneDNN that inference takes.
    plain = net.simple_bind(mx.cpu(), **shapes)
    with FlopCounterMode(display=False) as counter:
        plain.forward(is_train=True)
    assert row.multiply_adds == counter.get_total_flops() // 2 + exe.outputs[0].size


def test_what_does_not_say_has_no_number() -> None:
    exe = S.linalg.det(S.var("x"), name="node").simple_bind(mx.cpu(), "null", x=(3, 3))
    with mx.profiler.Profile() as profile:
        exe.forward()
    [row] = profile.nodes()
    assert row.multiply_adds is None and row.gflops is None and row.gbytes is not None
