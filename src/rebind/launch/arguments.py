"""`Request`: what the flags of ``rebind launch`` ask for; `rebind_command.launch` declares them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Literal, TypeAlias, cast

__all__ = ["Launcher", "Request"]

Launcher: TypeAlias = Literal["local", "ssh", "mpi", "slurm"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command's flags ask for.

    Attributes
    ----------
    command
        What each process runs.
    workers, servers
        How many processes of each role.
    launcher
        What starts them.
    host_file
        The machines.
    variables, worker_variables, server_variables
        Further environment variables, of all processes and of those of one role.
    """

    command: tuple[str, ...]
    workers: int
    servers: int = 0
    launcher: Launcher = "local"
    host_file: Path | None = None
    folder_there: str | None = None
    host_ip: str | None = None
    port: int = 0
    max_restarts: int = 0
    timeout: float | None = None
    log_folder: Path | None = None
    variables: dict[str, str | None] | None = None
    worker_variables: dict[str, str | None] | None = None
    server_variables: dict[str, str | None] | None = None

    @classmethod
    def of(cls, given: SimpleNamespace) -> Request:
        """Return what flags ask for, once `rebind_command.launch` has seen that they fit."""
        return cls(
            command=_with_python(given.command_line),
            workers=given.num_workers,
            servers=given.num_servers,
            launcher=cast(Launcher, given.launcher),
            host_file=given.hostfile,
            folder_there=given.sync_dst_dir,
            host_ip=given.host_ip,
            port=given.port,
            max_restarts=given.max_restarts,
            timeout=given.timeout,
            log_folder=given.log_dir,
            variables=dict(given.env),
            worker_variables=dict(given.env_worker),
            server_variables=dict(given.env_server),
        )


def _with_python(command: Sequence[str]) -> tuple[str, ...]:
    """Return a command with this Python in front of a file that is no program by itself, as torchrun takes it."""
    program = command[0]
    is_script = program.endswith(".py") and os.path.isfile(program) and shutil.which(program) is None
    return (sys.executable, *command) if is_script else tuple(command)
