"""A graph in DOT, graphviz's language: the part of `graphviz.Digraph` that makes the text."""

from __future__ import annotations

import contextlib
import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ArgumentError, ParameterError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["DotGraph", "Statement", "quoted"]

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|-?(\.[0-9]+|[0-9]+(\.[0-9]*)?)")
_MARKUP = re.compile(r"<.*[<&].*>", re.DOTALL)
_KEYWORDS = ("node", "edge", "graph", "digraph", "subgraph", "strict")


def quoted(text: object) -> str:
    r"""Return a text as DOT writes it: bare where that is allowed, markup as it is, and else in quotes.

    >>> print(quoted("conv1"), quoted("a b"), quoted("node"), quoted('say "x"'), quoted("<<b>x</b>>"))
    conv1 "a b" "node" "say \"x\"" <<b>x</b>>
    """
    text = str(text)
    bare = _BARE.fullmatch(text) and text.lower() not in _KEYWORDS
    if bare or _MARKUP.fullmatch(text):
        return text
    # A backslash before a quote, or at the end, would else quote the quote.
    return '"{}"'.format(re.sub(r'(\\*)("|$)', lambda m: m[1] * 2 + ("\\" if m[2] else "") + m[2], text))


class Statement(str):
    r"""A line of DOT that knows what it says, so that it can be drawn without graphviz.

    Parameters
    ----------
    text
        The line.
    target
        What has the attributes: ``'node'``, ``'edge'`` or ``'graph'``.
    names
        A node's name, or both ends of an edge; empty for attributes of all that follow.
    attrs
        The attributes.

    Examples
    --------
    >>> Statement.of("edge", ("a", "b"), {"label": "3×5"})
    '\ta -> b [label="3×5"]\n'
    """

    def __new__(
        cls, text: str, target: str, names: tuple[str, ...], attrs: Mapping[str, object]
    ) -> Statement:
        """Return the text with what it says."""
        made = super().__new__(cls, text)
        made.target, made.names, made.attrs = target, names, {key: str(attrs[key]) for key in attrs}
        return made

    target: str
    names: tuple[str, ...]
    attrs: dict[str, str]

    @classmethod
    def of(cls, target: str, names: tuple[str, ...], attrs: Mapping[str, object]) -> Statement:
        """Return the line of a node or an edge, or of attributes for all that follow."""
        head = " -> ".join(map(quoted, names)) or target
        listed = " ".join(f"{quoted(key)}={quoted(value)}" for key, value in attrs.items())
        return cls(f"\t{head} [{listed}]\n" if listed else f"\t{head}\n", target, names, attrs)

    def __getnewargs__(self) -> tuple[str, str, tuple[str, ...], dict[str, str]]:  # type: ignore[override]  # for copies
        return str(self), self.target, self.names, self.attrs

    def indented(self) -> Statement:
        """Return the same, as a line of a graph within a graph."""
        return Statement(f"\t{self}", self.target, self.names, self.attrs)


