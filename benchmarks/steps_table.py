"""The table and the picture of steps of whole networks, and what other work costs them: from files of samples.

`python -m benchmarks --json FILE` writes such a file. Nothing of what a page says about these rows is written by hand.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .peers import PEERS
from .report import digits, text_of_run, text_of_versions

__all__ = [
    "Row",
    "busy_section",
    "busy_text",
    "draw",
    "of_first_setting",
    "read",
    "steps_data",
    "steps_section",
    "steps_text",
]

_ALL = tuple(
    name for name, peer in PEERS.items() if not (peer.asked_for or peer.is_limit or "rebind" in name)
)
#: What is said above the rows of each setting of a file; older files have none.
_SETTINGS = {
    "plain": "**Plain**: no process has settings of its own.",
    "tuned": "**Tuned**: the processes of all engines have the settings of `rebind.tune()`.",
    "": (
        "**Old figures, not like with like**: `import rebind` set then what `rebind.tune()` sets now; the other "
        "engines were plain."
    ),
}
#: The ways to run rebind: what each is measured against, in words and by name.
OWN: dict[str, tuple[str, tuple[str, ...]]] = {
    "rebind": ("what compiles nothing (PyTorch eager, MXNet)", ("torch", "torch-channels-last", "mxnet")),
    "rebind-inductor": ("all others", _ALL),
    "rebind-openvino": ("all others", _ALL),
}
#: The columns of the page: each has the fastest of some engines.
_COLUMNS = {
    "rebind": ("rebind",),
    "rebind, compiled": ("rebind-inductor", "rebind-inductor-fit"),
    "rebind, OpenVINO": ("rebind-openvino",),
    "PyTorch eager": ("torch", "torch-channels-last"),
    "`torch.compile`": tuple(name for name in _ALL if name.startswith(("torch-compile", "torch-freezing"))),
    **{PEERS[name].title: (name,) for name in ("jax", "onnxruntime", "openvino", "mxnet")},
}


@dataclass(frozen=True)
class Row:
    """One row of a run: milliseconds per step of each engine, a sample for each round; `busy` has those by load.

    `setting` is ``plain`` or ``tuned``; `about` says when and where it was measured.
    """

    name: str
    title: str
    samples: Mapping[str, Sequence[float]]
    peak_bytes: Mapping[str, int]
    busy: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    setting: str = ""
    about: str = ""

    def median(self, engine: str) -> float:
        """Milliseconds per step."""
        return statistics.median(self.samples[engine])

    def best(self, among: Sequence[str]) -> str | None:
        """Return the fastest of some engines; a limit is none."""
        found = (name for name in among if name in self.samples and not PEERS[name].is_limit)
        return min(found, key=self.median, default=None)

    def ratio(self, engine: str) -> tuple[float, str] | None:
        """Return the time of one way to run rebind over the best peer's, round by round, and which peer that is."""
        peer = self.best(OWN[engine][1])
        return None if engine not in self.samples or peer is None else (self.over(engine, peer), peer)

    def over(self, engine: str, other: str) -> float:
        """Return the time of one engine over that of another, round by round."""
        pairs = zip(self.samples[engine], self.samples[other], strict=True)
        return statistics.median(one / two for one, two in pairs)


def read(files: Sequence[Path]) -> tuple[list[Row], list[str]]:
    """Return the rows of some files, and sentences that say where they were measured."""
    rows: dict[tuple[str, str], Row] = {}
    said: dict[str, dict[str, None]] = {}  # names of rows by what is said of them
    for file in files:
        content = json.loads(file.read_text())
        for row in content["rows"]:
            found = _row(row, text_of_run(content))
            rows[found.name, found.setting] = found
            said.setdefault(_said(content), {})[found.name] = None
    return list(rows.values()), [f"{', '.join(names)}: {text}" for text, names in said.items()]


def _row(content: Mapping[str, Any], about: str) -> Row:
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
        about,
    )


def _said(content: Mapping[str, Any]) -> str:
    about, versions = text_of_run(content, load=False), text_of_versions(content["versions"])
    return f"{about}; {versions}; {content['effort']['rounds']} rounds."


