"""What changes pictures and the boxes of the objects in them.

A label is an array with a row for each object: its class, and its box as the left, upper, right and lower edge from 0
to 1; numbers after these stay as they are.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import numpy as np
from torch import Tensor

from ...errors import ArgumentError, ParameterError
from ...ndarray import NDArray
from ..augmenter import Augmenter, Dump, Places, State, augmented, dumped, load_states, states_of
from ..pictures import as_array, picture_of

__all__ = [
    "DetAugmenter", "DetBorrowAug", "DetHorizontalFlipAug", "DetPictureAugmenter", "DetRandomSelectAug",
    "det_augmented",
]  # fmt: skip


class DetAugmenter:
    """Base of augmenters for detection: called with a picture and its label, they return both.

    One of your own derives from it and defines ``__call__``.

    Parameters
    ----------
    kwargs
        The parameters, for `dumps`.

    Examples
    --------
    >>> class WithoutSmallOnes(DetAugmenter):
    ...     def __call__(self, src, label):
    ...         return src, label[label[:, 3] - label[:, 1] > 0.1]
    >>> label = np.array([[0, 0.1, 0.1, 0.9, 0.9], [1, 0.1, 0.1, 0.15, 0.2]])
    >>> WithoutSmallOnes()(None, label)[1].shape
    (1, 5)
    """

    def __init__(self, **kwargs: object) -> None:
        self._kwargs = kwargs

    def dumps(self) -> Dump:
        """Return the augmenter's name and its parameters, as JSON.

        >>> DetAugmenter(p=0.5).dumps()
        '["detaugmenter", {"p": 0.5}]'
        """
        return dumped(self, self._kwargs)

    def state_dict(self) -> State:
        """Return what later calls depend on, beside random numbers; nothing for most augmenters."""
        return {}

    def load_state_dict(self, state: State) -> None:
        """Go back to a state that `state_dict` returned."""

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        """Return what becomes of the picture `src`, (H, W, C), and of its label."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(src, label)")


class DetPictureAugmenter(DetAugmenter):
    """An augmenter that is defined on tensors (H, W, C), so that an iterator runs it without arrays in between."""

    def apply(self, picture: Tensor, label: np.ndarray) -> tuple[Tensor, np.ndarray]:
        """Return what becomes of the picture and its label."""
        raise NotImplementedError(f"{type(self).__name__} must define apply(picture, label)")

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        """Return what becomes of the picture `src`, (H, W, C), and of its label."""
        picture = picture_of(src, type(self).__name__)
        new, label = self.apply(picture, label)
        return (src if new is picture else as_array(new, src)), label


def det_augmented(
    picture: Tensor, label: np.ndarray, augmenters: Iterable[Any], in_planes: bool = False
) -> tuple[Tensor, np.ndarray]:
    """Return what becomes of a picture and its label by augmenters in turn; both may be written in.

    >>> import torch
    >>> picture, label = det_augmented(torch.zeros(2, 3, 1), np.array([[0, 0.1, 0.2, 0.3, 0.4]]), [])
    >>> picture.shape
    torch.Size([2, 3, 1])
    """
    for augmenter in augmenters:
        plain = isinstance(augmenter, DetPictureAugmenter) and (
            type(augmenter).__call__ is DetPictureAugmenter.__call__
        )
        if isinstance(augmenter, DetBorrowAug) and plain:
            picture = augmented(picture, [augmenter.augmenter], in_planes)
        elif plain:
            picture, label = augmenter.apply(picture, label)
        else:
            new, label = augmenter(NDArray(picture.contiguous()), label)
            picture = new.tensor
    return picture, label


