"""The flags of ``rebind run``, and what it shares with ``launch``: a program with flags of its own at the end."""

from __future__ import annotations

import os
from types import SimpleNamespace

import click
from click.shell_completion import CompletionItem

__all__ = ["COMMANDS", "PROGRAM_SETTINGS", "complete_files"]

#: What begins with the program is the program's: not even ``--`` in it is ours.
PROGRAM_SETTINGS = {"allow_interspersed_args": False}


def complete_files(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Let the shell complete names of files."""
    return [CompletionItem(incomplete, type="file")]


class _Run(click.Command):
    """A command that ends the process if there is no program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        if ctx.resilient_parsing:  # a shell asks what may follow
            return rest
        program = ctx.params["program"]
        if not program:
            raise click.UsageError("SCRIPT is missing: name a file, or a module with -m", ctx)
        if not ctx.params["module"] and not os.path.exists(program[0]):
            click.echo(f"rebind run: no such file: {program[0]!r}", err=True)
            ctx.exit(2)
        return rest


@click.command(
    cls=_Run,
    context_settings=PROGRAM_SETTINGS,
    short_help="Run a program with 'import mxnet as mx', unchanged.",
    epilog="\b\nExample: rebind run train.py --batch-size 64",
)
@click.option("-m", "module", is_flag=True, help="Run a module instead of a script, as in 'python -m'.")
@click.option(
    "--profile",
    is_flag=True,
    help="Print where the time went, by node and by iteration, and write a trace to SCRIPT-profile.json.",
)
@click.argument(
    "program", nargs=-1, type=click.UNPROCESSED, metavar="(SCRIPT | -m MODULE) [ARGUMENT...]",
    shell_complete=complete_files,
)  # fmt: skip
def run(module: bool, profile: bool, program: tuple[str, ...]) -> int:
    """Run a program as python does; 'import mxnet' gives rebind, in the processes that it starts, too.

    SCRIPT is a file, or a folder or zip file with a __main__.py. Arguments after it go to the program. An installed
    mxnet is not changed.
    """
    os.environ.setdefault("REBIND_TUNE", "1")  # the command's process is the program's
    from rebind import cli  # what takes seconds, now that something is to be done

    return cli.run(SimpleNamespace(module=module, profile=profile, program=program))


#: For the command's group.
COMMANDS = (run,)
