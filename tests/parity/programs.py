"""Programs from MXNet's years in `tests/programs`: how they are run, and which of their output is compared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .golden import DATA

__all__ = ["PROGRAMS", "RECORD", "RUNS", "Run", "said"]

PROGRAMS = Path(__file__).parents[1] / "programs"
RECORD = DATA / "programs.json"


@dataclass(frozen=True)
class Run:
    """A program with its arguments, and the figures that it must reach, under MXNet and under rebind.

    `result` is a pattern for a line of its output, with a group for each figure; `bounds` are the lowest and highest
    value of each. A program whose random numbers all come from NumPy has a `tolerance`: its figures are MXNet's own,
    up to that relative difference. `unsaid` matches lines of MXNet's own that rebind does not print, for a reason that
    docs/differences.md gives.
    """

    script: str
    arguments: tuple[str, ...] = ()
    result: str = ""
    bounds: tuple[tuple[float, float], ...] = ()
    tolerance: float | None = None
    unsaid: str | None = None

    def figures(self, out: str) -> list[float]:
        """Return the figures of the result in a program's output; raise if they are missing or out of bounds."""
        if not self.result:
            return []
        found = re.search(self.result, out)
        assert found is not None, f"{self.script}: no line matches {self.result!r} in:\n{out}"
        values = [float(figure) for figure in found.groups()]
        for value, (low, high) in zip(values, self.bounds, strict=True):
            assert low <= value <= high, f"{self.script}: {value} is not in [{low}, {high}]: {found[0]}"
        return values


_N = r"(-?[\d.]+)"

