"""The loss of sequences whose labels are not aligned with them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["ctc_loss"]


def ctc_loss(
    data: Tensor,
    label: Tensor,
    data_lengths: Tensor | None = None,
    label_lengths: Tensor | None = None,
    blank_label: str = "first",
) -> Tensor:
    """Return the CTC loss of each sequence of `data` (steps, batch, classes), with MXNet's padding.

    Labels end before the first 0 where the blank is the first class, else before the first
    -1. The loss is 0 where the labels do not fit, and not a number where one is no class.
    """
    steps, batch, classes = data.shape
    most = label.shape[1]
    index = label.long()
    if data_lengths is None:
        times = torch.full((batch,), steps, device=data.device)
    else:
        times = data_lengths.long().clamp(0, steps)
        beyond = torch.arange(steps, device=data.device).unsqueeze(1) >= times
        data = data.masked_fill(beyond.unsqueeze(2), 0)
    if label_lengths is None:
        padding = index == (0 if blank_label == "first" else -1)
        lengths = (padding.cumsum(1) == 0).sum(1)
    else:
        lengths = label_lengths.long().clamp(0, most)
    unused = torch.arange(most, device=index.device) >= lengths.unsqueeze(1)
    known = ((index >= 0) & (index < classes) | unused).all(1)
    wide = data.float() if data.dtype.itemsize == 2 else data
    loss = F.ctc_loss(
        wide.log_softmax(2),
        index.clamp(0, classes - 1),
        times,
        lengths,
        blank=0 if blank_label == "first" else classes - 1,
        reduction="none",
        zero_infinity=True,
    )
    return loss.to(data.dtype).masked_fill(~known, float("nan"))
