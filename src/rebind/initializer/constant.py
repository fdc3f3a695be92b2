"""Initializers without randomness."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..checks import check_numbers, refuses_unknown
from ..ndarray import NDArray
from .base import Initializer, alias, register

__all__ = ["Bilinear", "Constant", "LSTMBias", "One", "Zero"]


@alias("zeros")
@register
class Zero(Initializer):
    """Fills weights with 0.

    >>> from rebind.ndarray import ones
    >>> weight = ones(2)
    >>> Zero()("fc_weight", weight)
    >>> weight.asnumpy().tolist()
    [0.0, 0.0]
    """

    @refuses_unknown
    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = 0.0


@alias("ones")
@register
class One(Initializer):
    """Fills weights with 1.

    >>> from rebind.ndarray import zeros
    >>> weight = zeros(2)
    >>> One()("fc_weight", weight)
    >>> weight.asnumpy().tolist()
    [1.0, 1.0]
    """

    @refuses_unknown
    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = 1.0


@register
class Constant(Initializer):
    """Fills weights with a value.

    Parameters
    ----------
    value
        A number, or an array that broadcasts.

    Examples
    --------
    >>> from rebind.ndarray import zeros
    >>> weight = zeros((1, 2))
    >>> Constant([2, 3])("fc_weight", weight)
    >>> weight.asnumpy().tolist()
    [[2.0, 3.0]]
    """

    @refuses_unknown
    def __init__(self, value: float | Sequence[float] | np.ndarray | NDArray) -> None:
        check_numbers("Constant", value=value)
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, name: str, arr: NDArray) -> None:
        # A list, as JSON has an array.
        arr[:] = np.asarray(self.value) if isinstance(self.value, (list, tuple)) else self.value


@register
class Bilinear(Initializer):
    """Fills the weights of a Deconvolution so that it upsamples bilinearly.

    >>> from rebind.ndarray import zeros
    >>> weight = zeros((1, 1, 1, 4))
    >>> Bilinear()("up_weight", weight)
    >>> weight[0, 0].asnumpy()
    array([[0.0625, 0.1875, 0.1875, 0.0625]], dtype=float32)
    """

    @refuses_unknown
    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        self._init_bilinear(name, arr)


@register
class LSTMBias(Initializer):
    """Fills the bias of an LSTM with 0, and that of its forget gate with a value.

    Parameters
    ----------
    forget_bias
        The value; with 1 a cell remembers at first (Jozefowicz, Zaremba and Sutskever, 2015).

    Examples
    --------
    >>> from rebind.ndarray import zeros
    >>> bias = zeros(4)  # of the gates input, forget, cell and output
    >>> LSTMBias()("lstm_weight", bias)
    >>> bias.asnumpy().tolist()
    [0.0, 1.0, 0.0, 0.0]
    """

    @refuses_unknown
    def __init__(self, forget_bias: float = 1.0) -> None:
        check_numbers("LSTMBias", forget_bias=forget_bias)
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        hidden = arr.shape[0] // 4  # the gates are in the order input, forget, cell, output
        value = np.zeros(arr.shape)
        value[hidden : 2 * hidden] = self.forget_bias
        arr[:] = value
