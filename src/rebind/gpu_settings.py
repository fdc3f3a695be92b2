"""MXNet's switches for how a GPU computes, as settings of PyTorch; what is not set leaves PyTorch's as they are."""

from __future__ import annotations

import torch

from . import config

__all__ = ["apply_gpu_settings", "rounds_to_tf32"]


def apply_gpu_settings() -> None:
    """Set what the environment says; called before the first use of a GPU.

    ================================================  =========================================================
    ``MXNET_CUDA_ALLOW_TENSOR_CORE=0``                nothing of float32 is rounded to TF32 (PyTorch: convolutions are)
    ``MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION=1``  products of float32 are, too (in MXNet: to float16)
    ``MXNET_CUDNN_AUTOTUNE_DEFAULT=1``                cuDNN times its ways to compute a convolution, for each shape
    ``MXNET_ENFORCE_DETERMINISM=1``                   cuDNN takes only ways whose results are the same each time
    ================================================  =========================================================

    >>> from rebind.test_utils import environment
    >>> before = torch.backends.cudnn.benchmark
    >>> with environment("MXNET_CUDNN_AUTOTUNE_DEFAULT", "1"):
    ...     apply_gpu_settings()
    >>> torch.backends.cudnn.benchmark
    True
    >>> torch.backends.cudnn.benchmark = before
    """
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    if config.get("MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION") == 1:
        matmul.allow_tf32 = cudnn.allow_tf32 = True
    if config.get("MXNET_CUDA_ALLOW_TENSOR_CORE") == 0:
        matmul.allow_tf32 = cudnn.allow_tf32 = False
    tunes = config.get("MXNET_CUDNN_AUTOTUNE_DEFAULT")
    if tunes >= 0:
        cudnn.benchmark = tunes > 0
    if config.get("MXNET_ENFORCE_DETERMINISM") == 1:
        # Ways that are timed may be others in each process.
        cudnn.deterministic, cudnn.benchmark = True, False


def rounds_to_tf32(device: torch.device) -> bool:
    """Return whether convolutions of float32 are rounded to TF32 on a GPU, for its tensor cores: from Ampere on.

    >>> rounds_to_tf32(torch.device("cpu"))
    False
    """
    if device.type != "cuda" or not torch.cuda.is_available():
        return False
    if torch.cuda.get_device_capability(device) < (8, 0):
        return False
    try:
        return bool(torch.backends.cudnn.allow_tf32)
    except RuntimeError:  # it was set by newer names, which this one does not know
        return True
