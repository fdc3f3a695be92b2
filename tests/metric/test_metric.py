"""Numbers are compared with MXNet's in ``parity/test_training.py``."""

import math

import numpy as np
import pytest
import torch

from rebind import metric, tuning
from rebind.device import cpu
from rebind.errors import ArgumentError, NameLookupError, ParameterError, ShapeError, StateError
from rebind.metric.base import metrics
from rebind.ndarray import NDArray, array

RANDOM = np.random.RandomState(0)
LABEL = RANDOM.randint(0, 4, 12)
PROBABILITY = RANDOM.dirichlet(np.ones(4), 12)
A, B = RANDOM.randn(12, 3), RANDOM.randn(12, 3)


def f1(y, p):
    return 2 * (y & p).sum() / (y.sum() + p.sum())


def correlation(y, p):
    return np.corrcoef(np.ravel(y), np.ravel(p))[0, 1]


def multiclass(y, p):
    """The multivariate correlation: of indicator vectors, with covariances summed over the classes."""
    y, p = np.eye(4)[y], np.eye(4)[p]
    y, p = y - y.mean(0), p - p.mean(0)
    return (y * p).sum() / np.sqrt((y * y).sum() * (p * p).sum())


# name, settings, label, prediction, what it is on the whole; the mean of batches is the whole for equal batches
CASES = [
    ("acc", {}, LABEL, PROBABILITY, lambda y, p: (p.argmax(1) == y).mean()),
    (
        "top_k_accuracy",
        {"top_k": 2},
        LABEL,
        PROBABILITY,
        lambda y, p: (p.argsort(1)[:, -2:] == y[:, None]).sum(1).mean(),
    ),
    ("ce", {}, LABEL, PROBABILITY, lambda y, p: -np.log(p[np.arange(len(y)), y]).mean()),
    ("nll_loss", {}, LABEL, PROBABILITY, lambda y, p: -np.log(p[np.arange(len(y)), y]).mean()),
    (
        "perplexity",
        {"ignore_label": None},
        LABEL,
        PROBABILITY,
        lambda y, p: np.exp(-np.log(p[np.arange(len(y)), y]).mean()),
    ),
    ("mse", {}, A, B, lambda y, p: ((y - p) ** 2).mean()),
    ("mae", {}, A, B, lambda y, p: abs(y - p).mean()),
    ("loss", {}, A, B, lambda y, p: p.mean()),
    ("torch", {}, A, B, lambda y, p: p.mean()),
    ("caffe", {}, A, B, lambda y, p: p.mean()),
    ("f1", {"average": "micro"}, LABEL % 2, PROBABILITY, lambda y, p: f1(y == 1, p.argmax(1) == 1)),
    ("mcc", {"average": "micro"}, LABEL % 2, PROBABILITY, lambda y, p: correlation(y == 1, p.argmax(1) == 1)),
    ("pcc", {}, LABEL % 2, PROBABILITY[:, :2], lambda y, p: correlation(y, p.argmax(1))),
    ("pcc", {}, LABEL, PROBABILITY, lambda y, p: multiclass(y, p.argmax(1))),
    ("pearsonr", {"average": "micro"}, A, A + B, correlation),
]
ids = [f"{case[0]}-{i}" for i, case in enumerate(CASES)]


@pytest.mark.parametrize(("name", "settings", "label", "pred", "reference"), CASES, ids=ids)
@pytest.mark.parametrize("kind", ["numpy", "ndarray", "list"])
def test_batches_are_the_whole(name, settings, label, pred, reference, kind):
    wrap = {"numpy": np.asarray, "ndarray": array, "list": lambda each: [array(each)]}[kind]
    made = metric.create(name, **settings)
    for part in range(3):
        made.update(wrap(label[part::3]), wrap(pred[part::3]))
    assert made.get()[1] == pytest.approx(reference(label, pred), rel=1e-5)
    assert made.get() == made.get_global()


@pytest.mark.parametrize(("name", "settings", "label", "pred", "reference"), CASES, ids=ids)
def test_windows(name, settings, label, pred, reference):
    made = metric.create(name, **settings)
    made.update([array(label[:6])], [array(pred[:6])])
    made.reset_local()
    assert math.isnan(made.get()[1])
    made.update([array(label[6:])], [array(pred[6:])])
    assert made.get()[1] == pytest.approx(reference(label[6:], pred[6:]), rel=1e-5)
    assert made.get_global()[1] == pytest.approx(reference(label, pred), rel=1e-5)
    assert made.get_global_name_value() == [made.get_global()]
    made.reset()
    assert math.isnan(made.get_global()[1])