class DetBorrowAug(DetPictureAugmenter):
    """An augmenter of pictures that leaves boxes where they are, such as one of colours.

    Parameters
    ----------
    augmenter
        The augmenter, of `mx.image`.

    Examples
    --------
    >>> from rebind.image import CastAug
    >>> DetBorrowAug(CastAug()).dumps()
    ['detborrowaug', '["castaug", {"type": "float32"}]']
    """

    def __init__(self, augmenter: Augmenter) -> None:
        if not isinstance(augmenter, Augmenter):
            raise ArgumentError(
                f"DetBorrowAug: augmenter must be an Augmenter, for pictures; got {type(augmenter).__name__}"
            )
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> Dump:
        """Return the name and what the augmenter's `dumps` returns."""
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def state_dict(self) -> State:
        """Return the augmenter's state."""
        return self.augmenter.state_dict()

    def load_state_dict(self, state: State) -> None:
        """Go back to a state that `state_dict` returned."""
        self.augmenter.load_state_dict(state)

    def apply(self, picture: Tensor, label: np.ndarray) -> tuple[Tensor, np.ndarray]:
        """Return what becomes of the picture, and its label."""
        return augmented(picture, [self.augmenter]), label


class DetRandomSelectAug(DetPictureAugmenter):
    """One of several augmenters that ``random`` chooses, or none of them.

    Parameters
    ----------
    aug_list
        The augmenters, or a single one. Without any, nothing is done.
    skip_prob
        The probability of none.

    Examples
    --------
    >>> DetRandomSelectAug([DetHorizontalFlipAug(0.5)], skip_prob=0.1).dumps()
    ['detrandomselectaug', ['["dethorizontalflipaug", {"p": 0.5}]']]
    """

    def __init__(self, aug_list: DetAugmenter | Iterable[DetAugmenter], skip_prob: float = 0) -> None:
        super().__init__(skip_prob=skip_prob)
        self.aug_list = [aug_list] if isinstance(aug_list, DetAugmenter) else list(aug_list)
        for each in self.aug_list:
            if not isinstance(each, DetAugmenter):
                raise ParameterError(
                    f"DetRandomSelectAug: aug_list must have DetAugmenters; got {type(each).__name__}. "
                    "Put it into DetBorrowAug."
                )
        self.skip_prob = skip_prob if self.aug_list else 1
        self._places = Places(len(self.aug_list))

    def dumps(self) -> Dump:
        """Return the name and what the augmenters' `dumps` return."""
        return [type(self).__name__.lower(), [each.dumps() for each in self.aug_list]]

    def state_dict(self) -> State:
        """Return the order of the augmenters, which the next choice depends on, and their own states."""
        return {"order": self._places.first, "augmenters": states_of(self.aug_list)}

    def load_state_dict(self, state: State) -> None:
        """Go back to a state that `state_dict` returned."""
        self._places.restore(self.aug_list, state["order"])
        load_states(self.aug_list, state["augmenters"])

    def apply(self, picture: Tensor, label: np.ndarray) -> tuple[Tensor, np.ndarray]:
        """Return what becomes of the picture and its label."""
        if random.random() < self.skip_prob:
            return picture, label
        # Shuffled in place to take the first, as in MXNet: the same draws.
        self._places.shuffle(self.aug_list)
        return det_augmented(picture, label, self.aug_list[:1])


class DetHorizontalFlipAug(DetPictureAugmenter):
    """Mirrors a picture and its boxes, left to right, with a probability; ``random`` draws.

    The label itself is changed, and returned.

    Parameters
    ----------
    p
        The probability.

    Examples
    --------
    >>> import rebind as mx
    >>> _, label = DetHorizontalFlipAug(1)(mx.nd.ones((4, 4, 3)), np.array([[0, 0.25, 0.2, 0.5, 0.4]]))
    >>> label.tolist()
    [[0.0, 0.5, 0.2, 0.75, 0.4]]
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def apply(self, picture: Tensor, label: np.ndarray) -> tuple[Tensor, np.ndarray]:
        """Return what becomes of the picture and its label."""
        if random.random() >= self.p:
            return picture, label
        label[:, (1, 3)] = 1.0 - label[:, (3, 1)]
        return picture.flip(1), label