#: Runs by name. Each starts in an empty folder.
RUNS: dict[str, Run] = {
    "mlp": Run(
        "train_mnist.py", ("--devices", "2", "--model-prefix", "digits"), f"accuracy {_N}", ((0.9, 1),)
    ),
    "lstm": Run("lstm.py", result=f"perplexity {_N}", bounds=((1, 1.2),)),
    "custom_operator": Run("numpy_softmax.py"),
    "operators": Run("check_operators.py"),
    "actor_critic": Run("actor_critic.py", result=f"running reward {_N}", bounds=((0.5, 1),)),
    "attach_row_sparse": Run(
        "attach_row_sparse.py",
        result=rf"final {_N} {_N}",
        bounds=((200, 300), (300, 400)),
        tolerance=1e-4,
    ),
    "autoencoder": Run("autoencoder.py", result=f"Validation error {_N}", bounds=((0, 0.06),)),
    "bucketing": Run("bucketing_lm.py", result=f"perplexity {_N}", bounds=((1.8, 2.4),)),
    "cnn_text": Run(
        "cnn_text.py",
        result=f"Training accuracy {_N} development accuracy {_N}",
        bounds=((95, 100), (95, 100)),
    ),
    "csr_text": Run(
        "csr_text.py",
        result=rf"module accuracy {_N}\nby hand accuracy {_N} norm {_N}",
        bounds=((0.99, 1), (0.99, 1), (20, 30)),
        tolerance=1e-4,
    ),
    "data_iter": Run("data_iter.py", result=f"accuracy {_N}", bounds=((0.9, 1),), tolerance=0.01),
    "dqn": Run("dqn.py", result=f"reward of the last hundred steps {_N}", bounds=((0.75, 1),)),
    "dsd": Run(
        "dsd.py",
        result=rf"dense {_N} sparse {_N} dense {_N}\naccuracy {_N}",
        bounds=((0, 0.01), (0.69, 0.71), (0, 0.5), (0.95, 1)),
    ),
    "feedforward": Run("feedforward.py", result=f"accuracy {_N}", bounds=((0.95, 1),)),
    "fine_tune": Run("fine_tune.py", result=f"accuracy on new classes {_N}", bounds=((0.95, 1),)),
    "gan": Run("gan.py", result=f"mean of the fakes {_N} {_N}", bounds=((1, 3), (-2, 0))),
    "lstm_bucketing": Run(
        "lstm_bucketing.py",
        result=f"perplexity {_N}",
        bounds=((1.8, 2.6),),
        unsaid="WARNING: discarded # sentences",
    ),
    "matrix_factorisation": Run("matrix_fact.py", result=f"RMSE {_N}", bounds=((0, 0.1),)),
    "monitor": Run(
        "monitored.py",
        result=f"accuracy {_N} cross-entropy {_N}",
        bounds=((0.98, 1), (0, 0.1)),
        tolerance=1e-3,
    ),
    "multi_device": Run(
        "multi_device.py",
        result=rf"equal weights {_N}\naccuracy {_N}",
        bounds=((0, 1000), (0.95, 1)),
        tolerance=1e-4,
    ),
    "multi_task": Run("multi_task.py", result=f"class {_N} parity {_N}", bounds=((0.95, 1), (0.95, 1))),
    "neural_style": Run(
        "neural_style.py",
        result=rf"loss at first {_N}\nloss at last {_N}",
        bounds=((10, 100), (0, 3)),
        tolerance=0.01,
    ),
    "resume": Run(
        "resume.py",
        result=rf"furthest weight {_N}, state {_N}\nweights {_N} accuracy {_N}",
        bounds=((0, 0), (0, 0), (0, 1000), (0.95, 1)),
        tolerance=1e-3,
    ),
    "row_sparse_pull": Run(
        "row_sparse_pull.py",
        result=rf"step 4 loss {_N} .*\nsum {_N} untouched {_N}",
        bounds=((25, 30), (10, 15), (14, 14)),
        tolerance=1e-4,
    ),
    "sgld": Run(
        "sgld.py",
        result=f"mean is off by {_N} deviations, spread is {_N}",
        bounds=((0, 0.6), (0.8, 1.5)),
    ),
    "simple_bind": Run(
        "simple_bind_loop.py",
        result=rf"weights {_N} moving mean {_N}\n.* {_N}\naccuracy {_N}",
        bounds=((0, 100), (0, 10), (0.9, 1), (0.98, 1)),
        tolerance=1e-4,
    ),
    "sparse_recommender": Run(
        "sparse_recommender.py",
        result=rf"norm {_N} {_N} {_N}\nfinal mse {_N}",
        bounds=((0, 1), (0, 1), (0, 1), (0, 0.05)),
        tolerance=1e-3,
    ),
    "stochastic_depth": Run("stochastic_depth.py", result=f"accuracy {_N}", bounds=((0.85, 1),)),
    "storage_operator": Run(
        "storage_operator.py",
        result=rf"nd csr {_N}\narg csr out default {_N}\n.*\nw {_N}",
        bounds=((0, 10), (0, 10), (0, 20)),
        tolerance=1e-4,
    ),
    "svrg": Run(
        "svrg_regression.py",
        result=rf"SGD distance {_N} cost {_N}\nSVRG distance {_N} cost {_N}",
        bounds=((0, 0.1), (0, 0.9), (0, 0.1), (0, 0.9)),
        tolerance=1e-3,
    ),
    "weighted_logistic": Run(
        "weighted_logistic.py",
        result=rf"positive {_N} negative {_N}\nsum of outputs {_N} of gradients {_N}",
        bounds=((0.999, 1.001), (0.0999, 0.1001), (0, 20), (-20, 20)),
        tolerance=1e-4,
    ),
}

_NUMBER = re.compile(r"(?<![\w(])\d+(\.\d+)?(e[+-]\d+)?(?!\w)")


def said(out: str, err: str) -> list[str]:
    """Return what the program printed, and what `fit` logged, with every figure as ``#``.

    Programs read these lines, so that their words must stay; random numbers differ. Epochs and numbers of batches stay
    too.
    """
    logged = re.findall(r"(?:Epoch\[\d+\]|Saved checkpoint).*", err)
    return [_masked(line) for line in [*logged, *out.splitlines()]]


def _masked(line: str) -> str:
    head = re.match(r"(Epoch\[\d+\]( Batch \[\d+(-\d+)?\])?)?", line)
    begin = head.end() if head else 0
    return line[:begin] + _NUMBER.sub("#", line[begin:])
