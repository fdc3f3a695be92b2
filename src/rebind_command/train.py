"""The flags of ``rebind train``."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["COMMANDS"]


class _ImageShape(click.ParamType):
    """Parses ``3,224,224``."""

    name = "C,H,W"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        sizes = [size.strip() for size in value.split(",")]
        if len(sizes) != 3 or not all(size.isdecimal() and int(size) for size in sizes):
            self.fail(f"must be CHANNELS,HEIGHT,WIDTH, as in 3,224,224; got {value!r}", param, ctx)
        return tuple(map(int, sizes))


@click.command(
    short_help="Train a network of mx.models on images in a record file.",
    epilog="\b\nExample: rebind train --model lenet --data train.rec --val val.rec --shape 3,28,28 --prefix run/net",
)
@click.option("--model", required=True, metavar="NAME", help="Network: a name from mx.models.list().")
@click.option(
    "--data",
    required=True,
    type=click.Path(exists=True, dir_okay=False),
    help="Record file (.rec) to train on.",
)
@click.option(
    "--val", type=click.Path(exists=True, dir_okay=False), help="Record file to validate on after each epoch."
)
@click.option(
    "--classes",
    type=click.IntRange(2),
    default=1000,
    metavar="N",
    show_default=True,
    help="Number of classes.",
)
@click.option(
    "--shape",
    type=_ImageShape(),
    default="3,224,224",
    show_default=True,
    help="Channels, height and width of the images, which are cropped to it.",
)
@click.option(
    "--epochs", type=click.IntRange(1), default=10, metavar="N", show_default=True, help="Number of epochs."
)
@click.option(
    "--batch-size",
    type=click.IntRange(1),
    default=32,
    metavar="N",
    show_default=True,
    help="Images per batch.",
)
@click.option(
    "--lr",
    type=click.FloatRange(0),
    default=0.01,
    metavar="R",
    show_default=True,
    help="Learning rate of SGD.",
)
@click.option(
    "--prefix",
    metavar="PATH",
    help="Path of the checkpoints without the epoch: PATH-0001.params. Default: the name of the model.",
)
def train(
    model: str, data: str, val: str | None, classes: int, shape: tuple[int, ...], epochs: int, batch_size: int,
    lr: float, prefix: str | None,
) -> int:  # fmt: skip
    """Train a network of mx.models on images in a record file, and save a checkpoint after each epoch."""
    from rebind.models import training  # what takes seconds, now that something is to be done

    return training.run_train(
        model, data, val, classes=classes, shape=shape, epochs=epochs, batch_size=batch_size, lr=lr,
        prefix=prefix or model,
    )  # fmt: skip


COMMANDS = (train,)
