"""Pictures between bytes and arrays."""

from __future__ import annotations

import numpy as np
import pytest

from rebind.errors import FormatError, ParameterError
from rebind.imaging import decode, encode, resize

cv2 = pytest.importorskip("cv2")

PICTURE = cv2.GaussianBlur(np.random.default_rng(0).integers(0, 256, (37, 53, 3)).astype(np.uint8), (0, 0), 3)
WITH_ALPHA = np.dstack((PICTURE, PICTURE[:, :, 0]))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda b: np.frombuffer(b, np.uint8)])
def test_a_picture_without_loss_comes_back(kind):
    assert np.array_equal(decode(kind(encode(PICTURE, ".png"))), PICTURE)
    assert np.array_equal(decode(kind(encode(PICTURE, ".png")), rgb=False), PICTURE[:, :, ::-1])


@pytest.mark.parametrize("picture", [PICTURE, WITH_ALPHA, PICTURE[:, :, :1], PICTURE[:, :, 0]])
@pytest.mark.parametrize("ext", [".png", ".jpg", ".webp"])
@pytest.mark.parametrize("direct", [True, False])
def test_both_orders_of_colours_are_one_picture(picture, ext, direct, monkeypatch):
    if not direct:  # as OpenCV before 4.11
        monkeypatch.delattr(cv2, "IMREAD_COLOR_RGB")
    encoded = encode(picture[:, :, :3] if ext == ".jpg" and picture.ndim == 3 else picture, ext)
    assert np.array_equal(decode(encoded), decode(encoded, rgb=False)[:, :, ::-1])


@pytest.mark.parametrize(("reduce", "size"), [(1, (37, 53)), (2, (19, 27)), (4, (10, 14)), (8, (5, 7))])
@pytest.mark.parametrize("color", [True, False])
def test_decoding_at_reduced_size(reduce, size, color):
    found = decode(encode(PICTURE), color=color, reduce=reduce)
    assert found.shape == (*size, 3 if color else 1)
    whole = resize(decode(encode(PICTURE), color=color), size[1], size[0], 3)
    assert np.abs(found.astype(int) - whole).mean() < 6


@pytest.mark.parametrize("broken", [b"", b"no picture", encode(PICTURE, ".png")[:40]])
def test_what_is_no_picture(broken):
    with pytest.raises(FormatError, match=f"record 7 must hold an image .* {len(broken)} bytes"):
        decode(broken, what="record 7")


@pytest.mark.parametrize(
    ("ext", "low", "high"), [(".jpg", 20, 95), (".jpeg", 20, 95), (".webp", 20, 95), (".png", 9, 1)]
)
def test_quality_is_size(ext, low, high):
    assert len(encode(PICTURE, ext, low)) < len(encode(PICTURE, ext, high))


@pytest.mark.parametrize(("picture", "ext"), [(PICTURE, ".xyz"), (np.zeros((2, 2, 5), np.uint8), ".jpg")])
def test_what_cannot_be_written(picture, ext):
    with pytest.raises(ParameterError, match="encode: the picture must be one that OpenCV can write"):
        encode(picture, ext, rgb=False)


@pytest.mark.parametrize("interpolation", range(5))
@pytest.mark.parametrize("channels", [1, 3])
def test_resizing_keeps_axes_and_type(interpolation, channels):
    found = resize(PICTURE[:, :, :channels], 10, 20, interpolation)
    assert found.shape == (20, 10, channels) and found.dtype == np.uint8


@pytest.mark.parametrize("bad", [{"w": 0, "h": 3}, {"w": 3, "h": 3, "interpolation": 5}])
def test_sizes_that_cannot_be(bad):
    with pytest.raises(ParameterError, match="resize: w and h must be >= 1"):
        resize(PICTURE, **bad)
