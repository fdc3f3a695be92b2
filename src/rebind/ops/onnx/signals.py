"""Fourier transforms; the last axis holds one number, or a real and an imaginary part."""

from __future__ import annotations

import torch
from torch import Tensor

from ..declaration import operator

__all__ = ["dft", "stft"]


def _complex(data: Tensor) -> Tensor:
    if data.shape[-1] == 2:
        return torch.view_as_complex(data.contiguous())
    return torch.complex(data[..., 0], torch.zeros_like(data[..., 0]))


@operator("_onnx_dft")
def dft(
    data: Tensor, *, axis: int, length: int | None = None, inverse: bool = False, onesided: bool = False
) -> Tensor:
    """The discrete Fourier transform along an axis, or its inverse.

    Parameters
    ----------
    length
        Data is cut or filled up with zeros to this length.
    onesided
        Give the first half, from which the other follows; of an inverse, take it and give real numbers.

    >>> dft(torch.ones(1, 4, 1), axis=1)[0, :, 0]
    tensor([4., 0., 0., 0.])
    """
    signal = _complex(data)
    if inverse and onesided:
        return torch.fft.irfft(signal, length, axis).unsqueeze(-1)
    found = (torch.fft.ifft if inverse else torch.fft.fft)(signal, length, axis)
    if onesided:
        found = found.narrow(axis, 0, found.shape[axis] // 2 + 1)
    return torch.view_as_real(found)


@operator("_onnx_stft")
def stft(data: Tensor, window: Tensor, *, step: int, length: int, onesided: bool = True) -> Tensor:
    """Fourier transforms of parts of a signal that begin `step` after each other, each times `window`.

    Shapes
    ------
    data : (N, T, 1) or (N, T, 2)
    window : (length,)
    out : (N, parts, bins, 2)

    >>> stft(torch.ones(1, 8, 1), torch.ones(4), step=2, length=4).shape
    torch.Size([1, 3, 3, 2])
    """
    parts = _complex(data).unfold(1, length, step) * window
    found = torch.fft.fft(parts)
    return torch.view_as_real(found[..., : length // 2 + 1] if onesided else found)
