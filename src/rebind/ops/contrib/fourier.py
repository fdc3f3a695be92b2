"""Fourier transforms over the last axis."""

from __future__ import annotations

import torch
from torch import Tensor

from ...errors import DTypeError, ShapeError
from .._signatures import with_interface_of
from ..declaration import operator

__all__ = ["fft", "ifft"]


def _check_signal(data: Tensor) -> None:
    if not data.ndim:
        raise ShapeError("data must have 1 axis or more; got shape ()")
    if data.dtype not in (torch.float32, torch.float64):
        raise DTypeError(f"data must be float32 or float64; got {str(data.dtype).removeprefix('torch.')}")


@operator("_contrib_fft")
def fft(data: Tensor, *, compute_size: int = 128) -> Tensor:
    """Fourier transform over the last axis: real and imaginary part of each frequency beside each other.

    It runs on every device; MXNet's needs a GPU.

    Parameters
    ----------
    compute_size
        Has no effect: in MXNet, how many transforms are computed at once.

    Shapes
    ------
    data : (..., D)
    out : (..., 2 * D)

    >>> fft(torch.tensor([1.0, 0.0]))
    tensor([1., 0., 1., 0.])
    """
    _check_signal(data)
    # MXNet has no complex types: (..., D, 2) flattened.
    return torch.view_as_real(torch.fft.fft(data)).flatten(-2)


@operator("_contrib_ifft")
@with_interface_of(fft.kernels.function)
def ifft(data: Tensor, **without_effect: int) -> Tensor:
    """Real part of the inverse Fourier transform over the last axis, not divided by the number of frequencies.

    It runs on every device; MXNet's needs a GPU.

    Shapes
    ------
    data : (..., 2 * D)     real and imaginary part of each frequency beside each other
    out : (..., D)

    >>> ifft(fft(torch.tensor([1.0, 2.0]))) / 2
    tensor([1., 2.])
    """
    _check_signal(data)
    if data.shape[-1] % 2:
        raise ShapeError(
            "the last axis of data must have an even size, real and imaginary parts in turn; "
            f"got shape {tuple(data.shape)}"
        )
    pairs = torch.view_as_complex(data.unflatten(-1, (-1, 2)).contiguous())
    # "forward" leaves out the division by D, as cuFFT does, on which MXNet's operator is built.
    return torch.fft.ifft(pairs, norm="forward").real
