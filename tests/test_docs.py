"""The pages whose code is to run, each in a process of its own: they register operators, passes and storage types."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize(
    "page",
    [
        *("how_it_works", "extending", "models", "sparse", "tensorboard"),
        *(
            pytest.param(page, marks=pytest.mark.slow)
            for page in ("leaving", "onnx", "profiling", "quantization")
        ),
    ],
)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path) -> None:
    options = ["-o", "ELLIPSIS", "-o", "NORMALIZE_WHITESPACE", "-o", "FAIL_FAST"]
    done = subprocess.run(
        [sys.executable, "-m", "doctest", *options, str(DOCS / f"{page}.md")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "REBIND_PROGRESS": "off"},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_program_of_the_readme_prints_what_it_says(tmp_path: Path) -> None:
    page = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```.*?```\n(\[\[.*?)```", page, re.DOTALL)
    assert found is not None
    done = subprocess.run(
        [sys.executable, "-c", found[1]],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "REBIND_PROGRESS": "off", "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed, promised = (re.findall(r"[\d.]+", text) for text in (done.stdout, found[2]))
    # Its points are random; that the centre is inside and a corner outside is not.
    assert [float(p) for p in printed] == pytest.approx([float(p) for p in promised], abs=0.15)


PAGES = sorted(
    [
        *DOCS.parent.glob("*.md"),
        *DOCS.glob("*.md"),
        *DOCS.glob("differences/*.md"),
        DOCS.parent / "tests" / "parity" / "README.md",
    ]
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_tables_of_a_page_render(page: Path) -> None:
    """A blank line cuts a table in two, and a row with a cell too many loses it."""
    lines = page.read_text(encoding="utf-8").splitlines()
    columns = 0
    for token in MarkdownIt("commonmark").enable("table").parse("\n".join(lines)):
        if token.type == "inline" and token.map is not None:
            text = [line for line in lines[slice(*token.map)] if line.lstrip().startswith("|")]
            assert not text or columns, f"{page.name}:{token.map[0] + 1}: these rows belong to no table"
        elif token.type == "table_open":
            columns = 1
        elif token.type == "table_close":
            columns = 0
        elif token.type == "tr_open" and token.map is not None:
            row = lines[token.map[0]]
            cells = len(re.split(r"(?<!\\)\|", row.strip().strip("|")))
            columns = cells if columns <= 1 else columns
            assert cells == columns, f"{page.name}:{token.map[0] + 1}: {cells} cells in a table of {columns}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sessions_of_a_page_are_between_fences(page: Path) -> None:
    """Doctest runs those that are not, too, but Markdown shows them as quotations."""
    lines = page.read_text(encoding="utf-8").splitlines()
    for token in MarkdownIt("commonmark").enable("table").parse("\n".join(lines)):
        if token.type == "blockquote_open" and token.map is not None:
            line = token.map[0]
            assert not lines[line].startswith(">>>"), f"{page.name}:{line + 1}: ```python is missing above"
