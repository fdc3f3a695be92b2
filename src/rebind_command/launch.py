"""The flags of ``rebind launch``: those of MXNet's ``tools/launch.py``, and of restarts."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["add_arguments", "check"]

#: MXNet's launchers that are not here, and what to do instead.
_GONE = {
    "sge": "start the job in the script for qsub, with --launcher ssh and a host file made of $PE_HOSTFILE",
    "yarn": "start the job with Slurm, Kubernetes or ssh, as docs/distributed.md describes",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument(
        "-n", "--num-workers", type=_at_least(1), required=True, metavar="N", help="how many workers to start"
    )
    parser.add_argument(
        "-s", "--num-servers", type=_at_least(0), default=0, metavar="N",
        help="how many servers to start beside them, for kvstore='dist_async' (default: none)",
    )  # fmt: skip
    parser.add_argument(
        "--launcher", choices=["local", "ssh", "mpi", "slurm", *_GONE], metavar="KIND",
        help="what starts the processes: local (this machine), ssh, mpi (mpirun) or slurm (srun); by default local, "
        "and ssh with -H",
    )  # fmt: skip
    parser.add_argument(
        "--max-restarts", type=_at_least(0), default=0, metavar="N",
        help="how often to start all processes again when one is lost (default: never)",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", type=_seconds, metavar="S",
        help="how many seconds workers wait for each other: REBIND_TIMEOUT",
    )  # fmt: skip
    parser.add_argument(
        "--log-dir", type=Path, metavar="DIR",
        help="keep what each process prints in a folder, as torchrun does",
    )  # fmt: skip
    _add_machines(parser.add_argument_group("machines"))
    _add_variables(parser.add_argument_group("environment variables"))
    parser.add_argument(
        "--p3", action="store_true",
        help="MXNet's priority-based propagation; gradients travel in the order of their priority without it",
    )  # fmt: skip
    parser.add_argument(
        "command_line", nargs=argparse.REMAINDER, metavar="COMMAND",
        help="the program and its arguments, the same for all processes; this Python runs a Python file",
    )  # fmt: skip
    parser.set_defaults(parser=parser)


def check(given: argparse.Namespace) -> None:
    """End the process with a sentence if flags do not fit each other, and settle what follows from others."""
    given.launcher = launcher = given.launcher or ("ssh" if given.hostfile else "local")
    if given.command_line[:1] == ["--"]:
        del given.command_line[0]
    for wrong, sentence in (
        (
            not given.command_line,
            "name the command that each process runs, as in rebind launch -n 4 python train.py",
        ),
        (launcher in _GONE, f"--launcher {launcher} is not here; {_GONE.get(launcher, '')}"),
        (launcher == "ssh" and not given.hostfile, "--launcher ssh needs a file of machines, -H hosts"),
        (
            launcher == "local" and given.hostfile is not None,
            "--launcher local runs all processes on this machine; got -H. For several machines: --launcher ssh",
        ),
        (
            launcher != "ssh" and given.sync_dst_dir is not None,
            f"--sync-dst-dir copies this folder to machines that --launcher ssh starts; got --launcher {launcher}",
        ),
    ):
        if wrong:
            given.parser.error(sentence)


def _add_machines(machines: argparse._ArgumentGroup) -> None:
    machines.add_argument(
        "-H", "--hostfile", type=Path, metavar="FILE", help="the machines, one on a line: [user@]host[:port]"
    )
    machines.add_argument(
        "--sync-dst-dir", metavar="DIR",
        help="copy this folder to DIR on all machines first, with rsync, and run there",
    )  # fmt: skip
    machines.add_argument(
        "--host-ip", metavar="ADDRESS",
        help="the address of this machine at which the others reach it; by default it is found out",
    )  # fmt: skip
    machines.add_argument(
        "-p", "--port", type=_at_least(0), default=0, metavar="PORT",
        help="the port of this machine at which processes find each other (default: a free one)",
    )  # fmt: skip


def _add_variables(variables: argparse._ArgumentGroup) -> None:
    for flag, whose in (
        ("--env", "all processes"),
        ("--env-worker", "the workers"),
        ("--env-server", "the servers"),
    ):
        variables.add_argument(
            flag, type=_variable, action="append", default=[], metavar="NAME[:VALUE]",
            help=f"a variable for {whose}; without a value that which it has here",
        )  # fmt: skip


def _variable(text: str) -> tuple[str, str | None]:
    name, colon, value = text.partition(":")
    if not name.isidentifier():
        raise argparse.ArgumentTypeError(f"must be NAME or NAME:VALUE; got {text!r}")
    return name, value if colon else None


class _at_least:
    """Parses whole numbers from a least one on."""

    def __init__(self, least: int) -> None:
        self.least = least

    def __call__(self, text: str) -> int:
        if not text.isdecimal() or int(text) < self.least:
            raise argparse.ArgumentTypeError(f"must be a whole number >= {self.least}; got {text!r}")
        return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of seconds > 0; got {text!r}")
    return value
