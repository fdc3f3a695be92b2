"""Networks for phones (`make targets`): those whose engines run on Linux are run, the others are looked into."""

from __future__ import annotations

import importlib.util
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.convert.checkpoints import pictures, texts, with_numbers, without

import rebind as mx
from rebind.convert import Model, export
from rebind.errors import MissingExtraError, MXNetError, ShapeError

#: Shapes without free sizes but that of the batch.
SHAPES = {pictures: {"in-data": (0, 3, 9, 7)}, texts: {}}

slow = pytest.mark.slow
both = pytest.mark.parametrize("model", [pictures, texts])


@pytest.fixture
def installed(request: pytest.FixtureRequest) -> None:
    """Skip a test of a package that is not installed; the environments of these are large."""
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("installed", [package], indirect=True)


@pytest.mark.parametrize(
    ("to", "package", "extra"),
    [
        ("pte", "executorch", "executorch"),
        ("tflite", "litert_torch", "litert"),
        ("coreml", "coremltools", "coreml"),
        ("coreai", "coreai_torch", "coreai"),
    ],
)
def test_a_missing_package_is_named(
    to: str, package: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, package)
    says = rf"^export: this needs {package}, .* pip install 'rebind\[{extra}\]'$"
    with pytest.raises(MissingExtraError, match=says):
        export(pictures(), to, out=tmp_path, shape=SHAPES[pictures])
    assert os.listdir(tmp_path) == []


@slow
@both
@needs("executorch")
@pytest.mark.usefixtures("installed")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # ExecuTorch's own, when it is imported
def test_executorch(model: Any, tmp_path: Path) -> None:
    report = export(model(), "pte", out=tmp_path)
    assert (report.runtime, len(report.checks)) == ("ExecuTorch", 2)
    assert report.largest < 1e-5


def test_a_target_of_fixed_sizes_asks_for_them(tmp_path: Path) -> None:
    says = (
        r"^export: all sizes of the input 'in-data' must be given, as LiteRT takes data of one fixed shape: "
        r"give it, as in "
        r"--shape in-data:1,3,224,224 "
    )
    with pytest.raises(ShapeError, match=says):
        export(pictures(), "tflite", out=tmp_path)


@slow
@both
@needs("litert_torch")
@pytest.mark.usefixtures("installed")
def test_litert(model: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    report = export(model(), "tflite", out=tmp_path, shape=SHAPES[model])
    assert report.left_out[-1] == "The size of the batch is 1: LiteRT takes data of one fixed shape."
    assert (report.runtime, len(report.checks)) == ("LiteRT", 1)
    assert report.largest < 1e-5
    assert "LiteRT-Torch" not in capfd.readouterr().out
    shapes = {"in-data": (2, 3, 9, 7)} if model is pictures else {"words": (3, 7), "scale": (3, 5)}
    fixed = export(model(), "tflite", out=tmp_path / "fixed.tflite", shape=shapes)
    assert fixed.largest < 1e-5 and fixed.checks[0].outputs[0].shape[0] == next(iter(shapes.values()))[0]


@slow
@needs("litert_torch")
@pytest.mark.usefixtures("installed")
def test_outputs_of_litert_are_in_the_order_of_the_network(tmp_path: Path) -> None:
    data = mx.sym.var("data")
    net = mx.sym.Group([data + number for number in (1, 2, 3)])
    outputs = [mx.sym.identity(output, name=name) for output, name in zip(net, ("z", "a", "m"))]
    report = export(Model(mx.sym.Group(outputs), {}, {}, "net", {"data": (2, 3)}), "tflite", out=tmp_path)
    assert [each.name for each in report.checks[0].outputs] == ["z_output", "a_output", "m_output"]


@slow
@both
@needs("coremltools")
@pytest.mark.usefixtures("installed")
def test_core_ml(model: Any, tmp_path: Path) -> None:
    report = export(model(), "coreml", out=tmp_path)
    assert (report.path, report.runtime, report.checks) == (str(tmp_path / "net.mlpackage"), "", ())
    from coremltools.models import utils  # quiet, now that it was imported once
    from coremltools.proto import Model_pb2

    [path] = (tmp_path / "net.mlpackage").rglob("*.mlmodel")
    specification = Model_pb2.Model()
    specification.ParseFromString(path.read_bytes())
    assert utils is not None
    described = specification.description
    inputs = {each.name: each.type.multiArrayType for each in described.input}
    if model is pictures:
        ranges = [(each.lowerBound, each.upperBound) for each in inputs["in_data"].shapeRange.sizeRanges]
        assert ranges == [(1, 64), (3, 3), (1, 2048), (1, 2048)]
        assert [each.name for each in described.output] == ["softmax_output"]
    else:
        assert list(inputs) == ["words", "scale"]
        assert [each.name for each in described.output] == ["fc_output", "tanh_output"]
    assert json.loads(described.metadata.userDefined["mxnet_inputs"]) == (
        ["in-data"] if model is pictures else ["words", "scale"]
    )
    [main] = specification.mlProgram.functions.values()
    counts = Counter(
        operation.type for block in main.block_specializations.values() for operation in block.operations
    )
    expected = (
        {"conv": 1, "prelu": 1, "linear": 1, "softmax": 1}
        if model is pictures
        else {"tanh": 15, "sigmoid": 21}
    )
    assert {name: counts[name] for name in expected} == expected


@slow
@needs("coremltools")
@pytest.mark.usefixtures("installed")
def test_what_core_ml_does_not_take_is_a_sentence(tmp_path: Path) -> None:
    net = mx.sym.RNN(
        mx.sym.var("data"), mx.sym.var("rnn_parameters"), mx.sym.zeros((1, 0, 5)), state_size=5, num_layers=1,
        mode="gru", name="rnn",
    )  # fmt: skip
    model = with_numbers(net, {"data": (4, 2, 3)})
    with pytest.raises(MXNetError, match=r"^export: .* cannot (convert|export) the network: "):
        export(model, "coreml", out=tmp_path, shape={"data": (0, 2, 3)})
    assert os.listdir(tmp_path) == []


@slow
@both
@needs("coreai_torch")
@pytest.mark.usefixtures("installed")
def test_core_ai(model: Any, tmp_path: Path) -> None:
    report = export(model(), "coreai", out=tmp_path)
    assert (report.path, report.runtime, report.checks) == (str(tmp_path / "net.aimodel"), "", ())
    program = (tmp_path / "net.aimodel" / "main.mlirb").read_bytes()
    for name in [*report.inputs, *model().symbol.list_outputs()]:
        assert name.encode() in program
    assert json.loads((tmp_path / "net.aimodel" / "metadata.json").read_text())
