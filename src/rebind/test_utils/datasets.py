"""Data sets of MXNet's examples, from files that are there: rebind downloads nothing."""

from __future__ import annotations

import bz2
import gzip
import os
import shutil
import zipfile
import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import FormatError, MissingFileError
from ..files import atomic_write
from ..io import MNISTIter
from ..io.idx import read_idx

__all__ = [
    "download",
    "download_model",
    "get_bz2_data",
    "get_cifar10",
    "get_mnist",
    "get_mnist_iterator",
    "get_mnist_pkl",
    "get_mnist_ubyte",
    "get_zip_data",
]

_MNIST = {
    "train_data": "train-images-idx3-ubyte",
    "train_label": "train-labels-idx1-ubyte",
    "test_data": "t10k-images-idx3-ubyte",
    "test_label": "t10k-labels-idx1-ubyte",
}
_MNIST_PAGE = "They are at https://ossci-datasets.s3.amazonaws.com/mnist/."


def download(
    url: str, fname: str | None = None, dirname: str | None = None, overwrite: bool = False, retries: int = 5
) -> str:
    """Return the path of the file that MXNet would download, which must be there.

    Parameters
    ----------
    url
        Where MXNet would get it.
    fname
        The name of the file; by default the last part of `url`.
    dirname
        The folder of the file.
    overwrite
        MXNet downloads a file again with True; this is an error here.
    retries
        Without effect.

    Raises
    ------
    MissingFileError
        When there is no such file.

    Examples
    --------
    >>> download("https://data.mxnet.io/no-such-file.txt", dirname="data")
    Traceback (most recent call last):
    rebind.errors.MissingFileError: download: nothing is downloaded; the file ... must be at data/no-such-file.txt. ...
    """
    name = url.rsplit("/", 1)[-1] if fname is None else fname
    path = name if dirname is None else os.path.join(dirname, name)
    if overwrite or not os.path.exists(path):
        raise MissingFileError(
            f"download: nothing is downloaded; the file of {url} must be at {path}. Put it there"
            + (", and leave overwrite=False." if overwrite else ".")
        )
    return path


