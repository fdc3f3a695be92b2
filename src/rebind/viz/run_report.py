"""A training run as one page of HTML: curves, network, where time went, settings, environment."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import cast

from .. import symbol as symbols
from ..checkpoint import Checkpoint
from ..doctor import versions
from ..errors import ArgumentError, FormatError, shown
from ..files import atomic_write, check_free
from ..module import BaseModule
from ..module.training_run import RunState
from ..profiler import Profile
from ..symbol import Symbol
from .curves import plot_history
from .network import plot_network
from .notebook import LARGEST, known_shapes, layer_table

__all__ = ["report"]

_Table = tuple[Sequence[str], Iterable[Sequence[str]]]


@dataclass
class _Run:
    """What is known of a run."""

    title: str
    networks: Sequence[tuple[Symbol, Mapping[str, tuple[int, ...]]]]
    history: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    data: Mapping[str, object] = field(default_factory=dict)


def report(
    run: BaseModule | Checkpoint | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    history: Mapping[str, Mapping[str, Sequence[float]]] | None = None,
    profile: Profile | str | os.PathLike[str] | None = None,
    title: str | None = None,
    overwrite: bool = False,
) -> str:
    """Write one page of HTML that shows a training run; it needs no other file, and no internet connection.

    It has the curves of the metrics, the network as a picture and as a table, where the time went, the settings, the
    data and what is installed here. What is not known is left out. The extra ``viz`` draws the curves.

    Parameters
    ----------
    run
        The prefix that ``fit(checkpoint=...)`` had, of which the newest file is read; or a module.
    out
        The page; by default the prefix and ``-report.html``, and ``report.html`` for a module.
    history
        What ``fit`` returned; a run's file has its own.
    profile
        A `profiler.Profile`, or the file of a trace that one wrote, as ``fit(profile="trace.json")`` does.
    title
        The heading; by default the prefix, or the module's class.
    overwrite
        Replace any file that is there already. A page that this function wrote before is always replaced.

    Returns
    -------
    str
        The path.

    Raises
    ------
    ArgumentError
        If there is no file of such a run.
    ExistingFileError
        If another file has the page's name, unless `overwrite` is true.

    Examples
    --------
    >>> import tempfile
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros((8,)), 4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     history = module.fit(data, num_epoch=2, checkpoint=f"{folder}/run")
    ...     os.path.basename(mx.viz.report(f"{folder}/run"))
    'run-report.html'
    """
    if not isinstance(run, (BaseModule, Checkpoint, str, os.PathLike)):
        raise ArgumentError(
            "viz.report: run must be the prefix that fit(checkpoint=...) had, or a module (with history=..., what fit "
            f"returned); got {shown(run)}"
        )
    if isinstance(run, BaseModule):
        known, default = _of_module(run), "report.html"
    else:
        known = _of_files(Checkpoint.of(run))
        default = f"{known.title}-report.html"
    if history is not None:
        known.history = history
    target = default if out is None else os.fspath(out)
    if not overwrite and not _is_report(target):
        check_free("viz.report", [target])
    page = _page(known, profile, title or os.path.basename(known.title))
    with atomic_write(target) as file:
        file.write(page.encode())
    return target


#: In the head of each page, so that a page of an earlier run is known.
_GENERATOR = '<meta name="generator" content="rebind">'


def _is_report(path: str) -> bool:
    """Whether a file is a page that `report` wrote."""
    if not os.path.isfile(path):
        return False
    with open(path, encoding="utf-8", errors="replace") as file:
        return _GENERATOR in file.read(1000)


def _of_module(module: BaseModule) -> _Run:
    optimizers = module.optimizers() if module.optimizer_initialized else []
    return _Run(
        type(module).__name__,
        [(network, known_shapes(module, network)) for network in module.networks],
        settings={"optimizer": ", ".join(dict.fromkeys(map(repr, optimizers)))} if optimizers else {},
        data={"shapes": ", ".join(map(str, module.data_shapes or ()))} if module.binded else {},
    )


#: Settings of a run that say what it was trained on, and the words for them.
_OF_DATA = {"train_data": "train_data", "samples": "samples", "content": "checksum of some samples"}


def _of_files(checkpoint: Checkpoint) -> _Run:
    newest = checkpoint.newest()
    if newest is None:
        raise ArgumentError(
            f"viz.report: run must be the prefix that fit(checkpoint=...) had; there is no file "
            f"{checkpoint.prefix}-*.run"
        )
    position = newest[0]
    state = cast(RunState, newest[1])
    settings = dict(state.get("settings") or {})
    shapes = _shapes_in(str(settings.get("train_data", "")))
    found = []
    for text in state.get("symbols", []):  # not in files of before 0.2
        network = symbols.load_json(text)
        names = set(network.list_arguments())
        found.append((network, {name: shape for name, shape in shapes.items() if name in names}))
    data = {words: settings.pop(name) for name, words in _OF_DATA.items() if name in settings}
    settings = {"epochs": position.epoch, "stopped early": state["stopped"], **settings}
    return _Run(checkpoint.prefix, found, state["history"], settings, data)


def _shapes_in(text: str) -> dict[str, tuple[int, ...]]:
    """Return the shapes in what a run's file says of its data: ``data (8, 4) float32, softmax_label (8,) float32``."""
    found = re.findall(r"(\S+) \(([\d, ]*)\) \w+", text)
    return {name: tuple(map(int, re.findall(r"\d+", sizes))) for name, sizes in found}


# The page.

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --paper: #ffffff; --line: #d0d7de; --faint: #57606a; --bar: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --line: #3d444d; --faint: #9198a1; --bar: #56b4e9; }
  .curves svg { filter: brightness(.85); }
}
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 0 auto; padding: 1rem;
  color: var(--ink); background: var(--paper); }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; border-bottom: 1px solid var(--line); }
