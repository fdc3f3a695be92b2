"""Running one operator on the tensors behind arrays: the way of every `nd.X` call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .. import dtypes, generators
from ..device import Device, current_device, parse_device
from ..errors import DTypeError, MXNetError, ShapeError, UserCodeError
from ..grad_mode import grad_mode
from ..ops import Operator, misfit
from ..params import Params
from .mode import mode

if TYPE_CHECKING:
    from .ndarray import NDArray

__all__ = ["compute", "explain"]


def compute(
    op: Operator, arrays: Sequence[NDArray | None], p: Params, device: Device | None = None
) -> tuple[list[Tensor], Device]:
    """Run `op` and return its visible outputs, and the device that they are on.

    The results never share memory with the inputs. New auxiliary states are written into theirs.
    """
    recording = mode.recording
    if recording:
        tensors = [None if a is None else a._tensor if a._leaf is None else a._leaf for a in arrays]
    else:
        tensors = [None if a is None else a._tensor for a in arrays]
    if device is None:
        for array in arrays:
            if array is not None:
                device = array._device
                break
        else:
            device = _device_of(p)
    if len({tensor.dtype for tensor in tensors if tensor is not None}) > 1:
        op.check_types(tensors, p)
    keywords: dict[str, Any] = op.keywords(p) if op.count else p
    if op.modes:
        keywords = {
            **keywords,
            **op.mode_keywords(mode.training, generators.generator(device), device.torch),
        }
    try:
        with grad_mode(recording):
            result = op.kernel(*tensors, **keywords)
        if not isinstance(result, tuple):
            return [_own(result, tensors)], device
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
