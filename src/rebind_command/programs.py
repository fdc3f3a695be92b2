"""``rebind run``, ``launch`` and ``im2rec``, which take the command lines of python and of MXNet's tools.

Those have lists such as ``--exts .jpg .png``, and programs with flags of their own behind them: argparse reads them, as
MXNet's tools do.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import click

from . import im2rec, launch

__all__ = ["COMMANDS", "parse"]


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return what one of these command lines asks for; end the process for help and mistakes.

    >>> parse(["launch", "-n", "2", "python", "train.py"]).num_workers
    2
    """
    given = _parser().parse_args(arguments)
    if given.command == "launch":
        launch.check(given)
    elif given.command == "run":
        _check_program(given)
    return given


def _check_program(given: argparse.Namespace) -> None:
    if not (given.module or given.target):
        given.parser.error("name a script, or a module after -m")
    if not given.module and not os.path.exists(given.target[0]):
        print(f"rebind run: no such file: {given.target[0]!r}", file=sys.stderr)
        raise SystemExit(2)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rebind", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command")
    run = commands.add_parser(
        "run",
        usage="rebind run [-h] (SCRIPT | -m MODULE) [ARGUMENT ...]",
        description="Run a program as python does, with rebind instead of mxnet, in it and in the processes that it "
        "starts. An installed mxnet is left alone.",
        epilog="example: rebind run train.py --batch-size 64",
        allow_abbrev=False,
    )  # fmt: skip
    run.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE",
        help="a module instead of a script, as in 'python -m'",
    )  # fmt: skip
    run.add_argument(
        "target", nargs=argparse.REMAINDER, metavar="SCRIPT",
        help="the script, or a folder or zip file with a __main__.py; what follows is for the program",
    )  # fmt: skip
    run.set_defaults(parser=run)
    launch.add_arguments(
        commands.add_parser(
            "launch",
            usage="rebind launch [-h] -n N [FLAG ...] COMMAND ...",
            description="Start a program in several processes that train together, on this machine or on several, and "
            "start them again when one is lost. The flags are those of MXNet's tool launch.py, and --max-restarts.",
            epilog="example: rebind launch -n 4 python train.py --kv-store dist_sync",
            allow_abbrev=False,
        )
    )
    im2rec.add_arguments(
        commands.add_parser(
            "im2rec",
            description="Make lists of the pictures in a folder (--list), then record files of the pictures in the "
            "lists, for mx.io.ImageRecordIter. The flags are those of MXNet's tool im2rec.py.",
            epilog="example: rebind im2rec --list --recursive data/train pictures, then "
            "rebind im2rec --resize 256 data/train pictures",
            allow_abbrev=False,
        )
    )
    return parser


def _run(arguments: Sequence[str]) -> int:
    given = parse(arguments)
    if given.command == "run":
        os.environ.setdefault("REBIND_TUNE", "1")  # the command's process is the program's
    from rebind import cli  # what takes seconds, now that something is to be done

    return cli.run(given)


class _Program(click.Command):
    """A command whose line goes to argparse as it is: not even ``--`` is click's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.params = {"arguments": args}
        return []


def _program(name: str, help_text: str) -> click.Command:
    def callback(arguments: Sequence[str]) -> int:
        return _run([name, *arguments])

    return _Program(name, callback=callback, help=help_text)


#: For the command's group.
COMMANDS = (
    _program("run", "Run a program with 'import mxnet as mx' as it is."),
    _program("launch", "Start the processes of a job."),
    _program("im2rec", "Pack pictures into record files."),
)
