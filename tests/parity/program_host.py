"""Run programs under ``rebind run``, each in a fork of this process, which has imported what they all need.

Importing PyTorch takes seconds and a program less than one. A line of standard input is a run; a line of standard
output is its exit code. What runs in a fork is the command itself, with its own arguments, folder, streams and exit.
"""

from __future__ import annotations

import json
import os
import sys

import rebind.cli  # noqa: F401  # what the command imports when it runs
import rebind_command
from rebind import Context, sym


def warm_up() -> None:
    """Have PyTorch import what the first bind of a process needs."""
    net = sym.FullyConnected(sym.var("data"), num_hidden=1, name="warm")
    net.simple_bind(Context("cpu"), data=(1, 1)).forward()


def main() -> None:
    """Serve until standard input ends."""
    for line in sys.stdin:
        run = json.loads(line)
        child = os.fork()
        if child == 0:
            os.chdir(run["folder"])
            for stream, (path, flags) in enumerate(
                [
                    (os.devnull, os.O_RDONLY),
                    (run["out"], os.O_WRONLY | os.O_CREAT),
                    (run["err"], os.O_WRONLY | os.O_CREAT),
                ]
            ):
                os.dup2(os.open(path, flags), stream)
            sys.exit(rebind_command.main(run["command"]))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    warm_up()
    main()
