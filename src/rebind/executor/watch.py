"""Monitors: observers that report what each operator computes, forward and backward, under MXNet's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..device import Device
from ..grad_mode import grad_mode, is_recorded
from ..graph import Node
from ..ndarray import NDArray
from .observer import Observation, Observer

__all__ = ["Watch"]

#: Operators with one input that MXNet gives no name, though its documentation does.
_UNNAMED = frozenset([
    "Activation", "BlockGrad", "Cast", "Flatten", "Reshape", "_contrib_AdaptiveAvgPooling2D",
    "_contrib_arange_like", "_contrib_bipartite_matching", "_contrib_box_nms", "_contrib_div_sqrt_dim",
    "_contrib_gradientmultiplier", "_contrib_round_ste", "_contrib_sign_ste", "_copy", "_div_scalar",
    "_equal_scalar", "_greater_equal_scalar", "_greater_scalar", "_hypot_scalar", "_image_adjust_lighting",
    "_image_crop", "_image_flip_left_right", "_image_flip_top_bottom", "_image_random_brightness",
    "_image_random_contrast", "_image_random_hue", "_image_random_lighting", "_image_random_saturation",
    "_image_resize", "_lesser_equal_scalar", "_lesser_scalar", "_logical_and_scalar", "_logical_or_scalar",
    "_logical_xor_scalar", "_maximum_scalar", "_minimum_scalar", "_minus_scalar", "_mod_scalar", "_mul_scalar",
    "_not_equal_scalar", "_plus_scalar", "_power_scalar", "_rdiv_scalar", "_rminus_scalar", "_rmod_scalar",
    "_rpower_scalar", "_scatter_minus_scalar", "_scatter_plus_scalar", "_slice_assign_scalar", "abs",
    "amp_cast", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax", "argmax_channel",
    "argmin", "argsort", "broadcast_axis", "broadcast_to", "cast_storage", "cbrt", "ceil", "clip", "cos",
    "cosh", "degrees", "erf", "erfinv", "exp", "expand_dims", "expm1", "fix", "floor", "gamma", "gammaln",
    "hard_sigmoid", "log", "log10", "log1p", "log2", "logical_not", "make_loss", "max", "mean", "min",
    "nanprod", "nansum", "negative", "norm", "ones_like", "prod", "radians", "rcbrt", "reciprocal", "relu",
    "rint", "round", "rsqrt", "shape_array", "sigmoid", "sign", "sin", "sinh", "size_array", "slice",
    "slice_axis", "smooth_l1", "softmin", "softsign", "sort", "sqrt", "square", "sum", "tan", "tanh", "topk",
    "transpose", "trunc", "zeros_like",
])  # fmt: skip
#: Operators of any number of inputs that count them under another name in reports.
_COUNTED = {"multi_all_finite": "array_", "multi_sum_sq": "array_"}


@dataclass(frozen=True)
class Watch(Observer):
    """A callback for what is computed, and when it is called.

    Attributes
    ----------
    callback
        Called as ``callback(name, array)``.
    inputs_too
        Whether inputs are reported too, beside outputs (``monitor_all``).
    active
        Called before each run: whether it is to be watched. None: always.
    device
        The device of the arrays that are reported.
    """

    callback: Callable[[str, NDArray], object]
    inputs_too: bool
    active: Callable[[], bool] | None
    device: Device

    as_written = True

    def is_active(self) -> bool:
        """Whether the next run is to be watched.

        >>> import rebind as mx
        >>> (
        ...     Watch(print, False, None, mx.cpu()).is_active(),
        ...     Watch(print, False, lambda: False, mx.cpu()).is_active(),
        ... )
        (True, False)
        """
        return self.active is None or bool(self.active())

    def report(self, name: str, tensor: Tensor) -> None:
        """Call the callback with a tensor as an array.

        >>> import rebind as mx
        >>> Watch(lambda name, array: print(name, array.shape), False, None, mx.cpu()).report(
        ...     "fc", torch.ones(2)
        ... )
        fc (2,)
        """
        self.callback(name, NDArray(tensor.detach(), self.device))

    def report_gradient_of(self, tensor: Tensor, name: str) -> None:
        """Report the gradient of a tensor when `backward` has it; zeros where the operator's rule gives none.

        >>> import rebind as mx
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> watch = Watch(lambda name, array: print(name, array.item()), False, None, mx.cpu())
        >>> watch.report_gradient_of(x, "x_grad")
        >>> (x * 2).backward()
        x_grad 2.0
        """
        shape, nothing = tensor.shape, torch.zeros((), dtype=tensor.dtype, device=tensor.device)

        def report(gradient: Tensor | None) -> None:
            # A copy: the memory may be that of a parameter's gradient, which the next backward overwrites.
            self.report(name, nothing.expand(shape).clone() if gradient is None else gradient.clone())

        tensor.register_hook(report)

    def before(self, node: Node, inputs: Sequence[Tensor | None]) -> tuple[Tensor | None, ...]:
        """Report an operator's inputs, and return them so that each one's gradient will be reported."""
        op = node.operator
        assert op is not None
        names = node.input_names if op.signature.variadic else op.signature.input_names
        present = [
            (i, name, value)
            for i, (name, value) in enumerate(zip(names, inputs, strict=False))
            if value is not None
        ]
        if self.inputs_too:
            self._report_inputs(node, present)
        if not torch.is_grad_enabled():
            return tuple(inputs)
        watched = list(inputs)
        # Numbered among the arguments, which alone have gradients; a single one has no number.
        differentiable = [name for name in node.input_names if not op.signature.is_auxiliary(name)]
        for i, name, value in reversed(present):  # backward comes to the alias that was made last first
            if value.requires_grad and name in differentiable:
                number = differentiable.index(name) if len(differentiable) > 1 else ""
                # An alias of its own: another operator's gradient for the same array is not mixed in.
                watched[i] = alias = value.view_as(value)
                self.report_gradient_of(alias, f"{node.name}_backward_output{number}")
        return tuple(watched)

    def _report_inputs(self, node: Node, present: Sequence[tuple[int, str, Tensor]]) -> None:
        sources = dict(zip(node.input_names, node.inputs, strict=True))
        shown = _input_names(node)
        for i, name, value in present:
            if sources[name].node.is_variable:
                self.report(sources[name].name, value)
            self.report(f"{node.name}_{shown[i]}", value)

    def after(self, observation: Observation, node: Node | None) -> None:
        """Report an operator's outputs."""
        if node is None:
            return
        for i, (name, value) in enumerate(_named(node, observation).items()):
            if value is None:  # hidden outputs need not be there in every mode
                continue
            self.report(name, value)
            if self.inputs_too and is_recorded(value):
                self.report_gradient_of(value, f"{node.name}_backward_input{i}")


def _named(node: Node, observation: Observation) -> dict[str, Tensor | None]:
    """Return an operator's outputs by full name, with those that only a monitor sees."""
    found = dict(zip(node.output_names, observation.outputs, strict=False))
    assert node.operator is not None
    if (rule := node.operator.record.hidden) is not None:
        with grad_mode(False):
            hidden = rule(node.params, observation.inputs, observation.outputs, observation.training)
        found |= {f"{node.name}_{name}": value for name, value in hidden.items()}
    return found


def _input_names(node: Node) -> Sequence[str]:
    """Return the names under which MXNet's monitors show the inputs of a node, one for each argument of its function.

    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> [_input_names(net.graph.outputs[0].node)[0] for net in (mx.sym.exp(x), mx.sym.LRN(x, nsize=3))]
    ['input0', 'data']
    """
    op = node.operator
    assert op is not None
    if op.name in _UNNAMED:
        return ("input0",)
    if op.name in _COUNTED:
        return [f"{_COUNTED[op.name]}{i}" for i in range(len(node.inputs))]
    return node.input_names if op.signature.variadic else op.signature.input_names
