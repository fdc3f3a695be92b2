"""Record FeedForward: training runs, predictions, scores, and the files that it writes.

``python -m tests.parity.generate_feedforward --check PREFIX`` reads a model that rebind wrote, in the Python of an
environment that has MXNet 1.9.1, with its predictions: what ``write_feedforward`` wrote.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from .feedforward import POINTS, RUNS, iterator, train
from .golden import DATA, Pack, assert_close, write_manifest
from .oracle import mx, origin, settle, to_numpy


def generate_feedforward() -> None:
    """Record every run."""
    warnings.simplefilter("ignore")  # FeedForward says that it is deprecated
    pack = Pack()
    entries = {}
    for name, run in RUNS.items():
        model, seen = train(mx, run, settle)
        settle()
        entries[name] = {
            **seen,
            "arg_params": pack.add_all(to_numpy(model.arg_params)),
            "aux_params": pack.add_all(to_numpy(model.aux_params)),
            "predicted": pack.add(model.predict(POINTS)),
            "score": float(model.score(iterator(mx, run, 20, 5), run.metric)),
        }
        if name == "arrays":
            (DATA / "feedforward").mkdir(exist_ok=True)
            model.save(str(DATA / "feedforward" / "saved"))
    pack.write(DATA / "feedforward" / "runs.npz")
    write_manifest(DATA / "feedforward" / "runs.json", {"origin": origin(), "runs": entries})


def check(prefix: str) -> None:
    """Read a model that rebind wrote."""
    model = mx.model.FeedForward.load(prefix, 2)
    assert model.begin_epoch == 2
    assert_close(model.predict(POINTS), np.load(f"{prefix}.npy"), rtol=1e-5, what=prefix)
    print("read by MXNet:", prefix)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--check"]:
        check(sys.argv[2])
    else:
        generate_feedforward()
