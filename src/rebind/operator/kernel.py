"""Running a custom operator: the user's `CustomOp` as a function of tensors, with its gradient."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .. import autograd, dtypes
from ..device import Device, device_of
from ..errors import ArgumentError
from ..grad_mode import grad_mode
from ..ndarray import NDArray
from ..ndarray.base import wrap
from ..ndarray.storage import convert, storage_kind
from ..ndarray.storage_tensor import StorageTensor, as_dense, as_storage, as_tensor
from ..ops.storage_types import DENSE
from ..params import ParameterValue
from ..shapes import Shape
from .custom_op import CustomOp
from .description import ArrayType, Description, Locate, as_custom, user_code

__all__ = ["CustomKernel", "once"]


class Created(NamedTuple):
    """The user's operator, and the shapes and types of its outputs."""

    op: CustomOp
    outputs: list[tuple[Shape, torch.dtype | None]]


class CustomKernel:
    """Runs a custom operator.

    In an executor `create` comes first, and all runs have one `CustomOp` of the user's, which may remember something
    from one run to the next. Otherwise each call creates its own, as in MXNet.

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
        self._bound: Created | None = None

    def create(self, device: Device, inputs: Sequence[ArrayType], *, has_gradients: bool = False) -> None:
        """Create the user's operator that the runs from now on have: at bind.

        Parameters
        ----------
        device
            Where the operator is bound.
        inputs
            The shapes and types of inputs and auxiliary states.
        has_gradients
            Whether gradients are bound.

        Examples
        --------
        >>> from rebind.operator import CustomOp, CustomOpProp
        >>> class Nothing(CustomOp):
        ...     def forward(self, is_train, req, in_data, out_data, aux):
        ...         pass
        >>> class NothingProp(CustomOpProp):
        ...     def create_operator(self, ctx, in_shapes, in_dtypes):
        ...         print(ctx, in_shapes, in_dtypes)
        ...         return Nothing()
        >>> CustomKernel(Description.of("nothing", NothingProp())).create(
        ...     Device("cpu", 1), [((2,), torch.float32)]
        ... )
        cpu(1) [[2]] [0]
        """
        self._bound = self._created(device, inputs, has_gradients)

    def _created(self, device: Device, inputs: Sequence[ArrayType], has_gradients: bool) -> Created:
        """Return the user's operator for these shapes and types, having asked all else that MXNet asks before."""
        described = self.described
        outputs = described.infer_outputs(inputs)
        described.infer_storage()
        if has_gradients:
            described.infer_storage(backward=True)
        shapes, types = [list(shape) for shape, _ in inputs], [dtypes.flag(dtype) for _, dtype in inputs]
        with user_code(described.name, "create_operator", self.locate):
            made = described.prop.create_operator(device, shapes, types)
        _check_operator(described.name, made, self.locate)
        return Created(made, outputs)

    def __call__(
        self,
        *tensors: Tensor,
        training: bool = False,
        device: torch.device | None = None,
        context: Device | None = None,
        **parameters: ParameterValue,
    ) -> Any:
        """Return the outputs, one or a tuple; auxiliary states are written in place."""
        described = self.described
        count = len(described.arguments)
        out_data: list[NDArray] = []
        tensors, of_outputs, of_gradients = self._with_storage_types(tensors)
        # The user's code computes on the values alone: what it does is not recorded.
        states = [_array(tensor) for tensor in tensors[count:]]
        in_data = [_array(tensor) for tensor in tensors[:count]]
        # Without inputs it is where the executor is.
        array_device = (in_data or states)[0].device if tensors else device_of(device or torch.device("cpu"))
        created = self._bound
        if created is None:
            created = self._created(context or array_device, _types_of(tensors), has_gradients=False)
        user = created.op

        def forward(inputs: Sequence[Tensor]) -> Sequence[Tensor]:
            made = _zeros(created.outputs, inputs[0].device if inputs else device)
            out_data.extend(
                _array(value, array_device, stype) for value, stype in zip(made, of_outputs, strict=True)
            )
            with user_code(described.name, "forward", self.locate), _training(training):
                user.forward(training, ["write"] * len(out_data), in_data, out_data, states)
            return [as_tensor(value.storage) for value in out_data]

        def backward(output_grads: Sequence[Tensor], needed: Sequence[bool]) -> list[Tensor | None]:
            if self._bound is None:
                described.infer_storage(backward=True)
            # Zeros, since an operator may leave what it does not write, or add to it.
            in_grad: list[NDArray] = [
                wrap(
                    storage_kind(stype, _WHO).zeros(value.shape, value.storage.dtype, value.storage.device),
                    array_device,
                )
                for value, stype in zip(in_data, of_gradients, strict=True)
            ]
            request = ["write" if wanted else "null" for wanted in needed[:count]]
            # Autograd may hand over an expanded number, which user code could not write into or take apart.
            head_grads = [
                _array(head if isinstance(head, StorageTensor) else head.contiguous(), array_device, stype)
                for head, stype in zip(output_grads, of_outputs, strict=True)
            ]
            with user_code(described.name, "backward", self.locate), _training(training):
                user.backward(request, head_grads, in_data, out_data, in_grad, states)
            gradients = [
                as_tensor(gradient.storage) if wanted == "write" else None
                for gradient, wanted in zip(in_grad, request, strict=True)
            ]
            return [*gradients, *[None] * len(states)]

        found = autograd.run_user_code(forward, backward, tensors)
        return found if len(found) > 1 else found[0]

    def _with_storage_types(
        self, tensors: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], Sequence[str], Sequence[str]]:
        """Return the tensors to compute on, and the storage types of outputs and of the inputs' gradients."""
        described = self.described
        inputs = len(described.arguments)
        if any(isinstance(tensor, StorageTensor) for tensor in tensors):
            own = described.storage_types([as_storage(tensor).stype for tensor in tensors])
            if own is not None:
                return tensors, own[0], own[1][:inputs]
            tensors = tuple(map(as_dense, tensors))  # the user's class knows dense arrays only
        return tensors, [DENSE] * len(described.outputs), [DENSE] * inputs


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
        context: Device | None = None,
        **parameters: ParameterValue,
    ) -> Any:
        # Inference of shapes asks the user's `infer_shape`; on tensors without content nothing is computed.
        tensor_device = tensors[0].device if tensors else device
        if tensor_device is not None and tensor_device.type == "meta":
            outputs = _zeros(described.infer_outputs(_types_of(tensors)), tensor_device)
            return tuple(outputs) if len(outputs) > 1 else outputs[0]
        return CustomKernel(described)(*tensors, training=training, device=device, context=context)

    return custom_operator


def _check_operator(name: str, made: object, locate: Locate) -> None:
    """Check what `create_operator` returned: without a `forward` of its own its outputs would hold nothing."""
    if not hasattr(made, "forward"):
        raise locate(
            ArgumentError(f"operator {name!r}: create_operator must return a CustomOp; got {made!r}")
        )
    if isinstance(made, CustomOp) and type(made).forward is CustomOp.forward and "forward" not in vars(made):
        raise locate(
            ArgumentError(
                f"operator {name!r}: {type(made).__name__} must define forward(self, is_train, req, in_data, "
                "out_data, aux), which writes the outputs"
            )
        )


_WHO = "CustomOpProp.infer_storage_type: stype"


def _array(tensor: Tensor, device: Device | None = None, stype: str | None = None) -> NDArray:
    """Return the values of a tensor as an array for the user's code, of the storage type that its class names."""
    storage = as_storage(tensor.detach())
    return wrap(storage if stype is None else convert(storage, stype, _WHO), device)


def _types_of(tensors: Sequence[Tensor]) -> list[ArrayType]:
    return [(tuple(tensor.shape), tensor.dtype) for tensor in tensors]


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
