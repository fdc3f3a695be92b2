"""Programs of the years of MXNet in `tests/scripts`, and what of their output is compared."""

from __future__ import annotations

import re
from pathlib import Path

from .golden import DATA

__all__ = ["RECORD", "RUNS", "SCRIPTS", "said"]

SCRIPTS = Path(__file__).parents[1] / "scripts"
RECORD = DATA / "scripts.json"

#: Calls by name: the script and its arguments. They run in a fresh folder.
RUNS: dict[str, list[str]] = {
    "mlp": ["train_mnist.py", "--devices", "2", "--model-prefix", "digits"],
    "lstm": ["lstm.py"],
    "custom_operator": ["numpy_softmax.py"],
    "operators": ["check_operators.py"],
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
