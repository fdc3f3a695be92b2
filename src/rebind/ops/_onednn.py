"""Whether oneDNN is there."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["onednn_has"]


def onednn_has(functions: Any, name: str) -> bool:
    """Whether oneDNN is here and is not switched off, and PyTorch has a function of it.

    >>> onednn_has(torch.ops.mkldnn, "no_such_function")
    False
    """
    backend = torch.backends.mkldnn
    return bool(backend.is_available() and backend.enabled and hasattr(functions, name))
