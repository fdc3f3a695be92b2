"""PyTorch's network as an ONNX file: `python -m benchmarks.export_onnx ROW FILE`.

This is done in a process of its own, so that the time and the memory of PyTorch are not counted for engines that do not
need it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from .networks import ROWS, Row

__all__ = ["write"]

OPSET = 20


def write(row: Row) -> str:
    """Have the network of `row` written, and return the file's name.

    It is in the folder for temporary files, which is the runner's: it goes with the worker.
    """
    file = str(Path(tempfile.mkdtemp()) / "network.onnx")
    command = [sys.executable, "-m", "benchmarks.export_onnx", row.name, file]
    ended = subprocess.run(command, stdout=sys.stderr, stderr=subprocess.PIPE, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"torch.onnx.export failed: {ended.stderr[-1000:]}")
    return file


def _export(row: str, file: str) -> None:
    import torch

    from .peers_torch import TorchDriver

    driver = TorchDriver(ROWS[row])
    torch.onnx.export(
        driver.model, (driver.data,), file, input_names=["data"], output_names=["scores"],
        opset_version=OPSET, dynamo=True, external_data=False, verbose=False,
    )  # fmt: skip


if __name__ == "__main__":
    _export(*sys.argv[1:])
