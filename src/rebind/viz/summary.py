"""`print_summary`: a network as a table of layers."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

from ..symbol import Symbol
from ..terminal import Console, Table, box
from .graph_view import Entry, GraphView, read_symbol

__all__ = ["Row", "Summary", "print_summary", "summarize"]


class Row(NamedTuple):
    """One layer. `parameters` are those that no earlier layer had; None when shapes are unknown."""

    name: str
    op: str
    shape: tuple[int, ...] | None
    parameters: int | None
    previous: tuple[str, ...]


class Summary(NamedTuple):
    """The rows, and the numbers of learned and of averaged values; the latter are None when shapes are unknown."""

    rows: tuple[Row, ...]
    parameters: int | None
    auxiliary: int | None


def print_summary(
    symbol: Symbol,
    shape: Mapping[str, Sequence[int]] | None = None,
    line_length: int = 120,
    positions: Sequence[float] = (0.44, 0.64, 0.74, 1.0),
) -> None:
    """Print a table of layers: output shape, number of parameters, previous layers.

    Unlike MXNet's, which knows some operators only, the counts come from the parameters' shapes. A parameter that
    several layers share is counted at the first. Moving averages are counted separately.

    Parameters
    ----------
    symbol
        The network.
    shape
        Shapes of the inputs, by name. Without it the table has no shapes and no counts.
    line_length
        Width of the table, in characters.
    positions
        The end of each of the four columns: fractions of the width, or characters when the last is above 1.

    Raises
    ------
    TypeError, ValueError
        If `symbol` is no symbol, `shape` leaves shapes unknown, or `positions` are not four increasing numbers.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> print_summary(net, shape={"data": (1, 3)}, line_length=70)  # doctest: +NORMALIZE_WHITESPACE
    ────────────────────────────────────────────────────────────────────
                                  Output        Param
    Layer (type)                  Shape             #   Previous Layer
    ────────────────────────────────────────────────────────────────────
    data (input)                  3                 0
    fc (FullyConnected)           2                 8   data
    ────────────────────────────────────────────────────────────────────
    Total params: 8
    """
    ends = _column_ends(positions, line_length)
    summary = summarize(read_symbol(symbol, who="print_summary", shape=shape), inputs=tuple(shape or ()))
    table = Table(box=box.HORIZONTALS, width=ends[-1], show_lines=False, pad_edge=False)
    for heading, begin, end in zip(HEADINGS, [0, *ends], ends):
        right = heading == "Param #"
        # two of the characters separate the columns
        table.add_column(
            heading, width=max(end - begin - 2, 4), overflow="fold", justify="right" if right else "left"
        )
    for row in summary.rows:
        name = f"{row.name} ({row.op})"
        table.add_row(name, _shape_text(row.shape), _count_text(row.parameters), ", ".join(row.previous))
    # `sys.stdout` as it is now: notebooks and tests replace it.
    console = Console(file=sys.stdout, width=ends[-1], highlight=False, markup=False, soft_wrap=False)
    console.print(table)
    if summary.parameters is None:
        console.print("Total params: unknown; give the inputs' shapes to have them counted.")
    else:
        console.print(f"Total params: {summary.parameters:,}")
        if summary.auxiliary:
            console.print(f"Moving averages: {summary.auxiliary:,}")


HEADINGS = ("Layer (type)", "Output Shape", "Param #", "Previous Layer")


def summarize(view: GraphView, *, inputs: Sequence[str] = ()) -> Summary:
    """Return the rows and totals. A variable that is neither in `inputs` nor a label counts as a parameter.

    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc")
    >>> summarize(read_symbol(net, who="example", shape={"x": (1, 3)}), inputs=["x"]).parameters
    8
    """
    parameters = {
        i for i, node in enumerate(view.nodes) if node.is_variable and _is_learned(node.name, inputs, view)
    }
    # Variables of one name are one parameter when the network is bound.
    first: dict[str, int] = {}
    for i in sorted(parameters):
        first.setdefault(view.nodes[i].name, i)
    parameters = set(first.values())
    counted: set[int] = set()
    rows = []
    for i, node in enumerate(view.nodes):
        if node.is_variable and node.name not in inputs:
            continue
        # A parameter counts at the first layer that reads it. (`-` binds before `&`.)
        read = {first.get(view.nodes[entry.node].name, entry.node) for entry in node.inputs}
        new = read & parameters - counted
        counted |= new
        before = dict.fromkeys(
            view.nodes[entry.node].name
            for entry in node.inputs
            if not view.nodes[entry.node].is_variable or view.nodes[entry.node].name in inputs
        )
        op = "input" if node.is_variable else node.op
        rows.append(Row(node.name, op, view.shape(Entry(i, 0)), _total(view, new), tuple(before)))
    auxiliary = {node.name: i for i, node in enumerate(view.nodes) if node.name in view.auxiliary}
    return Summary(tuple(rows), _total(view, parameters), _total(view, set(auxiliary.values())))


def _is_learned(name: str, inputs: Sequence[str], view: GraphView) -> bool:
    # By name, as in MXNet: a loss makes the variable of its label itself.
    return name not in inputs and name not in view.auxiliary and not name.endswith("_label")


def _total(view: GraphView, variables: set[int]) -> int | None:
    shapes = [view.shape(Entry(i, 0)) for i in variables]
    if not view.shapes:
        return None
    return sum(prod(shape) for shape in shapes if shape is not None)


def _column_ends(positions: Sequence[float], line_length: int) -> list[int]:
    if len(positions) != 4 or list(positions) != sorted(set(positions)) or positions[0] <= 0:
        raise ValueError(
            f"print_summary: positions must be four increasing numbers above 0; got {list(positions)}"
        )
    # Up to 1 they are shares of the line, as in Keras.
    scale = line_length if positions[-1] <= 1 else 1
    return [int(position * scale) for position in positions]


def _shape_text(shape: tuple[int, ...] | None) -> str:
    """Return a shape as text, without its batch axis as in MXNet."""
    return "" if shape is None else "x".join(map(str, shape[1:])) or "(batch)"


def _count_text(count: int | None) -> str:
    return "" if count is None else f"{count:,}"
