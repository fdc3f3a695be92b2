"""Means over the bins of rotated boxes."""

from __future__ import annotations

import torch
from torch import Tensor

from .loops import repeat_while

__all__ = ["rotated_roi_align"]


def rotated_roi_align(
    data: Tensor,
    rois: Tensor,
    pooled_size: tuple[int, int],
    spatial_scale: float,
    sampling_ratio: int = -1,
) -> Tensor:
    """Return means of `data` at points of the bins of boxes (image, x, y, width, height, angle).

    With a `sampling_ratio` of 0 or less a bin has as many points as pixels: how many that
    are depends on numbers, and `torch.jit.trace` does not take it.
    """
    images, channels, height, width = data.shape
    rows, columns = pooled_size
    rois = rois.detach().to(torch.promote_types(rois.dtype, torch.float32))
    image, box = rois[:, 0], rois[:, 1:]
    inside = (image > -1) & (image < images) & (box.abs() < 1 << 30).all(1)
    box = torch.where(inside.unsqueeze(1), box, 0)
    image = torch.where(inside, image, 0).long().view(-1, 1, 1)
    # Arrays of their own from here on: `torch.while_loop` takes no views of one array.
    x, y, wide, high, angle = (part.view(-1, 1, 1) for part in box.unbind(1))
    center_x, center_y = x * spatial_scale, y * spatial_scale
    wide, high = (
        (wide * spatial_scale).clamp(min=1),
        (high * spatial_scale).clamp(min=1),
    )
    bin_wide, bin_high = wide / columns, high / rows
    if sampling_ratio > 0:
        across, down = (torch.full_like(size, sampling_ratio) for size in (wide, high))
    else:
        across, down = bin_wide.ceil(), bin_high.ceil()
    cosine, sine = torch.deg2rad(angle).cos(), torch.deg2rad(angle).sin()
    column = torch.arange(columns, device=data.device)
    row = torch.arange(rows, device=data.device).unsqueeze(1)
    pixels = data.permute(0, 2, 3, 1).flatten(0, 2)

    def at(y: Tensor, x: Tensor, weight: Tensor) -> Tensor:
        index = (image * height + y.long()) * width + x.long()
        return pixels[index] * weight.to(data.dtype).unsqueeze(-1)

    def step(number: Tensor, total: Tensor) -> tuple[Tensor, Tensor]:
        i, j = (number / across).floor(), number % across
        y = row * bin_high + (i + 0.5) * bin_high / down - high / 2
        x = column * bin_wide + (j + 0.5) * bin_wide / across - wide / 2
        # Counter-clockwise as one sees it: y points down.
        y, x = y * cosine - x * sine + center_y, x * cosine + y * sine + center_x
        counts = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
        counts = counts & (number < across * down)
        y, x = y.clamp(0, height - 1), x.clamp(0, width - 1)
        y0, x0 = y.floor(), x.floor()
        y1, x1 = (y0 + 1).clamp(max=height - 1), (x0 + 1).clamp(max=width - 1)
        share = torch.where(counts, 1 / (across * down), 0)
        upper, left_share = share * (1 - y + y0), 1 - x + x0
        lower, right_share = share * (y - y0), x - x0
        value = at(y0, x0, upper * left_share) + at(y0, x1, upper * right_share)
        value = value + at(y1, x0, lower * left_share) + at(y1, x1, lower * right_share)
        return number + 1, total + value

    def go_on(number: Tensor, total: Tensor) -> Tensor:
        return (number < across * down).any()

    total = data.new_zeros(rois.shape[0], rows, columns, channels)
    number = torch.zeros((), dtype=across.dtype, device=data.device)
    state: tuple[Tensor, ...] = (number, total)
    if sampling_ratio > 0:
        for _ in range(sampling_ratio * sampling_ratio):
            state = step(*state)
    else:
        state = repeat_while(go_on, step, state)
    means = state[1].permute(0, 3, 1, 2)
    return torch.where(inside.view(-1, 1, 1, 1), means, 0)
