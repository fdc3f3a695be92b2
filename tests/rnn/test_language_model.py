"""The examples with recurrent cells: their results, and that a bucket that comes again is not lowered again."""

from __future__ import annotations

import importlib
import importlib.util
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rebind as mx
from rebind.checkpoint import Checkpoint

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, *arguments: str | Path) -> str:
    """Run an example as a stranger would; return what it prints."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_language_model(tmp_path):
    printed = run("language_model.py", "--out", tmp_path, "--picture", tmp_path / "curves.png")
    figures = re.findall(r"Epoch \d: perplexity ([\d.]+), of lines held out ([\d.]+)", printed)
    learned, held_out = (list(map(float, each)) for each in zip(*figures, strict=True))
    assert learned == sorted(learned, reverse=True) and learned[-1] < 150
    assert min(held_out) < 125
    assert len(list(tmp_path.glob("sonnets-*.params"))) == len(figures)


def test_generate():
    printed = run("generate.py")
    assert printed.startswith(
        "Shall I compare thee to a summer's day?\nThou art more lovely and more temperate:"
    )
    assert float(re.search(r"([\d.]+)% of 331 letters are right", printed)[1]) >= 98


@pytest.fixture
def language_model(monkeypatch):
    spec = importlib.util.spec_from_file_location("language_model", EXAMPLES / "language_model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    learn, held_out = module.lines()
    monkeypatch.setattr(module, "lines", lambda: (learn[:500], held_out[:150]))
    return module


def test_a_bucket_that_comes_again_is_not_lowered_again(language_model, monkeypatch):
    lower = importlib.import_module("rebind.executor.lower")
    lowered = []
    optimize = lower.optimize
    monkeypatch.setattr(lower, "optimize", lambda *args: lowered.append(args[0]) or optimize(*args))
    random.seed(0)
    np.random.seed(0)
    learn, held_out, vocab = language_model.batches()
    _, unrolled = language_model.network(1 + len(vocab))
    lengths = []
    module = mx.mod.BucketingModule(
        lambda length: lengths.append(length) or unrolled(length), default_bucket_key=learn.default_bucket_key
    )
    counts = []
    module.fit(
        learn,
        eval_data=held_out,
        eval_metric=mx.metric.Perplexity(ignore_label=0),
        optimizer="adam",
        num_epoch=3,
        epoch_end_callback=lambda *_: counts.append(len(lowered)),
    )
    assert sorted(lengths) == sorted({*learn.buckets, *held_out.buckets})  # unrolled once each
    # For training in the first epoch, for validation after it; nothing from then on.
    assert counts[0] == len({bucket for bucket, _ in learn.idx})
    assert counts[1] == counts[2] == len(lowered)


class Kill(BaseException):
    """What no part of the program catches, as a kill."""


@pytest.mark.parametrize("position", [(0, 3), (1, 5)])
def test_a_killed_run_ends_as_one_that_was_not(language_model, position, tmp_path):
    def fit(checkpoint, callback=None):
        random.seed(0)
        np.random.seed(0)
        mx.random.seed(0)
        learn, _, vocab = language_model.batches()
        _, unrolled = language_model.network(1 + len(vocab))
        module = mx.mod.BucketingModule(unrolled, default_bucket_key=learn.default_bucket_key)
        module.fit(
            learn, eval_metric="ce", optimizer="adam", num_epoch=2, initializer=mx.init.Xavier(),
            checkpoint=checkpoint, batch_end_callback=callback,
        )  # fmt: skip
        return {name: value.asnumpy() for name, value in module.get_params()[0].items()}

    def kill(record):
        if (record.epoch, record.nbatch) == position:
            raise Kill

    wanted = fit(None)
    prefix = str(tmp_path / "run")
    with pytest.raises(Kill):
        fit(Checkpoint(prefix, every_n_batches=2), kill)
    found = fit(Checkpoint(prefix, every_n_batches=2))
    assert {name: value.tobytes() for name, value in found.items()} == {
        name: value.tobytes() for name, value in wanted.items()
    }
