"""What SageMaker's built-in algorithms leave goes out to every target, as it is used, with the shapes it tells."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.convert import sagemaker

import rebind_command
from rebind.convert import export, read_model
from rebind.graph import deployed

Kind = Callable[[], sagemaker.Archive]

#: The outputs that remain, the input's shape, and what is left out.
EXPECTED: dict[Kind, tuple[list[str], tuple[int, ...], list[str]]] = {
    sagemaker.image_classification: (
        ["softmax_output"],
        (0, 3, 28, 28),
        [
            "SoftmaxOutput 'softmax' gives its softmax, without the gradient of its loss.",
            "Input 'softmax_label' is left out: nothing uses it.",
        ],
    ),
    sagemaker.object_detection: (
        ["det_out_output"],
        (0, 3, 64, 64),
        [
            "SoftmaxOutput 'cls_prob' gives its softmax, without the gradient of its loss.",
            "Output 'cls_prob_output' is left out: it is the output of a loss layer, and another output uses it.",
            "Output 'loc_loss_output' is left out: it depends on labels.",
            "Output 'cls_label_output' is left out: it depends on labels.",
            "Input 'label' is left out: nothing uses it.",
        ],
    ),
    sagemaker.semantic_segmentation: (
        ["fcnhead0_resize_output", "fcnhead1_resize_output"],
        (0, 3, 0, 0),
        [],
    ),
}

#: Where the package of a target is no part of what the tests need.
PACKAGES = {
    "openvino": "openvino", "pte": "executorch", "tflite": "litert_torch", "coreml": "coremltools",
}  # fmt: skip
#: These are quick; a detector's loop takes `torch.export` seconds, and so do millions of parameters.
QUICK = [
    (sagemaker.image_classification, "onnx"),
    (sagemaker.image_classification, "safetensors"),
    (sagemaker.semantic_segmentation, "onnx"),
    (sagemaker.semantic_segmentation, "python"),
]
ROWS = [
    pytest.param(
        kind, to, marks=[] if (kind, to) in QUICK else [pytest.mark.slow], id=f"{kind.__name__}-{to}"
    )
    for kind in EXPECTED
    for to in ("onnx", "torch", "python", "pt2", "safetensors", *PACKAGES)
    if kind is not sagemaker.object_detection or to not in PACKAGES  # OpenVINO refuses its loop
]


@pytest.fixture(scope="module")
def archive(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = request.param().write(tmp_path_factory.mktemp(request.param.__name__))
    yield path
    path.unlink()


@pytest.mark.parametrize("kind", EXPECTED, ids=lambda kind: kind.__name__)
def test_training_is_left_out_and_use_remains(kind: Kind) -> None:
    """Targets and losses go, such as `MultiBoxTarget`; softmax and `MultiBoxDetection` stay."""
    outputs, left_out = EXPECTED[kind][0], EXPECTED[kind][2]
    made = kind()
    data = {"data": made.shapes["data"]}
    result = deployed(made.symbol.graph, data)
    assert result.graph.output_names == tuple(outputs) and list(result.left_out) == left_out
    operators = {node.operator.name for node in result.graph.nodes if node.operator is not None}
    assert operators.isdisjoint({"_contrib_MultiBoxTarget", "SoftmaxOutput", "MakeLoss"})
    assert ("_contrib_MultiBoxDetection" in operators) == (kind is sagemaker.object_detection)


def test_other_outputs_can_be_wanted() -> None:
    """The scores of all anchors, in place of detections, or boxes' targets: then their label stays."""
    made = sagemaker.object_detection()
    scores = deployed(made.symbol.graph, made.shapes, ["cls_prob"])
    assert scores.graph.output_names == ("cls_prob_output",)
    assert [node.name for node in scores.graph.arguments if node.name in made.shapes] == ["data"]
    targets = deployed(made.symbol.graph, made.shapes, ["det_out", "cls_label_output"])
    assert targets.graph.output_names == ("det_out_output", "cls_label_output")
    assert [node.name for node in targets.graph.arguments if node.name in made.shapes] == ["data", "label"]


@pytest.mark.parametrize(("archive", "to"), ROWS, indirect=["archive"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of ExecuTorch and others, when they are imported
def test_archives_go_out(archive: Path, to: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if to in PACKAGES and importlib.util.find_spec(PACKAGES[to]) is None:
        pytest.skip(f"{PACKAGES[to]} is not installed")
    kind = request.node.callspec.params["archive"]
    outputs, shape, left_out = EXPECTED[kind]
    fixed = {"data": kind().shapes["data"]} if to in ("tflite", "coreml") else None
    report = export(archive, to, out=tmp_path, shape=fixed)
    names = [each.name for check in report.checks[:1] for each in check.outputs]
    if to == "safetensors":  # the checkpoint as it is
        assert report.largest == 0 and not report.left_out
        assert read_model(report.path).symbol.list_outputs() == kind().symbol.list_outputs()
        return
    assert list(report.left_out) == left_out
    assert read_model(archive).shapes == (
        {"data": shape} if kind is not sagemaker.semantic_segmentation else {}
    )
    if to != "coreml":  # which runs on Apple's systems only
        assert names == outputs and report.largest < 1e-4


def test_outputs_are_named_in_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sagemaker.image_classification().write(tmp_path)
    call = ["export", "model.tar.gz", "--to", "onnx", "--outputs", "flatten0,fc1", "--out", "net.onnx"]
    assert rebind_command.main(call) == 0
    (report,) = tmp_path.glob("*.md")
    text = report.read_text()
    assert "flatten0_output" in text and "fc1_output" in text and "softmax_output" not in text