def steps_data(files: Sequence[Path]) -> Iterator[Sequence[object]]:
    """Yield the lines of the data file: a step and the memory of each engine on each row, in each setting."""
    quartiles = ("first_quartile_ms", "median_ms", "third_quartile_ms")
    yield "row", "title", "setting", "engine", *quartiles, "least_ms", "peak_mib", "measured"
    for row in read(files)[0]:
        for name, samples in row.samples.items():
            numbers = [*statistics.quantiles(samples, method="inclusive"), min(samples)]
            memory = f"{row.peak_bytes[name] / 2**20:.0f}"
            setting = row.setting or "rebind tuned, others plain"
            yield row.name, row.title, setting, name, *(f"{x:.4g}" for x in numbers), memory, row.about


def steps_section(files: Sequence[Path]) -> str:
    """Return the text between the marks of the page."""
    return steps_text(*read(files))


def steps_text(rows: Sequence[Row], said: Sequence[str]) -> str:
    """Return the table of each setting with what it says, the picture, and where they were measured."""
    lines = [""]
    for setting, text in _SETTINGS.items():
        if chosen := [row for row in rows if row.setting == setting]:
            lines += [text, "", *_times(chosen), "", " ".join([*_verdicts(chosen), *_memory(chosen)]), ""]
    lines += ["![Milliseconds of a step in each engine, for each row](images/performance.svg)", ""]
    return "\n".join([*lines, *(f"Measured: {each}" for each in said), ""])


def of_first_setting(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of the plain setting, or of the first that there is."""
    return next(
        (chosen for setting in _SETTINGS if (chosen := [row for row in rows if row.setting == setting])), []
    )


def busy_section(files: Sequence[Path]) -> str:
    """Return the text between the marks of the page."""
    return busy_text(*read(files))


def busy_text(rows: Sequence[Row], said: Sequence[str]) -> str:
    """Return how many times its quiet time a step takes beside other work."""
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


def _times(rows: Sequence[Row]) -> Iterator[str]:
    columns = {
        title: names
        for title, names in _COLUMNS.items()
        if any(name in row.samples for row in rows for name in names)
    }
    yield from _head("ms a step", [*columns, "rebind / the best of eager and MXNet"])
    for row in rows:
        fastest = row.best([name for names in columns.values() for name in names])
        cells = [_cell(row, row.best(names), fastest) for names in columns.values()]
        found = row.ratio("rebind")
        yield f"| {row.name} | {' | '.join(cells)} | {'–' if found is None else f'{found[0]:.2f}'} |"


def _cell(row: Row, engine: str | None, fastest: str | None) -> str:
    if engine is None:
        return "–"
    text = digits(row.median(engine))
    return f"**{text}**" if engine == fastest else text


def _memory(rows: Sequence[Row]) -> Iterator[str]:
    """Say what the processes take beside PyTorch's."""
    ratios = [
        row.peak_bytes["rebind"] / row.peak_bytes["torch"]
        for row in rows
        if {"rebind", "torch"} <= row.peak_bytes.keys()
    ]
    if ratios:
        yield (
            f"The process of rebind takes {min(ratios):.2f} to {max(ratios):.2f} of the memory of PyTorch eager's, all "
            "libraries included."
        )


def _head(first: str, titles: Sequence[str]) -> Iterator[str]:
    yield f"| {first} | {' | '.join(titles)} |"
    yield f"| --- |{' --- |' * len(titles)}"


def _verdicts(rows: Sequence[Row]) -> Iterator[str]:
    """Say for each way to run rebind where it is behind."""
    for own, (against, _) in OWN.items():
        measured = {row.name: found for row in rows if (found := row.ratio(own)) is not None}
        if not measured:
            continue
        behind = [
            f"{name} ({ratio:.2f} of the time of {PEERS[peer].title})"
            for name, (ratio, peer) in measured.items()
            if ratio > 1
        ]
        yield (
            f"**{PEERS[own].title}** beside {against}: at least as fast as the best of them on "
            f"{len(measured) - len(behind)} of {len(measured)} rows"
            + (f"; behind on {', '.join(behind)}." if behind else ".")
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
                yield f"{row.name}, times {PEERS[limit].title}: {', '.join(said)}."


def draw(rows: Sequence[Row], file: Path) -> None:
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
