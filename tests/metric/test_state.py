"""A metric whose sums were saved in a file gives, to the bit, the figure of one that was never stopped."""

import collections
import inspect
import math

import numpy as np
import pytest

from rebind import metric
from rebind.checkpoint.tree import read_tree, write_tree
from rebind.metric.arrays import as_tensor
from rebind.metric.base import metrics
from rebind.ndarray import array

RANDOM = np.random.RandomState(3)
CLASSES = [(RANDOM.randint(0, 4, n), RANDOM.dirichlet(np.ones(4), n)) for n in (7, 4, 9, 5)]
TWO = [(label % 2, pred[:, :2]) for label, pred in CLASSES]
NUMBERS = [(RANDOM.randn(n, 3), RANDOM.randn(n, 3)) for n in (7, 4, 9, 5)]


def largest(label, pred):
    return abs(label).max(), 3


class OnlyReset(metric.EvalMetric):
    """As written before there were two windows, with sums of its own."""

    def __init__(self):
        super().__init__("old")

    def reset(self):
        self.num_inst = 0
        self.sum_metric = 0.0
        self.seen = collections.defaultdict(float)
        self.last = [None, np.float32(0)]

    def update(self, labels, preds):
        value = preds[0].asnumpy().mean()
        self.sum_metric += value
        self.num_inst += 1
        self.seen[int(labels[0].asnumpy().max())] += value / 3
        self.last = [labels[0], self.last[1] + value]

    def get(self):
        return self.name, [self.sum_metric, sum(self.seen.values()), float(self.last[1])]


class Holder(metric.EvalMetric):
    """Keeps arrays, and another metric."""

    def __init__(self):
        super().__init__("holder")
        self.inner = metric.F1()
        self.rule = lambda value: value  # a setting, not a sum

    def reset(self):
        self.matrix = np.zeros((2, 2))
        self.tensor = as_tensor(np.zeros(2))
        self.num_inst, self.sum_metric = 0, 0.0
        if hasattr(self, "inner"):
            self.inner.reset()

    def update(self, labels, preds):
        self.inner.update(labels, preds)
        self.matrix = self.matrix * 0.7 + preds[0].asnumpy()[:2, :2]
        self.tensor = self.tensor / 3 + as_tensor(preds[0])[0, :2]
        self.num_inst += 1

    def get(self):
        return self.name, [self.inner.get_global()[1], self.matrix.sum(), float(self.tensor.sum())]


CASES = [
    (lambda: metric.Accuracy(), CLASSES),
    (lambda: metric.TopKAccuracy(top_k=2), CLASSES),
    (lambda: metric.CrossEntropy(), CLASSES),
    (lambda: metric.NegativeLogLikelihood(), CLASSES),
    (lambda: metric.Perplexity(ignore_label=1), CLASSES),
    (lambda: metric.MAE(), NUMBERS),
    (lambda: metric.MSE(), NUMBERS),
    (lambda: metric.RMSE(), NUMBERS),
    (lambda: metric.Loss(), NUMBERS),
    (lambda: metric.Torch(), NUMBERS),
    (lambda: metric.Caffe(), NUMBERS),
    (lambda: metric.F1(), TWO),
    (lambda: metric.F1(average="micro"), TWO),
    (lambda: metric.MCC(), TWO),
    (lambda: metric.MCC(average="micro"), TWO),
    (lambda: metric.PCC(), CLASSES),
    (lambda: metric.PCC(has_global_stats=False), CLASSES),
    (lambda: metric.PearsonCorrelation(), NUMBERS),
    (lambda: metric.PearsonCorrelation(average="micro"), NUMBERS),
    (lambda: metric.CustomMetric(largest), NUMBERS),
    (lambda: metric.np(largest), NUMBERS),
    (lambda: metric.CompositeEvalMetric(["acc", "pcc", metric.np(largest), ["ce", "f1"]]), TWO),
    (lambda: OnlyReset(), CLASSES),
    (lambda: Holder(), TWO),
]
ids = [f"{i}-{type(make()).__name__}" for i, (make, _) in enumerate(CASES)]


def same(one, other):
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other or (math.isnan(one) and math.isnan(other))


def figures(made):
    return made.get(), made.get_global()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stop", [0, 1, 2, 3])
@pytest.mark.parametrize(("make", "batches"), CASES, ids=ids)
def test_stopped_and_resumed(make, batches, stop, dtype, tmp_path):
    whole, made = make(), make()
    path = tmp_path / "state"
    for number, (label, pred) in enumerate(batches):
        if number == stop:
            with open(path, "wb") as file:
                write_tree(file, made.state_dict())
            made = make()
            made.load_state_dict(read_tree(str(path)))
            assert same(figures(made), figures(whole))
        for each in (whole, made):
            if number == 1:
                each.reset_local()
            each.update([array(label)], [array(pred, dtype=dtype)])
        assert same(figures(made), figures(whole))
    for each in (whole, made):
        each.reset_local()
    assert same(figures(made), figures(whole))
    for each in (whole, made):
        each.reset()
    assert same(figures(made), figures(whole))


def test_every_metric_has_a_row():
    tested = {type(make()) for make, _ in CASES}
    ours = {each for each in metrics._entries.values() if each.__module__.startswith("rebind.")}
    assert {each for each in ours if inspect.isclass(each)} <= tested


@pytest.mark.parametrize(("make", "batches"), CASES, ids=ids)
def test_a_state_does_not_change_afterwards(make, batches, tmp_path):
    made, again = make(), make()
    (label, pred), (more, scores) = batches[:2]
    made.update([array(label)], [array(pred)])
    state, before = made.state_dict(), figures(made)
    made.update([array(more)], [array(scores)])
    again.load_state_dict(state)
    again.update([array(more)], [array(scores)])
    again.load_state_dict(state)
    assert same(figures(again), before)


def test_what_is_no_data_is_named():
    class Odd(OnlyReset):
        def __init__(self):
            super().__init__()
            self.ids = {1, 2}

    with pytest.warns(UserWarning, match="old: ids must be numbers.*got set.*Define state_dict"):
        state = Odd().state_dict()
    assert "ids" not in state["own"]


def test_settings_are_not_part_of_the_state():
    first, second = metric.CrossEntropy(eps=0.1, name="a"), metric.CrossEntropy(eps=0.5, name="b")
    second.load_state_dict(first.state_dict())
    assert (second.eps, second.name) == (0.5, "b")
