"""Boxes drawn on pictures, to look at what an iterator gives."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from torch import Tensor

from ...errors import MissingExtraError
from ...imaging import opencv
from ..recipe import MEAN, STD

__all__ = ["Colour", "Shower", "drawn"]

#: Red, green and blue, from 0 to 255.
Colour: TypeAlias = "tuple[float, float, float] | Sequence[float]"
Values: TypeAlias = "bool | np.ndarray | Sequence[float] | None"


def _undone(picture: np.ndarray, mean: Values, std: Values) -> np.ndarray:
    """Return a picture as it was before it was normalized."""
    for values, default, undo in ((std, STD, np.multiply), (mean, MEAN, np.add)):
        if values is not None and values is not False:
            picture = undo(picture, np.asarray(default if values is True else values))
    return picture


def drawn(
    picture: Tensor,
    objects: np.ndarray,
    color: Colour | None,
    thickness: int,
    mean: Values,
    std: Values,
    clip: bool,
    names: Mapping[int, str] | None,
) -> np.ndarray:
    """Return a picture (H, W, 3) as uint8 with the boxes of its objects.

    >>> import torch
    >>> label = np.array([[0, 0.25, 0.25, 0.75, 0.75], [-1, -1, -1, -1, -1]])
    >>> drawn(torch.zeros(8, 8, 3), label, (255, 0, 0), 1, None, None, True, None)[2].max(axis=1).tolist()
    [0, 0, 255, 255, 255, 255, 255, 0]
    """
    cv2 = opencv()
    image = _undone(picture.numpy(), mean, std)
    image = np.ascontiguousarray(np.clip(image, 0, 255) if clip else image).astype(np.uint8)
    height, width = image.shape[:2]
    for row in objects:
        if row[0] < 0:
            continue
        left, top, right, bottom = (int(v) for v in row[1:5] * (width, height, width, height))
        colour = tuple(color) if color is not None else tuple(255 * random.random() for _ in range(3))
        cv2.rectangle(image, (left, top), (right, bottom), colour, thickness)
        name = None if names is None else names.get(int(row[0]))
        if name is not None:
            cv2.putText(image, str(name), (left + 5, top + 20), cv2.FONT_HERSHEY_SIMPLEX, 0.5, colour, 2)
    return image


class Shower:
    """Shows pictures in a window.

    Parameters
    ----------
    name
        The window's name.
    milliseconds
        For how long; 0 until a key is pressed.
    """

    def __init__(self, name: str, milliseconds: int) -> None:
        self.name = name
        self.milliseconds = milliseconds

    def show(self, image: np.ndarray) -> None:
        """Show a picture, red, green, blue.

        Raises
        ------
        ImportError
            With an OpenCV that has no windows.
        """
        cv2 = opencv()
        try:
            cv2.imshow(self.name, image[:, :, ::-1])
            cv2.waitKey(self.milliseconds)
        except cv2.error as error:
            raise MissingExtraError(
                "draw_next: waitKey needs an OpenCV with windows; the headless one has none. "
                "pip install opencv-python, or leave waitKey out and show the pictures yourself."
            ) from error
