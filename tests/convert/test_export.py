"""Models go out, are run beside rebind, and leave a file only if both agree; what differs is named."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.convert import (
    TARGETS,
    Check,
    Difference,
    DifferentOutputsError,
    Model,
    Report,
    export,
    load_safetensors,
    targets,
)
from rebind.convert.comparison import difference
from rebind.errors import (
    ArgumentError,
    ExistingFileError,
    FormatError,
    MissingExtraError,
    MissingFileError,
    MXNetError,
    ParameterError,
    ShapeError,
)


def network() -> Any:
    """Return a network whose loss depends on labels, and whose predictions do not."""
    net = mx.sym.Activation(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc1"), act_type="relu", name="relu1"
    )
    net = mx.sym.Activation(
        mx.sym.FullyConnected(net, num_hidden=3, name="fc2"), act_type="sigmoid", name="out"
    )
    return mx.sym.MakeLoss(mx.sym.square(net - mx.sym.var("label")), name="loss")


def model() -> Model:
    random = np.random.RandomState(0)
    shapes = {
        "fc1_weight": (4, 5),
        "fc1_bias": (4,),
        "fc2_weight": (3, 4),
        "fc2_bias": (3,),
        "old_weight": (1,),
    }
    params = {name: mx.nd.array(random.standard_normal(shape)) for name, shape in shapes.items()}
    return Model(network(), params, {}, "net")


def test_export_to_onnx(tmp_path: Path) -> None:
    report = export(model(), out=tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["net.onnx", "net.onnx.md"]
    assert report.path == str(tmp_path / "net.onnx") and report.runtime == "onnxruntime"
    assert [check.data for check in report.checks] == [f"random numbers, a batch of {n}" for n in (1, 3)]
    [output] = report.checks[1].outputs
    assert (output.name, output.shape) == ("out_output", (3, 3)) and report.largest < 1e-6
    assert report.left_out == (
        "Output 'loss_output' is left out: it depends on labels.",
        "The outputs are what the losses are computed from: 'out_output'.",
        "Input 'label' is left out: nothing uses it.",
        "1 parameter is left out: nothing uses old_weight.",
    )
    text = (tmp_path / "net.onnx.md").read_text()
    assert text == report.markdown() and "| data | any × 5 |" in text and "| out_output | 3 × 3 | " in text


def test_a_fixed_batch_is_run_once(tmp_path: Path) -> None:
    report = export(model(), out=tmp_path / "a.onnx", shape={"data": (2, 5)})
    assert [(check.data, check.outputs[0].shape) for check in report.checks] == [("random numbers", (2, 3))]


def test_chosen_outputs_of_inside(tmp_path: Path) -> None:
    report = export(model(), out=tmp_path, outputs=["relu1", "fc2_output"])
    assert [each.name for each in report.checks[0].outputs] == ["relu1_output", "fc2_output"]


def test_check_on_arrays_of_a_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", data=np.ones((7, 5)), other=np.ones(1))
    report = export(model(), out=tmp_path, overwrite=True, check=tmp_path / "data.npz")
    assert [check.outputs[0].shape for check in report.checks] == [(7, 3), (1, 3)]
    np.savez(tmp_path / "wrong.npz", data=np.ones((7, 4)))
    with pytest.raises(
        ShapeError, match=r"'data' must have the shape \(0, 5\), where 0 is any size; got \(7, 4\)"
    ):
        export(model(), out=tmp_path, overwrite=True, check=tmp_path / "wrong.npz")
    np.savez(tmp_path / "empty.npz", x=np.ones(1))
    with pytest.raises(FormatError, match=r"it must have an array 'data'; it has x"):
        export(model(), out=tmp_path, overwrite=True, check=tmp_path / "empty.npz")
    (tmp_path / "text.npz").write_text("no arrays")
    with pytest.raises(FormatError, match=r"must be an \.npz file of arrays"):
        export(model(), out=tmp_path, overwrite=True, check=tmp_path / "text.npz")
    with pytest.raises(MissingFileError, match=r"must be a folder of pictures or an \.npz file"):
        export(model(), out=tmp_path, overwrite=True, check=tmp_path / "nothing")


def of_pictures() -> Model:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    weight = np.random.RandomState(0).standard_normal((2, 3 * 6 * 4))
    return Model(net, {"fc_weight": mx.nd.array(weight)}, {}, "net", {"data": (0, 3, 6, 4)})


@pytest.mark.parametrize("to", ["onnx", "pt2"])
def test_free_sizes_are_checked_with_several(to: str, tmp_path: Path) -> None:
    import cv2

    weight = {"conv_weight": mx.nd.array(np.random.RandomState(0).standard_normal((2, 3, 3, 3)))}
    net = mx.sym.Convolution(mx.sym.var("data"), num_filter=2, kernel=(3, 3), no_bias=True, name="conv")
    model = Model(net, weight, {}, "net")
    report = export(model, to, out=tmp_path, shape={"data": (0, 3, 0, 0)})
    assert [check.outputs[0].shape for check in report.checks] == [(1, 2, 222, 222), (3, 2, 190, 254)]
    (tmp_path / "pictures").mkdir()
    cv2.imwrite(str(tmp_path / "pictures" / "a.png"), np.full((300, 700, 3), 9, np.uint8))
    report = export(model, to, out=tmp_path, check=tmp_path / "pictures", overwrite=True)
    assert [check.outputs[0].shape for check in report.checks] == [(1, 2, 286, 638)]
    steps = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, flatten=False, no_bias=True, name="fc")
    sequence = Model(steps, {"fc_weight": mx.nd.ones((2, 5))}, {}, "steps")
    report = export(sequence, to, out=tmp_path, shape={"data": (0, 0, 5)})
    assert [check.outputs[0].shape for check in report.checks] == [(1, 16, 2), (3, 24, 2)]


def test_check_on_pictures(tmp_path: Path) -> None:
    import cv2

    (tmp_path / "pictures" / "cats").mkdir(parents=True)
    random = np.random.RandomState(0)
    for name in ("a.png", "cats/b.PNG"):
        picture = random.randint(0, 256, (9, 8, 3)).astype(np.uint8)
        (tmp_path / "pictures" / name).write_bytes(cv2.imencode(".png", picture)[1].tobytes())
    report = export(of_pictures(), out=tmp_path, overwrite=True, check=tmp_path / "pictures")
    assert [check.outputs[0].shape for check in report.checks] == [(2, 2), (1, 2)]
    fixed = replace(of_pictures(), shapes={"data": (3, 3, 6, 4)})
    assert export(fixed, out=tmp_path, overwrite=True, check=tmp_path / "pictures").checks[0].outputs[
        0
    ].shape == (3, 2)
    with pytest.raises(ShapeError, match=r"pictures are for networks that take nothing else"):
        export(model(), out=tmp_path, overwrite=True, check=tmp_path / "pictures")
    (tmp_path / "none").mkdir()
    with pytest.raises(MissingFileError, match=r"must have pictures, files that end in \.jpg"):
        export(of_pictures(), out=tmp_path, overwrite=True, check=tmp_path / "none")


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the target write other weights of the second layer than it is given."""

    def write(given: Any, path: str, **options: Any) -> None:
        params = {**given.arg_params, "fc2_bias": given.arg_params["fc2_bias"] + 1}
        targets.write_onnx(replace(given, arg_params=params), path, **options)

    monkeypatch.setitem(TARGETS, "onnx", replace(TARGETS["onnx"], write=write))  # type: ignore[arg-type]


