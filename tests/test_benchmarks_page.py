"""The page of the benchmark's figures: it is what the committed samples say, and names what rebind loses."""

import json
from pathlib import Path

import pytest
from benchmarks.calls_table import CALLS_MARK, calls_section
from benchmarks.gpu_table import GPU_MARK, gpu_section
from benchmarks.int8_table import INT8_MARK, int8_section
from benchmarks.kinds_table import KINDS_MARK, kinds_section
from benchmarks.page import (
    BEGIN,
    BUSY_MARK,
    END,
    PAGE,
    RESULTS,
    Row,
    busy_section,
    read,
    section,
    with_section,
)


def row(name: str, **milliseconds: float) -> Row:
    engines = {
        engine.replace("_", "-"): [value, value * 1.1, value] for engine, value in milliseconds.items()
    }
    return Row(name, name, engines, dict.fromkeys(engines, 2**20))


def test_the_page_is_made_of_the_samples() -> None:
    page = PAGE.read_text()
    assert with_section(page, section(*read(sorted(RESULTS.glob("*.json"))))) == page
    assert with_section(page, busy_section(*read(sorted(RESULTS.glob("busy/*.json")))), BUSY_MARK) == page
    assert with_section(page, int8_section(sorted(RESULTS.glob("int8/*.json"))), INT8_MARK) == page
    assert with_section(page, gpu_section(sorted(RESULTS.glob("gpu/*.json"))), GPU_MARK) == page
    assert with_section(page, calls_section(sorted(RESULTS.glob("calls/*.json"))), CALLS_MARK) == page
    assert with_section(page, kinds_section(sorted(RESULTS.glob("kinds/*.json"))), KINDS_MARK) == page


def test_what_other_work_costs_is_said_for_each_load_and_engine() -> None:
    quiet = row("mlp", rebind=2.0, torch=2.0)
    busy = Row("mlp", "", quiet.samples, {}, {"loops:2": {"rebind": [3.0, 9.0, 4.0], "torch": [20.0] * 3}})
    text = busy_section([busy], ["here"])
    assert "| times its quiet time, and ms | rebind | PyTorch eager |" in text
    assert "| mlp, loops:2 | 2.0 (4.00) | 10.0 (20.0) |" in text
    assert "Measured: here" in text


def test_calls_beyond_the_limit_are_named(tmp_path: Path) -> None:
    machine = {"processor": "p", "cores": 2, "python": "3", "load_average": [0.5]}
    rows = {
        name: {"family": "python", "small": {"rebind": [ours] * 3, "torch": [1.0] * 3}}
        for name, ours in {"x + y": 3.0, "x[:] = y": 6.5, "x.copy()": 4.0}.items()
    }
    content = {"started": "2026-01-01T", "torch": "2", "machine": machine, "threads": 1, "rows": rows}
    (file := tmp_path / "calls.json").write_text(json.dumps(content))
    text = calls_section([file])
    assert "| `x + y` | 1.0 | 3.0 | 2.0 |" in text
    assert "Of 3 calls 2 take at most 3 µs more than PyTorch's own; the median is 3.0." in text
    assert "The others, µs: `x[:] = y` 5.5." in text


@pytest.mark.parametrize(
    ("engine", "milliseconds", "expected"),
    [
        ("rebind", {"rebind": 2.0, "torch": 4.0, "mxnet": 8.0}, (0.5, "torch")),
        ("rebind", {"rebind": 2.0, "torch": 4.0, "mxnet": 1.0}, (2.0, "mxnet")),
        ("rebind", {"rebind": 2.0, "torch": 4.0, "jax": 1.0}, (0.5, "torch")),  # nobody waits for a compiler
        ("rebind-inductor", {"rebind_inductor": 2.0, "torch": 4.0, "jax": 1.0}, (2.0, "jax")),
        ("rebind-inductor", {"rebind": 2.0, "torch": 4.0}, None),
        ("rebind", {"rebind": 2.0}, None),
    ],
)
def test_the_best_peer(
    engine: str, milliseconds: dict[str, float], expected: tuple[float, str] | None
) -> None:
    found = row("mlp", **milliseconds).ratio(engine)
    assert found == (expected and (pytest.approx(expected[0]), expected[1]))


def test_what_is_lost_is_said() -> None:
    text = section([row("won", rebind=1.0, torch=2.0), row("lost", rebind=3.0, torch=2.0)], ["here"])
    assert "on 1 of 2 rows; behind on lost (1.50 of the time of PyTorch eager)." in text
    assert "| won | **1.00** | 2.00 |" in text
    assert "Measured: here" in text


def test_several_files(tmp_path: Path) -> None:
    """The last file's row counts."""
    content = (
        '{{"started": "2026-01-0{day}T", "machine": {{"processor": "p", "cores": 2, "load_average": null}},'
    )
    content += (
        '"versions": {{"torch": {{"torch": "{day}"}}}}, "effort": {{"rounds": 1}}, "rows": [{{"name": "mlp",'
    )
    content += '"title": "", "engines": {{"torch": {{"samples_ms": [{day}], "steps_peak_bytes": 1}}}}}}]}}'
    files = [tmp_path / f"{day}.json" for day in (1, 2)]
    for day, file in enumerate(files, start=1):
        file.write_text(content.format(day=day))
    [found], said = read(files)
    assert found.median("torch") == 2
    assert said[1] == "mlp: 2026-01-02, p, 2 cores; torch 2; 1 rounds."


@pytest.mark.parametrize("page", ["nothing", BEGIN, END])
def test_a_page_without_marks_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="must have the lines"):
        with_section(page, "")


def test_a_limit_is_no_peer_and_what_is_left_to_it_is_said() -> None:
    found = row("infer", rebind=3.0, rebind_inductor=2.5, openvino=2.0, convolutions=1.0)
    assert found.ratio("rebind-inductor") == (1.25, "openvino")
    text = section([found], ["here"])
    assert "- infer, times its convolutions alone: rebind 3.00, rebind, inductor 2.50, OpenVINO 2.00." in text
    assert "**1.00**" not in text


def test_plain_is_shown_beside_plain_and_tuned_beside_tuned() -> None:
    rows = [
        Row("mlp", "", row("mlp", rebind=ours, torch=2.0).samples, {}, setting=setting)
        for setting, ours in {"plain": 3.0, "tuned": 1.0}.items()
    ]
    plain, tuned = section(rows, ["here"]).split("**Tuned**")
    assert "**Plain**" in plain
    assert "behind on mlp (1.50 of the time of PyTorch eager)." in plain
    assert "at least as fast as the best of them on 1 of 1 rows." in tuned
