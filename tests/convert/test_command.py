"""``rebind export``, ``summary``, ``plot``, ``predict`` and ``doctor``, from the command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx
import rebind_command
from rebind.convert import TARGETS
from rebind_command import models

PREFIX = "net"


def network() -> Any:
    data = mx.sym.FullyConnected(mx.sym.Flatten(mx.sym.var("data")), num_hidden=4, name="fc1")
    out = mx.sym.FullyConnected(
        mx.sym.Activation(data, act_type="relu", name="relu1"), num_hidden=3, name="fc2"
    )
    return mx.sym.MakeLoss(mx.sym.square(out - mx.sym.var("label")), name="loss")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a checkpoint, arrays and pictures into the current folder."""
    import cv2

    monkeypatch.chdir(tmp_path)
    random = np.random.RandomState(0)
    shapes = {"fc1_weight": (4, 12), "fc1_bias": (4,), "fc2_weight": (3, 4), "fc2_bias": (3,)}
    params = {name: mx.nd.array(random.standard_normal(shape)) for name, shape in shapes.items()}
    mx.model.save_checkpoint(PREFIX, 5, network(), params, {})
    np.savez("data.npz", data=random.standard_normal((2, 3, 2, 2)))
    os.mkdir("pictures")
    for name in "ab":
        cv2.imwrite(f"pictures/{name}.png", random.randint(0, 256, (5, 4, 3)).astype(np.uint8))


SHAPE = ("--shape", "data:0,3,2,2")


def test_predict_on_pictures_and_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    Path("classes.txt").write_text("cat\ndog\nbird\n")
    assert rebind_command.main(["predict", PREFIX, "pictures", *SHAPE, "--labels", "classes.txt"]) == 0
    written = capsys.readouterr()
    assert written.err == "The parameters are those of epoch 5.\n"
    first, *pictures = written.out.splitlines()
    assert first == "fc2_output: 2 x 3" and [line[:5] for line in pictures] == ["  a.p", "  b.p"]
    assert all(name in line for line in pictures for name in ("cat", "dog", "bird"))
    for i in range(40):  # more than are computed at once
        shutil.copy("pictures/a.png", f"pictures/c{i:02}.png")
    assert rebind_command.main(["predict", PREFIX, "pictures", *SHAPE, "--out", "all"]) == 0
    assert capsys.readouterr().out == "all.npz\n"
    with np.load("all.npz") as found:
        assert found["files"].tolist()[:3] == ["a.png", "b.png", "c00.png"] and len(found["files"]) == 42
        assert found["fc2_output"].shape == (42, 3)
        np.testing.assert_allclose(
            found["fc2_output"][2:], np.tile(found["fc2_output"][:1], (40, 1)), rtol=1e-5
        )
    assert (
        rebind_command.main(["predict", PREFIX, "pictures", "--shape", "data:5,3,2,2", "--out", "fives"]) == 0
    )
    with np.load("all.npz") as found, np.load("fives.npz") as fives:
        np.testing.assert_allclose(fives["fc2_output"], found["fc2_output"], rtol=1e-5)
    capsys.readouterr()
    assert (
        rebind_command.main(
            ["predict", PREFIX, "data.npz", *SHAPE, "--out", "found", "--outputs", "fc1,relu1"]
        )
        == 0
    )
    assert capsys.readouterr().out == "found.npz\n"
    with np.load("found.npz") as found:
        assert {name: found[name].shape for name in found} == {"fc1_output": (2, 4), "relu1_output": (2, 4)}
        np.testing.assert_array_equal(found["relu1_output"], found["fc1_output"].clip(0))


def test_summary_and_plot(capsys: pytest.CaptureFixture[str]) -> None:
    assert rebind_command.main(["summary", PREFIX, *SHAPE]) == 0
    written = capsys.readouterr().out
    assert "fc1" in written and "input   data: any x 3 x 2 x 2\noutput  fc2_output\n" in written
    assert "size    0.0 MB in 4 parameters and states\n" in written
    assert rebind_command.main(["plot", PREFIX, *SHAPE]) == 0
    assert rebind_command.main(["plot", PREFIX, *SHAPE, "--out", "b.svg"]) == 0
    assert capsys.readouterr().out == "net.svg\nb.svg\n"
    assert Path("net.svg").read_text().startswith("<svg") and Path("b.svg").exists()


def test_shapes_are_those_of_the_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    assert rebind_command.main(["predict", PREFIX, "data.npz"]) == 0
    assert capsys.readouterr().out.startswith("fc2_output: 2 x 3\n")
    assert rebind_command.main(["export", PREFIX, "--to", "torch", "--check", "data.npz"]) == 0
    written = capsys.readouterr().out
    assert "PyTorch, data.npz, a batch of 2" in written and "PyTorch, data.npz, a batch of 1" in written
    Path("text.npz").write_text("no archive")
    assert rebind_command.main(["predict", PREFIX, "text.npz"]) == 1
    assert "'text.npz' must be an .npz file of arrays, as numpy.savez writes it" in capsys.readouterr().err


def test_a_picture_without_shapes(capsys: pytest.CaptureFixture[str]) -> None:
    assert rebind_command.main(["plot", PREFIX]) == 0
    written = capsys.readouterr()
    assert written.out == "net.svg\n" and Path("net.svg").read_text().startswith("<svg")
    _, sentence = written.err.splitlines()
    assert sentence.startswith("The picture has no shapes: the shape of the input 'data' cannot be inferred")
    assert rebind_command.main(["plot", PREFIX, "--shape", "dat:1,12", "--out", "b.svg"]) == 1


