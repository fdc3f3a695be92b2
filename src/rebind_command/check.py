"""The flags of ``rebind check``."""

from __future__ import annotations

import click

__all__ = ["COMMANDS"]


@click.command(
    short_help="List what will fail or give other results before a program runs.",
    epilog="""\b
Example: rebind check train.py symbols/

\b
Exit codes: 0 without errors, 1 with errors, 2 for a mistake in the command line.""",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(exists=True))
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 1 for notes, too. Notes mark what runs, but gives other results.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def check(paths: tuple[str, ...], strict: bool, as_json: bool) -> int:
    """List what will fail, or give other results than in MXNet, in the programs in PATH (files and folders).

    Programs are read, never run. The check looks at names of MXNet, NumPy and Python 2, at arguments and their values,
    at environment variables and at files, and says by line what to write instead.
    """
    from rebind.script_check.report import run_check

    return run_check(paths, strict, as_json)


#: For the command's group.
COMMANDS = (check,)
