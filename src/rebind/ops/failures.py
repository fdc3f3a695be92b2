"""Errors of operators: torch's errors turned into errors that the user can act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from .. import dtypes
from ..errors import DeviceError, DTypeError, MXNetError, OutOfMemoryError, ShapeError
from ..params import Params
from ..shapes import Shape, merge
from .declaration import Operator

__all__ = ["explain", "is_of_memory", "misfit"]


def explain(
    error: Exception,
    op: Operator,
    tensors: Sequence[Tensor | None],
    p: Params,
    *,
    called_as: str | None = None,
    node: str | None = None,
) -> Exception:
    """Return the error to raise for one that a call of an operator raised.

    It names the operator as the user called it, the node, and the input that does not fit the others. What is neither
    rebind's nor torch's (a KeyboardInterrupt, a mistake in this library) comes back as it is. Nothing is run again.

    Parameters
    ----------
    error
        What was caught.
    op, p
        The operator and its parsed parameters.
    tensors
        What it was given; None for absent optional inputs.
    called_as
        The name by which the operator was called, where that is not its first one.
    node
        The name of the node, for a call from a graph.

    Examples
    --------
    >>> import torch
    >>> from rebind.ops import find
    >>> op = find("FullyConnected")
    >>> p, tensors = op.parse({"num_hidden": 2}), [torch.zeros(1, 3), torch.zeros(2, 4), torch.zeros(2)]
    >>> try:
    ...     op(*tensors, **p)
    ... except RuntimeError as caught:
    ...     print(explain(caught, op, tensors, p, node="fc1"))
    FullyConnected 'fc1': weight must have shape (2, 3) to match data (1, 3); got (2, 4)
    """
    if isinstance(error, MXNetError):
        found = error
    elif isinstance(error, (RuntimeError, IndexError)):
        found = _in_words(error, op, tensors, p)
    # Neither ours nor torch's: a mistake in a user's own operator, say, which must not change its class.
    else:
        return error
    return found.locate(op.name, called_as=called_as, node=node)


def _in_words(error: Exception, op: Operator, tensors: Sequence[Tensor | None], p: Params) -> MXNetError:
    """Return torch's error as one that names the input that does not fit, or all of them."""
    names = op.signature.inputs_for(p, len(tensors))
    present = [tensor for tensor in tensors if isinstance(tensor, Tensor)]
    text = str(error) or type(error).__name__
    if text.startswith("CUDA error"):
        return DeviceError(
            "a kernel failed on the GPU, in this operator or in an earlier one; PyTorch says: "
            f"{text.splitlines()[0]}. This program can no longer use the GPU; restart it. A common cause is an index "
            "outside of its axis. With CUDA_LAUNCH_BLOCKING=1 in the environment the error names the operator at fault."
        )
    is_of_bool = "bool" in text.lower() and any(tensor.dtype is torch.bool for tensor in present)
    if "not implemented for '" in text or is_of_bool:  # torch has no kernel for the type
        types = ", ".join(f"{name} {dtypes.name(t.dtype)}" for name, t in zip(names, present, strict=False))
        return DTypeError(f"cannot compute with arrays of this type; got {types}. Convert with astype().")
    # A number without axes may be on the CPU for any device; those of shapes alone are nowhere.
    if len({each.device for each in present if each.dim() and not each.is_meta}) > 1:
        places = ", ".join(f"{name} {_named(t.device)}" for name, t in zip(names, present, strict=False))
        return DeviceError(f"arrays must be on one device; got {places}. Copy with as_in_context().")
    if is_of_memory(error):
        given = ", ".join(f"{name} {tuple(t.shape)}" for name, t in zip(names, present, strict=False))
        return OutOfMemoryError(
            f"there is not enough memory for the results; got {given or 'no inputs'}, and PyTorch says: "
            f"{text.splitlines()[0]}"
        )
    # The rules that the operator declares name the input at fault, where they can.
    shapes = {name: tuple(tensor.shape) for name, tensor in zip(names, present, strict=False)}
    found = misfit(op, shapes, p)
    if found is not None:
        return found
    listed = ", ".join(
        f"{name} {tuple(tensor.shape)} {dtypes.name(tensor.dtype)}"
        for name, tensor in zip(names, present, strict=False)
    )
    return ShapeError(f"inputs do not fit; got {listed or 'no inputs'}. PyTorch says: {text.splitlines()[0]}")


def is_of_memory(error: Exception) -> bool:
    """Return whether an error of PyTorch's says that memory is used up.

    >>> is_of_memory(
    ...     RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes.")
    ... )
    True
    """
    return isinstance(error, torch.OutOfMemoryError) or "you tried to allocate" in str(error)


def _named(device: torch.device) -> str:
    return f"gpu({device.index})" if device.type == "cuda" else device.type


def misfit(op: Operator, shapes: Mapping[str, Shape], p: Params) -> ShapeError | None:
    """Return the error that names the first input whose shape contradicts the others, or None if none does.

    It evaluates the shape rules that the operator declares. Meant for an operator that has failed already: it turns
    torch's message into one that the user can act on.

    Parameters
    ----------
    op, p
        The operator and its parsed parameters.
    shapes
        Those of the inputs, by name.

    Examples
    --------
    >>> from rebind.ops import find
    >>> op = find("FullyConnected")
    >>> shapes = {"data": (8, 3, 4), "weight": (64, 11), "bias": (64,)}
    >>> print(misfit(op, shapes, op.parse({"num_hidden": 64})))
    weight must have shape (64, 12) to match data (8, 3, 4); got (64, 11)
    """
    try:
        wanted = op.inference.filled_shapes(shapes, p)
    except ShapeError as error:
        return error
    for name, shape in wanted.items():
        have = shapes.get(name)
        if have is None or shape is None:
            continue
        try:
            merge(shape, have)
        except ValueError:
            # What it is compared with: the inputs that no rule gives.
            others = ", ".join(f"{other} {shapes[other]}" for other in shapes if other not in wanted)
            match = f" to match {others}" if others else ""
            return ShapeError(f"{name} must have shape {shape}{match}; got {have}", argument=name)
    return None