def test_export_prints_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert rebind_command.main(["export", PREFIX, "--to", "safetensors", "--out", "a.safetensors"]) == 0
    written = capsys.readouterr()
    assert "fc1_weight" in written.out and written.out.endswith("a.safetensors (report: a.safetensors.md)\n")
    assert written.err == ""
    pair = ["net-symbol.json", "net-0005.params"]
    assert rebind_command.main(
        ["export", *pair, "--to", "onnx", *SHAPE, "--outputs", "relu1", "--opset", "13"]
    ) in (0, 1)


def test_an_older_file_and_no_check(capsys: pytest.CaptureFixture[str]) -> None:
    call = ["export", PREFIX, "--to", "torch", *SHAPE, "--no-check"]
    assert rebind_command.main(call) == 0
    assert "net.pt was not run: no check was wanted.\n" in capsys.readouterr().out
    assert rebind_command.main(call) == 1
    says = "rebind export: 'net.pt' exists already; overwrite=True (--force) replaces it.\n"
    assert capsys.readouterr().err == says
    assert rebind_command.main([*call, "--force"]) == 0


@pytest.mark.parametrize(
    ("command", "path"),
    [
        (["plot", PREFIX], "net.svg"),
        (["plot", PREFIX, "--out", "a.gv"], "a.gv"),
        (["predict", PREFIX, "data.npz", "--out", "found"], "found.npz"),
        (["export", PREFIX, "--to", "safetensors"], "net.safetensors"),
        (["report", "run"], "run-report.html"),
    ],
)
def test_a_file_is_replaced_only_on_demand(
    command: list[str], path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data = mx.io.NDArrayIter(np.ones((4, 3, 2, 2)), np.zeros((4, 3)), 4, label_name="label")
    mx.mod.Module(network(), label_names=["label"]).fit(
        data, eval_metric="loss", num_epoch=1, checkpoint="run"
    )
    Path(path).write_text("somebody's")
    assert rebind_command.main(command) == 1
    written = capsys.readouterr().err
    assert written.splitlines()[-1].endswith(
        f"{path!r} exists already; overwrite=True (--force) replaces it."
    )
    assert Path(path).read_text() == "somebody's"
    assert rebind_command.main([*command, "--force"]) == 0
    assert Path(path).read_bytes() != b"somebody's"


def test_a_page_of_an_earlier_run_is_replaced() -> None:
    data = mx.io.NDArrayIter(np.ones((4, 3, 2, 2)), np.zeros((4, 3)), 4, label_name="label")
    module = mx.mod.Module(network(), label_names=["label"])
    for epochs in (1, 2):
        module.fit(data, eval_metric="loss", num_epoch=epochs, checkpoint="run")
        assert rebind_command.main(["report", "run"]) == 0


def test_failures_are_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    assert rebind_command.main(["export", "nothing"]) == 1
    assert capsys.readouterr().err.startswith(
        "rebind export: load_checkpoint: the file 'nothing-symbol.json' must exist"
    )
    assert rebind_command.main(["summary", PREFIX]) == 1
    assert "--shape data:1,3,2,2 " in capsys.readouterr().err
    assert rebind_command.main(["predict", PREFIX, "none.npz", *SHAPE]) == 1
    assert rebind_command.main(["export", PREFIX, "--shape", "dat:1"]) == 1
    assert "did you mean 'data'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["export"], "Missing argument 'MODEL...'"),
        (["export", "x", "--to", "onxx"], "'onxx' is not one of 'onnx'"),
        (["export", "x", "--shape", "1,3"], "must be NAME:SIZE,SIZE,..., as in data:1,3,224,224; got '1,3'"),
        (["export", "x", "--shape", "data:1,-3"], "must be NAME:SIZE"),
        (["export", "x", "--opset", "99"], "99 is not in the range 13<=x<=26"),
        (["export", "x", "--to", "safetensors", "--opset", "13"], "--opset is for --to onnx"),
        (["export", "x", "--check", "data.npz", "--no-check"], "--check and --no-check exclude each other"),
        (["predict", "x"], "Missing argument"),
        (["plot", "x", "--size", "3"], "No such option"),
    ],
)
def test_mistakes_in_the_command_line(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        rebind_command.main(arguments)
    assert caught.value.code == 2 and says in capsys.readouterr().err


def test_completion_and_help_do_not_wait_for_torch() -> None:
    code = """
import os, sys, rebind_command
os.environ.update(_REBIND_COMPLETE="bash_complete", COMP_WORDS="rebind ex", COMP_CWORD="1")
try:
    rebind_command.main([])
except SystemExit as ended:
    print(ended.code)
del os.environ["_REBIND_COMPLETE"]
for arguments in (["export", "--help"], ["doctor", "--help"], ["export", "x", "--shape", "1"]):
    try:
        rebind_command.main(arguments)
    except SystemExit as ended:
        print(ended.code, file=sys.stderr)
print([name for name in ("torch", "numpy", "rebind") if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("plain,export\n0\n")
    lines = done.stderr.splitlines()
    assert [line for line in lines if line.isdecimal()] == ["0", "0", "2"] and lines[-1] == "[]"


def test_targets_of_the_command_are_those_of_the_package() -> None:
    assert {*models.TARGETS} == {*TARGETS, "safetensors"}
