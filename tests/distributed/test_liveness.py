"""Signs of life: how they are left and read, and that nobody waits for them for ever."""

from __future__ import annotations

import gc
import threading
import time

import pytest
import torch.distributed as dist

from rebind.distributed import liveness as liveness_module
from rebind.distributed.liveness import Liveness, Signs


def threads_of_signs() -> set[threading.Thread]:
    """Return the threads that ask stores."""
    return {each for each in threading.enumerate() if each.name == "rebind-signs"}


def test_the_end_is_told_where_no_thread_can_be_started_any_more(monkeypatch):
    store = dist.HashStore()
    liveness = Liveness(store, 0, 1)

    def refuse(_: threading.Thread) -> None:  # as Python 3.12 does from the first function of atexit on
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    liveness.stop("finished")
    monkeypatch.undo()
    assert Signs(store, 1).read(0).ended == "finished"


def test_a_store_that_does_not_answer_is_gone(monkeypatch):
    monkeypatch.setattr(liveness_module, "ANSWER", 0.1)
    answered = threading.Event()

    class Silent:
        def check(self, keys: list[str]) -> bool:
            answered.wait()
            return False

    signs = Signs(Silent(), 1)
    assert signs.can_be_read is False and signs.is_alone
    answered.set()


def test_a_store_that_fails_is_gone():
    class Failing:
        def check(self, keys: list[str]) -> bool:
            raise RuntimeError("Connection reset by peer")

    signs = Signs(Failing(), 1)
    assert signs.read(0) is None and signs.is_alone


def test_all_that_is_asked_takes_one_thread_which_ends_with_who_asks():
    before = threads_of_signs()
    signs = Signs(dist.HashStore(), 1)
    assert [signs.read(0), signs.read(0)] == [None, None]
    (asking,) = threads_of_signs() - before
    del signs
    gc.collect()
    deadline = time.monotonic() + 30
    while asking.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not asking.is_alive()


@pytest.mark.parametrize("size", [1, 3])
def test_what_a_process_does_is_read_by_another(size):
    store = dist.HashStore()
    liveness = Liveness(store, 0, size)
    liveness.doing("push of 'w'")
    assert Signs(store, size).read(0).doing == "push of 'w'"
    liveness.stop("an error", lost=[2])
    assert (Signs(store, size).read(0).ended, Signs(store, size).read(0).lost) == ("an error", [2])
