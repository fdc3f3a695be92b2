"""Batches from arrays in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

import numpy as np
import torch

from ..checks import COUNT, FLAG, check_kind, refuses_unknown, warn_user
from ..device import current_device
from ..errors import ArgumentError, ParameterError, ShapeError
from ..ndarray import NDArray, array
from ..ops.storage_types import DENSE
from .batch import DataDesc
from .fingerprint import fingerprint_of, tensors_of
from .iterator import DataIter, State
from .samples import Samples, from_scipy, rows_at, rows_between, rows_on_demand

__all__ = ["ArrayData", "NDArrayIter", "named_arrays"]


class SupportsArray(Protocol):
    """What NumPy reads as an array."""

    def __array__(self) -> np.ndarray:
        """Return the array."""


#: Samples along the first axis: an array of NumPy or MXNet, or what reads as one (a dataset of h5py, a tensor).
SampleArray: TypeAlias = "NDArray | np.ndarray | SupportsArray"
ArrayData: TypeAlias = "SampleArray | Sequence[SampleArray] | Mapping[str, SampleArray]"

_HANDLES = ("pad", "discard", "roll_over")


class NDArrayIter(DataIter):
    """Batches of samples from arrays in memory, or from datasets of h5py.

    Batches of csr arrays are csr, as MXNet's documentation has it (its own are dense), with every `last_batch_handle`.
    Without shuffling, whole batches are views of dense arrays; others are gathered by one indexing call for each array.
    The order of shuffled samples is MXNet's: it comes from ``numpy.random``, whose seed decides it.

    Parameters
    ----------
    data, label
        An array, a list of arrays, or a dict from name to array; NumPy (becomes float32, as in MXNet), NDArray (type
        unchanged), or a sparse matrix of SciPy (becomes csr of float32). Arrays of a dict are in the order of their
        names. Of a dataset of h5py each batch reads its rows, as float32; when shuffled, it is read row by row.
    batch_size
        Samples in a batch.
    shuffle
        Whether to shuffle the samples, again at each `reset`.
    last_batch_handle
        What to do with samples that do not fill a batch: ``'pad'`` adds samples from the start, ``'discard'`` leaves
        them out, ``'roll_over'`` puts them at the start of the next epoch.
    data_name, label_name
        Names of arrays that are not in a dict; several of them get ``_0_`` and so on in front.
    layout
        Layout in `provide_data`.

    Raises
    ------
    ShapeError
        When the arrays have different numbers of samples, or none.

    Examples
    --------
    >>> import numpy as np
    >>> batches = NDArrayIter(np.arange(5), np.arange(5), batch_size=2)
    >>> [(batch.data[0].asnumpy().tolist(), batch.pad) for batch in batches]
    [([0.0, 1.0], 0), ([2.0, 3.0], 0), ([4.0, 0.0], 1)]
    """

    @refuses_unknown
    def __init__(
        self,
        data: ArrayData,
        label: ArrayData | None = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
        layout: str | None = "NCHW",
    ) -> None:
        super().__init__(batch_size)
        check_kind("NDArrayIter", COUNT, batch_size=batch_size)
        if last_batch_handle not in _HANDLES:
            warn_user(
                f"NDArrayIter: last_batch_handle must be one of {', '.join(map(repr, _HANDLES))}; "
                f"got {last_batch_handle!r}, which counts as 'discard', as in MXNet"
            )
            last_batch_handle = "discard"
        check_kind("NDArrayIter", FLAG, shuffle=shuffle)
        self.data = named_arrays(data, data_name, "data", required=True)
        self.label = named_arrays(label, label_name, "label", required=False)
        self.num_data = _common_length(self.data + self.label)
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.layout = layout
        self.cursor = -batch_size
        self.idx = np.arange(self.num_data)
        # Sample indices in the order of this epoch, None when it is that of the arrays; and those that the last
        # epoch left over, which come first. The cursor is negative until they are used up.
        self._order: torch.Tensor | None = None
        self._carried = torch.empty(0, dtype=torch.int64)
        self._provided = tuple(
            [
                DataDesc(
                    name,
                    (batch_size, *samples.shape[1:]),
                    samples.dtype if isinstance(samples, NDArray) else np.float32,
                    layout,
                )
                for name, samples in arrays
            ]
            for arrays in (self.data, self.label)
        )
        if shuffle:
            self._shuffle()

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of a batch's data."""
        return self._provided[0]

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of a batch's labels."""
        return self._provided[1]

    @property
    def data_list(self) -> list[Samples]:
        """All arrays, data before labels.

        >>> import numpy as np
        >>> [array.shape for array in NDArrayIter(np.zeros((10, 3)), np.zeros(10)).data_list]
        [(10, 3), (10,)]
        """
        return [samples for _, samples in self.data + self.label]

    @property
    def num_source(self) -> int:
        """Number of arrays.

        >>> import numpy as np
        >>> NDArrayIter(np.zeros((10, 3)), np.zeros(10)).num_source
        2
        """
        return len(self.data) + len(self.label)

    def fingerprint(self) -> str | None:
        """Return a hash of names, shapes, types and some samples of the arrays; their order in an epoch does not count.

        >>> import numpy as np
        >>> one, same, other = (NDArrayIter(np.full((10, 3), value)) for value in (0, 0, 1))
        >>> one.fingerprint() == same.fingerprint(), one.fingerprint() == other.fingerprint()
        (True, False)
        """
        arrays = [(name, each) for name, each in self.data + self.label if isinstance(each, NDArray)]
        if len(arrays) < self.num_source:
            return None  # to sample rows that are read on demand would read all over a file
        return fingerprint_of(pair for name, each in arrays for pair in tensors_of(name, each))

    def reset(self) -> None:
        """Begin a new epoch; samples left over by ``'roll_over'`` come first in it.

        >>> import numpy as np
        >>> batches = NDArrayIter(np.arange(3), batch_size=2, last_batch_handle="roll_over")
        >>> [batch.data[0].asnumpy().tolist() for batch in batches]
        [[0.0, 1.0]]
        >>> batches.reset()
        >>> [batch.data[0].asnumpy().tolist() for batch in batches]
        [[2.0, 0.0], [1.0, 2.0]]
        """
        # Only an epoch that ended short of a full batch leaves samples over; one that was broken off does not.
        if self.last_batch_handle == "roll_over" and (
            self.num_data - self.batch_size < self.cursor < self.num_data
        ):
            self._carried = self._indices_between(self.cursor, self.num_data)
        else:
            self._carried = self._carried[:0]
        self.cursor = -len(self._carried) - self.batch_size
        if self.shuffle:
            self._shuffle()

    def hard_reset(self) -> None:
        """Begin a new epoch without what the last one left over.

        >>> import numpy as np
        >>> batches = NDArrayIter(np.arange(3), batch_size=2, last_batch_handle="roll_over")
        >>> _ = list(batches)
        >>> batches.hard_reset()
        >>> batches.next().data[0].asnumpy().tolist()
        [0.0, 1.0]
        """
        self._carried = self._carried[:0]
        self.cursor = -self.batch_size
        if self.shuffle:
            self._shuffle()

    def iter_next(self) -> bool:
        if not self._is_done():
            self.cursor += self.batch_size
        return not self._is_done()

    def getdata(self) -> list[NDArray]:
        return self._take(self.data)

    def getlabel(self) -> list[NDArray]:
        return self._take(self.label)

    def getpad(self) -> int:
        """Return how many samples of the current batch are padding, or count to the epoch before."""
        if self.last_batch_handle == "pad":
            return max(0, self.cursor + self.batch_size - self.num_data)
        # A negative cursor: the batch begins with samples of the last epoch. At -batch_size none has been read yet.
        if self.last_batch_handle == "roll_over" and self.cursor > -self.batch_size:
            return max(0, -self.cursor)
        return 0

    def state_dict(self) -> State:
        """Return the position in the data; what is random in later epochs comes from ``numpy.random``.

        Examples
        --------
        >>> import numpy as np
        >>> first, second = (NDArrayIter(np.arange(6), batch_size=2, shuffle=True) for _ in range(2))
        >>> _ = first.next()
        >>> second.load_state_dict(first.state_dict())
        >>> bool((first.next().data[0].asnumpy() == second.next().data[0].asnumpy()).all())
        True
        """
        return {
            "num_data": self.num_data,
            "batch_size": self.batch_size,
            "cursor": self.cursor,
            "idx": self.idx,  # none of the three is ever written into, so they need no copies
            "order": None if self._order is None else self._order.numpy(),
            "carried": self._carried.numpy(),
        }

    def load_state_dict(self, state: State) -> None:
        """Go back to a position that `state_dict` returned, of an iterator over as many samples."""
        for name in ("num_data", "batch_size"):
            if state[name] != getattr(self, name):
                raise ParameterError(
                    f"NDArrayIter.load_state_dict: {name} must be that of the saved position, {state[name]}; "
                    f"got {getattr(self, name)}"
                )
        self.cursor = int(state["cursor"])
        self.idx = np.array(state["idx"])
        self._order = None if state["order"] is None else torch.from_numpy(np.array(state["order"]))
        self._carried = torch.from_numpy(np.array(state["carried"]))

    def _is_done(self) -> bool:
        if self.last_batch_handle == "pad":
            return self.cursor >= self.num_data
        return self.cursor + self.batch_size > self.num_data

    def _shuffle(self) -> None:
        # MXNet shuffles `idx` in place and applies it to the already shuffled samples; only the same
        # composition gives the same order from the second epoch on.
        self.idx = self.idx.copy()  # a saved state holds the old one
        np.random.shuffle(self.idx)
        step = torch.from_numpy(self.idx)
        self._order = step if self._order is None else self._order[step]

    def _indices_between(self, start: int, stop: int) -> torch.Tensor:
        """Return the sample indices at `start` to `stop` of the epoch, which may reach before or beyond it."""
        # Beyond the end the epoch begins again, for padding; before its start are the samples left over.
        positions = torch.arange(max(start, 0), stop) % self.num_data
        indices = positions if self._order is None else self._order[positions]
        return torch.cat([self._carried[start:], indices]) if start < 0 else indices

    def _take(self, arrays: list[tuple[str, Samples]]) -> list[NDArray]:
        if not arrays:
            return []
        start, stop = self.cursor, self.cursor + self.batch_size
        whole = start >= 0 and stop <= self.num_data
        if whole and self._order is None:
            # Consecutive samples: of dense arrays views, without a copy.
            return [rows_between(samples, start, stop) for _, samples in arrays]
        indices = self._order[start:stop] if whole else self._indices_between(start, stop)  # type: ignore[index]  # None has returned
        return [rows_at(samples, indices) for _, samples in arrays]


