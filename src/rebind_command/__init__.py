"""The command ``rebind``: its flags and their mistakes, known without a moment's wait.

A package beside `rebind`, since whoever imports a module of that imports PyTorch first, which takes seconds.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from . import im2rec, launch

__all__ = ["main", "parse"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments`, by default those of this process; return its exit code."""
    given = parse(arguments)
    if given.command == "run":
        os.environ.setdefault("REBIND_TUNE", "1")  # the command's process is the program's
    from rebind import cli  # what takes seconds, now that something is to be done

    return cli.run(given)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what a command line asks for; end the process for help and mistakes.

    >>> parse(["launch", "-n", "2", "python", "train.py"]).num_workers
    2
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.command is None:
        parser.print_help(sys.stderr)
        raise SystemExit(2)
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
    parser = argparse.ArgumentParser(
        prog="rebind",
        description="MXNet 1.x's symbolic programs, with PyTorch as the engine.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"rebind {_version()}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    run = commands.add_parser(
        "run",
        help="run a program with 'import mxnet as mx' as it is",
        usage="rebind run [-h] (SCRIPT | -m MODULE) [ARGUMENT ...]",
        description="Run a program as python does, with rebind instead of mxnet, in it and in the processes that it "
        "starts. An installed mxnet is left alone.",
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
            help="start the processes of a job",
            usage="rebind launch [-h] -n N [FLAG ...] COMMAND ...",
            description="Start a program in several processes that train together, on this machine or on several, and "
            "start them again when one is lost. The flags are those of MXNet's tool launch.py, and --max-restarts.",
            allow_abbrev=False,
        )
    )
    im2rec.add_arguments(
        commands.add_parser(
            "im2rec",
            help="pack pictures into record files",
            description="Make lists of the pictures in a folder (--list), then record files of the pictures in the "
            "lists, for mx.io.ImageRecordIter. The flags are those of MXNet's tool im2rec.py.",
            allow_abbrev=False,
        )
    )
    return parser


def _version() -> str:
    """Return the version of `rebind`, without importing that."""
    spec = importlib.util.find_spec("rebind")
    assert spec is not None and spec.origin is not None  # it is beside this package
    found: str = runpy.run_path(str(Path(spec.origin).with_name("_version.py")))["__version__"]
    return found