@pytest.mark.parametrize(("name", "settings", "label", "pred", "reference"), CASES, ids=ids)
def test_config_makes_it_again(name, settings, label, pred, reference):
    config = metric.create(name, **settings).get_config()
    if name == "top_k_accuracy":
        del config["name"]  # `top_k` is in it, and would be added once more, as in MXNet
    again = metric.create(config.pop("metric"), **config)
    assert config.items() <= again.get_config().items()


@pytest.mark.parametrize(("name", "settings", "label", "pred", "reference"), CASES, ids=ids)
def test_no_value_is_read_before_get(name, settings, label, pred, reference, monkeypatch):
    """Reading a value waits for the device: `update` must not."""

    def read(*_):
        raise AssertionError("read back")

    arrays = [array(label)], [array(pred)]
    made = metric.create(name, **settings)
    # As for tensors of a GPU.
    monkeypatch.setattr("rebind.metric.classification._in_numpy", lambda *_: None)
    for method in (
        "item",
        "__bool__",
        "__float__",
        "__int__",
        "__index__",
        "tolist",
        "numpy",
        "cpu",
        "unique",
        "nonzero",
    ):
        monkeypatch.setattr(torch.Tensor, method, read)
    made.update(*arrays)
    made.update(*arrays)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32], ids=str)
@pytest.mark.parametrize(
    ("labels", "scores"), [((40,), (40, 7)), ((5, 3, 4), (5, 7, 3, 4)), ((6,), (6,))], ids=str
)
def test_accuracy_of_few_is_that_of_many(labels, scores, dtype):
    """Few numbers are counted by NumPy, many and those of other devices by PyTorch."""
    drawn = torch.Generator().manual_seed(0)
    label = torch.randint(0, 7, labels, generator=drawn).float() + 0.5
    label[:2] = torch.tensor([-1.0, 1.0]).reshape(2, *[1] * (len(labels) - 1))
    pred = (6 * torch.rand(scores, generator=drawn)).to(dtype)
    if labels == scores:
        label[-1] = pred[-1] = 3

    found = metric.Accuracy().measure(label, pred)
    with tuning.changed(numpy_score_elements=0):
        assert found == tuple(map(int, metric.Accuracy().measure(label, pred)))
    assert found[0] > 0


def test_counts_stay_exact():
    """float32 cannot count beyond 2**24."""
    made = metric.Accuracy()
    made.sum_metric = made.global_sum_metric = torch.tensor(2**24)
    made.num_inst = made.global_num_inst = 2**24
    made.update([array(np.zeros(1))], [array(np.array([[1.0, 0.0]]))])
    assert int(made.sum_metric) == 2**24 + 1


@pytest.mark.parametrize(
    ("label", "pred", "value"),
    [
        (np.array([0, 1]), np.array([0.0, 0.0]), 0.5),  # classes already
        (np.array([[0], [1]]), np.array([[0.9, 0.1], [0.2, 0.8]]), 1.0),
        (np.array([[0], [1]]), np.array([[0], [0]]), 0.5),
        (np.array([0, 1]), np.array([[0.5, 0.5], [0.5, 0.5]]), 0.5),  # the first of equals
    ],
)
def test_accuracy_shapes(label, pred, value):
    made = metric.Accuracy()
    made.update([label], [pred])
    assert made.get() == ("accuracy", value)


PIXELS = np.eye(4)[RANDOM.randint(0, 4, (2, 6))].transpose(0, 2, 1)
# what is special, name and settings, batches of labels and predictions, the figure
SPECIAL = {
    "more classes asked for than there are": (
        ("top_k_accuracy", {"top_k": 9}),
        [(LABEL, PROBABILITY)],
        1.0,
    ),
    "an ignored label that is no class": (
        ("perplexity", {"ignore_label": -1}),
        [(np.array([[0, -1], [1, 1]]), np.array([[0.5, 0.5], [0.9, 0.1], [0.5, 0.5], [0.5, 0.5]]))],
        2,
    ),
    "another axis": (
        ("perplexity", {"ignore_label": None, "axis": 1}),
        [(np.array([[0, 1]]), np.array([[[0.25, 0.5], [0.75, 0.5]]]))],
        math.exp(-(math.log(0.25) + math.log(0.5)) / 2),
    ),
    # 1.9.1 counts those that have the same label and class once.
    "pixels of one sample, which all count": (
        ("pcc", {}),
        [(LABEL.reshape(2, 6), PIXELS)],
        multiclass(LABEL, PIXELS.argmax(1).ravel()),
    ),
    "one number": (("pearsonr", {}), [(np.ones(1), np.ones(1))], math.nan),
    "a batch without numbers": (
        ("pearsonr", {"average": "micro"}),
        [(np.zeros(0), np.zeros(0)), (A, B)],
        correlation(A, B),
    ),
    "numbers far from zero, which keep their digits": (
        ("pearsonr", {"average": "micro"}),
        [(A[part::3] + 1e8, B[part::3] - 1e8) for part in range(3)],
        correlation(A, B),
    ),
}


