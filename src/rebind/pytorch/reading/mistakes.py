"""What is wrong with a call of `from_torch`, in sentences: its example inputs, and modules that cannot be exported."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from ...errors import ArgumentError, MXNetError, shown
from ...ndarray import NDArray

__all__ = ["check_example", "check_modes", "check_module", "explained"]

_INSTANCE_NORMS = (nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d)
_BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def check_module(given: object) -> None:
    """Raise an error for what is no module that can be exported, with how to give what is near one.

    >>> check_module("net.pt")
    Traceback (most recent call last):
    rebind.errors.MXNetError: from_torch: must be a torch.nn.Module or an ExportedProgram; got 'net.pt'. Load it: ...
    """
    who = "from_torch: must be a torch.nn.Module or an ExportedProgram; got"
    if isinstance(given, Mapping):
        raise MXNetError(f"{who} a dict. Load its weights into a module: module.load_state_dict(weights).")
    if isinstance(given, (str, os.PathLike)):
        raise MXNetError(
            f"{who} {shown(given)}. Load it: torch.load(path, weights_only=False), or torch.export.load."
        )
    if isinstance(given, type):
        raise MXNetError(f"{who} the class {given.__name__}. Call it: {given.__name__}(...).")
    if isinstance(given, torch.jit.ScriptModule):
        raise MXNetError(f"{who} a ScriptModule. Give the module that it was made from.")
    if not isinstance(given, nn.Module):
        raise MXNetError(f"{who} {shown(given)}")


def check_example(module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise an error for arguments that the module does not take, and for arrays that are not PyTorch's.

    >>> check_example(nn.Linear(3, 4), [np.ones((2, 3))], {})
    Traceback (most recent call last):
    rebind.errors.ArgumentError: from_torch: example_inputs must be tensors; got an array of NumPy. Give ...
    """
    for value in _leaves([args, kwargs]):
        if isinstance(value, (np.ndarray, np.generic)):
            raise ArgumentError(
                "from_torch: example_inputs must be tensors; got an array of NumPy. Give torch.tensor(x), with the "
                "type of the module's weights: torch.tensor(x, dtype=torch.float32)."
            )
        if isinstance(value, NDArray):
            raise ArgumentError(
                "from_torch: example_inputs must be tensors; got an NDArray. Give torch.tensor(x.asnumpy())."
            )
    takes = inspect.signature(module.forward)
    try:
        takes.bind(*args, **kwargs)
    except TypeError as error:
        given = [*map(_named, args), *(f"{name}={_named(value)}" for name, value in kwargs.items())]
        raise ArgumentError(
            f"from_torch: example_inputs must be the arguments of {type(module).__name__}.forward{takes}; got "
            f"({', '.join(given)}): {error}"
        ) from None


def _named(value: Any) -> str:
    return f"Tensor {tuple(value.shape)}" if isinstance(value, Tensor) else shown(value)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


def check_modes(module: nn.Module) -> None:
    """Raise an error for a layer in training mode with running statistics of a kind that MXNet does not have.

    >>> check_modes(nn.Sequential(nn.InstanceNorm2d(3, track_running_stats=True)))
    Traceback (most recent call last):
    rebind.errors.MXNetError: from_torch: '0' (InstanceNorm2d) must be in evaluation mode, ... module.eval() before.
    """
    for path, each in module.named_modules():
        has_other = isinstance(each, _INSTANCE_NORMS) or (
            isinstance(each, _BATCH_NORMS) and each.momentum is None
        )
        if has_other and each.training and each.track_running_stats:
            name = f"{path!r} ({type(each).__name__})" if path else type(each).__name__
            raise MXNetError(
                f"from_torch: {name} must be in evaluation mode, since MXNet has no operator that "
                "updates its running statistics; got training mode. Call module.eval() before."
            )


@contextmanager
def explained(module: nn.Module) -> Iterator[None]:
    """Name the line of a module that asks for numbers which are known only when the network runs.

    Raises
    ------
    MXNetError
        Instead of PyTorch's error, which is its cause.
    """
    try:
        yield
    except GuardOnDataDependentSymNode as error:
        line = re.search(r'File "(.*)", line (\d+), in .*\n\s*(.*)', str(error))
        at = f" ({line[1]}, line {line[2]}: {line[3]})" if line else ""
        raise MXNetError(
            f"from_torch: {type(module).__name__}.forward must run the same operations for all data; this depends on "
            f"their values{at}. Write torch.where(condition, a, b) for a branch; leave out int(), float() and "
            "item() of tensors."
        ) from error
