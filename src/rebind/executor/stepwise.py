"""Runs of a plan's code node by node, for what looks at each operator while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import fx

from .failure import failure_at

__all__ = ["Stepwise"]


class Stepwise(fx.Interpreter):
    """Runs code one step after the other; a subclass overrides `call_function`.

    Attributes
    ----------
    step
        The step that is being run.

    Examples
    --------
    >>> import torch, rebind as mx
    >>> from rebind.executor import Target, lower
    >>> plan = lower(mx.sym.dot(mx.sym.var("a"), mx.sym.var("b"), name="product").graph, Target())
    >>> Stepwise(plan.code).run(torch.ones(2, 3), torch.ones(3, 1))[0]
    (tensor([[3.], [3.]]),)
    """

    step: fx.Node

    def __init__(self, code: fx.GraphModule) -> None:
        super().__init__(code)
        self.extra_traceback = False  # errors are explained by `failure_at`

    def run_node(self, n: fx.Node) -> Any:
        """Run one step."""
        self.step = n
        return super().run_node(n)

    def compute(self, target: Any, inputs: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """Call what the step calls; an error names the step's node."""
        try:
            return target(*inputs, **keywords)
        except Exception as error:
            found = failure_at(self.step, inputs, error)
            if found is error:
                raise
            raise found from None

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a step that calls a function: an operator, or one that picks one of several results."""
        return self.compute(target, args, kwargs)