@pytest.mark.usefixtures("wrong")
def test_what_differs_is_named_and_leaves_no_file(tmp_path: Path) -> None:
    says = (
        r"^export: 'out_output' in onnxruntime differs by 0\.\d+ of its largest number, more than 0\.0001; "
        r"the first node that differs is <FullyConnected 'fc2'>, by 0\.\d+ in 'fc2_output'\. No file is left"
    )
    with pytest.raises(DifferentOutputsError, match=says):
        export(model(), out=tmp_path)
    assert os.listdir(tmp_path) == []
    with pytest.raises(DifferentOutputsError, match=r"The file is .*net\.onnx\.$"):
        export(model(), out=tmp_path, keep=True)
    assert os.listdir(tmp_path) == ["net.onnx"]
    assert export(model(), out=tmp_path, limit=10, overwrite=True).largest > 0.1
    assert export(model(), out=tmp_path, check=False, overwrite=True).checks == ()


def test_an_older_file_stays_when_the_new_one_differs(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    before = Path(export(model(), out=tmp_path).path).read_bytes()
    request.getfixturevalue("wrong")
    with pytest.raises(DifferentOutputsError):
        export(model(), out=tmp_path, overwrite=True)
    assert (tmp_path / "net.onnx").read_bytes() == before


@pytest.mark.parametrize(
    ("to", "there"),
    [
        ("onnx", "net.onnx"),
        ("onnx", "net.onnx.md"),
        ("python", "net_torch.safetensors"),
        ("safetensors", "net.safetensors"),
    ],
)
def test_files_that_are_there_are_replaced_on_request_only(to: str, there: str, tmp_path: Path) -> None:
    (tmp_path / there).write_text("somebody's")
    says = rf"^export: '.*{re.escape(there)}' exists already; overwrite=True \(--force\) replaces it\.$"
    with pytest.raises(ExistingFileError, match=says):
        export(model(), to, out=tmp_path)
    assert os.listdir(tmp_path) == [there] and (tmp_path / there).read_text() == "somebody's"
    export(model(), to, out=tmp_path, overwrite=True)
    assert len(os.listdir(tmp_path)) > 1 and b"somebody's" not in (tmp_path / there).read_bytes()


def test_weights_beyond_a_limit_go_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "_LARGE", 10)
    large = replace(of_pictures(), shapes={"data": (0, 3, 6, 4)})
    assert export(large, out=tmp_path).largest < 1e-6
    assert sorted(os.listdir(tmp_path)) == ["net.onnx", "net.onnx.data", "net.onnx.md"]