table { border-collapse: collapse; font-size: 13px; } .wide, .curves { overflow-x: auto; }
td, th { padding: .2rem .6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.curves svg { max-width: 100%; height: auto; } .network { max-height: 32rem; overflow: auto; }
@media (max-width: 700px) { .curves svg { max-width: none; } }
.bar { display: inline-block; height: .7em; background: var(--bar); } p.note { color: var(--faint); }
"""


_NO_TIMES = (
    '<p class="note">No times were given. Train with <code>fit(profile="trace.json")</code>, then write this page by '
    '<code>rebind report RUN --profile trace.json</code>, or <code>viz.report(..., profile="trace.json")</code>.</p>'
)


def _page(run: _Run, profile: Profile | str | os.PathLike[str] | None, title: str) -> str:
    no_times = _NO_TIMES if run.history else ""
    sections: list[tuple[str, Callable[[], str]]] = [
        ("Curves", lambda: _curves(run.history)),
        ("Network", lambda: "".join(_network(*each) for each in run.networks)),
        ("Where the time went", lambda: _time(profile) if profile is not None else no_times),
        ("Settings", lambda: _facts(run.settings)),
        ("Data", lambda: _facts(run.data)),
        ("Environment", lambda: _facts(versions())),
    ]
    body = "".join(
        f"<section><h2>{html.escape(heading)}</h2>{content}</section>\n"
        for heading, made in sections
        if (content := made())
    )
    when = datetime.now().strftime("%Y-%m-%d %H:%M")
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">{_GENERATOR}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title><style>{_STYLE}</style></head>
<body><h1>{html.escape(title)}</h1><p class="note">Written {when} by rebind.</p>
{body}</body></html>
"""


def _curves(history: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    if not any(values for figures in history.values() for values in figures.values()):
        return ""
    picture = StringIO()
    plot_history(history).figure.savefig(picture, format="svg")
    svg = picture.getvalue()
    rows = [
        [split, name, f"{values[-1]:.6g}", f"{min(values):.6g}", f"{max(values):.6g}"]
        for split, figures in history.items()
        for name, values in figures.items()
        if values
    ]
    table = _table(["Data", "Metric", "Last", "Smallest", "Largest"], rows, numbers=3)
    return f'<div class="curves">{svg[svg.index("<svg") :]}</div>{table}'


def _network(network: Symbol, shapes: Mapping[str, tuple[int, ...]]) -> str:
    """Return a network's picture, unless it is too large for one, and its layers."""
    picture = ""
    if len(network.graph.nodes) <= LARGEST:
        svg = plot_network(network, title="", shape=dict(shapes) or None).svg
        picture = f'<div class="wide network">{svg}</div>'
    return f'{picture}<div class="wide">{layer_table(network, shapes, list(shapes))}</div>'


def _time(profile: Profile | str | os.PathLike[str]) -> str:
    rows = _rows_of_profile(profile) if isinstance(profile, Profile) else _rows_of_trace(Path(profile))
    total = sum(row[3] for row in rows) or 1.0
    lines = [
        (name, operator, f"{calls:,}", f"{seconds * 1e3:.3f}", f"{seconds / total:.1%}", seconds / total)
        for name, operator, calls, seconds in rows[:40]
    ]
    cells = [[*line[:5], f'<span class="bar" style="width:{line[5] * 12:.2f}em"></span>'] for line in lines]
    more = (
        f'<p class="note">The {len(lines)} of {len(rows)} that took longest.</p>'
        if len(rows) > len(lines)
        else ""
    )
    return _table(["Node", "Operator", "Calls", "ms", "Share", ""], cells, numbers=3, raw=1) + more


def _rows_of_profile(profile: Profile) -> list[tuple[str, str, int, float]]:
    return [(row.name, row.operator, row.calls, row.seconds) for row in profile.nodes()]


def _rows_of_trace(path: Path) -> list[tuple[str, str, int, float]]:
    """Return the time of each node in a trace, that of its gradients included; those first that took longest."""
    try:
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(
            f"viz.report: profile must be a trace that fit(profile=...) wrote; {path} is none"
        ) from error
    found: dict[str, tuple[str, int, float]] = {}
    for event in events:
        if event["ph"] != "X" or event["cat"] != "operator":
            continue
        operator = event["args"].get("operator", event["name"])
        is_backward = operator.startswith("_backward_")
        name = event["name"].removesuffix("_backward") if is_backward else event["name"]
        first, calls, seconds = found.get(name, (operator, 0, 0.0))
        found[name] = (first, calls + (not is_backward), seconds + event["dur"] / 1e6)
    return sorted(((name, *row) for name, row in found.items()), key=lambda row: -row[3])


def _facts(facts: Mapping[str, object]) -> str:
    rows = [
        [name.replace("_", " "), str(value)] for name, value in facts.items() if value not in (None, "", "{}")
    ]
    return _table(None, rows) if rows else ""


def _table(
    head: Sequence[str] | None, rows: Iterable[Sequence[str]], *, numbers: int = 0, raw: int = 0
) -> str:
    """Return a table; the last `raw` columns are HTML, the `numbers` before them numbers."""

    def line(cells: Sequence[str], tag: str) -> str:
        last = len(cells) - raw
        return "".join(
            f"<{tag}{' class=number' * (last - numbers <= k < last)}>{cell if k >= last else html.escape(cell)}</{tag}>"
            for k, cell in enumerate(cells)
        )

    lines = [f"<tr>{line(row, 'td')}</tr>" for row in rows]
    if head is not None:
        lines.insert(0, f"<tr>{line(head, 'th')}</tr>")
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'
