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
    short_help="Pack images into record files.",
    epilog="""\b
Example: rebind im2rec --list --recursive data/train pictures, then
         rebind im2rec --resize 256 data/train pictures""",
)
@click.argument("prefix", type=click.Path())
@click.argument("root", type=click.Path())
@click.option(
    "--list", is_flag=True, help="Make list files. Without it: make record files from the list files."
)
@click.option(
    "--exts",
    multiple=True,
    default=[".jpeg", ".jpg", ".png"],
    metavar="EXT...",
    show_default=True,
    help="Lists: file extensions of the images.",
)
@click.option(
    "--chunks",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Lists: split the images into N lists. Default: 1.",
)
@click.option(
    "--train-ratio",
    type=click.FloatRange(0, 1),
    default=1.0,
    metavar="R",
    help="Lists: fraction of the images for PREFIX_train.lst; the rest goes to PREFIX_val.lst. Default: 1, all in "
    "PREFIX.lst.",
)
@click.option(
    "--test-ratio",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="R",
    help="Lists: fraction of the images for PREFIX_test.lst. Default: 0.",
)
@click.option(
    "--recursive",
    is_flag=True,
    help="Lists: include subfolders, each with its own label. Without it: all labels are 0.",
)
@click.option(
    "--no-shuffle", is_flag=True, help="Lists: keep the order of the file names. Without it: shuffle."
)
@click.option("--pass-through", is_flag=True, help="Records: store the files as they are, not encoded again.")
@click.option(
    "--resize",
    type=int,
    default=0,
    metavar="SIZE",
    help="Records: resize the shorter edge to SIZE pixels. Default: 0, no change.",
)
@click.option("--center-crop", is_flag=True, help="Records: crop the centre to a square.")
@click.option(
    "--quality",
    type=int,
    default=95,
    show_default=True,
    metavar="Q",
    help="Records: quality of JPEG, 1 to 100; compression level of PNG, 1 to 9.",
)
@click.option(
    "--num-thread",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Records: number of threads that encode images. Default: 1.",
)
@click.option(
    "--color",
    type=click.IntRange(-1, 1),
    default=1,
    show_default=True,
    help="Records: 1 for colour, 0 for grey, -1 as stored.",
)
@click.option(
    "--encoding",
    type=click.Choice([".jpg", ".png"]),
    default=".jpg",
    show_default=True,
    help="Records: format of the encoded images.",
)
@click.option(
    "--pack-label", is_flag=True, help="Records: store all labels of an image. Without it: the first label."
)
@click.option(
    "--skip-broken", is_flag=True,
    help="Records: skip files that are not valid images, and list them. Without it: stop with an error.",
)  # fmt: skip
def im2rec(no_shuffle: bool, **given: Any) -> int:
    """Make list files of the images in the folder ROOT (with --list), then record files (without it).

    Record files are for mx.io.ImageRecordIter. PREFIX is the path of the files without its ending: PREFIX.lst,
    PREFIX.rec, PREFIX.idx. The flags are those of MXNet's tool im2rec.py.
    """
    from rebind.im2rec import run  # what takes seconds, now that something is to be done

    return run(SimpleNamespace(shuffle=not no_shuffle, **given))


#: For the command's group.
COMMANDS = (im2rec,)
