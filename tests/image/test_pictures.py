from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.errors import MXNetError
from rebind.imaging import encode

pytest.importorskip("cv2")

PICTURE = np.random.RandomState(0).randint(0, 256, (20, 30, 3)).astype("uint8")


def picture(dtype: str = "uint8") -> mx.nd.NDArray:
    return mx.nd.array(PICTURE, dtype=dtype)


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: mx.image.imdecode("text"), ValueError, "imdecode: buf must be bytes.*got str"),
        (lambda: mx.image.imdecode(b""), ValueError, "imdecode: buf must hold a picture; got no bytes"),
        (lambda: mx.image.imdecode(b"no picture"), ValueError, "image.imdecode: .*got 10 bytes"),
        (
            lambda: mx.image.imdecode(b"x", flag=-1),
            ValueError,
            "image.imdecode: flag must be an int >= 0; got -1",
        ),
        (lambda: mx.image.imread("none.png"), FileNotFoundError, "imread: the picture 'none.png' must exist"),
        (
            lambda: mx.image.imresize(PICTURE, 3, 2),
            TypeError,
            "imresize: src must be an NDArray; got ndarray",
        ),
        (lambda: mx.image.imresize(picture(), 0, 2), ValueError, "imresize: w must be an int >= 1; got 0"),
        (
            lambda: mx.image.imresize(picture(), 3, 2.5),
            ValueError,
            "imresize: h must be an int >= 1; got 2.5",
        ),
        (lambda: mx.image.imresize(picture(), 3, 2, 9), ValueError, "imresize: interp must be 0 to 4; got 9"),
        (
            lambda: mx.image.imresize(mx.nd.ones((4, 4)), 3, 2),
            ValueError,
            r"must have shape \(H, W, C\); got \(4, 4\)",
        ),
        (
            lambda: mx.image.imresize(picture(), 3, 2, out=mx.nd.ones((2, 3, 3))),
            ValueError,
            r"out must have shape \(2, 3, 3\) and the type of src; got \(2, 3, 3\) of float32",
        ),
        (lambda: mx.image.resize_short(picture(), 5, 5), ValueError, "interp must be 0 to 4, 9 or 10; got 5"),
        (lambda: mx.image.fixed_crop(picture(), 30, 0, 5, 5), IndexError, r"of 30 x 20; got \(30, 0, 5, 5\)"),
        (lambda: mx.image.center_crop(picture(), (100, 1)), ValueError, "cut out of a picture of 30 x 20"),
        (
            lambda: mx.image.random_size_crop(picture(), (5, 5), (0.9, 0.1), (1, 1)),
            ValueError,
            r"random_size_crop: area must be \(low, high\) with 0 < low <= high; got \(0.9, 0.1\)",
        ),
        (
            lambda: mx.image.RandomSizedCropAug((5, 5), 0.5, (1, 1), other=1),
            TypeError,
            "RandomSizedCropAug: no parameter 'other'",
        ),
        (
            lambda: mx.image.imrotate(picture(), 5),
            TypeError,
            "imrotate: src must be an NDArray of float32; got uint8",
        ),
        (
            lambda: mx.image.random_rotate(picture("float32"), 5),
            TypeError,
            "angle_limits must be two angles; got 5",
        ),
        (
            lambda: mx.image.BrightnessJitterAug(0.1)(picture()),
            TypeError,
            r"BrightnessJitterAug: the picture must be of a floating type; got uint8. Put CastAug\(\) before it",
        ),
        (
            lambda: mx.image.ColorNormalizeAug(None, [1, 0, 1]),
            ValueError,
            r"ColorNormalizeAug: std must not be 0; got \[1.0, 0.0, 1.0\]",
        ),
        (
            lambda: mx.image.CreateAugmenter((8, 8)),
            ValueError,
            r"data_shape must be \(C, H, W\); got \(8, 8\)",
        ),
        (
            lambda: mx.image.CreateAugmenter((3, 8, 8), mean=np.ones(2)),
            ValueError,
            "mean must be True, for ImageNet's, or an array",
        ),
        (
            lambda: mx.image.Augmenter()(picture()),
            NotImplementedError,
            r"Augmenter must define __call__\(src\)",
        ),
    ],
)
def test_mistakes(call: Callable[[], Any], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()


@pytest.mark.parametrize("interp", range(5))
@pytest.mark.parametrize(("width", "height"), [(30, 20), (15, 10), (7, 45), (60, 40)])
def test_sizes_have_the_numbers_of_the_operator(interp: int, width: int, height: int) -> None:
    # The operator has the numbers of MXNet's OpenCV; cubic interpolation has changed since, by a grey level.
    found = mx.image.imresize(picture(), width, height, interp).asnumpy().astype(int)
    wanted = mx.nd._internal._cvimresize(picture(), w=width, h=height, interp=interp).asnumpy().astype(int)
    assert np.abs(found - wanted).max() <= (1 if interp == 2 else 0)


def test_resizing_types_that_opencv_does_not_have() -> None:
    half = mx.image.imresize(picture("float16"), 15, 10)
    assert half.dtype is np.float16
    wanted = mx.image.imresize(picture("float32"), 15, 10).asnumpy()
    np.testing.assert_allclose(half.asnumpy(), wanted, rtol=2e-3)


def test_out_is_written() -> None:
    out = mx.nd.zeros((10, 15, 3), dtype="uint8")
    assert mx.image.imresize(picture(), 15, 10, out=out) is out
    assert (out.asnumpy() == mx.image.imresize(picture(), 15, 10).asnumpy()).all()


@pytest.mark.parametrize(
    "crop",
    [
        lambda source: mx.image.fixed_crop(source, 0, 0, 30, 20),
        lambda source: mx.image.center_crop(source, (30, 20))[0],
        lambda source: mx.image.imresize(source, 30, 20),
        lambda source: mx.image.resize_short(source, 20),
    ],
)
def test_parts_have_memory_of_their_own(crop: Callable[[mx.nd.NDArray], mx.nd.NDArray]) -> None:
    source = picture()
    part = crop(source)
    part[:] = 0
    assert (source.asnumpy() == PICTURE).all()


def test_imread_takes_a_path(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(encode(PICTURE, ".png"))
    assert (mx.image.imread(tmp_path / "a.png").asnumpy() == PICTURE).all()


def test_gradients_are_not_lost_silently() -> None:
    source = picture("float32")
    source.attach_grad()
    with (
        mx.autograd.record(),
        pytest.raises(MXNetError, match=r"Augment pictures outside of autograd.record"),
    ):
        mx.image.BrightnessJitterAug(0.1)(source)
    assert mx.image.BrightnessJitterAug(0.1)(source) is source


def test_a_subclass_may_define_the_call_anew() -> None:
    class Doubled(mx.image.BrightnessJitterAug):
        def __call__(self, src: mx.nd.NDArray) -> mx.nd.NDArray:
            return src * 2

    both = mx.image.SequentialAug([Doubled(0.5), mx.image.CastAug("float64")])
    assert (both(picture("float32")).asnumpy() == 2.0 * PICTURE).all()


def test_what_an_augmenter_must_return() -> None:
    class Forgetful(mx.image.Augmenter):
        def __call__(self, src: mx.nd.NDArray) -> Any:
            return None

    with pytest.raises(TypeError, match="Forgetful must return an NDArray, the picture; got NoneType"):
        mx.image.SequentialAug([Forgetful()])(picture())


def test_the_old_name_of_the_area_warns() -> None:
    with pytest.warns(DeprecationWarning, match="random_size_crop: min_area is deprecated") as caught:
        mx.image.random_size_crop(picture(), (5, 5), None, (1, 1), min_area=0.5)
    assert caught[0].filename == __file__


def test_orders_are_resumed() -> None:
    first = mx.image.ColorJitterAug(0.1, 0.2, 0.3)
    first(picture("float32"))
    first(picture("float32"))
    second = mx.image.ColorJitterAug(0.1, 0.2, 0.3)
    second.load_state_dict(first.state_dict())
    assert [type(each) for each in second.ts] == [type(each) for each in first.ts]
    found = []
    for augmenter in (first, second):
        random.seed(3)
        found.append(augmenter(picture("float32")).asnumpy())
    assert (found[0] == found[1]).all()
    with pytest.raises(ValueError, match="as many augmenters as in the saved state, 3; got 2"):
        mx.image.ColorJitterAug(0.1, 0.2, 0).load_state_dict(first.state_dict())
