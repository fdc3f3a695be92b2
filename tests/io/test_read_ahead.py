"""`Reader`: a thread and its caller who take turns, whatever stops one of them where."""

import gc
import math
import subprocess
import sys
import threading

import numpy as np
import pytest

from rebind.io import NDArrayIter, read_ahead
from rebind.io.read_ahead import Reader


def source(count):
    return NDArrayIter(np.arange(count, dtype=np.float32), batch_size=1)


def asked(reader):
    """Ask a reader in a thread; return what waits for its answer, which must come."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(reader.get()[0]), daemon=True)
    thread.start()

    def answer():
        thread.join(10)
        assert answers, "the reader and its thread wait for each other"
        return None if answers[0] is None else answers[0].data[0].item()

    return answer


@pytest.mark.parametrize("count", [3, 2], ids=["a batch", "the end"])
def test_asking_again_while_the_thread_reads(count, hand_over):
    goes_on = threading.Event()

    class Slow(NDArrayIter):
        def next(self):
            if threading.current_thread().name.startswith("rebind-prefetch"):
                assert goes_on.wait(10)
            return super().next()

    reader = Reader(Slow(np.arange(count, dtype=np.float32), batch_size=1), depth=1)
    hand_over(-1)
    assert reader.get()[0].data[0].item() == 0  # the thread may read one
    hand_over(float("inf"))
    second = asked(reader)
    goes_on.set()
    assert second() == 1
    assert asked(reader)() == (2 if count == 3 else None)
    reader.close()


def test_asking_again_after_an_end_that_the_thread_has_found(hand_over):
    reader = Reader(source(1), depth=1)
    hand_over(-1)
    assert reader.get()[0].data[0].item() == 0
    assert [asked(reader)() for _ in range(3)] == [None, None, None]
    reader.close()


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_batches_come_in_order_whoever_reads_them(depth, hand_over):
    draws = np.random.default_rng(depth)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads take turns everywhere
    try:
        for _ in range(30):
            reader = Reader(source(60), depth)
            for expected in range(60):
                hand_over(draws.choice([-1.0, 1e-5, float("inf")]))
                assert asked(reader)() == expected
            assert [asked(reader)() for _ in range(2)] == [None, None]
            reader.close()
    finally:
        sys.setswitchinterval(before)


def test_an_iterator_that_is_collected_does_not_wait_for_its_thread(hand_over):
    """A collection may run within `threading`, which holds locks then that a join would wait for."""
    hand_over(-math.inf)
    goes_on, reads = threading.Event(), threading.Event()

    class Slow(NDArrayIter):
        def next(self):
            if threading.current_thread().name.startswith("rebind-prefetch"):
                reads.set()
                assert goes_on.wait(60)
            return super().next()

    ahead = read_ahead.ReadAheadIter(Slow(np.arange(9, dtype=np.float32), batch_size=1), prefetch_buffer=2)
    next(ahead)
    assert reads.wait(60)
    (thread,) = (each for each in threading.enumerate() if each.name.startswith("rebind-prefetch"))
    del ahead
    gc.collect()
    assert thread.is_alive()
    goes_on.set()
    thread.join(60)
    assert not thread.is_alive()


_DROPPED = """
import time

import numpy as np
import torch

from rebind.io import NDArrayIter
from rebind.io.read_ahead import ReadAheadIter


class Slow(NDArrayIter):
    def next(self):
        time.sleep(0.01)
        return super().next()

    def __del__(self):
        # What is freed with the last reference, which the thread has: arrays, in which it is in torch. Longer than the
        # rest of the process takes.
        until = time.monotonic() + 1
        while time.monotonic() < until:
            torch.ones(100_000).sum()


ahead = ReadAheadIter(Slow(np.ones((100, 2)), batch_size=2), prefetch_buffer=8)
for _ in range(4):
    ahead.next()
    time.sleep(0.01)
del ahead
time.sleep(0.1)
"""


def test_a_process_ends_while_a_thread_frees_what_was_dropped():
    ended = subprocess.run([sys.executable, "-c", _DROPPED], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")


_WAITING = """
import time

import numpy as np

from rebind.io import NDArrayIter
from rebind.io.read_ahead import ReadAheadIter


class Slow(NDArrayIter):
    def next(self):
        print("reads", flush=True)
        time.sleep(0.5)
        return super().next()


ahead = ReadAheadIter(Slow(np.ones((100, 2)), batch_size=2), prefetch_buffer=8)
ahead.next()
"""


def test_a_process_that_ends_waits_for_the_batch_that_is_being_read_only():
    ended = subprocess.run([sys.executable, "-c", _WAITING], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")
    # The first one, which was asked for, and that which the thread reads meanwhile.
    assert ended.stdout.count("reads") <= 2
