"""Frozen batch norms: the moving statistics are used in training too, and are not updated."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from ...errors import ParameterError
from ...params import Params
from ..graph import Entry, Graph, Node, rewrite

__all__ = ["freeze_statistics"]


def freeze_statistics(graph: Graph, names: Collection[str]) -> Graph:
    """Return a graph in which operators with the auxiliary states `names` use them in training too, and let them be.

    Raises
    ------
    ParameterError
        For a state of an operator that has no such mode, or when only some of an operator's states are named.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.BatchNorm(mx.sym.var("x"), name="bn")
    >>> frozen = freeze_statistics(net.graph, ["bn_moving_mean", "bn_moving_var"])
    >>> frozen.outputs[0].node.params.use_global_stats
    True
    """

    def replace(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        if node.is_variable:
            return None
        op = node.operator
        states = [
            entry.node.name
            for name, entry in zip(node.input_names, node.inputs, strict=True)
            if op.signature.is_auxiliary(name)
        ]
        frozen = [name for name in states if name in names]
        if not frozen:
            return None
        # BatchNorm and its relatives; an operator that updates its state at every run cannot be stopped.
        if "use_global_stats" not in op.signature.parameters:
            raise node.locate(
                ParameterError(
                    f"its auxiliary states {frozen} cannot be frozen, as it has no parameter use_global_stats"
                )
            )
        if len(frozen) < len(states):
            raise node.locate(
                ParameterError(
                    f"all of its auxiliary states, {states}, must be frozen together; got {frozen}"
                )
            )
        params = Params({**node.params, "use_global_stats": True})
        # In the text too, so that a saved symbol is frozen when it is loaded.
        given = {**node.given, "use_global_stats": "True"}
        frozen_node = dataclasses.replace(node, inputs=inputs, params=params, given=given)
        return [Entry(frozen_node, i) for i in range(len(frozen_node.output_names))]

    return rewrite(graph, replace)
