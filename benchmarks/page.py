"""The command `python -m benchmarks.page`: tables and data files of what was measured, from files of samples.

`benchmarks/results` has the files that `--json` writes: those of `python -m benchmarks` itself, and in folders those of
its other commands. Where several have a row, the last one's counts. Tables stand in docs/performance.md,
docs/faster.md and docs/scaling.md between marks; the long ones are data files (CSV) beside the samples, with a summary
on the page.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from .calls_table import calls_data, calls_summary
from .distributed_table import distributed_section
from .gpu_table import gpu_section
from .int8_table import int8_section
from .kinds_table import kinds_data, kinds_summary
from .operators_table import operators_data, operators_summary
from .scaling_table import scaling_section
from .sparse_table import sparse_section
from .steps_table import busy_section, draw, of_first_setting, read, steps_data, steps_section

__all__ = ["PAGES", "PICTURE", "RESULTS", "as_csv", "data_files", "main", "with_section", "with_sections"]

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PICTURE = ROOT / "docs" / "images" / "performance.svg"

#: For each page the text of each of its sections, made of the files in a folder of `RESULTS`.
PAGES = {
    ROOT / "docs" / "performance.md": {
        "steps": ("", steps_section),
        "networks of many kinds": ("kinds", kinds_summary),
        "operators": ("operators", operators_summary),
        "imperative calls": ("calls", calls_summary),
        "sparse arrays": ("sparse", sparse_section),
    },
    ROOT / "docs" / "faster.md": {
        "beside other work": ("busy", busy_section),
        "int8": ("int8", int8_section),
        "on a GPU": ("gpu", gpu_section),
    },
    ROOT / "docs" / "scaling.md": {
        "over processes": ("distributed", distributed_section),
        "many workers": ("scaling", scaling_section),
    },
}
#: The data files, by name: what makes their rows, titles first.
_DATA = {
    "steps.csv": steps_data,
    "kinds/kinds.csv": kinds_data,
    "operators/operators.csv": operators_data,
    "calls/calls.csv": calls_data,
}
_END = "<!-- end -->"


def with_section(page: str, name: str, text: str) -> str:
    """Return the page with another text between the mark of a section and the end."""
    mark = f"<!-- made by python -m benchmarks.page: {name} -->"
    before, begin, rest = page.partition(mark)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise ValueError(f"the page must have the lines {mark} and {_END}; one is missing")
    return f"{before}{mark}\n{text}{_END}{after}"


def with_sections(page: Path) -> str:
    """Return the text of a page with all its sections."""
    text = page.read_text(encoding="utf-8")
    for name, (folder, make) in PAGES[page].items():
        text = with_section(text, name, make(_samples(folder)))
    return text


def data_files() -> Iterator[tuple[Path, str]]:
    """Yield each data file with its text."""
    for name, rows in _DATA.items():
        file = RESULTS / name
        yield file, as_csv(rows(sorted(file.parent.glob("*.json"))))


def as_csv(rows: Iterator[Sequence[object]]) -> str:
    """Return rows as the text of a file; None is an empty cell.

    >>> as_csv(iter([("call", "why"), ("pad, twice", None)]))
    'call,why\\n"pad, twice",\\n'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _samples(folder: str) -> list[Path]:
    return sorted((RESULTS / folder).glob("*.json"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__).parse_args(arguments)
    for page in PAGES:
        page.write_text(with_sections(page), encoding="utf-8")
    for file, text in data_files():
        file.write_text(text, encoding="utf-8")
    draw(of_first_setting(read(_samples(""))[0]), PICTURE)
    written = [*PAGES, *(RESULTS / name for name in _DATA), PICTURE]
    print(f"Written: {', '.join(str(file.relative_to(ROOT)) for file in written)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
