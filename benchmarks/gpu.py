"""The command `python -m benchmarks.gpu`: training and inference on one GPU, beside PyTorch, in samples per second.

Engines and rows are those of `python -m benchmarks`, with batches that fill a GPU, in float32 and with products in
bfloat16 (`mx.contrib.amp` here, `torch.autocast` there). *Share of the peak* is the floating-point work of the
network's convolutions and products (counted by PyTorch, forward and backward) over what the device can do with
bfloat16 at most, as its maker says. *GPU MiB* is the most memory of the device that PyTorch's allocator held in the
steps. Engines of one precision are prepared side by side, and timed in turn; then those of the other, as all together
may be more than a device holds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from .command import Names, wide
from .engines import Options
from .networks import GPU_ROWS, Row
from .peers import PEERS
from .peers_torch import model_of
from .report import Report, digits, write_json
from .runner import QUICK, Effort, Measured, measure

__all__ = ["floating_point_work", "main"]

ENGINES = (
    "rebind", "rebind-cudagraphs", "rebind-inductor", "rebind-inductor-fit",
    "torch", "torch-channels-last", "torch-compile", "torch-compile-channels-last", "torch-compile-cudagraphs",
    "rebind-bfloat16", "rebind-cudagraphs-bfloat16", "rebind-inductor-bfloat16", "rebind-inductor-fit-bfloat16",
    "torch-bfloat16", "torch-channels-last-bfloat16", "torch-compile-bfloat16", "torch-compile-channels-last-bfloat16",
)  # fmt: skip

#: Floating-point operations per second in bfloat16 without sparsity, from data sheets, by a part of the name.
_PEAKS = {"H100 PCIe": 756e12, "H100": 989e12, "H200": 989e12, "A100": 312e12, "L40S": 362e12, "L4": 121e12,
          "A10": 125e12}  # fmt: skip


def floating_point_work(row: Row) -> int:
    """Return the floating-point operations of a step: those of convolutions and products, backward included.

    >>> from benchmarks.networks import ROWS
    >>> floating_point_work(ROWS["mlp"])  # 6 for each weight and sample, 4 in the first layer
    29081600
    """
    with torch.device("meta"):
        model = model_of(row).train(row.training)
        data = torch.zeros(row.data_shape, dtype=torch.int64 if row.tokens else torch.float32)
        label = torch.zeros(row.predictions, dtype=torch.int64)
    with FlopCounterMode(display=False) as counted:
        scores = model(data)
        if row.training:
            F.cross_entropy(scores, label).backward()
    return counted.get_total_flops()


def _peak_of(device: str) -> float | None:
    """Return the most that a device can do in a second, if it is known."""
    name = torch.cuda.get_device_name() if device == "cuda" else ""
    return next((peak for part, peak in _PEAKS.items() if part in name), None)


def _measure(
    row: Row, engines: Sequence[str], options: Options, effort: Effort, say: Callable[[str], None]
) -> Measured:
    """Time engines of float32, then those of bfloat16: all together may be more than a device holds."""
    measured = Measured()
    for low in (False, True):
        group = [name for name in engines if name.endswith("bfloat16") == low]
        found = measure(row, group, options, effort, (), say, at_once=len(group) or 1)
        measured.columns |= found.columns
        measured.failures |= found.failures
    return measured


def _table(row: Row, measured: Measured, peak: float | None) -> Table:
    table = Table(title=row.title, title_justify="left")
    table.add_column("engine")
    for heading in ("ms per step", "samples per second", "share of the peak", "prepare s", "GPU MiB"):
        table.add_column(heading, justify="right")
    work = floating_point_work(row)
    for name, column in measured.columns.items():
        seconds = column.median / 1000
        share = "–" if peak is None else f"{work / seconds / peak:.1%}"
        shown = digits(column.median), f"{row.batch_size / seconds:,.0f}", share
        took = f"{column.preparation.prepare_seconds:.1f}", f"{column.steps_peak_device_bytes / 2**20:,.0f}"
        table.add_row(PEERS[name].title, *shown, *took)
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--rows", type=Names(GPU_ROWS), default=list(GPU_ROWS), metavar="A,B")
    parser.add_argument("--engines", type=Names(ENGINES), default=list(ENGINES), metavar="A,B")
    parser.add_argument("--quick", action="store_true", help="fewer, shorter rounds")
    parser.add_argument("--json", type=Path, help="write every sample here")
    parser.add_argument(
        "--device", choices=("cuda", "cpu"), default="cuda", help="cpu tries the command out, where there is no GPU"
    )  # fmt: skip
    given = parser.parse_args(arguments)
    if given.device == "cuda" and not torch.cuda.is_available():
        parser.error(f"--device cuda: needs a CUDA device; PyTorch {torch.__version__} finds none")
    options, effort = Options(device=given.device), QUICK if given.quick else Effort()
    report = Report(given.engines, None, effort)
    device = torch.cuda.get_device_name() if given.device == "cuda" else "no GPU"
    report.machine["gpu"] = device
    console = wide(Console())
    peak = _peak_of(given.device)
    for name in given.rows:
        with console.status("") as status:
            report.rows[name] = _measure(GPU_ROWS[name], given.engines, options, effort, status.update)
        console.print(_table(GPU_ROWS[name], report.rows[name], peak))
        if given.json:
            write_json(given.json, report)
    console.print(f"{device}; {report.caption()}", highlight=False, soft_wrap=True, markup=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
