"""Pictures at other sizes and places, windows as columns, batch norms of ``contrib``, sparse regularization, CTC.

Not recorded, since 1.9.1 does something else than it says, or nothing (docs/differences.md has the reasons):
``SyncBatchNorm(output_mean_var=True)``, whose further outputs stay empty in inference; ``BatchNormWithReLU``, which
needs oneDNN, that the records are made without; ``GridGenerator`` with an axis of one pixel; ``im2col`` and
``col2im`` in one and three dimensions; ``BilinearResize2D(mode='like')`` with another batch or other channels, which
writes beyond an array; ``IdentityAttachKLSparseReg`` with more than two axes; ``CTCLoss`` in float64, and with the
blank among the labels. Positions lie between the pixels: on a pixel the gradient to a position has a choice of two
sides.
"""

from __future__ import annotations

from collections.abc import Iterable

from .case import Case, Input, between, case, fixed, integers, normal, values, variadic


def sampling() -> Iterable[Case]:
    """UpSampling, and positions of a grid."""
    up = "UpSampling"
    pictures = normal(2, 3, 4, 5)
    for scale in (1, 2, 3):
        yield variadic(up, [pictures], scale=scale, sample_type="nearest")
    yield variadic(up, [normal(2, 3, 4, 5, dtype="float64")], scale=2, sample_type="nearest")
    smaller = [normal(2, 3, 4, 6), normal(2, 3, 2, 3), normal(2, 3, 8, 12)]
    yield variadic(up, smaller, scale=2, sample_type="nearest", num_args=3)
    yield variadic(up, smaller, scale=2, sample_type="nearest", multi_input_mode="sum", num_args=3)
    others = [normal(2, 1, 4, 6), normal(2, 3, 2, 3)]
    yield variadic(up, others, scale=2, sample_type="nearest", multi_input_mode="concat", workspace=64)
    for scale in (1, 2, 3, 4):  # the weight is a variable that is made, and its shape inferred
        yield variadic(up, [pictures], scale=scale, sample_type="bilinear", num_filter=3, num_args=2)
    yield variadic(up, [pictures, normal(3, 1, 4, 4)], scale=2, sample_type="bilinear", num_filter=3)

    for dtype in ("float32", "float64"):
        grid = Input("uniform", (2, 2, 3, 4), -1.4, 1.4, dtype)
        yield case("BilinearSampler", {"data": normal(2, 3, 4, 5, dtype=dtype), "grid": grid})
    yield case("BilinearSampler", {"data": pictures, "grid": between(-3, 3, 2, 2, 6, 7)}, cudnn_off=True)
    edge = values(*(-1.2, -1.0001, -0.9, 0.3, 0.9, 1.2, 1.66, 5.0), *(0.1,) * 8, shape=(1, 2, 1, 8))
    yield case("BilinearSampler", {"data": normal(1, 2, 3, 4), "grid": edge})

    numbers = between(-1, 1, 2, 6)
    for shape in ((2, 3), (5, 4)):
        yield case("GridGenerator", {"data": numbers}, transform_type="affine", target_shape=shape)
    yield case("GridGenerator", {"data": normal(2, 2, 4, 5)}, transform_type="warp")
    yield case("GridGenerator", {"data": normal(2, 2, 4, 5)}, transform_type="warp", target_shape=(7, 8))
    affine = {"transform_type": "affine", "sampler_type": "bilinear"}
    for shape in ((3, 4), (6, 7)):
        yield case("SpatialTransformer", {"data": pictures, "loc": numbers}, target_shape=shape, **affine)
    double = {"data": normal(2, 3, 4, 5, dtype="float64"), "loc": Input("uniform", (2, 6), -1, 1, "float64")}
    yield case("SpatialTransformer", double, target_shape=(3, 4), cudnn_off=False, **affine)


def patches() -> Iterable[Case]:
    """Windows as columns."""
    pictures = {"data": normal(2, 3, 6, 7)}
    yield case("im2col", pictures, kernel=(3, 2))
    yield case("im2col", pictures, kernel=(2, 3), stride=(2, 1), pad=(1, 2), dilate=(3, 1))
    yield case("im2col", {"data": normal(2, 3, 4, 5, dtype="float16")}, kernel=(2, 2))
    yield case("col2im", {"data": normal(2, 18, 24)}, output_size=(6, 7), kernel=(3, 2))
    columns = {"data": normal(2, 18, 27)}
    yield case("col2im", columns, output_size=(6, 7), kernel=(2, 3), stride=(2, 1), pad=(1, 2), dilate=(3, 1))


