"""Every network goes out to PyTorch and to Python, runs in a process without rebind, and comes back."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.sweeps.networks import NAMES, checkpoint, each_network

import rebind as mx
from rebind.pytorch import write_python

pytest.importorskip("safetensors")

WITHOUT_REBIND = """
import sys
sys.modules["rebind"] = None  # it cannot be imported
import numpy, torch
from safetensors.torch import load_file
sys.path.insert(0, ".")
from net import Network

written = Network().eval()
written.load_state_dict(load_file("net.safetensors"), strict=True)
inputs = [torch.from_numpy(value) for value in numpy.load("inputs.npz").values()]
modules = {"python": written, "torch": torch.load("net.pt", weights_only=False)}
for name, module in modules.items():
    with torch.no_grad():
        outputs = module(*inputs)
    outputs = (outputs,) if isinstance(outputs, torch.Tensor) else outputs
    numpy.savez(f"{name}.npz", *[output.numpy() for output in outputs])
"""


#: `torch.export` takes seconds for each: one is enough for every day.
BACK = [pytest.param(name, marks=[] if name == "mlp" else [pytest.mark.slow]) for name in NAMES]


@pytest.mark.parametrize("name", BACK)
def test_and_back(name: str) -> None:
    one = checkpoint(name)
    shapes = {key: (0, *value.shape[1:]) for key, value in one.inputs.items()}
    module = mx.to_torch(one.symbol, one.arg_params, one.aux_params, shapes=shapes).eval()
    inputs = {key: torch.from_numpy(one.inputs[old]) for key, old in module.mxnet_inputs.items()}
    symbol, arg_params, aux_params = mx.from_torch(module, inputs)
    assert one.arg_params.keys() <= arg_params.keys() and one.aux_params.keys() == aux_params.keys()
    data = {key: value.numpy() for key, value in inputs.items() if key in symbol.list_inputs()}
    back = replace(one, symbol=symbol, arg_params=arg_params, aux_params=aux_params, inputs=data)
    one.check(back.outputs())


@each_network
def test_without_rebind(name: str, tmp_path: Path) -> None:
    one = checkpoint(name)
    shapes = {key: (0, *value.shape[1:]) for key, value in one.inputs.items()}
    written = write_python(one.symbol, one.params, tmp_path / "net.py", shapes=shapes)
    module = mx.to_torch(one.symbol, one.arg_params, one.aux_params, shapes=shapes).eval()
    torch.save(module, tmp_path / "net.pt")
    np.savez(tmp_path / "inputs.npz", **{key: one.inputs[old] for key, old in written.inputs.items()})
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_REBIND], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    expected = one.outputs()
    for kind in ("python", "torch"):
        with np.load(tmp_path / f"{kind}.npz") as found:
            one.check([found[key] for key in found.files], expected)