def test_options_reach_the_target(tmp_path: Path) -> None:
    import onnx

    export(model(), out=tmp_path, opset=13)
    assert onnx.load(tmp_path / "net.onnx").opset_import[0].version == 13


@pytest.mark.parametrize(
    ("to", "option", "says"),
    [
        ("pt2", "opset", "'pt2' has no option 'opset'; it is one of 'onnx'."),
        ("safetensors", "opset", "'safetensors' has no option 'opset'; it is one of 'onnx'."),
        ("onnx", "opsett", "'onnx' has no option 'opsett'; its options: opset; did you mean 'opset'?"),
        ("torch", "size", "'torch' has no option 'size'; its options: none."),
    ],
)
def test_options_that_a_target_lacks(to: str, option: str, says: str) -> None:
    with pytest.raises(ArgumentError, match=rf"^export: {re.escape(says)}$"):
        export("nothing", to, **{option: 13})  # type: ignore[arg-type]  # wrong on purpose


def test_safetensors_hold_the_whole_checkpoint(tmp_path: Path) -> None:
    given = model()
    report = export(given, "safetensors", out=tmp_path)
    symbol, args, _ = load_safetensors(tmp_path / "net.safetensors")
    assert (
        symbol is not None
        and symbol.tojson() == given.symbol.tojson()
        and sorted(args) == sorted(given.arg_params)
    )
    assert report.largest == 0 and len(report.checks[0].outputs) == 5


def test_a_path_that_ends_like_a_folder_is_one(tmp_path: Path) -> None:
    report = export(model(), "safetensors", out=f"{tmp_path}/new/")
    assert Path(report.path).parent == tmp_path / "new" and Path(report.path).is_file()


def test_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        ParameterError, match=r"^export: to must be one of .*; got 'onxx'; did you mean 'onnx'\?"
    ):
        export(model(), "onxx")
    with pytest.raises(MissingFileError, match=r"^export: the folder '.*none' of '.*' must exist"):
        export(model(), out=tmp_path / "none" / "a.onnx")
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rebind\[onnx\]'"):
        export(model(), out=tmp_path)


def test_what_a_runtime_refuses_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(given: Any, path: str) -> None:
        Path(path).write_bytes(b"no model")

    monkeypatch.setitem(TARGETS, "onnx", replace(TARGETS["onnx"], write=write))  # type: ignore[arg-type]
    with pytest.raises(MXNetError, match=r"^export: onnxruntime does not run the file: "):
        export(model(), out=tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("expected", "found", "absolute", "relative"),
    [
        ([1.0, -4.0], [1.0, -4.0], 0, 0),
        ([1.0, -4.0], [1.0, -3.0], 1, 0.25),
        ([0.0, 0.0], [0.0, 1.0], 1, np.inf),
        ([np.nan, np.inf], [np.nan, np.inf], 0, 0),
        ([np.nan, 1.0], [1.0, 1.0], np.inf, np.inf),
        ([np.inf, 1.0], [-np.inf, 1.0], np.inf, np.inf),
        ([1.0, 2.0], [1.0], np.inf, np.inf),
        ([], [], 0, 0),
    ],
)
def test_differences(expected: list[float], found: list[float], absolute: float, relative: float) -> None:
    result = difference("out", np.array(expected), np.array(found))
    assert (result.absolute, result.relative) == (absolute, relative)


def test_a_report_that_was_not_run_says_so() -> None:
    report = Report("a/net.mlpackage", "coreml", "", {}, ("Something.",), (), 1e-4)
    assert report.markdown().splitlines()[0] == "# net.mlpackage"
    assert "It was not run" in report.markdown() and "- Something." in report.markdown()
    check = Check("x", (Difference("o", 0.5, 0.25, 0.75, ()),))
    assert "| o | a number | 0.5 | 0.25 | 0.750000000 |" in replace(report, checks=(check,)).markdown()
