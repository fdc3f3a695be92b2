"""The command `python -m benchmarks`: time the rows and print the table, or check that the engines agree."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from .check import REFERENCE, compare, limits_of, results_of
from .command import Names, set_threads, wide
from .engines import ASKED_FOR, ENGINES, TITLES, Options, find_mxnet
from .networks import ROWS
from .report import Report
from .runner import QUICK, Effort, measure


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    parser = _parser()
    given = parser.parse_args(arguments)
    mxnet = find_mxnet(given.mxnet)
    engines = given.engines or _default_engines(quick=given.quick, with_mxnet=bool(mxnet))
    if "mxnet" in engines and not mxnet:
        parser.error(
            "the engine mxnet needs --mxnet PYTHON or REBIND_ORACLE: the Python of an environment with MXNet"
        )
    options = Options(threads=set_threads(given.threads), mxnet=mxnet)
    console = Console()
    if given.check:
        return _check(console, given.rows, engines, options)
    report = Report(engines, options.threads, QUICK if given.quick else Effort())
    with console.status("") as status:
        for row in given.rows:
            report.rows[row] = measure(ROWS[row], engines, options, report.effort, status.update)
    wide(console).print(report.table())
    console.print(report.caption(), highlight=False, soft_wrap=True)
    if not mxnet:
        console.print("MXNet is left out: name the Python of its environment with --mxnet or REBIND_ORACLE.")
    if given.json:
        report.write_json(given.json)
        console.print(f"samples: {given.json}")
    return 0


def _default_engines(*, quick: bool, with_mxnet: bool) -> list[str]:
    left_out = ([] if with_mxnet else ["mxnet"]) + (["torch-channels-last"] if quick else []) + ASKED_FOR
    return [name for name in ENGINES if name not in left_out]


def _check(console: Console, rows: Sequence[str], engines: Sequence[str], options: Options) -> int:
    """Compare every engine with PyTorch on every row; 1 when one disagrees."""
    failed = False
    for row in rows:
        expected = results_of(REFERENCE, ROWS[row], options)
        assert expected is not None
        for name in engines:
            found = None if name == REFERENCE else results_of(name, ROWS[row], options)
            if found is None:
                continue
            agreement = compare(found, expected)
            passed = agreement.within(limits_of(ROWS[row]))
            failed = failed or not passed
            console.print(
                f"{row:<17} {TITLES[name]:<20} {'agrees ' if passed else 'DIFFERS'}"
                f"  output {agreement.output:.1e}"
                f"  update {agreement.update:.1e} ({agreement.update_name})"
                f"  statistics {agreement.statistics:.1e} ({agreement.statistics_name})",
                soft_wrap=True,
                highlight=False,
            )
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--rows", type=Names(ROWS), default=list(ROWS), metavar="A,B", help=f"some of {', '.join(ROWS)}"
    )
    parser.add_argument(
        "--engines",
        type=Names(ENGINES),
        metavar="A,B",
        help=f"some of {', '.join(ENGINES)}; ratios are of the first one to the others",
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, and no channels_last")
    parser.add_argument("--check", action="store_true", help="compare results instead of times")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample to FILE")
    parser.add_argument(
        "--mxnet", metavar="PYTHON", help="Python of an environment with MXNet (or set REBIND_ORACLE)"
    )
    parser.add_argument(
        "--threads", type=int, metavar="N", help="threads in every engine (default: PyTorch's own choice)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
