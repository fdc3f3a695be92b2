"""What ``rebind export``, ``summary``, ``plot``, ``predict``, ``report`` and ``doctor`` print, and their exit codes."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from .. import doctor, viz
from ..errors import FormatError, MXNetError, ShapeError
from ..files import check_free
from ..graph import deployed
from ..shapes import Shape
from ..symbol import Symbol
from ..terminal import Console, Table, Text, step_bar, track
from .export import export
from .imports import import_file
from .model_files import Model, read_model
from .network import Network, prepared, run
from .report import Report
from .samples import Pictures, Samples, read_samples, sample_shapes, with_sizes

__all__ = ["run_doctor", "run_export", "run_import", "run_plot", "run_predict", "run_report", "run_summary"]

#: How many classes are shown of a picture.
_BEST = 5


def run_export(
    paths: Sequence[str],
    to: str,
    shapes: Mapping[str, Shape],
    check: str | bool,
    out: str | None,
    outputs: Sequence[str],
    limit: float,
    opset: int | None,
    keep: bool,
    overwrite: bool,
) -> int:
    """Export a model and print a table of differences; 1 if it differs or fails."""
    options = {} if opset is None else {"opset": opset}
    with _failure("export") as failed, step_bar() as bar:
        report = export(
            _model(paths), to, shape=shapes, check=check, out=out, outputs=outputs or None, limit=limit,
            keep=keep, overwrite=overwrite, progress=bar, **options,
        )  # fmt: skip
        bar.stop()
        _print_report(report, wanted=check is not False)
    return failed.code


def run_import(path: str, out: str | None, overwrite: bool) -> int:
    """Write a model of another engine as a checkpoint; 1 if that fails."""
    with _failure("import") as failed, step_bar() as bar:
        with warnings.catch_warnings(record=True) as warned:
            written = import_file(path, out, overwrite=overwrite, progress=bar)
        bar.stop()
        print(*written, sep="\n")
        for each in warned:
            print(f"Warning: {each.message}", file=sys.stderr)
    return failed.code


def _model(paths: Sequence[str]) -> Model:
    return read_model(paths[0] if len(paths) == 1 else list(paths))


def _print_report(report: Report, wanted: bool) -> None:
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
        why = "what runs it is not on this system" if wanted else "no check was wanted"
        console.print(Text(f"{report.path} was not run: {why}."))
    console.print(Text(f"{report.path} (report: {report.path}.md)"))


def run_summary(paths: Sequence[str], shapes: Mapping[str, Shape]) -> int:
    """Print the layers, inputs and outputs of a model."""
    with _failure("summary") as failed, step_bar() as bar:
        bar("reading the model")
        network = _network(paths, shapes)
        bar("inferring shapes", 1, 2)
        given = {name: with_sizes(shape, 1) for name, shape in network.inputs.data.items()}
        bar.stop()
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


def _network(
    paths: Sequence[str], shapes: Mapping[str, Shape], outputs: Sequence[str] = (), data: str | None = None
) -> Network:
    """Return a model as it is used, for data in a file if it is to be run on one."""
    samples = {} if data is None else sample_shapes(data)
    return prepared(_noted(_model(paths)), shapes, outputs or None, samples)


def _noted(model: Model) -> Model:
    for sentence in model.notes:
        print(sentence, file=sys.stderr)
    return model


def run_plot(paths: Sequence[str], shapes: Mapping[str, Shape], out: str | None, overwrite: bool) -> int:
    """Draw a model as it is used into a file: .svg, .pdf, .png or .gv; without shapes where some are unknown."""
    with _failure("plot") as failed, step_bar() as bar:
        bar("reading the model")
        model = _noted(_model(paths))
        path = out or f"{model.name}.svg"
        if not overwrite:
            check_free("plot", [path])
        bar("drawing", 1, 2)
        try:
            network = prepared(model, shapes)
        except ShapeError as error:
            if shapes:
                raise
            print(f"The picture has no shapes: {error}", file=sys.stderr)
            symbol, given = Symbol(deployed(model.symbol.graph).graph), None
        else:
            symbol = network.symbol
            given = {name: with_sizes(shape, 1) for name, shape in network.inputs.data.items()}
        plot = viz.plot_network(symbol, title=model.name, shape=given)
        path = plot.save(path)
        bar.stop()
        print(path)
    return failed.code


def run_predict(
    paths: Sequence[str],
    data: str,
    shapes: Mapping[str, Shape],
    outputs: Sequence[str],
    labels: str | None,
    out: str | None,
    overwrite: bool,
) -> int:
    """Print what a model gives for pictures or arrays, or write it to an .npz file."""
    with _failure("predict") as failed, step_bar() as bar:
        path = f"{out}.npz" if out is not None and not out.endswith(".npz") else out
        if path is not None and not overwrite:
            check_free("predict", [path])
        bar("reading the model")
        network = _network(paths, shapes, outputs, data)
        if os.path.isdir(data):
            bar.stop()
            rows, found = _predict_pictures(network, data)
        else:
            bar("computing", 1, 2)
            rows, found = [], _predict(network, read_samples(network, data))
            bar.stop()
        if path is not None:
            files = {"files": np.array(rows)} if rows else {}
            np.savez(path, **found, **files)  # type: ignore[arg-type]  # NumPy's stubs take no mapping of arrays
            print(path)
        else:
            names = _lines(labels)
            for name, values in found.items():
                _print_output(name, values, names, rows)
    return failed.code


def _predict(network: Network, samples: Samples) -> dict[str, np.ndarray]:
    values = run(network.symbol, network.params, samples)
    return dict(zip(network.symbol.list_outputs(), values, strict=True))


def _predict_pictures(network: Network, folder: str) -> tuple[list[str], dict[str, np.ndarray]]:
    """Return the paths of all pictures in a folder, and the outputs for them, a row each."""
    pictures = Pictures(network, folder)
    found: dict[str, list[np.ndarray]] = {}
    batches = track(
        pictures.batches(), "predicting", total=-(-len(pictures.paths) // pictures.most),
        console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty(),
    )  # fmt: skip
    for paths, samples in batches:
        size = pictures.most if pictures.batch_is_fixed else len(paths)
        for name, values in _predict(network, samples).items():
            found.setdefault(name, []).append(values[: len(values) * len(paths) // size])
    return pictures.paths, {name: np.concatenate(parts) for name, parts in found.items()}


def _lines(path: str | None) -> list[str]:
    if path is None:
        return []
    try:
        with open(path, encoding="utf-8") as file:
            return [line.strip() for line in file]
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: it must be text, a class a line; {error}") from error


def _print_output(name: str, values: np.ndarray, classes: Sequence[str], rows: Sequence[str]) -> None:
    """Print the best classes of each sample, or, of what are no classes, the shape and the range.

    `rows` are the names of the samples, if they have some.
    """
    named = len(rows) == len(values)
    print(f"{name}: {' x '.join(map(str, values.shape)) or 'a number'}")
    if values.ndim != 2 or values.shape[1] < 2:
        if values.size:
            print(f"  from {values.min():.6g} to {values.max():.6g}, mean {values.mean():.6g}")
        return
    for i, row in enumerate(values):
        best = np.argsort(-row, kind="stable")[:_BEST]
        shown = [f"{classes[each] if each < len(classes) else each} {row[each]:.4g}" for each in best]
        print(f"  {rows[i] if named else i}: {', '.join(shown)}")


def run_report(run: str, profile: str | None, out: str | None, overwrite: bool) -> int:
    """Write the page of a run."""
    with _failure("report") as failed:
        print(viz.report(run, out, profile=profile, overwrite=overwrite))
    return failed.code


def run_doctor(list_checks: bool = False) -> int:
    """Print what is installed and the usual mistakes, or the table of checks; 1 if there is a mistake."""
    if list_checks:
        table = Table("name", "what it looks at", "what to do")
        for check in doctor.CHECKS:
            table.add_row(check.name, check.looks_at, check.mend)
        Console().print(table)
        return 0
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
        print(f"rebind {command}: {text.removeprefix(f'{command}: ')}", file=sys.stderr)
        result.code = 1
