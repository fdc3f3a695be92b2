"""What the pieces of a training run ask of each other, and of objects that a user brings along.

A user's own batch, data source or metric need not derive from a class of rebind: it needs these attributes.

>>> from types import SimpleNamespace
>>> is_resumable(SimpleNamespace(state_dict=dict, load_state_dict=print)), is_resumable(print)
(True, False)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias, TypeGuard

import numpy as np

from .dtypes import DTypeLike
from .ndarray import NDArray
from .shapes import Shape

__all__ = [
    "ArrayDict",
    "ArrayLike",
    "Batch",
    "Callback",
    "DataSource",
    "InputDesc",
    "Labels",
    "Logger",
    "Metric",
    "Resumable",
    "ShapeSpec",
    "StateTree",
    "is_resumable",
]

#: An array that a user gives: an NDArray, or what NumPy makes an array of.
ArrayLike: TypeAlias = "NDArray | np.ndarray | Sequence[float]"

#: The labels of a batch; or, already sliced, a list of them for each device.
Labels: TypeAlias = "Sequence[ArrayLike] | Sequence[Sequence[ArrayLike]]"

#: A name and a shape; an `io.DataDesc` is one that knows type and layout too.
ShapeSpec: TypeAlias = tuple[str, Sequence[int]]

#: Parameters, or auxiliary states, by name.
ArrayDict: TypeAlias = dict[str, NDArray]

#: What `checkpoint` can write: dicts, lists and tuples of arrays, numbers, strings, bytes and None.
StateTree: TypeAlias = Mapping[str, object]


class InputDesc(Protocol):
    """The description of one input; `io.DataDesc` is one.

    >>> from rebind.io import DataDesc
    >>> desc: InputDesc = DataDesc("words", (20, 8), "int32", layout="TN")
    >>> desc.name, desc.shape, desc.layout
    ('words', (20, 8), 'TN')
    """

    @property
    def name(self) -> str:
        """The name of the network's input."""

    @property
    def shape(self) -> Shape:
        """Its shape, batch axis included."""

    @property
    def dtype(self) -> DTypeLike:
        """The type of its elements."""

    @property
    def layout(self) -> str | None:
        """A letter for each axis; ``N`` is the batch axis."""


class Batch(Protocol):
    """The arrays of one batch.

    `data` is all that is needed. `label`, `pad`, `index`, `bucket_key`, `provide_data` and `provide_label` are read
    where a batch has them; `io.DataBatch` has all.
    """

    @property
    def data(self) -> Sequence[NDArray]:
        """The inputs, in the order of the module's data shapes.

        >>> from rebind import io, nd
        >>> io.DataBatch([nd.ones((2, 3))]).data[0].shape
        (2, 3)
        """


class DataSource(Protocol):
    """What `fit` trains on: batches, and the shapes to bind to.

    `reset`, `provide_label`, `state_dict` and `load_state_dict` are used where a source has them.
    """

    @property
    def provide_data(self) -> Sequence[ShapeSpec]:
        """The shapes of the inputs.

        >>> from rebind import io, nd
        >>> data = io.NDArrayIter(nd.ones((8, 3)), batch_size=2)
        >>> name, shape = data.provide_data[0]
        >>> name, shape
        ('data', (2, 3))
        """

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches of an epoch."""


class Metric(Protocol):
    """What measures outputs against labels; `metric.EvalMetric` is the one that rebind's own derive from.

    >>> class Zeros:  # counts outputs that are zero
    ...     def reset(self):
    ...         self.count = 0
    ...
    ...     def update_dict(self, label, pred):
    ...         self.count += sum(int((output == 0).sum().item()) for output in pred.values())
    ...
    ...     def get_name_value(self):
    ...         return [("zeros", self.count)]
    >>> from rebind import nd
    >>> metric: Metric = Zeros()
    >>> metric.reset()
    >>> metric.update_dict({}, {"relu_output": nd.array([0, 3, 0])})
    >>> metric.get_name_value()
    [('zeros', 2)]
    """

    def update_dict(self, label: Mapping[str, NDArray], pred: Mapping[str, NDArray]) -> None:
        """Add a batch.

        >>> from rebind import metric, nd
        >>> mse = metric.MSE()
        >>> mse.update_dict({"lro_label": nd.array([1, 4])}, {"lro_output": nd.array([1, 2])})
        >>> mse.get_name_value()
        [('mse', 2.0)]
        """

    def reset(self) -> None:
        """Start over.

        >>> from rebind import metric, nd
        >>> loss = metric.Loss()
        >>> loss.update_dict({}, {"loss_output": nd.array([2, 4])})
        >>> loss.reset()
        >>> loss.num_inst
        0
        """

    def get_name_value(self) -> list[tuple[str, float]]:
        """Return what was measured since the last reset."""


class Logger(Protocol):
    """Where messages go: the `logging` module or one of its loggers."""

    def info(self, msg: object, /, *args: object) -> None:
        """Log a message; `args` are put into its ``%`` marks."""

    def warning(self, msg: object, /, *args: object) -> None:
        """Log a warning."""


class Resumable(Protocol):
    """What a checkpoint of a training run saves and restores."""

    def state_dict(self) -> StateTree:
        """Return the state as a tree of arrays, numbers and strings.

        >>> from rebind.lr_scheduler import FactorScheduler
        >>> FactorScheduler(step=10, base_lr=0.5).state_dict()["base_lr"]
        0.5
        """

    def load_state_dict(self, state: StateTree, /) -> None:
        """Continue from a state that `state_dict` returned.

        >>> from rebind.lr_scheduler import FactorScheduler
        >>> schedule = FactorScheduler(step=10)
        >>> schedule.load_state_dict(FactorScheduler(step=10, base_lr=0.5).state_dict())
        >>> schedule.base_lr
        0.5
        """


def is_resumable(found: object) -> TypeGuard[Resumable]:
    """Return whether something has a state to save and restore; attributes that it forwards count too.

    >>> is_resumable(print)
    False
    """
    return hasattr(found, "state_dict") and hasattr(found, "load_state_dict")


#: Called after an epoch as ``(epoch, symbol, arg_params, aux_params)``, after a batch or an evaluation with one record.
#: What it returns is not used.
Callback: TypeAlias = Callable[..., object]