def sizes() -> Iterable[Case]:
    """Means over parts, and interpolation in each mode."""
    pooling, resize = "contrib.AdaptiveAvgPooling2D", "contrib.BilinearResize2D"
    pictures = {"data": normal(2, 3, 5, 8)}
    yield case(pooling, pictures)
    yield case(pooling, {"data": normal(2, 3, 5, 8, dtype="float64")}, output_size=(2, 3))
    for size in (3, (2,), (2, 3), (5, 8), (7, 9), (1, 4)):
        yield case(pooling, pictures, output_size=size)

    for corners in (True, False):
        for height, width in ((3, 4), (5, 8), (9, 13), (1, 5), (6, 1), (1, 1)):
            yield case(resize, pictures, height=height, width=width, align_corners=corners)
        yield case(resize, pictures, scale_height=2.0, scale_width=0.5, align_corners=corners)
    yield case(resize, pictures)
    yield case(
        resize, {"data": normal(2, 3, 5, 8, dtype="float64")}, height=9, width=15
    )  # steps of 1/2: it has them in float32
    yield case(resize, {"data": normal(1, 1, 10, 10)}, scale_height=0.7, scale_width=0.3)
    yield case(resize, {"data": normal(1, 2, 1, 1)}, height=3, width=2)
    for scale in (0.5, 0.7, 1.5, 2.0):
        yield case(resize, pictures, mode="odd_scale", scale_height=scale, scale_width=scale)
    for mode in ("to_even_down", "to_even_up", "to_odd_down", "to_odd_up"):
        yield case(resize, pictures, mode=mode)
        yield case(resize, pictures, mode=mode, height=2, width=2, scale_height=3.0, align_corners=False)
    like = fixed(normal(2, 3, 3, 4))
    yield case(resize, {**pictures, "like": like}, mode="like")
    yield case(
        resize, {**pictures, "like": fixed(normal(2, 3, 7, 9))}, mode="like", height=2, align_corners=False
    )


def normalizations() -> Iterable[Case]:
    """Batch norms, and what draws the means of units to a target."""
    for data in (normal(4, 3, 2, 2), normal(6, 3), normal(4, 3, 5)):
        yield case("contrib.SyncBatchNorm", {"data": data}, key="layer")
    norm = {"data": normal(4, 3, 2, 2)}
    yield case("contrib.SyncBatchNorm", norm, fix_gamma=False, eps=2e-3, momentum=0.8, key="layer")
    yield case("contrib.SyncBatchNorm", norm, fix_gamma=True, use_global_stats=True, key="layer")
    yield case("contrib.SyncBatchNorm", norm, fix_gamma=False, use_global_stats=True, key="layer")
    yield case("contrib.SyncBatchNorm", norm, fix_gamma=False, ndev=1, key="other")

    units = {"data": between(0.1, 0.9, 4, 3)}
    yield case("IdentityAttachKLSparseReg", units)
    yield case("IdentityAttachKLSparseReg", units, sparseness_target=0.3, penalty=0.5, momentum=0.7)
    yield case("IdentityAttachKLSparseReg", units, sparseness_target=0.0, penalty=0.1)
    yield case("IdentityAttachKLSparseReg", units, sparseness_target=1.0, penalty=0.1, momentum=0.0)
    yield case("IdentityAttachKLSparseReg", units, penalty=-1.0, momentum=1.0)


def alignments() -> Iterable[Case]:
    """CTC: labels and lengths of each kind."""
    scores = normal(8, 3, 5)
    first = values(*(1, 2, 0, 0), *(3, 3, 1, 2), *(4, 0, 1, 0), shape=(3, 4))
    last = values(*(1, 2, -1, -1), *(3, 3, 1, 2), *(0, -1, 1, -1), shape=(3, 4))
    nothing = values(*(0,) * 8, *(2, 2, 2, 2), shape=(3, 4))
    times, counts = values(5, 8, 3), values(2, 4, 0)
    loss = "CTCLoss"
    for name in ("CTCLoss", "ctc_loss", "contrib.CTCLoss", "contrib.ctc_loss"):
        yield case(name, {"data": scores, "label": first})
    yield case(loss, {"data": scores, "label": last}, blank_label="last")
    yield case(loss, {"data": scores, "label": nothing})
    # The last one needs 7 steps, and has loss 0. MXNet does not write the gradient where the loss is 0.
    yield case(loss, {"data": fixed(normal(4, 3, 5)), "label": nothing})
    yield case(loss, {"data": scores, "label": first, "data_lengths": times}, use_data_lengths=True)
    yield case(loss, {"data": scores, "label": first, "label_lengths": counts}, use_label_lengths=True)
    yield case(
        loss,
        {"data": scores, "label": last, "label_lengths": counts},
        use_label_lengths=True,
        blank_label="last",
    )
    yield case(
        loss,
        {"data": scores, "label": first, "data_lengths": times, "label_lengths": counts},
        use_data_lengths=True,
        use_label_lengths=True,
    )
    yield case(
        loss, {"data": fixed(scores), "label": first, "data_lengths": values(0, 8, 1)}, use_data_lengths=True
    )
    yield case(loss, {"data": scores, "label": integers(0, 5, 3, 4, dtype="int32")})


FAMILIES = (sampling, patches, sizes, normalizations, alignments)
