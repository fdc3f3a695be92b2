"""From the bytes of a picture to a crop of the wanted shape: MXNet's default augmenter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from ...errors import ParameterError, ShapeError
from ...imaging import REDUCTIONS, decode, decode_flagged, jpeg_size, opencv, resize
from ...params import AtLeast, Between
from .colours import jittered, shifted_hls

__all__ = ["Augmentation", "Augmenter", "decoded", "interpolation_of", "shorter_edge_to"]

_UNBOUNDED = 1e10


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """Parameters of the default augmenter; `ImageRecordIter` describes them."""

    aug_seq: Literal["aug_default", ""] = "aug_default"
    resize: int = -1
    rand_crop: bool = False
    random_resized_crop: bool = False
    max_rotate_angle: int = 0
    max_aspect_ratio: float = 0.0
    min_aspect_ratio: float | None = None
    max_shear_ratio: float = 0.0
    max_crop_size: int = -1
    min_crop_size: int = -1
    max_random_scale: float = 1.0
    min_random_scale: float = 1.0
    max_random_area: float = 1.0
    min_random_area: float = 1.0
    max_img_size: float = _UNBOUNDED
    min_img_size: float = 0.0
    brightness: Annotated[float, AtLeast(0)] = 0.0
    contrast: Annotated[float, AtLeast(0)] = 0.0
    saturation: Annotated[float, AtLeast(0)] = 0.0
    pca_noise: Annotated[float, AtLeast(0)] = 0.0
    random_h: Annotated[int, AtLeast(0)] = 0
    random_s: Annotated[int, AtLeast(0)] = 0
    random_l: Annotated[int, AtLeast(0)] = 0
    rotate: int = -1
    fill_value: Annotated[int, Between(0, 255)] = 255
    inter_method: int = 1
    pad: Annotated[int, AtLeast(0)] = 0
    reduced_decode: bool = False


def decoded(encoded: memoryview, channels: int, where: str, edge: int = 0) -> np.ndarray:
    """Return the picture in the bytes of a file with 1, 3 or 4 channels; 3 are red, green, blue.

    With an `edge`, a JPEG is decoded at an eighth, a quarter or half of its size, as far as its shorter edge does not
    become shorter than that.
    """
    if channels < 4:
        size = jpeg_size(encoded) if edge > 0 else None
        reduce = max(factor for factor in REDUCTIONS if factor == 1 or (size and min(size) // factor >= edge))
        return decode(encoded, color=channels == 3, reduce=reduce, what=where)
    picture = decode_flagged(encoded, -1, what=where)
    if picture.ndim != 3 or picture.shape[2] != 4:
        raise ShapeError(
            f"{where} must have 4 channels, for data_shape={(channels, '...')}; got {picture.shape[2:] or 1}"
        )
    cv2 = opencv()
    return cv2.cvtColor(picture, cv2.COLOR_BGRA2RGBA)


def interpolation_of(
    method: int, size: tuple[int, int], new: tuple[int, int], draws: np.random.Generator | None
) -> int:
    """Return OpenCV's number of an interpolation.

    9 is cubic to enlarge, area to shrink, and else linear; 10 is any.
    """
    if method == 9:
        if new[0] > size[0] and new[1] > size[1]:
            return 2
        return 3 if new[0] < size[0] and new[1] < size[1] else 1
    if method == 10 and draws is not None:
        return int(draws.integers(5))
    return method


def shorter_edge_to(
    picture: np.ndarray, edge: int, method: int, draws: np.random.Generator | None
) -> np.ndarray:
    """Return a picture whose shorter edge has a given length."""
    height, width = picture.shape[:2]
    new = (edge * height // width, edge) if height > width else (edge, edge * width // height)
    return resize(picture, new[1], new[0], interpolation_of(method, (height, width), new, draws))


class Augmenter:
    """Makes a picture of `data_shape` from the bytes of a file.

    Parameters
    ----------
    settings
        What is done, and how much of it is left to chance.
    data_shape
        Channels, height and width.

    Attributes
    ----------
    by_chance
        Whether anything is left to chance: if so, a call needs a generator.
    """

    def __init__(self, settings: Augmentation, data_shape: tuple[int, int, int]) -> None:
        self.settings = s = settings
        self.channels, self.height, self.width = data_shape
        if s.inter_method not in (0, 1, 2, 3, 4, 9, 10):
            raise ParameterError(f"inter_method must be 0, 1, 2, 3, 4, 9 or 10; got {s.inter_method}")
        for low, high, name in (
            (s.min_random_scale, s.max_random_scale, "random_scale"),
            (s.min_random_area, s.max_random_area, "random_area"),
            (s.min_crop_size, s.max_crop_size, "crop_size"),
            (s.min_img_size, s.max_img_size, "img_size"),
        ):
            if low > high:
                raise ParameterError(f"min_{name} must be <= max_{name}; got {low} and {high}")
        self._aspects = self._range_of_aspects()
        self._crop_size = s.max_crop_size > 0 or s.min_crop_size > 0
        self._warps = (
            s.max_rotate_angle > 0
            or s.max_shear_ratio > 0
            or s.rotate > 0
            or (s.min_random_scale, s.max_random_scale) != (1, 1)
            or (not s.random_resized_crop and self._aspects != (1, 1))
            or (s.min_img_size, s.max_img_size) != (0, _UNBOUNDED)
        )
        self._jitters = any((s.brightness, s.contrast, s.saturation, s.pca_noise))
        self._shifts = any((s.random_h, s.random_s, s.random_l))
        if (self._jitters or self._shifts) and self.channels != 3:
            raise ParameterError(
                f"brightness, contrast, saturation, pca_noise, random_h, random_s and random_l need pictures of "
                f"3 channels; got data_shape={data_shape}"
            )
        self.by_chance = bool(
            self._jitters or self._shifts or s.rand_crop or s.random_resized_crop or s.inter_method == 10
            or (s.max_rotate_angle > 0 and s.rotate <= 0) or s.max_shear_ratio > 0
            or s.min_random_scale != s.max_random_scale or s.min_crop_size != s.max_crop_size
            or self._aspects[0] != self._aspects[1]
        )  # fmt: skip

    def _range_of_aspects(self) -> tuple[float, float]:
        most, least = self.settings.max_aspect_ratio, self.settings.min_aspect_ratio
        return (1 - most, 1 + most) if least is None else (least, most)

    def __call__(self, encoded: memoryview, draws: np.random.Generator | None, where: str) -> np.ndarray:
        """Return the picture in a file's bytes, augmented: uint8 (height, width, channels).

        Parameters
        ----------
        encoded
            The bytes.
        draws
            What decides by chance; None where nothing does.
        where
            Where the bytes are from, for messages.
        """
        s = self.settings
        picture = decoded(encoded, self.channels, where, s.resize if s.reduced_decode and s.aug_seq else 0)
        if not s.aug_seq:
            self._check_shape(picture, where)
            return picture
        if s.resize > 0:
            picture = shorter_edge_to(picture, s.resize, s.inter_method, draws)
        if self._warps:
            picture = self._warped(picture, draws)
        if s.pad:
            cv2 = opencv()
            fill = (s.fill_value,) * 4
            border = (s.pad,) * 4
            picture = _with_channels(cv2.copyMakeBorder(picture, *border, cv2.BORDER_CONSTANT, value=fill))
        picture = self._cropped(picture, draws, where)
        if draws is not None and self._jitters:
            picture = jittered(picture, draws, s.brightness, s.contrast, s.saturation, s.pca_noise)
        if draws is not None and self._shifts:
            picture = shifted_hls(picture, draws, s.random_h, s.random_l, s.random_s)
        return picture

    def _check_shape(self, picture: np.ndarray, where: str) -> None:
        if picture.shape[:2] != (self.height, self.width):
            raise ShapeError(
                f"{where} must have height {self.height} and width {self.width}, since nothing resizes or crops it; "
                f"got {picture.shape[0]} and {picture.shape[1]}"
            )

    def _warped(self, picture: np.ndarray, draws: np.random.Generator | None) -> np.ndarray:
        """Return a picture turned, sheared, scaled and stretched, in one step."""
        s = self.settings
        shear = _between(draws, -s.max_shear_ratio, s.max_shear_ratio)
        angle = s.rotate if s.rotate > 0 else round(_between(draws, -s.max_rotate_angle, s.max_rotate_angle))
        scale = _between(draws, s.min_random_scale, s.max_random_scale)
        aspect = 1.0 if s.random_resized_crop else _between(draws, *self._aspects)
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        tall = 2 * scale / (1 + aspect)
        wide = aspect * tall
        height, width = picture.shape[:2]
        new_width = max(s.min_img_size, min(s.max_img_size, scale * width))
        new_height = max(s.min_img_size, min(s.max_img_size, scale * height))
        matrix = np.array(
            [
                [tall * cos - shear * sin * wide, tall * sin + shear * cos * wide, 0],
                [-sin * wide, cos * wide, 0],
            ],
            dtype=np.float32,
        )
        # The centre stays the centre.
        middle = matrix[:, :2] @ np.array([width, height], dtype=np.float32)
        matrix[:, 2] = (np.array([new_width, new_height], dtype=np.float32) - middle) / 2
        cv2 = opencv()
        size = (max(int(new_width), 1), max(int(new_height), 1))
        method = interpolation_of(s.inter_method, (height, width), size[::-1], draws)
        # OpenCV has no area interpolation here, and takes linear for it.
        return _with_channels(
            cv2.warpAffine(
                picture,
                matrix,
                size,
                flags=method,
                borderMode=cv2.BORDER_CONSTANT,
                borderValue=(s.fill_value,) * 4,
            )
        )

    def _cropped(self, picture: np.ndarray, draws: np.random.Generator | None, where: str) -> np.ndarray:
        s = self.settings
        if s.random_resized_crop and draws is not None:
            region = self._area(picture, draws)
            if region is not None:
                return self._resized(region, draws)
        elif self._crop_size:
            low = max(s.min_crop_size, 1)
            size = int(draws.integers(low, s.max_crop_size + 1)) if draws is not None else low
            if min(picture.shape[:2]) < size:
                raise ShapeError(
                    f"{where} must be at least {size} wide and high, for min_crop_size and max_crop_size; "
                    f"got {picture.shape[1]} and {picture.shape[0]}"
                )
            return self._resized(self._crop(picture, size, size, draws), draws)
        if picture.shape[0] < self.height:
            width = max(int(picture.shape[1] * self.height / picture.shape[0]), 1)
            picture = self._resized(picture, draws, width, self.height)
        if picture.shape[1] < self.width:
            height = max(int(picture.shape[0] * self.width / picture.shape[1]), 1)
            picture = self._resized(picture, draws, self.width, height)
        return self._crop(picture, self.height, self.width, draws)

    def _crop(
        self, picture: np.ndarray, height: int, width: int, draws: np.random.Generator | None
    ) -> np.ndarray:
        """Return a region: any by chance with `rand_crop`, else that in the centre."""
        rows, columns = picture.shape[0] - height, picture.shape[1] - width
        if self.settings.rand_crop and draws is not None:
            top, left = int(draws.integers(rows + 1)), int(draws.integers(columns + 1))
        else:
            top, left = rows // 2, columns // 2
        return picture[top : top + height, left : left + width]

    def _area(self, picture: np.ndarray, draws: np.random.Generator) -> np.ndarray | None:
        """Return a region of random area and aspect; None when ten tries have found none that fits."""
        s = self.settings
        height, width = picture.shape[:2]
        for _ in range(10):
            area = draws.uniform(s.min_random_area, s.max_random_area) * height * width
            aspect = draws.uniform(*self._aspects)
            if aspect <= 0:
                continue
            across, down = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if draws.random() < 0.5:
                across, down = down, across
            # Smaller than the picture, and not as large: so it is in MXNet.
            if 0 < across < width and 0 < down < height:
                left, top = int(draws.integers(width - across + 1)), int(draws.integers(height - down + 1))
                return picture[top : top + down, left : left + across]
        return None

    def _resized(
        self,
        picture: np.ndarray,
        draws: np.random.Generator | None,
        width: int | None = None,
        height: int | None = None,
    ) -> np.ndarray:
        new = (height or self.height, width or self.width)
        size = (picture.shape[0], picture.shape[1])
        method = interpolation_of(self.settings.inter_method, size, new, draws)
        return resize(picture, new[1], new[0], method)


def _between(draws: np.random.Generator | None, low: float, high: float) -> float:
    # Without chance both bounds are the same, or 0 on both sides.
    return low if draws is None or low == high else float(draws.uniform(low, high))


def _with_channels(picture: np.ndarray) -> np.ndarray:
    return picture if picture.ndim == 3 else picture[:, :, None]  # OpenCV drops an axis of one channel
