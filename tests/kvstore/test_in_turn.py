"""`OrderedWorker`: the order of the work, its thread, and its errors."""

import threading

import pytest

from rebind.kvstore.in_turn import OrderedWorker


@pytest.mark.parametrize(
    ("ready", "done"),
    [
        ("", ""),
        ("abcd", "abcd"),
        ("dcba", "abcd"),
        ("bd", ""),
        ("bad", "ab"),
        ("cab", "abc"),
    ],
)
def test_each_item_waits_for_those_before_it(ready, done):
    found: list[str] = []
    turns = OrderedWorker(found.append, "test")
    turns.begin("abcd")
    for each in ready:
        turns.ready(each)
    turns.wait()
    assert "".join(found) == done
    assert "".join(turns.ahead) == "abcd"[len(done) :]


def test_the_caller_goes_on_meanwhile():
    may_go_on, threads = threading.Event(), []

    def work(item: str) -> None:
        assert may_go_on.wait(60)
        threads.append(threading.current_thread())

    turns = OrderedWorker(work, "test")
    turns.begin(["a", "b"])
    turns.ready("a")
    turns.ready("b")
    assert threads == []
    may_go_on.set()
    turns.wait()
    assert len(set(threads)) == 1 and threads[0] is not threading.current_thread()


def test_the_first_error_is_raised_once_by_wait():
    def work(item: str) -> None:
        raise ValueError(item)

    turns = OrderedWorker(work, "test")
    turns.begin(["a", "b"])
    turns.ready("a")
    turns.ready("b")
    with pytest.raises(ValueError, match="a"):
        turns.wait()
    turns.wait()
    turns.begin(["c"])
    assert turns.ahead == ["c"]
