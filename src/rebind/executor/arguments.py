"""What an executor is given: arrays by name, and what is to be done with the gradient of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import Tensor

from ..errors import ArgumentError, ParameterError
from ..ndarray import NDArray
from ..shapes import Shape, size

__all__ = ["GRAD_REQS", "Arrays", "Slot", "arrays_by_name", "in_shape", "read_grad_req"]

Arrays: TypeAlias = "Mapping[str, NDArray] | Sequence[NDArray | None] | None"
GRAD_REQS = ("write", "add", "null")


def read_grad_req(grad_req: Any, names: Sequence[str]) -> dict[str, str]:
    """Return the request for each argument from one word, a list, or a dict (absent names: ``'null'``)."""
    if isinstance(grad_req, str):
        requests = dict.fromkeys(names, grad_req)
    elif isinstance(grad_req, Mapping):
        requests = {name: grad_req.get(name, "null") for name in names}
    elif isinstance(grad_req, (list, tuple)):
        if len(grad_req) != len(names):
            raise ParameterError(
                f"grad_req: a list must hold one word for each of {list(names)}; got {list(grad_req)}"
            )
        requests = dict(zip(names, grad_req, strict=True))
    else:
        raise ArgumentError(f"grad_req: must be a word, a list or a dict; got {grad_req!r}")
    for name, word in requests.items():
        if word not in GRAD_REQS:
            raise ParameterError(
                f"grad_req: must be one of 'write', 'add', 'null'; got {word!r} for {name!r}"
            )
    return requests


@dataclass
class Slot:
    """An argument: its array, and the tensor that stands for it where a gradient is wanted."""

    array: NDArray | None
    request: str = "null"
    grad: NDArray | None = None  # where the gradient goes; None when none is wanted
    bound_grad: NDArray | None = None  # what was bound for it, wanted or not
    leaf: Tensor | None = None
    source: Tensor | None = field(default=None, repr=False)  # the tensor that `leaf` is an alias of
    nothing: Tensor | None = field(default=None, repr=False)  # in the gradient's place during backward

    def tensor(self) -> Tensor:
        """Return the tensor to run on."""
        assert self.array is not None
        current = self.array._tensor
        if self.grad is None:
            return current
        if current is not self.source:
            # `.data` has a version counter of its own: as in MXNet, backward reads what is in memory then.
            self.leaf, self.source = current.data.requires_grad_(), current
        assert self.leaf is not None
        return self.leaf

    def prepare_gradient(self) -> None:
        """Get ready for `backward`: an old gradient that will be replaced gives its memory to the new ones."""
        assert self.leaf is not None and self.grad is not None
        if self.request == "add":
            self.leaf.grad = self.grad._plain()
            return
        self.leaf.grad = None
        if not self.grad._viewed:
            if self.nothing is None:
                old = self.grad._tensor
                self.nothing = torch.zeros((), dtype=old.dtype, device=old.device).expand(old.shape)
            self.grad._tensor = self.nothing

    def take_gradient(self) -> None:
        """Show what `backward` computed, or zeros where it did not come by."""
        assert self.leaf is not None and self.grad is not None
        found, self.leaf.grad = self.leaf.grad, None
        if self.request == "add":
            if found is not None and found is not self.grad._tensor:
                self.grad._write(found)
        elif found is not None:
            self.grad._exchange(found)
        elif self.grad._tensor is self.nothing:
            self.grad._tensor = torch.zeros_like(self.nothing, memory_format=torch.contiguous_format)
        else:
            self.grad._plain().zero_()


def in_shape(old: NDArray, shape: Shape) -> NDArray:
    """Return `old` itself if it has the shape, its memory in that shape if it is large enough, else zeros."""
    if old.shape == shape:
        return old
    wanted = size(shape)
    if wanted <= old.size:
        return old._alias(old._tensor.reshape(-1)[:wanted].reshape(shape))
    return NDArray(torch.zeros(shape, dtype=old._tensor.dtype, device=old._tensor.device), old.device)


def arrays_by_name(who: str, arrays: Arrays, names: Sequence[str]) -> dict[str, NDArray]:
    """Return arrays by name from a list in the order of `names` or a dict; extra names are left out."""
    if arrays is None:
        return {}
    if isinstance(arrays, Mapping):
        found = {name: value for name, value in arrays.items() if name in names and value is not None}
    elif isinstance(arrays, (list, tuple)):
        if len(arrays) != len(names):
            raise ParameterError(
                f"{who}: a list must hold {len(names)} arrays, for {list(names)}; got {len(arrays)}"
            )
        found = {}
        for name, value in zip(names, arrays, strict=True):
            if value is not None and found.setdefault(name, value) is not value:
                raise ParameterError(
                    f"{who}: two arguments are called {name!r}, and so are one; got two arrays for it"
                )
    else:
        raise ArgumentError(f"{who}: must be a list or a dict of NDArrays; got {type(arrays).__name__}")
    for name, value in found.items():
        if not isinstance(value, NDArray):
            raise ArgumentError(f"{who}: {name!r} must be an NDArray; got {value!r}")
    return found
