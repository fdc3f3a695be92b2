"""Mistakes with files, folders and flags: what the messages say, and when."""

import errno
import os

import numpy as np
import pytest

import rebind as mx
from rebind.files import atomic_write


def module():
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), name="softmax")
    return mx.mod.Module(net)


def fit(module, prefix):
    batches = mx.io.NDArrayIter(np.ones((4, 3)), np.zeros(4), 2)
    epochs = []
    module.fit(
        batches,
        num_epoch=1,
        epoch_end_callback=mx.callback.do_checkpoint(prefix),
        batch_end_callback=lambda param: epochs.append(param.epoch),
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            b"<!DOCTYPE html>\n<html>Not found, of 404 kinds</html>",
            r"must be a .params file; got a web page \(HTML\)",
        ),
        (
            b"<html><head>Sign in</head><body></body></html>",
            r"must be a .params file; got a web page \(HTML\)",
        ),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1\n",
            "a pointer of Git LFS.*git lfs pull",
        ),
        (b"anything else that is long enough", r"before byte 24: the magic number must be"),
    ],
)
def test_a_file_of_parameters_that_is_something_else(content, says, tmp_path):
    path = tmp_path / "net-0001.params"
    path.write_bytes(content)
    with pytest.raises(mx.MXNetError, match=rf"net-0001\.params: .*{says}"):
        mx.nd.load(str(path))


@pytest.mark.parametrize("where", ["write", "open"])
def test_an_error_of_the_system_names_the_file(where, tmp_path, monkeypatch):
    path = str(tmp_path / "net.params")
    if where == "open":
        monkeypatch.setattr(os, "fsync", lambda number: os.stat(os.devnull + "x"))

    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    if where == "write":
        monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError) as caught, atomic_write(path) as file:
        file.write(b"1")
    expected = path if where == "write" else os.devnull + "x"  # an error about another file keeps its name
    assert caught.value.filename == expected and str(caught.value).endswith(repr(expected))
    assert os.listdir(tmp_path) == []


def test_a_file_in_the_place_of_a_folder(tmp_path):
    (tmp_path / "afile").write_text("")
    for prefix in (tmp_path / "afile" / "x", tmp_path / "afile" / "deep" / "x"):
        with pytest.raises(FileNotFoundError, match=r"fit: epoch_end_callback.*afile' is a file\. Choose"):
            fit(module(), str(prefix))


def test_a_folder_that_may_not_be_written_is_met_when_fit_begins(tmp_path, monkeypatch):
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(tmp_path) and allowed(path, mode))
    net = module()
    with pytest.raises(
        PermissionError, match=rf"the folder '{tmp_path}' of '{tmp_path}/net' must be writable"
    ):
        fit(net, str(tmp_path / "net"))
    assert not net.binded


@pytest.mark.parametrize("name", ["resnet-8-0003.params", "resnet-8-symbol.json"])
def test_a_file_in_the_place_of_a_prefix(name, tmp_path):
    mx.model.save_checkpoint(str(tmp_path / "resnet-8"), 3, 2 * mx.sym.var("w"), {"w": mx.nd.ones(2)}, {})
    with pytest.raises(FileNotFoundError, match=rf"{name}' it is '{tmp_path}/resnet-8'\."):
        mx.model.load_checkpoint(str(tmp_path / name), 3)


@pytest.mark.parametrize("text", ["False", "True", "0", b"no"])
@pytest.mark.parametrize(
    ("who", "make"),
    [
        ("NDArrayIter", lambda shuffle: mx.io.NDArrayIter(np.ones(4), batch_size=2, shuffle=shuffle)),
        (
            "ImageIter",
            lambda shuffle: mx.image.ImageIter(
                1, (3, 4, 4), imglist=[[1, "a"]], path_root="", shuffle=shuffle
            ),
        ),
        (
            "ImageDetIter",
            lambda shuffle: mx.image.ImageDetIter(
                1, (3, 4, 4), imglist=[[1, "a"]], path_root="", shuffle=shuffle
            ),
        ),
    ],
)
def test_a_flag_that_is_text(who, make, text):
    with pytest.raises(mx.MXNetError, match=rf"{who}: shuffle must be True or False; got the text"):
        make(text)


LARGE = 1 << 22


@pytest.mark.parametrize(
    ("compute", "says"),
    [
        (
            lambda: mx.nd.zeros((LARGE, LARGE)),
            r"zeros: .*shape \(4194304, 4194304\) and type float32, 70,368,744,177,664 bytes, on cpu\(0\)",
        ),
        (lambda: mx.nd.full((LARGE, LARGE), 2), r"full: .*shape \(4194304, 4194304\)"),
        (
            lambda: mx.nd.dot(mx.nd.ones((LARGE, 1)), mx.nd.ones((1, LARGE))),
            r"dot: there is not enough memory for the results; got lhs \(4194304, 1\), rhs .*70368744177664 bytes",
        ),
    ],
)
def test_what_memory_was_asked_for(compute, says):
    with pytest.raises(mx.errors.OutOfMemoryError, match=says):
        compute()
