"""Arrays, PyTorch's loaders and other iterables, for `fit`, `score` and `predict`."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import rebind as mx
from rebind import nd
from rebind.errors import MXNetError
from rebind.module.sources import BatchSource, as_source

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(22, 3)).astype("float32")
Y = (X.sum(axis=1) > 0).astype("int64")


def net_of(hidden):
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=2, name="fc"), name="softmax")


def one():
    return mx.mod.Module(net_of(mx.sym.var("data")))


def two():
    hidden = mx.sym.concat(mx.sym.var("left"), mx.sym.var("right"), dim=1)
    return mx.mod.Module(net_of(hidden), data_names=["left", "right"])


LEFT, RIGHT = X[:, :1], X[:, 1:]


def batches(*arrays, size=8):
    return [tuple(each[i : i + size] for each in arrays) for i in range(0, len(arrays[0]), size)]


class Reiterable:
    def __init__(self, made):
        self.made = made

    def __iter__(self):
        return iter(self.made)


SOURCES = {
    "pair": (one, (X, Y), {}),
    "y": (one, X, {"y": Y}),
    "ndarrays": (one, (nd.array(X), nd.array(Y)), {}),
    "tensors": (one, (torch.from_numpy(X), torch.from_numpy(Y)), {}),
    "dict of arrays": (one, {"data": X}, {"y": {"softmax_label": Y}}),
    "two by name": (two, {"left": LEFT, "right": RIGHT}, {"y": Y}),
    "two in a list": (two, ([LEFT, RIGHT], Y), {}),
    "loader": (one, DataLoader(TensorDataset(torch.from_numpy(X), torch.from_numpy(Y)), 8), {}),
    "loader of three": (
        two,
        DataLoader(TensorDataset(*map(torch.from_numpy, (LEFT, RIGHT, Y))), 8),
        {},
    ),
    "list": (one, batches(X, Y), {}),
    "iterable": (one, Reiterable(batches(X, Y)), {}),
    "iterable of lists": (one, Reiterable([(x.tolist(), y.tolist()) for x, y in batches(X, Y)]), {}),
    "iterable of dicts": (
        two,
        Reiterable([{"left": a, "right": b, "softmax_label": y} for a, b, y in batches(LEFT, RIGHT, Y)]),
        {},
    ),
    "iterable of groups": (two, Reiterable([([a, b], y) for a, b, y in batches(LEFT, RIGHT, Y)]), {}),
    "iterable of named groups": (
        two,
        Reiterable([({"right": b, "left": a}, y) for a, b, y in batches(LEFT, RIGHT, Y)]),
        {},
    ),
    "batches of io": (
        one,
        Reiterable([mx.io.DataBatch([nd.array(x)], [nd.array(y)]) for x, y in batches(X, Y)]),
        {},
    ),
}


@pytest.mark.parametrize("case", SOURCES)
def test_all_kinds_train_and_score(case):
    make, source, labels = SOURCES[case]
    module = make()
    history = module.fit(
        source, source if not labels else None, num_epoch=6, batch_size=8, initializer=mx.init.One(),
        optimizer_params={"learning_rate": 0.5}, shuffle=False, **labels,
    )  # fmt: skip
    # Weights, and what they measure, are those of the plain iterator but for its padding.
    assert history["train"]["accuracy"][-1] > 0.8
    assert dict(module.score(source, "acc", batch_size=8, **labels))["accuracy"] > 0.8
    out = module.predict(source)
    assert out.shape == (22, 2)
    weight, bias = (module.get_params()[0][name].asnumpy() for name in ("fc_weight", "fc_bias"))
    logits = X @ weight.T + bias
    np.testing.assert_allclose(
        out.asnumpy(), np.exp(logits) / np.exp(logits).sum(1, keepdims=True), rtol=1e-4, atol=1e-5
    )


def test_arrays_are_shuffled_by_numpy_random():
    def run(seed, **settings):
        np.random.seed(seed)
        module = one()
        module.fit((X, Y), num_epoch=1, batch_size=4, initializer=mx.init.One(), **settings)
        return module.get_params()[0]["fc_weight"].asnumpy()

    assert np.array_equal(run(1), run(1)) and not np.array_equal(run(1), run(2))
    assert np.array_equal(run(1, shuffle=False), run(2, shuffle=False))


def test_a_generator_is_one_epoch():
    module = one()
    assert len(module.fit((pair for pair in batches(X, Y)), num_epoch=1)["train"]["accuracy"]) == 1
    with pytest.raises(RuntimeError, match="must yield at least one batch in epoch 1"):
        one().fit((pair for pair in batches(X, Y)), num_epoch=2)


class Stream:
    """What cannot be read again: each iteration continues where the last one ended."""

    def __init__(self, count):
        self.numbers = iter(range(count))

    def __iter__(self):
        for number in self.numbers:
            yield np.full((2, 3), number, "float32"), np.zeros(2)


def trained_on(train, **settings):
    seen = []
    train(batch_end_callback=lambda p: seen.append(p.locals["data_batch"].data[0][0, 0].item()), **settings)
    return seen


def test_no_batch_of_a_stream_is_lost():
    assert trained_on(one().fit, train_data=Stream(4), num_epoch=1) == [0, 1, 2, 3]
    model = mx.model.FeedForward(net_of(mx.sym.var("data")), num_epoch=1)
    assert trained_on(model.fit, X=Stream(4), verbosity=0) == [0, 1, 2, 3]
    source = as_source(Stream(3), "score", one())
    assert source.provide_data[0].shape == (2, 3)
    source.reset()
    assert [batch.data[0][0, 0].item() for batch in source] == [0, 1, 2]


class Remembers(Reiterable):
    """Reports its position, as `torchdata`'s loader does."""

    def __init__(self, made):
        super().__init__(made)
        self.position = 0
        self.loaded = 0

    def __iter__(self):
        start, self.position = self.position, 0
        for i in range(start, len(self.made)):
            self.position = i + 1
            yield self.made[i]
        self.position = 0

    def state_dict(self):
        return {"position": self.position}

    def load_state_dict(self, state):
        self.loaded += 1
        self.position = state["position"]


