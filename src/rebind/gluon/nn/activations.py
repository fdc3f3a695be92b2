"""Activations as blocks."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ... import initializer
from ...errors import ParameterError
from ..hybrid_block import HybridBlock
from ..parameter_dict import ParameterDict

__all__ = ["ELU", "GELU", "SELU", "Activation", "LeakyReLU", "PReLU", "Swish"]


class Activation(HybridBlock):
    """The operator `Activation`.

    >>> Activation("relu", prefix="relu_")
    Activation(relu)
    """

    def __init__(
        self, activation: str, prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        self._act_type = activation  # before the base asks for the prefix, which it begins
        super().__init__(prefix, params)

    def _alias(self) -> str:
        return self._act_type

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._act_type})"

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the activation of its input."""
        return F.Activation(*args, act_type=self._act_type, name="fwd")


class LeakyReLU(HybridBlock):
    """x where it is positive, ``alpha * x`` elsewhere."""

    def __init__(self, alpha: float, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        if alpha < 0:
            raise ParameterError(f"LeakyReLU: alpha must be 0 or more; got {alpha}")
        super().__init__(prefix, params)
        self._alpha = alpha

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._alpha})"

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the leaky input."""
        return F.LeakyReLU(*args, act_type="leaky", slope=self._alpha, name="fwd")


class PReLU(HybridBlock):
    """`LeakyReLU` whose slopes are trained."""

    def __init__(
        self,
        alpha_initializer: str | initializer.Initializer | None = None,
        in_channels: int = 1,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix, params)
        with self.name_scope():
            init = initializer.Constant(0.25) if alpha_initializer is None else alpha_initializer
            self.alpha = self.params.get("alpha", shape=(in_channels,), init=init)

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the leaky input."""
        return F.LeakyReLU(*args, gamma=params["alpha"], act_type="prelu", name="fwd")


class ELU(HybridBlock):
    """x where it is positive, ``alpha * (exp(x) - 1)`` elsewhere."""

    def __init__(
        self, alpha: float = 1.0, prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        super().__init__(prefix, params)
        self._alpha = alpha

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the activation of its input."""
        return F.LeakyReLU(*args, act_type="elu", slope=self._alpha)


class SELU(HybridBlock):
    """The scaled exponential linear unit of self-normalizing networks."""

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the activation of its input."""
        return F.LeakyReLU(*args, act_type="selu", name="fwd")


class GELU(HybridBlock):
    """The Gaussian error linear unit."""

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the activation of its input."""
        return F.LeakyReLU(*args, act_type="gelu", name="fwd")


class Swish(HybridBlock):
    """``x * sigmoid(beta * x)``."""

    def __init__(
        self, beta: float = 1.0, prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        super().__init__(prefix, params)
        self._beta = beta

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the activation of its input."""
        (x,) = args
        return x * F.sigmoid(self._beta * x, name="fwd")
