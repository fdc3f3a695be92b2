"""`mx.context`: the names of `rebind.device`, for which `context` was MXNet's word."""

from typing import TYPE_CHECKING

from ..absent import old_names
from ..device import (
    Context,
    Device,
    cpu,
    cpu_pinned,
    current_context,
    current_device,
    gpu,
    gpu_memory_info,
    num_gpus,
)

__all__ = [
    "Context", "Device", "cpu", "cpu_pinned", "current_context", "current_device", "gpu", "gpu_memory_info", "num_gpus",
]  # fmt: skip

if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
