"""The command `python -m benchmarks.page`: the table and the picture of docs/performance.md, from files of samples.

`python -m benchmarks --json FILE` writes such a file; `benchmarks/results` has those that the page shows, and its
folders `busy`, `int8`, `kinds`, `calls` and `gpu` those of runs with `--busy`, of `benchmarks.int8`, of
`benchmarks.kinds`, of `benchmarks.operators` and of `benchmarks.gpu`, for tables of their own. Where several have a
row, the last one's counts.
Nothing of what the page says about these rows is written by hand.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .calls_table import CALLS_MARK, calls_section
from .gpu_table import GPU_MARK, gpu_section
from .int8_table import INT8_MARK, int8_section
from .kinds_table import KINDS_MARK, kinds_section
from .peers import PEERS
from .report import digits, text_of_machine, text_of_versions

__all__ = ["BUSY_MARK", "Row", "busy_section", "main", "read", "section", "with_section"]

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "performance.md"
PICTURE = ROOT / "docs" / "images" / "performance.svg"

BEGIN, END = "<!-- made by python -m benchmarks.page: begin -->", "<!-- end -->"
BUSY_MARK = "<!-- made by python -m benchmarks.page: beside other work -->"

_ALL = tuple(
    name for name, peer in PEERS.items() if not (peer.asked_for or peer.is_limit or "rebind" in name)
)
#: What is said above the rows of each setting of a file; older files have none.
_SETTINGS = {
    "plain": "**Plain**: no process has settings of its own.",
    "tuned": "**Tuned**: the processes of all engines have the settings of `rebind.tune()`.",
    "": "When this was measured the import of rebind set what `rebind.tune()` does now; the other engines are plain.",
}
#: The ways to run rebind, and what each is measured against: the peers that need no preparation, or all.
OWN: dict[str, tuple[str, ...]] = {
    "rebind": ("torch", "torch-channels-last", "mxnet"),
    "rebind-inductor": _ALL,
    "rebind-openvino": _ALL,
}


@dataclass(frozen=True)
class Row:
    """One row of a run: milliseconds per step of each engine, a sample for each round; `busy` has those by load.

    `setting` is ``plain`` or ``tuned``.
    """

    name: str
    title: str
    samples: Mapping[str, Sequence[float]]
    peak_bytes: Mapping[str, int]
    busy: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    setting: str = ""

    def median(self, engine: str) -> float:
        """Milliseconds per step."""
        return statistics.median(self.samples[engine])

    def best(self, among: Sequence[str]) -> str | None:
        """Return the fastest of some engines; a limit is none."""
        found = (name for name in among if name in self.samples and not PEERS[name].is_limit)
        return min(found, key=self.median, default=None)

    def ratio(self, engine: str) -> tuple[float, str] | None:
        """Return the time of one way to run rebind over the best peer's, round by round, and which peer that is."""
        peer = self.best(OWN[engine])
        return None if engine not in self.samples or peer is None else (self.over(engine, peer), peer)

    def over(self, engine: str, other: str) -> float:
        """Return the time of one engine over that of another, round by round."""
        pairs = zip(self.samples[engine], self.samples[other], strict=True)
        return statistics.median(one / two for one, two in pairs)


def read(files: Sequence[Path]) -> tuple[list[Row], list[str]]:
    """Return the rows of some files, and a sentence for each file that says where it was measured."""
    rows: dict[tuple[str, str], Row] = {}
    said = []
    for file in files:
        content = json.loads(file.read_text())
        for row in content["rows"]:
            found = _row(row)
            rows[found.name, found.setting] = found
        said.append(_said(content, list(dict.fromkeys(row["name"] for row in content["rows"]))))
    return list(rows.values()), said


