"""A run of a plan that is watched: step by step, telling what each operator computes, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx

from ..device import Device
from ..graph import Node
from ..ndarray import NDArray

__all__ = ["Watch"]


@dataclass(frozen=True)
class Watch:
    """Who is told what."""

    callback: Callable[[str, NDArray], Any]
    inputs_too: bool
    active: Callable[[], bool] | None
    device: Device

    def is_active(self) -> bool:
        """Tell whether the next run is to be watched."""
        return self.active is None or bool(self.active())

    def run(self, code: fx.GraphModule, *arguments: Any) -> Any:
        """Run a plan's code; what its operators' gradients are is told when `backward` computes them."""
        values: dict[fx.Node, Any] = {}
        rest = iter(arguments)
        for step in code.graph.nodes:
            if step.op == "placeholder":
                values[step] = next(rest)
                continue
            args = fx.map_arg(step.args, values.__getitem__)
            keywords = fx.map_arg(step.kwargs, values.__getitem__)
            if step.op == "output":
                return args[0]
            node: Node | None = step.meta.get("node")
            if node is not None:
                args = self._enter(node, args)
            if step.op == "call_method":
                values[step] = getattr(args[0], step.target)(*args[1:], **keywords)
            else:
                values[step] = step.target(*args, **keywords)
            if node is not None:
                self._leave(node, values[step])
        raise AssertionError("a plan's code ends with its outputs")

    def _tell(self, name: str, tensor: Tensor) -> None:
        self.callback(name, NDArray(tensor.detach(), self.device))

    def _tell_gradient_of(self, tensor: Tensor, name: str) -> None:
        """Tell the gradient of a tensor when `backward` has it; zeros where the operator's rule says nothing."""
        shape, nothing = tensor.shape, tensor.detach().new_zeros(())

        def tell(gradient: Tensor | None) -> None:
            # A copy: the memory may be that of a parameter's gradient, which goes on changing.
            self._tell(name, nothing.expand(shape).clone() if gradient is None else gradient.clone())

        tensor.register_hook(tell)

    def _enter(self, node: Node, args: Sequence[Any]) -> tuple[Any, ...]:
        """Tell an operator's inputs, and return them so that each one's gradient will be told."""
        op = node.operator
        assert op is not None
        names = node.input_names if op.variadic else op.input_names
        sources = dict(zip(node.input_names, node.inputs, strict=True))
        present = [
            (i, name, value)
            for i, (name, value) in enumerate(zip(names, args, strict=False))
            if value is not None
        ]
        if self.inputs_too:
            for _, name, value in present:
                if sources[name].node.is_variable:
                    self._tell(sources[name].name, value)
                self._tell(f"{node.name}_{name}", value)
        if not torch.is_grad_enabled():
            return tuple(args)
        watched = list(args)
        differentiable = [name for name in node.input_names if not op.is_auxiliary(name)]
        for i, name, value in reversed(present):  # backward comes to the alias that was made last first
            if value.requires_grad and name in differentiable:
                number = differentiable.index(name) if len(differentiable) > 1 else ""
                # An alias of its own: another operator's gradient for the same array is not mixed in.
                watched[i] = value.view_as(value)
                self._tell_gradient_of(watched[i], f"{node.name}_backward_output{number}")
        return tuple(watched)

    def _leave(self, node: Node, result: Any) -> None:
        """Tell an operator's outputs."""
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        for i, (name, value) in enumerate(zip(node.output_names, outputs, strict=False)):
            if value is None:  # hidden outputs need not be there in every mode
                continue
            self._tell(name, value)
            if self.inputs_too and value.requires_grad and torch.is_grad_enabled():
                self._tell_gradient_of(value, f"{node.name}_backward_input{i}")
