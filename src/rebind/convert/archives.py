"""Archives of models, such as SageMaker's ``model.tar.gz``, unpacked without trust in what they say."""

from __future__ import annotations

import os
import shutil
import tarfile
import zlib

from ..errors import FormatError, MissingFileError

__all__ = ["unpack"]

#: What is unpacked, by the ends of names; an archive may also have code and pictures.
_WANTED = (".json", ".params")
#: Networks and lists of classes are small; parameters are not.
_MOST_BYTES = {".json": 256 << 20, ".params": 32 << 30}
_MOST_MEMBERS = 10_000


def unpack(path: str, folder: str) -> None:
    """Unpack the files of a checkpoint from an archive into a folder, under the last parts of their names.

    Raises
    ------
    MissingFileError
        When there is no such archive.
    FormatError
        When it is no whole archive, or has members that no model has: paths that lead outside of it, links in place of
        files, two files of one name, sizes or counts beyond any sense.

    Examples
    --------
    >>> import io, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with tarfile.open(f"{folder}/model.tar.gz", "w:gz") as archive:
    ...         archive.addfile(tarfile.TarInfo("model/net-symbol.json"), io.BytesIO())
    ...     unpack(f"{folder}/model.tar.gz", folder)
    ...     sorted(os.listdir(folder))
    ['model.tar.gz', 'net-symbol.json']
    """
    if not os.path.exists(path):
        raise MissingFileError(f"read_model: the file {path!r} must exist")
    try:
        with tarfile.open(path) as archive:
            _unpack(archive, path, folder)
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise FormatError(f"{path}: it must be a whole tar archive; {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    """Return the first line of an error; those that follow list each compression that was tried."""
    return str(error).partition("\n")[0].rstrip(":")


def _unpack(archive: tarfile.TarFile, path: str, folder: str) -> None:
    for count, member in enumerate(archive):
        if count == _MOST_MEMBERS:
            raise FormatError(f"{path}: it must have at most {_MOST_MEMBERS} members")
        parts = member.name.split("/")
        if member.name.startswith("/") or ".." in parts or "\\" in member.name:
            raise FormatError(f"{path}: members must be inside of it; got {member.name!r}")
        name, (_, ending) = parts[-1], os.path.splitext(parts[-1])
        if member.isdir() or name.startswith("._"):  # what macOS adds to archives
            continue
        if ending not in _WANTED:
            _note(os.path.join(folder, name))
            continue
        if not member.isfile():
            raise FormatError(f"{path}: {member.name!r} must be a file; it is a link or a device")
        if member.size > _MOST_BYTES[ending]:
            raise FormatError(f"{path}: {member.name!r} must have at most {_MOST_BYTES[ending]} bytes")
        _copy(archive, member, path, os.path.join(folder, name))


def _note(target: str) -> None:
    """Make an empty file: that it is in the archive is all that messages say of it."""
    with open(target, "ab"):
        pass


def _copy(archive: tarfile.TarFile, member: tarfile.TarInfo, path: str, target: str) -> None:
    if os.path.exists(target):
        raise FormatError(f"{path}: it must have one file {os.path.basename(target)!r}; it has two")
    source = archive.extractfile(member)
    assert source is not None  # it is a file
    with source, open(target, "wb") as file:
        shutil.copyfileobj(source, file, 1 << 20)
