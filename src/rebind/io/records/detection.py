"""`ImageDetRecordIter`: pictures with the objects in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import torch

from ...errors import FormatError, ParameterError, ShapeError
from ...imaging import opencv, resize
from ...params import AtLeast, Between
from ...recordio.stream import record_heads
from ..read_ahead import ReadAheadIter
from .augmenting import decoded, interpolation_of, shorter_edge_to
from .boxes import Limits, Region, cropped, mirrored, seen_from, split_label
from .colours import contrasted, shifted_hls
from .iterators import (
    LabelTable,
    RecordSettings,
    checked_shape,
    group_of,
    part_settings,
    start_reading,
    taking,
    unpacked,
)
from .normalizing import Normalization, Normalizer
from .source import Record, RecordFiles

__all__ = ["ImageDetRecordIter"]

#: Of the samplers: what only they read is checked where there are any, as in MXNet.
_Numbers = tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class _DetectionSettings(RecordSettings):
    label_width: int = -1
    label_pad_width: int = 0
    label_pad_value: float = -1.0


@dataclass(frozen=True, kw_only=True)
class _DetectionNormalization:
    mean_img: str = ""
    mean_r: float = 0.0
    mean_g: float = 0.0
    mean_b: float = 0.0
    mean_a: float = 0.0
    std_r: float = 0.0
    std_g: float = 0.0
    std_b: float = 0.0
    std_a: float = 0.0
    scale: float = 1.0


@dataclass(frozen=True, kw_only=True)
class _Augmentation:
    """Parameters of the augmenter of detection; `ImageDetRecordIter` describes them."""

    aug_seq: Literal["det_aug_default", ""] = "det_aug_default"
    resize: int = -1
    rand_crop_prob: float = 0.0
    min_crop_scales: _Numbers = (0.0,)
    max_crop_scales: _Numbers = (1.0,)
    min_crop_aspect_ratios: _Numbers = (1.0,)
    max_crop_aspect_ratios: _Numbers = (1.0,)
    min_crop_overlaps: _Numbers = (0.0,)
    max_crop_overlaps: _Numbers = (1.0,)
    min_crop_sample_coverages: _Numbers = (0.0,)
    max_crop_sample_coverages: _Numbers = (1.0,)
    min_crop_object_coverages: _Numbers = (0.0,)
    max_crop_object_coverages: _Numbers = (1.0,)
    num_crop_sampler: int = 1
    crop_emit_mode: Literal["center", "overlap"] = "center"
    emit_overlap_thresh: float = 0.3
    max_crop_trials: tuple[int, ...] = (25,)
    rand_pad_prob: float = 0.0
    max_pad_scale: float = 1.0
    max_random_hue: Annotated[int, AtLeast(0)] = 0
    random_hue_prob: float = 0.0
    max_random_saturation: Annotated[int, AtLeast(0)] = 0
    random_saturation_prob: float = 0.0
    max_random_illumination: Annotated[int, AtLeast(0)] = 0
    random_illumination_prob: float = 0.0
    max_random_contrast: Annotated[float, AtLeast(0)] = 0.0
    random_contrast_prob: float = 0.0
    rand_mirror_prob: float = 0.0
    fill_value: Annotated[int, Between(0, 255)] = 127
    inter_method: int = 1
    resize_mode: Literal["fit", "force", "shrink"] = "force"


@dataclass(frozen=True)
class _Sampler:
    """Draws regions."""

    scales: tuple[float, float]
    aspects: tuple[float, float]
    limits: Limits
    trials: int

    def region(self, draws: np.random.Generator) -> Region:
        """Return any region of an allowed scale and aspect."""
        scale = max(draws.uniform(*self.scales), 1e-3)
        # Within these bounds, neither edge is longer than that of the picture.
        low, high = max(self.aspects[0], scale * scale), min(self.aspects[1], 1 / (scale * scale))
        root = math.sqrt(draws.uniform(low, high) if low < high else min(max(low, scale * scale), high))
        width, height = min(scale * root, 1.0), min(scale / root, 1.0)
        return Region(draws.uniform(0, 1 - width), draws.uniform(0, 1 - height), width, height)


def _samplers(s: _Augmentation) -> list[_Sampler]:
    """Return the samplers of the parameters, each of which has one number for all of them, or one for each.

    Without samplers nothing of theirs is read.
    """
    if s.num_crop_sampler <= 0:
        return []

    def each(name: str, values: tuple[float, ...]) -> tuple[float, ...]:
        if len(values) not in (1, s.num_crop_sampler):
            raise ParameterError(
                f"ImageDetRecordIter: {name} must have 1 or num_crop_sampler={s.num_crop_sampler} numbers; got {values}"
            )
        return values if len(values) == s.num_crop_sampler else values * s.num_crop_sampler

    def ranges(name: str) -> list[tuple[float, float]]:
        low, high = (each(f"{end}_crop_{name}", getattr(s, f"{end}_crop_{name}")) for end in ("min", "max"))
        if any(a > b for a, b in zip(low, high)):
            raise ParameterError(
                f"ImageDetRecordIter: min_crop_{name} must be <= max_crop_{name}; got {low} and {high}"
            )
        return list(zip(low, high))

    for name, least, most in (("scales", 0.0, 1.0), ("aspect_ratios", 0.0, math.inf)):
        if any(low < least or high > most for low, high in ranges(name)):
            low, high = (getattr(s, f"{end}_crop_{name}") for end in ("min", "max"))
            to = f" and <= {most:g}" if most < math.inf else ""
            raise ParameterError(
                f"ImageDetRecordIter: min_crop_{name} and max_crop_{name} must be >= {least:g}{to}; "
                f"got {low} and {high}"
            )
    limits = map(Limits, ranges("overlaps"), ranges("sample_coverages"), ranges("object_coverages"))
    trials = [int(count) for count in each("max_crop_trials", s.max_crop_trials)]
    return [
        _Sampler(*row) for row in zip(ranges("scales"), ranges("aspect_ratios"), limits, trials, strict=True)
    ]


class _Augmenter:
    """Makes a picture of at most `data_shape` from the bytes of a file, and changes its objects with it."""

    def __init__(self, settings: _Augmentation, data_shape: tuple[int, int, int]) -> None:
        self.settings = s = settings
        self.channels, self.height, self.width = data_shape
        if s.inter_method not in (0, 1, 2, 3, 4, 9, 10):
            raise ParameterError(
                f"ImageDetRecordIter: inter_method must be 0, 1, 2, 3, 4, 9 or 10; got {s.inter_method}"
            )
        self._samplers = _samplers(s)
        self._shifts = (
            (s.random_hue_prob, s.max_random_hue),
            (s.random_illumination_prob, s.max_random_illumination),
            (s.random_saturation_prob, s.max_random_saturation),
        )
        self._coloured = any(prob > 0 and most for prob, most in self._shifts)
        if self._coloured and self.channels != 3:
            raise ParameterError(
                f"ImageDetRecordIter: hue, saturation and illumination need pictures of 3 channels; got "
                f"data_shape={data_shape}"
            )
        self.by_chance = bool(
            self._coloured or s.rand_crop_prob > 0 or s.rand_pad_prob > 0 or s.rand_mirror_prob > 0
            or s.random_contrast_prob > 0 or s.inter_method == 10
        )  # fmt: skip

    def __call__(
        self, encoded: memoryview, objects: np.ndarray, draws: np.random.Generator | None, where: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the picture in a file's bytes and its objects, augmented."""
        picture = decoded(encoded, self.channels, where)
        s = self.settings
        if s.aug_seq:
            if s.resize > 0:
                picture = shorter_edge_to(picture, s.resize, s.inter_method, draws)
            if draws is not None:
                picture = self._coloured_by_chance(picture, draws)
                picture, objects = self._moved_by_chance(picture, objects, draws)
            picture = self._fitted(picture, draws)
        if picture.shape[0] > self.height or picture.shape[1] > self.width:
            raise ShapeError(
                f"{where} must be at most {self.width} wide and {self.height} high, since nothing resizes it; got "
                f"{picture.shape[1]} and {picture.shape[0]}"
            )
        return picture, objects

    def _coloured_by_chance(self, picture: np.ndarray, draws: np.random.Generator) -> np.ndarray:
        s = self.settings
        if self._coloured:
            picture = shifted_hls(
                picture, draws, *(most if draws.random() < prob else 0 for prob, most in self._shifts)
            )
        if draws.random() < s.random_contrast_prob:
            picture = contrasted(picture, 1 + draws.uniform(-s.max_random_contrast, s.max_random_contrast))
        return picture

    def _moved_by_chance(
        self, picture: np.ndarray, objects: np.ndarray, draws: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        s = self.settings
        if draws.random() < s.rand_mirror_prob:
            picture, objects = np.ascontiguousarray(picture[:, ::-1]), mirrored(objects)
        if draws.random() < s.rand_pad_prob and s.max_pad_scale > 1:
            picture, objects = self._padded(picture, objects, draws)
        if draws.random() < s.rand_crop_prob:
            picture, objects = self._cropped(picture, objects, draws)
        return picture, objects

    def _padded(
        self, picture: np.ndarray, objects: np.ndarray, draws: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a larger picture with this one anywhere in it."""
        height, width, channels = picture.shape
        scale = draws.uniform(1, self.settings.max_pad_scale)
        rows, columns = int(height * scale), int(width * scale)
        top, left = int(draws.integers(rows - height + 1)), int(draws.integers(columns - width + 1))
        out = np.full((rows, columns, channels), self.settings.fill_value, np.uint8)
        out[top : top + height, left : left + width] = picture
        region = Region(-left / width, -top / height, columns / width, rows / height)
        return out, seen_from(objects, region)

    def _cropped(
        self, picture: np.ndarray, objects: np.ndarray, draws: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the first region, of any sampler, within its limits; the whole picture where there is none."""
        s = self.settings
        least_inside = s.emit_overlap_thresh if s.crop_emit_mode == "overlap" else None
        height, width = picture.shape[:2]
        for at in draws.permutation(len(self._samplers)).tolist():
            sampler = self._samplers[at]
            for _ in range(sampler.trials):
                region = sampler.region(draws)
                left, top = int(region.left * width), int(region.top * height)
                right = max(int((region.left + region.width) * width), left + 1)
                bottom = max(int((region.top + region.height) * height), top + 1)
                # Objects are seen from the pixels that are taken.
                region = Region(left / width, top / height, (right - left) / width, (bottom - top) / height)
                remaining = cropped(objects, region, sampler.limits, least_inside)
                if remaining is not None:
                    return np.ascontiguousarray(picture[top:bottom, left:right]), remaining
        return picture, objects

    def _fitted(self, picture: np.ndarray, draws: np.random.Generator | None) -> np.ndarray:
        """Return a picture in its final size: exactly that of a sample, or the largest that fits into it."""
        height, width = picture.shape[:2]
        mode, new = self.settings.resize_mode, (self.height, self.width)
        if mode == "shrink" and height <= self.height and width <= self.width:
            return picture
        if mode != "force":
            ratio = min(self.height / height, self.width / width)
            new = (max(int(height * ratio), 1), max(int(width * ratio), 1))
        method = interpolation_of(self.settings.inter_method, (height, width), new, draws)
        return resize(picture, new[1], new[0], method)


class _SampleWriter:
    """Writes a record's picture and label into a batch."""

    def __init__(
        self, augmenter: _Augmenter, normalizer: Normalizer, labels: LabelTable, settings: _DetectionSettings
    ) -> None:
        self._augmenter, self._normalizer = augmenter, normalizer
        self._labels, self._settings = labels, settings
        self._opencv = opencv()

    def __call__(
        self, record: Record, draws: np.random.Generator | None, data: np.ndarray, label: np.ndarray, row: int
    ) -> int:
        header, encoded, where = unpacked(record)
        labels = self._labels.of(header, where)
        width = self._settings.label_width
        if width > 0 and len(labels) != width:
            raise ShapeError(f"{where} must have {width} labels, for label_width={width}; got {len(labels)}")
        parts = split_label(labels)
        if parts is None:
            raise ShapeError(
                f"{where} must have a label of objects: the width of its head, that of an object (at least 5), the "
                f"rest of its head, and objects; got {labels.tolist()[:8]}{' ...' if len(labels) > 8 else ''}"
            )
        head, objects = parts
        try:
            picture, objects = self._augmenter(encoded, objects, draws, where)
        except self._opencv.error as error:
            raise FormatError(f"{where}: the picture cannot be augmented: {error}") from error
        height, across, channels = picture.shape
        if (height, across) != data.shape[2:]:
            data[row] = 0
        self._normalizer(picture, draws, data[row, :, :height, :across])
        numbers = np.concatenate(
            [[channels, height, across, len(head) + objects.size], head, objects.ravel()]
        )
        label[row] = self._settings.label_pad_value
        label[row, : len(numbers)] = numbers
        return header.id


def _label_room(settings: _DetectionSettings, labels: LabelTable) -> int:
    """Return how many numbers there is room for in each label of a batch."""
    widths = labels.widths()
    if widths is None:
        files = RecordFiles(settings.path_imgrec)
        files.close()
        # The flag of a header, its first 4 bytes, is the number of its labels.
        widths = [
            int.from_bytes(head[:4], "little") for path in files.paths for head in record_heads(path, 4)
        ]
    longest = max(widths, default=0)
    if 0 < settings.label_pad_width < longest:
        raise ParameterError(
            f"ImageDetRecordIter: label_pad_width must be at least {longest}, the most labels that a record has; got "
            f"{settings.label_pad_width}"
        )
    return max(longest, settings.label_pad_width)


class ImageDetRecordIter(ReadAheadIter):
    """Batches of pictures with objects from record files, for detection; else as `ImageRecordIter`.

    A record's label is the width of its head, the width of an object, the rest of the head, and the objects: class, x0,
    y0, x1, y1 from 0 to 1, and what else they have. A row of a batch's label is channels, height and width of the
    picture, the number of labels, and these labels; the rest of it is `label_pad_value`.

    Parameters
    ----------
    path_imgrec, data_shape, batch_size, path_imglist, path_imgidx, preprocess_threads, verbose, num_parts, part_index,
    device_id, ctx, shuffle_chunk_size, shuffle_chunk_seed, seed_aug, shuffle, seed, round_batch, prefetch_buffer,
    dtype, data_name, label_name, skip_broken, mean_img, mean_r, mean_g, mean_b, mean_a, std_r, std_g, std_b, std_a,
    scale
        As those of `ImageRecordIter`; a standard deviation of 0 has no effect.
    label_width
        How many labels a record must have; any number by default.
    label_pad_width, label_pad_value
        Room for labels in a batch, by default that of the record with the most of them; and what fills the rest.
    aug_seq
        ``'det_aug_default'``, or ``''`` for pictures that fit already.
    resize
        Length to which the shorter edge is resized, before all else.
    rand_crop_prob
        Probability of cropping a region, from one of `num_crop_sampler` samplers.
    min_crop_scales, max_crop_scales, min_crop_aspect_ratios, max_crop_aspect_ratios
        Scale and aspect of a sampler's regions: one number for all samplers, or one for each; so the following.
    min_crop_overlaps, max_crop_overlaps
        Share of what an object and the region have in common in what they cover together.
    min_crop_sample_coverages, max_crop_sample_coverages
        Share of it in the region.
    min_crop_object_coverages, max_crop_object_coverages
        Share of it in the object. One object at least must be within all of these bounds.
    num_crop_sampler
        How many samplers there are; with 0 nothing is cropped, and none of their parameters is read.
    crop_emit_mode, emit_overlap_thresh
        Which objects are left: ``'center'``, those whose centre is in the region; ``'overlap'``, those of which more
        than this share is.
    max_crop_trials
        How many regions a sampler tries.
    rand_pad_prob, max_pad_scale
        Probability of a margin, and how many times as large the picture is with it at most.
    max_random_hue, random_hue_prob, max_random_saturation, random_saturation_prob, max_random_illumination,
    random_illumination_prob
        By how much hue, saturation and lightness change at most, and the probability of each.
    max_random_contrast, random_contrast_prob
        Multiply by a factor in ``[1 - x, 1 + x]``, and the probability of it.
    rand_mirror_prob
        Probability of mirroring.
    fill_value
        Value of the margin.
    inter_method
        Interpolation: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, 9 by the sizes, 10 any.
    resize_mode
        ``'force'``: exactly to the size of a sample. ``'fit'``: to the largest that fits into it. ``'shrink'``: so only
        if the picture is larger. The rest of the sample is 0.

    Raises
    ------
    FormatError, ShapeError, ImportError
        As `ImageRecordIter`.

    Examples
    --------
    >>> import os, tempfile
    >>> from rebind.recordio import MXRecordIO, pack_img
    >>> path = os.path.join(tempfile.mkdtemp(), "boxes.rec")
    >>> with MXRecordIO(path, "w") as record:
    ...     label = [2, 5, 7, 0.0, 0.25, 0.5, 0.75]
    ...     record.write(pack_img((0, label, 0, 0), np.zeros((8, 8, 3), np.uint8), img_fmt=".png"))
    >>> batches = ImageDetRecordIter(path_imgrec=path, data_shape=(3, 4, 4), batch_size=1)
    >>> batches.next().label[0].asnumpy().tolist()
    [[3.0, 4.0, 4.0, 7.0, 2.0, 5.0, 7.0, 0.0, 0.25, 0.5, 0.75]]
    >>> batches.close()
    """

    @taking(_DetectionSettings, _Augmentation, _DetectionNormalization)
    def __init__(self, **given: object) -> None:
        who = type(self).__name__
        records = part_settings(_DetectionSettings, given, who)
        shape = checked_shape(who, records.data_shape)
        dtype = records.dtype or torch.float32
        augmenter = _Augmenter(group_of(_Augmentation, given), shape)
        normalization = Normalization(**vars(group_of(_DetectionNormalization, given)))
        normalizer = Normalizer(normalization, shape, dtype, who)
        labels = LabelTable(records.path_imglist)
        start_reading(
            self,
            records,
            (shape, (4 + _label_room(records, labels),)),
            dtype,
            lambda normalizer: _SampleWriter(augmenter, normalizer, labels, records),
            normalizer,
            by_chance=augmenter.by_chance,
        )

    @property
    def broken(self) -> list[str]:
        """Where pictures did not decode that were left out, with the reasons."""
        return self._source.broken  # type: ignore[attr-defined]  # `_source` is a `RecordBatches`
