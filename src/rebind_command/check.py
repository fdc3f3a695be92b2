"""The flags of ``rebind check``."""

from __future__ import annotations

import click

__all__ = ["COMMANDS"]


@click.command(
    short_help="Show what a program uses that rebind lacks or treats otherwise.",
    epilog="""\b
Example: rebind check train.py symbols/

\b
Exit codes: 0 when nothing stops a program, 1 when something does, 2 for mistakes in the command line.""",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(exists=True))
@click.option("--strict", is_flag=True, help="Exit with 1 for notes too: what only differs.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of findings as JSON.")
def check(paths: tuple[str, ...], strict: bool, as_json: bool) -> int:
    """Show what the programs in PATH, files and folders, use that rebind lacks or treats otherwise.

    Programs are read, not run: names of MXNet's, of NumPy's and of Python 2, arguments, environment variables.
    """
    from rebind.script_check.report import run_check

    return run_check(paths, strict, as_json)


#: For the command's group.
COMMANDS = (check,)
