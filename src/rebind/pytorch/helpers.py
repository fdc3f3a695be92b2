"""Classes that a written file needs besides PyTorch's, by name: where MXNet's layers differ."""

from __future__ import annotations

__all__ = ["HELPERS"]

#: The text of each.
HELPERS = {
    "BatchNorm": '''\
class BatchNorm(nn.BatchNorm2d):
    """Batch normalization that moves the biased variance, as MXNet does; for any number of axes."""

    def forward(self, input: Tensor) -> Tensor:
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
''',
}
