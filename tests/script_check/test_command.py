"""`rebind check`: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rebind_command

STOPS = "import mxnet as mx\nmx.nd.ons(3)\n"
DIFFERS = "import mxnet as mx\nmx.random.seed(3)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "stops.py").write_text(STOPS)
    (tmp_path / "sub" / "differs.py").write_text(DIFFERS)
    (tmp_path / "notes.txt").write_text("mx.nd.ons")
    (tmp_path / ".hidden" / "stops.py").write_text(STOPS)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["stops.py"], 1),
        (["sub"], 0),
        (["sub", "--strict"], 1),
        (["."], 1),
        (["stops.py", "--json"], 1),
    ],
)
def test_exit_codes(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int
) -> None:
    assert rebind_command.main(["check", *arguments]) == code
    assert capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["nothing.py"]])
def test_mistakes_in_the_command_line(folder: Path, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        rebind_command.main(["check", *arguments])
    assert ended.value.code == 2


def test_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rebind_command.main(["check", "."])
    assert capsys.readouterr().out.splitlines() == [
        "stops.py:2: error: mxnet.nd has no 'ons', neither here nor in MXNet 1.9.1; did you mean 'ones' "
        "or 'cos' or 'moments'? [mistake]",
        "sub/differs.py:2: note: random.seed: random numbers come from PyTorch's generators: the same in each run, but "
        "not MXNet's [value]",
        "2 files: 1 error, 1 note",
    ]


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rebind_command.main(["check", "sub", "--json"])
    (found,) = json.loads(capsys.readouterr().out)
    assert found["file"].endswith("differs.py")
    assert (found["line"], found["kind"], found["stops"]) == (2, "value", False)


def test_programs_are_not_run(folder: Path) -> None:
    (folder / "writes.py").write_text("open('written', 'w').close()\nimport nothing_that_exists\n")
    assert rebind_command.main(["check", "writes.py"]) == 0
    assert not (folder / "written").exists()


@pytest.mark.parametrize("content", [b"x = '\xff'\n", b"# coding: nothing\n", b"x = \x00\n"])
def test_files_that_are_no_text(folder: Path, capsys: pytest.CaptureFixture[str], content: bytes) -> None:
    (folder / "broken.py").write_bytes(content)
    assert rebind_command.main(["check", "broken.py"]) == 1
    assert "[syntax]" in capsys.readouterr().out
