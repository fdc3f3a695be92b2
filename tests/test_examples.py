"""The examples run as a stranger would run them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DIGITS = Path(__file__).parents[1] / "examples" / "digits.py"

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")


def run_digits(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    # One thread: other tests run at the same time, and networks this small do not gain from more.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "REBIND_PROGRESS": "auto"}
    command = [sys.executable, str(DIGITS), *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("digits")
    return folder / "run", run_digits("--out", folder / "run", cwd=folder)


def test_digits_reaches_its_goal(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    _, done = demo
    assert done.returncode == 0, done.stderr
    accuracy = re.search(r"Held-out accuracy: (0\.\d{4}|1\.0000) \((\d+) of 360 digits\)", done.stdout)
    assert accuracy is not None, done.stdout
    assert float(accuracy[1]) >= 0.98
    assert int(accuracy[2]) == round(float(accuracy[1]) * 360)


def test_digits_logs_and_draws_no_bar_into_a_pipe(
    demo: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    _, done = demo
    assert re.search(
        r"Epoch\[9\] Batch \[20-40\]\tSpeed: .* samples/sec\taccuracy=.*\tcross-entropy=", done.stderr
    )
    last = re.search(r"Epoch\[9\] Validation-accuracy=(\d\.\d{4})", done.stderr)
    assert last is not None and f"Held-out accuracy: {last[1]}" in done.stdout
    assert "━" not in done.stderr + done.stdout and "\x1b" not in done.stderr + done.stdout


def test_digits_writes_its_files(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, _ = demo
    names = {path.name for path in folder.iterdir()}
    checkpoints = {f"digits-{epoch:04d}.params" for epoch in range(1, 11)}
    wanted = {"digits-symbol.json", "digits-history.json", "training.png", "network.svg"}
    assert names == checkpoints | wanted
    assert (folder / "training.png").read_bytes().startswith(b"\x89PNG")
    assert "Convolution" in (folder / "network.svg").read_text(encoding="utf-8")
    history = json.loads((folder / "digits-history.json").read_text())
    assert {part: sorted(curves) for part, curves in history.items()} == {
        "train": ["accuracy", "cross-entropy"],
        "validation": ["accuracy", "cross-entropy"],
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--evaluate", "--out", "nothing"), "digits.py: .*digits-symbol.json"),
        (("--out", __file__), "digits.py: .*exists"),
    ],
)
def test_digits_says_what_is_wrong(arguments: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    done = run_digits(*arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert re.search(sentence, done.stderr)
    assert "Traceback" not in done.stderr
