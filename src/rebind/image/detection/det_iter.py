"""`ImageDetIter`: batches of pictures with the boxes of the objects in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from ...errors import ArgumentError, FormatError, ShapeError
from ...io import DataDesc
from ...logs import log
from ...ndarray import NDArray
from ..image_iter import ImageIter, LeftOut
from ..lists import ListedPicture
from ..pictures import as_array, in_channels, picture_of
from ..samples import Path, RawLabel
from .augmenter import det_augmented
from .drawing import Colour, Shower, drawn
from .recipe import CreateDetAugmenter

__all__ = ["ImageDetIter"]


class ImageDetIter(ImageIter):
    """Batches of pictures, and a label (N, objects, width) with the class and the box of each object.

    A label in a file begins with the length of its own header and the width of an object: ``[2, 5, 0, 0.1, 0.2, 0.5,
    0.6, ...]`` has objects of a class and four edges, from 0 to 1. In a batch there are as many rows for each picture
    as the picture with most objects has; rows of -1 follow its own. All labels are read once, for that number.

    Objects with no area are left out, and so are pictures that have no object after augmentation.

    Parameters
    ----------
    batch_size
        Pictures in a batch.
    data_shape
        Shape of a picture, (3, H, W).
    path_imgrec, path_imglist, path_root, path_imgidx, shuffle, part_index, num_parts, imglist
        Where the pictures are, and which of them; see `ImageIter`.
    aug_list
        Augmenters for pictures with labels; by default those of `CreateDetAugmenter`.
    data_name, label_name
        Names of the arrays.
    last_batch_handle
        ``'pad'``, ``'discard'`` or ``'roll_over'``; see `ImageIter`.
    skip_broken
        Whether pictures that do not decode are left out; see `ImageIter`.
    kwargs
        Parameters of `CreateDetAugmenter`.

    Attributes
    ----------
    label_shape
        Objects and width of the label of a picture.

    Raises
    ------
    FormatError
        For labels of another form, with the picture; and as `ImageIter` has it.

    Examples
    --------
    >>> import os, tempfile
    >>> from rebind.imaging import encode
    >>> folder = tempfile.mkdtemp()
    >>> for i in range(2):
    ...     with open(os.path.join(folder, f"{i}.png"), "wb") as file:
    ...         _ = file.write(encode(np.full((10, 12, 3), i, dtype=np.uint8), ".png"))
    >>> one, two = [2, 5, 0, 0.1, 0.2, 0.5, 0.6], [2, 5, 1, 0, 0, 0.5, 0.5, 0, 0.5, 0.5, 1, 1]
    >>> pictures = ImageDetIter(2, (3, 8, 8), imglist=[[one, "0.png"], [two, "1.png"]], path_root=folder)
    >>> pictures.next().label[0].asnumpy()[0].astype(float).round(1).tolist()
    [[0.0, 0.1, 0.2, 0.5, 0.6], [-1.0, -1.0, -1.0, -1.0, -1.0]]
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
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
        label_name: str = "label",
        last_batch_handle: str = "pad",
        skip_broken: bool = False,
        **kwargs: Any,
    ) -> None:
        self._parameters = kwargs if aug_list is None else None
        super().__init__(
            batch_size,
            data_shape,
            path_imgrec=path_imgrec,
            path_imglist=path_imglist,
            path_root=path_root,
            path_imgidx=path_imgidx,
            shuffle=shuffle,
            part_index=part_index,
            num_parts=num_parts,
            aug_list=aug_list,
            imglist=imglist,
            data_name=data_name,
            label_name=label_name,
            last_batch_handle=last_batch_handle,
            skip_broken=skip_broken,
            **kwargs,
        )
        self.label_shape = self._estimate_label_shape()
        self._describe()

    def _create_augmenters(self, parameters: dict[str, Any]) -> Sequence[Any]:
        self._check_parameters(parameters, CreateDetAugmenter)
        return CreateDetAugmenter(self.data_shape, **parameters)

    def _describe(self) -> None:
        """Set the descriptions of a batch by the shapes."""
        data, label = self.provide_data[0].name, self.provide_label[0].name
        self.provide_data = [DataDesc(data, (self.batch_size, *self.data_shape))]
        self.provide_label = [DataDesc(label, (self.batch_size, *self.label_shape), layout=None)]

    def _estimate_label_shape(self) -> tuple[int, int]:
        """Read all labels; return the largest number of objects, and their width."""
        self.reset()
        shapes = [self._parse_label(label).shape for label in self._all_labels()]
        self.reset()
        objects, widths = zip(*shapes)
        if len(set(widths)) != 1:
            raise FormatError(
                f"{self._who}: objects must have as many numbers in all labels; got {min(widths)} to {max(widths)}"
            )
        return max(objects), widths[0]

    def _all_labels(self) -> Iterator[RawLabel]:
        """Yield the labels of an epoch."""
        if (
            self.imglist is not None
            and self.seq is not None
            and type(self).next_sample is ImageIter.next_sample
        ):
            for count, key in enumerate(self.seq, start=1):  # without reading the pictures
                self.cur = count
                yield self.imglist[key][0]
            return
        while True:
            try:
                label, _ = self.next_sample()
            except StopIteration:
                return
            yield label

    def _parse_label(self, label: RawLabel) -> np.ndarray:
        """Return the objects of a label, a row for each; those with no area are left out."""
        numbers = self._numbers(label).astype(np.float32)
        if numbers.size < 7:
            raise FormatError(
                f"{self._who}: the label of {self._where()} must have the length of its header, the width of an object "
                f"and an object's class and box, 7 numbers or more; got {numbers.size}"
            )
        header, width = int(numbers[0]), int(numbers[1])
        if header < 2 or width < 5 or (numbers.size - header) % width or numbers.size <= header:
            raise FormatError(
                f"{self._who}: the label of {self._where()} must have whole objects after its header. Its first "
                f"number, the length of the header, must be >= 2; its second, the length of an object, must be >= 5; "
                f"got {numbers.size} numbers, a header of {header}, objects of {width}"
            )
        objects = numbers[header:].reshape(-1, width)
        valid = objects[(objects[:, 3] > objects[:, 1]) & (objects[:, 4] > objects[:, 2])]
        if not len(valid):
            raise FormatError(
                f"{self._who}: the label of {self._where()} must have an object whose right and lower edges are larger "
                "than the left and upper ones; got none"
            )
        return valid

    def _check_valid_label(self, label: np.ndarray) -> None:
        """Raise an error for a label with no object after augmentation."""
        if label.ndim != 2 or label.shape[1] < 5:
            raise ShapeError(
                f"{self._who}: the label of {self._where()} must have shape (objects, 5 or more) after augmentation; "
                f"got {label.shape}"
            )
        seen = (label[:, 0] >= 0) & (label[:, 3] > label[:, 1]) & (label[:, 4] > label[:, 2])
        if not seen.any():
            raise LeftOut(f"{self._where()} has no object after augmentation")

    def _sample(self, label: RawLabel, encoded: bytes) -> tuple[Tensor, np.ndarray]:
        """Return a picture as the batch gets it, (C, H, W), and its objects."""
        objects = self._parse_label(label).copy()
        if self._through_arrays:
            array, objects = self.augmentation_transform(self._checked(encoded), objects)
            self._check_valid_label(objects)
            return self.postprocess_data(array).tensor, objects
        picture, objects = det_augmented(self._decoded(encoded), objects, self.auglist, in_planes=True)
        self._check_valid_label(objects)
        return in_channels(picture), objects

    def _new_labels(self) -> np.ndarray:
        return np.full((self.batch_size, *self.label_shape), -1, dtype=np.float32)

    def _put_label(self, labels: np.ndarray, row: int, numbers: np.ndarray) -> None:
        objects, width = numbers.shape
        if objects > self.label_shape[0] or width != self.label_shape[1]:
            raise ShapeError(
                f"{self._who}: the label of {self._where()} must have at most {self.label_shape[0]} objects of "
                f"{self.label_shape[1]} numbers, as label_shape says; got shape {numbers.shape}. "
                "Make room for more objects with reshape(label_shape=...)."
            )
        labels[row, :objects] = numbers

    def augmentation_transform(  # type: ignore[override]  # with labels, as in MXNet
        self, data: NDArray, label: np.ndarray
    ) -> tuple[NDArray, np.ndarray]:
        """Return what becomes of a picture (H, W, C) and its label by the augmenters."""
        picture, label = det_augmented(picture_of(data, self._who), label, self.auglist)
        return as_array(picture, data), label

    def reshape(
        self, data_shape: Sequence[int] | None = None, label_shape: Sequence[int] | None = None
    ) -> None:
        """Change the shape of pictures, or the number of objects that labels have room for.

        Parameters
        ----------
        data_shape
            The new shape of a picture, (3, H, W). Augmenters that the iterator made are made again for it (in MXNet
            they keep the old size, which fails); an `aug_list` that was given stays.
        label_shape
            The new number of objects, which cannot be less, and their width, which cannot change.
        """
        if data_shape is not None:
            self.check_data_shape(data_shape)
            self.data_shape = tuple(data_shape)
            if self._parameters is not None:
                self.auglist = list(self._create_augmenters(self._parameters))
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self.label_shape = (label_shape[0], label_shape[1])
        if data_shape is not None or label_shape is not None:
            self._carried = None  # what was left over has the old shapes
        self._describe()

    def check_label_shape(self, label_shape: Sequence[int]) -> None:
        """Raise an error for a `label_shape` that the labels do not fit into."""
        if len(label_shape) != 2:
            raise ShapeError(f"{self._who}: label_shape must be (objects, width); got {label_shape!r}")
        objects, width = label_shape
        if objects < self.label_shape[0]:
            raise ShapeError(
                f"{self._who}: label_shape must have room for {self.label_shape[0]} objects at least; got {objects}"
            )
        if width != self.label_shape[1]:
            raise ShapeError(
                f"{self._who}: label_shape must have objects of {self.label_shape[1]} numbers; got {width}"
            )

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Give this iterator and another, such as that of the validation data, room for as many objects; return `it`.

        Parameters
        ----------
        it
            The other iterator.
        verbose
            Whether to log a change.
        """
        if not isinstance(it, ImageDetIter):
            raise ArgumentError(f"sync_label_shape: it must be an ImageDetIter; got {type(it).__name__}")
        if it.label_shape[1] != self.label_shape[1]:
            raise ShapeError(
                f"sync_label_shape: objects of both must have as many numbers; got {self.label_shape[1]} and "
                f"{it.label_shape[1]}"
            )
        shape = (max(self.label_shape[0], it.label_shape[0]), self.label_shape[1])
        for each in (self, it):
            if each.label_shape != shape:
                each.reshape(label_shape=shape)
                if verbose:
                    log().info("Resized label_shape to (%d, %d).", *shape)
        return it

    def draw_next(
        self,
        color: Colour | None = None,
        thickness: int = 2,
        mean: bool | np.ndarray | Sequence[float] | None = None,
        std: bool | np.ndarray | Sequence[float] | None = None,
        clip: bool = True,
        waitKey: int | None = None,
        window_name: str = "draw_next",
        id2labels: dict[int, str] | None = None,
    ) -> Iterator[np.ndarray]:
        """Yield the pictures that are left of the epoch, after augmentation, with their boxes drawn.

        Parameters
        ----------
        color
            Colour of the boxes, red, green, blue; by default one by chance for each.
        thickness
            Width of the lines.
        mean, std
            What augmentation subtracted, and divided by; True for ImageNet's. It is undone.
        clip
            Whether to limit the numbers to 0 to 255.
        waitKey
            For how many milliseconds to show each picture in a window, 0 until a key is pressed; None for no window.
            It takes an OpenCV with windows, not the headless one.
        window_name
            The window's name.
        id2labels
            Names of the classes, to be written beside the boxes.

        Yields
        ------
        numpy.ndarray
            A picture, (H, W, 3), uint8.
        """
        shower = None if waitKey is None else Shower(window_name, waitKey)
        while True:
            try:
                label, encoded = self.next_sample()
            except StopIteration:
                return
            try:
                picture, objects = self._sample(label, encoded)
            except LeftOut as error:
                log().debug("Invalid image, skipping: %s", error)
                continue
            image = drawn(picture.permute(1, 2, 0), objects, color, thickness, mean, std, clip, id2labels)
            if shower is not None:
                shower.show(image)
            yield image
