"""Pictures: ``image.X``. OpenCV's operators cannot be part of a symbol in MXNet, and have tests of their own."""

from __future__ import annotations

from collections.abc import Iterable

from .case import Case, Input, between, case, fixed, integers, normal


def _picture(*shape: int, dtype: str = "uint8") -> Input:
    return integers(0, 256, *shape, dtype=dtype)


def _float(*shape: int) -> Input:
    return fixed(between(0, 255, *shape))


def tensors() -> Iterable[Case]:
    """From pictures to the inputs of networks; MXNet has no gradient of `to_tensor`, though it lists one."""
    for picture in (
        _picture(4, 5, 3),
        _picture(2, 4, 5, 1),
        _picture(4, 5, 3, dtype="int32"),
        _float(4, 5, 3),
    ):
        yield case("image.to_tensor", {"data": picture})
    for shape in ((3, 4, 5), (2, 3, 4, 5)):
        yield case("image.normalize", {"data": normal(*shape)}, mean=(0.1, 0.2, 0.3), std=(0.5, 0.6, 0.7))
        yield case("image.normalize", {"data": normal(*shape)}, mean=(0.5,), std=(2.0,))
    yield case("image.normalize", {"data": normal(1, 4, 5)}, mean=(0.5,), std=(2.0,))
    yield case("image.normalize", {"data": normal(3, 2, 2)}, mean=(0.5,), std=(2.0, 3.0, 4.0))


def sizes() -> Iterable[Case]:
    """Parts of pictures, and all kinds of interpolation; MXNet has no gradient of `resize`, though it lists one."""
    yield case("image.crop", {"data": normal(4, 5, 3)}, x=1, y=2, width=3, height=2)
    yield case("image.crop", {"data": normal(2, 4, 5, 1)}, x=0, y=1, width=5, height=3)
    yield case("image.crop", {"data": _picture(4, 5, 3)}, x=2, y=0, width=1, height=4)
    for interp in range(5):
        for picture in (_picture(7, 9, 3), _float(7, 9, 3)):
            for size in ((4, 3), (18, 14), (13, 17), (4, 9), (12, 5), (9, 7)):
                yield case("image.resize", {"data": picture}, size=size, interp=interp)
        for picture in (_picture(8, 12, 3), _float(8, 12, 3)):
            yield case("image.resize", {"data": picture}, size=(6, 4), interp=interp)
            yield case("image.resize", {"data": picture}, size=(3, 2), interp=interp)
    yield case("image.resize", {"data": _picture(7, 4, 3, dtype="int32")}, size=3, interp=0)
    yield case("image.resize", {"data": _picture(1, 1, 3)}, size=3)
    for picture in (_picture(7, 4, 3), _float(4, 7, 1), _picture(2, 4, 7, 3), _float(2, 7, 4, 5)):
        yield case("image.resize", {"data": picture}, size=3)
        yield case("image.resize", {"data": picture}, size=(3,), keep_ratio=True)
        yield case("image.resize", {"data": picture}, size=(5, 3), keep_ratio=True, interp=2)


def colours() -> Iterable[Case]:
    """Changes of colour with a factor that leaves chance nothing to choose, and flips.

    MXNet's gradients of these are those of the identity, and are left out. So are flips along an odd size, whose middle
    it does not write, and saturation of coloured pictures, for which it takes 0.114 of the blue for grey.
    """
    for shape in ((4, 6, 3), (2, 2, 1)):
        for operator in ("flip_left_right", "flip_top_bottom"):
            yield case(f"image.{operator}", {"data": _picture(*shape)})
            yield case(f"image.{operator}", {"data": _float(*shape)})
    grey = {"random_saturation"}
    for picture in (_picture, _float):
        for operator in ("random_brightness", "random_contrast", "random_saturation", "random_hue"):
            for factor in (0.0, 0.3, 0.5, 1.0, 1.3, 2.2):
                data = picture(5, 6, 1 if operator in grey else 3)
                yield case(f"image.{operator}", {"data": data}, min_factor=factor, max_factor=factor)
        for alpha in ((0.1, 0.2, 0.3), (-1.0, 2.0, 0.5)):
            yield case("image.adjust_lighting", {"data": picture(5, 6, 3)}, alpha=alpha)
        yield case("image.random_lighting", {"data": picture(5, 6, 3)}, alpha_std=0.0)
    for dtype in ("int32", "int8"):
        data = {"data": integers(-128, 128, 3, 4, 3, dtype=dtype)}
        yield case("image.random_brightness", data, min_factor=1.3, max_factor=1.3)
        yield case("image.random_contrast", data, min_factor=0.3, max_factor=0.3)
    yield case("image.random_contrast", {"data": _float(4, 5, 1)}, min_factor=0.3, max_factor=0.3)


FAMILIES = (tensors, sizes, colours)
