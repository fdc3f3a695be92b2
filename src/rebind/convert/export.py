"""A model to a file for another engine: written, run beside rebind, compared, and left there only if both agree."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ..errors import ArgumentError, MissingFileError, MXNetError, ShapeError, near_names
from ..files import check_free
from ..graph import Graph
from ..shapes import Shape
from ..symbol import Symbol
from .comparison import Difference, differences
from .input_shapes import ask_for_shape
from .model_files import Model, PathLike, read_model
from .network import Network, prepared, run
from .report import Check, Report
from .safetensors_files import load_safetensors, save_safetensors
from .samples import Samples, random_samples, read_samples, sample_shapes
from .targets import TARGETS, Target, find_target

__all__ = ["DifferentOutputsError", "export"]

#: Called with what is being done, for who waits.
#: Takes what is being done, after how many steps, and of how many if that is known.
Progress: TypeAlias = Callable[[str, int, "int | None"], None]


class DifferentOutputsError(MXNetError, ValueError):
    """An exported network gives other numbers than rebind."""


def export(
    model: Model | PathLike | Sequence[PathLike],
    to: str = "onnx",
    *,
    shape: Mapping[str, Shape] | None = None,
    check: PathLike | bool = True,
    out: PathLike | None = None,
    outputs: Sequence[str] | None = None,
    limit: float = 1e-4,
    keep: bool = False,
    overwrite: bool = False,
    progress: Progress = lambda *done: None,
    **options: object,
) -> Report:
    """Write a model to a file for another engine, and check it by running both.

    What belongs to training is left out (`rebind.graph.deployed`). Where the size of the batch is free, the file is run
    with two sizes, and with other free sizes the second time. A report in Markdown is written beside the file, under
    its name with ``.md`` behind it.

    Parameters
    ----------
    model
        The model, or what `read_model` takes: the prefix of a checkpoint, an archive, ...
    to
        The kind of file: one of `rebind.convert.TARGETS`, or ``"safetensors"`` for the whole checkpoint as it is.
    shape
        Shapes of inputs by name, for those that neither the checkpoint nor the file for `check` tells; 0 is a free
        size.
    check
        What to run both on: a folder of pictures, an ``.npz`` file of inputs by name, or by default random numbers.
        False writes the file without running it.
    out
        The file, or a folder for it; by default in this folder, named after the model.
    outputs
        The outputs that are wanted, of any node; by default the predictions.
    limit
        The greatest difference, relative to the largest number of an output, that is allowed.
    keep
        Leave the file there even if it differs.
    overwrite
        Replace files that are there already; otherwise the first of them is an error, and all stay as they are.
    progress
        Called with what is being done, after how many steps, and of how many; None while that is not known.
    **options
        For the target, such as ``opset=13`` for ONNX: its `Target.options`.

    Returns
    -------
    Report
        The path, what was left out, and how far each output differs.

    Raises
    ------
    DifferentOutputsError
        When an output differs by more than `limit`; the message names the first node that does.
    ExistingFileError
        When a file of the name is there already, unless `overwrite` is true.
    MissingExtraError
        Without the package that writes or runs such files; the message has the command that installs it.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> model = Model(net, {"fc_weight": mx.nd.ones((2, 5))}, {}, "net")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = export(model, "safetensors", out=folder)
    ...     sorted(os.listdir(folder))
    ['net.safetensors', 'net.safetensors.md']
    """
    started = time.perf_counter()
    target = None if to == "safetensors" else find_target(to)
    _check_options(to, target, options)
    progress("reading the model", 0, None)
    whole = model if isinstance(model, Model) else read_model(model)
    path = _path(out, whole.name, ".safetensors" if target is None else target.suffix)
    if not overwrite:
        check_free("export", [path, f"{path}.md"])
    if target is None:
        report = _as_safetensors(whole, path)
    else:
        samples = {} if isinstance(check, bool) else sample_shapes(check)
        network = prepared(whole, shape, outputs, samples)
        if target.fixed_sizes:
            network = _with_fixed_sizes(network, whole, outputs, target)
        job = _Job(network, target, check, limit, progress, options)
        report = job.export(path, keep, overwrite)
    seconds = time.perf_counter() - started
    report = replace(report, notes=whole.notes, seconds=seconds)
    with open(f"{report.path}.md", "w", encoding="utf-8") as file:
        file.write(report.markdown())
    return report


def _check_options(to: str, target: Target | None, options: Mapping[str, object]) -> None:
    known = () if target is None else target.options
    for name in options:
        if name not in known:
            owners = [other.name for other in TARGETS.values() if name in other.options]
            text = (
                f"it is one of {', '.join(map(repr, owners))}"
                if owners
                else f"its options: {', '.join(known) or 'none'}"
            )
            raise ArgumentError(f"export: {to!r} has no option {name!r}; {text}{near_names(name, known)}")


def _with_fixed_sizes(
    network: Network, model: Model, outputs: Sequence[str] | None, target: Target
) -> Network:
    """Return a network that takes a batch of 1 where its size was free; other free sizes must be given."""
    shapes = {
        name: (shape[0] or 1, *shape[1:]) if shape else shape for name, shape in network.inputs.data.items()
    }
    if shapes == network.inputs.data:
        return network
    for name, shape in shapes.items():
        if 0 in shape:
            raise ShapeError(
                f"export: all sizes of the input {name!r} must be given, as {target.runtime} takes data of one fixed "
                f"shape: {ask_for_shape(name, shape, may_be_free=False)}"
            )
    network = prepared(model, shapes, outputs)
    note = f"The size of the batch is 1: {target.runtime} takes data of one fixed shape."
    return replace(network, left_out=(*network.left_out, note))


def _path(out: PathLike | None, name: str, suffix: str) -> str:
    path = os.fspath(out) if out is not None else name + suffix
    if path.endswith(("/", os.sep)):  # said to be a folder
        os.makedirs(path, exist_ok=True)
    if os.path.isdir(path) and not path.endswith(suffix):  # some targets are folders themselves
        path = os.path.join(path, name + suffix)
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise MissingFileError(f"export: the folder {os.path.dirname(path)!r} of {path!r} must exist")
    return path


def _as_safetensors(model: Model, path: str) -> Report:
    """Write a whole checkpoint, and compare what is read again: it must be the same, bit by bit."""
    save_safetensors(path, model.symbol, model.arg_params, model.aux_params)
    _, arg_params, aux_params = load_safetensors(path)
    expected = {**model.arg_params, **model.aux_params}
    found = {**arg_params, **aux_params}
    names = list(expected)
    compared = differences(
        names, [expected[name].asnumpy() for name in names], [found[name].asnumpy() for name in names]
    )
    return Report(
        path,
        "safetensors",
        "safetensors",
        {},
        (),
        (Check("the parameters, read again", tuple(compared)),),
        0.0,
    )


def _put_in_place(folder: str, path: str, overwrite: bool) -> None:
    """Move what was written for a path beside it; the file itself last, and nothing if a file is in the way."""
    where, name = os.path.split(path)
    names = sorted(os.listdir(folder), key=lambda each: each == name)
    if not overwrite:
        check_free("export", (os.path.join(where, each) for each in names))
    for each in names:
        final = os.path.join(where, each)
        if os.path.isdir(final):
            shutil.rmtree(final)
        os.replace(os.path.join(folder, each), final)


@dataclass(frozen=True)
class _Job:
    """A network on its way to a target, and what it is checked on."""

    network: Network
    target: Target
    check: PathLike | bool
    limit: float
    progress: Progress
    options: Mapping[str, object]

    def export(self, path: str, keep: bool, overwrite: bool) -> Report:
        """Write to a folder beside the path, run from there, and put in place what is right."""
        where = os.path.dirname(path) or "."
        checks: list[Check] = []
        wrong = None
        with tempfile.TemporaryDirectory(prefix=".export-", dir=where) as folder:
            unfinished = os.path.join(folder, os.path.basename(path))
            samples = self._samples() if self.check is not False and self.target.load is not None else []
            self.progress(f"writing {self.target.name}", 1, 2 + len(samples))
            self.target.write(self.network, unfinished, **self.options)
            if samples:
                checks = self.checks(unfinished, samples)
                wrong = self._first_wrong(checks)
            if wrong is None or keep:
                _put_in_place(folder, path, overwrite)
        if wrong is not None:
            left = f"The file is {path}." if keep else "No file is left; with keep (--keep) it is."
            raise DifferentOutputsError(f"export: {self._what_differs(wrong)} {left}")
        network, runtime = self.network, self.target.runtime if checks else ""
        return Report(
            path,
            self.target.name,
            runtime,
            network.inputs.shapes,
            network.left_out,
            tuple(checks),
            self.limit,
        )

    def checks(self, path: str, every: Sequence[tuple[str, Samples]]) -> list[Check]:
        """Run both engines on each set of samples."""
        network, target, found = self.network, self.target, []
        assert target.load is not None  # others are not run
        try:
            runner = target.load(path)
            for step, (what, samples) in enumerate(every, 2):
                self.progress(f"running rebind and {target.runtime} on {what}", step, 2 + len(every))
                outputs = runner(samples)
                expected = run(network.symbol, network.params, samples)
                found.append(
                    Check(what, tuple(differences(network.symbol.list_outputs(), expected, outputs)))
                )
        except MXNetError:
            raise
        except Exception as error:  # of whatever kind the runtime has
            raise MXNetError(f"export: {target.runtime} does not run the file: {error}") from error
        return found

    def _samples(self) -> list[tuple[str, Samples]]:
        """Return what to run on, in two batches of other sizes where that of the batch is free."""
        network, check = self.network, self.check
        free = any(shape and not shape[0] for shape in network.inputs.data.values())
        if isinstance(check, bool):
            sizes = [1, 3] if free else [0]
            return [
                (_named("random numbers", size), random_samples(network, size, other=size == 3))
                for size in sizes
            ]
        given = read_samples(network, check, own_size=True)
        size = next(iter(given.values())).shape[0] if given and free else 0
        first = {
            name: value[:1] for name, value in given.items() if network.inputs.data.get(name, (1,))[0] == 0
        }
        samples = [(_named(os.fspath(check), size), given)]
        if size > 1 and not network.inputs.states:
            samples.append((_named(os.fspath(check), 1), {**given, **first}))
        return samples

    def _first_wrong(self, checks: Sequence[Check]) -> Difference | None:
        # Not `>`: what cannot be compared is nan.
        return next(
            (each for check in checks for each in check.outputs if not each.relative <= self.limit), None
        )

    def _what_differs(self, wrong: Difference) -> str:
        """Return a sentence about an output that differs, and the first node that does."""
        runtime = self.target.runtime
        text = (
            f"{wrong.name!r} in {runtime} differs by {wrong.relative:.3g} of its largest number, more than "
            f"{self.limit:g};"
        )
        self.progress("looking for the first node that differs", 2, None)
        nodes = [node for node in self.network.symbol.graph.nodes if not node.is_variable]
        entries = [entry for node in nodes for entry in node.outputs[: node.visible_outputs]]
        every = replace(self, network=replace(self.network, symbol=Symbol(Graph(entries))))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, f"every-output{self.target.suffix}")
            try:
                every.target.write(every.network, path, **self.options)
                checks = every.checks(path, self._samples())
            except Exception as error:  # the difference is known; that a converter fails here hides nothing
                return f"{text} which node is the first to differ could not be found: {error}."
        first = self._first_wrong(checks)
        if first is None:
            return f"{text} where all nodes are outputs, none differs."
        node = next(entry.node for entry in entries if entry.name == first.name)
        return f"{text} the first node that differs is {node!r}, by {first.relative:.3g} in {first.name!r}."


def _named(what: str, size: int) -> str:
    return f"{what}, a batch of {size}" if size else what
