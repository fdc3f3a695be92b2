"""Networks to files through PyTorch: each is written, run by its own engine, and equal to rebind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.convert.checkpoints import pictures, texts, without

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


@pytest.mark.parametrize("to", FILES)
@pytest.mark.parametrize("model", [pictures, texts])
def test_it_is_written_and_gives_the_numbers_of_rebind(model: Any, to: str, tmp_path: Path) -> None:
    if to == "openvino":
        pytest.importorskip("openvino")
    report = export(model(), to, out=tmp_path)
    assert sorted(name for name in os.listdir(tmp_path) if not name.endswith(".md")) == FILES[to]
    assert [check.data for check in report.checks] == [f"random numbers, a batch of {n}" for n in (1, 3)]
    assert report.largest < 1e-5


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "openvino")
    with pytest.raises(MissingExtraError, match=r"needs openvino, .* pip install 'rebind\[openvino\]'"):
        export(pictures(), "openvino", out=tmp_path)
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