@pytest.mark.parametrize(("made", "batches", "figure"), SPECIAL.values(), ids=SPECIAL)
def test_special_figures(made, batches, figure):
    name, settings = made
    made = metric.create(name, **settings)
    for label, pred in batches:
        made.update([label], [pred])
    assert made.get()[1] == pytest.approx(figure, nan_ok=True)
    assert settings.items() <= made.get_config().items()
    assert made.name == (f"{name}_{settings['top_k']}" if "top_k" in settings else name)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: metric.TopKAccuracy(),
            ParameterError,
            "top_k must be more than 1; got 1. For 1 use Accuracy",
        ),
        (lambda: metric.create("acurracy"), NameLookupError, "no metric 'acurracy'; did you mean 'accuracy'"),
        (lambda: metric.create(5), ArgumentError, "must be a name or an instance; got 5"),
        (
            lambda: metric.Accuracy().update([LABEL], [PROBABILITY] * 2),
            ShapeError,
            "1 labels and 2 predictions",
        ),
        (lambda: metric.Accuracy().update([LABEL[:4]], [PROBABILITY]), ShapeError, r"got labels \(4,\)"),
        (lambda: metric.Accuracy(2).update([LABEL], [PROBABILITY]), ShapeError, r"along axis 2; got labels"),
        (
            lambda: metric.CrossEntropy().update([LABEL[:4]], [PROBABILITY]),
            ShapeError,
            "one label for each row",
        ),
        (lambda: metric.MSE().update([A[:5]], [B]), ShapeError, r"mse: .*got \(5, 3\) and \(12, 3\)"),
        (lambda: metric.Accuracy().update(["a"], [PROBABILITY]), ArgumentError, "must be an array; got str"),
        (lambda: metric.CompositeEvalMetric().get_metric(3), NameLookupError, "index must be below 0; got 3"),
        (
            lambda: metric.F1(average="foo"),
            ParameterError,
            "F1: average must be one of 'macro', 'micro'; got 'foo'",
        ),
        (lambda: metric.MCC(average=None), ParameterError, "MCC: average must be one of"),
        (
            lambda: metric.PearsonCorrelation(average="x"),
            ParameterError,
            "PearsonCorrelation: average must be",
        ),
        (
            lambda: metric.F1().update([LABEL], [LABEL]),
            ShapeError,
            r"f1: .*at least 2 classes.*got shape \(12,\)",
        ),
        (lambda: metric.F1().update([LABEL], [PROBABILITY[:, :1]]), ShapeError, r"got shape \(12, 1\)"),
        (lambda: metric.MCC().update([LABEL[:4]], [PROBABILITY]), ShapeError, r"mcc: .*got labels \(4,\)"),
        (lambda: metric.PCC().update([LABEL[:4]], [PROBABILITY]), ShapeError, r"pcc: .*got labels \(4,\)"),
        (
            lambda: measured("pcc", LABEL - 1, PROBABILITY),
            ArgumentError,
            "pcc: .* must be classes 0, 1, 2, ...; got -1",
        ),
        (
            lambda: metric.PearsonCorrelation().update([LABEL], [PROBABILITY]),
            ShapeError,
            r"pearsonr: .*the same shape; got \(12,\) and \(12, 4\)",
        ),
        (
            lambda: metric.create(["acc"]).load_state_dict(metric.create(["acc", "ce"]).state_dict()),
            StateError,
            "must be that of 1 metrics; got 2",
        ),
        (lambda: metric.np(lambda y, p: 1).get_config(), NotImplementedError, "no settings to save"),
        (
            lambda: metric.Accuracy(output_names=["z"]).update_dict({"y": LABEL}, {"out": PROBABILITY}),
            NameLookupError,
            "output_names: no array 'z'",
        ),
    ],
)
def test_bad_input(call, error, says):
    with pytest.raises(error, match=says):
        call()


