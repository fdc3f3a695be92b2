"""Write ``.states`` files with rebind, and beside each what it should hold, for MXNet to read.

python -m tests.parity.write_states DIR
ORACLE -m tests.parity.generate_training --check DIR
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from rebind import lr_scheduler, optimizer
from rebind.ndarray import NDArray, array


def numbers(state: Any) -> Any:
    """Return a state as lists of numbers."""
    if isinstance(state, NDArray):
        return state.asnumpy().tolist()
    return [numbers(each) for each in state] if isinstance(state, tuple) else state


def write(folder: Path, name: str, updater: optimizer.Updater, dump: bool = False) -> None:
    """Write one file, and its JSON."""
    (folder / f"{name}.states").write_bytes(updater.get_states(dump_optimizer=dump))
    expected: dict[str, Any] = {
        "states": {str(index): numbers(each) for index, each in updater.states.items()}
    }
    if dump:
        ours = updater.optimizer
        expected |= {
            "optimizer": type(ours).__name__,
            "num_update": ours.num_update,
            "learning_rate": ours.learning_rate,
        }
    (folder / f"{name}.json").write_text(json.dumps(expected))


def main() -> None:
    """Write all files."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, settings, dtype in (
        ("sgd", {}, "float32"),
        ("sgd", {"momentum": 0.9, "wd": np.float32(0.1)}, "float32"),
        ("sgd", {"momentum": 0.9, "multi_precision": True}, "float16"),
        ("adam", {"lr_scheduler": lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.001)}, "float32"),
        ("adam", {"multi_precision": True}, "float16"),
    ):
        updater = optimizer.Updater(optimizer.create(name, param_idx2name={0: "a_weight"}, **settings))
        weight = array(np.ones((2, 2)), dtype=dtype)
        for _ in range(3):
            updater(0, array(np.ones((2, 2)), dtype=dtype), weight)
        stem = f"{name}-{dtype}-{'-'.join(settings)}"
        write(folder, stem, updater)
        if dtype == "float32":
            write(folder, f"{stem}-dumped", updater, dump=True)


if __name__ == "__main__":
    main()
