"""Networks to files through PyTorch: each is written, run by its own engine, and equal to rebind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.convert import Model, export
from rebind.errors import MissingExtraError

#: What is in the folder besides the report.
FILES = {
    "torch": ["net.pt"],
    "python": ["net_torch.py", "net_torch.safetensors"],
    "pt2": ["net.pt2"],
    "openvino": ["net.bin", "net.xml"],
}


def pictures() -> Model:
    """Return a network that takes pictures of any size, in a batch of any size."""
    net = mx.sym.Convolution(mx.sym.var("in-data"), num_filter=4, kernel=(3, 3), pad=(1, 1), name="conv")
    net = mx.sym.LeakyReLU(mx.sym.BatchNorm(net, fix_gamma=False, name="bn"), act_type="prelu", name="prelu")
    net = mx.sym.Pooling(net, kernel=(1, 1), global_pool=True, pool_type="avg", name="pool")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3, name="fc"), name="softmax")
    return with_numbers(net, {"in-data": (1, 3, 8, 8)})


def texts() -> Model:
    """Return a network that has two inputs, two outputs, and a layer over time."""
    one = mx.sym.Embedding(mx.sym.var("words"), input_dim=20, output_dim=6, name="embed")
    steps = mx.sym.transpose(one, axes=(1, 0, 2))
    begin = mx.sym.zeros((1, 0, 5)), mx.sym.zeros((1, 0, 5))
    net = mx.sym.RNN(
        steps, mx.sym.var("lstm_parameters"), *begin, state_size=5, num_layers=1, mode="lstm", name="lstm"
    )
    net = mx.sym.mean(net, axis=0) * mx.sym.var("scale")
    return with_numbers(
        mx.sym.Group([mx.sym.FullyConnected(net, num_hidden=3, name="fc"), mx.sym.tanh(net, name="tanh")]),
        {"words": (2, 7), "scale": (2, 5)},
    )


def with_numbers(net: Any, shapes: dict[str, tuple[int, ...]]) -> Model:
    random = np.random.RandomState(0)
    arguments, _, states = net.infer_shape(**shapes)
    parameters = {
        name: mx.nd.array(random.uniform(0.1, 0.5, shape))
        for names, found in ((net.list_arguments(), arguments), (net.list_auxiliary_states(), states))
        for name, shape in zip(names, found, strict=True)
        if name not in shapes and not name.endswith("label")
    }
    aux = {name: parameters.pop(name) for name in net.list_auxiliary_states()}
    free = {name: (0, shape[1], *(0 for _ in shape[2:])) for name, shape in shapes.items()}
    return Model(net, parameters, aux, "net", free)


@pytest.mark.parametrize("to", FILES)
@pytest.mark.parametrize("model", [pictures, texts])
def test_it_is_written_and_gives_the_numbers_of_rebind(model: Any, to: str, tmp_path: Path) -> None:
    if to == "openvino":
        pytest.importorskip("openvino")
    report = export(model(), to, out=tmp_path)
    assert sorted(name for name in os.listdir(tmp_path) if not name.endswith(".md")) == FILES[to]
    assert [check.data for check in report.checks] == [f"random numbers, a batch of {n}" for n in (1, 3)]
    assert report.largest < 1e-5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # ExecuTorch's own, when it is imported
@pytest.mark.parametrize("model", [pictures, texts])
def test_executorch(model: Any, tmp_path: Path) -> None:
    pytest.importorskip("executorch.runtime")
    report = export(model(), "pte", out=tmp_path)
    assert (report.runtime, len(report.checks)) == ("ExecuTorch", 2)
    assert report.largest < 1e-5


@pytest.mark.parametrize(("to", "package"), [("openvino", "openvino"), ("pte", "executorch")])
def test_a_missing_package_is_named(
    to: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"needs {package}, .* pip install 'rebind\[{package}\]'"):
        export(pictures(), to, out=tmp_path)
    assert os.listdir(tmp_path) == []


def test_the_python_file_and_the_pickle_need_no_rebind(tmp_path: Path) -> None:
    export(pictures(), "torch", out=tmp_path)
    export(pictures(), "python", out=tmp_path)
    text = (
        "import sys, torch; sys.modules['rebind'] = None\n"
        "from net_torch import Network; from safetensors.torch import load_file\n"
        "other = Network().eval(); other.load_state_dict(load_file('net_torch.safetensors'))\n"
        "module = torch.load('net.pt', weights_only=False); x = torch.ones(2, 3, 9, 7)\n"
        "assert not module.training and torch.equal(module(x), other(x))\n"
    )
    subprocess.run([sys.executable, "-c", text], cwd=tmp_path, check=True, timeout=120)


def test_a_network_without_parameters(tmp_path: Path) -> None:
    net = mx.sym.sum(mx.sym.reshape(mx.sym.var("data"), shape=(-1, 12)), axis=1)
    report = export(Model(net, {}, {}, "net", {"data": (0, 12)}), "pt2", out=tmp_path)
    assert report.checks[1].outputs[0].shape == (3,)
