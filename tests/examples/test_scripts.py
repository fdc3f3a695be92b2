"""The examples run as a stranger would run them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DIGITS = Path(__file__).parents[2] / "examples" / "digits.py"

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")


def run_digits(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    # One thread: other tests run at the same time, and networks this small do not gain from more.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "REBIND_PROGRESS": "auto"}
    command = [sys.executable, str(DIGITS), *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)


def without_figures(line: str) -> str:
    """Return a line of the demo's output without its folder, measured figures and runs of blanks."""
    return " ".join(re.sub(r"\S*/(?=\w+[.-])|\d+\.\d{2,}|\d+ (?=of)", "", line).split())


def test_digits(tmp_path: Path) -> None:
    # One test, since tests of a file may run in several processes, and the demo should run once.
    folder = tmp_path / "run"
    done = run_digits("--out", folder, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    accuracy = re.search(r"Held-out accuracy: (\d\.\d{4}) \((\d+) of 360 digits\)", done.stdout)
    assert accuracy is not None, done.stdout
    assert float(accuracy[1]) >= 0.98
    assert int(accuracy[2]) == round(float(accuracy[1]) * 360)

    speed = r"Epoch\[9\] Batch \[20-40\]\tSpeed: .* samples/sec\taccuracy=.*\tcross-entropy="
    assert re.search(speed, done.stderr)
    last = re.search(r"Epoch\[9\] Validation-accuracy=(\d\.\d+)", done.stderr)
    assert last is not None
    assert f"{float(last[1]):.4f}" == accuracy[1]  # the second process sees what the first one learned
    assert not set("━\x1b") & set(done.stderr + done.stdout)  # no bar outside of a terminal

    # README.md shows what it prints: the same lines, whatever the figures of this machine are.
    page = (DIGITS.parents[1] / "README.md").read_text(encoding="utf-8")
    shown = page[page.index("Epoch[0] Batch [0-20]") :].split("```")[0]
    lines = {without_figures(line) for line in (done.stderr + done.stdout).splitlines()}
    assert [
        line for line in shown.splitlines() if line[:1] != " " and without_figures(line) not in lines
    ] == []

    checkpoints = {f"digits-{epoch:04d}.params" for epoch in range(1, 11)}
    others = {"digits-symbol.json", "digits-history.json", "training.png", "network.svg"}
    assert {path.name for path in folder.iterdir()} == checkpoints | others
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


@pytest.mark.parametrize(
    ("example", "line", "least"),
    [
        ("augmented.py", r"Held-out accuracy: 0\.\d+ \((\d+) of 359 digits\)", 345),
        ("records.py", r"Held-out accuracy: 0\.\d+ \((\d+) of 360 digits\)", 335),
        ("detector.py", r"Found: (\d+) of 60 digits", 54),
    ],
)
def test_pictures(example: str, line: str, least: int, tmp_path: Path) -> None:
    pytest.importorskip("cv2")
    command = [sys.executable, str(DIGITS.with_name(example))]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = re.fullmatch(line, done.stdout.strip().splitlines()[-1])
    assert found is not None, done.stdout
    assert int(found[1]) >= least
    assert not list(tmp_path.iterdir())


def test_mixed_precision(tmp_path: Path) -> None:
    command = [sys.executable, str(DIGITS.with_name("mixed_precision.py")), "--epochs", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    header, *lines = (line.split() for line in done.stdout.splitlines())
    assert header == ["network", "learned", "used", "training", "a", "batch", "accuracy"]
    accuracies = {tuple(line[:3]): float(line[-1]) for line in lines}
    ways = [("float32", "float32"), ("float32", "bfloat16"), ("bfloat16", "bfloat16")]
    assert list(accuracies) == [(network, *way) for network in ("LeNet", "ResNet") for way in ways]
    assert min(accuracies.values()) >= 0.93
    for network in ("LeNet", "ResNet"):
        learned, converted = (accuracies[network, "float32", used] for used in ("float32", "bfloat16"))
        assert abs(learned - converted) <= 0.01


@pytest.mark.parametrize(
    ("example", "line", "low", "high"),
    [
        ("linear_classification.py", r"Texts held out: ([\d.]+)% are right", 92, 98),
        ("factorization_machine.py", r"Pairs held out: ([\d.]+)% are right", 92, 100),
        ("matrix_factorization.py", r"Ratings held out: root of the mean squared error ([\d.]+)", 0.1, 0.15),
        ("wide_deep.py", r"People held out: ([\d.]+)% are right", 95, 100),
        ("sampled_softmax.py", r"Words held out: perplexity ([\d.]+)", 150, 185),
    ],
)
def test_sparse(example: str, line: str, low: float, high: float, tmp_path: Path) -> None:
    # No operator of them falls back to dense, and nothing warns.
    command = [sys.executable, "-W", "error", str(DIGITS.parent / "sparse" / example)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "REBIND_PROGRESS": "off"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "no kernel" not in done.stderr
    figure = re.fullmatch(line, done.stdout.strip())
    assert figure is not None, done.stdout
    assert low <= float(figure[1]) <= high
    assert not list(tmp_path.iterdir())
