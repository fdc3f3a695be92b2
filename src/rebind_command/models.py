"""The flags of ``rebind export``, ``import``, ``summary``, ``plot``, ``predict``, ``report`` and ``doctor``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from .programs import complete_files

__all__ = ["COMMANDS", "TARGETS"]

F = TypeVar("F", bound=Callable[..., Any])

#: What ``--to`` takes: the names of `rebind.convert.TARGETS`, which cannot be imported in time.
TARGETS = ("onnx", "torch", "python", "pt2", "openvino", "pte", "tflite", "coreml", "coreai", "safetensors")


class _Shape(click.ParamType):
    """Parses ``data:1,3,224,224``."""

    name = "NAME:SIZE,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[int, ...]]:
        name, _, sizes = value.rpartition(":")
        parts = [part.strip() for part in sizes.split(",")]
        if not name or not all(part.isdecimal() for part in parts):
            self.fail(f"must be NAME:SIZE,SIZE,..., as in data:1,3,224,224; got {value!r}", param, ctx)
        return name, tuple(map(int, parts))


def _model(function: F) -> F:
    """Add the arguments of every command that reads a model."""
    function = click.option(
        "--shape",
        "shapes",
        type=_Shape(),
        multiple=True,
        help="The shape of an input, if the model does not tell it: data:1,3,224,224. 0 leaves a size free.",
    )(function)
    return click.argument("model", nargs=-1, required=True, shell_complete=complete_files)(function)


def _out(help_text: str) -> Callable[[F], F]:
    return click.option("--out", metavar="PATH", help=help_text, shell_complete=complete_files)


_FORCE = click.option("--force", is_flag=True, help="Replace files that already exist.")

_OUTPUTS = click.option(
    "--outputs",
    metavar="NAME,...",
    default="",
    help="Names of outputs, of any nodes. Default: the predictions.",
)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


@click.command(
    short_help="Convert a model for another engine, and compare both.",
    epilog="\b\nExample: rebind export resnet-50 --to onnx --shape data:0,3,224,224 --check pictures/",
)
@_model
@click.option("--to", type=click.Choice(TARGETS), default="onnx", show_default=True, help="The format.")
@click.option(
    "--check", metavar="PATH", shell_complete=complete_files,
    help="Data to compare on: a folder of pictures, or an .npz file of inputs by name. Default: random numbers.",
)  # fmt: skip
@click.option("--no-check", is_flag=True, help="Write the file without comparing.")
@_out("The file, or a folder for it. Default: this folder, named after the model.")
@_OUTPUTS
@click.option("--opset", type=click.IntRange(13, 26), help="ONNX's opset. Default: 17.")
@click.option(
    "--limit", type=click.FloatRange(0), default=1e-4, show_default=True,
    help="The largest difference allowed, relative to the largest number of an output.",
)  # fmt: skip
@click.option("--keep", is_flag=True, help="Leave the file there even if its numbers differ.")
@_FORCE
def export(
    model: tuple[str, ...], shapes: tuple[Any, ...], to: str, check: str | None, no_check: bool, out: str | None,
    outputs: str, opset: int | None, limit: float, keep: bool, force: bool,
) -> int:  # fmt: skip
    """Convert MODEL for another engine, run both, and compare their outputs.

    MODEL is the prefix of a checkpoint, with or without the epoch (net, net-0010), one or both of its files, a folder
    with it, SageMaker's model.tar.gz, or a .safetensors file. Losses, labels and other parts that only training needs
    are left out. If the outputs differ by more than --limit, no file is written.
    """
    if opset is not None and to != "onnx":
        raise click.UsageError(f"--opset is for --to onnx; got --to {to}")
    if check is not None and no_check:
        raise click.UsageError("--check and --no-check exclude each other")
    from rebind.convert.commands import run_export

    data = check or not no_check
    return run_export(model, to, dict(shapes), data, out, _names(outputs), limit, opset, keep, force)


@click.command("import", epilog="\b\nExample: rebind import resnet.onnx --out resnet-50")
@click.argument("model", type=click.Path())
@click.option(
    "--out", metavar="PREFIX", help="The checkpoint's prefix. Default: this folder, named after the file."
)
@_FORCE
def import_(model: str, out: str | None, force: bool) -> int:
    """Convert MODEL to a checkpoint.

    MODEL is a file of ONNX (.onnx), of torch.export (.pt2) or of rebind export --to safetensors (.safetensors).
    """
    from rebind.convert.commands import run_import

    return run_import(model, out, force)


@click.command(epilog="\b\nExample: rebind summary resnet-50")
@_model
def summary(model: tuple[str, ...], shapes: tuple[Any, ...]) -> int:
    """Show the layers, inputs and outputs of MODEL."""
    from rebind.convert.commands import run_summary

    return run_summary(model, dict(shapes))


@click.command(epilog="\b\nExample: rebind plot resnet-50 --out resnet.svg")
@_model
@_out("The picture: .svg, .pdf, .png, or .gv for graphviz. Default: an .svg named after the model.")
@_FORCE
def plot(model: tuple[str, ...], shapes: tuple[Any, ...], out: str | None, force: bool) -> int:
    """Draw the network of MODEL, with shapes where they are known."""
    from rebind.convert.commands import run_plot

    return run_plot(model, dict(shapes), out, force)


@click.command(epilog="\b\nExample: rebind predict resnet-50 pictures/ --labels synset.txt")
@_model
@click.argument("data", shell_complete=complete_files)
@_OUTPUTS
@click.option(
    "--labels", metavar="FILE", type=click.Path(exists=True), help="The names of the classes, one per line."
)
@_out("Write the outputs to this .npz file instead of printing the best classes.")
@_FORCE
def predict(
    model: tuple[str, ...],
    shapes: tuple[Any, ...],
    data: str,
    outputs: str,
    labels: str | None,
    out: str | None,
    force: bool,
) -> int:
    """Run MODEL on DATA and print the best classes.

    DATA is a folder of pictures, or an .npz file of inputs by name, which also gives their shapes.
    """
    from rebind.convert.commands import run_predict

    return run_predict(model, data, dict(shapes), _names(outputs), labels, out, force)


@click.command(epilog="\b\nExample: rebind report runs/digits --profile trace.json")
@click.argument("run")
@click.option(
    "--profile",
    metavar="FILE",
    type=click.Path(exists=True),
    help="A trace from fit(profile=FILE), for a table of where the time went.",
)
@_out("The page. Default: RUN-report.html.")
@click.option(
    "--force",
    is_flag=True,
    help="Replace an existing file that is not a report. Reports are always replaced.",
)
def report(run: str, profile: str | None, out: str | None, force: bool) -> int:
    """Write an HTML page on the run that fit(checkpoint=RUN) saved.

    It shows the curves, the network, where the time went, the settings and what is installed.
    """
    from rebind.convert.commands import run_report

    return run_report(run, profile, out, force)


@click.command(
    short_help="Show what is installed, and find mistakes in it.", epilog="\b\nExample: rebind doctor"
)
@click.option("--list", "list_checks", is_flag=True, help="List the checks, and how to mend what each finds.")
def doctor(list_checks: bool) -> int:
    """Show what is installed, and find common mistakes in the installation."""
    from rebind.convert.commands import run_doctor

    return run_doctor(list_checks)


#: For the command's group.
COMMANDS = (export, import_, summary, plot, predict, report, doctor)
