"""Initializers that draw random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ..checks import check_numbers, refuses_unknown
from ..errors import ParameterError, ShapeError
from ..generators import generator
from ..ndarray import NDArray
from ..observing import observed_array_call
from .base import Initializer, alias, register

__all__ = ["MSRAPrelu", "Normal", "Orthogonal", "Uniform", "Xavier"]


def _fill(arr: NDArray, draw: Callable[[Tensor, torch.Generator], Tensor]) -> None:
    """Fill an array with random numbers from its device's generator, which `mx.random.seed` seeds.

    Numbers for low precision are drawn in float32: 16-bit types have too few values near the bounds.
    """
    stored = arr.storage
    # Half precision has few numbers to draw from, and integers none: drawn in float32, then rounded.
    low = stored.dtype not in (torch.float32, torch.float64)
    numbers = torch.empty(stored.shape, dtype=torch.float32 if low else stored.dtype, device=stored.device)
    with torch.no_grad():  # the weight may be marked for gradients already
        arr.write_unrecorded(draw(numbers, generator(arr.context)))


def _uniform(scale: float) -> Callable[[Tensor, torch.Generator], Tensor]:
    @observed_array_call("_random_uniform")
    def draw(numbers: Tensor, random: torch.Generator) -> Tensor:
        return numbers.uniform_(-scale, scale, generator=random)

    return draw


def _normal(sigma: float) -> Callable[[Tensor, torch.Generator], Tensor]:
    @observed_array_call("_random_normal")
    def draw(numbers: Tensor, random: torch.Generator) -> Tensor:
        return numbers.normal_(0.0, sigma, generator=random)

    return draw


@register
class Uniform(Initializer):
    """Fills weights with uniform random numbers from ``-scale`` to ``scale``.

    Parameters
    ----------
    scale
        The largest absolute value.

    Examples
    --------
    >>> from rebind.ndarray import zeros
    >>> weight = zeros((20, 30))
    >>> Uniform(0.1)("fc_weight", weight)
    >>> float(abs(weight.asnumpy()).max()) <= 0.1
    True
    """

    @refuses_unknown
    def __init__(self, scale: float = 0.07) -> None:
        check_numbers(type(self).__name__, scale=scale)
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name: str, arr: NDArray) -> None:
        _fill(arr, _uniform(self.scale))


@alias("gaussian")
@register
class Normal(Initializer):
    """Fills weights with normally distributed numbers around 0.

    Parameters
    ----------
    sigma
        Standard deviation.

    Examples
    --------
    >>> from rebind.ndarray import zeros
    >>> weight = zeros((200, 300))
    >>> Normal(0.5)("fc_weight", weight)
    >>> round(float(weight.asnumpy().std()), 1)
    0.5
    """

    @refuses_unknown
    def __init__(self, sigma: float = 0.01) -> None:
        check_numbers(type(self).__name__, sigma=sigma)
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, name: str, arr: NDArray) -> None:
        _fill(arr, _normal(self.sigma))


@register
class Orthogonal(Initializer):
    """Fills weights with a random matrix whose rows, or columns if they are fewer, are orthogonal (Saxe et al., 2014).

    Parameters
    ----------
    scale
        The norm of each of them.
    rand_type
        ``'uniform'`` or ``'normal'``: the distribution that the matrix is made from.

    Examples
    --------
    >>> from rebind.ndarray import zeros
    >>> weight = zeros((2, 3))
    >>> Orthogonal(scale=2)("fc_weight", weight)
    >>> (weight.asnumpy() @ weight.asnumpy().T).round(3) + 0.0
    array([[4., 0.],
           [0., 4.]], dtype=float32)
    """

    @refuses_unknown
    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        check_numbers("Orthogonal", scale=scale)
        super().__init__(scale=scale, rand_type=rand_type)
        if rand_type not in ("uniform", "normal"):
            raise ParameterError(
                f"Orthogonal: rand_type must be one of 'uniform', 'normal'; got {rand_type!r}"
            )
        self.scale = scale
        self.rand_type = rand_type

    def _init_weight(self, name: str, arr: NDArray) -> None:
        draw = _uniform(1.0) if self.rand_type == "uniform" else _normal(1.0)

        def orthogonal(numbers: Tensor, random: torch.Generator) -> Tensor:
            matrix = draw(numbers, random).reshape(numbers.shape[0], -1)
            # The thin SVD: the factor with the shape of the matrix has orthonormal columns, or rows if they are fewer.
            left, _, right = torch.linalg.svd(matrix, full_matrices=False)
            factor = left if left.shape == matrix.shape else right
            return self.scale * factor.reshape(numbers.shape)

        _fill(arr, orthogonal)


@register
class Xavier(Initializer):
    """Fills weights so that signals keep their size from layer to layer (Glorot and Bengio, 2010).

    The scale is ``sqrt(magnitude / n)``, the bound of uniform numbers or the standard deviation of normal ones,
    where `n` is the number of inputs of a unit, of its outputs, or their mean.

    Parameters
    ----------
    rnd_type
        ``'uniform'`` or ``'gaussian'``.
    factor_type
        What `n` is: ``'in'``, ``'out'`` or ``'avg'``.
    magnitude
        See above.

    Examples
    --------
    >>> from rebind.ndarray import zeros
    >>> weight = zeros((20, 30))
    >>> Xavier(magnitude=1)("fc_weight", weight)
    >>> float(abs(weight.asnumpy()).max()) <= (1 / 25) ** 0.5
    True
    """

    @refuses_unknown
    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        check_numbers(type(self).__name__, magnitude=magnitude)
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        if rnd_type not in ("uniform", "gaussian"):
            raise ParameterError(
                f"{type(self).__name__}: rnd_type must be one of 'uniform', 'gaussian'; got {rnd_type!r}"
            )
        if factor_type not in ("in", "out", "avg"):
            raise ParameterError(
                f"{type(self).__name__}: factor_type must be one of 'in', 'out', 'avg'; got {factor_type!r}"
            )
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if arr.ndim < 2:
            raise ShapeError(
                f"{type(self).__name__}: {str(name)!r} must have at least 2 axes; got shape {arr.shape}. "
                "Give a vector another initializer, such as mx.init.Zero()."
            )
        # (outputs, inputs, *kernel), the layout of Convolution: so many inputs at each position of it.
        area = math.prod(arr.shape[2:])
        fan_in, fan_out = arr.shape[1] * area, arr.shape[0] * area
        n = {"in": fan_in, "out": fan_out, "avg": (fan_in + fan_out) / 2}[self.factor_type]
        scale = math.sqrt(self.magnitude / n)
        _fill(arr, _uniform(scale) if self.rnd_type == "uniform" else _normal(scale))


@register
class MSRAPrelu(Xavier):
    """`Xavier` for layers that end in ReLU or PReLU (He et al., 2015).

    Parameters
    ----------
    factor_type
        As for `Xavier`.
    slope
        The slope of PReLU on its negative side; 0 for ReLU.
    """

    @refuses_unknown
    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        check_numbers("MSRAPrelu", slope=slope)
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        # `dumps` must name this class's own settings, from which `create` makes it again.
        self._kwargs = {"factor_type": factor_type, "slope": slope}
