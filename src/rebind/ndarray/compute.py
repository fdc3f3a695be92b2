"""Running one operator on the tensors behind arrays: the way of every `nd.X` call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .. import dtypes, generators
from ..device import Device, current_device, parse_device
from ..errors import DTypeError, MXNetError, ShapeError, UserCodeError
from ..grad_mode import is_grad_enabled, set_grad_enabled
from ..ops import Operator, misfit
from ..params import Params
from ..precision import Rules, active_rules
from .mode import mode

if TYPE_CHECKING:
    from .ndarray import NDArray

__all__ = ["compute", "explain"]


def compute(
    op: Operator,
    arrays: Sequence[NDArray | None],
    p: Params,
    device: Device | None = None,
    kernel_over: Callable[..., Any] | None = None,
) -> tuple[list[Tensor], Device]:
    """Run `op` and return its visible outputs, and the device that they are on.

    The results never share memory with the inputs. New auxiliary states are written into theirs. With `kernel_over`, a
    form of the operator that writes over its inputs, the results are in the memory of those, and nothing is returned.
    """
    recording = mode.recording
    tensors: list[Tensor | None] = []
    first: torch.dtype | None = None
    alike = True
    for array in arrays:
        if array is None:
            tensors.append(None)
            continue
        tensor = array._leaf if recording and array._leaf is not None else array._tensor
        tensors.append(tensor)
        if first is None:
            first = tensor.dtype
            device = device or array._device
        elif tensor.dtype is not first:
            alike = False
    rules = active_rules()
    if not alike and rules is None:
        op.check_types(tensors, p)
    device = device or _device_of(p)
    keywords: dict[str, Any] = op.keywords(p) if op.count else p
    if op.modes:
        keywords = {**keywords, **_modes(op.modes, device)}
    before = is_grad_enabled()
    try:
        if before is not recording:  # as `grad_mode` does, at a third of its cost
            set_grad_enabled(recording)
        if kernel_over is not None:
            kernel_over(*tensors, **keywords)
            return [], device
        if rules is not None:
            tensors = _converted(rules, op, p, tensors)
        result = (op.kernel if recording else op.function)(*tensors, **keywords)
        if not isinstance(result, tuple):
            return [_own_alone(result, tensors, recording)], device
        if op.returned_aux:
            count = len(op.returned_aux)
            result, new_aux = result[:-count], result[-count:]
            for array, value in zip(arrays[-count:], new_aux, strict=True):
                if array is not None and value is not None:
                    array._store(value)
        return [_own(value, tensors) for value in result[: op.visible_outputs(p)]], device
    except UserCodeError:
        raise  # with the user's own error as its cause
    except (RuntimeError, IndexError) as error:
        raise explain(op, op.name, tensors, p, error) from None
    finally:
        if before is not recording:
            set_grad_enabled(before)


def explain(
    op: Operator, who: str, tensors: Sequence[Tensor | None], p: Params, error: Exception
) -> Exception:
    """Return torch's `error` as one that names the operator, and the input that does not fit the others."""
    if isinstance(error, MXNetError):
        return error
    names = op.inputs_for(p, len(tensors))
    present = [tensor for tensor in tensors if isinstance(tensor, Tensor)]
    text = str(error) or type(error).__name__
    if "not implemented for '" in text:  # torch has no kernel for the type
        types = ", ".join(f"{name} {dtypes.name(t.dtype)}" for name, t in zip(names, present, strict=False))
        return DTypeError(
            f"{who}: cannot compute with arrays of this type; got {types}. Convert with astype()."
        )
    shapes = {name: tuple(tensor.shape) for name, tensor in zip(names, present, strict=False)}
    found = misfit(op, who, shapes, p)
    if found is not None:
        return found
    listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
    return ShapeError(f"{who}: inputs do not fit; got {listed or 'no inputs'}. {text.splitlines()[0]}")


def _converted(rules: Rules, op: Operator, p: Params, tensors: list[Tensor | None]) -> list[Tensor | None]:
    """Return inputs in the types that mixed precision computes an operator in."""
    names = op.inputs_for(p, len(tensors)) if op.variadic else op.input_names
    fixed = [op.is_auxiliary(name) for name in names]
    tensors = rules.cast(rules.kind(op.name, p), tensors, fixed)
    op.check_types(tensors, p)
    return tensors


def _modes(names: Iterable[str], device: Device) -> dict[str, Any]:
    """Return those of the mode, a generator and a device that a function takes."""
    found: dict[str, Any] = {}
    for name in names:
        if name == "training":
            found[name] = mode.training
        else:
            found[name] = generators.generator(device) if name == "generator" else device.torch
    return found


def _device_of(p: Params) -> Device:
    named = p.get("ctx")
    return parse_device(named) if named else current_device()


def _own(value: Tensor, inputs: Sequence[Tensor | None]) -> Tensor:
    if value._is_view():
        return value.clone(memory_format=torch.contiguous_format)
    for tensor in inputs:
        if value is tensor:
            return value.clone(memory_format=torch.contiguous_format)
    return value


def _own_alone(value: Tensor, inputs: Sequence[Tensor | None], recording: bool) -> Tensor:
    """As `_own`, for an only result: where it is all of a new tensor in another shape, it keeps that memory.

    `data` of a view is no view any more.
    """
    if recording or not value._is_view() or not value.is_contiguous():
        return _own(value, inputs)
    base = value._base
    assert base is not None  # of a view
    for tensor in inputs:
        if tensor is base or (tensor is not None and tensor._base is base):
            return value.clone()
    return value.data if base.numel() == value.numel() else value.clone()
