"""Models of other engines as checkpoints: what ``rebind import`` does."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from ..checkpoint import params_path, save_checkpoint, symbol_path
from ..errors import FormatError, MissingFileError, MXNetError
from ..files import check_free
from ..ndarray import NDArray
from ..symbol import Symbol
from .export import Progress
from .model_files import read_model

__all__ = ["import_file"]

PathLike: TypeAlias = "str | os.PathLike[str]"
#: A network, its parameters and its auxiliary states.
_Parts: TypeAlias = "tuple[Symbol, Mapping[str, NDArray], Mapping[str, NDArray]]"


def import_file(
    path: PathLike,
    out: PathLike | None = None,
    *,
    overwrite: bool = False,
    progress: Progress = lambda *done: None,
) -> tuple[str, str]:
    """Write a model of another engine as a checkpoint of epoch 0, which can be trained.

    Parameters
    ----------
    path
        A file of ONNX (``.onnx``), of `torch.export.save` (``.pt2``) or of `save_safetensors` with a network in it
        (``.safetensors``).
    out
        The checkpoint's prefix, or a folder for it; by default in this folder, named after the file.
    overwrite
        Replace files that are there already; otherwise they are an error.
    progress
        Called with what is being done, after how many steps, and of how many.

    Returns
    -------
    tuple
        The paths of the symbol and of the parameters.

    Raises
    ------
    MissingFileError
        When there is no such file.
    FormatError
        When it is not what its name says.
    ExistingFileError
        When the checkpoint is there already, unless `overwrite` is true.

    Examples
    --------
    >>> import tempfile, rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = mx.onnx.export_model(
    ...         net, {"fc_weight": mx.nd.ones((2, 5))}, [(1, 5)], onnx_file_path=f"{folder}/a.onnx"
    ...     )
    ...     [os.path.basename(each) for each in import_file(path, folder)]
    ['a-symbol.json', 'a-0000.params']
    """
    text = os.fspath(path)
    if not os.path.isfile(text):
        raise MissingFileError(f"import: the file {text!r} must exist")
    prefix = os.fspath(out) if out is not None else Path(text).stem
    if os.path.isdir(prefix):
        prefix = os.path.join(prefix, Path(text).stem)
    written = symbol_path(prefix), params_path(prefix, 0)
    if not overwrite:
        check_free("import", written)
    progress("reading the model", 0, 2)
    parts = _read(text)
    progress("writing the checkpoint", 1, 2)
    save_checkpoint(prefix, 0, *parts)
    return written


def _read(path: str) -> _Parts:
    """Read a file as its name says."""
    ending = os.path.splitext(path)[1]
    try:
        if ending == ".onnx":
            from ..onnx import import_model  # with the optional package

            return import_model(path)
        if ending == ".pt2":
            _check_archive(path)
            from ..pytorch.reading import read_pt2

            return read_pt2(path)
        if ending == ".safetensors":
            model = read_model(path)
            return model.symbol, model.arg_params, model.aux_params
    except MXNetError:
        raise
    except Exception as error:  # of whatever kind the package has
        raise FormatError(
            f"import: {path!r} must be a valid file of the type that its ending names; {error}"
        ) from error
    raise FormatError(f"import: the file must end in .onnx, .pt2 or .safetensors; got {path!r}")


def _check_archive(path: str) -> None:
    """Check that a file is an archive of `torch.export.save`, of which PyTorch prints tracebacks where it is none."""
    names: list[str] = []
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    if not any(
        re.search(r"(^|/)(archive_format|serialized_exported_program\.json)$", name) for name in names
    ):
        raise FormatError(f"import: {path!r} must be a whole file that torch.export.save wrote")
