"""What changes pictures before a network sees them: the interface, and running several, one after the other."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable

import numpy as np
from torch import Tensor

from ..errors import ArgumentError
from ..ndarray import NDArray
from .pictures import as_array, picture_of, planar

__all__ = ["Augmenter", "Dump", "PictureAugmenter", "RandomOrderAug", "SequentialAug", "augmented", "dumped"]

#: What `dumps` returns: JSON, or a name and the list of what the augmenters inside return.
Dump = str | list[object]


def _plain(value: object) -> object:
    """Return a parameter as JSON has it."""
    if isinstance(value, NDArray):
        return value.asnumpy().tolist()
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return value


def dumped(who: object, parameters: dict[str, object]) -> str:
    """Return the name and the parameters of an augmenter as JSON."""
    return json.dumps([type(who).__name__.lower(), {name: _plain(each) for name, each in parameters.items()}])


class Augmenter:
    """Base of augmenters: called with a picture, they return the picture that the network is to see.

    One of your own derives from it and defines ``__call__``.

    Parameters
    ----------
    kwargs
        The parameters, for `dumps`.

    Examples
    --------
    >>> import rebind as mx
    >>> class Darker(Augmenter):
    ...     def __call__(self, src):
    ...         return src / 2
    >>> Darker()(mx.nd.ones((1, 1, 1))).item()
    0.5
    """

    def __init__(self, **kwargs: object) -> None:
        self._kwargs = kwargs

    def dumps(self) -> Dump:
        """Return the augmenter's name and its parameters, as JSON.

        >>> Augmenter(size=(4, 5)).dumps()
        '["augmenter", {"size": [4, 5]}]'
        """
        return dumped(self, self._kwargs)

    def __call__(self, src: NDArray) -> NDArray:
        """Return what becomes of the picture `src`, (H, W, C)."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(src)")


class PictureAugmenter(Augmenter):
    """An augmenter that is defined on tensors (H, W, C), so that an iterator runs it without arrays in between.

    A subclass defines `apply`. One that writes in the picture itself returns the same tensor, and its call then
    returns the same array, as MXNet's do.
    """

    #: Whether it computes with colours, which is quicker with one channel after the other.
    by_channel = False

    def apply(self, picture: Tensor) -> Tensor:
        """Return what becomes of the picture."""
        raise NotImplementedError(f"{type(self).__name__} must define apply(picture)")

    def __call__(self, src: NDArray) -> NDArray:
        """Return what becomes of the picture `src`, (H, W, C)."""
        picture = picture_of(src, type(self).__name__)
        new = self.apply(picture)
        return src if new is picture else as_array(new, src)


def augmented(picture: Tensor, augmenters: Iterable[Augmenter], in_planes: bool = False) -> Tensor:
    """Return what becomes of a picture by augmenters in turn; it may be written in.

    Parameters
    ----------
    picture
        The picture, (H, W, C).
    augmenters
        What is to be done.
    in_planes
        Whether to lay the picture out one channel after the other before colours are computed with.

    >>> import torch
    >>> augmented(torch.zeros(2, 3, 1), []).shape
    torch.Size([2, 3, 1])
    """
    for augmenter in augmenters:
        # A subclass that a user wrote may define the call anew: then that is what counts.
        if isinstance(augmenter, PictureAugmenter) and type(augmenter).__call__ is PictureAugmenter.__call__:
            picture = augmenter.apply(planar(picture) if in_planes and augmenter.by_channel else picture)
            continue
        new = augmenter(NDArray(picture.contiguous()))
        if not isinstance(new, NDArray):
            raise ArgumentError(
                f"{type(augmenter).__name__} must return an NDArray, the picture; got {type(new).__name__}"
            )
        picture = new.tensor
    return picture


class SequentialAug(PictureAugmenter):
    """Several augmenters, one after the other.

    Parameters
    ----------
    ts
        The augmenters.

    Examples
    --------
    >>> from rebind.image import CastAug, ResizeAug
    >>> SequentialAug([ResizeAug(5), CastAug()]).dumps()
    ['sequentialaug', ['["resizeaug", {"size": 5, "interp": 2}]', '["castaug", {"type": "float32"}]']]
    """

    def __init__(self, ts: Iterable[Augmenter]) -> None:
        super().__init__()
        self.ts = list(ts)

    def dumps(self) -> Dump:
        """Return the name and what the augmenters' `dumps` return."""
        return [type(self).__name__.lower(), [each.dumps() for each in self.ts]]

    def apply(self, picture: Tensor) -> Tensor:
        """Return what becomes of the picture."""
        return augmented(picture, self.ts)


class RandomOrderAug(SequentialAug):
    """Several augmenters, in an order that ``random`` draws for each picture.

    Parameters
    ----------
    ts
        The augmenters.

    Examples
    --------
    >>> from rebind.image import CastAug, HorizontalFlipAug
    >>> RandomOrderAug([HorizontalFlipAug(0.5), CastAug()]).dumps()[0]
    'randomorderaug'
    """

    def apply(self, picture: Tensor) -> Tensor:
        """Return what becomes of the picture."""
        # In place, as in MXNet: the next draw starts from this order, so a seed gives the same orders.
        random.shuffle(self.ts)
        return super().apply(picture)
