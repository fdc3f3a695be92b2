"""`ImageRecordIter` and its forms of uint8 and int8."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar, get_type_hints

import numpy as np
import torch

from ... import generators
from ...dtypes import numpy_type
from ...errors import FormatError, NameLookupError, ParameterError, ShapeError
from ...imaging import opencv
from ...logs import log
from ...params import AtLeast
from ...recordio import IRHeader, unpack
from ...recordio.lists import read_list
from ..batch import DataDesc
from ..partition import check_part, chosen_part
from ..read_ahead import ReadAheadIter
from ..settings import settings
from .augmenting import Augmentation, Augmenter
from .batches import RecordBatches, WriteSample
from .mean_image import mean_image
from .normalizing import Normalization, Normalizer
from .source import Order, Record, RecordFiles, record_source

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "ImageRecordInt8Iter",
    "ImageRecordIter",
    "ImageRecordIter_v1",
    "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
]

_Group = TypeVar("_Group")


@dataclass(frozen=True, kw_only=True)
class RecordSettings:
    """Parameters of which records there are, and of what a batch holds; `ImageRecordIter` describes them."""

    path_imgrec: str
    data_shape: tuple[Annotated[int, AtLeast(1)], ...]
    batch_size: Annotated[int, AtLeast(1)]
    path_imglist: str = ""
    path_imgidx: str = ""
    label_width: Annotated[int, AtLeast(1)] = 1
    preprocess_threads: Annotated[int, AtLeast(1)] = 4
    verbose: bool = True
    num_parts: int | None = None
    part_index: int | None = None
    device_id: int = 0
    shuffle_chunk_size: Annotated[int, AtLeast(0)] = 0
    shuffle_chunk_seed: int = 0
    seed_aug: int | None = None
    shuffle: bool = False
    seed: int = 0
    round_batch: bool = True
    prefetch_buffer: Annotated[int, AtLeast(0)] = 4
    ctx: Literal["cpu", "gpu"] = "gpu"
    dtype: torch.dtype | None = None
    data_name: str = "data"
    label_name: str = "softmax_label"
    skip_broken: bool = False

    @property
    def part(self) -> tuple[int, int]:
        """Which part of the records is read, as ``(num_parts, part_index)``."""
        return self.num_parts or 1, self.part_index or 0

    def of(self, num_parts: int, part_index: int) -> Self:
        """Return these settings for another part of the records."""
        return replace(self, num_parts=num_parts, part_index=part_index)

    def order(self) -> Order:
        """Return which records are read, and in which order."""
        num_parts, part_index = self.part
        return Order(
            num_parts=num_parts,
            part_index=part_index,
            shuffle=self.shuffle,
            seed=self.seed,
            chunk_size=self.shuffle_chunk_size,
            chunk_seed=self.shuffle_chunk_seed,
        )

    def chance_seed(self) -> int:
        """Return the seed of what is left to chance: `seed_aug`, or that of ``mx.random.seed`` together with `seed`."""
        if self.seed_aug is not None:
            return self.seed_aug
        # An odd number spreads the seeds, so that those of different pairs differ.
        return generators.state_dict()["seed"] * 0x9E37_79B9_7F4A_7C15 + self.seed

    @property
    def pinned(self) -> bool:
        """Whether batches are in memory from which copies to a GPU run beside other work."""
        return self.ctx == "gpu" and self.device_id >= 0 and torch.cuda.is_available()


_Records = TypeVar("_Records", bound=RecordSettings)


def taking(*groups: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a constructor that takes what dataclasses declare: `settings` parses and checks it."""

    def decorate(init: Callable[..., None]) -> Callable[..., None]:
        types = {
            name: kind
            for group in groups
            for name, kind in get_type_hints(group, include_extras=True).items()
        }
        given = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        for group in groups:
            for declared in fields(group):
                default = inspect.Parameter.empty if declared.default is MISSING else declared.default
                given.append(
                    inspect.Parameter(
                        declared.name,
                        inspect.Parameter.KEYWORD_ONLY,
                        default=default,
                        annotation=types[declared.name],
                    )
                )
        init.__annotations__ = {**types, "return": None}
        init.__signature__ = inspect.Signature(given, return_annotation=None)  # type: ignore[attr-defined]
        return settings(init)

    return decorate


