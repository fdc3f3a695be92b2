"""``rebind export``, ``summary``, ``plot``, ``predict`` and ``doctor``: what they print, and their exit codes."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from .. import doctor, viz
from ..errors import FormatError, MXNetError
from ..shapes import Shape
from ..terminal import Console, Table, Text
from .export import export
from .model_files import Model, read_model
from .network import Network, prepared, run
from .report import Report
from .samples import read_samples, with_sizes

__all__ = ["run_doctor", "run_export", "run_plot", "run_predict", "run_summary"]

#: How many classes are shown of a picture.
_BEST = 5


def run_export(
    paths: Sequence[str],
    to: str,
    shapes: Mapping[str, Shape],
    check: str | None,
    out: str | None,
    outputs: Sequence[str],
    limit: float,
    opset: int | None,
    keep: bool,
) -> int:
    """Export a model and print a table of differences; 1 if it differs or fails."""
    options = {} if opset is None else {"opset": opset}
    with _failure("export") as failed, _waiting() as progress:
        report = export(
            _model(paths), to, shape=shapes, check=check or True, out=out, outputs=outputs or None, limit=limit,
            keep=keep, progress=progress, **options,
        )  # fmt: skip
        progress("")
        _print_report(report)
    return failed.code


def _model(paths: Sequence[str]) -> Model:
    return read_model(paths[0] if len(paths) == 1 else list(paths))


def _print_report(report: Report) -> None:
    console = Console(soft_wrap=True)
    for sentence in (*report.notes, *report.left_out):
        console.print(Text(sentence))
    for check in report.checks:
        table = Table(
            "output", "greatest error", "relative", "cosine", title=Text(f"{report.runtime}, {check.data}")
        )
        for each in check.outputs[:50]:
            table.add_row(
                Text(each.name), f"{each.absolute:.3g}", f"{each.relative:.3g}", f"{each.cosine:.9f}"
            )
        console.print(table)
    if not report.checks:
        console.print(Text(f"{report.path} was not run: what runs it is not on this system."))
    console.print(Text(f"{report.path} (report: {report.path}.md)"))


def run_summary(paths: Sequence[str], shapes: Mapping[str, Shape]) -> int:
    """Print the layers, inputs and outputs of a model."""
    with _failure("summary") as failed:
        network = _network(paths, shapes)
        given = {name: with_sizes(shape, 1) for name, shape in network.inputs.data.items()}
        viz.print_summary(network.symbol, given)
        size = sum(value.size * np.dtype(value.dtype).itemsize for value in network.params.values())
        for name, shape in network.inputs.shapes.items():
            print(f"input   {name}: {' x '.join(str(each or 'any') for each in shape)}")
        for name in network.symbol.list_outputs():
            print(f"output  {name}")
        print(f"size    {size / 1e6:.1f} MB in {len(network.params)} parameters and states")
        for sentence in network.left_out:
            print(sentence)
    return failed.code


def _network(paths: Sequence[str], shapes: Mapping[str, Shape], outputs: Sequence[str] = ()) -> Network:
    model = _model(paths)
    for sentence in model.notes:
        print(sentence, file=sys.stderr)
    return prepared(model, shapes, outputs or None)


def run_plot(paths: Sequence[str], shapes: Mapping[str, Shape], out: str | None) -> int:
    """Draw a model as it is used into a file: .svg, .pdf, .png or .gv."""
    with _failure("plot") as failed:
        network = _network(paths, shapes)
        given = {name: with_sizes(shape, 1) for name, shape in network.inputs.data.items()}
        plot = viz.plot_network(network.symbol, title=network.name, shape=given)
        print(plot.save(out or f"{network.name}.svg"))
    return failed.code


def run_predict(
    paths: Sequence[str],
    data: str,
    shapes: Mapping[str, Shape],
    outputs: Sequence[str],
    labels: str | None,
    out: str | None,
) -> int:
    """Print what a model gives for pictures or arrays, or write it to an .npz file."""
    with _failure("predict") as failed, _waiting() as progress:
        network = _network(paths, shapes, outputs)
        progress("reading the data")
        samples = read_samples(network, data)
        progress("computing")
        found = dict(
            zip(network.symbol.list_outputs(), run(network.symbol, network.params, samples), strict=True)
        )
        progress("")
        if out is not None:
            np.savez(out, **found)  # type: ignore[arg-type]  # NumPy's own stubs take no mapping of arrays
            print(out if out.endswith(".npz") else f"{out}.npz")
        else:
            names = _lines(labels)
            for name, values in found.items():
                _print_output(name, values, names)
    return failed.code


def _lines(path: str | None) -> list[str]:
    if path is None:
        return []
    try:
        with open(path, encoding="utf-8") as file:
            return [line.strip() for line in file]
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: it must be text, a class a line; {error}") from error


def _print_output(name: str, values: np.ndarray, classes: Sequence[str]) -> None:
    """Print the best classes of each sample, or, of what are no classes, the shape and the range."""
    print(f"{name}: {' x '.join(map(str, values.shape)) or 'a number'}")
    if values.ndim != 2 or values.shape[1] < 2:
        if values.size:
            print(f"  from {values.min():.6g} to {values.max():.6g}, mean {values.mean():.6g}")
        return
    for i, row in enumerate(values):
        best = np.argsort(-row, kind="stable")[:_BEST]
        shown = [f"{classes[each] if each < len(classes) else each} {row[each]:.4g}" for each in best]
        print(f"  {i}: {', '.join(shown)}")


def run_doctor() -> int:
    """Print what is installed and the usual mistakes; 1 if there is one."""
    doctor.show_versions()
    found = doctor.findings()
    missing = [extra for extra in doctor.EXTRAS if f"{extra} (" not in doctor.versions()["extras"]]
    if missing:
        print(f"\nNot installed: {', '.join(missing)}, as in pip install 'rebind[{missing[0]}]'.")
    for finding in found:
        print(f"\n{finding.what}.\n  {finding.mend[0].upper()}{finding.mend[1:]}.")
    print("" if found else "\nNo mistakes found.")
    return int(bool(found))


class _Code:
    """The exit code of a command."""

    code = 0


@contextlib.contextmanager
def _failure(command: str) -> Iterator[_Code]:
    """Print an error as a sentence, and let the exit code be 1."""
    result = _Code()
    try:
        yield result
    except (MXNetError, OSError) as error:
        text = str(error)
        print(text if text.startswith(f"{command}: ") else f"rebind {command}: {text}", file=sys.stderr)
        result.code = 1


class _Waiting:
    """Shows what is being done, in a terminal, once the command has taken two seconds."""

    def __init__(self) -> None:
        self._status = Console(stderr=True).status("")
        self._timer = threading.Timer(2.0, self._status.start)
        self._timer.daemon = True

    def __call__(self, text: str) -> None:
        """Show a text; an empty one ends it."""
        if text:
            self._status.update(text)
        else:
            self.stop()

    def start(self) -> None:
        self._timer.start()

    def stop(self) -> None:
        self._timer.cancel()
        self._status.stop()


@contextlib.contextmanager
def _waiting() -> Iterator[_Waiting]:
    waiting = _Waiting()
    if sys.stderr.isatty():
        waiting.start()
    try:
        yield waiting
    finally:
        waiting.stop()
