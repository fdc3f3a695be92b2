"""Augmenters of types and colours. Pictures are of a floating type, with values up to 255 unless said otherwise."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from ..checks import NUMBER, Kind, check_kind, or_none
from ..dtypes import DTypeLike, torch_dtype
from ..errors import ParameterError
from ..ndarray import NDArray, array
from .augmenter import PictureAugmenter, RandomOrderAug
from .pictures import check_floating, picture_of

__all__ = [
    "BrightnessJitterAug", "CastAug", "ColorJitterAug", "ColorNormalizeAug", "ContrastJitterAug", "HueJitterAug",
    "LightingAug", "RandomGrayAug", "SaturationJitterAug", "color_normalize",
]  # fmt: skip

# How much red, green and blue count for the brightness that people see.
_GREY = (0.299, 0.587, 0.114)


def _mixed(picture: Tensor, matrix: Tensor) -> Tensor:
    """Return a picture whose channels are sums of the old ones, ``picture @ matrix``."""
    channels = picture.permute(2, 0, 1)
    mixed = matrix.to(picture).T @ channels.flatten(1)
    return mixed.unflatten(1, channels.shape[1:]).permute(1, 2, 0)


def color_normalize(
    src: NDArray, mean: NDArray | float | None, std: NDArray | float | None = None
) -> NDArray:
    """Subtract a mean from a picture, and divide it by a standard deviation, in its own memory; return it.

    Parameters
    ----------
    src
        The picture, of a floating type.
    mean, std
        What is subtracted, and what it is divided by: a number, or an array for the channels; None for nothing.

    Examples
    --------
    >>> import rebind as mx
    >>> picture = mx.nd.array([[[5, 7]]])
    >>> (
    ...     color_normalize(picture, mx.nd.array([1, 2]), mx.nd.array([2, 5])) is picture,
    ...     picture.asnumpy().tolist(),
    ... )
    (True, [[[2.0, 1.0]]])
    """
    picture = picture_of(src, "color_normalize", dimensions=None)
    check_floating(picture, "color_normalize")
    _normalize(picture, *(each.tensor if isinstance(each, NDArray) else each for each in (mean, std)))
    return src


def _normalize(picture: Tensor, mean: Tensor | float | None, std: Tensor | float | None) -> None:
    if mean is not None:
        picture.sub_(mean.to(picture) if isinstance(mean, Tensor) else mean)
    if std is not None:
        picture.div_(std.to(picture) if isinstance(std, Tensor) else std)


class _ColourAug(PictureAugmenter):
    """An augmenter that computes with the colours of a picture of a floating type."""

    by_channel = True

    def apply(self, picture: Tensor) -> Tensor:
        check_floating(picture, type(self).__name__)
        return self.change(picture)

    def change(self, picture: Tensor) -> Tensor:
        """Return the picture in other colours; it may be written in."""
        raise NotImplementedError(f"{type(self).__name__} must define change(picture)")


class BrightnessJitterAug(_ColourAug):
    """Multiplies a picture by a number that ``random`` draws, from 1 - `brightness` to 1 + `brightness`.

    The array itself is changed, and returned.

    Parameters
    ----------
    brightness
        How far from 1 the factor may be.

    Examples
    --------
    >>> import rebind as mx
    >>> 0.7 <= BrightnessJitterAug(0.3)(mx.nd.ones((1, 1, 3))).asnumpy().item(0) <= 1.3
    True
    """

    def __init__(self, brightness: float) -> None:
        check_kind(type(self).__name__, NUMBER, brightness=brightness)
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def change(self, picture: Tensor) -> Tensor:
        """Return the picture in another brightness."""
        return picture.mul_(1.0 + random.uniform(-self.brightness, self.brightness))


class ContrastJitterAug(_ColourAug):
    """Moves a picture away from its mean grey, or towards it, by a factor that ``random`` draws.

    The array itself is changed, and returned.

    Parameters
    ----------
    contrast
        How far from 1 the factor may be.

    Examples
    --------
    >>> import rebind as mx
    >>> ContrastJitterAug(0.3)(mx.nd.ones((2, 2, 3))).asnumpy().round(4).item(0)
    1.0
    """

    def __init__(self, contrast: float) -> None:
        check_kind(type(self).__name__, NUMBER, contrast=contrast)
        super().__init__(contrast=contrast)
        self.contrast = contrast
        self.coef = array([[_GREY]])

    def change(self, picture: Tensor) -> Tensor:
        """Return the picture in another contrast."""
        factor = 1.0 + random.uniform(-self.contrast, self.contrast)
        grey = (picture.mean((0, 1)) * self.coef.tensor.flatten().to(picture)).sum()
        return picture.mul_(factor).add_((1.0 - factor) * grey)


class SaturationJitterAug(_ColourAug):
    """Moves the pixels of a picture away from their own grey, or towards it, by a factor that ``random`` draws.

    The array itself is changed, and returned.

    Parameters
    ----------
    saturation
        How far from 1 the factor may be.

    Examples
    --------
    >>> import rebind as mx
    >>> SaturationJitterAug(0.3)(mx.nd.ones((2, 2, 3))).asnumpy().round(4).item(0)
    1.0
    """

    def __init__(self, saturation: float) -> None:
        check_kind(type(self).__name__, NUMBER, saturation=saturation)
        super().__init__(saturation=saturation)
        self.saturation = saturation
        self.coef = array([[_GREY]])

    def change(self, picture: Tensor) -> Tensor:
        """Return the picture in another saturation."""
        factor = 1.0 + random.uniform(-self.saturation, self.saturation)
        grey = (picture * self.coef.tensor.to(picture)).sum(2, keepdim=True)
        return picture.mul_(factor).add_(grey, alpha=1.0 - factor)


class HueJitterAug(_ColourAug):
    """Turns the colours of a picture around the grey axis by an angle that ``random`` draws.

    Parameters
    ----------
    hue
        The largest angle; 1 is half a turn.

    Examples
    --------
    >>> import rebind as mx
    >>> HueJitterAug(0.1)(mx.nd.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    #: From red, green and blue to brightness and two axes of colour (YIQ), and back.
    tyiq: ClassVar[np.ndarray] = np.array(
        [[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]]
    )
    ityiq: ClassVar[np.ndarray] = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])

    def __init__(self, hue: float) -> None:
        check_kind(type(self).__name__, NUMBER, hue=hue)
        super().__init__(hue=hue)
        self.hue = hue

    def change(self, picture: Tensor) -> Tensor:
        """Return the picture in turned colours."""
        angle = math.pi * random.uniform(-self.hue, self.hue)
        cosine, sine = math.cos(angle), math.sin(angle)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, cosine, -sine], [0.0, sine, cosine]])
        return _mixed(picture, torch.from_numpy((self.ityiq @ turn @ self.tyiq).T))


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation by chance, in an order by chance.

    Parameters
    ----------
    brightness, contrast, saturation
        How far from 1 their factors may be; what is 0 is left out.

    Examples
    --------
    >>> len(ColorJitterAug(0.1, 0, 0.3).ts)
    2
    """

    def __init__(self, brightness: float, contrast: float, saturation: float) -> None:
        check_kind("ColorJitterAug", NUMBER, brightness=brightness, contrast=contrast, saturation=saturation)
        jitters = (
            (BrightnessJitterAug, brightness),
            (ContrastJitterAug, contrast),
            (SaturationJitterAug, saturation),
        )
        super().__init__([make(amount) for make, amount in jitters if amount > 0])


class LightingAug(_ColourAug):
    """Adds a colour that ``numpy.random`` draws along the principal components of the colours in a data set.

    The array itself is changed, and returned.

    Parameters
    ----------
    alphastd
        Standard deviation of the weights of the components.
    eigval, eigvec
        Eigenvalues (3,) and eigenvectors (3, 3) of the covariance of the colours.

    Examples
    --------
    >>> import rebind as mx
    >>> LightingAug(0.1, np.ones(3), np.eye(3))(mx.nd.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    def __init__(
        self, alphastd: float, eigval: np.ndarray | Sequence[float], eigvec: np.ndarray | Sequence
    ) -> None:
        check_kind("LightingAug", NUMBER, alphastd=alphastd)
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd = alphastd
        self.eigval = eigval
        self.eigvec = eigvec

    def change(self, picture: Tensor) -> Tensor:
        """Return the picture in another light."""
        weights = np.random.normal(0, self.alphastd, size=(3,))
        colour = np.dot(np.asarray(self.eigvec) * weights, np.asarray(self.eigval))
        return picture.add_(torch.from_numpy(colour).to(picture))


class ColorNormalizeAug(_ColourAug):
    """Subtracts a mean, and divides by a standard deviation; see `color_normalize`.

    The array itself is changed, and returned.

    Parameters
    ----------
    mean, std
        A number for each channel; None for nothing.

    Examples
    --------
    >>> import rebind as mx
    >>> ColorNormalizeAug([1, 2, 3], None)(mx.nd.array([[[5, 5, 5]]])).asnumpy().ravel().tolist()
    [4.0, 3.0, 2.0]
    """

    def __init__(
        self,
        mean: NDArray | np.ndarray | Sequence[float] | None,
        std: NDArray | np.ndarray | Sequence[float] | None,
    ) -> None:
        check_kind("ColorNormalizeAug", or_none(_CHANNEL_VALUES), mean=mean, std=std)
        super().__init__(mean=mean, std=std)
        self.mean = _as_floats(mean)
        self.std = _as_floats(std)
        if self.std is not None and not bool((self.std.tensor != 0).all()):
            raise ParameterError(f"ColorNormalizeAug: std must not be 0; got {self.std.asnumpy().tolist()}")

    def apply(self, picture: Tensor) -> Tensor:
        """Return what becomes of the picture."""
        return picture if self.mean is None and self.std is None else super().apply(picture)

    def change(self, picture: Tensor) -> Tensor:
        """Return the normalized picture."""
        _normalize(picture, *(None if each is None else each.tensor for each in (self.mean, self.std)))
        return picture


_CHANNEL_VALUES = Kind(
    "an array with a number for each channel, or None", lambda value: not isinstance(value, (str, bytes))
)


def _as_floats(values: NDArray | np.ndarray | Sequence[float] | None) -> NDArray | None:
    return values if values is None or isinstance(values, NDArray) else array(values, dtype="float32")


class RandomGrayAug(_ColourAug):
    """Makes a picture grey with a probability; ``random`` draws.

    Parameters
    ----------
    p
        The probability.

    Examples
    --------
    >>> import rebind as mx
    >>> RandomGrayAug(1)(mx.nd.array([[[100, 0, 0]]])).asnumpy().ravel().tolist()
    [21.0, 21.0, 21.0]
    """

    def __init__(self, p: float) -> None:
        check_kind(type(self).__name__, NUMBER, p=p)
        super().__init__(p=p)
        self.p = p
        # Not the weights of the jitters: these are the ones that MXNet has here.
        self.mat = array([[0.21] * 3, [0.72] * 3, [0.07] * 3])

    def apply(self, picture: Tensor) -> Tensor:
        """Return what becomes of the picture."""
        return super().apply(picture) if random.random() < self.p else picture

    def change(self, picture: Tensor) -> Tensor:
        """Return the picture in grey."""
        return _mixed(picture, self.mat.tensor)


class CastAug(PictureAugmenter):
    """Converts a picture to another type.

    Parameters
    ----------
    typ
        The type.

    Examples
    --------
    >>> import rebind as mx
    >>> CastAug("float16")(mx.nd.ones((2, 2, 3), dtype="uint8")).dtype.__name__
    'float16'
    """

    by_channel = True

    def __init__(self, typ: DTypeLike = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ
        self._dtype = torch_dtype(typ, "CastAug: typ")

    def apply(self, picture: Tensor) -> Tensor:
        """Return what becomes of the picture, in memory of its own."""
        return picture.to(self._dtype, copy=True)