def group_of(kind: type[_Group], given: dict[str, object]) -> _Group:
    """Return one of the dataclasses that a constructor takes, from what it was given."""
    return kind(**{field.name: given[field.name] for field in fields(kind) if field.name in given})  # type: ignore[arg-type]


def part_settings(kind: type[_Records], given: dict[str, object], who: str) -> _Records:
    """Return settings of records with the part that is to be read: that of this worker, where none is given."""
    records = group_of(kind, given)
    num_parts, part_index = chosen_part(who, records.num_parts, records.part_index)
    check_part(who, num_parts, part_index)
    return records.of(num_parts, part_index)


def checked_shape(who: str, shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return `data_shape` once it is one of pictures."""
    if len(shape) != 3 or shape[0] not in (1, 3, 4):
        raise ParameterError(
            f"{who}: data_shape must be (channels, height, width), with 1, 3 or 4 channels; got {shape}"
        )
    return shape


class LabelTable:
    """The labels of a list file, which replace those of the records."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._labels = (
            {item.number: np.array(item.labels, np.float32) for item in read_list(path)} if path else None
        )

    def of(self, header: IRHeader, where: str) -> np.ndarray:
        """Return the labels of a record as an array."""
        if self._labels is None:
            return np.atleast_1d(np.asarray(header.label, np.float32))
        try:
            return self._labels[header.id]
        except KeyError:
            raise NameLookupError(
                f"path_imglist: {self._path!r} must have a line for every record; got none for number {header.id}, "
                f"the {where}"
            ) from None

    def widths(self) -> list[int] | None:
        """Return the number of labels of each line; None without a list file."""
        return None if self._labels is None else [len(labels) for labels in self._labels.values()]


def unpacked(record: Record) -> tuple[IRHeader, memoryview, str]:
    """Return the header and the picture of a record, and its number and where it is, for messages."""
    try:
        header, encoded = unpack(memoryview(record.content))
    except FormatError as error:
        raise FormatError(f"{record.where}: {error}") from None
    return header, encoded, f"record {header.id} ({record.where})"


class _SampleWriter:
    """Writes a record's picture and label into a batch."""

    def __init__(
        self, augmenter: Augmenter, normalizer: Normalizer, labels: LabelTable, label_width: int
    ) -> None:
        self._augmenter, self._normalizer = augmenter, normalizer
        self._labels, self._label_width = labels, label_width
        self._opencv = opencv()

    def __call__(
        self, record: Record, draws: np.random.Generator | None, data: np.ndarray, label: np.ndarray, row: int
    ) -> int:
        header, encoded, where = unpacked(record)
        labels = self._labels.of(header, where)
        if len(labels) != self._label_width:
            raise ShapeError(
                f"{where} must have {self._label_width} labels, for label_width={self._label_width}; got {len(labels)}"
            )
        label[row] = labels if label.ndim > 1 else labels[0]
        try:
            picture = self._augmenter(encoded, draws, where)
        except self._opencv.error as error:
            raise FormatError(f"{where}: the picture cannot be augmented: {error}") from error
        self._normalizer(picture, draws, data[row])
        return header.id


