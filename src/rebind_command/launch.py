"""The flags of ``rebind launch``: those of MXNet's ``tools/launch.py``, and some for restarts and logs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import click

from .programs import PROGRAM_SETTINGS, complete_files

__all__ = ["COMMANDS", "parse"]

F = TypeVar("F", bound=Callable[..., Any])

#: MXNet's launchers that are not here, and what to do instead.
_GONE = {
    "sge": "in the script for qsub, use --launcher ssh and a host file made from $PE_HOSTFILE",
    "yarn": "use Slurm, Kubernetes or ssh, see docs/distributed.md",
}


class _Variable(click.ParamType):
    """Parses ``NAME`` and ``NAME:VALUE``."""

    name = "NAME[:VALUE]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str | None]:
        name, colon, content = value.partition(":")
        if not name.isidentifier():
            self.fail(f"must be NAME or NAME:VALUE; got {value!r}", param, ctx)
        return name, content if colon else None


class _Seconds(click.ParamType):
    """Parses a time."""

    name = "S"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = 0
        if not 0 < seconds < float("inf"):
            self.fail(f"must be a number of seconds > 0; got {value!r}", param, ctx)
        return seconds


class _Launch(click.Command):
    """A command that refuses flags which do not fit each other."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        if ctx.resilient_parsing:  # a shell asks what may follow
            return rest
        given = ctx.params
        given["launcher"] = given["launcher"] or ("ssh" if given["hostfile"] else "local")
        if sentence := _what_does_not_fit(SimpleNamespace(**given)):
            raise click.UsageError(sentence, ctx)
        return rest


def _what_does_not_fit(given: SimpleNamespace) -> str | None:
    launcher = given.launcher
    if not given.command_line:
        return (
            "COMMAND is missing: the program that each process runs, as in rebind launch -n 4 python train.py"
        )
    if launcher in _GONE:
        return f"--launcher {launcher} is not supported; {_GONE[launcher]}"
    if launcher == "ssh" and not given.hostfile:
        return "--launcher ssh needs a file that lists the machines: -H FILE"
    if launcher == "local" and given.hostfile is not None:
        return "--launcher local runs all processes on this machine; got -H. For several machines: --launcher ssh"
    if launcher != "ssh" and given.sync_dst_dir is not None:
        return f"--sync-dst-dir is for --launcher ssh; got --launcher {launcher}"
    return None


def _machines(function: F) -> F:
    """Add the flags on machines."""
    for flag in (
        click.option(
            "-p", "--port", type=click.IntRange(0), default=0, metavar="PORT",
            help="Port of this machine that all processes connect to. Default: a free port.",
        ),
        click.option(
            "--host-ip", metavar="ADDRESS",
            help="Address of this machine for the other machines. Default: detected.",
        ),
        click.option(
            "--sync-dst-dir", metavar="DIR",
            help="Copy the current folder to DIR on each machine, with rsync, and run there.",
        ),
        click.option(
            "-H", "--hostfile", type=click.Path(path_type=Path), metavar="FILE",
            help="File that lists the machines, one per line: [user@]host[:port].",
        ),
    ):  # fmt: skip
        function = flag(function)
    return function


def _variables(function: F) -> F:
    """Add the flags on environment variables."""
    for flag, whose in (
        ("--env-server", "the servers"),
        ("--env-worker", "the workers"),
        ("--env", "all processes"),
    ):
        function = click.option(
            flag, type=_Variable(), multiple=True,
            help=f"Environment variable for {whose}. Without VALUE: its value on this machine.",
        )(function)  # fmt: skip
    return function


@click.command(
    cls=_Launch,
    context_settings=PROGRAM_SETTINGS,
    short_help="Start the processes of a job.",
    epilog="\b\nExample: rebind launch -n 4 python train.py --kv-store dist_sync",
)
@click.option(
    "-n",
    "--num-workers",
    type=click.IntRange(1),
    required=True,
    metavar="N",
    help="Number of workers.",
)
@click.option(
    "-s",
    "--num-servers",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Number of servers, for kvstore='dist_async'. Default: 0.",
)
@click.option(
    "--launcher",
    type=click.Choice(["local", "ssh", "mpi", "slurm", *_GONE]),
    metavar="KIND",
    help="How to start the processes: local (on this machine), ssh, mpi (mpirun) or slurm (srun). Default: local; "
    "with -H: ssh.",
)
@click.option(
    "--max-restarts",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="How many times to restart all processes after one fails. Default: 0.",
)
@click.option(
    "--timeout",
    type=_Seconds(),
    help="Seconds that workers wait for each other before they stop with an error; sets REBIND_TIMEOUT.",
)
@click.option(
    "--log-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the output of each process to files in DIR, as torchrun does.",
)
@_machines
@_variables
@click.option(
    "--p3",
    is_flag=True,
    help="Accepted for MXNet's scripts; no effect. Gradients are sent in the order of their priority anyway.",
)
@click.argument(
    "command_line", nargs=-1, type=click.UNPROCESSED, metavar="COMMAND...", shell_complete=complete_files
)  # fmt: skip
def launch(**given: Any) -> int:
    """Start a program in several processes that train together.

    They run on this machine or on several. With --max-restarts all are restarted when one fails. COMMAND is the
    program with its arguments, the same for all processes; a Python file runs with this Python. The flags of MXNet's
    tool launch.py work too.
    """
    from rebind.launch import run  # what takes seconds, now that something is to be done

    return run(SimpleNamespace(**given))


def parse(arguments: list[str]) -> SimpleNamespace:
    """Return what the flags of a command line say.

    >>> parse(["-n", "2", "python", "train.py"]).num_workers
    2
    """
    return SimpleNamespace(**launch.make_context("launch", arguments).params)


#: For the command's group.
COMMANDS = (launch,)