def measured(name, label, pred):
    made = metric.create(name)
    made.update([label], [pred])
    return made.get()


def test_failed_update_adds_nothing():
    made = metric.CrossEntropy()
    with pytest.raises(ShapeError):
        made.update([LABEL[:4]], [PROBABILITY])
    assert made.num_inst == 0


def test_composite():
    made = metric.create(["acc", metric.CrossEntropy(), lambda y, p: 0.5])
    made.update([array(LABEL)], [array(PROBABILITY)])
    names, values = made.get()
    assert names == ["accuracy", "cross-entropy", "custom(<lambda>)"]
    assert values[2] == 0.5
    made.reset_local()
    assert all(math.isnan(each) for each in made.get()[1])
    assert made.get_global()[1] == values
    assert [name for name, _ in made.get_global_name_value()] == names
    other = metric.create(["acc", "ce", lambda y, p: 0.5])
    other.load_state_dict(made.state_dict())
    assert other.get_global() == made.get_global()


@pytest.mark.parametrize(
    "make",
    [
        lambda **names: metric.create("acc", **names),
        lambda **names: metric.CompositeEvalMetric(["acc"], **names),
    ],
    ids=["single", "composite"],
)
def test_names_choose_outputs_and_labels(make):
    made, plain = make(output_names=["a"], label_names=["y"]), make()
    made.update_dict({"x": None, "y": array(LABEL)}, {"b": None, "a": array(PROBABILITY)})
    plain.update([array(LABEL)], [array(PROBABILITY)])
    assert made.get() == plain.get()


def mean_label(label, pred):
    assert type(label) is type(pred) is np.ndarray
    return label.sum(), len(label)


@pytest.mark.parametrize(
    ("function", "settings", "predictions", "figure", "count"),
    [
        pytest.param(
            mean_label,
            {},
            1,
            ("mean_label", pytest.approx(LABEL.mean())),
            len(LABEL),
            id="sum-and-count",
        ),
        pytest.param(
            mean_label,
            {"name": "own"},
            1,
            ("own", pytest.approx(LABEL.mean())),
            len(LABEL),
            id="name-of-its-own",
        ),
        pytest.param(
            lambda label, pred: 1.0,
            {"name": "one", "allow_extra_outputs": True},
            2,
            ("one", 1.0),
            1,
            id="extra-outputs",
        ),
    ],
)
def test_functions(function, settings, predictions, figure, count):
    made = metric.np(function, **settings)
    made.update([array(LABEL)], [array(PROBABILITY)] * predictions)
    assert (made.get(), made.num_inst) == (figure, count)


@pytest.mark.parametrize("name", ["f1", "mcc"])
def test_several_outputs_are_one_batch(name):
    apart, joined = (metric.create(name) for _ in range(2))
    label = LABEL % 2
    apart.update([label[:5], label[5:]], [PROBABILITY[:5], PROBABILITY[5:]])
    joined.update([label], [PROBABILITY])
    assert apart.get() == joined.get() and apart.num_inst == 1


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_a_third_class_is_refused_when_the_figure_is_read(average):
    """To look for it in `update` would be to wait for the device."""
    made = metric.F1(average=average)
    made.update([LABEL], [PROBABILITY])
    third = ((LABEL != 0) & (LABEL != 3)).sum()
    with pytest.raises(
        ParameterError, match=rf"f1: labels must be of two classes.*got {third} of a third.*PCC"
    ):
        made.get()


@pytest.mark.parametrize("name", ["f1", "mcc", "pcc"])
def test_labels_that_are_a_column(name):
    """1.9.1 counts each label against each prediction."""
    flat, column = (metric.create(name) for _ in range(2))
    flat.update([LABEL % 2], [PROBABILITY[:, :2]])
    column.update([LABEL[:, None] % 2], [PROBABILITY[:, :2]])
    assert flat.get() == column.get()


def test_pairs_are_counted_when_many_wait():
    made, parts = metric.PCC(), []
    with tuning.changed(waiting_pairs=20, waiting_pair_tensors=2):
        for _ in range(5):
            made.update([LABEL[:4]], [PROBABILITY[:4]])
            made.update([LABEL], [PROBABILITY])
            parts.append(len(made.sum_metric.waiting))
    assert max(parts) <= 3 and made.sum_metric.counted is not None
    expected = np.concatenate([LABEL[:4], LABEL] * 5), np.concatenate([PROBABILITY[:4], PROBABILITY] * 5)
    assert made.get()[1] == pytest.approx(multiclass(expected[0], expected[1].argmax(1)))


