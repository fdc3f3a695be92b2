"""The interface of data iterators, and `ResizeIter`, which changes the length of an epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ..checks import NUMBER, Kind, check_kind, check_numbers, refuses_unknown
from ..errors import ArgumentError, ParameterError
from ..ndarray import NDArray
from .batch import DataBatch, DataDesc

__all__ = ["CurrentBatch", "DataIter", "OneArrayBatch", "ResizeIter", "State"]

#: A position in the data: numbers, strings, arrays, and dicts and lists of them, as a checkpoint can hold.
State: TypeAlias = "dict[str, Any]"

ITERATOR = Kind("an iterator, with next() and provide_data", lambda value: hasattr(value, "provide_data"))


class DataIter:
    """Base of data iterators: one pass is an epoch, `reset` goes back to the start.

    A subclass gives `provide_data` and `provide_label` (lists of `DataDesc`), `reset`, and either `next` or
    `iter_next` with those of the getters that have something to return. One whose position can be saved has
    `state_dict` and `load_state_dict` too.

    Parameters
    ----------
    batch_size
        Samples in a batch.

    Examples
    --------
    >>> class Countdown(DataIter):
    ...     def __init__(self):
    ...         super().__init__(batch_size=1)
    ...         self.reset()
    ...
    ...     def reset(self):
    ...         self.left = 2
    ...
    ...     def next(self):
    ...         if not self.left:
    ...             raise StopIteration
    ...         self.left -= 1
    ...         return DataBatch([self.left])
    >>> [batch.data for batch in Countdown()]
    [[1], [0]]
    """

    # Any: programs define them as attributes or as properties, with pairs of name and shape too.
    provide_data: Any
    provide_label: Any
    #: Which part of the data it reads, of how many: where workers read a part each, `score` adds up over them.
    part_index: int = 0
    num_parts: int = 1

    def __init__(self, batch_size: int = 0) -> None:
        check_numbers(type(self).__name__, batch_size=batch_size)
        self.batch_size = batch_size

    def __repr__(self) -> str:
        described = [
            f"{kind} {', '.join(f'{name} {tuple(shape)}' for name, shape, *_ in descs)}"
            for kind, descs in (
                ("data", self._descs("provide_data")),
                ("labels", self._descs("provide_label")),
            )
            if descs
        ]
        return f"<{type(self).__name__}: {'; '.join((*described, f'batches of {self.batch_size}'))}>"

    def fingerprint(self) -> str | None:
        """Return a short hash of some samples, by which a run that resumes sees that the data are others.

        None where the content is not known without reading the data; see `NDArrayIter.fingerprint`.

        >>> DataIter().fingerprint() is None
        True
        """
        return None

    def _descs(self, name: str) -> Sequence[DataDesc]:
        """Return what a subclass provides; nothing where it cannot be known yet."""
        try:
            return getattr(self, name, None) or ()
        except Exception:
            return ()  # a description must not fail, whatever state the user's iterator is in

    def __iter__(self) -> DataIter:
        return self

    def __next__(self) -> DataBatch:
        return self.next()

    def reset(self) -> None:
        """Go back to the start.

        >>> import numpy as np
        >>> from rebind.io import NDArrayIter
        >>> batches = NDArrayIter(np.arange(4), batch_size=2)
        >>> len(list(batches)), len(list(batches))
        (2, 0)
        >>> batches.reset()
        >>> len(list(batches))
        2
        """

    def next(self) -> DataBatch:
        """Return the next batch; StopIteration at the end.

        >>> import numpy as np
        >>> from rebind.io import NDArrayIter
        >>> NDArrayIter(np.arange(4), batch_size=2).next().data[0].asnumpy()
        array([0., 1.], dtype=float32)
        """
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), pad=self.getpad(), index=self.getindex())

    def iter_next(self) -> bool:
        """Advance to the next batch; return whether there is one.

        >>> import numpy as np
        >>> from rebind.io import NDArrayIter
        >>> batches = NDArrayIter(np.arange(4), batch_size=2)
        >>> while batches.iter_next():
        ...     print(batches.getdata()[0].asnumpy())
        [0. 1.]
        [2. 3.]
        """
        raise NotImplementedError(f"{type(self).__name__} must define next(), or iter_next() and the getters")

    def getdata(self) -> Sequence[NDArray] | None:
        """Return the data of the current batch; None for an iterator that has none, as the other getters.

        >>> import numpy as np
        >>> from rebind.io import NDArrayIter
        >>> batches = NDArrayIter({"left": np.zeros(4), "right": np.ones(4)}, batch_size=2)
        >>> batches.iter_next(), [array.asnumpy().tolist() for array in batches.getdata()]
        (True, [[0.0, 0.0], [1.0, 1.0]])
        """
        return None

    def getlabel(self) -> Sequence[NDArray] | None:
        """Return the labels of the current batch.

        >>> import numpy as np
        >>> from rebind.io import NDArrayIter
        >>> batches = NDArrayIter(np.zeros((2, 3)), label=np.array([7, 8]), batch_size=2)
        >>> batches.iter_next(), batches.getlabel()[0].asnumpy().tolist()
        (True, [7.0, 8.0])
        """
        return None

    def getindex(self) -> Sequence[int] | np.ndarray | None:
        """Return the indices of the current batch's samples, or None."""
        return None

    def getpad(self) -> int | None:
        """Return how many samples at the end of the current batch are padding.

        >>> import numpy as np
        >>> from rebind.io import NDArrayIter
        >>> batches = NDArrayIter(np.arange(3), batch_size=2)
        >>> [batches.getpad() for _ in range(2) if batches.iter_next()]
        [0, 1]
        """
        return None

    def state_dict(self) -> State:
        """Return the position in the data, for `load_state_dict`.

        >>> import numpy as np
        >>> from rebind.io import NDArrayIter
        >>> batches = NDArrayIter(np.arange(4), batch_size=2)
        >>> _ = batches.next()
        >>> batches.state_dict()["cursor"]  # what is in it is the iterator's own business
        0
        """
        raise NotImplementedError(f"{type(self).__name__} cannot save its position in the data")

    def load_state_dict(self, state: State) -> None:
        """Go back to a position that `state_dict` returned.

        >>> import numpy as np
        >>> from rebind.io import NDArrayIter
        >>> batches = NDArrayIter(np.arange(4), batch_size=2)
        >>> start = batches.state_dict()
        >>> first = batches.next()
        >>> batches.load_state_dict(start)
        >>> batches.next().data[0].asnumpy()
        array([0., 1.], dtype=float32)
        """
        raise NotImplementedError(f"{type(self).__name__} cannot go to a saved position in the data")


