"""What a notebook shows of a symbol, a picture, and of a module, a table."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence

from ..io import DataDesc
from ..module import BaseModule
from ..module.descs import Shapes
from ..shapes import Shape
from ..symbol import Symbol
from .graph_view import read_symbol
from .network import plot_network
from .summary import Row, summarize

__all__ = ["known_shapes", "layer_table", "module_html", "symbol_html"]

LARGEST = 400  # nodes: a larger picture helps nobody, and takes long to lay out


def symbol_html(symbol: Symbol) -> str:
    """Return the drawing of a symbol as SVG; for a very large symbol, its text.

    >>> import rebind as mx
    >>> symbol_html(mx.sym.exp(mx.sym.var("x")))[:4]
    '<svg'
    """
    if not 0 < len(symbol.graph.nodes) <= LARGEST:
        return f"<pre>{html.escape(repr(symbol))}</pre>"
    return plot_network(symbol, title=symbol.name or "").svg


def module_html(module: BaseModule) -> str:
    """Return a module as a table: layers, shapes and parameters; and whether it is bound, initialised and so on.

    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> "<td>fc</td><td>FullyConnected</td>" in module_html(mx.mod.Module(net, label_names=None))
    True
    """
    optimizers = [repr(each) for each in module.optimizers()] if module.optimizer_initialized else []
    facts = {
        "bound": _shapes(module) if module.binded else "no",
        "initialised": "yes" if module.params_initialized else "no",
        "optimizer": ", ".join(dict.fromkeys(optimizers)) or "none",
    }
    lines = "".join(f"<br>{name}: {html.escape(text)}" for name, text in facts.items())
    title = f"<div><b>{type(module).__name__}</b>{lines}</div>"
    return title + "".join(layer_table(*network) for network in _networks(module))


def _networks(module: BaseModule) -> Iterable[tuple[Symbol, Mapping[str, Shape], list[str]]]:
    """Yield the networks with the shapes that are known, and the names of inputs."""
    symbol = module.symbol
    if symbol is None:  # a chain of modules, or Python code
        for network in module.networks:
            yield network, {}, []
        return
    yield symbol, known_shapes(module, symbol), list(module.data_names)


def known_shapes(module: BaseModule, symbol: Symbol) -> dict[str, Shape]:
    """Return the shapes that a module is bound to, of the arguments that a network has.

    >>> import rebind as mx
    >>> module = mx.mod.Module(2 * mx.sym.var("data"), label_names=None)
    >>> module.bind([("data", (2, 3))])
    >>> known_shapes(module, module.symbol)
    {'data': (2, 3)}
    """
    if not module.binded:
        return {}
    arguments = set(symbol.list_arguments())
    descs = _descs(module.data_shapes) + _descs(module.label_shapes)
    return {desc.name: tuple(desc.shape) for desc in descs if desc.name in arguments}


def _descs(shapes: Shapes | None) -> list[DataDesc]:
    return [each if isinstance(each, DataDesc) else DataDesc(*each) for each in (shapes or [])]


def _shapes(module: BaseModule) -> str:
    return ", ".join(f"{desc.name} {tuple(desc.shape)}" for desc in _descs(module.data_shapes))


def layer_table(symbol: Symbol, shapes: Mapping[str, Shape], inputs: Sequence[str]) -> str:
    """Return a table of a network's layers, with the shapes of outputs and the numbers of parameters.

    >>> import rebind as mx
    >>> "<td>exp</td>" in layer_table(mx.sym.exp(mx.sym.var("x"), name="e"), {}, ["x"])
    True
    """
    view = read_symbol(symbol, who="Module", shape=shapes or None)
    summary = summarize(view, inputs=inputs)
    head = "<tr><th>Layer</th><th>Operator</th><th>Output shape</th><th>Parameters</th></tr>"
    total = "unknown until bound" if summary.parameters is None else f"{summary.parameters:,}"
    foot = f'<tr><td colspan="3">Total</td><td>{total}</td></tr>'
    return f"<table>{head}{''.join(map(_line, summary.rows))}{foot}</table>"


def _line(row: Row) -> str:
    shape = "" if row.shape is None else "×".join(map(str, row.shape))
    count = "" if row.parameters is None else f"{row.parameters:,}"
    cells = (row.name, row.op, shape, count)
    return f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in cells)}</tr>"
