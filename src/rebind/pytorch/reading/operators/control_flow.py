"""Loops."""

from __future__ import annotations

from ....symbol import Symbol, contrib
from ..node_reader import NodeReader
from ..readings import reading

__all__ = ["while_loop"]

#: MXNet's loops have a largest number of steps, PyTorch's have none.
_MOST = 2**31 - 1


@reading("higher_order.while_loop")
def while_loop(reader: NodeReader) -> list[Symbol]:
    """Steps while a condition holds; what the steps do not change comes from around the loop."""
    condition, body = reader.source("cond_fn"), reader.source("body_fn")
    around = reader.inputs("additional_inputs")

    def goes_on(*state: Symbol) -> Symbol:
        (found,) = reader.graph.read_body(condition, [*state, *around])
        return reader.cast(found, "float32")

    def step(*state: Symbol) -> tuple[list[Symbol], list[Symbol]]:
        return [], reader.graph.read_body(body, [*state, *around])

    _, last = contrib.while_loop(
        goes_on, step, reader.inputs("carried_inputs"), max_iterations=_MOST, name=reader.name
    )
    return list(last)
