import gc
import math
import threading
import time
import weakref
from collections import Counter

import numpy as np
import pytest

from rebind.errors import ArgumentError, ParameterError, ShapeError
from rebind.io import DataBatch, DataIter, NDArrayIter, PrefetchingIter, ResizeIter
from rebind.io.read_ahead import ReadAheadIter

from .reading_threads import reading_threads, threads_left


def numbers(rows=10, batch_size=4, **settings):
    return NDArrayIter(np.arange(rows), np.arange(rows), batch_size=batch_size, **settings)


def first_rows(batches):
    return [int(batch.data[0].asnumpy()[0]) for batch in batches]


#: Read by the thread wherever it can, and never.
either_thread = pytest.mark.parametrize("handing_over", [-math.inf, math.inf], ids=["ahead", "when-asked"])


class Failing(DataIter):
    provide_data = provide_label = [("data", (1,))]

    def next(self):
        raise OSError("the disk is gone")


@pytest.mark.parametrize(
    ("size", "reset_internal", "first", "second"),
    [
        pytest.param(5, True, [0, 4, 8, 0, 4], [0, 4, 8, 0, 4], id="longer"),
        pytest.param(2, False, [0, 4], [8, 0], id="shorter"),
    ],
)
def test_resize(size, reset_internal, first, second):
    resized = ResizeIter(numbers(), size, reset_internal=reset_internal)
    assert first_rows(resized) == first
    resized.reset()
    assert first_rows(resized) == second
    assert resized.provide_data == numbers().provide_data
    assert resized.getpad() == 0


class Empty(DataIter):
    provide_data = provide_label = ()

    def next(self):
        raise StopIteration


@either_thread
def test_prefetching_gives_the_same_batches(hand_over, handing_over):
    hand_over(handing_over)
    ahead = PrefetchingIter(numbers())
    for _ in range(3):
        assert [(batch.data[0].asnumpy().tolist(), batch.pad) for batch in ahead] == [
            (batch.data[0].asnumpy().tolist(), batch.pad) for batch in numbers()
        ]
        assert not ahead.iter_next()
        ahead.reset()
    assert ahead.batch_size == 4


@either_thread
def test_several_are_put_together(hand_over, handing_over):
    hand_over(handing_over)
    other = NDArrayIter({"z": np.arange(10) * 2}, batch_size=4)
    ahead = PrefetchingIter(
        [numbers(), other], rename_data=[{"data": "d"}, {"z": "e"}], rename_label=[{"softmax_label": "l"}, {}]
    )
    assert [desc.name for desc in ahead.provide_data] == ["d", "e"]
    assert [desc.name for desc in ahead.provide_label] == ["l"]
    for batch in ahead:
        assert len(batch.label) == 1
        np.testing.assert_array_equal(batch.data[0].asnumpy() * 2, batch.data[1].asnumpy())


@either_thread
@pytest.mark.parametrize(
    ("make", "consumed", "expected"),
    [
        pytest.param(lambda: ResizeIter(numbers(), 5), 2, [8, 0, 4], id="resized"),
        pytest.param(lambda: PrefetchingIter(numbers()), 0, [0, 4, 8], id="prefetched-0"),
        pytest.param(lambda: PrefetchingIter(numbers()), 1, [4, 8], id="prefetched-1"),
        pytest.param(lambda: PrefetchingIter(numbers()), 2, [8], id="prefetched-2"),
    ],
)
def test_position_is_that_of_what_was_handed_out(make, consumed, expected, hand_over, handing_over):
    hand_over(handing_over)
    first, second = make(), make()
    for _ in range(consumed):
        next(first)
    time.sleep(0.05)  # let it read ahead
    second.load_state_dict(first.state_dict())
    assert first_rows(second) == first_rows(first) == expected


@pytest.mark.parametrize("how", ["end", "close", "reset", "drop"])
def test_threads_end(hand_over, how):
    hand_over(-math.inf)
    assert not threads_left()
    ahead = PrefetchingIter(numbers(1000))
    next(ahead)
    assert len(reading_threads()) == 1
    if how == "end":
        list(ahead)
    elif how == "drop":
        del ahead
        gc.collect()
    else:
        getattr(ahead, how)()
    assert not (threads_left() if how == "drop" else reading_threads())


@either_thread
def test_an_iterator_that_failed_can_be_collected(hand_over, handing_over):
    hand_over(handing_over)
    ahead = PrefetchingIter([numbers(1000), Failing()])
    for _ in range(2):  # asked again it fails again, rather than to wait for a thread that has ended
        with pytest.raises(OSError, match="the disk is gone"):
            next(ahead)
    left = weakref.ref(ahead)
    del ahead
    gc.collect()
    assert left() is None
    assert not threads_left()


def test_nothing_is_read_before_the_first_batch():
    PrefetchingIter(numbers())
    assert not threads_left()


class Clocked(DataIter):
    """Takes some time by clocks of its own, one for each thread, and notes the threads that have read."""

    provide_data = provide_label = ()

    def __init__(self, seconds):
        super().__init__(1)
        self.seconds = seconds
        self.now = Counter()
        self.readers = []

    def perf_counter(self):
        return self.now[threading.get_ident()]

    def next(self):
        self.now[threading.get_ident()] += self.seconds
        self.readers.append(threading.current_thread().name)
        return DataBatch([len(self.readers)])


