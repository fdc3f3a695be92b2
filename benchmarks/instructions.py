"""The command `python -m benchmarks.instructions`: machine instructions of small steps, held against a file.

Times depend on what else the machine does; the number of instructions hardly does. Valgrind's callgrind counts them,
run by `torch.utils.benchmark.Timer.collect_callgrind`, in a process for each row, which takes some minutes. The counts
are those of one Python and one PyTorch: with others nothing is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.utils.benchmark import Timer

__all__ = ["KEPT", "ROWS", "Row", "compare", "main"]

#: The counts that are held.
KEPT = Path(__file__).with_suffix(".json")

_SETUP = """
import torch, rebind as mx
torch.set_num_threads(1)
x = mx.nd.ones((2, 2))
"""

_STEP = """
net = mx.sym.var("data")
for i, width in enumerate((8, 8), start=1):
    net = mx.sym.Activation(mx.sym.FullyConnected(net, num_hidden=width, name=f"fc{i}"), act_type="relu")
net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=4, name="fc3"), name="softmax")
module = mx.mod.Module(net)
module.bind([("data", (4, 8))], [("softmax_label", (4,))])
module.init_params()
module.init_optimizer(optimizer_params={"momentum": 0.9})
batch = mx.io.DataBatch([mx.nd.ones((4, 8))], [mx.nd.zeros((4,))])
"""


@dataclass(frozen=True)
class Row:
    """A statement that is counted, after `setup`; its arrays are so small that little of it is arithmetic."""

    statement: str
    setup: str = _SETUP
    repeats: int = 50

    def count(self) -> int:
        """Return the instructions of one run, after one that is not counted."""
        timer = Timer(self.statement, setup=f"{self.setup}{self.statement}\n")
        return timer.collect_callgrind(number=self.repeats, collect_baseline=False).counts() // self.repeats


ROWS = {
    "relu": Row("mx.nd.relu(x)"),
    "add": Row("x + x"),
    "multiply": Row("x * 2.0", f"{_SETUP}x * 2.0\n"),
    "sum": Row("mx.nd.sum(x, axis=1)"),
    "mlp_step": Row("module.forward_backward(batch); module.update()", _SETUP + _STEP),
}


def versions() -> dict[str, str]:
    """Return what the counts are of."""
    return {"machine": platform.machine(), "python": platform.python_version(), "torch": torch.__version__}


def compare(found: dict[str, int], kept: dict[str, int], tolerance: float) -> list[str]:
    """Return a sentence for each row that takes more instructions than are held; nothing of one that has no count yet.

    >>> compare({"relu": 103, "add": 110}, {"relu": 100, "add": 100}, tolerance=0.05)
    ['add: at most 100 instructions and 5 % more are held; got 110']
    """
    return [
        f"{name}: at most {kept[name]} instructions and {100 * tolerance:g} % more are held; got {count}"
        for name, count in found.items()
        if name in kept and count > kept[name] * (1 + tolerance)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write the counts to {KEPT.name} instead")
    write = parser.parse_args(arguments).write
    if shutil.which("valgrind") is None:
        print("Nothing is counted: valgrind is not installed.")
        return 0
    kept = json.loads(KEPT.read_text())
    if not write and kept["versions"] != versions():
        print(f"Nothing is compared: the counts are of {kept['versions']}; these are {versions()}.")
        return 0
    # torch starts `python`, whichever comes first.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ["PYTHONHASHSEED"] = "0"
    found: dict[str, int] = {}
    for name, row in ROWS.items():
        found[name] = row.count()
        print(f"{name:<10} {found[name]:>9}   held {kept['instructions'].get(name, '-')}", flush=True)
    if write:
        kept = {"versions": versions(), "tolerance": kept["tolerance"], "instructions": found}
        KEPT.write_text(f"{json.dumps(kept, indent=2)}\n")
        return 0
    complaints = compare(found, kept["instructions"], kept["tolerance"])
    print("\n".join(complaints) or "No row takes more.")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
