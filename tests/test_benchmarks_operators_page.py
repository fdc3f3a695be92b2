"""The page's table of operators: it is what the committed samples say, and gives a reason for each slow call."""

from pathlib import Path

import pytest
from benchmarks.operator_reasons import NAMED, REASONS
from benchmarks.operator_samples import samples
from benchmarks.operators_mxnet import Timed, as_text
from benchmarks.operators_page import MARK, RESULTS, read, section
from benchmarks.page import PAGE, with_section

ABOUT = {
    "started": "2026-01-02T03:04:05+00:00",
    "machine": {"processor": "p", "cores": 2, "load_average": [0.5, 0, 0]},
    "threads": 1,
    "clock": "processor",
}


def text(tmp_path: Path, *files: list[Timed]) -> str:
    """Return the section made of some files."""
    paths = [tmp_path / f"{number}.json" for number in range(len(files))]
    for path, timed in zip(paths, files, strict=True):
        path.write_text(as_text(ABOUT, timed))
    return section(*read(paths))


def test_the_page_is_made_of_the_samples() -> None:
    page = PAGE.read_text()
    files = sorted(RESULTS.glob("*.json"))
    assert files
    assert with_section(page, section(*read(files)), MARK) == page


def test_a_slow_call_has_its_reason(tmp_path: Path) -> None:
    made = text(tmp_path, [Timed("large", "LRN-2-", "forward", [4.0, 3.0], [2.5, 1.5])])
    assert f"| `LRN-2` | 3 | 2 | 2.00 | {REASONS['LRN']} |" in made
    assert "| large | 1 | 1 | 2.00 | 0 | 0 | 1 | 0 |" in made
    assert (
        "1 calls (large): 2026-01-02, p, 2 cores, load 0.5 at the start; 1 thread, by the time of the processor"
        in made
    )


def test_a_slow_call_without_a_reason_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"relu-2-: a call that takes 3\.00 times .* must have a reason"):
        text(tmp_path, [Timed("large", "relu-2-", "forward", [3.0], [1.0])])


def test_small_calls_are_summed_up(tmp_path: Path) -> None:
    calls = [Timed("small", f"relu-{size}-", "backward", [size], [1.0]) for size in (1.0, 2.0, 4.0)]
    assert "(the worst of an operator's calls): `relu` 4.0." in text(tmp_path, calls)


def test_the_last_file_counts(tmp_path: Path) -> None:
    calls = [[Timed("large", "pick-2-", "forward", [value], [2.0])] for value in (9.0, 1.0)]
    assert "| `pick-2` | 1 | 2 | 0.50 |" in text(tmp_path, *calls)


def test_reasons_are_of_operators_that_are_slow() -> None:
    calls, _ = read(sorted(RESULTS.glob("*.json")))
    slow = {call.operator for call in calls if call.size == "large" and call.worst > 1.5}
    assert set(REASONS) == slow


def test_shown_operators_are_timed() -> None:
    assert set(NAMED) <= {sample.name for sample in samples("large")}
