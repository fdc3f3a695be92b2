"""The page of the benchmark's figures: it is what the committed samples say, and names what rebind loses."""

import json
from pathlib import Path

import pytest
from benchmarks.calls_table import calls_data, calls_summary
from benchmarks.kinds_table import kinds_data, kinds_summary
from benchmarks.page import PAGES, as_csv, data_files, with_section, with_sections
from benchmarks.steps_table import Row, busy_text, read, steps_data, steps_text

STEPS = "<!-- made by python -m benchmarks.page: steps -->"
END = "<!-- end -->"


def row(name: str, **milliseconds: float) -> Row:
    engines = {
        engine.replace("_", "-"): [value, value * 1.1, value] for engine, value in milliseconds.items()
    }
    return Row(name, name, engines, dict.fromkeys(engines, 2**20))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_made_of_the_samples(page: Path) -> None:
    assert with_sections(page) == page.read_text(encoding="utf-8")


def test_the_data_files_are_made_of_the_samples() -> None:
    files = dict(data_files())
    assert len(files) == 4
    for file, text in files.items():
        assert file.read_text(encoding="utf-8") == text, f"{file}: run python -m benchmarks.page"


def test_what_other_work_costs_is_said_for_each_load_and_engine() -> None:
    quiet = row("mlp", rebind=2.0, torch=2.0)
    busy = Row("mlp", "", quiet.samples, {}, {"loops:2": {"rebind": [3.0, 9.0, 4.0], "torch": [20.0] * 3}})
    text = busy_text([busy], ["here"])
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
    assert "python,x + y,1.00,3.00,2.00\n" in as_csv(calls_data([file]))
    text = calls_summary([file])
    assert "Of 3 calls 2 take at most 3 µs more than PyTorch's own; the median is 3.0." in text
    assert "The most, µs: `x[:] = y` 5.5." in text


def test_networks_are_summed_up_beside_those_in_the_same_process(tmp_path: Path) -> None:
    machine = {"processor": "p", "cores": 2, "load_average": [0.5]}
    kinds = {
        name: {
            "what": "layers",
            "failures": {"training": {}, "inference": {}},
            "training": {"rebind": [ours] * 3, "torch": [2.0] * 3, "mxnet": [1.0] * 3},
            "inference": {},
        }
        for name, ours in {"a": 1.0, "b": 3.0, "c": 2.0}.items()
    }
    about = {"started": "2026-01-01T", "commit": "c0", "machine": machine, "torch": "2", "threads": 1}
    (file := tmp_path / "kinds.json").write_text(json.dumps({**about, "rounds": 3, "kinds": kinds}))
    assert "b,layers,training,3,,2,,,1,3.00,\n" in as_csv(kinds_data([file]))
    text = kinds_summary([file])
    slowest = "b in training 1.50, c in training 1.00, a in training 0.50"
    assert f"channels last | 3 | 0.75 | 1.00 | 1.25 | 2 | {slowest} |" in text
    assert "of MXNet | 3 | 1.50 | 2.00 | 2.50 | 1 |" in text
    assert "rebind at c0" in text


def test_steps_have_a_line_for_each_engine_in_the_data_file(tmp_path: Path) -> None:
    engine = {"samples_ms": [1.0, 2.0, 3.0, 4.0, 5.0], "steps_peak_bytes": 2**21}
    content = {
        "started": "2026-01-01T",
        "machine": {"processor": "p", "cores": 2, "load_average": [0.5]},
        "versions": {},
        "effort": {"rounds": 5},
        "rows": [{"name": "mlp", "title": "MLP", "setting": "plain", "engines": {"torch": engine}}],
    }
    (file := tmp_path / "steps.json").write_text(json.dumps(content))
    about = "2026-01-01, p, 2 cores, load 0.5 at the start"
    assert f'mlp,MLP,plain,torch,2,3,4,1,2,"{about}"\n' in as_csv(steps_data([file]))


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
    text = steps_text([row("won", rebind=1.0, torch=2.0), row("lost", rebind=3.0, torch=2.0)], ["here"])
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


@pytest.mark.parametrize("page", ["nothing", STEPS, END])
def test_a_page_without_marks_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="must have the lines"):
        with_section(page, "steps", "")


def test_a_limit_is_no_peer_and_what_is_left_to_it_is_said() -> None:
    found = row("infer", rebind=3.0, rebind_inductor=2.5, openvino=2.0, convolutions=1.0)
    assert found.ratio("rebind-inductor") == (1.25, "openvino")
    text = steps_text([found], ["here"])
    assert "infer, times its convolutions alone: rebind 3.00, rebind, inductor 2.50, OpenVINO 2.00." in text
    assert "**1.00**" not in text


def test_plain_is_shown_beside_plain_and_tuned_beside_tuned() -> None:
    rows = [
        Row("mlp", "", row("mlp", rebind=ours, torch=2.0).samples, {}, setting=setting)
        for setting, ours in {"plain": 3.0, "tuned": 1.0}.items()
    ]
    plain, tuned = steps_text(rows, ["here"]).split("**Tuned**")
    assert "**Plain**" in plain
    assert "behind on mlp (1.50 of the time of PyTorch eager)." in plain
    assert "at least as fast as the best of them on 1 of 1 rows." in tuned
