"""Write a trained FeedForward for MXNet to read: ``python -m tests.parity.write_feedforward PREFIX``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import rebind as mx

from .feedforward import POINTS, RUNS, train


def main(prefix: str) -> None:
    """Write ``PREFIX-symbol.json``, ``PREFIX-0002.params`` and ``PREFIX.npy``, the predictions."""
    Path(prefix).parent.mkdir(parents=True, exist_ok=True)
    model, _ = train(mx, RUNS["arrays"])
    model.save(prefix)
    np.save(f"{prefix}.npy", model.predict(POINTS))


if __name__ == "__main__":
    main(sys.argv[1])
