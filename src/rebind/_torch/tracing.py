"""Tensors without numbers, in which some sizes are free, for tracing functions."""

from __future__ import annotations

from typing import Any

from .private import optional

__all__ = ["fake_tensor_mode"]

#: None where PyTorch's documented functions alone are used.
fake_tensor_mode: Any = optional(
    "torch._subclasses.fake_tensor.FakeTensorMode", "make_fx alone leaves all sizes free, or none"
)
