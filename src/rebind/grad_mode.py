"""Switching torch's recording of gradients, and its inference mode, for code that does so at each call."""

from __future__ import annotations

import torch

from ._torch.autograd import inference_mode, set_grad_enabled

__all__ = ["grad_mode", "inference_mode", "is_grad_enabled", "is_recorded", "set_grad_enabled"]

is_grad_enabled = torch.is_grad_enabled


def is_recorded(*tensors: torch.Tensor | None) -> bool:
    """Return whether torch records what is computed of tensors: for functions with a quicker form for when it does not.

    Imperative calls leave gradients switched on where no input has one.

    >>> x = torch.ones(1, requires_grad=True)
    >>> is_recorded(x), is_recorded(x.detach(), None)
    (True, False)
    """
    return is_grad_enabled() and any([tensor is not None and tensor.requires_grad for tensor in tensors])


class grad_mode:
    """Record gradients in the ``with`` block, or do not: `torch.set_grad_enabled` at a third of its cost.

    >>> with grad_mode(False):
    ...     torch.is_grad_enabled()
    False
    """

    __slots__ = ("_before", "_enabled")

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled

    def __enter__(self) -> None:
        self._before = is_grad_enabled()
        if self._before is not self._enabled:
            set_grad_enabled(self._enabled)

    def __exit__(self, *_: object) -> None:
        if self._before is not self._enabled:
            set_grad_enabled(self._before)
