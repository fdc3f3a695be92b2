"""PyTorch's networks under `torch.compile`, as a user switches it on."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .drivers import Setting
from .networks import Row
from .peers_torch import TorchDriver

# Inductor moves convolutions to channels_last by itself. In torch 2.13.0 the gradient of LeNet's pooling is then zero
# (`--check` finds it; given channels_last from the start, and without that step, it is right).
IN_THEIR_LAYOUT = ("lenet",)


def ready(
    setting: Setting,
    channels_last: bool = False,
    freezing: bool = False,
    bfloat16: bool = False,
    mode: str | None = None,
) -> Callable[[], CompiledDriver]:
    """`torch.compile` in its default mode, or another; frozen weights are an option of inductor for inference."""
    import torch._inductor.config as inductor

    inductor.freezing = freezing
    if setting.row.name in IN_THEIR_LAYOUT and not channels_last:
        inductor.layout_optimization = False
    return lambda: CompiledDriver(setting.row, channels_last, setting.device, bfloat16, mode)


class Loss(nn.Module):
    """A network and its loss, which are compiled together."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, data: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.model(data)
        return scores, F.cross_entropy(scores, label)


class CompiledDriver(TorchDriver):
    """Forward and backward are compiled, with the loss; the optimizer is PyTorch's own, as it comes."""

    def __init__(
        self,
        row: Row,
        channels_last: bool = False,
        device: str = "cpu",
        bfloat16: bool = False,
        mode: str | None = None,
    ) -> None:
        super().__init__(row, channels_last, device, bfloat16)
        self._compiled = torch.compile(Loss(self.model) if row.training else self.model, mode=mode)

    def _train(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        with self._autocast:
            self._scores, loss = self._compiled(self.data, self._label)
        loss.backward()
        self.optimizer.step()

    def _infer(self) -> None:
        with torch.inference_mode(), self._autocast:
            self._scores = self._compiled(self.data)
