"""FeedForward beside MXNet's: the same training from the same weights and seed, the same predictions and files."""

from __future__ import annotations

import numpy as np
import pytest

import rebind as mx

from .feedforward import CLASSES, POINTS, RUNS, classifier, iterator, train
from .golden import DATA, Pack, assert_close, read_manifest

FOLDER = DATA / "feedforward"
MANIFEST = read_manifest(FOLDER / "runs.json")["runs"]
PACK = Pack.read(FOLDER / "runs.npz")


@pytest.mark.parametrize("name", RUNS)
def test_training(name):
    run, entry = RUNS[name], MANIFEST[name]
    model, seen = train(mx, run)
    assert seen["batches"] == entry["batches"]
    assert [epoch for epoch, _ in seen["epochs"]] == [epoch for epoch, _ in entry["epochs"]]
    for (_, actual), (_, expected) in zip(seen["epochs"], entry["epochs"], strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(seen["validation"], entry["validation"], rtol=1e-4)
    for kind in ("arg_params", "aux_params"):
        actual = {key: value.asnumpy() for key, value in getattr(model, kind).items()}
        assert sorted(actual) == sorted(entry[kind])
        for key, expected in PACK.get_all(entry[kind]).items():
            assert_close(actual[key], expected, rtol=1e-4, what=f"{name}, {key}")
    assert_close(model.predict(POINTS), PACK.get(entry["predicted"]), rtol=1e-4, what=name)
    assert model.score(iterator(mx, run, 20, 5), run.metric) == pytest.approx(entry["score"], rel=1e-4)


def saved_model():
    return mx.model.FeedForward.load(str(FOLDER / "saved"), 2, num_epoch=3, numpy_batch_size=4)


def model_with_saved_parameters():
    model = mx.model.FeedForward(classifier(mx))
    assert model.load_checkpoint(str(FOLDER / "saved"), 2) is model
    return model


@pytest.mark.parametrize("make", [saved_model, model_with_saved_parameters], ids=["model", "parameters"])
def test_what_mxnet_saved_predicts_what_it_predicts_there(make):
    expected = PACK.get(MANIFEST["arrays"]["predicted"])
    assert_close(make().predict(POINTS), expected, rtol=1e-5, what="predictions")


def test_training_of_a_model_that_mxnet_saved_continues():
    model = saved_model()
    assert model.begin_epoch == 2
    assert list(model.fit(POINTS, CLASSES)["train"]) == ["accuracy"]
