"""First values from PyTorch modules (`sym.torch_module`)."""

from __future__ import annotations

from ..checks import refuses_unknown
from ..ndarray import NDArray
from ..symbol.torch_module import value_in_module
from .base import Initializer, register

__all__ = ["TorchValue"]


@register
class TorchValue(Initializer):
    """Fills a parameter with the value that it has in the PyTorch module of `sym.torch_module`.

    Parameters
    ----------
    module, path
        The module, and the tensor's name in it; `sym.torch_module` gives them to its variables.

    Examples
    --------
    >>> import torch, rebind as mx
    >>> layer = torch.nn.Linear(3, 1, bias=False)
    >>> net = mx.sym.torch_module(layer, mx.sym.var("data"), name="layer")
    >>> module = mx.mod.Module(net, label_names=None)
    >>> module.bind([("data", (2, 3))])
    >>> module.init_params()
    >>> bool((module.get_params()[0]["layer_weight"].asnumpy() == layer.weight.detach().numpy()).all())
    True
    """

    @refuses_unknown
    def __init__(self, module: str, path: str) -> None:
        super().__init__(module=module, path=path)
        self.module, self.path = module, path

    def _init_weight(self, name: str, arr: NDArray) -> None:
        value = value_in_module(self.module, self.path).detach()
        # Tensors without axes are arrays of shape (1,).
        arr[:] = NDArray(value.reshape(arr.shape).to(arr.tensor.device, arr.tensor.dtype))
