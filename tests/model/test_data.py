"""What FeedForward trains on, measures and predicts: all that `Module.fit` takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import rebind as mx
from rebind import nd
from rebind import sym as S
from rebind.errors import MXNetError

X = np.random.RandomState(0).rand(24, 3).astype("float32")
Y = (X[:, 0] > X[:, 1]).astype("float32")
LEFT, RIGHT = X[:, :1], X[:, 1:]
TENSORS = torch.from_numpy(X), torch.from_numpy(Y)


def net(*inputs: str) -> Any:
    joined = S.concat(*map(S.var, inputs), dim=1) if len(inputs) > 1 else S.var(inputs[0])
    return S.SoftmaxOutput(S.FullyConnected(joined, num_hidden=2, name="fc"), name="softmax")


ONE, TWO = net("data"), net("left_data", "right_data")
NAMED = {"left_data": LEFT, "right_data": RIGHT}


def cut(*arrays: Any) -> list[tuple[Any, ...]]:
    return [tuple(each[i : i + 4] for each in arrays) for i in range(0, 24, 4)]


def loader(*tensors: Any) -> Any:
    return DataLoader(TensorDataset(*tensors), 4)


#: The network, what `fit` and `score` are given, and what `predict` is given.
SOURCES: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "iterator": (ONE, {"X": mx.io.NDArrayIter(X, Y, 4)}, X),
    "arrays": (ONE, {"X": X, "y": Y}, X),
    "NDArrays": (ONE, {"X": nd.array(X), "y": nd.array(Y)}, nd.array(X)),
    "tensors": (ONE, {"X": TENSORS[0], "y": TENSORS[1]}, TENSORS[0]),
    "a pair": (ONE, {"X": (X, Y)}, (X, Y)),
    "labels as a list": (ONE, {"X": X, "y": Y.tolist()}, X),
    "labels by name": (ONE, {"X": X, "y": {"softmax_label": Y}}, {"data": X}),
    "two by name": (TWO, {"X": NAMED, "y": Y}, NAMED),
    "two in a list": (TWO, {"X": [LEFT, RIGHT], "y": Y}, [LEFT, RIGHT]),
    "a loader": (ONE, {"X": loader(*TENSORS)}, loader(*TENSORS)),
    "a loader of three": (
        TWO,
        {"X": loader(TENSORS[0][:, :1], TENSORS[0][:, 1:], TENSORS[1])},
        loader(TENSORS[0][:, :1], TENSORS[0][:, 1:]),
    ),
    "pairs": (ONE, {"X": cut(X, Y)}, cut(X)),
    "dicts": (
        TWO,
        {"X": [{"left_data": a, "right_data": b, "softmax_label": y} for a, b, y in cut(LEFT, RIGHT, Y)]},
        [{"left_data": a, "right_data": b} for a, b in cut(LEFT, RIGHT)],
    ),
}


def model(symbol: Any, **settings: Any) -> Any:
    start = {"fc_weight": nd.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]), "fc_bias": nd.zeros((2,))}
    return mx.model.FeedForward(
        symbol, num_epoch=2, learning_rate=0.5, numpy_batch_size=4, arg_params=start, **settings
    )


EXPECTED = model(ONE).predict(X)


@pytest.mark.parametrize(("symbol", "given", "inputs"), SOURCES.values(), ids=SOURCES)
def test_what_it_takes(symbol: Any, given: dict[str, Any], inputs: Any) -> None:
    made = model(symbol)
    assert np.allclose(made.predict(inputs), EXPECTED, atol=1e-6)
    before = made.score(given["X"], "ce", **{name: given[name] for name in given if name != "X"})
    whole = -np.log(EXPECTED[np.arange(24), Y.astype(int)]).mean()
    assert before == pytest.approx(whole, rel=1e-5)
    evaluated = (given["X"], given["y"]) if "y" in given else given["X"]
    history = made.fit(**given, eval_data=evaluated, eval_metric="ce", verbosity=0)
    assert len(history["train"]["cross-entropy"]) == 2
    assert history["validation"]["cross-entropy"][1] < before
    again = made.score(given["X"], "ce", **{name: given[name] for name in given if name != "X"})
    assert history["validation"]["cross-entropy"][1] == pytest.approx(again, rel=1e-5)


def test_iterables_train_as_iterators_do() -> None:
    found = []
    for given in mx.io.NDArrayIter(X, Y, 4), cut(X, Y), loader(*TENSORS):
        made = model(ONE)
        made.fit(given, verbosity=0)
        found.append(made.arg_params["fc_weight"].asnumpy())
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


@pytest.mark.parametrize("size", [4, 7])
def test_an_epoch_may_be_a_part_of_an_iterable(size: int) -> None:
    made, seen = model(ONE, epoch_size=size), []
    made.fit(cut(X, Y), batch_end_callback=lambda record: seen.append(record.nbatch), verbosity=0)
    assert seen == [*range(1, size + 1)] * 2


def test_a_killed_run_on_a_loader_resumes(tmp_path: Any) -> None:
    def run(prefix: str, stop: bool = False) -> Any:
        def fail(record: Any) -> None:
            if stop and record.epoch == 1 and record.nbatch == 3:
                raise KeyboardInterrupt

        torch.manual_seed(3)
        made = model(ONE)
        checkpoint = mx.checkpoint.Checkpoint(tmp_path / prefix, every_n_batches=2)
        shuffled = DataLoader(TensorDataset(*TENSORS), 4, shuffle=True)
        made.fit(shuffled, batch_end_callback=fail, checkpoint=checkpoint, verbosity=0)
        return made.arg_params["fc_weight"].asnumpy()

    whole = run("whole")
    with pytest.raises(KeyboardInterrupt):
        run("cut", stop=True)
    assert np.array_equal(run("cut"), whole)


@pytest.mark.parametrize(
    ("symbol", "arguments", "says"),
    [
        (ONE, {"X": X}, "FeedForward.fit: y must be given when X is an array; got None"),
        (ONE, {"X": [X, X], "y": Y}, "X: there must be an array for each of the inputs data; got 2"),
        (TWO, {"X": X, "y": Y}, "for each of the inputs left_data, right_data; got 1"),
        (TWO, {"X": [LEFT, RIGHT[:5]], "y": Y}, r"equal numbers of rows; got shapes \(24, 1\) and \(5, 2\)"),
        (ONE, {"X": cut(X, Y), "y": Y}, "FeedForward.fit: X: y is for arrays; list has labels of its own"),
        (
            ONE,
            {"X": 5},
            r"FeedForward.fit: X must be an iterator .* an iterable of batches \(x, y\); got int",
        ),
        (ONE, {"X": X, "y": Y, "eval_data": 5}, "FeedForward.fit: eval_data must be an iterator .* got int"),
        (ONE, {"X": X, "y": Y, "eval_data": (X, Y, Y)}, "a pair of arrays .*; got 3 items"),
    ],
)
def test_what_it_refuses(symbol: Any, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(MXNetError, match=says):
        model(symbol).fit(verbosity=0, **arguments)
