"""From pictures of uint8 to the numbers that a network gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch

from ...checks import warn_user
from ...imaging import opencv
from ...params import AtLeast

__all__ = ["Normalization", "Normalizer", "written_dtype"]


@dataclass(frozen=True, kw_only=True)
class Normalization:
    """Parameters of normalization; `ImageRecordIter` describes them."""

    mirror: bool = False
    rand_mirror: bool = False
    mean_img: str = ""
    mean_r: float = 0.0
    mean_g: float = 0.0
    mean_b: float = 0.0
    mean_a: float = 0.0
    std_r: float = 1.0
    std_g: float = 1.0
    std_b: float = 1.0
    std_a: float = 1.0
    scale: float = 1.0
    max_random_contrast: Annotated[float, AtLeast(0)] = 0.0
    max_random_illumination: Annotated[float, AtLeast(0)] = 0.0


def written_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the type in which samples are written into a batch of `dtype`, which is converted as a whole."""
    return dtype if dtype in (torch.uint8, torch.int8) else torch.float32


class Normalizer:
    """Writes a picture into a batch: mirrored, its mean subtracted, scaled; channels first.

    Parameters
    ----------
    settings
        What is done.
    data_shape
        Channels, height and width.
    dtype
        Of the batch. Pictures of uint8 are not normalized; of int8 their mean is subtracted, and nothing else.
    who
        The iterator's name, for warnings.

    Attributes
    ----------
    by_chance
        Whether anything is left to chance: if so, a call needs a generator.
    """

    def __init__(
        self, settings: Normalization, data_shape: tuple[int, int, int], dtype: torch.dtype, who: str
    ) -> None:
        self.settings = s = settings
        channels = data_shape[0]
        self.mean = np.array([s.mean_r, s.mean_g, s.mean_b, s.mean_a][:channels], np.float32)[:, None, None]
        std = np.array([s.std_r, s.std_g, s.std_b, s.std_a][:channels], np.float32)[:, None, None]
        self._factor = np.float32(s.scale) / np.where(std == 0, np.float32(1), std)
        self._dtype = dtype
        if dtype in (torch.uint8, torch.int8):
            ignored = bool((self._factor != 1).any()) or s.max_random_contrast or s.max_random_illumination
            if ignored or (dtype is torch.uint8 and (self.mean.any() or s.mean_img)):
                effect = "are not normalized" if dtype is torch.uint8 else "have their mean subtracted only"
                warn_user(f"{who}: pictures of {str(dtype).removeprefix('torch.')} {effect}, as in MXNet")
        self.by_chance = bool(s.rand_mirror or s.max_random_contrast or s.max_random_illumination)

    def __call__(self, picture: np.ndarray, draws: np.random.Generator | None, out: np.ndarray) -> None:
        """Write `picture`, uint8 (height, width, channels), to `out` (channels, height, width)."""
        s = self.settings
        cv2 = opencv()
        if s.mirror or (s.rand_mirror and draws is not None and draws.random() < 0.5):
            picture = cv2.flip(picture, 1)
        planes = cv2.split(picture)
        if self._dtype is torch.uint8:
            for plane, into in zip(planes, out):
                into[...] = plane
        elif self._dtype is torch.int8:
            out[...] = np.clip(np.stack(planes) - self.mean, -128, 127)
        else:
            self._normalize(planes, draws, out)

    def _normalize(
        self, planes: Sequence[np.ndarray], draws: np.random.Generator | None, out: np.ndarray
    ) -> None:
        s = self.settings
        contrast, illumination = np.float32(1), np.float32(0)
        if draws is not None and (s.max_random_contrast or s.max_random_illumination):
            contrast = np.float32(1 + draws.uniform(-s.max_random_contrast, s.max_random_contrast))
            illumination = np.float32(draws.uniform(-s.max_random_illumination, s.max_random_illumination))
        # One plane after the other, all steps of each: it stays in the processor's cache.
        for plane, into, mean, factor in zip(planes, out, self.mean, self._factor):
            into[...] = plane
            if mean.any():
                np.subtract(into, mean, out=into)
            if contrast != 1 or illumination != 0:
                np.multiply(into, contrast, out=into)
                np.add(into, illumination, out=into)
            if factor != 1:
                np.multiply(into, factor, out=into)
