"""The outputs of a graph at which backward can begin: losses, whose gradient does not depend on what comes behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from ..graph import Application, Entry, Graph, Target
from ..ops.declaration import GradientRule
from ..params import Params
from .failure import named_gradient

__all__ = ["Loss", "gradient_of", "losses_of"]


class Loss(NamedTuple):
    """An output whose gradient does not depend on what is computed from it.

    Attributes
    ----------
    node
        The node.
    reuse
        Whether the gradient may overwrite its first input, which nothing else needs.
    gradient
        The operator's own rule; its errors name the node.
    """

    node: Application
    reuse: bool
    gradient: GradientRule


def losses_of(graph: Graph, target: Target) -> list[Loss | None]:
    """Return, for each output, its node if it is a loss whose value nothing else uses.

    >>> import rebind as mx
    >>> x, y = mx.sym.var("x"), mx.sym.var("y")
    >>> [found, none] = losses_of(mx.sym.Group([mx.sym.MakeLoss(x, name="loss"), y * 2]).graph, Target())
    >>> found.node.name, none
    ('loss', None)
    """
    uses = graph.uses

    def loss(entry: Entry) -> Loss | None:
        # Where the value is used elsewhere too, autograd has to pass through the operator.
        node = entry.node
        if not isinstance(node, Application):
            return None
        op = node.operator
        # A loss at an end of the graph: autograd can start at its inputs, and nothing after it is left out.
        if (
            op.kernels.gradient is None
            or op.kernels.needs_head_gradient(node.params)
            or len(op.record.output_names(node.params)) != 1
            or uses[entry] != 1
        ):
            return None
        source = node.inputs[0]
        producer = source.node.operator
        # The gradient may be written over the input if that is memory of its own, which nothing else reads.
        owned = producer is not None and producer.kernels.owns_output and source.index == 0
        # A compiler decides by itself what shares memory.
        reuse = owned and uses[source] == 1 and not target.traced
        return Loss(node, reuse, gradient_of(node, target))

    return list(map(loss, graph.outputs))


def gradient_of(node: Application, target: Target) -> GradientRule:
    """Return the declared gradient of a node.

    >>> import rebind as mx
    >>> [output] = mx.sym.MakeLoss(mx.sym.var("x"), name="loss").graph.outputs
    >>> callable(gradient_of(output.node, Target()))
    True
    """
    rule = node.operator.kernels.gradient
    assert rule is not None
    # What a compiler made has no nodes to name.
    return _with_params(rule, node.params) if target.traced else named_gradient(node)


def _with_params(rule: GradientRule, params: Params) -> GradientRule:
    """Return a rule that takes the node's own parameters: a compiler does not follow how they are made again."""

    def gradient(
        p: Params,
        inputs: Sequence[Tensor | None],
        outputs: Sequence[Tensor],
        head_grads: Sequence[Tensor],
        **memory: Tensor,
    ) -> Sequence[Tensor | None]:
        return rule(params, inputs, outputs, head_grads, **memory)

    return gradient
