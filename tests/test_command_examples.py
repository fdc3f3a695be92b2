"""The examples of ``rebind COMMAND --help`` run, exit codes are those of docs/command.md, and bash completes."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rebind as mx
import rebind_command

PAGE = Path(__file__).parents[1] / "docs" / "command.md"
COMMANDS = [*rebind_command.rebind.commands]
#: Examples that start processes or train for a while.
SLOW = {"launch", "run", "train"}

PROGRAM = """
import argparse
import mxnet as mx

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=1)
parser.add_argument("--kv-store", default="local")
given = parser.parse_args()
print(mx.kv.create(given.kv_store).num_workers, given.batch_size)
"""


def example(command: str, capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """Return the arguments of the calls that a command's help shows."""
    with pytest.raises(SystemExit):
        rebind_command.main([command, "--help"])
    shown = capsys.readouterr().out.partition("Example: ")[2].partition("\n\n")[0]
    text = " ".join(line.strip() for line in shown.splitlines())
    calls = [shlex.split(call) for call in re.split(r", then (?=rebind )", text)]
    assert all(call[:2] == ["rebind", command] for call in calls)
    return [call[1:] for call in calls]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with all files that examples name."""
    cv2 = pytest.importorskip("cv2")
    monkeypatch.chdir(tmp_path)
    for name in ("pictures", "data", "symbols", "run", "runs"):
        (tmp_path / name).mkdir()
    for i in range(2):
        cv2.imwrite(f"pictures/{i}.png", np.full((240, 230, 3), 50 * i, np.uint8))
    Path("train.py").write_text(PROGRAM)
    Path("symbols/net.py").write_text("import mxnet as mx\nnet = mx.sym.var('data')\n")
    Path("synset.txt").write_text("cat\ndog\n")
    data = mx.sym.Convolution(mx.sym.var("data"), kernel=(16, 16), stride=(16, 16), num_filter=3, name="conv")
    net = mx.sym.Pooling(mx.sym.relu(data), global_pool=True, pool_type="max")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=2, name="fc"), name="softmax")
    shapes = {"conv_weight": (3, 3, 16, 16), "conv_bias": (3,), "fc_weight": (2, 3), "fc_bias": (2,)}
    params = {name: mx.nd.ones(shape) for name, shape in shapes.items()}
    mx.model.save_checkpoint("resnet-50", 0, net, params, {})
    train_digits()
    for name in ("train", "val"):
        write_records(name)
    return tmp_path


def train_digits() -> None:
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), name="softmax")
    batches = mx.io.NDArrayIter(np.ones((8, 3), "float32"), np.zeros(8), batch_size=2)
    mx.mod.Module(net).fit(batches, num_epoch=2, checkpoint="runs/digits", profile="trace.json")


def write_records(name: str) -> None:
    writer = mx.recordio.MXIndexedRecordIO(f"{name}.idx", f"{name}.rec", "w")
    for i in range(2):
        header = mx.recordio.IRHeader(0, float(i), i, 0)
        writer.write_idx(
            i, mx.recordio.pack_img(header, np.full((230, 230, 3), 9 * i, np.uint8), img_fmt=".png")
        )
    writer.close()


def start(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rebind", *arguments],
        cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


@pytest.mark.parametrize("command", sorted({*COMMANDS} - SLOW))
def test_the_example_runs(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if command == "doctor":  # what is wrong with this machine is not the matter
        monkeypatch.setattr("rebind.doctor.findings", list)
    if command == "import":
        symbol, params, _ = mx.model.load_checkpoint("resnet-50", 0)
        mx.onnx.export_model(symbol, params, [(1, 3, 224, 224)], onnx_file_path="resnet.onnx")
        for path in folder.glob("resnet-50*"):
            path.unlink()
    for arguments in example(command, capsys):
        assert rebind_command.main(arguments) == 0


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(SLOW))
def test_the_example_of_a_program_runs(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in example(command, capsys):
        done = start(arguments, folder)
        assert done.returncode == 0, done.stderr
        if command != "train":
            workers, line = (1, "1 64") if command == "run" else (4, "4 1")
            assert [each.endswith(line) for each in done.stdout.splitlines()] == [True] * workers


def test_the_page_names_each_command() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = [*re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE)]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == {*COMMANDS}
    listed = re.findall(r"`(\w+)`", " ".join(rows))
    assert all(listed.count(name) == 2 for name in COMMANDS)  # what it does, and its exit codes


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("check train.py", 0),
        ("check wrong.py", 1),
        ("check nothing.py", 2),
        ("summary resnet-50", 0),
        ("summary nothing", 1),
        ("summary", 2),
        ("export resnet-50 --shape data:0,3,224,224 --to safetensors", 0),
        ("export nothing", 1),
        ("export resnet-50 --to nothing", 2),
        ("import synset.txt", 1),
        ("import", 2),
        ("predict resnet-50 nothing.npz", 1),
        ("predict resnet-50", 2),
        ("plot nothing", 1),
        ("plot", 2),
        ("im2rec nothing pictures", 1),
        ("im2rec", 2),
        ("train --model nothing --data train.rec", 1),
        ("train --model lenet --data nothing.rec", 2),
    ],
)
def test_exit_codes(arguments: str, code: int, folder: Path) -> None:
    Path("wrong.py").write_text("import mxnet as mx\nmx.nd.ons(3)\n")
    try:
        found = rebind_command.main(shlex.split(arguments))
    except SystemExit as ended:  # mistakes in the command line end the process
        found = ended.code
    assert found == code


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["rebind", "ex"], ["export"]),
        (["rebind", "export", "--to", "o"], ["onnx", "openvino"]),
        (["rebind", "doctor", "--li"], ["--list"]),
        (["rebind", ""], sorted(COMMANDS)),
    ],
)
def test_bash_completes(words: list[str], completed: list[str], tmp_path: Path) -> None:
    """What docs/command.md says for ~/.bashrc, in a real bash."""
    (line,) = re.findall(r"^eval .*bash_source.*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    command = tmp_path / "rebind"
    command.write_text(f"#!{sys.executable}\nimport sys, rebind_command\nsys.exit(rebind_command.main())\n")
    command.chmod(0o755)
    given = " ".join(map(shlex.quote, words))
    asked = f"COMP_WORDS=({given}); COMP_CWORD={len(words) - 1}; _rebind_completion rebind"
    script = f"{line}; {asked}; echo ${{COMPREPLY[@]}}"
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert sorted(done.stdout.split()) == completed


@pytest.mark.parametrize(
    "words",
    [
        "rebind summary net",
        "rebind export net --check pic",
        "rebind predict net pic",
        "rebind plot n --out p",
    ],
)
def test_names_of_files_are_completed(
    words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {
        "_REBIND_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        rebind_command.main([])
    assert capsys.readouterr().out == f"file,{words.split()[-1]}\n"
