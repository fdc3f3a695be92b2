"""Sentences as numbers, and batches of them in buckets of equal length."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from ..checks import DICT, LIST, Kind, check_kind, or_none, refuses_unknown, warn_user
from ..dtypes import DTypeLike, numpy_type
from ..errors import NameLookupError, ParameterError, shown
from ..io import DataBatch, DataDesc
from ..io.iterator import CurrentBatch, State
from ..ndarray import NDArray, array

__all__ = ["BucketSentenceIter", "encode_sentences"]

_NUMBERS = Kind(
    "a list of numbers, as encode_sentences() makes it", lambda value: not isinstance(value, (str, bytes))
)


def encode_sentences(
    sentences: Iterable[Iterable[Hashable]],
    vocab: dict[Hashable, int] | None = None,
    invalid_label: int = -1,
    invalid_key: Hashable = "\n",
    start_label: int = 0,
    unknown_token: Hashable | None = None,
) -> tuple[list[list[int]], dict[Hashable, int]]:
    r"""Return sentences with a number for each word, and the number of each word.

    Parameters
    ----------
    sentences
        Lists of words.
    vocab
        The numbers of words that are known; by default there are none, and each new word gets the next number.
    invalid_label
        The number that no word gets, since it marks what is no word: the end, or padding.
    invalid_key
        What has that number in a new vocabulary.
    start_label
        The first number for new words.
    unknown_token
        With `vocab`: the word that replaces those that are not in it. When the vocabulary lacks it too, it is added
        to the dict that was given. Different from MXNet, which gives each unknown word a new number, all get the same.

    Raises
    ------
    NameLookupError
        When a word is not in `vocab`, and there is no `unknown_token`.

    Examples
    --------
    >>> encode_sentences([["to", "be"], ["or", "not", "to", "be"]], start_label=1, invalid_label=0)
    ([[1, 2], [3, 4, 1, 2]], {'\n': 0, 'to': 1, 'be': 2, 'or': 3, 'not': 4})
    """
    check_kind("encode_sentences", LIST, sentences=sentences)
    check_kind("encode_sentences", or_none(DICT), vocab=vocab)
    grows = vocab is None
    numbers = {invalid_key: invalid_label} if vocab is None else vocab
    following = start_label

    def number_of(word: Hashable) -> int:
        nonlocal following
        if word in numbers:
            return numbers[word]
        if not grows:
            if unknown_token is None:
                raise NameLookupError(
                    f"encode_sentences: words must be in vocab; got {word!r}. Set unknown_token."
                )
            if unknown_token in numbers:
                return numbers[unknown_token]
            word = unknown_token
            taken = set(numbers.values())
            while following in taken:
                following += 1
        if following == invalid_label:
            following += 1
        numbers[word] = following
        following += 1
        return numbers[word]

    return [[number_of(word) for word in sentence] for sentence in sentences], numbers


class BucketSentenceIter(CurrentBatch):
    """Batches of sentences of about equal length, for a language model: labels are the words that follow.

    A sentence goes into the smallest bucket that it fits in, and is padded to its length. The order is MXNet's:
    Python's `random` shuffles the batches, ``numpy.random`` the sentences of each bucket, again at each `reset`; their
    seeds decide it. Sentences of a bucket that do not fill a batch are left out, others in each epoch.

    Parameters
    ----------
    sentences
        Lists of numbers, as `encode_sentences` returns them.
    batch_size
        Sentences in a batch.
    buckets
        The lengths; by default each length that a batch of sentences has. Longer sentences are left out, with a
        warning.
    invalid_label
        The number for padding, and the label of the last word.
    data_name, label_name
        The names of data and labels.
    dtype
        The type of the arrays. As in MXNet, `provide_data` says float32 all the same, which is what a module then has.
    layout
        ``'NT'`` for arrays (batch, length), ``'TN'`` for (length, batch).

    Attributes
    ----------
    default_bucket_key
        The largest length.

    Examples
    --------
    >>> batches = BucketSentenceIter(
    ...     [[1, 2], [3, 4], [5, 6, 7]], batch_size=1, buckets=[2, 4], invalid_label=0
    ... )
    >>> for batch in sorted(batches, key=lambda batch: batch.data[0].asnumpy().tolist()):
    ...     print(batch.bucket_key, batch.data[0].asnumpy().tolist(), batch.label[0].asnumpy().tolist())
    2 [[1.0, 2.0]] [[2.0, 0.0]]
    2 [[3.0, 4.0]] [[4.0, 0.0]]
    4 [[5.0, 6.0, 7.0, 0.0]] [[6.0, 7.0, 0.0, 0.0]]
    """

    @refuses_unknown
    def __init__(
        self,
        sentences: Sequence[Sequence[int]],
        batch_size: int,
        buckets: Sequence[int] | None = None,
        invalid_label: int = -1,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: DTypeLike = "float32",
        layout: str = "NT",
    ) -> None:
        super().__init__(batch_size)
        check_kind("BucketSentenceIter", LIST, sentences=sentences)
        check_kind("BucketSentenceIter", or_none(LIST), buckets=buckets)
        for i, sentence in enumerate(sentences):
            check_kind("BucketSentenceIter", _NUMBERS, **{f"sentences[{i}]": sentence})
        numpy_type(dtype, "BucketSentenceIter: dtype")
        if batch_size < 1:
            raise ParameterError(f"BucketSentenceIter: batch_size must be >= 1; got {batch_size}")
        self.major_axis = layout.find("N")
        if self.major_axis not in (0, 1):
            raise ParameterError(f"BucketSentenceIter: layout must be 'NT' or 'TN'; got {layout!r}")
        self.data_name, self.label_name = data_name, label_name
        self.dtype, self.invalid_label, self.layout = dtype, invalid_label, layout
        self.buckets, self._rows = self._sorted_in(sentences, buckets)
        self.default_bucket_key = max(self.buckets)
        self.provide_data = [self._desc(data_name, self.default_bucket_key)]
        self.provide_label = [self._desc(label_name, self.default_bucket_key)]
        # The batches: bucket and first row. Of the rows themselves, the indices are shuffled.
        self.idx = [
            (i, row)
            for i, rows in enumerate(self._rows)
            for row in range(0, len(rows) - batch_size + 1, batch_size)
        ]
        self._order = [np.arange(len(rows)) for rows in self._rows]
        self.reset()

    def _sorted_in(
        self, sentences: Sequence[Sequence[int]], buckets: Sequence[int] | None
    ) -> tuple[list[int], list[np.ndarray]]:
        """Return the lengths of the buckets that have sentences, and their sentences as rows."""
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        if buckets is None:
            buckets = [int(size) for size in np.flatnonzero(np.bincount(lengths) >= self.batch_size) if size]
        sizes = sorted(buckets)
        members: list[list[Sequence[int]]] = [[] for _ in sizes]
        left_out = 0
        for sentence in sentences:
            bucket = bisect_left(sizes, len(sentence))
            if bucket == len(sizes):
                left_out += 1
            else:
                members[bucket].append(sentence)
        filled = [(size, self._padded(size, rows)) for size, rows in zip(sizes, members, strict=True) if rows]
        if not filled:
            raise ParameterError(
                f"BucketSentenceIter: at least one bucket must have sentences; got {len(sentences)} sentences with "
                f"batch_size={self.batch_size} and buckets {sizes}. Give buckets, or a smaller batch_size."
            )
        if left_out:
            warn_user(f"BucketSentenceIter: {left_out} sentences longer than the largest bucket are left out")
        return [size for size, _ in filled], [rows for _, rows in filled]

    def _padded(self, size: int, sentences: Sequence[Sequence[int]]) -> np.ndarray:
        rows = np.full((len(sentences), size), self.invalid_label, dtype=numpy_type(self.dtype))
        for row, sentence in zip(rows, sentences, strict=True):
            try:
                row[: len(sentence)] = sentence
            except (TypeError, ValueError):
                raise ParameterError(
                    f"BucketSentenceIter: sentences must be lists of numbers, as encode_sentences() makes them; got "
                    f"{shown(sentence)}"
                ) from None
        return rows

    def _desc(self, name: str, length: int) -> DataDesc:
        shape = (self.batch_size, length) if self.major_axis == 0 else (length, self.batch_size)
        return DataDesc(name, shape, layout=self.layout)

    def reset(self) -> None:
        """Begin a new epoch, in another order.

        >>> batches = BucketSentenceIter([[1], [2], [3], [4]], batch_size=2)
        >>> len(list(batches)), len(list(batches))
        (2, 0)
        >>> batches.reset()
        >>> len(list(batches))
        2
        """
        self.curr_idx = 0
        self.idx = self.idx.copy()  # a saved state holds the old ones
        random.shuffle(self.idx)
        orders = []
        for order in self._order:
            order = order.copy()
            np.random.shuffle(order)  # as rows are shuffled by it
            orders.append(order)
        self._put_in(orders)

    def _put_in(self, orders: list[np.ndarray]) -> None:
        """Put the sentences of each bucket in an order, and make the labels."""
        self._order = orders
        self.data = [rows[order] for rows, order in zip(self._rows, orders, strict=True)]
        self.nddata = [array(rows, dtype=self.dtype) for rows in self.data]
        self.ndlabel = []
        for rows in self.data:
            following = np.full_like(rows, self.invalid_label)
            following[:, :-1] = rows[:, 1:]
            self.ndlabel.append(array(following, dtype=self.dtype))

    def iter_next(self) -> bool:
        """Advance to the next batch; return whether there is one."""
        if self.curr_idx == len(self.idx):
            return False
        bucket, row = self.idx[self.curr_idx]
        self.curr_idx += 1
        length = self.buckets[bucket]
        self.current_batch = DataBatch(
            [self._rows_from(self.nddata[bucket], row)],
            [self._rows_from(self.ndlabel[bucket], row)],
            pad=0,
            bucket_key=length,
            provide_data=[self._desc(self.data_name, length)],
            provide_label=[self._desc(self.label_name, length)],
        )
        return True

    def _rows_from(self, rows: NDArray, start: int) -> NDArray:
        found = rows[start : start + self.batch_size]
        return found.T if self.major_axis == 1 else found

    def state_dict(self) -> State:
        """Return the position in the data; what is random in later epochs comes from `random` and ``numpy.random``.

        >>> sentences = [[1], [2], [3], [4]]
        >>> first, second = (BucketSentenceIter(sentences, batch_size=1) for _ in range(2))
        >>> _ = first.next()
        >>> second.load_state_dict(first.state_dict())
        >>> first.next().data[0].item() == second.next().data[0].item()
        True
        """
        return {
            "buckets": self.buckets,
            "batch_size": self.batch_size,
            "curr_idx": self.curr_idx,
            "idx": np.array(self.idx, dtype=np.int64).reshape(-1, 2),
            "order": list(self._order),
        }

    def load_state_dict(self, state: State) -> None:
        """Go back to a position that `state_dict` returned, of an iterator over the same sentences."""
        sizes = [len(order) for order in state["order"]]
        for name, saved, here in (
            ("batch_size", state["batch_size"], self.batch_size),
            ("buckets", list(state["buckets"]), self.buckets),
            ("the sentences of each bucket", sizes, [len(rows) for rows in self._rows]),
        ):
            if saved != here:
                raise ParameterError(
                    f"BucketSentenceIter.load_state_dict: {name} must be as in the saved position, {saved}; got {here}"
                )
        self.curr_idx = int(state["curr_idx"])
        self.idx = [(int(bucket), int(row)) for bucket, row in np.asarray(state["idx"])]
        self._put_in([np.array(order) for order in state["order"]])
