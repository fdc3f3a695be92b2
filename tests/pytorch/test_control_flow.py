"""Loops and branches in plain PyTorch: their bodies are methods of the network."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.pytorch import write_python


def compare(net: Any, inputs: Mapping[str, np.ndarray], free: bool = False) -> Any:
    """Have a module give what an executor gives, outputs and gradients, and return it."""
    shapes = {name: value.shape for name, value in inputs.items()}
    exe = net.simple_bind(mx.cpu(), **shapes)
    for name, array in exe.arg_dict.items():
        random = np.random.RandomState(len(name)).normal(size=array.shape)
        array[:] = mx.nd.array(inputs.get(name, random), dtype="float32")
    params = {name: array for name, array in exe.arg_dict.items() if name not in inputs}
    wanted = {name: (0, *shape[1:]) for name, shape in shapes.items()} if free else shapes
    module = mx.to_torch(net, params, shapes=wanted)
    outputs = module(**{name: torch.from_numpy(value) for name, value in inputs.items()})
    outputs = (outputs,) if isinstance(outputs, torch.Tensor) else outputs
    expected = exe.forward(is_train=True)
    for output, value in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(output.detach().numpy(), value.asnumpy(), rtol=1e-5, atol=1e-6)
    sum(output.sum() for output in outputs if output.requires_grad).backward()
    exe.backward([mx.nd.ones(value.shape) for value in expected])
    for name, value in module.named_parameters():
        gradient = exe.grad_dict[module.mxnet_names[name]].asnumpy()
        assert value.grad is not None
        np.testing.assert_allclose(value.grad.numpy(), gradient, rtol=1e-4, atol=1e-5, err_msg=name)
    return module


def numbers(*shape: int) -> np.ndarray:
    return np.random.RandomState(0).normal(size=shape).astype(np.float32)


def recurrent() -> Any:
    def body(data: Any, states: Any) -> Any:
        out = mx.sym.FullyConnected(data, num_hidden=4, name="i2h")
        weight = mx.sym.var("h2h_weight", shape=(4, 4))
        out = mx.sym.tanh(out + mx.sym.dot(states[0], weight))
        return mx.sym.broadcast_mul(out, mx.sym.var("scale", shape=(1,))), [out]

    with mx.name.NameManager():
        out, states = mx.sym.contrib.foreach(body, mx.sym.var("data"), [mx.sym.var("state")])
        return mx.sym.Group([out * 2, states[0]])


def test_foreach() -> None:
    module = compare(recurrent(), {"data": numbers(5, 2, 3), "state": numbers(2, 4)})
    assert sorted(module.state_dict()) == ["h2h_weight", "i2h.bias", "i2h.weight", "scale"]
    with pytest.raises(mx.MXNetError, match="the number of axes of 'state-0'"):
        mx.to_torch(recurrent(), {})


@pytest.mark.slow
def test_foreach_exported() -> None:
    module = compare(recurrent(), {"data": numbers(5, 2, 3), "state": numbers(2, 4)}, free=True)
    free = {"data": {1: torch.export.Dim.DYNAMIC}, "state": {0: torch.export.Dim.DYNAMIC}}
    example = {"data": torch.from_numpy(numbers(5, 2, 3)), "state": torch.from_numpy(numbers(2, 4))}
    exported = torch.export.export(module, (), example, dynamic_shapes=free).module()
    data, state = torch.from_numpy(numbers(5, 7, 3)), torch.from_numpy(numbers(7, 4))
    torch.testing.assert_close(exported(data=data, state=state), module(data, state))


def test_a_parameter_that_the_network_uses_too() -> None:
    weight = mx.sym.var("w", shape=(1,))
    with mx.name.NameManager():
        out, _ = mx.sym.contrib.foreach(
            lambda x, s: (x * weight, [s[0] + x]), mx.sym.var("data"), [mx.sym.var("state")]
        )
    module = compare(mx.sym.broadcast_mul(out, weight), {"data": numbers(3, 1), "state": numbers(1)})
    assert list(module.state_dict()) == ["w"]


@pytest.mark.parametrize("start", [0.0, 7.0, 100.0])
def test_while_loop(start: float) -> None:
    with mx.name.NameManager():
        outputs, states = mx.sym.contrib.while_loop(
            lambda i, s: i < 10,
            lambda i, s: ([s * mx.sym.var("w", shape=(1,))], [i + 1, s + i]),
            [mx.sym.var("i"), mx.sym.var("s")],
            max_iterations=5,
        )
    net = mx.sym.Group([outputs[0] if isinstance(outputs, list) else outputs, *states])
    module = mx.to_torch(net, {"w": mx.nd.array([2])}, shapes={"i": (1,), "s": (1,)})
    arguments = {"i": mx.nd.array([start]), "s": mx.nd.array([3]), "w": mx.nd.array([2])}
    expected = net.bind(mx.cpu(), arguments).forward()
    found = module(torch.tensor([start]), torch.tensor([3.0]))
    for output, value in zip(found, expected, strict=True):
        np.testing.assert_array_equal(output.detach().numpy(), value.asnumpy())


def test_cond() -> None:
    branching()


def branching() -> tuple[Any, dict[str, np.ndarray]]:
    x, y = mx.sym.var("x"), mx.sym.var("y")
    with mx.name.NameManager():
        net = mx.sym.contrib.cond(
            mx.sym.sum(x) > 0,
            lambda: mx.sym.FullyConnected(x, num_hidden=3, name="fc"),
            lambda: y,
        )
    values = {"x": np.abs(numbers(2, 4)), "y": numbers(2, 3)}
    module = compare(net, values)
    for sign in (1, -1):
        found = module(sign * torch.from_numpy(values["x"]), torch.from_numpy(values["y"]))
        assert torch.equal(found, torch.from_numpy(values["y"])) == (sign < 0)
    return module, values


@pytest.mark.slow
def test_cond_exported() -> None:
    module, values = branching()
    exported = torch.export.export(
        module.eval(), (), {name: torch.from_numpy(value) for name, value in values.items()}
    ).module()
    for sign in (1, -1):
        inputs = {"x": sign * torch.from_numpy(values["x"]), "y": torch.from_numpy(values["y"])}
        torch.testing.assert_close(exported(**inputs), module(**inputs))


def test_python_file(tmp_path: Path) -> None:
    """What is written is in the format that formatters leave, and has all that it uses."""
    arguments = {"i2h_weight": (4, 3), "i2h_bias": (4,), "h2h_weight": (4, 4), "scale": (1,)}
    params = {name: mx.nd.ones(shape) for name, shape in arguments.items()}
    path = tmp_path / "net.py"
    write_python(recurrent(), params, path, shapes={"data": (5, 0, 3), "state": (0, 4)})
    for command in (["ruff", "check", "--isolated"], ["ruff", "format", "--isolated", "--check"]):
        done = subprocess.run([sys.executable, "-m", *command, str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
