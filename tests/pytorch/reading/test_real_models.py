"""Models as people write them in PyTorch come as symbols: directly, and by the files of PyTorch's own exporter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.pytorch.reading.real_models import MODELS
from tests.pytorch.reading.test_modules import run, statistics
from torch import Tensor, nn

import rebind as mx
from rebind.pytorch import from_torch

#: `torch.export` takes seconds for each.
ROWS = [pytest.param(name, marks=[] if name == "gan generator" else [pytest.mark.slow]) for name in MODELS]


def model(name: str) -> tuple[nn.Module, dict[int, Tensor]]:
    """Return a model in evaluation mode, with statistics that are not 0 and 1, and inputs by the size of the batch."""
    make, data = MODELS[name]
    torch.manual_seed(0)
    module = make().eval()
    for each in module.modules():
        if isinstance(each, nn.BatchNorm2d):
            statistics(each)
    return module, {batch: data(batch) for batch in (2, 3)}


def check(module: nn.Module, network: tuple, inputs: dict[int, Tensor]) -> None:
    """Compare the outputs of a network with the module's: 1e-5 of the largest number of each."""
    for x in inputs.values():
        with torch.no_grad():
            expected = module(x)
        expected = [expected] if isinstance(expected, Tensor) else list(expected)
        for output, wanted in zip(run(*network, x), expected, strict=True):
            numbers = wanted.numpy()
            assert output.shape == numbers.shape
            np.testing.assert_allclose(output, numbers, rtol=0, atol=1e-5 * np.abs(numbers).max())


@pytest.mark.parametrize("name", ROWS)
def test_from_torch(name: str) -> None:
    module, inputs = model(name)
    check(module, from_torch(module, inputs[2]), inputs)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of PyTorch's exporter about itself
@pytest.mark.parametrize("name", MODELS)
def test_by_a_file_of_pytorch(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript", reason="torch.onnx.export needs it; `make bench-peers` installs it")
    module, inputs = model(name)
    path = tmp_path / "net.onnx"
    free = ({0: torch.export.Dim("batch")},)
    torch.onnx.export(module, (inputs[2],), path, dynamic_shapes=free, opset_version=18, verbose=False)
    check(module, mx.onnx.import_model(path), inputs)