def named_arrays(
    arrays: ArrayData | None, default_name: str, who: str, *, required: bool
) -> list[tuple[str, Samples]]:
    """Return arrays with their names, in the order of the names; `who` is what a message calls them.

    >>> [(name, each.shape) for name, each in named_arrays(np.zeros((4, 3)), "data", "data", required=True)]
    [('data', (4, 3))]
    """
    if arrays is None:
        arrays = []
    elif not isinstance(arrays, (list, tuple, Mapping)):
        arrays = [arrays]  # type: ignore[list-item]  # no list, so an array
    if required and not arrays:
        raise ArgumentError(f"NDArrayIter: {who} must be an array, a list or a dict of arrays; got none")
    if not isinstance(arrays, Mapping):
        names = [default_name] if len(arrays) == 1 else [f"_{i}_{default_name}" for i in range(len(arrays))]
        arrays = dict(zip(names, arrays, strict=True))
    # By name, as in MXNet: a module looks arrays up by name, but `data_list` and batches follow this order.
    return [(name, _as_samples(arrays[name], f"{who} {name!r}")) for name in sorted(arrays)]


def _as_samples(value: SampleArray, who: str) -> Samples:
    samples: Samples
    if isinstance(value, NDArray):
        # Rows of any other storage are dense, as in MXNet.
        samples = value if value.stype in (DENSE, "csr") else value.tostype(DENSE)
    elif (sparse := from_scipy(value)) is not None:
        samples = sparse
    elif (on_demand := rows_on_demand(value)) is not None:
        samples = on_demand
    elif isinstance(value, np.ndarray) or (hasattr(value, "__array__") and hasattr(value, "shape")):
        # float32 whatever the type, as in MXNet: labels of integers too
        samples = _as_float32(np.asarray(value))
    else:
        raise ArgumentError(
            f"NDArrayIter: {who} must be a NumPy array or an NDArray; got {type(value).__name__}"
        )
    if not getattr(value, "shape", ()):
        raise ShapeError(f"NDArrayIter: {who} must have samples along its first axis; got a single number")
    return samples


def _as_float32(value: np.ndarray) -> NDArray:
    if value.dtype.kind not in "biuf" or current_device().device_type != "cpu":
        return array(value, dtype=np.float32)
    # In memory of NumPy's: it asks the system for large pages, of which rows here and there are read a quarter faster.
    with np.errstate(over="ignore"):
        return NDArray(torch.from_numpy(np.array(value, np.float32, order="C")), current_device())


def _common_length(arrays: list[tuple[str, Samples]]) -> int:
    """Return how many samples the first array has; others may have more, of which the first are used, as in MXNet."""
    lengths = {name: samples.shape[0] for name, samples in arrays}
    length = arrays[0][1].shape[0]
    text = f"NDArrayIter: all arrays must have the same number of samples; got {lengths}"
    if min(lengths.values()) < length:
        raise ShapeError(text)
    if length == 0:
        raise ShapeError("NDArrayIter: arrays must have at least one sample; got none")
    if max(lengths.values()) > length:
        warn_user(f"{text}. The first {length} of each are used.")
    return length
