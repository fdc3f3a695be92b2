import bz2
import gzip
import struct
import zipfile

import numpy as np
import pytest

from rebind import test_utils
from rebind.errors import FormatError, MissingFileError

SIZES = {"train": 12, "t10k": 6}


def idx(kind, count):
    if kind == "images":
        return struct.pack(">4I", 2051, count, 28, 28) + bytes(i % 256 for i in range(count * 784))
    return struct.pack(">2I", 2049, count) + bytes(range(count))


FILES = {
    f"{part}-{kind}-idx{axes}-ubyte": idx(kind, count)
    for part, count in SIZES.items()
    for kind, axes in (("images", 3), ("labels", 1))
}


@pytest.fixture(params=["here.gz", "data", "data.gz", "data.zip"])
def mnist(request, tmp_path, monkeypatch):
    """The four files, where people have them."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / request.param.partition(".")[0].replace("here", ".")
    folder.mkdir(exist_ok=True)
    if request.param.endswith("zip"):
        with zipfile.ZipFile(folder / "mnist.zip", "w") as archive:
            for name, content in FILES.items():
                archive.writestr(name, content)
        return
    for name, content in FILES.items():
        if request.param.endswith("gz"):
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)


# Values and labels of MXNet 1.9.1 for these files.
def test_mnist(mnist):
    train, test = test_utils.get_mnist_iterator(
        batch_size=2, input_shape=(1, 28, 28), num_parts=2, part_index=1
    )
    assert train.provide_data[0].shape == (2, 1, 28, 28)
    assert [batch.label[0].asnumpy().tolist() for batch in train] == [[6, 8], [9, 11], [10, 7]]
    assert [batch.label[0].asnumpy().tolist() for batch in test] == [[3, 5]]
    train, _ = test_utils.get_mnist_iterator(batch_size=3, input_shape=(784,))
    assert train.provide_data[0].shape == (3, 784)
    found = test_utils.get_mnist()
    assert {name: (values.shape, values.dtype.name) for name, values in found.items()} == {
        "train_data": ((12, 1, 28, 28), "float32"),
        "train_label": ((12,), "int8"),
        "test_data": ((6, 1, 28, 28), "float32"),
        "test_label": ((6,), "int8"),
    }
    np.testing.assert_allclose(found["train_data"].ravel()[:3], [0, 1 / 255, 2 / 255])


def test_download_takes_what_is_there(tmp_path):
    (tmp_path / "f.txt").write_text("x")
    expected = str(tmp_path / "f.txt")
    assert test_utils.download("https://somewhere/f.txt", dirname=str(tmp_path)) == expected
    assert test_utils.download("https://somewhere/else", fname="f.txt", dirname=str(tmp_path)) == expected


def test_archives(tmp_path):
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr("in/a.txt", "hello")
    (tmp_path / "k.bz2").write_bytes(bz2.compress(b"hi"))
    for _ in range(2):
        test_utils.get_zip_data(str(tmp_path), "https://somewhere/z.zip", "z.zip")
        test_utils.get_bz2_data(str(tmp_path), "k", "https://somewhere/k.bz2", "k.bz2")
    assert (tmp_path / "in" / "a.txt").read_text() == "hello"
    assert (tmp_path / "k").read_bytes() == b"hi"


def test_models_and_other_sets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (
        "m/net-symbol.json",
        "m/net-0000.params",
        "data/mnist.pkl.gz",
        "data/cifar/train.rec",
        "data/cifar/test.rec",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert test_utils.download_model("net", "m") == ("m/net", 0)
    assert test_utils.get_mnist_pkl() is None
    assert test_utils.get_cifar10() is None


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        ((), {"train.rec": "new", "test.rec": "new", "train.lst": "new", "test.lst": "new"}),
        (("train.rec", "test.rec"), {"train.lst": "new", "test.lst": "new"}),
        (("train.rec", "test.rec", "train.lst", "test.lst"), {"train.rec": "old", "test.lst": "old"}),
    ],
)
def test_cifar10_is_extracted_where_a_file_is_missing(there, wanted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data" / "cifar"
    folder.mkdir(parents=True)
    for name in there:
        (folder / name).write_text("old")
    with zipfile.ZipFile(tmp_path / "data" / "cifar10.zip", "w") as archive:
        for name in ("train.rec", "test.rec", "train.lst", "test.lst"):
            archive.writestr(f"cifar/{name}", "new")
    test_utils.get_cifar10()
    assert {name: (folder / name).read_text() for name in wanted} == wanted


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: test_utils.get_mnist(), "MNIST: nothing is downloaded; the file train-images-idx3-ubyte or"),
        (
            lambda: test_utils.get_mnist_ubyte(),
            "the file train-images-idx3-ubyte or train-images-idx3-ubyte.gz must",
        ),
        (lambda: test_utils.get_mnist_iterator(2, (784,)), "They are at https"),
        (lambda: test_utils.get_mnist_pkl(), "must be at data.mnist.pkl.gz. Put it there."),
        (lambda: test_utils.get_cifar10(), "data.cifar.train.rec must be there, or data.cifar10.zip with it"),
        (lambda: test_utils.download("https://a/b.txt", overwrite=True), "leave overwrite=False"),
        (
            lambda: test_utils.get_zip_data("d", "https://a/b.zip", "b.zip"),
            "file of https://a/b.zip must be at d.b",
        ),
        (lambda: test_utils.download_model("net"), "the file of the symbol of net must be at"),
    ],
)
def test_what_is_missing(call, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingFileError, match=says):
        call()


def test_broken_archives(tmp_path):
    for name in ("a.zip", "a.bz2"):
        (tmp_path / name).write_bytes(b"no archive at all")
    with pytest.raises(FormatError, match="must be a zip file"):
        test_utils.get_zip_data(str(tmp_path), "https://somewhere/a.zip", "a.zip")
    with pytest.raises(FormatError, match="must be a whole compressed file"):
        test_utils.get_bz2_data(str(tmp_path), "a", "https://somewhere/a.bz2", "a.bz2")
    assert not (tmp_path / "a").exists()
