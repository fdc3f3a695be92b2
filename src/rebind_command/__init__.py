"""The command ``rebind``: its flags and their mistakes, known without a moment's wait.

A package beside `rebind`, since whoever imports a module of that imports PyTorch first, which takes seconds.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import shell_complete

from . import check, im2rec, launch, models, programs, train

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments`, by default those of this process; return its exit code.

    Help and mistakes end the process: SystemExit, with the code 2 for mistakes.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if "_REBIND_COMPLETE" in os.environ:  # a shell asks what may follow
        raise SystemExit(
            shell_complete(rebind, {}, "rebind", "_REBIND_COMPLETE", os.environ["_REBIND_COMPLETE"])
        )
    try:
        with rebind.make_context("rebind", given) as context:
            code: int = rebind.invoke(context)
    except click.exceptions.Exit as ended:
        raise SystemExit(ended.exit_code) from None
    except click.ClickException as error:
        error.show()
        raise SystemExit(error.exit_code) from None
    return code


def _version() -> str:
    """Return the version of `rebind`, without importing that."""
    spec = importlib.util.find_spec("rebind")
    assert spec is not None and spec.origin is not None  # it is beside this package
    found: str = runpy.run_path(str(Path(spec.origin).with_name("_version.py")))["__version__"]
    return found


def _print_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"rebind {_version()}")
        context.exit()


_EPILOG = """\b
Example: rebind run train.py --batch-size 64

\b
Exit codes: 0 for success, 1 if something differs or fails, 2 for a mistake in the command line.
rebind run exits with the code of the program.

\b
Completion for bash; put this line into ~/.bashrc (zsh and fish: see docs/command.md):
  eval "$(_REBIND_COMPLETE=bash_source rebind)"
"""


@click.group(
    invoke_without_command=True,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version,
    help="Show the version and exit.",
)  # fmt: skip
@click.pass_context
def rebind(context: click.Context) -> None:
    """Run, check, train and convert MXNet 1.x's symbolic programs and models, on PyTorch."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(2)


for _group in (programs, launch, im2rec, check, models, train):
    for _command in _group.COMMANDS:
        rebind.add_command(_command)
