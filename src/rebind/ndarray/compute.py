"""Running one operator on the tensors behind arrays: the way of every `nd.X` call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .. import generators
from ..device import Device, current_device, parse_device
from ..errors import MXNetError, ShapeError
from ..ops import Operator, misfit
from ..params import Params
from .mode import mode

if TYPE_CHECKING:
    from .ndarray import NDArray

__all__ = ["compute", "explain", "mode_values"]


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
        device = next((a._device for a in arrays if a is not None), None) or _device_of(p)
    if len(tensors) > 1:
        op.check_types(tensors, p)
    keywords = op.keywords(p) if op.count else p
    if op.modes:
        keywords = {**keywords, **mode_values(op, mode.training, device)}
    before = torch.is_grad_enabled()
    if before is not recording:
        torch._C._set_grad_enabled(recording)
    try:
        result = op(*tensors, **keywords)
    except (RuntimeError, IndexError) as error:
        raise explain(op, op.name, tensors, p, error) from None
    finally:
        if before is not recording:
            torch._C._set_grad_enabled(before)

    results = result if isinstance(result, tuple) else (result,)
    if op.aux_names:
        results, new_aux = results[: -len(op.aux_names)], results[-len(op.aux_names) :]
        for array, value in zip(arrays[-len(op.aux_names) :], new_aux, strict=True):
            if array is not None and value is not None:
                array._write(value)
    return [_own(value, tensors) for value in results[: op.visible_outputs(p)]], device


def mode_values(op: Operator, training: bool, device: Device) -> dict[str, Any]:
    """Return what `op` takes besides its parameters: the mode, a generator, a device."""
    values: dict[str, Any] = {}
    if "training" in op.modes:
        values["training"] = training
    if "generator" in op.modes:
        values["generator"] = generators.generator(device)
    if "device" in op.modes:
        values["device"] = device.torch
    return values


def explain(op: Operator, who: str, tensors: Sequence[Tensor | None], p: Params, error: Exception) -> Exception:
    """Return torch's `error` as one that names the operator, and the input that does not fit the others."""
    if isinstance(error, MXNetError):
        return error
    names = op.inputs_for(p, len(tensors))
    present = [tensor for tensor in tensors if isinstance(tensor, Tensor)]
    shapes = {name: tuple(tensor.shape) for name, tensor in zip(names, present, strict=False)}
    found = misfit(op, who, shapes, p)
    if found is not None:
        return found
    listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
    first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
    return ShapeError(f"{who}: inputs do not fit; got {listed or 'no inputs'}. {first_line}")


def _device_of(p: Params) -> Device:
    named = p.get("ctx")
    return parse_device(named) if named else current_device()


def _own(value: Tensor, inputs: Sequence[Tensor | None]) -> Tensor:
    if value._is_view() or any(value is tensor for tensor in inputs):
        return value.clone(memory_format=torch.contiguous_format)
    return value
