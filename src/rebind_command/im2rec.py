"""The flags of ``rebind im2rec``: those of MXNet's tool ``im2rec.py``, and ``--skip-broken``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import click

__all__ = ["COMMANDS"]


class _Im2rec(click.Command):
    """A command one of whose flags takes several values, as in MXNet's tool: ``--exts .jpg .png``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_one_value_each(args, "--exts")))


def _one_value_each(arguments: Sequence[str], flag: str) -> Iterator[str]:
    """Yield arguments with a flag before each of its values but the first, which has it.

    >>> list(_one_value_each(["--exts", ".a", ".b", "--list", "x"], "--exts"))
    ['--exts', '.a', '--exts', '.b', '--list', 'x']
    """
    values = None
    for argument in arguments:
        if argument.startswith("-"):
            values = 0 if argument == flag else None
        elif values is not None:
            if values:
                yield flag
            values += 1
        yield argument


@click.command(
    cls=_Im2rec,
    short_help="Pack pictures into record files.",
    epilog="""\b
Example: rebind im2rec --list --recursive data/train pictures, then
         rebind im2rec --resize 256 data/train pictures""",
)
@click.argument("prefix", type=click.Path())
@click.argument("root", type=click.Path())
@click.option("--list", is_flag=True, help="Make lists; otherwise make records of those that are there.")
@click.option(
    "--exts",
    multiple=True,
    default=[".jpeg", ".jpg", ".png"],
    metavar="EXT...",
    show_default=True,
    help="Lists: endings of the pictures' names.",
)
@click.option(
    "--chunks",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Lists: divide the pictures into N parts.",
)
@click.option(
    "--train-ratio",
    type=click.FloatRange(0, 1),
    default=1.0,
    metavar="R",
    help="Lists: share for PREFIX_train.lst (default: all, in PREFIX.lst); the rest is for PREFIX_val.lst.",
)
@click.option(
    "--test-ratio",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="R",
    help="Lists: share for PREFIX_test.lst.",
)
@click.option(
    "--recursive",
    is_flag=True,
    help="Lists: look in the folders below, too, and give each folder a label of its own; otherwise labels are 0.",
)
@click.option("--no-shuffle", is_flag=True, help="Lists: leave the pictures in the order of their names.")
@click.option("--pass-through", is_flag=True, help="Records: store the files as they are.")
@click.option(
    "--resize",
    type=int,
    default=0,
    metavar="SIZE",
    help="Records: resize the shorter edge to this; by default no change.",
)
@click.option("--center-crop", is_flag=True, help="Records: crop the longer edge to the size of the shorter.")
@click.option(
    "--quality",
    type=int,
    default=95,
    show_default=True,
    help="Records: of a JPEG 1 to 100, the compression of a PNG 1 to 9.",
)
@click.option(
    "--num-thread",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Records: threads that encode pictures.",
)
@click.option(
    "--color",
    type=click.IntRange(-1, 1),
    default=1,
    show_default=True,
    help="Records: 1 is colour, 0 grey, -1 as stored.",
)
@click.option(
    "--encoding",
    type=click.Choice([".jpg", ".png"]),
    default=".jpg",
    show_default=True,
    help="Records: format.",
)
@click.option("--pack-label", is_flag=True, help="Records: store all labels; otherwise the first one.")
@click.option(
    "--skip-broken", is_flag=True,
    help="Records: leave out files that cannot be read as pictures, and name them; otherwise they are an error.",
)  # fmt: skip
def im2rec(no_shuffle: bool, **given: Any) -> int:
    """Make lists of the pictures in the folder ROOT (--list), then record files of the pictures in the lists.

    Records are for mx.io.ImageRecordIter. PREFIX is the begin of the files' names: PREFIX.lst, PREFIX.rec, ... The
    flags are those of MXNet's tool im2rec.py.
    """
    from rebind.im2rec import run  # what takes seconds, now that something is to be done

    return run(SimpleNamespace(shuffle=not no_shuffle, **given))


#: For the command's group.
COMMANDS = (im2rec,)
