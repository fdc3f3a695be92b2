"""Files that a program reads or writes otherwise than with MXNet: a part of docs/differences.md that a call shows."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .values import Row

__all__ = ["PATHS", "ROWS", "TEXTS", "Text"]

#: The arguments of MXNet's functions that are paths of files.
PATHS = frozenset({
    "data_csv", "data_libsvm", "embedding_root", "filename", "fname", "idx_path", "image", "label_csv",
    "label_libsvm", "mean_img", "model_file", "onnx_file_path", "param_file", "params", "path", "path_imgidx",
    "path_imglist", "path_imgrec", "path_root", "prefix", "pretrained_file_path", "sym", "symbol_file", "uri",
})  # fmt: skip


@dataclass(frozen=True)
class Text:
    """A path that leads nowhere here, by how it begins.

    Parameters
    ----------
    pattern
        What it begins with.
    sentence
        What to do.
    arguments
        Which arguments; by default all of `PATHS`.
    """

    pattern: re.Pattern[str]
    sentence: str
    arguments: frozenset[str] = PATHS


_LINES = frozenset({"data_csv", "data_libsvm", "label_csv", "label_libsvm"})

TEXTS: tuple[Text, ...] = (
    Text(re.compile("file://"), "a path begins without file://"),
    Text(
        re.compile(r"(s3|hdfs|gs|https?|ftp)://"),
        "files are read and written on this machine's disks only: copy it, and give the path of the copy",
    ),
    Text(
        re.compile(r"[^#?]+[#?]"),
        "a path is the name of a file or a folder: what begins with # or ? goes",
        _LINES,
    ),
)

_NOTHING_LOADED = "nothing is downloaded: the files must be there already"
_NO_NUMBER = "text that is no number is an error with file, line and column; MXNet reads 1x as 1, and x as 0"
_MEAN = "the mean is that of all samples; MXNet's is of the part that a worker reads"
_RECORDS = ("ImageRecordIter", "ImageRecordIter_v1", "ImageRecordUInt8Iter", "ImageRecordUInt8Iter_v1")
_DTYPE = "batches have this type; MXNet's are of float32"

ROWS: tuple[Row, ...] = (
    Row("io.CSVIter", _NO_NUMBER),
    Row("io.LibSVMIter", f"{_NO_NUMBER}; a column beyond data_shape is an error, too"),
    Row("io.CSVIter", _DTYPE, {"dtype": ("float64", "float16", "uint8", "int8")}),
    *(
        Row(f"io.{name}", _DTYPE, {"dtype": ("float64", "float16", "uint8", "int8", "int32", "int64")})
        for name in ("LibSVMIter", "MNISTIter")
    ),
    *(Row(f"io.{name}", _MEAN, {"mean_img": (), "num_parts": ()}) for name in (*_RECORDS, "ImageDetRecordIter")),
    Row("recordio.unpack_img", "what is no picture is an error; MXNet gives None for it"),
    Row(
        "onnx.export_model",
        "the file has opset 17 (opset=...), and neither labels nor parameters among its inputs; MXNet's has "
        "all of them, and the opset of the onnx that is installed",
    ),
    *(
        Row(f"test_utils.{name}", _NOTHING_LOADED)
        for name in ("download", "get_cifar10", "get_mnist", "get_mnist_iterator", "get_mnist_pkl", "get_mnist_ubyte")
    ),
    *(Row(f"contrib.text.embedding.{name}", _NOTHING_LOADED) for name in ("FastText", "GloVe")),
    Row("contrib.text.embedding.create", _NOTHING_LOADED, {"embedding_name": ("fasttext", "glove")}),
)  # fmt: skip
