"""Labels and pictures in records."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import rebind as mx
from rebind.errors import ArgumentError, FormatError, ParameterError
from rebind.recordio import IRHeader, pack, pack_img, unpack, unpack_img

PICTURE = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype(np.uint8)


@pytest.mark.parametrize(
    ("header", "flag", "label", "numbers"),
    [
        (IRHeader(0, 4, 2574, 0), 0, 4.0, ()),
        (IRHeader(3, 4.5, 2**40, 7), 0, 4.5, ()),
        (IRHeader(0, np.float32(3), 2574, 0), 0, 3.0, ()),
        (IRHeader(0, True, 1, 0), 0, 1.0, ()),
        ((0, 1.0, 2, 3), 0, 1.0, ()),
        (IRHeader(0, [1, 2, 3], 1, 0), 3, 0.0, (1, 2, 3)),
        (IRHeader(9, np.array([1.5, 2.0]), 1, 0), 2, 0.0, (1.5, 2)),
        (IRHeader(0, np.array([[1, 2], [3, 4]]), 1, 0), 4, 0.0, (1, 2, 3, 4)),
        (IRHeader(0, np.array(5), 1, 0), 1, 0.0, (5,)),
        (IRHeader(0, mx.nd.array([1, 2]), 1, 0), 2, 0.0, (1, 2)),
        (IRHeader(0, [], 1, 0), 0, 0.0, ()),
    ],
)
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_labels(header, flag, label, numbers, kind):
    record = pack(header, b"xyz")
    assert record == struct.pack(f"<IfQQ{len(numbers)}f", flag, label, *header[2:], *numbers) + b"xyz"
    found, payload = unpack(kind(record))
    assert type(payload) is kind and bytes(payload) == b"xyz"
    assert (found.flag, found.id, found.id2) == (flag, *header[2:])
    if flag:
        assert found.label.dtype == np.float32 and found.label.tolist() == list(numbers)
    else:
        assert type(found.label) is float and found.label == label


def test_a_header_is_shown_as_by_mxnet():
    assert str(IRHeader(0, 14.0, 20129312, 0)) == "HEADER(flag=0, label=14.0, id=20129312, id2=0)"


@pytest.mark.parametrize(
    "header",
    [(0, 3, -1, 0), (0, 3, 0, 2**64), (0, None, 0, 0), (0, "cat", 0, 0), (0, 1e39, 0, 0), (0, 3, 1.5, 0)],
)
def test_headers_that_cannot_be(header):
    with pytest.raises(
        ParameterError, match=r"recordio.pack: header must have a label of numbers.* got \(0, "
    ):
        pack(header, b"")


@pytest.mark.parametrize("payload", ["text", np.zeros(2, np.uint8)])
def test_payloads_are_bytes(payload):
    with pytest.raises(ArgumentError, match="s must be bytes; got"):
        pack((0, 1, 2, 3), payload)


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (b"", "at least the 24 bytes of its header; got 0"),
        (bytes(23), "at least the 24 bytes of its header; got 23"),
        (struct.pack("<IfQQ", 5, 0, 1, 2) + bytes(19), "with 5 labels must have at least 44 bytes; got 43"),
        (b"\xff" * 24, "with 4294967295 labels must have at least"),
    ],
)
def test_truncated_records(record, says):
    with pytest.raises(FormatError, match=f"recordio.unpack: a packed record .*{says}"):
        unpack(record)


@pytest.mark.parametrize(("img_fmt", "quality"), [(".png", 95), (".png", 3), (".bmp", 95), (".webp", 95)])
def test_pictures_without_loss(img_fmt, quality, recwarn):
    pytest.importorskip("cv2")
    header, found = unpack_img(pack_img((0, [1, 2], 5, 6), PICTURE, quality, img_fmt))
    assert np.array_equal(found, PICTURE) and header.label.tolist() == [1, 2] and header.id == 5


def test_the_stored_colours_or_others():
    cv2 = pytest.importorskip("cv2")
    colour, grey = (
        pack_img((0, 1, 2, 3), picture, img_fmt=".png") for picture in (PICTURE, PICTURE[:, :, 0])
    )
    shapes = [[unpack_img(record, flag)[1].shape for flag in (-1, 0, 1)] for record in (colour, grey)]
    assert shapes == [[(5, 7, 3), (5, 7), (5, 7, 3)], [(5, 7), (5, 7), (5, 7, 3)]]
    grey = cv2.cvtColor(PICTURE, cv2.COLOR_BGR2GRAY).astype(int)  # PNG has its own rounding
    assert np.abs(unpack_img(colour, 0)[1] - grey).max() <= 1


def test_jpegs_have_a_quality():
    cv2 = pytest.importorskip("cv2")
    for img_fmt in (".jpg", ".JPEG"):
        record = pack_img((0, 1, 2, 3), PICTURE, 80, img_fmt)
        assert record[24:] == cv2.imencode(".jpg", PICTURE, [cv2.IMWRITE_JPEG_QUALITY, 80])[1].tobytes()


def test_what_is_no_picture():
    pytest.importorskip("cv2")
    with pytest.raises(
        FormatError, match=r"unpack_img: the record with id 7 must hold an image .* b'no pictu'"
    ):
        unpack_img(pack((0, 1, 7, 0), b"no picture"))
