"""Symbols in JSON: texts and files that MXNet reads and writes too."""

from __future__ import annotations

import os
from collections.abc import Mapping

from .. import files
from ..checks import PATH, check_kind
from ..errors import FormatError
from ..graph import Graph, symbol_json
from ..graph.passes import without_casts
from ..mode import mode
from .base import SymbolBase

__all__ = ["Serialization", "read_graph"]


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
        check_kind("Symbol.save", PATH, fname=fname)
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


def read_graph(fname: str | os.PathLike) -> Graph:
    """Return the graph in a JSON file.

    >>> import pathlib, tempfile, rebind as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "net-symbol.json")
    ...     mx.sym.exp(mx.sym.var("x"), name="e").save(path)
    ...     read_graph(path).output_names
    ('e_output',)
    """
    check_kind("sym.load", PATH, fname=fname)
    with open(fname, encoding="utf-8") as file:
        try:
            text = file.read()
        except UnicodeDecodeError as error:
            raise FormatError(f"{os.fspath(fname)}: a symbol must be UTF-8 text; {error}") from None
    return symbol_json.loads(text, os.fspath(fname))
