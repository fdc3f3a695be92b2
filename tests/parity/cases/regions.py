"""Pooling over regions, deformable convolution, correlation, and the old crop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .case import Case, Input, between, case, distinct, fixed, normal, values, variadic

# image, x1, y1, x2, y2: within the map (behind a stride of 4), over its edges, beyond it, a point, turned round.
BOXES = (
    (0, 3, 2, 21, 17),
    (1, 0, 0, 43, 35),
    (1, -9.5, -14.5, 12.5, 60),
    (0, 50, 40, 70, 66),
    (1, 17.3, 9.8, 17.3, 9.8),
    (0, 30, 25, 11, 6),
)
# image, x and y of the centre, width, height, angle
TURNED = (
    (0, 20, 16, 24, 12, 0),
    (1, 20, 16, 24, 12, 30),
    (1, 5, 30, 40.5, 9, -75),
    (0, 22, 18, 90, 60, 200),
    (0, 60, 60, 8, 8, 45),
    (1, 10, 10, 0, 0, 90),
)


def boxes(rows: Iterable[tuple[float, ...]] = BOXES, dtype: str = "float32") -> Input:
    """Regions; their gradient is asked, for it is zeros."""
    rows = list(rows)
    numbers = [number for row in rows for number in row]
    return replace(values(*numbers, shape=(len(rows), len(rows[0])), dtype=dtype), gradient=True)


def pooling() -> Iterable[Case]:
    """Pooling over regions.

    Three things are left out, where 1.9.1 reads foreign memory or ends: an image out of range; ``ROIAlign`` with an
    image of -1, which sets a wrong element to 0; ``ROIAlign(aligned=True)`` of boxes without an inside.
    """
    maps = {"data": distinct(2, 3, 9, 11), "rois": boxes()}
    for size in ((2, 3), (7, 7), (1, 1)):
        for scale in (0.25, 0.3):
            yield case("ROIPooling", maps, pooled_size=size, spatial_scale=scale)
    yield case(
        "ROIPooling", {**maps, "rois": boxes([(-1, 3, 2, 21, 17)])}, pooled_size=(2, 2), spatial_scale=0.25
    )
    for dtype in ("float16", "float64"):
        typed = {"data": distinct(2, 3, 9, 11, dtype=dtype), "rois": boxes(dtype=dtype)}
        yield case("ROIPooling", typed, pooled_size=(3, 2), spatial_scale=0.25)

    align = "contrib.ROIAlign"
    maps = {"data": normal(2, 3, 9, 11), "rois": boxes()}
    sensitive = {"data": normal(2, 12, 9, 11), "rois": boxes()}
    whole = boxes(BOXES[:4])  # aligned, others end the process
    for ratio in (-1, 0, 1, 2, 3):
        yield case(align, maps, pooled_size=(2, 3), spatial_scale=0.25, sample_ratio=ratio)
        yield case(
            align,
            {**maps, "rois": whole},
            pooled_size=(3, 2),
            spatial_scale=0.3,
            sample_ratio=ratio,
            aligned=True,
        )
        yield case(
            align,
            sensitive,
            pooled_size=(2, 3),
            spatial_scale=0.25,
            sample_ratio=ratio,
            position_sensitive=True,
        )
    yield case(align, maps, pooled_size=(7, 7), spatial_scale=1.0)
    typed = {"data": normal(2, 3, 9, 11, dtype="float64"), "rois": boxes(dtype="float64")}
    yield case(align, typed, pooled_size=(2, 3), spatial_scale=0.25)
    yield case(align, typed, pooled_size=(2, 3), spatial_scale=0.25, sample_ratio=2)

    # Without a gradient in MXNet.
    turned = {"data": fixed(normal(2, 3, 9, 11)), "rois": fixed(boxes(TURNED))}
    for ratio in (-1, 1, 2):
        yield case("contrib.RROIAlign", turned, pooled_size=(2, 3), spatial_scale=0.25, sampling_ratio=ratio)

    sensitive = {"data": normal(2, 18, 9, 11), "rois": boxes()}
    for size in (1, 2, 3, 5):
        yield case(
            "contrib.PSROIPooling",
            sensitive,
            spatial_scale=0.25,
            output_dim=2,
            pooled_size=size,
            group_size=3,
        )
    yield case("contrib.PSROIPooling", sensitive, spatial_scale=0.3, output_dim=2, pooled_size=3)

    deformable = "contrib.DeformablePSROIPooling"
    for size, parts, classes in ((3, 0, 1), (3, 2, 2), (2, 3, 1), (5, 2, 1)):
        for points in (1, 3):
            yield case(
                deformable,
                {**sensitive, "trans": normal(len(BOXES), 2 * classes, parts or size, parts or size)},
                spatial_scale=0.25,
                output_dim=2,
                group_size=3,
                pooled_size=size,
                part_size=parts,
                sample_per_part=points,
                trans_std=0.1,
            )
    yield case(
        deformable,
        sensitive,
        spatial_scale=0.25,
        output_dim=2,
        group_size=3,
        pooled_size=3,
        sample_per_part=2,
        no_trans=True,
    )


def convolution() -> Iterable[Case]:
    """Deformable convolution; the modulated one runs on a GPU only."""
    op = "contrib.DeformableConvolution"
    image = normal(2, 4, 7, 6)

    def moved(*shape: int, far: float = 1.5, **parameters: object) -> Case:
        return case(op, {"data": image, "offset": between(-far, far, *shape)}, num_filter=4, **parameters)

    yield moved(2, 18, 5, 4, kernel=(3, 3))
    yield moved(2, 18, 7, 6, kernel=(3, 3), pad=(1, 1), no_bias=True, layout="NCHW")
    yield moved(2, 18, 7, 6, kernel=(3, 3), pad=(1, 1), far=9.0)
    yield moved(2, 18, 7, 6, kernel=(3, 3), pad=(1, 1), far=0.0)
    yield moved(2, 12, 4, 6, kernel=(3, 2), stride=(2, 1), dilate=(1, 2), pad=(1, 1))
    yield moved(2, 18, 5, 4, kernel=(3, 3), num_group=2)
    yield moved(2, 36, 5, 4, kernel=(3, 3), num_deformable_group=2)
    yield moved(2, 8, 7, 6, kernel=(1, 1), num_group=2, num_deformable_group=4)
    wide = {"data": normal(2, 4, 7, 6, dtype="float64"), "offset": normal(2, 18, 5, 4, dtype="float64")}
    yield case(op, wide, num_filter=4, kernel=(3, 3))


def correlation() -> Iterable[Case]:
    """Likeness of patches, and of what is displaced how far."""
    maps = {"data1": normal(2, 3, 8, 9), "data2": normal(2, 3, 8, 9)}
    yield case("Correlation", maps)
    for multiply in (True, False):
        for kernel, displacement, stride1, stride2, pad in (
            (1, 2, 1, 1, 2),
            (1, 3, 2, 2, 3),
            (3, 2, 1, 1, 2),
            (3, 3, 2, 2, 4),
            (5, 0, 3, 1, 0),
            (1, 3, 1, 4, 3),
        ):
            yield case(
                "Correlation",
                maps,
                kernel_size=kernel,
                max_displacement=displacement,
                stride1=stride1,
                stride2=stride2,
                pad_size=pad,
                is_multiply=multiply,
            )
    typed = {name: normal(2, 3, 8, 9, dtype="float64") for name in maps}
    yield case("Correlation", typed, kernel_size=3, pad_size=1)


def crop() -> Iterable[Case]:
    """Parts of rows and columns."""
    image, like = normal(2, 3, 6, 7), normal(1, 2, 3, 4)
    yield variadic("Crop", [image], h_w=(3, 4))
    yield variadic("Crop", [image], num_args=1, h_w=(3, 4), offset=(3, 1))
    yield variadic("Crop", [image], h_w=(3, 4), center_crop=True, offset=(1, 1))
    yield variadic("Crop", [image, like])
    yield variadic("Crop", [image, like], num_args=2, offset=(2, 3), h_w=(1, 1))
    yield variadic("Crop", [image, like], center_crop=True)


FAMILIES = (pooling, convolution, correlation, crop)
