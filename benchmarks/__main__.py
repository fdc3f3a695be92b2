"""The command `python -m benchmarks`: time the rows and print the tables, or check that the engines agree."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from .busy import Load
from .check import REFERENCE, compare, limits_of, results_of
from .command import Names, wide
from .engines import EngineError, Options, find_mxnet
from .networks import ROWS
from .peers import PEERS
from .report import Report, write_json
from .runner import QUICK, Effort, measure


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    parser = _parser()
    given = parser.parse_args(arguments)
    options = Options(threads=given.threads, mxnet=find_mxnet(given.mxnet))
    if "mxnet" in (given.engines or ()) and not options.mxnet:
        parser.error(
            "the engine mxnet needs --mxnet PYTHON or REBIND_ORACLE: the Python of an environment with MXNet"
        )
    engines, left_out = _chosen(given.engines, options, quick=given.quick and not given.check)
    console = Console()
    for sentence in left_out:
        console.print(sentence, highlight=False, soft_wrap=True)
    if not engines:
        return 1
    if given.check:
        return _check(console, given.rows, engines, options)
    effort = QUICK if given.quick else Effort()
    loads = [load.name for load in given.busy]
    reports = [Report(engines, given.threads, effort, loads, tuned) for tuned in given.settings]
    with console.status("") as status:
        for row in given.rows:
            for report in reports:
                setting = replace(options, tuned=report.tuned)
                report.rows[row] = measure(ROWS[row], engines, setting, effort, given.busy, status.update)
                if given.json:  # after each: what comes later may fail
                    write_json(given.json, *reports)
    for report in reports:
        for table in report.tables():
            wide(console).print(table)
        console.print(report.caption(), highlight=False, soft_wrap=True, markup=False)
    if given.json:
        console.print(f"samples: {given.json}")
    return 0


def _chosen(named: Sequence[str] | None, options: Options, *, quick: bool) -> tuple[list[str], list[str]]:
    """The engines that there are, and a sentence for each that is left out for want of a package."""
    engines, left_out = [], []
    for name in named or PEERS:
        peer = PEERS[name]
        if not named and (peer.asked_for or (quick and not peer.quick)):
            continue
        if peer.own_python and not options.mxnet:
            left_out.append(
                f"{peer.title} is left out: name the Python of its environment with --mxnet or REBIND_ORACLE."
            )
        elif peer.missing:
            packages = " and ".join(peer.missing)
            left_out.append(
                f"{peer.title} is left out: {packages} is not installed; the extra 'bench' has it."
            )
        else:
            engines.append(name)
    return engines, left_out


def _check(console: Console, rows: Sequence[str], engines: Sequence[str], options: Options) -> int:
    """Compare every engine with PyTorch on every row; 1 when one disagrees."""
    failed = False
    for row in map(ROWS.__getitem__, rows):
        expected = results_of(REFERENCE, row, options)
        for name in engines:
            if name == REFERENCE or PEERS[name].is_limit or not PEERS[name].applies(row):
                continue
            try:
                agreement = compare(results_of(name, row, options), expected, row)
            except (EngineError, ValueError) as error:
                passed, said = False, f"  {error}"
            else:
                passed, said = agreement.within(limits_of(row)), str(agreement)
            failed = failed or not passed
            console.print(
                f"{row.name:<17} {PEERS[name].title:<32} {'agrees ' if passed else 'DIFFERS'}{said}",
                soft_wrap=True,
                highlight=False,
                markup=False,
            )
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--rows", type=Names(ROWS), default=list(ROWS), metavar="A,B", help=f"some of {', '.join(ROWS)}"
    )
    parser.add_argument(
        "--engines",
        type=Names(PEERS),
        metavar="A,B",
        help=f"some of {', '.join(PEERS)}; ratios are of the first one to the others",
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer and shorter rounds, no channels_last, no torch.compile"
    )
    settings = parser.add_mutually_exclusive_group()
    for setting, tuned in (("plain", False), ("tuned", True)):
        settings.add_argument(
            f"--{setting}", dest="settings", action="store_const", const=[tuned], default=[False, True],
            help=f"only {'with' if tuned else 'without'} the settings of rebind.tune() in all engines (default: both)",
        )  # fmt: skip
    parser.add_argument("--check", action="store_true", help="compare results instead of times")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample to FILE")
    parser.add_argument(
        "--busy",
        type=Load.parse,
        default=[],
        metavar="KIND,KIND",
        help="time it again beside other work: loops:N, training, or both as loops:N+training",
    )
    parser.add_argument(
        "--mxnet", metavar="PYTHON", help="Python of an environment with MXNet (or set REBIND_ORACLE)"
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=os.environ.get("OMP_NUM_THREADS"),
        metavar="N",
        help="threads in every engine (default: OMP_NUM_THREADS, else each takes its own number)",
    )
    return parser


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # what is open gets closed
    sys.exit(main())
