"""Batches for FeedForward from arrays, and arrays from batches again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np

from ..errors import ArgumentError, ParameterError, ShapeError
from ..executor import batch_axis
from ..io import DataDesc, NDArrayIter
from ..module.descs import read_descs
from ..ndarray import NDArray
from ..protocols import ArrayLike, DataSource
from ..symbol import Symbol

__all__ = [
    "BatchArrays",
    "Joined",
    "Source",
    "axes_of",
    "batches_of",
    "check_metric",
    "described",
    "join",
    "unpadded",
    "validation_batches",
]

#: An iterator over batches, or an array.
Source: TypeAlias = DataSource | NDArray | np.ndarray
#: A batch's array, or a list of several.
BatchArrays: TypeAlias = np.ndarray | list[np.ndarray]
#: One array, a list of several, or None for none.
Joined: TypeAlias = BatchArrays | None


def batches_of(
    who: str,
    symbol: Symbol,
    X: Source,
    y: ArrayLike | None,
    batch_size: int,
    *,
    labelled: bool = False,
    shuffle: bool = False,
    last_batch_handle: str = "pad",
) -> DataSource:
    """Return X if it is an iterator, else one over the arrays X and y.

    Parameters
    ----------
    who
        For messages.
    symbol
        The network whose arguments the arrays are for.
    X, y
        An iterator; or arrays with equal numbers of rows.
    batch_size
        For arrays; if they have fewer rows these are one batch.
    labelled
        Whether there must be labels.
    shuffle, last_batch_handle
        For `io.NDArrayIter`.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.LinearRegressionOutput(mx.sym.var("x_data"), mx.sym.var("target_label"))
    >>> data = batches_of("fit", net, np.ones((5, 2)), np.ones((5, 2)), batch_size=128)
    >>> data.batch_size, data.provide_data[0].name, data.provide_label[0].name
    (5, 'x_data', 'target_label')
    """
    if not isinstance(X, (np.ndarray, NDArray)):
        if not (hasattr(X, "provide_data") and hasattr(X, "__iter__")):
            raise ArgumentError(
                f"FeedForward.{who}: X must be an iterator, a NumPy array or an NDArray; got {type(X).__name__}"
            )
        return X
    if y is None and labelled:
        raise ParameterError(f"FeedForward.{who}: y must be given when X is an array; got None")
    if y is not None:
        y = y if isinstance(y, NDArray) else np.asarray(y)
        if X.shape[:1] != y.shape[:1]:
            raise ShapeError(
                f"FeedForward.{who}: X and y must have equal numbers of rows; got shapes {X.shape} and {y.shape}"
            )
        if len(y.shape) == 2 and y.shape[1] == 1:  # MXNet takes labels as a column too
            y = y.reshape((-1,))
    arguments = symbol.list_arguments()
    return NDArrayIter(
        X,
        y,
        batch_size=max(1, min([batch_size, *X.shape[:1]])),  # fewer rows than a batch need no padding
        shuffle=shuffle,
        last_batch_handle=last_batch_handle,
        data_name=_only_name(arguments, "data", "data"),
        label_name=_only_name(arguments, "label", "softmax_label"),
    )


def check_metric(metric: object) -> None:
    """Raise an error for labels where a metric is meant: the order of arguments is MXNet's, X and then the metric.

    >>> check_metric(np.zeros(4))
    Traceback (most recent call last):
    rebind.errors.ArgumentError: FeedForward.score: eval_metric must be a metric; got ndarray. Give labels by name: ...
    """
    numbers = isinstance(metric, (list, tuple)) and metric and isinstance(metric[0], (int, float))
    if numbers or isinstance(metric, (np.ndarray, NDArray)):
        raise ArgumentError(
            f"FeedForward.score: eval_metric must be a metric; got {type(metric).__name__}. Give labels by name: "
            "score(X, y=labels)."
        )


def validation_batches(
    symbol: Symbol, eval_data: Source | tuple[ArrayLike, ArrayLike] | None, batch_size: int
) -> DataSource | None:
    """Return an iterator for the validation: the given one, one over a pair of arrays, or None.

    >>> import rebind as mx
    >>> net = mx.sym.SoftmaxOutput(mx.sym.var("data"), name="softmax")
    >>> data = validation_batches(net, (np.ones((4, 3)), np.ones(4)), batch_size=2)
    >>> [desc.shape for desc in (*data.provide_data, *data.provide_label)]
    [(2, 3), (2,)]
    """
    if eval_data is None or hasattr(eval_data, "provide_data"):
        return cast("DataSource | None", eval_data)
    pair: object = eval_data
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        got = f"{len(pair)} items" if isinstance(pair, (tuple, list)) else type(pair).__name__
        raise ArgumentError(
            f"FeedForward.fit: eval_data must be an iterator or a pair of arrays (data, labels); got {got}"
        )
    X, y = (each if isinstance(each, NDArray) else np.asarray(each) for each in pair)
    # Shuffled, as in MXNet: the figures do not depend on it, but the random numbers that training then gets do.
    return batches_of("fit", symbol, X, y, batch_size, labelled=True, shuffle=True)


def _only_name(arguments: Sequence[str], end: str, usual: str) -> str:
    """Return which argument an array is for: the usual one, or else the only one with that ending."""
    found = [name for name in arguments if name.endswith(end)]
    return found[0] if usual not in arguments and len(found) == 1 else usual


def described(data: DataSource) -> tuple[list[DataDesc], list[DataDesc]]:
    """Return descriptions of an iterator's data and labels.

    >>> [desc.name for desc in described(NDArrayIter(np.ones((2, 1)), np.ones(2)))[1]]
    ['softmax_label']
    """
    labels = getattr(data, "provide_label", None)
    return read_descs(data.provide_data, "provide_data"), read_descs(labels, "provide_label")


def unpadded(arrays: Sequence[ArrayLike], descs: Sequence[DataDesc], pad: int) -> list[np.ndarray]:
    """Return a batch's arrays without the last `pad` samples.

    >>> unpadded([np.arange(3)], [DataDesc("data", (3,))], pad=1)
    [array([0, 1])]
    """
    values = []
    for value, axis in zip(arrays or (), axes_of(descs), strict=False):
        value = value.asnumpy() if isinstance(value, NDArray) else np.asarray(value)
        values.append(value.take(range(value.shape[axis] - pad), axis) if pad else value)
    return values


def axes_of(descs: Sequence[DataDesc]) -> list[int]:
    """Return the batch axis of each array.

    >>> axes_of([DataDesc("data", (5, 2, 3), layout="TNC")])
    [1]
    """
    return [max(batch_axis(desc.layout), 0) for desc in descs]


def join(batches: Sequence[Sequence[np.ndarray]], axes: Sequence[int]) -> Joined:
    """Join the arrays of all batches: one array, a list of several, or None for none.

    >>> join([[np.ones(2)], [np.zeros(1)]], axes=[0])
    array([1., 1., 0.])
    """
    joined = [
        np.concatenate(pieces, axis) for pieces, axis in zip(zip(*batches, strict=True), axes, strict=False)
    ]
    if not joined:
        return None
    return joined if len(joined) > 1 else joined[0]
