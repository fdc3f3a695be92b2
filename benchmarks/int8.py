"""The command `python -m benchmarks.int8`: networks in 8 bits, as MXNet quantizes them, beside float32.

Two networks learn handwritten digits in rebind; MXNet 1.9.1 quantizes them, and the ResNet-50 of the other benchmarks,
with the ranges of data that they learned from. Then both time a batch, and rebind says how many digits are read right.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .int8_table import int8_lines
from .networks import initial_value, resnet50
from .report import commit, describe_machine

_EXAMPLES = Path(__file__).parent.parent / "examples"


@dataclass(frozen=True)
class Work:
    """A network, how many samples a batch has, and how many batches are timed."""

    name: str
    batch: int
    rounds: int


DIGITS = (Work("lenet", 32, 400), Work("resnet", 32, 100))
PICTURES = (Work("resnet50-1", 1, 20), Work("resnet50-16", 16, 8))


def _examples() -> tuple[Any, Any]:
    """Return the examples that learn digits, as modules."""
    if str(_EXAMPLES) not in sys.path:
        sys.path.insert(0, str(_EXAMPLES))
    import digits
    import mixed_precision

    return digits, mixed_precision


def _learn(mx: Any, folder: Path, epochs: int) -> None:
    """Train both networks; save them, and the digits that they learned from."""
    digits, mixed_precision = _examples()
    networks = {"lenet": digits.lenet(), "resnet": mixed_precision.resnet()}
    learned, _ = digits.digits()
    data = np.concatenate([batch.data[0].asnumpy() for batch in learned])
    for work in DIGITS:
        module, _ = mixed_precision.trained(networks[work.name], epochs)
        mx.model.save_checkpoint(str(folder / work.name), 0, networks[work.name], *module.get_params())
        np.save(folder / f"{work.name}.npy", data)


def _make_pictures(mx: Any, folder: Path) -> None:
    """Save ResNet-50 with the weights of the other benchmarks."""
    symbol = resnet50(mx)
    shapes, _, state_shapes = symbol.infer_shape(data=(1, 3, 224, 224))
    names = symbol.list_arguments()
    args = {
        name: mx.nd.array(initial_value(name, shape))
        for name, shape in zip(names, shapes, strict=True)
        if name not in ("data", "softmax_label")
    }
    states = zip(symbol.list_auxiliary_states(), state_shapes, strict=True)
    aux = {name: mx.nd.array(initial_value(name, shape)) for name, shape in states}
    for work in PICTURES:
        mx.model.save_checkpoint(str(folder / work.name), 0, symbol, args, aux)
        data = np.random.RandomState(0).rand(16, 3, 224, 224).astype(np.float32)
        np.save(folder / f"{work.name}.npy", data)


class _Network:
    """A bound network, and the times of its batches."""

    def __init__(self, mx: Any, prefix: Path, data: np.ndarray) -> None:
        self.parts = mx.model.load_checkpoint(str(prefix), 0)
        symbol, args, aux = self.parts
        given = {**args, "data": mx.nd.array(data), "softmax_label": mx.nd.zeros(len(data))}
        self._executor = symbol.bind(mx.cpu(), given, grad_req="null", aux_states=aux)
        self.taken: list[float] = []

    def run(self) -> None:
        begun = time.perf_counter()
        self._executor.forward(is_train=False)[0].asnumpy()
        self.taken.append(1000 * (time.perf_counter() - begun))


def main(arguments: Sequence[str] | None = None) -> int:
    """Quantize, time and count; print a table and write JSON where it is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.int8", description=__doc__)
    parser.add_argument("--mxnet", required=True, metavar="PYTHON", help="a Python that has MXNet 1.9.1")
    parser.add_argument("--epochs", type=int, default=8, help="how often all digits are learned from")
    parser.add_argument("--json", type=Path, help="where to write the samples")
    given = parser.parse_args(arguments)
    import rebind as mx

    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        _learn(mx, folder, given.epochs)
        _make_pictures(mx, folder)
        works = (*DIGITS, *PICTURES)
        (folder / "work.json").write_text(json.dumps([asdict(work) for work in works]))
        command = [given.mxnet, str(Path(__file__).with_name("int8_mxnet.py")), str(folder)]
        # By itself MXNet takes half of the cores.
        environment = {"OMP_NUM_THREADS": str(torch.get_num_threads()), **os.environ}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        theirs = json.loads((folder / "times.json").read_text())
        rows = [_row(mx, folder, work, theirs["samples"][work.name]) for work in works]
    content = {
        "started": started,
        "commit": commit(),
        "machine": describe_machine(),
        "versions": {"rebind": mx.__version__, "torch": torch.__version__, "mxnet": theirs["version"]},
        "rows": rows,
    }
    print("\n".join(int8_lines(content)))
    if given.json:
        given.json.write_text(json.dumps(content, indent=1))
    return 0


def _row(
    mx: Any,
    folder: Path,
    work: Work,
    theirs: dict[str, list[float]],
) -> dict[str, Any]:
    data = np.load(folder / f"{work.name}.npy")[: work.batch]
    prefixes = {"float32": work.name, "int8": f"{work.name}-int8"}
    networks = {kind: _Network(mx, folder / prefix, data) for kind, prefix in prefixes.items()}
    row: dict[str, Any] = {"name": work.name}
    if work in DIGITS:
        row["right"] = {kind: _examples()[1].tested(*each.parts)[0] for kind, each in networks.items()}
    for i in range(work.rounds + 3):  # in turn: a machine's pace changes
        for network in networks.values():
            if i == 3:
                network.taken.clear()
            network.run()
    row["samples_ms"] = {"rebind": {kind: each.taken for kind, each in networks.items()}, "mxnet": theirs}
    return row


if __name__ == "__main__":
    sys.exit(main())