class DotGraph:
    r"""A directed graph, with the methods and attributes of `graphviz.Digraph`.

    Parameters
    ----------
    name
        Name of the graph, and of its files.
    comment
        A line on top.
    filename, directory
        Where `save` writes; by default ``name.gv`` in the working directory.
    format
        Of pictures.
    engine
        The program of graphviz that lays out.

    Examples
    --------
    >>> graph = DotGraph("net")
    >>> graph.node("a", "the input", shape="box")
    >>> graph.edge("a", "b")
    >>> print(graph.source)
    digraph net {
        a [label="the input" shape=box]
        a -> b
    }
    """

    directed = True
    strict = False
    encoding = "utf-8"

    def __init__(
        self,
        name: str = "plot",
        comment: str | None = None,
        filename: str | None = None,
        directory: str = "",
        format: str = "pdf",
        engine: str = "dot",
    ) -> None:
        self.name, self.comment = name, comment
        self.filename, self.directory = filename or f"{name}.gv", directory
        self.format, self.engine = format, engine
        self.graph_attr: dict[str, str] = {}
        self.node_attr: dict[str, str] = {}
        self.edge_attr: dict[str, str] = {}
        #: The lines. Those that are strings only, and no `Statement`, are for graphviz.
        self.body: list[str] = []

    @property
    def filepath(self) -> str:
        """The file that `save` writes."""
        return str(Path(self.directory, self.filename))

    @property
    def source(self) -> str:
        """The graph in DOT."""
        return "".join(self)

    def __str__(self) -> str:
        return self.source

    def __iter__(self) -> Iterator[str]:
        if self.comment:
            yield from (f"// {line}\n" for line in self.comment.splitlines())
        yield f"digraph {quoted(self.name)} {{\n" if self.name else "digraph {\n"
        for line in self.statements():
            yield line if line.endswith("\n") else f"{line}\n"
        yield "}\n"

    def statements(self) -> Iterator[str]:
        """Yield the lines, with those of `graph_attr`, `node_attr` and `edge_attr` first."""
        for target, attrs in (
            ("graph", self.graph_attr), ("node", self.node_attr), ("edge", self.edge_attr)
        ):  # fmt: skip
            if attrs:
                yield Statement.of(target, (), attrs)
        yield from self.body

    def node(
        self,
        name: str,
        label: str | None = None,
        _attributes: Mapping[str, object] | None = None,
        **attrs: object,
    ) -> None:
        """Add a node, or attributes to the one of that name."""
        self._add("node", (name,), label, _attributes, attrs)

    def edge(
        self,
        tail_name: str,
        head_name: str,
        label: str | None = None,
        _attributes: Mapping[str, object] | None = None,
        **attrs: object,
    ) -> None:
        """Add an arrow from one node to another."""
        self._add("edge", (tail_name, head_name), label, _attributes, attrs)

    def edges(self, tail_head_iter: Iterable[tuple[str, str]]) -> None:
        """Add arrows: pairs of names, or strings of two letters.

        >>> graph = DotGraph()
        >>> graph.edges(["ab", ("b", "c")])
        >>> len(graph.body)
        2
        """
        for pair in tail_head_iter:
            if len(pair) != 2:
                raise ParameterError(f"edges: must be pairs of names; got {pair!r}")
            self.edge(*pair)

    def attr(
        self, kw: str | None = None, _attributes: Mapping[str, object] | None = None, **attrs: object
    ) -> None:
        """Set attributes of the graph, or (with `kw`) of all ``'node'`` or ``'edge'`` lines that follow."""
        if kw is not None and kw.lower() not in ("graph", "node", "edge"):
            raise ParameterError(f"attr: kw must be 'graph', 'node' or 'edge'; got {kw!r}")
        if attrs or _attributes:
            self._add((kw or "graph").lower(), (), None, _attributes, attrs)

    def _add(
        self,
        target: str,
        names: tuple[str, ...],
        label: str | None,
        more: Mapping[str, object] | None,
        attrs: Mapping[str, object],
    ) -> None:
        for name in names:
            if not isinstance(name, str):
                raise ArgumentError(f"{target}: a node's name must be a string; got {name!r}")
        labelled = {} if label is None else {"label": label}
        self.body.append(Statement.of(target, names, {**labelled, **attrs, **(more or {})}))

    def subgraph(
        self,
        graph: DotGraph | None = None,
        name: str | None = None,
        comment: str | None = None,
        graph_attr: Mapping[str, str] | None = None,
        node_attr: Mapping[str, str] | None = None,
        edge_attr: Mapping[str, str] | None = None,
    ) -> contextlib.AbstractContextManager[DotGraph]:
        """Add `graph`, or (``with plot.subgraph(name="cluster_0") as part:``) what is added to `part` inside.

        graphviz draws a frame around one whose name begins with ``cluster``.
        """
        part = DotGraph(name or "", comment) if graph is None else graph
        part.graph_attr.update(graph_attr or {})
        part.node_attr.update(node_attr or {})
        part.edge_attr.update(edge_attr or {})
        within = self._within(part)
        if graph is not None:
            with within:
                pass
            return contextlib.nullcontext(part)
        return within

    @contextlib.contextmanager
    def _within(self, part: DotGraph) -> Iterator[DotGraph]:
        yield part
        self.body.append(f"\tsubgraph {quoted(part.name)} {{\n" if part.name else "\t{\n")
        lines = part.statements()
        self.body += [line.indented() if isinstance(line, Statement) else f"\t{line}" for line in lines]
        self.body.append("\t}\n")

    def clear(self, keep_attrs: bool = False) -> None:
        """Remove all lines, and unless `keep_attrs` the attributes."""
        self.body.clear()
        if not keep_attrs:
            for attrs in (self.graph_attr, self.node_attr, self.edge_attr):
                attrs.clear()

    def copy(self) -> Self:
        """Return a copy."""
        return copy.deepcopy(self)

    def write_source(self, filename: str | Path | None = None, directory: str | Path | None = None) -> str:
        """Write the graph in DOT; return the path. Folders are made as needed."""
        self.filename = str(filename or self.filename)
        self.directory = self.directory if directory is None else str(directory)
        path = Path(self.filepath)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.source, encoding=self.encoding)
        return str(path)
