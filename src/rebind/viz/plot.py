"""What `plot_network` returns: a graph in DOT that draws itself."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from ..checks import warn_user
from ..errors import ParameterError
from .dot import DotGraph, Statement
from .pages import write_page
from .picture import Box, Edge, Picture, compose
from .programs import ENGINES, FORMATS, has_engine, open_file, run_engine
from .svg import to_svg

__all__ = ["NetworkPlot", "checked_format"]

OWN_FORMATS = ("svg", "pdf", "png")
_SHAPES = ("box", "rect", "rectangle", "square", "oval", "ellipse")
# `fixedsize`, `width` and `height`, which MXNet's examples set, have no effect: a box fits its text.
_DRAWN = {
    "node": {
        *(
            "label",
            "fillcolor",
            "color",
            "fontcolor",
            "shape",
            "style",
            "tooltip",
            "fixedsize",
            "width",
            "height",
        ),
    },
    "edge": {"label"},
    "graph": {"label"},
}


def checked_format(name: str) -> str:
    """Return the name of a format, which graphviz must know."""
    if name not in FORMATS:
        raise ParameterError(
            f"plot_network: save_format must be one of 'svg', 'pdf', 'png', or another of graphviz's "
            f"({', '.join(sorted({*FORMATS} - {*OWN_FORMATS}))}); got {name!r}"
        )
    return name


class NetworkPlot(DotGraph):
    """A drawing of a network, with the methods of `graphviz.Digraph`; a notebook displays it.

    SVG needs nothing else, PDF and PNG need matplotlib (the extra ``viz``). Where graphviz's program is installed, it
    draws what this cannot: other formats, and attributes such as ``rankdir``.

    Examples
    --------
    >>> import rebind as mx
    >>> plot = mx.viz.plot_network(mx.sym.Flatten(mx.sym.var("data"), name="flat"), title="small")
    >>> plot, "flat [label=Flatten" in plot.source, "Flatten" in plot.svg
    (<NetworkPlot 'small': 2 boxes>, True, True)
    >>> plot.node("note", "added by hand")
    >>> plot.edge("note", "flat")
    >>> plot
    <NetworkPlot 'small': 3 boxes>
    """

    @property
    def title(self) -> str:
        """The heading."""
        return self.name

    @property
    def picture(self) -> Picture:
        """The boxes and arrows with their positions."""
        nodes, arrows, heading = self._content()
        boxes = [_box(name, attrs) for name, attrs in nodes.items()]
        return compose(boxes, [Edge(*ends, text) for ends, text in arrows], heading=heading)

    @property
    def svg(self) -> str:
        """The drawing as an SVG document.

        >>> import rebind as mx
        >>> mx.viz.plot_network(mx.sym.Flatten(mx.sym.var("data"))).svg[:4]
        '<svg'
        """
        return to_svg(self._drawn())

    def save(
        self,
        filename: str | Path | None = None,
        directory: str | Path | None = None,
        *,
        skip_existing: bool | None = False,
    ) -> str:
        """Write the graph in DOT, or a picture if the name ends in .svg, .pdf or .png; return the path.

        Parameters
        ----------
        filename
            By default the title and ``.gv``.
        directory
            By default the working directory; it is made if there is none.
        skip_existing
            Leave a file that is there as it is.

        Examples
        --------
        >>> import os, tempfile
        >>> import rebind as mx
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     plot = mx.viz.plot_network(mx.sym.var("data"))
        ...     _ = plot.save("network.svg", folder), plot.save("network.dot", folder)
        ...     sorted(os.listdir(folder))
        ['network.dot', 'network.svg']
        """
        path = Path(self.directory if directory is None else directory, filename or self.filename)
        if skip_existing and path.exists():
            return str(path)
        suffix = path.suffix[1:].lower()
        if suffix not in OWN_FORMATS:
            return self.write_source(filename, directory)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self._draw(suffix))
        return str(path)

    def render(
        self,
        filename: str | Path | None = None,
        directory: str | Path | None = None,
        view: bool = False,
        cleanup: bool = False,
        format: str | None = None,
        *args: object,
        outfile: str | Path | None = None,
        engine: str | None = None,
        **options: object,
    ) -> str:
        """Write the graph in DOT to `filename` and the picture to ``filename.format``; return the picture's path.

        Parameters
        ----------
        filename, directory
            As in `save`.
        view
            Whether to show the picture.
        cleanup
            Whether to remove the file in DOT.
        format
            By default what `plot_network` was given as `save_format`.
        outfile
            The picture's path, in place of `filename` and `format`.
        engine
            The program of graphviz that lays out, where it draws.
        *args, **options
            graphviz's other arguments, which have no effect.
        """
        if outfile is not None:
            filename = Path(outfile).with_suffix(".gv")
            format = format or Path(outfile).suffix[1:]
        chosen = checked_format(format or self.format)
        content = self._draw(chosen, engine)
        source = self.write_source(filename, directory)
        path = f"{source}.{chosen}" if outfile is None else str(Path(self.directory, outfile))
        Path(path).write_bytes(content)
        if cleanup:
            Path(source).unlink()
        if view:
            open_file(path)
        return path

    def view(
        self,
        filename: str | Path | None = None,
        directory: str | Path | None = None,
        cleanup: bool = False,
        *args: object,
        **options: object,
    ) -> str:
        """Write the picture as `render` does and show it; return its path."""
        return self.render(filename, directory, view=True, cleanup=cleanup)

    def pipe(
        self,
        format: str | None = None,
        *args: object,
        encoding: str | None = None,
        engine: str | None = None,
        **options: object,
    ) -> bytes | str:
        """Return the picture as bytes, or as text in an encoding."""
        content = self._draw(checked_format(format or self.format), engine)
        return content if encoding is None else content.decode(encoding)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<NetworkPlot '{self.title}': {len(self._content()[0])} boxes>"

    def _content(self) -> tuple[dict[str, dict[str, str]], list[tuple[tuple[str, str], str]], str]:
        """Return the nodes with their attributes, the edges with their labels, and the heading."""
        nodes: dict[str, dict[str, str]] = {}
        arrows: list[tuple[tuple[str, str], str]] = []
        of_all: dict[str, dict[str, str]] = {"graph": {}, "node": {}, "edge": {}}
        for line in self.statements():
            if not isinstance(line, Statement):
                continue
            if not line.names:
                of_all[line.target] |= line.attrs
            elif line.target == "node":
                nodes[line.names[0]] = {**nodes.get(line.names[0], of_all["node"]), **line.attrs}
            else:
                start, end = line.names
                for name in line.names:  # as in DOT, an edge makes the nodes that it needs
                    nodes.setdefault(name, dict(of_all["node"]))
                arrows.append(((start, end), {**of_all["edge"], **line.attrs}.get("label", "")))
        return nodes, arrows, of_all["graph"].get("label", self.title)

    def _draw(self, format: str, engine: str | None = None) -> bytes:
        """Return the picture in a format: by this package if it can draw all that is asked for, else by graphviz."""
        engine = engine or self.engine
        if engine not in ENGINES:
            raise ParameterError(f"plot_network: engine must be one of {', '.join(ENGINES)}; got {engine!r}")
        can = format == "svg" or (
            format in OWN_FORMATS and importlib.util.find_spec("matplotlib") is not None
        )
        wanted = engine != "dot" or bool(self._without_effect())
        if not can or (wanted and has_engine(engine)):
            return run_engine(self.source, engine=engine, format=format)
        if format == "svg":
            return self.svg.encode()
        with TemporaryDirectory() as folder:
            path = Path(folder, f"picture.{format}")
            write_page(self._drawn(), path)
            return path.read_bytes()

    def _drawn(self) -> Picture:
        """Return the picture, with a warning of what is missing in it."""
        if lacking := self._without_effect():
            warn_user(
                f"plot_network: {', '.join(lacking)} have no effect on this drawing; "
                "render(...) draws them where graphviz's program 'dot' is installed"
            )
        return self.picture

    def _without_effect(self) -> list[str]:
        """Return attributes and lines that only graphviz can draw."""
        found: dict[str, None] = {}
        for line in self.statements():
            if isinstance(line, Statement):
                unknown = [key for key in line.attrs if key not in _DRAWN[line.target]]
                if line.attrs.get("shape", "box") not in _SHAPES:
                    unknown.append(f"shape={line.attrs['shape']}")
                found |= dict.fromkeys(f"{line.target} attribute {key!r}" for key in unknown)
            else:
                found[f"the line {line.strip()!r}"] = None
        return list(found)


def _unescaped(text: str, name: str) -> str:
    r"""Return a text of DOT: ``\n``, ``\l`` and ``\r`` end a line, ``\N`` is the node's name.

    >>> _unescaped(r"a\nb\\c\N", "d")
    'a\nb\\cd'
    """
    meaning = {"n": "\n", "l": "\n", "r": "\n", "N": name}
    return re.sub(r"\\(.)", lambda found: meaning.get(found[1], found[1]), text)


def _box(name: str, attrs: Mapping[str, str]) -> Box:
    """Return the box for a node of DOT."""
    title, *lines = _unescaped(attrs.get("label", r"\N"), name).split("\n")
    return Box(
        name,
        title,
        tuple(filter(None, lines)),
        note=_unescaped(attrs.get("tooltip", ""), name),
        fill=attrs.get("fillcolor", Box.fill),
        border=attrs.get("color", Box.border),
        text=attrs.get("fontcolor"),
        oval=attrs.get("shape", "ellipse") in ("oval", "ellipse"),
    )
