"""Which node of a plan failed, forward and backward: read from the traceback, so that nothing runs twice.

The code of a plan has one line for each node, ``fc1 = linear(input0_data, input1_weight, ...)``. The frame of that code
in an error's traceback knows the line, and its local variables are what the node was given.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import FrameType

from torch import Tensor, fx

from ..graph import Application, Node
from ..ops import explain
from ..ops.declaration import GradientRule
from ..params import Params

__all__ = ["failed_step", "failure_at", "failure_of", "named_gradient"]


def failed_step(code: fx.GraphModule, error: BaseException) -> tuple[fx.Node, FrameType] | None:
    """Return the step of a plan's code that raised `error`, and the frame that holds its inputs.

    None when the error does not come from a step.

    Examples
    --------
    >>> import torch, rebind as mx
    >>> from rebind.executor import Target, lower
    >>> plan = lower(mx.sym.dot(mx.sym.var("a"), mx.sym.var("b"), name="product").graph, Target())
    >>> try:
    ...     plan(None, [torch.ones(2, 3), torch.ones(2, 3)])
    ... except Exception as error:
    ...     step, frame = failed_step(plan.code, error)
    >>> step.meta["node"]
    <dot 'product'>
    """
    steps = {step.name: step for step in code.graph.nodes}
    written = type(code).forward.__code__
    found = None
    trace = error.__traceback__
    while trace is not None:
        # The code of this plan alone: a loop's body explains its own errors.
        if trace.tb_frame.f_code is written:
            # A line of the code is ``name = call(...)``, perhaps with a type after the name.
            line = code.code.splitlines()[trace.tb_lineno - 1]
            step = steps.get(line.partition("=")[0].partition(":")[0].strip())
            found = None if step is None else (step, trace.tb_frame)
        # No break: of several frames of this code the innermost is the last.
        trace = trace.tb_next
    return found


def failure_of(code: fx.GraphModule, error: Exception) -> Exception:
    """Return `error`, which a plan's code raised, as one that names the node that failed and its inputs.

    >>> import torch, rebind as mx
    >>> from rebind.executor import Target, lower
    >>> plan = lower(mx.sym.dot(mx.sym.var("a"), mx.sym.var("b"), name="product").graph, Target())
    >>> try:
    ...     plan(None, [torch.ones(2, 3), torch.ones(2, 3)])
    ... except Exception as error:
    ...     print(str(failure_of(plan.code, error)).partition(":")[0])
    dot 'product'
    """
    failed = failed_step(code, error)
    if failed is None:
        return error
    step, frame = failed
    inputs = fx.map_arg(step.args, lambda each: frame.f_locals[each.name])
    return failure_at(step, inputs, error)  # type: ignore[arg-type]  # the frame has a tensor for each node


def failure_at(step: fx.Node, inputs: Sequence[Tensor | None], error: Exception) -> Exception:
    """Return `error`, which a step raised for these inputs, as one that names the step's node."""
    node: Node | None = step.meta.get("node")
    return _named(node, inputs, error) if isinstance(node, Application) else error


def named_gradient(node: Application) -> GradientRule:
    """Return the declared gradient of a node's operator, with errors that name the node as those of forward do.

    Backward has no code of its own to read a traceback with: autograd calls the rules. What PyTorch differentiates
    itself raises nothing that a user could act on, and is not named.

    >>> import torch, rebind as mx
    >>> net = mx.sym.SoftmaxOutput(mx.sym.var("x"), mx.sym.var("label"), name="softmax")
    >>> node = net.graph.outputs[0].node
    >>> rule = named_gradient(node)
    >>> try:
    ...     rule(node.params, (torch.ones(2, 3), torch.ones(5)), (torch.ones(2, 3),), (torch.ones(2, 3),))
    ... except Exception as error:
    ...     print(str(error).partition(":")[0])
    SoftmaxOutput 'softmax'
    """
    rule = node.operator.kernels.gradient
    assert rule is not None

    @functools.wraps(rule)
    def named(
        p: Params,
        inputs: Sequence[Tensor | None],
        outputs: Sequence[Tensor],
        head_grads: Sequence[Tensor],
        **memory: Tensor,
    ) -> Sequence[Tensor | None]:
        try:
            return rule(p, inputs, outputs, head_grads, **memory)
        except Exception as error:
            found = _named(node, inputs, error)
            if found is error:
                raise
            raise found from None

    return named


def _named(node: Application, inputs: Sequence[Tensor | None], error: Exception) -> Exception:
    return explain(error, node.operator, inputs, node.params, called_as=node.called_as, node=node.name)
