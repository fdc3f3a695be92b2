"""The tutorials do what they show: their code runs block after block, and prints what is shown below it.

A block of Python with ``>>>`` is a session, whose names the next one has. One that begins with ``# name.py`` is a
file; a ``diff`` changes it, and where it is shown again, it is shown as it is then. One of ``console`` holds commands
and what they print. ``...`` is any text.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from tests.docs import test_links
from tests.test_docs import test_the_tables_of_a_page_render as check_tables
from tools.notebooks import read_notebook, run_cells

import rebind_command

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
PAGES = sorted(TUTORIALS.glob("*.md"))
#: The optional packages of a page.
NEEDS = {"data_to_report": ("matplotlib",), "leaving": ("onnx", "onnxruntime", "safetensors")}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(autouse=True)
def _quiet_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in an empty folder, without bars."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("REBIND_PROGRESS", "off")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.mark.parametrize(
    "page",
    # One that starts a job takes seconds.
    [pytest.param(page, marks=[pytest.mark.slow] * (page.stem == "several_processes")) for page in PAGES],
    ids=lambda page: page.stem,
)
def test_a_tutorial_does_what_it_shows(page: Path) -> None:
    for package in NEEDS.get(page.stem, ()):
        pytest.importorskip(package)
    names: dict[str, Any] = {}
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        assert token.map or token.type != "fence"
        where = f"{page.name}:{token.map[0] + 1}" if token.map else page.name
        if token.type == "fence" and token.info == "console":
            _run_commands(token.content, where)
        elif token.type == "fence" and ">>> " in token.content:
            _run_session(token.content, names, where)
        elif token.type == "fence" and (file := re.match(r"# (\w+\.py)\n", token.content)):
            assert not Path(file[1]).exists() or Path(file[1]).read_text(encoding="utf-8") == token.content, (
                where
            )
            Path(file[1]).write_text(token.content, encoding="utf-8")
        elif token.type == "fence" and token.info == "diff":
            _change_file(token.content, where)


def _change_file(diff: str, where: str) -> None:
    first, *changes = diff.splitlines(keepends=True)
    file = Path(first.removeprefix("--- ").strip())
    text = file.read_text(encoding="utf-8")
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert (old[0], new[0]) == ("-", "+") and text.count(old[1:]) == 1, f"{where}: {old}"
        text = text.replace(old[1:], new[1:])
    file.write_text(text, encoding="utf-8")


def _run_session(session: str, names: dict[str, Any], where: str) -> None:
    test = doctest.DocTestParser().get_doctest(session, names, where, None, None)
    report = io.StringIO()
    doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=report.write, clear_globs=False)
    names.update(test.globs)
    assert not report.getvalue(), report.getvalue()


def _run_commands(session: str, where: str) -> None:
    for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        got = _run(shlex.split(command))
        assert doctest.OutputChecker().check_output(expected, got, FLAGS), (
            f"{where}: {command}\nshown:\n{expected}\ngot:\n{got}"
        )


def _run(command: list[str]) -> str:
    """Return what a command prints; what needs no process of its own runs in this one, which has imported all."""
    if command[0] == "cat":
        return Path(command[1]).read_text(encoding="utf-8")
    if command[0] == "rebind" and command[1] in ("run", "launch"):
        done = subprocess.run(
            [sys.executable, "-m", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # As in an activated environment: a job's `python` is this one.
            env={
                **os.environ,
                "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            },
            check=False,
        )
        return done.stdout
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        if command[0] == "rebind":
            rebind_command.main(command[1:])
        else:
            assert command[0] == "python"
            runpy.run_path(command[1], run_name="__main__")
    return printed.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_links_and_tables_of_a_tutorial_are_whole(page: Path) -> None:
    test_links.test_links_of_a_page(page)
    check_tables(page)
    assert page.read_text(encoding="utf-8").splitlines()[2].startswith("For "), "for whom the page is"


def test_the_notebook_shows_what_its_cells_give() -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    for cell, outputs in run_cells(read_notebook(TUTORIALS / "first_hour.ipynb")):
        source = "".join(cell["source"])
        assert len(outputs) == len(cell["outputs"]), source
        for output, recorded in zip(outputs, cell["outputs"], strict=True):
            assert output.get("data", {}).keys() == recorded.get("data", {}).keys(), source
            # Other builds of PyTorch round otherwise.
            numbers = re.compile(r"\d+\.\d+")
            got, shown = _text(output), _text(recorded)
            assert numbers.sub("#", got) == numbers.sub("#", shown), source
            assert [float(n) for n in numbers.findall(got)] == pytest.approx(
                [float(n) for n in numbers.findall(shown)], abs=0.03
            ), source


def test_the_links_of_the_notebook_lead_to_pages() -> None:
    text = json.dumps(read_notebook(TUTORIALS / "first_hour.ipynb"))
    for target in re.findall(r"\]\(([\w./]+)\)", text):
        assert (TUTORIALS / target).exists(), target


def test_the_pictures_of_the_notebook_have_words() -> None:
    for cell in read_notebook(TUTORIALS / "first_hour.ipynb")["cells"]:
        for output in cell.get("outputs", ()):
            assert "image/png" not in output.get("data", {}) or len(cell["metadata"]["alt"]) > 20


def _text(output: dict[str, Any]) -> str:
    return "".join(output["data"]["text/plain"] if "data" in output else output["text"])
