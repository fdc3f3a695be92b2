"""What follows from some shapes: those of the other inputs, of the states and of the outputs, and their names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import rebind as mx

X, Y, Z = (mx.sym.var(name) for name in "xyz")


@pytest.mark.parametrize(
    ("make", "known", "arguments", "outputs", "states"),
    [
        pytest.param(
            lambda: mx.sym.CTCLoss(X, use_label_lengths=True, name="loss"),
            {"x": (7, 2, 4), "loss_label": (2, 3)},
            {"x": (7, 2, 4), "loss_label": (2, 3), "loss_label_lengths": (2,)},
            {"loss_output0": (2,)},
            {},
            id="CTCLoss",
        ),
        pytest.param(
            lambda: mx.sym.IdentityAttachKLSparseReg(X, name="op"),
            {"x": (2, 3)},
            {"x": (2, 3)},
            {"op_output": (2, 3)},
            {"op_moving_avg": (3,)},
            id="IdentityAttachKLSparseReg",
        ),
        pytest.param(
            lambda: mx.sym.contrib.count_sketch(X, Y, Z, out_dim=4, name="op"),
            {"x": (2, 5, 5, 3)},
            {"x": (2, 5, 5, 3), "y": (1, 3), "z": (1, 3)},
            {"op_output": (2, 5, 5, 4)},
            {},
            id="count_sketch",
        ),
        pytest.param(
            lambda: mx.sym.contrib.ModulatedDeformableConvolution(
                *(X, Y, Z),
                kernel=(3, 3),
                pad=(1, 1),
                num_filter=6,
                num_group=2,
                num_deformable_group=4,
                name="op",
            ),
            {"x": (2, 4, 6, 7)},
            {
                "x": (2, 4, 6, 7),
                "y": (2, 72, 6, 7),
                "z": (2, 36, 6, 7),
                "op_weight": (6, 2, 3, 3),
                "op_bias": (6,),
            },
            {"op_output": (2, 6, 6, 7)},
            {},
            id="ModulatedDeformableConvolution",
        ),
        pytest.param(
            lambda: mx.sym.SpatialTransformer(
                X, Y, transform_type="affine", target_shape=(2, 3), sampler_type="bilinear", name="op"
            ),
            {"x": (2, 3, 4, 5)},
            {"x": (2, 3, 4, 5), "y": (2, 6)},
            {"op_output": (2, 3, 2, 3)},
            {},
            id="SpatialTransformer",
        ),
        pytest.param(
            lambda: mx.sym.contrib.BilinearResize2D(X, Y, mode="like", name="op"),
            {"x": (1, 2, 3, 4), "y": (5, 6, 7, 8)},
            {"x": (1, 2, 3, 4), "y": (5, 6, 7, 8)},
            {"op_output": (1, 2, 7, 8)},
            {},
            id="BilinearResize2D",
        ),
        pytest.param(
            lambda: mx.sym._internal._cvcopyMakeBorder(
                mx.sym._internal._cvimresize(X, w=4, h=3), top=1, bot=0, left=2, right=3, name="op"
            ),
            {"x": (5, 7, 3)},
            {"x": (5, 7, 3)},
            {"op_output": (4, 9, 3)},
            {},
            id="resizing-and-framing",
        ),
    ],
)
def test_names_and_shapes_that_follow(
    make: Callable[[], mx.Symbol],
    known: dict[str, tuple[int, ...]],
    arguments: dict[str, tuple[int, ...]],
    outputs: dict[str, tuple[int, ...]],
    states: dict[str, tuple[int, ...]],
) -> None:
    symbol = make()
    assert symbol.list_arguments() == list(arguments)
    assert symbol.list_outputs() == list(outputs)
    assert symbol.list_auxiliary_states() == list(states)
    expected = tuple(list(shapes.values()) for shapes in (arguments, outputs, states))
    assert symbol.infer_shape(**known) == expected
