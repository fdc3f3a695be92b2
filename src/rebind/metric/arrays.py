"""Arrays and sums as metrics are given them: one or several, of NumPy or of a device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, overload

import numpy
import torch
from torch import Tensor
from typing_extensions import TypeVar

from ..errors import ArgumentError, NameLookupError, ShapeError, near_names
from ..ndarray import NDArray

__all__ = [
    "Array", "Arrays", "Count", "Joined", "Sum", "Total", "add", "as_list", "as_numpy", "as_pairs", "as_tensor",
    "check_label_shapes", "is_empty", "number", "pick", "read", "same_length", "together",
]  # fmt: skip

Array: TypeAlias = "NDArray | Tensor | numpy.ndarray"
Arrays: TypeAlias = "Array | Sequence[Array]"
#: The number of samples in a sum; a 0-d tensor where a number would have to be waited for.
Count: TypeAlias = "Tensor | float"
#: What a metric's own `merge` joins: a (named) tuple of tensors and numbers.
Joined: TypeAlias = "tuple[Tensor | tuple[Tensor, ...] | float | None, ...]"
#: What a metric sums up.
Total: TypeAlias = "Tensor | numpy.ndarray | NDArray | float | Joined"
#: The kind of sum of one metric; a program's own metric need not name it.
Sum = TypeVar("Sum", bound=Total, default=Any)
T = TypeVar("T")


@overload
def check_label_shapes(
    labels: Arrays, preds: Arrays, wrap: Literal[True], shape: bool = False
) -> tuple[list[Array], list[Array]]: ...


@overload
def check_label_shapes(
    labels: Arrays, preds: Arrays, wrap: bool = False, shape: bool = False
) -> tuple[Arrays, Arrays]: ...


def check_label_shapes(
    labels: Arrays, preds: Arrays, wrap: bool = False, shape: bool = False
) -> tuple[Arrays, Arrays]:
    """Check that there are as many labels as predictions or, with `shape`, that they have the same shape.

    Parameters
    ----------
    labels, preds
        Arrays or lists of them.
    wrap
        Whether to put single arrays into lists first.
    shape
        Whether to compare shapes instead of lengths.

    Returns
    -------
    tuple
        `labels` and `preds`, as lists with `wrap`.

    Raises
    ------
    ShapeError
        When they differ.

    Examples
    --------
    >>> check_label_shapes(torch.zeros(2), torch.zeros(2, 3), wrap=True)
    ([tensor([0., 0.])], [tensor([[0., 0., 0.],
            [0., 0., 0.]])])
    """
    if wrap:
        labels, preds = as_list(labels), as_list(preds)
    counts = (
        (labels.shape, preds.shape)  # type: ignore[union-attr]  # for arrays only
        if shape
        else (len(labels), len(preds))
    )
    if counts[0] != counts[1]:
        raise ShapeError(
            f"metric: there must be a prediction for each label; got {counts[0]} labels and {counts[1]} predictions"
        )
    return labels, preds


def as_tensor(value: Array | Sequence[float] | float) -> Tensor:
    """Return the tensor of an NDArray, or one that shares memory with a NumPy array.

    >>> as_tensor([1, 2])
    tensor([1, 2])
    """
    if isinstance(value, NDArray):
        return value.tensor
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (numpy.ndarray, list, tuple, int, float)):
        return torch.as_tensor(numpy.asarray(value))
    raise ArgumentError(f"metric: a label or prediction must be an array; got {type(value).__name__}")


def same_length(label: Tensor, pred: Tensor, who: str) -> None:
    """Raise a ShapeError unless there is a label for each row of predictions.

    >>> same_length(torch.zeros(2), torch.zeros(3, 4), "ce")
    Traceback (most recent call last):
    rebind.errors.ShapeError: ce: there must be one label for each row of predictions; ...
    """
    if label.numel() != pred.shape[0]:
        raise ShapeError(
            f"{who}: there must be one label for each row of predictions; "
            f"got labels {tuple(label.shape)} and predictions {tuple(pred.shape)}"
        )


def together(total: Tensor, more: Tensor) -> tuple[Tensor, Tensor]:
    """Return two sums on one device: that of the first, unless it is the CPU.

    A sum on another device is not copied to the CPU, since that would wait for it.

    >>> together(torch.tensor(1), torch.tensor(2))
    (tensor(1), tensor(2))
    """
    if total.device == more.device:
        return total, more
    if total.device.type == "cpu":
        return total.to(more.device), more
    return total, more.to(total.device)


def add(total: Count, more: Count) -> Count:
    """Add sums that are numbers or tensors, on one device or several.

    >>> add(0.0, torch.tensor(3))  # an empty sum has no type yet
    tensor(3)
    """
    # What most metrics add on the CPU.
    if isinstance(total, (int, float)) and isinstance(more, (int, float)):
        return total + more if total else more
    if is_empty(total):
        return more
    if is_empty(more):
        return total
    if isinstance(total, Tensor) and isinstance(more, Tensor):
        total, more = together(total, more)
    return total + more


def is_empty(total: Total) -> bool:
    """Whether nothing has been added to a sum.

    >>> is_empty(0.0), is_empty(torch.tensor(0))
    (True, False)
    """
    return isinstance(total, (int, float)) and total == 0


def number(value: Count) -> float:
    """Return a count as a number; this waits for the device.

    >>> number(torch.tensor(3))
    3
    """
    return value.item() if isinstance(value, Tensor) else value


def read(total: Sum | float) -> Sum | float:
    """Return a sum as `value` takes it: here, and nowhere earlier, its device is waited for.

    >>> read(torch.tensor(3)), read(torch.tensor([1, 2]))
    (3.0, tensor([1, 2]))
    """
    if isinstance(total, Tensor):
        return float(total) if total.ndim == 0 else total.cpu()  # type: ignore[return-value]  # a tensor again
    return float(total) if isinstance(total, (int, float, numpy.generic, numpy.ndarray, NDArray)) else total


def as_list(value: Arrays) -> list[Array]:
    """Return one or several arrays as a list.

    >>> as_list(numpy.array([1.0])), as_list((numpy.array([1.0]),))
    ([array([1.])], [array([1.])])
    """
    return list(value) if isinstance(value, (list, tuple)) else [value]  # type: ignore[list-item] # an array is no list


def as_pairs(labels: Arrays, preds: Arrays) -> list[tuple[Array, Array]]:
    """Return each label with its prediction; ShapeError where their numbers differ.

    >>> as_pairs(numpy.array([1.0]), [numpy.array([0.5])])
    [(array([1.]), array([0.5]))]
    """
    labels, preds = as_list(labels), as_list(preds)
    if len(labels) != len(preds):
        check_label_shapes(labels, preds)
    return list(zip(labels, preds, strict=True))


def as_numpy(value: Array | Sequence[float] | float) -> numpy.ndarray:
    """Return a copy of an NDArray, or another array as NumPy takes it.

    >>> as_numpy([1, 2])
    array([1, 2])
    """
    return value.asnumpy() if isinstance(value, NDArray) else numpy.asarray(value)


def pick(arrays: Mapping[str, T], names: Iterable[str] | None, who: str) -> list[T]:
    """Return the arrays with these names, or all of them.

    >>> pick({"fc_output": 1, "softmax_output": 2}, ["softmax_output"], "acc: output_names")
    [2]
    """
    if names is None:
        return list(arrays.values())
    for name in names:
        if name not in arrays:
            raise NameLookupError(
                f"{who}: no array {name!r}{near_names(name, arrays)} There are: {', '.join(arrays)}."
            )
    return [arrays[name] for name in names]
