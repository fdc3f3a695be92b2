"""What oneDNN, if it is there, can compute."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["onednn_computes", "onednn_has"]


def onednn_has(functions: Any, name: str) -> bool:
    """Whether oneDNN is here and is not switched off, and PyTorch has a function of it.

    >>> onednn_has(torch.ops.mkldnn, "no_such_function")
    False
    """
    backend = torch.backends.mkldnn
    return bool(backend.is_available() and backend.enabled and hasattr(functions, name))


def onednn_computes(dtype: torch.dtype | None) -> bool:
    """Whether oneDNN computes in a type here: in bfloat16 some processors cannot.

    >>> onednn_computes(torch.float32), onednn_computes(torch.float64)
    (True, False)
    """
    if dtype is torch.bfloat16:
        supported: Any = torch.ops.mkldnn._is_mkldnn_bf16_supported
        return bool(supported())
    return dtype is torch.float32