class CurrentBatch(DataIter):
    """An iterator that makes whole batches: the getters read the current one."""

    current_batch: DataBatch | None = None

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return self._current()

    def _current(self) -> DataBatch:
        if self.current_batch is None:
            raise ArgumentError(f"{type(self).__name__}: there is no current batch. Call next() first.")
        return self.current_batch

    def getdata(self) -> Sequence[NDArray]:
        return self._current().data

    def getlabel(self) -> Sequence[NDArray]:
        return self._current().label  # None where a batch has no labels, as in MXNet

    def getindex(self) -> Sequence[int] | np.ndarray | None:
        return self._current().index

    def getpad(self) -> int | None:
        return self._current().pad


class OneArrayBatch(CurrentBatch):
    """An iterator that reads files: its getters return the one array of data, and of labels, as MXNet's do."""

    def getdata(self) -> NDArray:  # type: ignore[override]  # a list in other iterators, in MXNet too
        """Return the data of the current batch: an array."""
        return self._current().data[0]

    def getlabel(self) -> NDArray:  # type: ignore[override]
        """Return the labels of the current batch: an array."""
        return (self._current().label or [])[0]


class ResizeIter(CurrentBatch):
    """An iterator whose epoch has `size` batches, whatever the length of the iterator that it wraps.

    When that one ends, it is reset and continues from its start.

    Parameters
    ----------
    data_iter
        The iterator to wrap.
    size
        Batches in an epoch.
    reset_internal
        Whether `reset` resets the wrapped iterator too; otherwise the next epoch continues where this one ended.

    Examples
    --------
    >>> import numpy as np
    >>> from rebind.io import NDArrayIter
    >>> len(list(ResizeIter(NDArrayIter(np.zeros(10), batch_size=5), 7)))
    7
    """

    @refuses_unknown
    def __init__(self, data_iter: DataIter, size: int, reset_internal: bool = True) -> None:
        super().__init__(getattr(data_iter, "batch_size", 0))
        check_kind("ResizeIter", ITERATOR, data_iter=data_iter)
        check_numbers("ResizeIter", size=size)
        # 2.0 is a number of batches too; 2.5 would never be reached.
        check_kind("ResizeIter", NUMBER, size=size)
        if size < 0 or size != int(size):
            raise ParameterError(f"ResizeIter: size must be an int >= 0; got {size}")
        self.data_iter = data_iter
        self.size = size
        self.reset_internal = reset_internal
        self.cur = 0
        self.provide_data = data_iter.provide_data
        self.provide_label = data_iter.provide_label
        # Scripts pass it from the iterator to BucketingModule; `executor_manager` reads it itself.
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def fingerprint(self) -> str | None:
        """Return the hash of the wrapped iterator's samples."""
        return self.data_iter.fingerprint() if isinstance(self.data_iter, DataIter) else None

    def reset(self) -> None:
        """Begin a new epoch.

        >>> import numpy as np
        >>> from rebind.io import NDArrayIter
        >>> batches = ResizeIter(NDArrayIter(np.arange(3), batch_size=1), size=2, reset_internal=False)
        >>> [batch.data[0].item() for batch in batches]
        [0.0, 1.0]
        >>> batches.reset()
        >>> [batch.data[0].item() for batch in batches]
        [2.0, 0.0]
        """
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            # Once only: an iterator that is empty right after its reset would otherwise loop forever.
            try:
                self.current_batch = self.data_iter.next()
            except StopIteration:
                raise ParameterError(
                    "ResizeIter: the wrapped iterator must yield at least one batch; got none"
                ) from None
        self.cur += 1
        return True

    def state_dict(self) -> State:
        return {"cur": self.cur, "data_iter": self.data_iter.state_dict()}

    def load_state_dict(self, state: State) -> None:
        self.data_iter.load_state_dict(state["data_iter"])
        self.cur = state["cur"]
