"""The recorded networks as modules of PyTorch and as Python files: outputs, training, and life without rebind."""

from __future__ import annotations

import copy
import importlib.util
import inspect
import pickle
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tests.parity.golden import NETWORKS, Arrays, assert_close, group, read_arrays
from tests.parity.networks import NETWORKS as ALL_NETWORKS
from tests.parity.networks import Network, build

import rebind as mx
from rebind.pytorch import to_torch, write_python

each_network = pytest.mark.parametrize("network", ALL_NETWORKS, ids=lambda network: network.name)

#: What is before a loss, whose gradient is not the derivative of what it gives.
SCORES = {
    "mlp": "fc3_output",
    "lenet": "fc2_output",
    "resnet": "fc1_output",
    "lstm_lm": "pred_output",
    "autoencoder": "judge_output",
}


def checkpoint(network: Network) -> tuple[Any, Arrays, dict[str, Any], dict[str, Any], dict[str, Any]]:
    arrays = read_arrays(NETWORKS / f"{network.name}.npz")
    params, states = (
        {name: mx.nd.array(value) for name, value in group(arrays, part).items()}
        for part in ("parameter", "state")
    )
    shapes = {name: (0, *spec.shape[1:]) for name, spec in network.data.items()}
    return build(mx, network), arrays, params, states, shapes


def inputs_of(network: Network, arrays: Arrays) -> dict[str, torch.Tensor]:
    batch = group(arrays, "batch0")
    return {name: torch.from_numpy(batch[name]) for name in network.data}


def assert_outputs(outputs: Any, expected: Mapping[str, np.ndarray], rtol: float = 1e-5) -> None:
    outputs = (outputs,) if isinstance(outputs, torch.Tensor) else outputs
    for output, (name, value) in zip(outputs, expected.items(), strict=True):
        assert_close(output.detach().numpy(), value, rtol=rtol, what=name)


@each_network
def test_outputs_in_both_modes_and_states_are_those_of_mxnet(network: Network) -> None:
    symbol, arrays, params, states, shapes = checkpoint(network)
    module = to_torch(symbol, params, states, shapes=shapes)
    inputs = inputs_of(network, arrays)
    assert_outputs(module.eval()(**inputs), group(arrays, "inference"))
    assert_outputs(module.train()(**inputs), group(arrays, "training"))
    after = group(arrays, "state_after")
    moved = {module.mxnet_names[name]: value for name, value in module.named_buffers() if "num_b" not in name}
    assert sorted(moved) == sorted(after)
    for name, value in after.items():
        assert_close(moved[name].numpy(), value, rtol=1e-5, what=name)


@each_network
def test_gradients_are_those_of_rebind(network: Network) -> None:
    symbol, arrays, params, states, shapes = checkpoint(network)
    inner = symbol.get_internals()[SCORES[network.name]]
    inputs = inputs_of(network, arrays)
    module = to_torch(inner, params, states, shapes=shapes)
    module(**inputs).square().sum().backward()
    arguments = {
        name: params[name] if name in params else mx.nd.array(inputs[name].numpy())
        for name in inner.list_arguments()
    }
    executor = inner.bind(
        mx.cpu(),
        arguments,
        {name: mx.nd.zeros(arguments[name].shape) for name in params if name in arguments},
        aux_states={name: states[name] for name in inner.list_auxiliary_states()},
    )
    scores = executor.forward(is_train=True)[0]
    executor.backward(2 * scores)
    for name, value in module.named_parameters():
        expected = executor.grad_dict[module.mxnet_names[name]].asnumpy()
        found = np.zeros_like(expected) if value.grad is None else value.grad.numpy()
        assert_close(found, expected, rtol=1e-4, what=name)


@pytest.mark.filterwarnings("ignore:`torch.jit.trace")
@each_network
def test_free_batch_copies_pickles_traces(network: Network) -> None:
    symbol, arrays, params, states, shapes = checkpoint(network)
    module = to_torch(symbol, params, states, shapes=shapes).eval()
    inputs = inputs_of(network, arrays)
    expected = group(arrays, "inference")
    free = {name: {0: torch.export.Dim.DYNAMIC} for name in inputs}
    exported = torch.export.export(module, (), inputs, dynamic_shapes=free).module()
    assert_outputs(exported(**inputs), expected)
    twice = {name: torch.cat([value, value]) for name, value in inputs.items()}
    outputs = exported(**twice)
    first = outputs if isinstance(outputs, torch.Tensor) else outputs[0]
    assert len(first) == 2 * len(next(iter(expected.values())))
    copied = copy.deepcopy(module)
    assert type(copied) is type(module)
    assert_outputs(copied(**inputs), expected)
    assert_outputs(pickle.loads(pickle.dumps(module))(**inputs), expected)
    by_position = tuple(inputs[name] for name in inspect.signature(module.forward).parameters)
    traced = torch.jit.trace(module, by_position, check_trace=False)
    assert_outputs(traced(*by_position), expected)


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@each_network
def test_python_file(network: Network, tmp_path: Path) -> None:
    symbol, arrays, params, states, shapes = checkpoint(network)
    path = tmp_path / "net.py"
    write_python(symbol, {**params, **states}, path, shapes=shapes)
    state = load_file(path.with_suffix(".safetensors"))
    module = load(path).Network().eval()
    own = {name for name in module.state_dict() if name.endswith("num_batches_tracked")}
    assert own <= state.keys()
    module.load_state_dict(state, strict=True)
    assert_outputs(module(**inputs_of(network, arrays)), group(arrays, "inference"))
    for command in (["ruff", "check", "--isolated"], ["ruff", "format", "--isolated", "--check"]):
        done = subprocess.run([sys.executable, "-m", *command, str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


WITHOUT_REBIND = """
import sys
sys.modules["rebind"] = None  # it cannot be imported
import pickle, torch
from safetensors.torch import load_file
sys.path.insert(0, ".")
from net import Network

inputs, expected = torch.load("data.pt")
written = Network()
written.load_state_dict(load_file("net.safetensors"), strict=True)
modules = [written.eval(), pickle.load(open("net.pickle", "rb")), torch.export.load("net.pt2").module()]
for module in modules:
    torch.testing.assert_close(module(**inputs), expected)
"""


@pytest.mark.parametrize("name", ["resnet", "autoencoder"])
def test_runs_where_there_is_no_rebind(name: str, tmp_path: Path) -> None:
    (network,) = (network for network in ALL_NETWORKS if network.name == name)
    symbol, arrays, params, states, shapes = checkpoint(network)
    write_python(symbol, {**params, **states}, tmp_path / "net.py", shapes=shapes)
    module = to_torch(symbol, params, states, shapes=shapes).eval()
    inputs = inputs_of(network, arrays)
    (tmp_path / "net.pickle").write_bytes(pickle.dumps(module))
    torch.save((inputs, module(**inputs)), tmp_path / "data.pt")
    torch.export.save(torch.export.export(module, (), inputs), tmp_path / "net.pt2")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_REBIND], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
