"""Batches for FeedForward from arrays, and arrays from batches again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias, cast

import numpy as np

from ..errors import ArgumentError, ParameterError, ShapeError
from ..executor import batch_axis
from ..io import DataDesc, NDArrayIter
from ..module.descs import read_descs
from ..module.sources import ArrayGroup, Trainable, arrays_of, as_source, is_arrays, is_pair
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

#: What `Module.fit` takes: an iterator, an array or several, or an iterable of batches.
Source: TypeAlias = Trainable
#: A batch's array, or a list of several.
BatchArrays: TypeAlias = np.ndarray | list[np.ndarray]
#: One array, a list of several, or None for none.
Joined: TypeAlias = BatchArrays | None


def batches_of(
    who: str,
    symbol: Symbol,
    X: Source,
    y: ArrayGroup | None,
    batch_size: int,
    *,
    labelled: bool = False,
    shuffle: bool = False,
    last_batch_handle: str = "pad",
    name: str = "X",
) -> DataSource:
    """Return X if it is an iterator, else one over the arrays X and y, or over an iterable's batches.

    Parameters
    ----------
    who
        For messages.
    symbol
        The network whose arguments the arrays are for.
    X, y
        An iterator; arrays with equal numbers of rows, each one or a list or a dict of several; or an iterable of
        batches ``(x, y)``, such as a `torch.utils.data.DataLoader`.
    batch_size
        For arrays; if they have fewer rows these are one batch.
    labelled
        Whether there must be labels.
    shuffle, last_batch_handle
        For `io.NDArrayIter`.
    name
        What X is called in messages.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.LinearRegressionOutput(mx.sym.var("x_data"), mx.sym.var("target_label"))
    >>> data = batches_of("fit", net, np.ones((5, 2)), np.ones((5, 2)), batch_size=128)
    >>> data.batch_size, data.provide_data[0].name, data.provide_label[0].name
    (5, 'x_data', 'target_label')
    """
    if hasattr(X, "provide_data") and hasattr(X, "__iter__"):
        return cast(DataSource, X)
    if y is None and is_pair(X):
        X, y = X
    inputs = _inputs(symbol, X)
    if not is_arrays(X):
        return as_source(X, f"FeedForward.{who}: {name}", inputs, y=y, labelled=labelled)
    if y is None and labelled:
        raise ParameterError(f"FeedForward.{who}: y must be given when X is an array; got None")
    data = arrays_of(X, inputs.data_names, f"FeedForward.{who}: {name}", "inputs")
    labels = {} if y is None else arrays_of(_array(y), inputs.label_names, f"FeedForward.{who}: y", "labels")
    shapes = [tuple(each.shape) for each in (*data.values(), *labels.values())]
    if len({shape[:1] for shape in shapes}) > 1:
        raise ShapeError(
            f"FeedForward.{who}: X and y must have equal numbers of rows; got shapes {' and '.join(map(str, shapes))}"
        )
    return NDArrayIter(
        data,
        {name: _uncolumned(value) for name, value in labels.items()} or None,
        batch_size=max(1, min([batch_size, *shapes[0][:1]])),  # fewer rows than a batch need no padding
        shuffle=shuffle,
        last_batch_handle=last_batch_handle,
    )


class _Inputs(NamedTuple):
    """The names of inputs and labels, as `module.sources` asks a module for them."""

    data_names: list[str]
    label_names: list[str]


def _inputs(symbol: Symbol, X: Source) -> _Inputs:
    """Return which arguments the data and the labels are for.

    A dict of arrays names its own. One array is for the usual argument, or the only one with that ending; several, and
    the arrays of a batch, are for all with that ending.
    """
    arguments = symbol.list_arguments()

    def named(end: str, usual: str) -> list[str]:
        found = [name for name in arguments if name.endswith(end)]
        if usual in arguments and not isinstance(X, list) and is_arrays(X):
            return [usual]
        return found or [usual]

    data = list(X) if isinstance(X, Mapping) else named("data", "data")
    return _Inputs(data, named("label", "softmax_label"))


def _array(y: ArrayGroup) -> ArrayGroup:
    """Return labels as arrays: a list of numbers is one."""
    return y if is_arrays(y) else np.asarray(y)


def _uncolumned(label: NDArray | np.ndarray) -> NDArray | np.ndarray:
    """Return a label without its second axis, where that is one column: MXNet takes it so too."""
    return label.reshape((-1,)) if len(label.shape) == 2 and label.shape[1] == 1 else label


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
    symbol: Symbol, eval_data: Source | tuple[ArrayGroup, ArrayGroup] | None, batch_size: int
) -> DataSource | None:
    """Return an iterator for the validation: the given one, one over a pair of arrays or an iterable, or None.

    >>> import rebind as mx
    >>> net = mx.sym.SoftmaxOutput(mx.sym.var("data"), name="softmax")
    >>> data = validation_batches(net, (np.ones((4, 3)), np.ones(4)), batch_size=2)
    >>> [desc.shape for desc in (*data.provide_data, *data.provide_label)]
    [(2, 3), (2,)]
    """
    if eval_data is None or hasattr(eval_data, "provide_data"):
        return cast("DataSource | None", eval_data)
    given: object = eval_data
    alone = is_arrays(given) and not isinstance(given, list)
    if alone or (isinstance(given, tuple) and len(given) != 2):
        got = f"{type(given).__name__} without labels" if alone else f"{len(cast(tuple, given))} items"
        raise ArgumentError(
            "FeedForward.fit: eval_data must be an iterator, an iterable of batches, or a pair of arrays (data, "
            f"labels); got {got}"
        )
    X, y = given, None
    # MXNet takes a list of two for a pair as well, and lists of numbers for arrays.
    if isinstance(given, (tuple, list)) and len(given) == 2 and not any(map(_is_item, given)):
        X, y = (_array(each) for each in given)
    # Shuffled, as in MXNet: the figures do not depend on it, but the random numbers that training then gets do.
    return batches_of(
        "fit", symbol, cast(Source, X), y, batch_size, labelled=True, shuffle=True, name="eval_data"
    )


def _is_item(value: object) -> bool:
    """Return whether this is a batch, rather than an array or a list of numbers."""
    return (hasattr(value, "data") and not is_arrays(value)) or isinstance(value, tuple)


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
