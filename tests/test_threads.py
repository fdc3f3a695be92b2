"""One thread for little work: what the step of a small network consists of, beside the network."""

import contextlib

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import rebind as mx
from rebind.threads import OneThread, threads_for

FEW, MANY = 1 << 18, (1 << 18) + 1


@contextlib.contextmanager
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        yield
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


class ThreadsSeen(TorchDispatchMode):
    """Notes how many threads PyTorch has at each of its operators."""

    def __init__(self):
        super().__init__()
        self.seen = {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.seen.setdefault(function.overloadpacket.__name__, set()).add(torch.get_num_threads())
        return function(*args, **(kwargs or {}))


def copy(size):
    target, source = mx.nd.zeros((size,)), torch.ones(size)
    return lambda: mx.executor.group.routing.copy_all([(target, source)])


@pytest.mark.parametrize(
    ("work", "operator"),
    [
        (copy, "copy_"),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
@pytest.mark.parametrize(("size", "expected"), [(FEW, 1), (MANY, 3)], ids=["few", "many"])
def test_few_elements_are_left_to_one_thread(work, operator, size, expected):
    with three_threads():
        run = work(size)
        with ThreadsSeen() as threads:
            run()
    assert threads.seen[operator] == {expected}


def test_threads_are_as_before_after_an_error():
    with three_threads():
        with pytest.raises(ValueError), OneThread(wanted=True), threads_for(elements=1):
            raise ValueError
        assert torch.get_num_threads() == 3
