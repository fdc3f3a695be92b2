"""Batches that are made in the background, ahead of the training loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..checks import LIST, Kind, check_kind, or_none, refuses_unknown
from ..errors import ArgumentError, ShapeError
from ..tuning import current
from .batch import DataBatch, DataDesc, as_descs
from .iterator import ITERATOR, CurrentBatch, DataIter, State
from .read_ahead import Reader, close_readers

__all__ = ["PrefetchingIter"]


_ITERATORS = Kind("an iterator or a list of them", lambda value: hasattr(value, "next") or LIST.allows(value))
_NEW_NAMES = Kind(
    "a list with a dict for each iterator",
    lambda value: isinstance(value, (list, tuple)) and all(isinstance(names, Mapping) for names in value),
)


class PrefetchingIter(CurrentBatch):
    """Reads iterators ahead, each in a thread of its own, and joins their batches.

    The threads start with the first batch of an epoch and end with it, with `reset`, with `close`, or when the
    iterator is garbage-collected. An exception in one of them is raised by `next`.

    Parameters
    ----------
    iters
        An iterator, or several of the same length and batch size.
    rename_data, rename_label
        For each iterator a dict from its names to the names that this one provides.

    Examples
    --------
    >>> import numpy as np
    >>> from rebind.io import NDArrayIter
    >>> ahead = PrefetchingIter(NDArrayIter(np.arange(6), batch_size=2))
    >>> [batch.data[0].asnumpy().tolist() for batch in ahead]
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    """

    @refuses_unknown
    def __init__(
        self,
        iters: DataIter | Sequence[DataIter],
        rename_data: Sequence[Mapping[str, str]] | None = None,
        rename_label: Sequence[Mapping[str, str]] | None = None,
    ) -> None:
        check_kind("PrefetchingIter", _ITERATORS, iters=iters)
        self.iters: list[DataIter] = (
            [iters] if hasattr(iters, "next") else list(iters)  # type: ignore[list-item]  # by its method: a script's own iterator need not derive from DataIter
        )
        check_kind(
            "PrefetchingIter", ITERATOR, **{f"iters[{i}]": source for i, source in enumerate(self.iters)}
        )
        if not self.iters:
            raise ArgumentError("PrefetchingIter: iters must hold at least one iterator; got none")
        for who, names in (("rename_data", rename_data), ("rename_label", rename_label)):
            check_kind("PrefetchingIter", or_none(_NEW_NAMES), **{who: names})
            if names is not None and len(names) != len(self.iters):
                raise ArgumentError(
                    f"PrefetchingIter: {who} must have a dict for each of {len(self.iters)} iterators; "
                    f"got {len(names)}"
                )
        self.n_iter = len(self.iters)
        self.rename_data = rename_data
        self.rename_label = rename_label
        super().__init__(self.provide_data[0].shape[0])  # the first axis, whatever the layout
        self._readers: list[Reader] | None = None
        self._positions: list[State | None] = [None] * self.n_iter
        self._done = False

    def fingerprint(self) -> str | None:
        """Return the hashes of the iterators' samples; None where one has none."""
        hashes = [source.fingerprint() if isinstance(source, DataIter) else None for source in self.iters]
        return "+".join(text for text in hashes if text) if all(hashes) else None

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of a batch's data, of all iterators in turn.

        >>> import numpy as np
        >>> from rebind.io import NDArrayIter
        >>> sources = [NDArrayIter(np.zeros((4, n)), batch_size=2) for n in (3, 5)]
        >>> both = PrefetchingIter(sources, rename_data=[{"data": "left"}, {"data": "right"}])
        >>> [(desc.name, desc.shape) for desc in both.provide_data]
        [('left', (2, 3)), ('right', (2, 5))]
        """
        return self._provided("provide_data", self.rename_data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of a batch's labels, of all iterators in turn."""
        return self._provided("provide_label", self.rename_label)

    def _provided(self, name: str, new_names: Sequence[Mapping[str, str]] | None) -> list[DataDesc]:
        pairs = zip(self.iters, new_names or [{}] * self.n_iter, strict=True)
        return [desc for source, new in pairs for desc in as_descs(getattr(source, name), new)]

    def reset(self) -> None:
        """Begin a new epoch; batches that were read ahead are dropped."""
        self.close()
        for source in self.iters:
            source.reset()
        self._positions = [None] * self.n_iter
        self._done = False

    def close(self) -> None:
        """End the threads."""
        if self._readers is not None:
            close_readers(self._readers)
            self._readers = None

    def iter_next(self) -> bool:
        if self._done:
            return False
        if self._readers is None:
            depth = current().prefetched_batches
            self._readers = [Reader(source, depth) for source in self.iters]
        batches, self._positions = map(list, zip(*(reader.get() for reader in self._readers), strict=True))
        if None in batches:
            self._done = True
            self.close()
            if any(batch is not None for batch in batches):
                raise ShapeError(
                    "PrefetchingIter: iterators must have the same number of batches; one ended first"
                )
            return False
        pads = [batch.pad for batch in batches]
        if len(set(pads)) != 1:
            raise ShapeError(f"PrefetchingIter: iterators must have the same padding; got {pads}")
        self.current_batch = DataBatch(
            [array for batch in batches for array in batch.data],
            [array for batch in batches for array in batch.label or ()],
            pad=pads[0],
            index=batches[0].index,
            bucket_key=batches[0].bucket_key,
            provide_data=self.provide_data,
            provide_label=self.provide_label,
        )
        return True

    def state_dict(self) -> State:
        """Return the position after the last batch that was returned, not the last one that was read ahead."""
        return {
            "iters": [
                source.state_dict() if position is None else position
                for source, position in zip(self.iters, self._positions, strict=True)
            ]
        }

    def load_state_dict(self, state: State) -> None:
        self.close()
        for source, position in zip(self.iters, state["iters"], strict=True):
            source.load_state_dict(position)
        self._positions = [None] * self.n_iter
        self._done = False