class ImageRecordIter(ReadAheadIter):
    """Batches of pictures from record files, decoded, augmented and normalized by threads ahead of the training loop.

    The order of the samples is MXNet's, also where it is shuffled, by the same seeds. Numbers are its as well, as far
    as nothing is left to chance. What is drawn by chance differs from one epoch to the next; it is the same
    again with the same seeds, whatever the number of threads, and in training that was resumed.

    Parameters
    ----------
    path_imgrec
        The record file; several with ``;`` between them; or a folder, for all files in it.
    data_shape
        Channels (1: grey, 3, or 4 with transparency), height and width of a sample.
    batch_size
        Samples in a batch.
    path_imglist
        A list file (number, labels, path in each line), whose labels replace those of the records.
    path_imgidx
        The index file. With it, parts have equal numbers of records, and all records are shuffled together.
    label_width
        Labels of a sample.
    preprocess_threads
        How many threads decode.
    verbose
        Whether to log what is read.
    num_parts, part_index
        Of how many parts this iterator reads which one; without both, that of this worker in a job of several.
    device_id, ctx
        Batches are in pinned memory when there is a GPU, unless `ctx` is ``'cpu'`` or `device_id` is -1.
    shuffle_chunk_size, shuffle_chunk_seed
        Without an index, records are shuffled within blocks of 8 MB. With a size, in MB, the file is divided into
        pieces of about this size as well, which are shuffled by this seed.
    seed_aug
        Seed of what is left to chance; by default that of ``mx.random.seed`` before this iterator is made, and `seed`.
    shuffle
        Whether to shuffle, again in each epoch.
    seed
        Seed of the order.
    round_batch
        Whether records from the start fill the last batch up, in which case the next epoch begins behind them. If not,
        the last batch repeats its own records. A batch's `pad` counts these.
    prefetch_buffer
        How many batches are read ahead at most.
    dtype
        Type of the data, float32 by default. MXNet knows float32, uint8 and int8.
    data_name, label_name
        The names in `provide_data` and `provide_label`.
    skip_broken
        Whether a picture that does not decode is replaced by another one of its batch, with a warning; it is an error
        otherwise. The attribute `broken` names them.
    aug_seq
        ``'aug_default'``, or ``''`` for pictures that have the right size already.
    resize
        Length to which the shorter edge is resized, before all else.
    rand_crop
        Whether to crop anywhere, by chance; in the centre otherwise. What is smaller than a sample is enlarged.
    random_resized_crop
        Whether to crop a region of random area and aspect, and to resize it.
    max_rotate_angle, rotate
        Turn by any angle in ``[-max_rotate_angle, max_rotate_angle]`` degrees; or by `rotate`, if that is positive.
    max_aspect_ratio, min_aspect_ratio
        Stretch by a ratio in ``[min_aspect_ratio, max_aspect_ratio]``, without the first in
        ``[1 - max_aspect_ratio, 1 + max_aspect_ratio]``.
    max_shear_ratio
        Shear by a ratio in ``[-max_shear_ratio, max_shear_ratio]``.
    max_crop_size, min_crop_size
        Crop a square whose size is in this range, and resize it.
    max_random_scale, min_random_scale
        Scale by a factor in this range.
    max_random_area, min_random_area
        Share of the picture that `random_resized_crop` takes.
    max_img_size, min_img_size
        Bounds of width and height after scaling.
    brightness, contrast, saturation
        Multiply each by a factor in ``[1 - x, 1 + x]``, in an order by chance.
    pca_noise
        Standard deviation of noise along the principal components of ImageNet's colours.
    random_h, random_s, random_l
        Move hue, saturation and lightness by up to this much.
    fill_value
        Value of pixels outside of the picture.
    inter_method
        Interpolation: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, 9 by the sizes, 10 any.
    pad
        Width of a margin around the picture.
    reduced_decode
        Whether a JPEG whose shorter edge is at least twice `resize` is decoded at half of its size, or less. That takes
        a third of the time for one of 1024 pixels, and saves little for small ones. Its pixels are means of areas then,
        and differ from those of MXNet.
    mirror, rand_mirror
        Mirror every picture; or half of them, by chance.
    mean_img
        File of a mean image, which is subtracted. When it does not exist it is computed of all samples, whichever part
        of them is read, and written. In a job worker 0 reads and writes it for all workers that read each its part.
    mean_r, mean_g, mean_b, mean_a
        Mean of each channel, which is subtracted.
    std_r, std_g, std_b, std_a
        Standard deviation of each channel, by which it is divided.
    scale
        Factor of the result.
    max_random_contrast, max_random_illumination
        Multiply by a factor in ``[1 - x, 1 + x]``, and add a number in ``[-x, x]``, before scaling.

    Raises
    ------
    FormatError
        For a record that is broken, and for a picture that does not decode: the message has the record's number, its
        position and the file.
    ShapeError
        For a record with another number of labels.
    ImportError
        When OpenCV, the extra ``image``, is missing.

    Examples
    --------
    >>> import os, tempfile
    >>> from rebind.recordio import MXRecordIO, pack_img
    >>> path = os.path.join(tempfile.mkdtemp(), "grey.rec")
    >>> with MXRecordIO(path, "w") as record:
    ...     for i in range(3):
    ...         record.write(pack_img((0, i, i, 0), np.full((8, 8, 3), 40 * i, np.uint8), img_fmt=".png"))
    >>> batches = ImageRecordIter(path_imgrec=path, data_shape=(3, 4, 4), batch_size=2, scale=0.5)
    >>> batch = batches.next()
    >>> batch.data[0].shape, batch.label[0].asnumpy().tolist(), batch.data[0][1, 0, 0, 0].asscalar().item()
    ((2, 3, 4, 4), [0.0, 1.0], 20.0)
    >>> batches.close()
    """

    _dtype: torch.dtype | None = None

    @taking(RecordSettings, Augmentation, Normalization)
    def __init__(self, **given: object) -> None:
        who = type(self).__name__
        records = part_settings(RecordSettings, given, who)
        shape = checked_shape(who, records.data_shape)
        dtype = self._dtype or records.dtype or torch.float32
        augmenter = Augmenter(group_of(Augmentation, given), shape)
        normalizer = Normalizer(group_of(Normalization, given), shape, dtype, who)
        labels = LabelTable(records.path_imglist)
        label_shape = (records.label_width,) if records.label_width > 1 else ()
        start_reading(
            self,
            records,
            (shape, label_shape),
            dtype,
            lambda normalizer: _SampleWriter(augmenter, normalizer, labels, records.label_width),
            normalizer,
            by_chance=augmenter.by_chance,
        )

    @property
    def broken(self) -> list[str]:
        """Where pictures did not decode that were left out, with the reasons."""
        return self._source.broken  # type: ignore[attr-defined]  # `_source` is a `RecordBatches`


