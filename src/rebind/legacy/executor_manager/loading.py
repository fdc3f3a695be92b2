"""Copying the arrays of a batch to the devices, given as in MXNet: lists of slices and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ...errors import ShapeError
from ...executor.group.routing import Copy, Target, copy_all
from ...executor.group.split import Split, as_ndarray
from ...io import DataBatch
from ...ndarray import NDArray
from ...protocols import ArrayLike

__all__ = ["Targets"]

#: The target of each array of a batch: an array, or for each device its slice and the array for it.
Targets: TypeAlias = "Sequence[NDArray | Sequence[tuple[slice, NDArray]]]"


def _load_general(
    data: Sequence[ArrayLike],
    targets: Targets,
    major_axis: Sequence[int] | None = None,
    *,
    names: Sequence[str] | None = None,
) -> None:
    """Copy arrays to their targets, in the targets' types; nothing is copied unless all of it fits.

    Parameters
    ----------
    data
        The arrays of a batch.
    targets
        For each of them an array, or a list of ``(slice, array)``: the samples of each device.
    major_axis
        For each of them the axis that is split; -1: every device gets it whole. The first axis, when it is left out.
    names
        What to call them in errors.

    Examples
    --------
    >>> import rebind as mx
    >>> first, rest = mx.nd.zeros((1,)), mx.nd.zeros((2,))
    >>> _load_general([mx.nd.array([7, 8, 9])], [[(slice(0, 1), first), (slice(1, 3), rest)]])
    >>> rest.asnumpy()
    array([8., 9.], dtype=float32)
    """
    names = [f"array {i}" for i in range(len(targets))] if names is None else list(map(repr, names))
    if len(data) != len(targets):
        raise ShapeError(
            f"load_data_batch: the batch must hold {len(targets)} arrays, {', '.join(names)}; got {len(data)}"
        )
    axes = [0] * len(data) if major_axis is None else major_axis
    copies: list[Copy] = []
    for source, target, axis, name in zip(data, targets, axes, names, strict=True):
        whole, what = as_ndarray(source), f"load_data_batch: {name}"
        if isinstance(target, NDArray):
            # Not split: as one target that gets the whole array.
            copies.append(Target(what, -1, Split((slice(0, 0),)), [target]).copy_for(0, whole))
            continue
        split = Split(tuple(each for each, _ in target))
        # A slice, since an array may have too few axes: the message is the same.
        if axis >= 0 and whole.shape[axis : axis + 1] != (split.batch_size,):
            raise ShapeError(
                f"load_data_batch: the batch size must be {split.batch_size}, as it was bound; "
                f"{name} has shape {whole.shape}"
            )
        copies += Target(what, axis, split, [array for _, array in target]).copies(whole)
    copy_all(copies)


def _load_data(batch: DataBatch, targets: Targets, major_axis: Sequence[int] | None = None) -> None:
    """Copy the data of a batch to its targets; see `_load_general`."""
    _load_general(batch.data or (), targets, major_axis)


def _load_label(batch: DataBatch, targets: Targets, major_axis: Sequence[int] | None = None) -> None:
    """Copy the labels of a batch to their targets; see `_load_general`."""
    _load_general(batch.label or (), targets, major_axis)
