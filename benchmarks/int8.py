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

from .int8_table import int8_section
from .networks import initial_value, resnet50
from .report import describe_machine

_EXAMPLES = Path(__file__).parent.parent / "examples"


@dataclass(frozen=True)
class Work:
    """A network, how many samples a batch has, and how many batches are timed."""

    name: str
    batch: int
    rounds: int


DIGITS = (Work("lenet", 32, 400), Work("resnet", 32, 100))
PICTURES = (Work("resnet50-1", 1, 20), Work("resnet50-16", 16, 8))


def _learn(mx: Any, folder: Path, epochs: int) -> tuple[np.ndarray, np.ndarray]:
    """Train both networks; return the digits that are held out."""
    sys.path.insert(0, str(_EXAMPLES))
    import digits
    import mixed_precision

    networks = {"lenet": digits.lenet(), "resnet": mixed_precision.resnet()}
    learned, held_out = digits.digits()
    for work in DIGITS:
        module, _ = mixed_precision.trained(networks[work.name], epochs)
        mx.model.save_checkpoint(str(folder / work.name), 0, networks[work.name], *module.get_params())
        np.save(folder / f"{work.name}.npy", _all(learned)[0])
    return _all(held_out)


def _all(batches: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return all samples of an iterator, and their labels."""
    batches.reset()
    parts = [
        (batch.data[0].asnumpy(), batch.label[0].asnumpy(), len(batch.label[0]) - batch.pad)
        for batch in batches
    ]
    data, labels = (np.concatenate([part[i][: part[2]] for part in parts]) for i in range(2))
    return data, labels


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
        self._mx, self.parts = mx, mx.model.load_checkpoint(str(prefix), 0)
        symbol, args, aux = self.parts
        given = {**args, "data": mx.nd.array(data), "softmax_label": mx.nd.zeros(len(data))}
        self._executor = symbol.bind(mx.cpu(), given, grad_req="null", aux_states=aux)
        self.taken: list[float] = []

    def run(self) -> np.ndarray:
        begun = time.perf_counter()
        result: np.ndarray = self._executor.forward(is_train=False)[0].asnumpy()
        self.taken.append(1000 * (time.perf_counter() - begun))
        return result

    def right(self, data: np.ndarray, labels: np.ndarray) -> float:
        """Return the share of digits that are read right."""
        count = len(self._executor.arg_dict["data"])
        read = []
        for i in range(0, len(data), count):
            part = data[i : i + count]
            self._executor.arg_dict["data"][: len(part)] = part
            read.append(self.run().argmax(1)[: len(part)])
        return float((np.concatenate(read) == labels).mean())


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
        held_out = _learn(mx, folder, given.epochs)
        _make_pictures(mx, folder)
        works = (*DIGITS, *PICTURES)
        (folder / "work.json").write_text(json.dumps([asdict(work) for work in works]))
        command = [given.mxnet, str(Path(__file__).with_name("int8_mxnet.py")), str(folder)]
        # By itself MXNet takes half of the cores.
        environment = {"OMP_NUM_THREADS": str(torch.get_num_threads()), **os.environ}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        theirs = json.loads((folder / "times.json").read_text())
        rows = [_row(mx, folder, work, theirs["samples"][work.name], held_out) for work in works]
    content = {
        "started": started,
        "machine": describe_machine(),
        "versions": {"rebind": mx.__version__, "torch": torch.__version__, "mxnet": theirs["version"]},
        "rows": rows,
    }
    file = given.json or Path(tempfile.mkdtemp()) / "int8.json"
    file.write_text(json.dumps(content, indent=1))
    print(int8_section([file]))
    return 0


def _row(
    mx: Any,
    folder: Path,
    work: Work,
    theirs: dict[str, list[float]],
    held_out: tuple[np.ndarray, np.ndarray],
) -> dict[str, Any]:
    data = np.load(folder / f"{work.name}.npy")[: work.batch]
    prefixes = {"float32": work.name, "int8": f"{work.name}-int8"}
    networks = {kind: _Network(mx, folder / prefix, data) for kind, prefix in prefixes.items()}
    row: dict[str, Any] = {"name": work.name}
    if work in DIGITS:
        row["right"] = {kind: network.right(*held_out) for kind, network in networks.items()}
    for i in range(work.rounds + 3):  # in turn: a machine's pace changes
        for network in networks.values():
            if i == 3:
                network.taken.clear()
            network.run()
    row["samples_ms"] = {"rebind": {kind: each.taken for kind, each in networks.items()}, "mxnet": theirs}
    return row


if __name__ == "__main__":
    sys.exit(main())
