"""Running a custom operator: the user's `CustomOp` as a function of tensors, with its gradient."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from .. import autograd, dtypes
from ..device import Device, device_of
from ..errors import ArgumentError
from ..grad_mode import grad_mode
from ..ndarray import NDArray
from ..params import ParameterValue
from ..shapes import Shape
from .custom_op import CustomOp
from .description import Description, Locate, as_custom, user_code

__all__ = ["CustomKernel", "once"]


class CustomKernel:
    """Runs a custom operator; holds the user's `CustomOp`, which may remember something from one run to the next.

    Parameters
    ----------
    described
        What the operator takes and returns.
    locate
        Adds to an error of the user's code where it comes from: in a graph, the node.

    Examples
    --------
    >>> from rebind.operator import CustomOp, CustomOpProp
    >>> class Double(CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], in_data[0] * 2)
    >>> class DoubleProp(CustomOpProp):
    ...     def create_operator(self, ctx, in_shapes, in_dtypes):
    ...         return Double()
    >>> CustomKernel(Description.of("double", DoubleProp()))(torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, described: Description, locate: Locate = as_custom) -> None:
        self.described, self.locate = described, locate
        self.__name__ = "custom_operator"  # what the plan's code calls it
        self._made_for: list[tuple[Shape, torch.dtype]] | None = None
        self._outputs: list[tuple[Shape, torch.dtype | None]] = []
        self._op: CustomOp | None = None

    def _operator(self, tensors: Sequence[Tensor], device: Device) -> CustomOp:
        """Return the user's operator for these shapes and types."""
        # `create_operator` is given shapes and types: for others the operator is made again, and forgets earlier runs.
        wanted = [(tuple(tensor.shape), tensor.dtype) for tensor in tensors]
        if self._op is None or self._made_for != wanted:
            shapes, types = [list(shape) for shape, _ in wanted], [dtypes.flag(dtype) for _, dtype in wanted]
            with user_code(self.described.name, "create_operator", self.locate):
                self._op = self.described.prop.create_operator(device, shapes, types)
            self._outputs = self.described.infer_outputs(tensors)
            _check_operator(self.described.name, self._op)
            self._made_for = wanted
        return self._op

    def __call__(
        self,
        *tensors: Tensor,
        training: bool = False,
        device: torch.device | None = None,
        **parameters: ParameterValue,
    ) -> Any:
        """Return the outputs, one or a tuple; auxiliary states are written in place."""
        described = self.described
        count = len(described.arguments)
        outputs: list[Tensor] = []
        # The user's code computes on the values alone: what it does is not recorded.
        states = [NDArray(tensor.detach()) for tensor in tensors[count:]]
        in_data = [NDArray(tensor.detach()) for tensor in tensors[:count]]
        # Without inputs it is where the executor is.
        place = (in_data or states)[0].device if tensors else device_of(device or torch.device("cpu"))
        user = self._operator(tensors, place)

        def forward(inputs: Sequence[Tensor]) -> Sequence[Tensor]:
            outputs.extend(_zeros(self._outputs, inputs[0].device if inputs else device))
            out_data = [NDArray(value, place) for value in outputs]
            with user_code(described.name, "forward", self.locate), _training(training):
                user.forward(training, ["write"] * len(outputs), in_data, out_data, states)
            return [value.tensor for value in out_data]

        def backward(output_grads: Sequence[Tensor], needed: Sequence[bool]) -> list[Tensor | None]:
            out_data = [NDArray(value.detach(), place) for value in outputs]
            # Zeros, since an operator may leave what it does not write, or add to it.
            in_grad = [NDArray(torch.zeros_like(value.tensor), place) for value in in_data]
            request = ["write" if wanted else "null" for wanted in needed[:count]]
            # Autograd may hand over an expanded number, which user code could not write into or take apart.
            head_grads = [NDArray(head.contiguous(), place) for head in output_grads]
            with user_code(described.name, "backward", self.locate), _training(training):
                user.backward(request, head_grads, in_data, out_data, in_grad, states)
            gradients = [
                gradient.tensor if wanted == "write" else None
                for gradient, wanted in zip(in_grad, request, strict=True)
            ]
            return [*gradients, *[None] * len(states)]

        found = autograd.run_user_code(forward, backward, tensors)
        return found if len(found) > 1 else found[0]


def once(described: Description) -> Callable[..., Any]:
    """Return the function that runs an operator once: nothing is remembered.

    >>> from rebind.operator import CustomOpProp
    >>> once(Description.of("copy", CustomOpProp()))(torch.empty((2, 3), device="meta")).shape
    torch.Size([2, 3])
    """

    def custom_operator(
        *tensors: Tensor,
        training: bool = False,
        device: torch.device | None = None,
        **parameters: ParameterValue,
    ) -> Any:
        # Inference of shapes asks the user's `infer_shape`; on tensors without content nothing is computed.
        place = tensors[0].device if tensors else device
        if place is not None and place.type == "meta":
            outputs = _zeros(described.infer_outputs(tensors), place)
            return tuple(outputs) if len(outputs) > 1 else outputs[0]
        return CustomKernel(described)(*tensors, training=training, device=device)

    return custom_operator


def _check_operator(name: str, made: object) -> None:
    """Check what `create_operator` returned: without a `forward` of its own its outputs would hold nothing."""
    if not hasattr(made, "forward"):
        raise ArgumentError(f"operator {name!r}: create_operator must return a CustomOp; got {made!r}")
    if isinstance(made, CustomOp) and type(made).forward is CustomOp.forward and "forward" not in vars(made):
        raise ArgumentError(
            f"operator {name!r}: {type(made).__name__} must define forward(self, is_train, req, in_data, out_data, "
            "aux), which writes the outputs"
        )


def _zeros(
    described: Sequence[tuple[Shape, torch.dtype | None]], device: torch.device | None
) -> list[Tensor]:
    return [torch.zeros(shape, dtype=dtype, device=device) for shape, dtype in described]


@contextlib.contextmanager
def _training(training: bool) -> Iterator[None]:
    """Run the user's code in a mode, unrecorded."""
    # rebind's record and torch's: the user's code may use either.
    with autograd.pause(train_mode=training), grad_mode(False):
        yield
