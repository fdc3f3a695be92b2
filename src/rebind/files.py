"""Writing files atomically: a file is there in full, or not at all; and the folder for data."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from typing import IO, Any

from . import config
from .checks import check_folder
from .errors import ExistingFileError, ParameterError

__all__ = ["atomic_write", "check_free", "data_dir", "data_dir_default"]


def check_free(who: str, paths: Iterable[str | os.PathLike[str]]) -> None:
    """Check that there are no files yet under names that are to be written.

    >>> check_free("export", ["no/such/file.onnx"])
    """
    for path in paths:
        if os.path.lexists(path):
            raise ExistingFileError(
                f"{who}: {os.fspath(path)!r} exists already; overwrite=True (--force) replaces it."
            )


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a file for writing that replaces `path` only when all of it is on the disk.

    What is written goes to a temporary name in the same folder, is flushed to the disk and renamed at the end of
    the ``with`` block. After a kill, a full disk or an exception the old file is unchanged. A link is
    followed, and the permissions of an existing file do not change; what is no regular file (a pipe,
    ``/dev/stdout``) is written directly.

    Parameters
    ----------
    path
        Where the file is to be.
    mode
        ``'wb'`` for bytes, ``'w'`` for text in UTF-8.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(os.path.join(folder, "model.json"), "w") as file:
    ...         _ = file.write("{}")
    ...     os.listdir(folder)
    ['model.json']
    """
    if mode not in ("wb", "w"):
        raise ParameterError(f"atomic_write: mode must be 'wb' or 'w'; got {mode!r}")
    encoding = None if mode == "wb" else "utf-8"
    # A link stays a link: what it leads to is replaced.
    target = os.path.realpath(path)
    exists = os.path.exists(target)
    # A device or a pipe cannot be replaced by a file.
    if exists and not stat.S_ISREG(os.stat(target).st_mode):
        with open(target, mode, encoding=encoding) as file:
            yield file
        return
    check_folder(target, "write")  # the system's error would name the temporary file
    folder, name = os.path.split(target)
    # In the same folder, since a rename is atomic within one file system only. The name is cut so that it stays below
    # the limit for names with what is added to it.
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        # "x": a file of that name would be another's.
        with open(temporary, mode.replace("w", "x"), encoding=encoding) as file:
            yield file
            file.flush()
            os.fsync(
                file.fileno()
            )  # before the rename: a crash could otherwise leave a new name with no content
        if exists:
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    # On Ctrl-C too: nothing is left behind.
    except BaseException as error:
        if isinstance(error, OSError) and error.errno and error.filename in (None, temporary):
            # A full disk has no name, and the temporary one is not what the user asked for.
            error.filename = os.fspath(path)
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    """Flush the new name itself to the disk, where the system can (Windows cannot open a folder)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def data_dir_default() -> str:
    """Return the default folder for downloaded data: ``~/.mxnet``, as in MXNet.

    >>> data_dir_default().endswith(".mxnet")
    True
    """
    return os.path.join(os.path.expanduser("~"), ".mxnet")


def data_dir() -> str:
    """Return the folder for downloaded data: the environment variable ``MXNET_HOME``, or the default.

    >>> import rebind as mx
    >>> with mx.test_utils.environment("MXNET_HOME", "/data"):
    ...     data_dir()
    '/data'
    """
    return config.get("MXNET_HOME") or data_dir_default()