def _row(content: Mapping[str, Any]) -> Row:
    engines = content["engines"]
    return Row(
        content["name"],
        content["title"],
        {name: engine["samples_ms"] for name, engine in engines.items()},
        {name: engine["steps_peak_bytes"] for name, engine in engines.items()},
        {
            load: {name: engine["busy"][load]["samples_ms"] for name, engine in engines.items()}
            for load in next(iter(engines.values())).get("busy", ())
        },
        content.get("setting", ""),
    )


def _said(content: Mapping[str, Any], names: Sequence[str]) -> str:
    listed = text_of_versions(content["versions"])
    return (
        f"{', '.join(names)}: {content['started'][:10]}, {text_of_machine(content['machine'])}; {listed}; "
        f"{content['effort']['rounds']} rounds."
    )


def section(rows: Sequence[Row], said: Sequence[str]) -> str:
    """Return the text between the two marks of the page."""
    lines = [""]
    for setting, text in _SETTINGS.items():
        if chosen := [row for row in rows if row.setting == setting]:
            engines = [name for name in PEERS if any(name in row.samples for row in chosen)]
            lines += [text, "", *_times(chosen, engines), "", *_verdicts(chosen), ""]
            lines += ["Memory of the process at its peak, in MiB, all libraries included:", ""]
            lines += [*_memory(chosen, engines), ""]
    lines += ["![Milliseconds of a step in each engine, for each row](images/performance.svg)", ""]
    return "\n".join([*lines, *(f"Measured: {each}" for each in said), ""])