@pytest.mark.parametrize(
    ("reading", "working", "is_ahead"),
    [
        pytest.param(0.05, 0.05, True, id="both-take-long"),
        pytest.param(0.00001, 0.05, False, id="quickly-read"),
        pytest.param(0.05, 0.00001, False, id="asked-at-once"),
    ],
)
def test_a_thread_reads_ahead_where_that_is_quicker(monkeypatch, reading, working, is_ahead):
    source = Clocked(reading)
    monkeypatch.setattr("rebind.io.read_ahead.time", source)
    ahead = ReadAheadIter(source, 2)
    found = []
    for _ in range(6):
        found += next(ahead).data
        # The first work is not known when its batch is returned, and taken for a long one.
        read = len(found) + 2 if is_ahead or (len(found) == 1 and reading > working) else 0
        deadline = time.monotonic() + 20
        while len(source.readers) < read and time.monotonic() < deadline:
            time.sleep(0.001)
        source.now[threading.get_ident()] += working
    ahead.close()
    assert found == [1, 2, 3, 4, 5, 6]
    ahead_of = [name.startswith("rebind-prefetch") for name in source.readers]
    assert not ahead_of[0]
    by_thread = sum(ahead_of[3:6])
    assert by_thread == (3 if is_ahead else 0)


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: next(ResizeIter(Empty(), 3)), ParameterError, "must yield at least one batch"),
        (lambda: ResizeIter(numbers(), -1), ParameterError, "size must be an int >= 0"),
        # raised in the thread that reads ahead
        (lambda: next(PrefetchingIter(Failing())), OSError, "the disk is gone"),
        (lambda: PrefetchingIter([]), ArgumentError, "at least one iterator"),
        (
            lambda: PrefetchingIter([numbers()], rename_data=[]),
            ArgumentError,
            "a dict for each of 1 iterators; got 0",
        ),
        (
            lambda: list(PrefetchingIter([numbers(), numbers(5)])),
            ShapeError,
            "same padding|same number of batches",
        ),
        (lambda: list(PrefetchingIter([numbers(8), numbers(12)])), ShapeError, "same number of batches"),
    ],
)
def test_bad_input(make, error, says):
    with pytest.raises(error, match=says):
        make()
    gc.collect()


def test_the_five_methods_make_next():
    class Own(DataIter):
        def __init__(self):
            super().__init__(2)
            self.count = 0

        def iter_next(self):
            self.count += 1
            return self.count < 3

        def getdata(self):
            return [self.count]

        def getlabel(self):
            return [-self.count]

        def getpad(self):
            return 0

    assert [(batch.data, batch.label, batch.index) for batch in Own()] == [
        ([1], [-1], None),
        ([2], [-2], None),
    ]


@pytest.mark.parametrize("call", ["next", "iter_next", "state_dict"])
def test_base_says_what_is_missing(call):
    with pytest.raises(NotImplementedError, match="DataIter"):
        getattr(DataIter(), call)()


@pytest.mark.parametrize("getter", ["getdata", "getlabel", "getindex", "getpad"])
def test_getters_of_the_base_have_nothing(getter):
    assert getattr(DataIter(), getter)() is None


def test_batch_repr():
    assert repr(DataBatch(None)) == "DataBatch: data shapes: None label shapes: None"


@either_thread
@pytest.mark.parametrize("depth", [0, 1, 4])
def test_read_ahead(depth, hand_over, handing_over):
    hand_over(handing_over)
    ahead = ReadAheadIter(numbers(), depth)
    assert (ahead.batch_size, ahead.provide_data) == (4, numbers().provide_data)
    for _ in range(3):
        assert first_rows(ahead) == [0, 4, 8]
        assert not ahead.iter_next()
        ahead.reset()
    assert first_rows([next(ahead)]) == [0]
    state = ahead.state_dict()
    ahead.reset()
    assert first_rows(ahead) == [0, 4, 8]
    ahead.load_state_dict(state)
    assert first_rows(ahead) == [4, 8]
    assert not threads_left()


@either_thread
@pytest.mark.parametrize("depth", [0, 4])
def test_reset_is_for_what_was_returned(depth, hand_over, handing_over):
    hand_over(handing_over)
    ahead = ReadAheadIter(numbers(last_batch_handle="roll_over"), depth)
    next(ahead)
    time.sleep(0.02)  # the source comes to its end, where two samples are left over
    ahead.reset()
    assert first_rows(ahead) == [0, 4]
    ahead.reset()
    assert first_rows(ahead) == [8, 2, 6]


@either_thread
@pytest.mark.parametrize("make", [PrefetchingIter, lambda source: ReadAheadIter(source, 2)])
def test_an_error_is_raised_again_and_leaves_no_thread(make, hand_over, handing_over):
    hand_over(handing_over)
    ahead = make(Failing())
    for _ in range(2):
        with pytest.raises(OSError, match="the disk is gone"):
            next(ahead)
    assert not threads_left()
