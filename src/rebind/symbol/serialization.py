"""Symbols in JSON: texts and files that MXNet reads and writes too."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from .. import files
from ..errors import ArgumentError, FormatError
from ..graph import Graph, symbol_json
from ..graph.passes import without_casts
from ..ndarray.mode import mode
from .base import SymbolBase, symbol_of

if TYPE_CHECKING:
    from .symbol import Symbol

__all__ = ["Serialization", "fromjson", "load", "load_json"]


class Serialization(SymbolBase):
    """Methods that write a symbol; it is pickled as JSON."""

    __slots__ = ()

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """Return the symbol as JSON, letter for letter as MXNet 1.9.1 writes it.

        Parameters
        ----------
        remove_amp_cast
            Leave out ``amp_cast`` and ``amp_multicast``, the casts of mixed precision.

        Examples
        --------
        >>> import json
        >>> import rebind as mx
        >>> text = mx.sym.exp(mx.sym.var("x"), name="e").tojson()
        >>> [node["name"] for node in json.loads(text)["nodes"]]
        ['x', 'e']
        """
        return symbol_json.dumps(
            without_casts(self._graph) if remove_amp_cast else self._graph, mode.numpy_shapes
        )

    def save(self, fname: str | os.PathLike, remove_amp_cast: bool = True) -> None:
        """Write the symbol to a JSON file, which appears whole or not at all; for `remove_amp_cast` see `tojson`.

        >>> import pathlib, tempfile, rebind as mx
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "net-symbol.json")
        ...     mx.sym.var("x").save(path)
        ...     '"name": "x"' in path.read_text()
        True
        """
        with files.atomic_write(fname) as file:
            file.write(self.tojson(remove_amp_cast).encode())

    def __setstate__(self, state: Mapping[str, str | None]) -> None:
        """Take the graph from a pickle of MXNet's: ``{'handle': JSON}``.

        >>> import rebind as mx
        >>> x = mx.sym.var("x")
        >>> x.__setstate__({"handle": mx.sym.exp(x, name="e").tojson()})
        >>> x.list_outputs()
        ['e_output']
        """
        text = state["handle"]
        self._graph = Graph(()) if text is None else symbol_json.loads(text)

    def __reduce__(self) -> tuple[Callable[[str], Symbol], tuple[str]]:
        # With the casts: a copy in another process computes the same.
        return load_json, (self.tojson(remove_amp_cast=False),)


def load_json(json_str: str) -> Symbol:
    """Return the symbol of a JSON text that MXNet of any age, or rebind, wrote.

    >>> import rebind as mx
    >>> mx.sym.load_json(mx.sym.exp(mx.sym.var("x"), name="e").tojson())
    <Symbol e>
    """
    if not isinstance(json_str, str):
        raise ArgumentError(f"sym.load_json: must be a string; got {type(json_str).__name__}")
    return symbol_of(symbol_json.loads(json_str))


fromjson = load_json


def load(fname: str | os.PathLike) -> Symbol:
    """Return the symbol in a JSON file.

    >>> import pathlib, tempfile, rebind as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = str(pathlib.Path(folder, "net-symbol.json"))
    ...     mx.sym.exp(mx.sym.var("x"), name="e").save(path)
    ...     load(path).list_outputs()
    ['e_output']
    """
    with open(fname, encoding="utf-8") as file:
        try:
            text = file.read()
        except UnicodeDecodeError as error:
            raise FormatError(f"{os.fspath(fname)}: a symbol must be UTF-8 text; {error}") from None
    return symbol_of(symbol_json.loads(text, os.fspath(fname)))
