"""What tensors say of their memory: versions, views, lazy copies."""

from __future__ import annotations

import itertools
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor

from .private import optional, private

__all__ = [
    "base_of", "disabled_torch_function", "is_zero_tensor", "make_wrapper", "may_be_view",
    "storage_key", "version_of",
]  # fmt: skip

_numbers = itertools.count()


def _counts(_: Any) -> bool:
    x = torch.zeros(1)
    before = x._version
    return x.add_(1)._version > before


@private(
    "torch.Tensor._version",
    "what was computed from weights holds until they are written, and nothing public says that they were",
    _counts,
    take=lambda _: attrgetter("_version"),
)
def version_of(tensor: Tensor) -> int:
    """Return how often a tensor was written; where that is unknown a new number each time, as if it just was."""
    return next(_numbers)


@private(
    "torch.Tensor._is_view",
    "a result that shares memory is copied, and comparing addresses takes longer than small operators",
    lambda is_view: is_view(torch.ones(2)[1:]) and not is_view(torch.ones(2)),
)
def may_be_view(tensor: Tensor) -> bool:
    """Whether a tensor is a view of another one, or may be."""
    return True


@private(
    "torch.Tensor._base",
    "a view of all of a result that nobody else has is not copied",
    take=lambda _: attrgetter("_base"),
)
def base_of(tensor: Tensor) -> Tensor | None:
    """Return the tensor that a view is of; None where that is unknown, or it is no view."""
    return None


@private("torch.Tensor._is_zerotensor", "PyTorch's name for a gradient of zeros without memory")
def is_zero_tensor(tensor: Tensor) -> bool:
    """Whether a tensor is PyTorch's zero without memory, which cannot be read or written."""
    return tensor.numel() > 0 and tensor.data_ptr() == 0


@private(
    "torch.UntypedStorage._cdata",
    "the address would make a lazy clone a copy",
    take=lambda _: attrgetter("_cdata"),
)
def storage_key(storage: torch.UntypedStorage) -> int:
    """Return a number that no other living storage has."""
    return storage.data_ptr()


@private(
    "torch.Tensor._make_wrapper_subclass",
    "a tensor that stands for a storage has no memory of its own",
)
def make_wrapper(
    cls: type[Tensor], size: Any, *, dtype: torch.dtype | None = None, device: torch.device | None = None
) -> Any:
    """Return a tensor of a subclass that has a shape, a type and a device."""
    return torch.empty(tuple(size), dtype=dtype, device=device).as_subclass(cls)


#: What `__torch_function__` is of a subclass that is notified of operators below autograd alone.
disabled_torch_function: Any = (
    optional("torch._C._disabled_torch_function_impl", "functions of a wrapper return what its dispatch does")
    or Tensor.__torch_function__
)
