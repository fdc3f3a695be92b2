"""The examples with a picture: their results, their pictures, and the page that shows them."""

from __future__ import annotations

import ast
import re
import runpy
import sys
from pathlib import Path

import pytest

import rebind as mx

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "examples.md"
IMAGE_BYTES = 30_000  # at most, of a picture

#: What a script prints in its last line, and the bounds of the figure in it.
RESULTS = {
    "autoencoder": (
        r"Mean squared error of digits held out: linear 0\.033\d, network ([\d.]+)",
        0.015,
        0.025,
    ),
    "custom_softmax": (r"Held-out accuracy: ([\d.]+)", 0.95, 1),
    "feedforward": (r"Held-out accuracy: ([\d.]+) \(\d+ of 360 digits\)", 0.95, 1),
    "fine_tuning": (r"Held-out accuracy after fine-tuning: ([\d.]+)", 0.85, 1),
    "gan": (r"Kinds of digits among 64 drawn ones: (\d+)", 7, 10),
    "model_parallel": (r"Ratings held out: root of the mean squared error ([\d.]+)", 0.3, 0.4),
    "multi_task": (r"Held-out accuracy: digit 0\.\d+, turn ([\d.]+)", 0.85, 1),
    "python_loss": (r"Held-out accuracy: ([\d.]+) \(\d+ of 360 digits\)", 0.94, 1),
    "reinforcement": (r"Steps with the pole up: \d+ at first, (\d+) at last", 150, 200),
    "sequential": (r"Held-out accuracy from 2 features: ([\d.]+)", 0.9, 1),
    "ssd": (r"Found: (\d+) of 175 shapes, and \d+ that are not there", 150, 175),
    "style_transfer": (r"Losses: content [\d.]+ to [\d.]+, style 0\.00\d+ to ([\d.]+), .*", 0.0001, 0.0006),
}

#: Those that train for more than two seconds.
SLOW = {"autoencoder", "gan", "reinforcement", "ssd"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in RESULTS]
)
def test_a_script_prints_its_result_and_draws(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    picture = tmp_path / "picture.png"
    # In this process, since the imports of another one take longer than most scripts.
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--picture", str(picture)])
    monkeypatch.setattr(mx, "tune", lambda: None)  # it sets up the whole process
    monkeypatch.chdir(tmp_path)
    with mx.name.NameManager(), pytest.raises(SystemExit) as end:
        runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
    assert end.value.code == 0
    pattern, low, high = RESULTS[name]
    printed = capsys.readouterr().out
    figure = re.fullmatch(pattern, printed.strip().splitlines()[-1])
    assert figure is not None, printed
    assert low <= float(figure[1]) <= high
    assert [path.name for path in tmp_path.iterdir()] == [picture.name]
    assert 2_000 < picture.stat().st_size <= IMAGE_BYTES


SECTIONS = re.findall(
    r"\]\(\.\./examples/([\w/]+)\.py\)[^|\[]*(?:\[[^|\[]*)?!\[([^\]]+)\]\(([^)]+)\)",
    PAGE.read_text(encoding="utf-8"),
)


def test_the_page_shows_fifteen_scripts_and_more_and_names_all() -> None:
    assert len(SECTIONS) >= 15
    assert set(RESULTS) <= {script for script, _, _ in SECTIONS}
    named = set(re.findall(r"\]\(\.\./examples/([\w/]+)\.py\)", PAGE.read_text(encoding="utf-8")))
    folder = ROOT / "examples"
    assert named == {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.py")}


@pytest.mark.parametrize(("script", "text", "image"), SECTIONS, ids=[script for script, _, _ in SECTIONS])
def test_a_picture_is_small_and_has_a_text(script: str, text: str, image: str) -> None:
    assert (PAGE.parent / image).stat().st_size <= IMAGE_BYTES
    assert len(text.split()) >= 6
    lines = (ROOT / "examples" / f"{script}.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.py")), ids=lambda path: path.stem)
def test_the_first_line_says_what_one_learns(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring is not None
    first = docstring.splitlines()[0]
    assert first.startswith("How to ") and first.endswith(".")
