"""`mx.context`: the names of `rebind.device`, for which `context` was MXNet's word."""

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
