"""Programs and folders of them: read, mended where they are Python 2's, and walked through."""

from __future__ import annotations

import ast
import os
import tokenize
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import FormatError, MissingFileError
from .findings import Finding
from .older_syntax import mended
from .walk import Walk

__all__ = ["check_file", "check_source", "files_of"]


def files_of(paths: Sequence[str]) -> Iterator[Path]:
    """Yield the Python files among paths, and in the folders among them; hidden folders are left out."""
    for path in map(Path, paths):
        if not path.exists():
            raise MissingFileError(f"{path} must exist")
        if not path.is_dir():
            yield path
            continue
        for folder, below, names in os.walk(path):
            below[:] = sorted(name for name in below if not name.startswith(".") and name != "__pycache__")
            yield from (Path(folder, name) for name in sorted(names) if name.endswith(".py"))


def check_file(path: str | Path) -> list[Finding]:
    """Return what is found in a program, by line."""
    try:
        with open(path, "rb") as file:
            encoding, _ = tokenize.detect_encoding(file.readline)
        text = Path(path).read_text(encoding=encoding)
    except (SyntaxError, UnicodeDecodeError) as error:
        return [Finding(str(path), 1, "syntax", f"the text cannot be read: {error}")]
    except OSError as error:
        raise FormatError(f"{path}: must be a Python file that can be read; got {error}") from error
    return check_source(text, str(path))


def check_source(text: str, name: str) -> list[Finding]:
    """Return what is found in the text of a program, by line.

    Parameters
    ----------
    text
        The program.
    name
        What its findings call the file.
    """
    found: set[Finding] = set()
    tree = _parsed(text)
    of_python2 = not isinstance(tree, ast.Module)
    if of_python2:
        text, lines = mended(text)
        found.update(Finding(name, line, "python2", sentence) for line, sentence in lines)
        tree = _parsed(text)
    if isinstance(tree, TabError):
        line = tree.lineno or 1
        found.add(Finding(name, line, "python2", "tabs and spaces are mixed: indent with spaces alone"))
        tree = _parsed(text.expandtabs(8))
    if isinstance(tree, SyntaxError):
        found.add(
            Finding(name, tree.lineno or 1, "syntax", f"Python {_version()} cannot read this: {tree.msg}")
        )
    else:
        found.update(Walk(name, tree, of_python2).findings())
    return sorted(found)


def _parsed(text: str) -> ast.Module | SyntaxError:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the program's texts, such as "\d"
            return ast.parse(text)
    except SyntaxError as error:
        return error
    except ValueError as error:  # a null byte
        return SyntaxError(str(error))


def _version() -> str:
    import platform

    return platform.python_version()
