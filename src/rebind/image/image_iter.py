"""`ImageIter`: batches of pictures from a record file, a list or a folder, augmented."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..checks import LIST, check_keywords, check_kind, check_numbers, or_none, warn_user
from ..dtypes import name as dtype_name
from ..errors import ArgumentError, FormatError, ParameterError, ShapeError, StateError
from ..imaging import decode
from ..io import DataBatch, DataDesc
from ..io.iterator import State
from ..logs import log
from ..ndarray import NDArray, array
from .augmenter import augmented, load_states, states_of
from .lists import ListedPicture
from .pictures import as_array, in_channels, picture_of
from .recipe import CreateAugmenter
from .samples import Path, RawLabel, SampleIter

__all__ = ["ImageIter", "LeftOut"]

_HANDLES = ("pad", "discard", "roll_over")
_LABEL_TYPES = ("float32", "int32", "int64", "float64")
# What a subclass may define again; then pictures go through arrays, as it expects.
_STEPS = ("imdecode", "check_valid_image", "augmentation_transform", "postprocess_data")


class ImageIter(SampleIter):
    """Batches of pictures and labels from a record file, a list, or files in a folder.

    Pictures are decoded, augmented and put together as (N, C, H, W), float32. Their order, and what chance draws, are
    MXNet's: from Python's ``random``, and for lighting from ``numpy.random``.

    Parameters
    ----------
    batch_size
        Pictures in a batch.
    data_shape
        Shape of a picture, (3, H, W).
    label_width
        Numbers in a label.
    path_imgrec
        A record file. With `path_imgidx`, its index, it can be shuffled and parted.
    path_imglist
        A list file: lines ``key<tab>label<tab>...<tab>path``. With an indexed record file it has the labels, by key.
    path_root
        Folder of the files of a list.
    path_imgidx
        Index of the record file.
    shuffle
        Whether to shuffle the pictures, again at each `reset`.
    part_index, num_parts
        Which part of the pictures to read, of how many of equal size; what does not divide is left out, as in MXNet.
        Without both, that of this worker in a job of several; then nothing is left out.
    aug_list
        Augmenters; by default those of `CreateAugmenter`.
    imglist
        A list in the program: ``[label, path]``, or ``[label, ..., path]``, for each picture.
    data_name, label_name
        Names of the arrays.
    dtype
        Type of the labels: ``'float32'``, ``'float64'``, ``'int32'`` or ``'int64'``.
    last_batch_handle
        What to do with pictures that do not fill a batch: ``'pad'`` adds pictures from the start, ``'discard'`` leaves
        them out, ``'roll_over'`` puts them at the start of the next epoch.
    skip_broken
        Whether pictures that do not decode are left out; a warning at the end of the epoch names the first and counts
        them. By default they are an error. MXNet does not have it.
    kwargs
        Parameters of `CreateAugmenter`.

    Attributes
    ----------
    seq
        The keys in the order of this epoch; None for a record file without an index.
    cur
        How many pictures of the epoch have been read.

    Raises
    ------
    FormatError
        For pictures that do not decode, and for broken records and lists; the message has the file and the record or
        line.
    ShapeError
        For a label of another width than `label_width`, and for a picture of another shape after augmentation.

    Examples
    --------
    >>> import os, tempfile
    >>> from rebind.imaging import encode
    >>> folder = tempfile.mkdtemp()
    >>> for i in range(3):
    ...     with open(os.path.join(folder, f"{i}.png"), "wb") as file:
    ...         _ = file.write(encode(np.full((10, 12, 3), i, dtype=np.uint8), ".png"))
    >>> pictures = ImageIter(2, (3, 8, 8), imglist=[[i, f"{i}.png"] for i in range(3)], path_root=folder)
    >>> [(batch.data[0].shape, batch.label[0].asnumpy().tolist(), batch.pad) for batch in pictures]
    [((2, 3, 8, 8), [0.0, 1.0], 0), ((2, 3, 8, 8), [2.0, 0.0], 1)]
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        label_width: int = 1,
        path_imgrec: Path | None = None,
        path_imglist: Path | None = None,
        path_root: Path | None = None,
        path_imgidx: Path | None = None,
        shuffle: bool = False,
        part_index: int | None = None,
        num_parts: int | None = None,
        aug_list: Iterable[Any] | None = None,
        imglist: Sequence[ListedPicture] | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: str = "float32",
        last_batch_handle: str = "pad",
        skip_broken: bool = False,
        **kwargs: Any,
    ) -> None:
        self._check(batch_size, data_shape, label_width, dtype, last_batch_handle)
        super().__init__(
            batch_size,
            path_imgrec,
            path_imgidx,
            path_imglist,
            path_root,
            imglist,
            shuffle,
            part_index,
            num_parts,
        )
        self.data_shape = tuple(data_shape)
        self.label_width = label_width
        self.last_batch_handle = last_batch_handle
        self.skip_broken = skip_broken
        self._label_dtype = dtype_name(dtype)
        self.auglist = self._augmenters(aug_list, kwargs)
        self.provide_data = [DataDesc(data_name, (batch_size, *self.data_shape))]
        # Without the type of the labels, as in MXNet: a network is bound with float32, and converts them.
        self.provide_label = [DataDesc(label_name, self._label_shape())]
        self._ended = False
        # Pictures that the last epoch left over, and their labels.
        self._carried: tuple[Tensor, np.ndarray] | None = None
        self._broken: list[str] = []
        self._through_arrays = any(
            getattr(type(self), step) is not getattr(ImageIter, step) for step in _STEPS
        )
        self.reset()

    def _check(
        self, batch_size: int, data_shape: Sequence[int], label_width: int, dtype: str, last_batch_handle: str
    ) -> None:
        check_numbers(self._who, batch_size=batch_size, label_width=label_width)
        for name, number in (("batch_size", batch_size), ("label_width", label_width)):
            if number < 1:
                raise ParameterError(f"{self._who}: {name} must be >= 1; got {number}")
        self.check_data_shape(data_shape)
        for name, value, known in (
            ("dtype", dtype_name(dtype), _LABEL_TYPES),
            ("last_batch_handle", last_batch_handle, _HANDLES),
        ):
            if value not in known:
                raise ParameterError(
                    f"{self._who}: {name} must be one of {', '.join(map(repr, known))}; got {value!r}"
                )

    def _augmenters(self, given: Iterable[Any] | None, parameters: dict[str, Any]) -> list[Any]:
        """Return the augmenters that are given, or those that parameters make."""
        check_kind(self._who, or_none(LIST), aug_list=given)
        if given is None:
            return list(self._create_augmenters(parameters))
        if parameters:
            raise ArgumentError(
                f"{self._who}: aug_list must not be given with {', '.join(map(repr, parameters))}, which makes "
                "augmenters"
            )
        return list(given)

    def _create_augmenters(self, parameters: dict[str, Any]) -> Sequence[Any]:
        self._check_parameters(parameters, CreateAugmenter)
        return CreateAugmenter(self.data_shape, **parameters)

    def _check_parameters(self, parameters: dict[str, Any], makes: Callable[..., object]) -> None:
        """Raise an error for a keyword that neither the constructor nor what makes the augmenters takes."""
        known = [
            name
            for each in (type(self), makes)
            for name, parameter in inspect.signature(each).parameters.items()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        check_keywords(self._who, parameters, known)

    def _label_shape(self) -> tuple[int, ...]:
        return (self.batch_size,) if self.label_width == 1 else (self.batch_size, self.label_width)

    def reset(self) -> None:
        """Begin a new epoch; pictures left over by ``'roll_over'`` come first in it."""
        super().reset()
        self._seq_array: np.ndarray | None = None
        self._ended = False

    def hard_reset(self) -> None:
        """Begin a new epoch without what the last one left over."""
        self._carried = None
        self.reset()

    def next(self) -> DataBatch:
        """Return the next batch; StopIteration at the end."""
        if self._ended:
            raise StopIteration
        data = torch.zeros((self.batch_size, *self.data_shape))
        labels = self._new_labels()
        carried = self._take_carried(data, labels)
        filled = self._fill(data, labels, carried)
        if filled < self.batch_size:
            self._end_epoch()
            if not filled or self.last_batch_handle == "discard":
                raise StopIteration
            if self.last_batch_handle == "roll_over":
                self._carried = data[:filled], labels[:filled]
                raise StopIteration
            self._pad(data, labels, filled)
        # Of a batch that begins with pictures of the last epoch the others count as padding, as in MXNet.
        pad = self.batch_size - (carried or filled)
        return DataBatch([NDArray(data)], [array(labels, dtype=self._label_dtype)], pad=pad)

    def _fill(self, data: Tensor, labels: np.ndarray, filled: int) -> int:
        """Read pictures into a batch until it is full or the epoch ends; return how many it has then."""
        while filled < self.batch_size:
            try:
                label, encoded = self.next_sample()
            except StopIteration:
                break
            try:
                picture, row = self._sample(label, encoded)
            except LeftOut as error:
                log().debug("Invalid image, skipping: %s", error)
                continue
            if tuple(picture.shape) != self.data_shape:
                raise ShapeError(
                    f"{self._who}: {self._where()} must have shape {self.data_shape} after augmentation; "
                    f"got {tuple(picture.shape)}. End aug_list with a crop, or resize, to this size."
                )
            data[filled].copy_(picture)
            self._put_label(labels, filled, row)
            filled += 1
        return filled

    def _sample(self, label: RawLabel, encoded: bytes) -> tuple[Tensor, np.ndarray]:
        """Return a picture as the batch gets it, (C, H, W), and the numbers of its label."""
        numbers = self._numbers(label)
        if numbers.size != self.label_width:
            raise ShapeError(
                f"{self._who}: the label of {self._where()} must have as many numbers as label_width, "
                f"{self.label_width}; got {numbers.size}"
            )
        if self._through_arrays:
            array = self._checked(encoded)
            return self.postprocess_data(self.augmentation_transform(array)).tensor, numbers
        return in_channels(augmented(self._decoded(encoded), self.auglist, in_planes=True)), numbers

    def _numbers(self, label: RawLabel) -> np.ndarray:
        return np.asarray(label.asnumpy() if isinstance(label, NDArray) else label).reshape(-1)

    def _decoded(self, encoded: bytes) -> Tensor:
        """Return a decoded picture, (H, W, 3) of uint8."""
        try:
            return torch.from_numpy(decode(encoded, what=f"{self._who}: {self._where()}"))
        except FormatError as error:
            if not self.skip_broken:
                raise
            self._broken.append(self._where())
            raise LeftOut(str(error)) from error

    def _checked(self, encoded: bytes) -> NDArray:
        """Return a decoded picture by the methods that a subclass may have; RuntimeError leaves it out."""
        try:
            array = self.imdecode(encoded)
        except FormatError as error:
            if not self.skip_broken:
                raise
            self._broken.append(self._where())
            raise LeftOut(str(error)) from error
        try:
            self.check_valid_image(array)
        except RuntimeError as error:
            raise LeftOut(str(error)) from error
        return array

    def _new_labels(self) -> np.ndarray:
        return np.zeros(self.provide_label[0].shape, dtype=self._label_dtype)

    def _put_label(self, labels: np.ndarray, row: int, numbers: np.ndarray) -> None:
        labels[row] = numbers if self.label_width > 1 else numbers[0]

    def _take_carried(self, data: Tensor, labels: np.ndarray) -> int:
        """Begin a batch with what the last epoch left over; return how many pictures that are."""
        if self._carried is None:
            return 0
        pictures, rows = self._carried
        data[: len(pictures)] = pictures
        labels[: len(rows)] = rows
        self._carried = None
        return len(pictures)

    def _pad(self, data: Tensor, labels: np.ndarray, filled: int) -> None:
        """Fill a batch with pictures from the start, as often as it takes."""
        while filled < self.batch_size:
            self._rewind()
            now = self._fill(data, labels, filled)
            if now == filled:
                raise StateError(f"{self._who}: no picture is left to fill the last batch with")
            filled = now

    def _end_epoch(self) -> None:
        self._ended = True
        if self._broken:
            warn_user(
                f"{self._who}: {len(self._broken)} pictures did not decode and were left out, the first: "
                f"{self._broken[0]}"
            )
            self._broken = []

    def check_data_shape(self, data_shape: Sequence[int]) -> None:
        """Raise an error for a `data_shape` that is not (3, H, W)."""
        if len(data_shape) != 3 or min(data_shape) < 1:
            raise ShapeError(
                f"{self._who}: data_shape must have length 3, with dimensions CxHxW; got {tuple(data_shape)}"
            )
        if data_shape[0] != 3:
            raise ShapeError(
                f"{self._who}: data_shape must have 3 channels; got {data_shape[0]}, in {tuple(data_shape)}"
            )

    def check_valid_image(self, data: NDArray) -> None:
        """Raise RuntimeError for a decoded picture that is to be left out: none here, those of its own in a subclass.

        Parameters
        ----------
        data
            The picture, (H, W, 3) of uint8.
        """
        if not all(data.shape):
            raise FormatError(f"{self._who}: {self._where()} must have a pixel; got shape {data.shape}")

    def imdecode(self, s: bytes) -> NDArray:
        """Return the picture in the bytes of a file, (H, W, 3) of uint8."""
        return NDArray(torch.from_numpy(decode(s, what=f"{self._who}: {self._where()}")))

    def augmentation_transform(self, data: NDArray) -> NDArray:
        """Return what becomes of a picture by the augmenters, (H, W, C)."""
        return as_array(augmented(picture_of(data, self._who), self.auglist), data)

    def postprocess_data(self, datum: NDArray) -> NDArray:
        """Return a picture (C, H, W) from one (H, W, C)."""
        return as_array(datum.tensor.permute(2, 0, 1), datum)

    def state_dict(self) -> State:
        """Return the position in the data; what is random comes from ``random`` and ``numpy.random``.

        Examples
        --------
        >>> import os, tempfile
        >>> from rebind.imaging import encode
        >>> folder = tempfile.mkdtemp()
        >>> for i in range(4):
        ...     with open(os.path.join(folder, f"{i}.png"), "wb") as file:
        ...         _ = file.write(encode(np.full((8, 8, 3), i, dtype=np.uint8), ".png"))
        >>> source = {"imglist": [[i, f"{i}.png"] for i in range(4)], "path_root": folder, "shuffle": True}
        >>> first, second = (ImageIter(2, (3, 8, 8), **source) for _ in range(2))
        >>> _ = first.next()
        >>> second.load_state_dict(first.state_dict())
        >>> bool((first.next().label[0].asnumpy() == second.next().label[0].asnumpy()).all())
        True
        """
        carried = None if self._carried is None else (self._carried[0].numpy(), self._carried[1])
        return {
            "num_image": self.num_image,
            "batch_size": self.batch_size,
            "seq": self._saved_seq(),
            "cur": self.cur,
            "position": self._position(),
            "ended": self._ended,
            "carried": carried,
            "augmenters": states_of(self.auglist),
        }

    def _saved_seq(self) -> np.ndarray | list[Any] | None:
        """Return the order of the epoch as a checkpoint holds it: of numbers an array, made once in an epoch."""
        if self.seq is None:
            return None
        if not isinstance(self.seq[0], int):
            return list(self.seq)
        if self._seq_array is None or type(self).reset is not ImageIter.reset:
            self._seq_array = np.array(self.seq)
        return self._seq_array

    def load_state_dict(self, state: State) -> None:
        """Go back to a position that `state_dict` returned, of an iterator over as many pictures."""
        for name in ("num_image", "batch_size"):
            if state[name] != getattr(self, name):
                raise ParameterError(
                    f"{self._who}.load_state_dict: {name} must be that of the saved position, {state[name]}; "
                    f"got {getattr(self, name)}"
                )
        load_states(self.auglist, state["augmenters"])
        self.seq = None if state["seq"] is None else list(np.array(state["seq"]).tolist())
        self._seq_array = None
        self.cur = int(state["cur"])
        self._go_to(state["position"])
        self._ended = bool(state["ended"])
        carried = state["carried"]
        self._carried = (
            None if carried is None else (torch.from_numpy(np.array(carried[0])), np.array(carried[1]))
        )


class LeftOut(Exception):
    """A picture that the batch is not to have."""