def start_reading(
    iterator: ReadAheadIter,
    records: RecordSettings,
    shapes: tuple[tuple[int, int, int], tuple[int, ...]],
    dtype: torch.dtype,
    writer: Callable[[Normalizer], WriteSample],
    normalizer: Normalizer,
    *,
    by_chance: bool,
) -> None:
    """Let an iterator read batches ahead, of samples and labels of some shapes, with the mean image subtracted.

    Its threads end, and its files are closed, when nothing refers to the batches any more. No finalizer does that: it
    could run while a thread pool or `threading` holds the locks that it needs.
    """
    who, mean_img = type(iterator).__name__, normalizer.settings.mean_img

    def batches(part: RecordSettings, normalizer: Normalizer, dtype: torch.dtype) -> RecordBatches:
        return RecordBatches(
            record_source(RecordFiles(part.path_imgrec), part.order(), part.path_imgidx),
            writer(normalizer),
            DataDesc(part.data_name, (part.batch_size, *shapes[0]), numpy_type(dtype)),
            DataDesc(part.label_name, (part.batch_size, *shapes[1]), np.float32),
            dtype=dtype,
            round_batch=part.round_batch,
            seed=part.chance_seed() if by_chance or normalizer.by_chance else None,
            threads=part.preprocess_threads,
            skip_broken=part.skip_broken,
            pinned=part.pinned,
            ahead=part.prefetch_buffer,
        )

    if mean_img and dtype is not torch.uint8:
        plain = Normalizer(Normalization(), shapes[0], torch.float32, who)
        normalizer.mean = mean_image(
            mean_img,
            shapes[0],
            records.part,
            lambda *part: batches(records.of(*part), plain, torch.float32),
        )
    ReadAheadIter.__init__(iterator, batches(records, normalizer, dtype), records.prefetch_buffer)
    iterator.num_parts, iterator.part_index = records.part
    if records.verbose:
        log().info("%s: %s, %d threads decode.", who, records.path_imgrec, records.preprocess_threads)


class ImageRecordUInt8Iter(ImageRecordIter):
    """`ImageRecordIter` with pictures of uint8, which are not normalized."""

    _dtype = torch.uint8


class ImageRecordInt8Iter(ImageRecordIter):
    """`ImageRecordIter` with pictures of int8: the mean is subtracted, and the result is clipped to -128..127."""

    _dtype = torch.int8


class ImageRecordIter_v1(ImageRecordIter):
    """`ImageRecordIter` by the name of MXNet's first one, which read the same files."""


class ImageRecordUInt8Iter_v1(ImageRecordUInt8Iter):
    """`ImageRecordUInt8Iter` by the name of MXNet's first one."""
