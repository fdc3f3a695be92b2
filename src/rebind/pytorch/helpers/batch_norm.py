"""Batch normalization with MXNet's moving variance."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["BatchNorm", "batch_norm_statistics"]


class BatchNorm(nn.BatchNorm2d):
    """Batch normalization that moves the biased variance, as MXNet does; for any number of axes."""

    def forward(self, input: Tensor) -> Tensor:
        """Normalize by the batch in training, else by the moving mean and variance."""
        mean, var = self.running_mean, self.running_var
        assert mean is not None and var is not None and self.momentum is not None
        if not self.training or self.momentum == 0:
            return F.batch_norm(input, mean, var, self.weight, self.bias, eps=self.eps)
        x, batch_mean, inverse = torch.native_batch_norm(
            input, self.weight, self.bias, None, None, True, 0.0, self.eps
        )
        with torch.no_grad():
            mean.lerp_(batch_mean, self.momentum)
            var.lerp_(inverse.pow(-2) - self.eps, self.momentum)
        return x


def batch_norm_statistics(
    input: Tensor, layer: BatchNorm, inverse: bool = True
) -> tuple[Tensor, Tensor]:
    """Return the means that a layer normalizes by, and the inverse standard deviations or variances."""
    mean, var = layer.running_mean, layer.running_var
    assert mean is not None and var is not None
    if layer.training and layer.momentum != 0:
        axes = [axis for axis in range(input.dim()) if axis != 1]
        x = input.detach().to(mean.dtype)
        var, mean = torch.var_mean(x, axes, correction=0)
    else:
        mean, var = mean.clone(), var.clone()
    return mean, (var + layer.eps).rsqrt() if inverse else var
