"""The command `python -m benchmarks.int8`: networks in 8 bits, as MXNet quantizes them, beside float32.

Two networks learn handwritten digits in rebind; MXNet 1.9.1 quantizes them, and the ResNet-50 of the other benchmarks,
with the ranges of data that they learned from. Then both time a batch, and rebind says how many digits are read right.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .networks import initial_value, resnet50

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
    parser.add_argument("--json", type=Path, help="where to write the figures")
    given = parser.parse_args(arguments)
    import rebind as mx

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        held_out = _learn(mx, folder, given.epochs)
        _make_pictures(mx, folder)
        works = (*DIGITS, *PICTURES)
        (folder / "work.json").write_text(json.dumps([asdict(work) for work in works]))
        command = [given.mxnet, str(Path(__file__).with_name("int8_mxnet.py")), str(folder)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        theirs = json.loads((folder / "times.json").read_text())
        rows = [_row(mx, folder, work, theirs[work.name], held_out) for work in works]
    print("| ms a batch | float32 | int8 | ratio | MXNet, float32 | MXNet, int8 | right, float32 | int8 |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        figures = [f"{row[key]:.3g}" for key in ("float32", "int8", "ratio", "mxnet_float32", "mxnet_int8")]
        shares = [f"{row[key]:.4f}" if key in row else "–" for key in ("right_float32", "right_int8")]
        print("|", " | ".join([row["name"], *figures, *shares]), "|")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))
    return 0


def _row(
    mx: Any, folder: Path, work: Work, theirs: Sequence[float], held_out: tuple[np.ndarray, np.ndarray]
) -> dict[str, Any]:
    data = np.load(folder / f"{work.name}.npy")[: work.batch]
    pair = [_Network(mx, folder / name, data) for name in (work.name, f"{work.name}-int8")]
    row: dict[str, Any] = {"name": work.name, "mxnet_float32": theirs[0], "mxnet_int8": theirs[1]}
    if work in DIGITS:
        row["right_float32"], row["right_int8"] = (network.right(*held_out) for network in pair)
    for i in range(work.rounds + 3):  # in turn: a machine's pace changes
        for network in pair:
            if i == 3:
                network.taken.clear()
            network.run()
    row["float32"], row["int8"] = (float(np.median(network.taken)) for network in pair)
    row["ratio"] = float(np.median(np.divide(pair[1].taken, pair[0].taken)))
    return row


if __name__ == "__main__":
    sys.exit(main())