def _of_first_setting(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of the plain setting, or of the first that there is."""
    return next(
        (chosen for setting in _SETTINGS if (chosen := [row for row in rows if row.setting == setting])), []
    )


def busy_section(rows: Sequence[Row], said: Sequence[str]) -> str:
    """Return the text between its two marks: how many times its quiet time a step takes beside other work."""
    if not rows:
        return ""
    engines = [name for name in PEERS if any(name in row.samples for row in rows)]
    lines = ["", *_head("times its quiet time, and ms", [PEERS[name].title for name in engines])]
    for row in rows:
        for load, samples in row.busy.items():
            cells = [_busy_cell(row, name, samples) for name in engines]
            setting = f", {row.setting}" if row.setting else ""
            lines.append(f"| {row.name}{setting}, {load} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *(f"Measured: {each}" for each in said), ""])


def _busy_cell(row: Row, engine: str, samples: Mapping[str, Sequence[float]]) -> str:
    if engine not in samples:
        return "–"
    median = statistics.median(samples[engine])
    return f"{median / row.median(engine):.1f} ({digits(median)})"


def _times(rows: Sequence[Row], engines: Sequence[str]) -> Iterator[str]:
    yield from _head(
        "ms a step",
        [*(PEERS[name].title for name in engines), *(f"{PEERS[name].title} / best" for name in OWN)],
    )
    for row in rows:
        fastest = row.best(engines)
        cells = [_cell(row, name, fastest) for name in engines]
        for own in OWN:
            found = row.ratio(own)
            cells.append("–" if found is None else f"{found[0]:.2f}")
        yield f"| {row.name} | {' | '.join(cells)} |"


def _cell(row: Row, engine: str, fastest: str | None) -> str:
    if engine not in row.samples:
        return "–"
    text = digits(row.median(engine))
    return f"**{text}**" if engine == fastest else text


def _memory(rows: Sequence[Row], engines: Sequence[str]) -> Iterator[str]:
    yield from _head("", [PEERS[name].title for name in engines])
    for row in rows:
        cells = [f"{row.peak_bytes[name] / 2**20:.0f}" if name in row.peak_bytes else "–" for name in engines]
        yield f"| {row.name} | {' | '.join(cells)} |"


def _head(first: str, titles: Sequence[str]) -> Iterator[str]:
    yield f"| {first} | {' | '.join(titles)} |"
    yield f"| --- |{' --- |' * len(titles)}"


def _verdicts(rows: Sequence[Row]) -> Iterator[str]:
    """Say for each way to run rebind where it is behind."""
    for own, peers in OWN.items():
        measured = {row.name: found for row in rows if (found := row.ratio(own)) is not None}
        against = "; ".join(PEERS[name].title for name in peers if any(name in row.samples for row in rows))
        behind = [
            f"{name} ({ratio:.2f} of the time of {PEERS[peer].title})"
            for name, (ratio, peer) in measured.items()
            if ratio > 1
        ]
        ahead = len(measured) - len(behind)
        yield (
            f"- **{PEERS[own].title}** beside {against}: at least as fast as the best of them on {ahead} of "
            f"{len(measured)} rows" + (f"; behind on {', '.join(behind)}." if behind else ".")
        )
    yield from _limits(rows)


def _limits(rows: Sequence[Row]) -> Iterator[str]:
    """Say how near the engines come to what they all have to do."""
    for limit in (name for name, peer in PEERS.items() if peer.is_limit):
        for row in rows:
            if limit in row.samples:
                ways = [name for name in OWN if name in row.samples]
                best = row.best([name for name in row.samples if name not in ways])
                said = [
                    f"{PEERS[name].title} {row.over(name, limit):.2f}"
                    for name in [*ways, *([best] if best else [])]
                ]
                yield f"- {row.name}, times {PEERS[limit].title}: {', '.join(said)}."


def with_section(page: str, text: str, mark: str = BEGIN) -> str:
    """Return the page with another text between a mark and the end."""
    before, begin, rest = page.partition(mark)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{PAGE.name}: must have the lines {mark} and {END}; one is missing")
    return f"{before}{mark}\n{text}{END}{after}"


def _draw(rows: Sequence[Row], file: Path) -> None:
    """Draw for each row the engines' times as bars."""
    import matplotlib  # of the extra viz: the table needs it not

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams.update({"svg.hashsalt": "rebind", "font.size": 8})
    columns = 3
    lines = [rows[i : i + columns] for i in range(0, len(rows), columns)]
    # In inches; each bar has its name beside it.
    heights = [max(2.4, 0.6 + 0.18 * max(len(row.samples) for row in line)) for line in lines]
    figure, axes = pyplot.subplots(
        len(lines),
        columns,
        figsize=(11, sum(heights)),
        height_ratios=heights,
        layout="constrained",
        squeeze=False,
    )
    for axis in axes.flat[len(rows) :]:
        axis.set_axis_off()
    for axis, row in zip(axes.flat, rows, strict=False):
        names = sorted(row.samples, key=row.median, reverse=True)
        times = [row.median(name) for name in names]
        colours = ["#c44e1a" if name.startswith("rebind") else "#9aa7b5" for name in names]
        bars = axis.barh([PEERS[name].title for name in names], times, color=colours)
        axis.bar_label(bars, fmt=digits, padding=2)
        axis.set_title(row.name, loc="left", fontweight="bold")
        axis.margins(x=0.18)
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_xlabel("ms a step")
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="files of samples (those of benchmarks/results)")
    given = parser.parse_args(arguments)
    rows, said = read(given.files or sorted(RESULTS.glob("*.json")))
    busy = busy_section(*read(sorted(RESULTS.glob("busy/*.json"))))
    int8 = int8_section(sorted(RESULTS.glob("int8/*.json")))
    page = with_section(with_section(PAGE.read_text(), section(rows, said)), busy, BUSY_MARK)
    page = with_section(page, int8, INT8_MARK)
    page = with_section(page, gpu_section(sorted(RESULTS.glob("gpu/*.json"))), GPU_MARK)
    page = with_section(page, kinds_section(sorted(RESULTS.glob("kinds/*.json"))), KINDS_MARK)
    PAGE.write_text(with_section(page, calls_section(sorted(RESULTS.glob("calls/*.json"))), CALLS_MARK))
    _draw(_of_first_setting(rows), PICTURE)
    print(f"{PAGE.relative_to(ROOT)} and {PICTURE.relative_to(ROOT)} are written.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
