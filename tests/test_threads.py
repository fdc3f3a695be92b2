"""One thread for little work: what the step of a small network consists of, beside the network."""

import contextlib

import numpy as np
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


def update(size):
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd", momentum=0.9))
    weight, gradient = mx.nd.zeros((size,)), mx.nd.ones((size,))
    return lambda: updater(0, gradient, weight)


def update_one_by_one(size):
    class Old(mx.optimizer.Optimizer):
        def create_state(self, index, weight):
            return None

        def update(self, index, weight, grad, state):
            weight -= grad

    updater = mx.optimizer.get_updater(Old())
    weight, gradient = mx.nd.zeros((size,)), mx.nd.ones((size,))
    return lambda: updater(0, gradient, weight)


def shuffled(size):
    batches = mx.io.NDArrayIter(np.zeros((4, size), np.float32), batch_size=1, shuffle=True)
    return batches.next


def augment(size):
    picture = mx.nd.ones((1, size, 1))
    return lambda: mx.image.ColorNormalizeAug(mx.nd.array([1]), None)(picture)


def augment_in_turn(size):
    # What an iterator does.
    return lambda: mx.image.augmenter.augmented(torch.ones(1, size, 1), [mx.image.HorizontalFlipAug(1.0)])


def augment_with_boxes(size):
    picture, augmenter = mx.nd.ones((1, size, 1)), mx.image.DetHorizontalFlipAug(1.0)
    return lambda: augmenter(picture, np.array([[0, 0.1, 0.2, 0.3, 0.4]]))


def augment_with_boxes_in_turn(size):
    augmenter, label = mx.image.DetHorizontalFlipAug(1.0), np.array([[0, 0.1, 0.2, 0.3, 0.4]])
    return lambda: mx.image.detection.augmenter.det_augmented(torch.ones(1, size, 1), label, [augmenter])


@pytest.mark.parametrize(
    ("work", "operator"),
    [
        (copy, "copy_"), (update, "_fused_sgd_"), (update_one_by_one, "sub"), (shuffled, "index_select"),
        (augment, "sub_"), (augment_in_turn, "flip"), (augment_with_boxes, "flip"),
        (augment_with_boxes_in_turn, "flip"),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)  # fmt: skip
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
