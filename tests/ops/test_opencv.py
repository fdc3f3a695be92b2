"""OpenCV's operators: reading pictures, resizing and framing them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.errors import MXNetError
from rebind.ops import OPERATORS

PICTURE = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype("uint8")


@pytest.fixture
def png(tmp_path):
    """A file with PICTURE, whose first axis of colour is red."""
    cv2 = pytest.importorskip("cv2")
    path = tmp_path / "picture.png"
    path.write_bytes(cv2.imencode(".png", PICTURE[:, :, ::-1])[1].tobytes())
    return path


def as_bytes(path):
    return mx.nd.array(np.fromfile(path, dtype="uint8"), dtype="uint8")


@pytest.mark.parametrize("row", [False, True])
def test_pictures_are_read(png, row):
    internal = mx.nd._internal
    buffer = as_bytes(png).reshape((1, -1)) if row else as_bytes(png)
    for read in (
        lambda **k: internal._cvimdecode(buffer, **k),
        lambda **k: internal._cvimread(str(png), **k),
    ):
        assert np.array_equal(read().asnumpy(), PICTURE)
        assert np.array_equal(read(to_rgb=False).asnumpy(), PICTURE[:, :, ::-1])
        grey = read(flag=0).asnumpy()
        assert grey.shape == (5, 7, 1) and grey.dtype == np.uint8
        assert np.abs(grey[:, :, 0] - PICTURE @ [0.299, 0.587, 0.114]).max() < 2


@pytest.mark.parametrize(
    ("name", "given", "error", "says"),
    [
        (
            "_cvimread",
            "broken.png",
            MXNetError,
            r"_cvimread: file '.*broken.png' must hold an image .* b'no pictu'",
        ),
        ("_cvimread", "missing.png", FileNotFoundError, "missing.png"),
        (
            "_cvimdecode",
            mx.nd.zeros((0,), dtype="uint8"),
            MXNetError,
            "_cvimdecode: buf must hold an image .* 0 bytes",
        ),
        (
            "_cvimdecode",
            mx.nd.zeros((3,)),
            MXNetError,
            "_cvimdecode: buf must be uint8, the .* of a file; got float32",
        ),
    ],
)
def test_what_cannot_be_read(name, given, error, says, tmp_path):
    (tmp_path / "broken.png").write_bytes(b"no picture")
    given = str(tmp_path / given) if isinstance(given, str) else given
    with pytest.raises(error, match=says):
        getattr(mx.nd._internal, name)(given)


def test_without_opencv_the_extra_is_named(png, monkeypatch):
    buffer = as_bytes(png)
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(
        ImportError, match=r"_cvimdecode: this needs OpenCV, .* 'image' .* pip install 'rebind\[image\]'"
    ):
        mx.nd._internal._cvimdecode(buffer)


@pytest.mark.parametrize(
    ("symbol", "shapes"),
    (
        (mx.sym._internal._cvimread(filename="a.png"), {}),
        (mx.sym._internal._cvimdecode(mx.sym.var("buf", dtype="uint8")), {"buf": (9,)}),
    ),
)
def test_reading_is_no_part_of_a_symbol(symbol, shapes):
    with pytest.raises(MXNetError, match="the size of the image is known only after it is decoded"):
        symbol.infer_shape(**shapes)


@pytest.mark.parametrize("interp", range(5))
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_resizing_is_that_of_image(interp, dtype):
    picture = mx.nd.array(PICTURE, dtype=dtype)
    found = mx.nd._internal._cvimresize(picture, w=4, h=9, interp=interp)
    assert np.array_equal(found.asnumpy(), mx.nd.image.resize(picture, size=(4, 9), interp=interp).asnumpy())


@pytest.mark.parametrize(
    ("kind", "mode"), [(0, "constant"), (1, "edge"), (2, "symmetric"), (3, "wrap"), (4, "reflect")]
)
@pytest.mark.parametrize("margins", [(1, 1, 2, 2), (5, 7, 9, 3), (0, 1, 0, 0), (0, 0, 0, 0)])
@pytest.mark.parametrize("shape", [(2, 3, 3), (1, 1, 1), (4, 1, 6)])
def test_borders_are_those_of_numpy(kind, mode, margins, shape):
    picture = PICTURE[:2, :3].repeat(2, 0).repeat(2, 2)[: shape[0], : shape[1], : shape[2]]
    top, bottom, left, right = margins
    found = OPERATORS["_cvcopyMakeBorder"](
        torch.from_numpy(picture.copy()), top=top, bot=bottom, left=left, right=right, type=kind
    )
    assert np.array_equal(found.numpy(), np.pad(picture, ((top, bottom), (left, right), (0, 0)), mode))


@pytest.mark.parametrize(
    ("given", "dtype", "expected"),
    [  # what MXNet answered
        ({"value": 7.0}, torch.uint8, [7, 7, 7]),
        ({"value": 300.0}, torch.uint8, [255, 255, 255]),
        ({"values": (1.0, 2.0)}, torch.uint8, [1, 2, 0]),
        ({"values": (1.0, 2.0, 3.0, 4.0, 5.0)}, torch.uint8, [1, 2, 3]),
        ({"values": (1.0,), "value": 9.0}, torch.uint8, [1, 0, 0]),
        ({"values": (-1.0, 2.6, 300.0)}, torch.uint8, [0, 3, 255]),
        ({"value": 1.5}, torch.float32, [1.5, 1.5, 1.5]),
    ],
)
def test_constants_of_borders(given, dtype, expected):
    src = torch.from_numpy(PICTURE).to(dtype)
    out = OPERATORS["_cvcopyMakeBorder"](src, top=1, bot=0, left=0, right=0, **given)
    assert out[0, 0].tolist() == expected and torch.equal(out[1:], src)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        *(
            ("_cvcopyMakeBorder", {"top": 1, "bot": 2, "left": 3, "right": 0, "type": kind})
            for kind in range(5)
        ),
        ("_cvimresize", {"w": 2, "h": 5, "interp": 2}),
    ],
)
def test_gradients(name, parameters):
    src = torch.rand(2, 3, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: OPERATORS[name](x, **parameters), [src])


@pytest.mark.parametrize(
    ("name", "shape", "given", "says"),
    [
        ("_cvimresize", (5, 7), {"w": 1, "h": 1}, "_cvimresize: src must have shape (H, W, C); got (5, 7)"),
        ("_cvimresize", (5, 7, 3), {"w": 0, "h": 1}, "_cvimresize: w must be an int >= 1; got 0"),
        ("_cvimresize", (5, 7, 3), {"w": 1, "h": 1, "interp": 9}, "interp must be an int in [0, 4]; got 9"),
        (
            "_cvcopyMakeBorder",
            (5, 7, 3),
            {"top": -1, "bot": 0, "left": 0, "right": 0},
            "_cvcopyMakeBorder: top must be an int >= 0; got -1",
        ),
        (
            "_cvcopyMakeBorder",
            (0, 7, 3),
            {"top": 1, "bot": 0, "left": 0, "right": 0},
            "_cvcopyMakeBorder: src must have at least one pixel; got shape (0, 7, 3)",
        ),
    ],
)
def test_mistakes_meet_a_sentence(name, shape, given, says):
    op = OPERATORS[name]
    with pytest.raises(MXNetError) as caught:
        op(torch.zeros(shape), **op.parse(given))
    assert says in str(caught.value)


def test_imdecode_cuts_subtracts_and_writes(png):
    encoded = png.read_bytes()
    assert (mx.nd.imdecode(encoded).asnumpy() == PICTURE.transpose(2, 0, 1)).all()
    out = mx.nd.zeros((2, 3, 2, 3))
    mean = mx.nd.array([1, 2, 3]).reshape((3, 1, 1))
    assert mx.nd.imdecode(encoded, (1, 2, 4, 4), out, index=1, mean=mean) is out
    expected = PICTURE[2:4, 1:4].transpose(2, 0, 1) - np.array([1, 2, 3]).reshape(3, 1, 1)
    assert (out[1].asnumpy() == expected).all() and not out[0].asnumpy().any()
    assert mx.nd.imdecode(encoded, channels=1).shape == (1, 5, 7)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"clip_rect": (0, 0, 9, 1)}, r"must be within 7 columns and 5 rows; got \(0, 0, 9, 1\)"),
        ({"channels": 2}, "channels must be 1 or 3; got 2"),
    ],
)
def test_mistakes_with_imdecode(png, given, says):
    with pytest.raises(MXNetError, match=says):
        mx.nd.imdecode(png.read_bytes(), **given)
