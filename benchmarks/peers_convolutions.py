"""The convolutions of a network in inference, and nothing else: how near an engine comes says what is left to win.

Each is one call of oneDNN through PyTorch, with its activation, with channels last, which is its quickest layout on two
cores, with filters that were packed before, in memory that is used again. Less time takes an engine that reaches oneDNN
otherwise, and need not describe each convolution again, or that has another algorithm.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .drivers import Setting

__all__ = ["ready"]


def ready(setting: Setting) -> Callable[[], Any]:
    """Import rebind, for what it sets of the process's memory, and PyTorch."""
    import rebind  # noqa: F401, I001  # before torch
    import torch
    from torch import nn

    from .peers_torch import TorchDriver

    class ConvolutionsDriver(TorchDriver):
        """The convolutions of a row, in their order, on random data."""

        def __init__(self) -> None:
            super().__init__(setting.row, channels_last=True)
            self._calls: list[Callable[[], torch.Tensor]] = []
            self._data: dict[torch.Size, torch.Tensor] = {}
            found = [each for each in self.model.modules() if isinstance(each, nn.Conv2d)]
            hooks = [each.register_forward_hook(self._note) for each in found]
            super().run(1)
            for hook in hooks:
                hook.remove()

        def _note(self, module: nn.Module, inputs: tuple[torch.Tensor], output: torch.Tensor) -> None:
            assert isinstance(module, nn.Conv2d)
            shape = inputs[0].shape
            if shape not in self._data:
                self._data[shape] = torch.rand(shape).contiguous(memory_format=torch.channels_last)
            sizes = (list(module.padding), list(module.stride), list(module.dilation), module.groups)
            pack: Any = torch.ops.mkldnn._reorder_convolution_weight  # PyTorch does not declare its type
            weight = pack(module.weight.detach().contiguous(), *sizes, list(shape))
            run: Any = torch.ops.mkldnn._convolution_pointwise
            bias = torch.zeros(module.out_channels)
            self._calls.append(
                functools.partial(run, self._data[shape], weight, bias, *sizes, "relu", [], "")
            )

        def run(self, steps: int) -> None:
            with torch.inference_mode():
                for _ in range(steps):
                    for call in self._calls:
                        call()

    return ConvolutionsDriver