@pytest.mark.parametrize(
    ("name", "settings", "label", "pred"),
    # The mean of no numbers is none, and the figure with it.
    [case[:4] for case in CASES if case[0] not in ("mae", "mse", "rmse")],
)
def test_empty_batches(name, settings, label, pred):
    made, once = (metric.create(name, **settings) for _ in range(2))
    made.update([label[:0]], [pred[:0]])
    made.update([label], [pred])
    once.update([label], [pred])
    assert made.get() == once.get()


class OnlyReset(metric.EvalMetric):
    """As written before there were two windows, with more than the two sums."""

    def __init__(self):
        super().__init__("old")

    def reset(self):
        self.num_inst = 0
        self.sum_metric = 0.0
        self.seen = 0

    def update(self, labels, preds):
        self.sum_metric += 1
        self.num_inst += 2
        self.seen += 1

    def get(self):
        return self.name, self.sum_metric / max(self.num_inst, 1) + 100 * (self.seen > 1)


def test_old_metric_that_overrides_only_reset():
    made = OnlyReset()
    made.update(None, None)
    assert made.get() == made.get_global() == ("old", 0.5)
    made.reset_local()
    assert (made.num_inst, made.seen) == (0, 0)
    made.update(None, None)
    made.update(None, None)
    assert made.get() == ("old", 100.5)
    made.reset()
    assert made.get_global() == ("old", 0)


class Old(metric.EvalMetric):
    """As written before there were two windows."""

    def update(self, labels, preds):
        self.sum_metric += labels
        self.num_inst += 1


class OldAccuracy(metric.Accuracy):
    """One of ours with an old update."""

    def update(self, labels, preds):
        self.sum_metric += labels
        self.num_inst += 1


class Own(metric.EvalMetric):
    """One with its own global sums."""

    def __init__(self, name):
        super().__init__(name, has_global_stats=True)

    def update(self, labels, preds):
        for kind in ("", "global_"):
            setattr(self, f"{kind}sum_metric", getattr(self, f"{kind}sum_metric") + labels)
            setattr(self, f"{kind}num_inst", getattr(self, f"{kind}num_inst") + 1)


@pytest.mark.parametrize("make", [Old, OldAccuracy, Own])
def test_metrics_that_add_up_themselves_have_right_windows(make):
    made = make(name="own")
    made.update(1.0, None)
    made.reset_local()
    made.update(4.0, None)
    assert (made.get(), made.get_global()) == (("own", 4.0), ("own", 2.5))


def test_subclass_that_adds_in_place():
    class More(metric.Loss):
        def update(self, labels, preds):
            super().update(labels, preds)
            self.sum_metric += 1
            self.global_sum_metric += 1

    made = More()
    for _ in range(2):
        made.update(None, [A])
    assert made.get() == made.get_global() == ("loss", pytest.approx((2 * A.sum() + 2) / (2 * A.size)))


def test_registering(monkeypatch):
    monkeypatch.setattr(metrics, "_entries", dict(metrics._entries))

    @metric.alias("first")
    @metric.register
    class Ones(metric.EvalMetric):
        def measure(self, label, pred):
            return label.numel(), label.numel()

    metric.register(Ones, "third")
    for made in ("ones", "FIRST", "third", Ones):
        assert isinstance(metric.create(made, name="n"), Ones)


def test_labels_and_predictions_may_be_on_different_devices():
    made = metric.Accuracy()
    made.update([array(LABEL, ctx=cpu(1))], [NDArray(torch.from_numpy(PROBABILITY))])
    assert made.num_inst == len(LABEL)


def test_str():
    assert str(metric.Accuracy()) == "EvalMetric: {'accuracy': nan}"


def test_room_for_more_classes_in_a_confusion_matrix() -> None:
    found = metric.PCC()
    found.update([array([0, 1, 1])], [array([[1, 0], [0, 1], [1, 0]])])
    before = found.get()[1]
    found._grow(1)
    assert found.k == 3 and found.get()[1] == before
    assert found.lcm.tolist() == found.gcm.tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0]]
    with pytest.raises(ValueError, match="read-only"):
        found.lcm[0, 0] += 1
