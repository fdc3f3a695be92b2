"""Arrays, PyTorch's loaders and other iterables as sources of batches for `fit`, `score` and `predict`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from itertools import chain
from operator import length_hint
from typing import Protocol, TypeAlias, TypeGuard, cast

import numpy as np
import torch
from torch.utils.data import TensorDataset

from ..checks import COUNT, check_kind
from ..errors import ArgumentError, MXNetError, NameLookupError, ParameterError
from ..io import DataBatch, DataDesc, DataIter, NDArrayIter
from ..io.fingerprint import fingerprint_of
from ..io.iterator import State
from ..io.ndarray_iter import SampleArray
from ..ndarray import NDArray, array
from ..protocols import Batch, DataSource, is_resumable
from .batches import AnyBatch, is_sliced, labels_of, once
from .training_run import random_state, set_random_state

__all__ = [
    "ArrayGroup", "BatchSource", "Names", "Trainable", "arrays_of", "as_source", "is_arrays", "is_pair",
    "named_batch", "names_of",
]  # fmt: skip

OneArray: TypeAlias = "NDArray | np.ndarray | torch.Tensor | SampleArray"
#: An array; or one for each of several inputs, in their order or by name.
ArrayGroup: TypeAlias = "OneArray | Sequence[OneArray] | Mapping[str, OneArray]"
#: What a batch of an iterable may be: ``(x, y)``, a dict by name, an array, or a batch of `io`.
Item: TypeAlias = "AnyBatch | ArrayGroup | tuple[ArrayGroup, ArrayGroup]"
#: What `fit` trains on.
Trainable: TypeAlias = "DataSource | ArrayGroup | tuple[ArrayGroup, ArrayGroup] | Iterable[Item]"


#: How many batches of a list are read for its fingerprint.
_FEW = 8


class Names(Protocol):
    """A module, as far as it names inputs and labels."""

    @property
    def data_names(self) -> Sequence[str]:
        """The names of the inputs."""


def names_of(module: Names) -> tuple[list[str], list[str]]:
    """Return the names of a module's inputs and labels, MXNet's usual ones where it does not know them.

    >>> import rebind as mx
    >>> names_of(mx.mod.Module(mx.sym.SoftmaxOutput(mx.sym.var("x"), name="out"), ["x"], ["out_label"]))
    (['x'], ['out_label'])
    """

    def names(attribute: str, usual: str) -> list[str]:
        try:
            found = getattr(module, attribute, None)
        except MXNetError:
            found = None
        return [usual] if found is None else list(found)

    labels = names("label_names", "softmax_label")
    symbol = getattr(module, "symbol", None)
    if symbol is not None:  # a module made with the usual `label_names` may have a network without labels
        arguments = set(symbol.list_arguments())
        labels = [name for name in labels if name in arguments]
    return names("data_names", "data"), labels


def as_source(
    given: Trainable,
    who: str,
    module: Names,
    *,
    y: ArrayGroup | None = None,
    batch_size: int = 32,
    shuffle: bool = False,
    labelled: bool = True,
) -> DataSource:
    """Return a source of batches: the given one, or one over arrays or an iterable.

    Parameters
    ----------
    given
        A source; arrays ``x`` or ``(x, y)``, where each may be a list or a dict for several inputs; or an iterable of
        batches, such as a `torch.utils.data.DataLoader`.
    who
        For messages: ``'fit: train_data'``.
    module
        Which inputs and labels there are.
    y
        The labels of arrays.
    batch_size, shuffle
        For arrays.
    labelled
        Whether arrays must have labels, where the network takes some.

    Examples
    --------
    >>> import rebind as mx
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(mx.sym.var("data"), name="softmax"))
    >>> source = as_source((np.ones((5, 3)), np.zeros(5)), "fit: train_data", module, batch_size=2)
    >>> [(name, shape) for name, shape in (*source.provide_data, *source.provide_label)]
    [('data', (2, 3)), ('softmax_label', (2,))]
    """
    if is_pair(given):
        if y is not None:
            raise ArgumentError(f"{who}: labels are given twice: in the pair (x, y), and as y")
        given, y = given
    data_names, label_names = names_of(module)
    if is_arrays(given):
        data = arrays_of(given, data_names, who, "inputs")
        if y is None and labelled and label_names and not set(label_names) & set(data):
            raise ArgumentError(
                f"{who}: arrays need labels for {', '.join(map(repr, label_names))}; give (x, y), or x and y=..."
            )
        labels = None if y is None else arrays_of(y, label_names, who, "labels")
        check_kind(who, COUNT, batch_size=batch_size)
        # No larger than the data: the rest would be padding.
        size = min([batch_size, *(int(each.shape[0]) for each in data.values() if each.shape)])
        return NDArrayIter(data, labels, batch_size=max(size, 1), shuffle=shuffle)
    if y is not None:
        raise ArgumentError(f"{who}: y is for arrays; {type(given).__name__} has labels of its own")
    if hasattr(given, "provide_data"):
        return cast(DataSource, given)
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise ArgumentError(
            f"{who} must be an iterator with provide_data and provide_label, arrays (x, y), or an iterable of batches "
            f"(x, y); got {type(given).__name__}"
        )
    return BatchSource(cast("Iterable[Item]", given), data_names, label_names, who)


class BatchSource(DataIter):
    """Batches from an iterable: a PyTorch loader, a list, a generator.

    A batch may be ``(x, y)``, where each may be a list or a dict for several inputs; a dict with inputs and labels by
    name; one array; or a batch of `io`. Arrays become float32, as with `io.NDArrayIter`; NDArrays are left as they are.

    The position is saved with a run where the iterable has `state_dict` and `load_state_dict`. Otherwise a run resumes
    by reading up to it, with the random numbers that the epoch began with.

    Parameters
    ----------
    source
        What yields the batches; each epoch iterates it again.
    data_names, label_names
        The names of inputs and labels.
    who
        For messages.

    Examples
    --------
    >>> batches = BatchSource([([1, 2], [0, 1]), ([3, 4], [1, 1])], ["data"], ["softmax_label"])
    >>> batches.provide_data
    [DataDesc[data,(2,),<class 'numpy.float32'>,NCHW]]
    >>> [batch.label[0].asnumpy().tolist() for batch in batches]
    [[0.0, 1.0], [1.0, 1.0]]
    """

    def __init__(
        self,
        source: Iterable[Item],
        data_names: Sequence[str],
        label_names: Sequence[str],
        who: str = "fit: train_data",
    ) -> None:
        super().__init__()
        self._source, self._who = source, who
        self._data_names, self._label_names = list(data_names), list(label_names)
        self._iterator: Iterator[Item] | None = None
        self._started: Iterator[Item] | None = None  # what the first epoch of a stream reads
        self._provided: tuple[list[DataDesc], list[DataDesc]] | None = None

    def __len__(self) -> int:
        return len(cast(Sized, self._source))  # a TypeError where the iterable does not know

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of the first batch's data."""
        return self._described()[0]

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of the first batch's labels."""
        return self._described()[1]

    def _described(self) -> tuple[list[DataDesc], list[DataDesc]]:
        if self._provided is None:
            batch = self._read(self._first())
            whole = cast(DataBatch, batch[0] if isinstance(batch, (list, tuple)) else batch)
            self._provided = (
                _descs(self._data_names, whole.data),
                _descs(self._label_names, whole.label or ()),
            )
            self.batch_size = self._provided[0][0].shape[0] if self._provided[0] else 0
        return self._provided

    def _first(self) -> Item:
        """Return the first batch without using it up."""
        # A loader that shuffles draws its order when it is iterated: the first epoch must draw what it would have.
        state = random_state()
        iterator = iter(self._source)
        try:
            found = next(iterator)
        except StopIteration:
            raise ParameterError(f"{self._who} must yield at least one batch; got none") from None
        set_random_state(state)
        # What has no length may be a stream, which cannot be read again: what was taken comes first in the epoch.
        if length_hint(self._source, -1) < 0:
            self._started = chain([found], once(iterator))
        return found

    def fingerprint(self) -> str | None:
        """Return a hash of some samples of a list of batches, or of the tensors behind a loader; None for others.

        >>> BatchSource([(np.ones(2), np.zeros(2))], ["data"], ["softmax_label"]).fingerprint() is None
        False
        """
        dataset = getattr(self._source, "dataset", None)
        if isinstance(dataset, TensorDataset):
            return fingerprint_of((str(i), each) for i, each in enumerate(dataset.tensors))
        if not isinstance(self._source, (list, tuple)) or not self._source:
            return None
        found = []
        for i in sorted({len(self._source) * k // _FEW for k in range(_FEW)}):
            batch = self._read(self._source[i])
            if is_sliced(batch):
                return None
            labels = labels_of(cast(Batch, batch))
            arrays = (*cast(Batch, batch).data, *labels)
            found += [(f"{i}", tensor) for each in arrays for tensor in each.storage.tensors.values()]
        return fingerprint_of(found)

    def reset(self) -> None:
        """Begin a new epoch."""
        if hasattr(self._source, "reset"):
            self._source.reset()
            self._started = None
        self._iterator = None

    def next(self) -> DataBatch:
        """Return the next batch; StopIteration at the end."""
        if self._iterator is None:
            self._iterator, self._started = self._started or iter(self._source), None
        return cast(DataBatch, self._read(next(self._iterator)))

    def state_dict(self) -> State:
        """Return the position, where the iterable can report it."""
        if not is_resumable(self._source):
            raise NotImplementedError(f"{type(self._source).__name__} has no state_dict")
        return {"source": self._source.state_dict()}

    def load_state_dict(self, state: State) -> None:
        """Go back to a position that `state_dict` returned."""
        if is_resumable(self._source):
            self._source.load_state_dict(state["source"])
        self._iterator = self._started = None

    def _read(self, item: Item) -> AnyBatch:
        """Return what the iterable yielded as a batch."""
        if _is_batch(item) or (isinstance(item, (list, tuple)) and item and all(map(_is_batch, item))):
            return cast(AnyBatch, item)
        if isinstance(item[0] if isinstance(item, (list, tuple)) and item else item, (int, float)):
            raise ParameterError(
                f"{self._who}: must hold arrays; got lists of numbers. Make an array of them first: numpy.array(...)"
            )
        inputs, labels = self._split(item)
        return DataBatch(
            inputs,
            labels,
            pad=0,
            provide_data=_descs(self._data_names, inputs),
            provide_label=_descs(self._label_names, labels),
        )

    def _split(self, item: Item) -> tuple[list[NDArray], list[NDArray]]:
        """Return the inputs and the labels, in the order of their names."""
        names, label_names = self._data_names, self._label_names
        if isinstance(item, Mapping):
            named = {**item}
            present = [name for name in label_names if name in named]
            return self._group(named, names), self._group(named, present)
        if isinstance(item, (list, tuple)):
            # ``(inputs, labels)``, one of them a group of several arrays.
            groups = len(item) == 2 and any(isinstance(each, (list, tuple, Mapping)) for each in item)
            if not groups and len(item) == len(names) + len(label_names):  # one array after the other
                return self._group(item[: len(names)], names), self._group(item[len(names) :], label_names)
            if len(item) == 2 and (groups or len(names) == 1):
                return self._group(item[0], names), self._group(item[1], label_names)
            if len(item) == len(names):
                return self._group(item, names), []
            raise ParameterError(
                f"{self._who}: a batch must be (x, y), or have an array for each of "
                f"{', '.join([*names, *label_names])}; got {len(item)} arrays"
            )
        return self._group(item, names), []

    def _group(self, given: object, names: Sequence[str]) -> list[NDArray]:
        """Return the arrays for `names`."""
        if isinstance(given, Mapping):
            missing = [name for name in names if name not in given]
            if missing:
                raise NameLookupError(
                    f"{self._who}: a batch must have {missing[0]!r}; got {', '.join(map(repr, given))}"
                )
            return [_as_array(given[name]) for name in names]
        # A list of numbers is one array, a list of arrays one for each name.
        if (
            isinstance(given, (list, tuple))
            and len(given) == len(names)
            and (len(names) > 1 or _is_array(given[0]))
        ):
            return [_as_array(each) for each in given]
        if len(names) > 1:
            raise ParameterError(
                f"{self._who}: a batch must have an array for each of {', '.join(names)}; got {type(given).__name__}. "
                "Give a list or a dict."
            )
        return [_as_array(given)] if names else []


def is_arrays(given: object) -> TypeGuard[ArrayGroup]:
    """Return whether this is an array, or a list or a dict of arrays.

    >>> is_arrays(np.ones(3)), is_arrays({"x": torch.ones(3)}), is_arrays([(np.ones(2), np.ones(2))])
    (True, True, False)
    """
    if isinstance(given, Mapping):
        return bool(given) and all(map(_is_array, given.values()))
    if isinstance(given, list):
        return bool(given) and all(map(_is_array, given))
    return _is_array(given)


def is_pair(given: object) -> TypeGuard[tuple[ArrayGroup, ArrayGroup]]:
    """Return whether this is a pair ``(x, y)`` of arrays, or of lists or dicts of them.

    >>> is_pair((np.ones(3), {"y": np.ones(3)})), is_pair([np.ones(3), np.ones(3)])
    (True, False)
    """
    return isinstance(given, tuple) and len(given) == 2 and all(map(is_arrays, given))


def arrays_of(
    given: ArrayGroup, names: Sequence[str], who: str, what: str
) -> dict[str, NDArray | np.ndarray]:
    """Return arrays by the names of what they are for.

    >>> list(arrays_of([np.ones(2), np.ones(2)], ["left", "right"], "predict", "inputs"))
    ['left', 'right']
    """
    if isinstance(given, Mapping):
        return {name: _plain(value) for name, value in given.items()}
    values = given if isinstance(given, list) else [given]
    if len(values) != len(names):
        raise ParameterError(
            f"{who}: there must be an array for each of the {what} {', '.join(names) or '(none)'}; got {len(values)}. "
            "Give a list or a dict."
        )
    return {name: _plain(cast(OneArray, value)) for name, value in zip(names, values, strict=True)}


def named_batch(named: Mapping[str, NDArray | np.ndarray], names: Sequence[str], who: str) -> DataBatch:
    """Return a batch of arrays, in the order of `names`.

    >>> named_batch({"b": np.ones(2), "a": np.zeros(3)}, ["a", "b"], "predict")
    DataBatch: data shapes: [(3,), (2,)] label shapes: None
    """
    missing = [name for name in names if name not in named]
    if missing:
        raise NameLookupError(f"{who} must have {missing[0]!r}; got {', '.join(map(repr, named))}")
    values = [named[name] for name in names]
    return DataBatch([value if isinstance(value, NDArray) else array(value) for value in values])


def _is_array(value: object) -> bool:
    if isinstance(value, (NDArray, np.ndarray, torch.Tensor)):
        return True
    return hasattr(value, "__array__") and hasattr(value, "shape")


def _is_batch(item: object) -> TypeGuard[Batch]:
    return hasattr(item, "data") and not _is_array(item)


def _plain(value: OneArray) -> NDArray | np.ndarray:
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", torch.float32).numpy()
    return value if isinstance(value, NDArray) else np.asarray(value)


def _as_array(value: object) -> NDArray:
    if isinstance(value, NDArray):
        return value
    if isinstance(value, torch.Tensor):
        return NDArray(value.detach().to(dtype=torch.float32))
    return array(np.asarray(value), dtype=np.float32)


def _descs(names: Sequence[str], arrays: Sequence[NDArray]) -> list[DataDesc]:
    # A batch may lack labels, or have some that are not named.
    return [DataDesc(name, each.shape, each.dtype) for name, each in zip(names, arrays, strict=False)]