def loader():
    return DataLoader(TensorDataset(torch.from_numpy(X), torch.from_numpy(Y)), 4, shuffle=True)


@pytest.mark.parametrize(
    "make",
    [loader, lambda: Remembers(batches(X, Y, size=4)), lambda: (X, Y)],
    ids=["loader", "remembers", "arrays"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_killed_run_resumes_exactly(tmp_path, make):
    class Killed(Exception):
        pass

    def run(folder, kill=None):
        def count(param):
            if (param.epoch, param.nbatch) == kill:
                raise Killed

        torch.manual_seed(3)
        np.random.seed(3)
        module, source = one(), make()
        module.fit(
            source,
            num_epoch=3,
            batch_size=4,
            initializer=mx.init.Uniform(0.1),
            optimizer_params={"learning_rate": 0.1},
            batch_end_callback=count,
            checkpoint=mx.checkpoint.Checkpoint(tmp_path / folder, every_n_batches=2),
        )
        return module.get_params()[0]["fc_weight"].asnumpy(), source

    mx.random.seed(5)
    whole, _ = run("whole")
    for kill in (0, 4), (1, 3):
        mx.random.seed(5)
        with pytest.raises(Killed):
            run(f"cut{kill[0]}", kill)
        torch.manual_seed(99)
        again, source = run(f"cut{kill[0]}")
        np.testing.assert_array_equal(again, whole)
        if isinstance(source, Remembers):
            assert source.loaded == 1


@pytest.mark.parametrize(
    ("given", "settings", "says"),
    [
        (
            5,
            {},
            r"train_data must be an iterator with provide_data .* arrays \(x, y\), or an iterable .*; got int",
        ),
        ((X, Y), {"y": Y}, "labels are given twice"),
        (X, {}, r"arrays need labels for 'softmax_label'; give \(x, y\), or x and y="),
        (SOURCES["list"][1], {"y": Y}, "y is for arrays; list has labels of its own"),
        (
            [[1.0, 2.0], [3.0, 4.0]],
            {},
            r"must hold arrays; got lists of numbers. Make an array .*: numpy.array\(\.\.\.\)",
        ),
        ([1.0, 2.0, 3.0], {}, "must hold arrays; got lists of numbers"),
        ([], {}, "must yield at least one batch; got none"),
        ([(X, Y, X)], {}, "have an array for each of data, softmax_label; got 3 arrays"),
        ([{"x": X}], {}, "a batch must have 'data'; got 'x'"),
        ([X, X], {"y": Y}, "an array for each of the inputs data; got 2"),
    ],
)
def test_what_cannot_be_trained_on(given, settings, says):
    with pytest.raises(MXNetError, match=says):
        one().fit(given, num_epoch=1, **settings)


@pytest.mark.parametrize("given", [[[1.0, 2.0, 3.0]] * 2, [1.0, 2.0, 3.0]], ids=str)
def test_predict_of_lists_of_numbers(given):
    module = one()
    module.fit((X, Y), num_epoch=1)
    with pytest.raises(MXNetError, match=r"^predict: eval_data: must hold arrays; got lists of numbers"):
        module.predict(given)


def test_a_network_without_labels_needs_none():
    net = mx.sym.MakeLoss(mx.sym.square(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")))
    with pytest.warns(UserWarning, match="softmax_label"):
        module = mx.mod.Module(net)
    assert module.fit(X, num_epoch=1, eval_metric="loss")["train"]["loss"]


def test_two_inputs_need_two_arrays():
    with pytest.raises(
        MXNetError, match=r"an array for each of left, right; got ndarray. Give a list or a dict"
    ):
        BatchSource([(X, [Y])], ["left", "right"], ["softmax_label"]).next()


def test_the_first_epoch_draws_what_it_would_have():
    torch.manual_seed(0)
    expected = [labels.tolist() for _, labels in loader()]
    torch.manual_seed(0)
    source = as_source(loader(), "fit", one())
    assert source.provide_data[0].shape == (4, 3) and len(source) == 6
    assert [batch.label[0].asnumpy().astype(int).tolist() for batch in source] == expected
