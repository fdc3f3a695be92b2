"""Parts of a network that repeat are one class of the written file, with what they differ in as its arguments."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import rebind as mx
from rebind.pytorch import to_params, write_python


def numbers(symbol: mx.sym.Symbol, **shapes: tuple[int, ...]) -> dict[str, mx.nd.NDArray]:
    """Return parameters and states with numbers that keep activations small."""
    exe = symbol.simple_bind(mx.cpu(), grad_req="null", **shapes)
    random = np.random.RandomState(0)
    return {
        name: mx.nd.array(random.uniform(0.5, 1.5, array.shape) / max(1, array.size / array.shape[0]) ** 0.5)
        for name, array in {**exe.arg_dict, **exe.aux_dict}.items()
        if name not in shapes and not name.endswith("label")
    }


def written(
    symbol: mx.sym.Symbol, params: Mapping[str, mx.nd.NDArray], folder: Path, **how: Any
) -> tuple[Any, str]:
    """Return the network of the file with its state, and the file's text."""
    path = folder / "net.py"
    write_python(symbol, params, path, **how)
    spec = importlib.util.spec_from_file_location("net", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    network = module.Network()
    network.load_state_dict(load_file(path.with_suffix(".safetensors")), strict=True)
    return network, path.read_text()


def layer(data: mx.sym.Symbol, name: str, filters: int, kernel: int = 1, stride: int = 1) -> mx.sym.Symbol:
    data = mx.sym.Convolution(
        data, num_filter=filters, kernel=(kernel,) * 2, stride=(stride,) * 2, pad=(kernel // 2,) * 2, no_bias=True,
        name=f"{name}_conv2d",
    )  # fmt: skip
    data = mx.sym.BatchNorm(data, fix_gamma=False, name=f"{name}_batchnorm")
    return mx.sym.Activation(data, act_type="relu", name=f"{name}_relu")


def residual() -> mx.sym.Symbol:
    """Two stages of four units, of which the first of each has a convolution beside it."""
    data = layer(mx.sym.var("data"), "first", 4, 3)
    for stage, filters in ((1, 4), (2, 8)):
        for unit in (1, 2, 3, 4):
            name = f"stage{stage}_unit{unit}"
            stride = 2 if unit == 1 and stage == 2 else 1
            body = layer(layer(data, f"{name}_a", 2 * filters, 1, stride), f"{name}_b", filters, 3)
            if unit == 1:
                data = mx.sym.Convolution(
                    data, num_filter=filters, kernel=(1, 1), stride=(stride,) * 2, name=f"{name}_shortcut"
                )
            data = mx.sym.Activation(body + data, act_type="relu", name=f"{name}_relu")
    return mx.sym.FullyConnected(mx.sym.Flatten(data), num_hidden=3, name="fc")


def assert_equal_to_mxnet(symbol: mx.sym.Symbol, network: Any, params: Mapping[str, mx.nd.NDArray]) -> None:
    data = np.random.RandomState(1).uniform(size=(2, 3, 8, 8)).astype(np.float32)
    exe = symbol.simple_bind(mx.cpu(), data=data.shape)
    exe.copy_params_from(params, params, allow_extra_params=True)
    for training in (False, True):
        found = network.train(training)(torch.from_numpy(data)).detach().numpy()
        np.testing.assert_allclose(
            found, exe.forward(is_train=training, data=mx.nd.array(data))[0].asnumpy(), rtol=1e-4, atol=1e-5
        )


def is_formatted(path: Path) -> bool:
    commands = (["check"], ["format", "--check"])
    return not any(
        subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--isolated", str(path)], check=False
        ).returncode
        for command in commands
    )


RESIDUAL = """
class StageUnit(nn.Module):
    \"""The layers of stage1_unit1, and of 1 more such unit.\"""

    def __init__(self, channels: int, out_channels: int, stride: int = 1) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            Conv2dBatchnorm(4, channels, kernel_size=1, stride=stride),
            Conv2dBatchnorm(channels, out_channels, kernel_size=3, padding=1),
        )
        self.shortcut = nn.Conv2d(4, out_channels, kernel_size=1, stride=stride)

    def forward(self, x: Tensor) -> Tensor:
        y = self.layers(x)
        x = self.shortcut(x)
        x = y + x
        x = F.relu(x)
        return x
"""
NETWORK = """
        self.first = Conv2dBatchnorm(3, 4, kernel_size=3, padding=1)
        self.stage1 = nn.Sequential(
            StageUnit(8, 4), *(StageUnit2(4, 8) for _ in range(3))
        )
        self.stage2 = nn.Sequential(
            StageUnit(16, 8, stride=2), *(StageUnit2(8, 16) for _ in range(3))
        )
        self.fc = nn.Linear(128, 3)

    def forward(self, data: Tensor) -> Tensor:
        x = self.first(data)
        x = self.stage1(x)
        x = self.stage2(x)
        x = torch.flatten(x, 1)
        x = self.fc(x)
        return x
"""


def test_residual_units(tmp_path: Path) -> None:
    symbol = residual()
    params = numbers(symbol, data=(2, 3, 8, 8))
    network, text = written(symbol, params, tmp_path)
    assert RESIDUAL in text and text.endswith(NETWORK)
    assert is_formatted(tmp_path / "net.py")
    arg_params, aux_params = to_params(network, tmp_path / "net.safetensors")
    back = {**arg_params, **aux_params}
    assert back.keys() == params.keys()
    for name, value in params.items():
        np.testing.assert_array_equal(back[name].asnumpy(), value.asnumpy(), name)
    assert_equal_to_mxnet(symbol, network, params)


def branches() -> mx.sym.Symbol:
    """Four units of two branches, named as published Inceptions are, whose first has no number."""
    data = mx.sym.var("data")
    for unit in ("mixed", "mixed_1", "mixed_2", "mixed_3"):
        tower = layer(layer(data, f"{unit}_tower_conv", 2), f"{unit}_tower_conv_1", 4, 3)
        pool = mx.sym.Pooling(data, kernel=(3, 3), pad=(1, 1), pool_type="avg", name=f"avg_pool_{unit}_pool")
        pool = layer(pool, f"{unit}_conv", 4)
        data = mx.sym.Concat(tower, pool, dim=1, name=f"ch_concat_{unit}_chconcat")
    return mx.sym.Flatten(data)


BRANCHES = """
class Mixed(nn.Module):
    \"""The layers of mixed, and of 3 more such units.\"""

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        self.tower_conv = nn.Sequential(
            Conv(in_channels, 2, kernel_size=1), Conv(2, 4, kernel_size=3, padding=1)
        )
        self.conv = Conv(in_channels, 4, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.tower_conv(x)
        x = F.avg_pool2d(x, 3, stride=1, padding=1)
        x = self.conv(x)
        x = torch.cat([y, x], dim=1)
        return x


class Network(nn.Module):
    \"""The layers of the symbol, in its order.\"""

    def __init__(self) -> None:
        super().__init__()
        self.mixed = nn.Sequential(Mixed(3), *(Mixed(8) for _ in range(3)))
"""


def test_units_within_units(tmp_path: Path) -> None:
    symbol = branches()
    params = numbers(symbol, data=(2, 3, 8, 8))
    network, text = written(symbol, params, tmp_path)
    assert BRANCHES in text
    assert is_formatted(tmp_path / "net.py")
    assert_equal_to_mxnet(symbol, network, params)


def test_sizes_that_grow_evenly_are_a_loop(tmp_path: Path) -> None:
    data = mx.sym.var("data")
    for unit in range(6):
        data = mx.sym.Concat(data, layer(layer(data, f"unit{unit}_a", 5), f"unit{unit}_b", 2, 3), dim=1)
    symbol = mx.sym.Flatten(data)
    params = numbers(symbol, data=(2, 3, 8, 8))
    network, text = written(symbol, params, tmp_path)
    assert "        self.unit = nn.Sequential(*(Unit(n) for n in range(3, 15, 2)))\n" in text
    assert_equal_to_mxnet(symbol, network, params)


def test_layers_that_share_parameters_are_no_units(tmp_path: Path) -> None:
    data, weight = mx.sym.var("data"), mx.sym.var("shared")
    for unit in range(6):
        data = mx.sym.FullyConnected(
            data, weight, num_hidden=4, flatten=False, no_bias=True, name=f"unit{unit}_a"
        )
        data = mx.sym.Activation(
            mx.sym.FullyConnected(data, num_hidden=4, flatten=False, name=f"unit{unit}_b"),
            act_type="tanh",
            name=f"unit{unit}_c",
        )
    params = numbers(data, data=(2, 4))
    _, text = written(data, params, tmp_path)
    assert "class Unit" not in text
    assert "x = F.linear(x, self.shared)\n        x = self.unit1_b(x)" in text


def test_names_that_classes_would_change(tmp_path: Path) -> None:
    data = mx.sym.var("data")
    for name in ("__a", "_", "__", "-"):
        data = mx.sym.FullyConnected(data, num_hidden=4, name=name)
    network, _ = written(data, numbers(data, data=(2, 3)), tmp_path)
    names = ["_a.weight", "value.weight", "value_1.weight", "value_2.weight"]
    assert [name for name in network.state_dict() if "weight" in name] == names


@pytest.mark.slow
def test_types(tmp_path: Path) -> None:
    symbol = residual()
    written(symbol, numbers(symbol, data=(2, 3, 8, 8)), tmp_path)
    command = [sys.executable, "-m", "mypy", "--disallow-untyped-defs", "--config-file", "", "net.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def stacked(cells: list[Any], **how: Any) -> mx.sym.Symbol:
    stack = mx.rnn.SequentialRNNCell()
    for cell in cells:
        stack.add(cell)
    outputs, states = stack.unroll(5, inputs=mx.sym.var("data"), **how)
    # The states of two directions are lists of their own.
    states = [state for each in states for state in (each if isinstance(each, list) else [each])]
    return mx.sym.Group([outputs, *states]) if how["merge_outputs"] else mx.sym.Group([*outputs, states[0]])


def lstm(number: int) -> Any:
    return mx.rnn.LSTMCell(num_hidden=4, prefix=f"lstm_l{number}_")


def by_hand(mode: str, order: tuple[int, ...] = (0, 1, 2, 3)) -> mx.sym.Symbol:
    """Steps as old programs write them: states are inputs, and each step has its own."""
    weights = {
        name: mx.sym.var(f"l0_{name}") for name in ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")
    }
    h, c = mx.sym.var("init_h"), mx.sym.var("init_c")
    for t in range(4):
        i2h = mx.sym.FullyConnected(
            mx.sym.var(f"t{t}_data"),
            weights["i2h_weight"],
            weights["i2h_bias"],
            num_hidden=16 if mode == "lstm" else 4,
        )
        h2h = mx.sym.FullyConnected(
            h, weights["h2h_weight"], weights["h2h_bias"], num_hidden=16 if mode == "lstm" else 4
        )
        if mode != "lstm":
            h = mx.sym.Activation(i2h + h2h, act_type=mode)
            continue
        parts = mx.sym.SliceChannel(i2h + h2h, num_outputs=4)
        i, f, g, o = (parts[k] for k in order)
        c = mx.sym.sigmoid(f) * c + mx.sym.sigmoid(i) * mx.sym.tanh(g)
        h = mx.sym.sigmoid(o) * mx.sym.tanh(c)
    return h


UNROLLED = {
    "lstm": (stacked([lstm(0), lstm(1)], merge_outputs=True), ["nn.LSTM(3, 4)", "nn.LSTM(4, 4)"]),
    "single outputs": (stacked([lstm(0)], merge_outputs=False), ["nn.LSTM(3, 4)"]),
    "time first": (stacked([lstm(0)], merge_outputs=True, layout="TNC"), ["nn.LSTM(3, 4)"]),
    "gru": (
        stacked([mx.rnn.GRUCell(4, prefix=f"gru{i}_") for i in range(2)], merge_outputs=True),
        ["nn.GRU(3, 4)", "nn.GRU(4, 4)"],
    ),
    "tanh": (stacked([mx.rnn.RNNCell(4, prefix="rnn_")], merge_outputs=True), ["nn.RNN(3, 4)"]),
    "relu": (
        stacked([mx.rnn.RNNCell(4, activation="relu", prefix="rnn_")], merge_outputs=True),
        ['nn.RNN(3, 4, nonlinearity="relu")'],
    ),
    "dropout between": (
        stacked([lstm(0), mx.rnn.DropoutCell(0.5), lstm(1)], merge_outputs=True),
        ["nn.LSTM(3, 4)", "nn.LSTM(4, 4)"],
    ),
    "residual": (
        stacked([lstm(0), mx.rnn.ResidualCell(lstm(1))], merge_outputs=True),
        ["nn.LSTM(3, 4)", "nn.LSTM(4, 4)"],
    ),
    "two directions": (
        stacked([mx.rnn.BidirectionalCell(lstm(0), lstm(1))], merge_outputs=True),
        ["nn.LSTM(3, 4)", "nn.LSTM(3, 4)"],
    ),
    "by hand": (by_hand("lstm"), ["nn.LSTM(3, 4)"]),
    "by hand, relu": (by_hand("relu"), ['nn.RNN(3, 4, nonlinearity="relu")']),
    # Gates in an order that PyTorch's layer does not have: the steps stay.
    "by hand, other gates": (by_hand("lstm", (0, 2, 1, 3)), []),
}


@pytest.mark.parametrize("kind", UNROLLED)
def test_unrolled_cells_are_layers(kind: str, tmp_path: Path) -> None:
    symbol, layers = UNROLLED[kind]
    names = [name for name in symbol.list_arguments() if name.endswith(("data", "init_h", "init_c"))]
    time_first = kind == "time first"
    shapes = {
        name: ((5, 2, 3) if time_first else (2, 5, 3)) if name == "data" else (2, 3 if "data" in name else 4)
        for name in names
    }
    params = numbers(symbol, **shapes)
    free = {name: (0, *shape[1:]) for name, shape in shapes.items()} if "data" in names else None
    network, text = written(symbol, params, tmp_path, shapes=free)
    assert re.findall(r"nn\.(?:LSTM|GRU|RNN)\(.*\)", text) == layers
    assert text.count("nn.Dropout") == (kind == "dropout between")  # one for all steps
    data = {
        name: np.random.RandomState(1).uniform(-1, 1, shape).astype("f") for name, shape in shapes.items()
    }
    exe = symbol.simple_bind(mx.cpu(), grad_req="null", **shapes)
    exe.copy_params_from(params)
    expected = [
        array.asnumpy() for array in exe.forward(**{name: mx.nd.array(each) for name, each in data.items()})
    ]
    found = network.eval()(**{name: torch.from_numpy(each) for name, each in data.items()})
    found = found if isinstance(found, tuple) else (found,)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other, rtol=1e-5, atol=1e-6)
    arg_params, _ = to_params(network, tmp_path / "net.safetensors")
    assert {name: array.asnumpy().tolist() for name, array in arg_params.items()} == {
        name: array.asnumpy().tolist() for name, array in params.items()
    }