def download_model(
    model_name: str, dst_dir: str = "./", meta_info: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[str, int]:
    """Return the prefix and the epoch of a saved model, for `mx.model.load_checkpoint`; its files must be there.

    Parameters
    ----------
    model_name
        The name of the model.
    dst_dir
        The folder of its files.
    meta_info
        Where MXNet would get them, ``{name: {'symbol': url, 'params': url}}``, for messages.
    """
    prefix = os.path.join(dst_dir, model_name)
    addresses = (meta_info or {}).get(model_name, {})
    for kind, ending in (("symbol", "-symbol.json"), ("params", "-0000.params")):
        download(addresses.get(kind, f"the {kind} of {model_name}"), prefix + ending)
    return prefix, 0


def get_zip_data(data_dir: str, url: str, data_origin_name: str) -> None:
    """Extract a zip file that is in `data_dir`, into that folder.

    Parameters
    ----------
    data_dir
        The folder.
    url
        Where MXNet would get the file.
    data_origin_name
        Its name.
    """
    path = download(url, data_origin_name, data_dir)
    try:
        with zipfile.ZipFile(path) as archive:
            if any(not os.path.exists(os.path.join(data_dir, name)) for name in archive.namelist()):
                archive.extractall(data_dir)
    except zipfile.BadZipFile as error:
        raise FormatError(f"get_zip_data: {path} must be a zip file; got {error}") from None


def get_bz2_data(data_dir: str, data_name: str, url: str, data_origin_name: str) -> None:
    """Decompress a bz2 file that is in `data_dir`, unless that is done.

    Parameters
    ----------
    data_dir
        The folder.
    data_name
        The name of the file to write.
    url
        Where MXNet would get the compressed file.
    data_origin_name
        The name of the compressed file.
    """
    target = os.path.join(data_dir, data_name)
    if not os.path.exists(target):
        _decompress(download(url, data_origin_name, data_dir), target)


def _decompress(path: str, target: str) -> None:
    try:
        with (bz2.open if path.endswith(".bz2") else gzip.open)(path) as source, atomic_write(target) as file:
            shutil.copyfileobj(source, file)
    except (OSError, EOFError, zlib.error) as error:
        if getattr(error, "errno", None):
            raise  # the system's: a full disk, no permission
        raise FormatError(f"{path} must be a whole compressed file; got {error}") from None


def get_mnist() -> dict[str, np.ndarray]:
    """Return the MNIST data as arrays: pictures of shape (N, 1, 28, 28) from 0 to 1, and labels of int8.

    The four files, compressed by gzip or not, are looked for in this folder and in ``data``.
    """
    found = {
        name: read_idx(_mnist_file(file), 3 if name.endswith("data") else 1) for name, file in _MNIST.items()
    }
    return {
        name: (values[:, None].astype(np.float32) / 255) if values.ndim == 3 else values.astype(np.int8)
        for name, values in found.items()
    }


def _mnist_file(name: str) -> str:
    for path in (name + ".gz", name, os.path.join("data", name), os.path.join("data", name + ".gz")):
        if os.path.exists(path):
            return path
    raise MissingFileError(
        f"MNIST: nothing is downloaded; the file {name} or {name}.gz must be in {os.getcwd()} or in data there. "
        + _MNIST_PAGE
    )


def get_mnist_ubyte() -> None:
    """See to it that the four files of MNIST are in ``data``, from ``data/mnist.zip`` or files compressed by gzip."""
    archive = os.path.join("data", "mnist.zip")
    if os.path.exists(archive):
        get_zip_data("data", archive, "mnist.zip")
    for name in _MNIST.values():
        target = os.path.join("data", name)
        if not os.path.exists(target):
            source = _mnist_file(name)
            os.makedirs("data", exist_ok=True)
            if source.endswith(".gz"):
                _decompress(source, target)
            else:
                with open(source, "rb") as file, atomic_write(target) as copy:
                    shutil.copyfileobj(file, copy)


def get_mnist_pkl() -> None:
    """See to it that ``data/mnist.pkl.gz`` is there."""
    download("http://deeplearning.net/data/mnist/mnist.pkl.gz", "mnist.pkl.gz", "data")


def get_mnist_iterator(
    batch_size: int, input_shape: Sequence[int], num_parts: int | None = None, part_index: int | None = None
) -> tuple[MNISTIter, MNISTIter]:
    """Return iterators over the training and the test data of MNIST, both shuffled, from the files in ``data``.

    Parameters
    ----------
    batch_size
        Samples in a batch.
    input_shape
        The shape of a sample; with other than three axes it is flat.
    num_parts, part_index
        The part of the data to read.
    """
    get_mnist_ubyte()
    train, test = (
        MNISTIter(
            image=os.path.join("data", _MNIST[f"{kind}_data"]),
            label=os.path.join("data", _MNIST[f"{kind}_label"]),
            batch_size=batch_size,
            shuffle=True,
            flat=len(input_shape) != 3,
            num_parts=num_parts,
            part_index=part_index,
        )
        for kind in ("train", "test")
    )
    return train, test


def get_cifar10() -> None:
    """See to it that CIFAR-10 is in ``data/cifar``: ``train.rec`` and ``test.rec``, and their lists.

    What is missing is extracted from ``data/cifar10.zip``. MXNet downloads that file where one of ``train.rec``,
    ``test.rec``, ``train.lst`` and ``test.lst`` is missing; here the record files alone will do.

    Raises
    ------
    MissingFileError
        When there is neither a record file nor an archive that has it.
    """
    archive = os.path.join("data", "cifar10.zip")
    records, lists = (
        [os.path.join("data", "cifar", f"{part}.{kind}") for part in ("train", "test")]
        for kind in ("rec", "lst")
    )
    if not all(map(os.path.exists, records + lists)) and os.path.exists(archive):
        get_zip_data("data", archive, "cifar10.zip")
    for path in records:
        if not os.path.exists(path):
            raise MissingFileError(
                f"get_cifar10: nothing is downloaded; {path} must be there, or {archive} with it. "
                "Make record files from pictures with im2rec."
            )
