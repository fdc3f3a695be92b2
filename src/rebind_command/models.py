"""The flags of ``rebind export``, ``summary``, ``plot``, ``predict`` and ``doctor``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["COMMANDS", "TARGETS"]

F = TypeVar("F", bound=Callable[..., Any])

#: What ``--to`` takes: the names of `rebind.convert.TARGETS`, which cannot be imported in time.
TARGETS = ("onnx", "torch", "python", "pt2", "openvino", "pte", "safetensors")


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
        help="The shape of an input; 0 is a size that stays free.",
    )(function)
    return click.argument("model", nargs=-1, required=True)(function)


def _out(help_text: str) -> Callable[[F], F]:
    return click.option("--out", metavar="PATH", help=help_text)


_OUTPUTS = click.option(
    "--outputs", metavar="NAME,...", default="", help="Outputs of any nodes; by default the predictions."
)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


@click.command(
    short_help="Write a model for another engine, checked by running both.",
    epilog="\b\nExample: rebind export resnet-50 --to onnx --shape data:0,3,224,224 --check pictures/",
)
@_model
@click.option("--to", type=click.Choice(TARGETS), default="onnx", show_default=True, help="The kind of file.")
@click.option(
    "--check", metavar="PATH",
    help="What to run both engines on: a folder of pictures, or an .npz file of inputs by name. "
    "By default random numbers.",
)  # fmt: skip
@_out("The file, or a folder for it; by default here, named after the model.")
@_OUTPUTS
@click.option("--opset", type=click.IntRange(13, 26), help="ONNX's version of operators; by default 17.")
@click.option(
    "--limit", type=click.FloatRange(0), default=1e-4, show_default=True,
    help="The greatest difference that is allowed, relative to the largest number of an output.",
)  # fmt: skip
@click.option("--keep", is_flag=True, help="Leave the file there even if it differs.")
def export(
    model: tuple[str, ...], shapes: tuple[Any, ...], to: str, check: str | None, out: str | None, outputs: str,
    opset: int | None, limit: float, keep: bool,
) -> int:  # fmt: skip
    """Write MODEL for another engine, and check it by running both.

    MODEL is the prefix of a checkpoint, with or without its epoch (net, net-0010), one or both of its files, a folder,
    SageMaker's model.tar.gz, or a .safetensors file. What belongs to training is left out.
    """
    if opset is not None and to != "onnx":
        raise click.UsageError(f"--opset is for --to onnx; got --to {to}")
    from rebind.convert.commands import run_export

    return run_export(model, to, dict(shapes), check, out, _names(outputs), limit, opset, keep)


@click.command(epilog="\b\nExample: rebind summary resnet-50")
@_model
def summary(model: tuple[str, ...], shapes: tuple[Any, ...]) -> int:
    """Show the layers, inputs and outputs of MODEL."""
    from rebind.convert.commands import run_summary

    return run_summary(model, dict(shapes))


@click.command(epilog="\b\nExample: rebind plot resnet-50 --out resnet.svg")
@_model
@_out("The picture: .svg, .pdf or .png, or .gv for graphviz; by default an .svg named after the model.")
def plot(model: tuple[str, ...], shapes: tuple[Any, ...], out: str | None) -> int:
    """Draw MODEL."""
    from rebind.convert.commands import run_plot

    return run_plot(model, dict(shapes), out)


@click.command(epilog="\b\nExample: rebind predict resnet-50 pictures/ --labels synset.txt")
@_model
@click.argument("data")
@_OUTPUTS
@click.option(
    "--labels", metavar="FILE", type=click.Path(exists=True), help="The names of the classes, one a line."
)
@_out("Write the outputs to this .npz file instead of printing the best classes.")
def predict(
    model: tuple[str, ...],
    shapes: tuple[Any, ...],
    data: str,
    outputs: str,
    labels: str | None,
    out: str | None,
) -> int:
    """Show what MODEL gives for DATA, a folder of pictures or an .npz file of inputs by name."""
    from rebind.convert.commands import run_predict

    return run_predict(model, data, dict(shapes), _names(outputs), labels, out)


@click.command(epilog="\b\nExample: rebind doctor")
def doctor() -> int:
    """Show what is installed, and the usual mistakes with it."""
    from rebind.convert.commands import run_doctor

    return run_doctor()


#: For the command's group.
COMMANDS = (export, summary, plot, predict, doctor)
