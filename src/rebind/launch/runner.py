"""Runs a job: starts its processes, watches them, says what ended them, and starts them again."""

from __future__ import annotations

import io
import logging
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

from torch.distributed import Store
from torch.distributed.elastic.multiprocessing import (
    DefaultLogsSpecs,
    PContext,
    Std,
    start_processes,
)

from .. import config
from ..distributed import host_store, view_of_job
from ..errors import MissingFileError, MXNetError, WorkerError
from .arguments import Request
from .blame import describe, exit_code_of, find_causes
from .hosts import Host, own_address, read_hosts
from .plan import Address, Plan, make_plan
from .stop import StopSignals
from .watch import Watch

__all__ = ["run"]

#: How often processes are looked at, in seconds.
_INTERVAL = 0.1
#: How long a process may take to end after SIGTERM.
_GRACE = 30


def run(given: SimpleNamespace) -> int:
    """Run a job as the command's flags say; return its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(
            line_buffering=True
        )  # what workers print is seen at once, in a pipe or a file too
    try:
        request = Request.of(given)
        hosts = read_hosts(request.host_file) if request.host_file and request.launcher == "ssh" else []
        _check_programs(request)
        _copy_folder(request, hosts)
        # What it would say of each process is said once, by `describe`.
        logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
        with tempfile.TemporaryDirectory(prefix="rebind-launch-") as folder:
            return _run_attempts(request, hosts, request.log_folder or Path(folder))
    except (MXNetError, OSError) as error:
        _say(str(error))
        return 2


def _run_attempts(request: Request, hosts: Sequence[Host], log_folder: Path) -> int:
    """Start the job until an attempt ends well, or there are no restarts left."""
    host = request.host_ip or ("127.0.0.1" if request.launcher == "local" else own_address(hosts))
    token = secrets.token_hex(16)
    store = host_store(host, request.port, timeout=60)
    address = Address(host, store.port, token)
    is_open_mpi = request.launcher != "mpi" or _is_open_mpi()
    with StopSignals() as stop:
        for attempt in range(request.max_restarts + 1):
            plan = make_plan(request, address, attempt, hosts=hosts, is_open_mpi=is_open_mpi)
            logs = _logs(plan, log_folder)
            failed = _run_once(request, plan, view_of_job(store, token, attempt), logs, stop)
            if failed is None:
                return 0
            if stop.received is not None:
                _say(f"ended by {stop.received.name}.")
                return failed
            left = request.max_restarts - attempt
            if left:
                _say(f"restarting all processes from the newest checkpoint; {left} {_times(left)} left.")
    return failed or 1


def _times(count: int) -> str:
    return "restart is" if count == 1 else "restarts are"


def _run_once(
    request: Request, plan: Plan, store: Store, logs: DefaultLogsSpecs, stop: StopSignals
) -> int | None:
    """Run all processes to their end, or to a signal; return None if all ended well, and otherwise an exit code."""
    context = _start(plan, logs)
    timeout = request.timeout or float(config.get("REBIND_TIMEOUT"))
    watch = Watch(plan, context, store, request.workers, timeout)
    try:
        while stop.received is None:
            time.sleep(_INTERVAL)
            endings = watch.look()
            # It ends the other processes when one has failed.
            result = context.wait(0)
            if result is None:
                continue
            if not result.is_failed():
                return None
            causes = find_causes(endings or watch.take(result.failures))
            _say("the job failed. " + "\n".join(describe(cause) for cause in causes))
            return exit_code_of(causes)
    except BaseException:
        context.close(signal.SIGTERM, _GRACE)
        raise
    _end(context, stop.received, stop)
    return 128 + stop.received.value


def _end(context: PContext, received: signal.Signals, stop: StopSignals) -> None:
    """Pass a signal on to all processes; those that still run after a while, or at the next signal, are killed."""
    try:
        with stop.raising():
            context.close(received, _GRACE)
    except KeyboardInterrupt:
        context.close(received, 0)


def _start(plan: Plan, logs: DefaultLogsSpecs) -> PContext:
    numbered = dict(enumerate(plan.processes))
    # In a thread of its own, in which PyTorch's launcher sets no handlers of signals: we have ours.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(
            start_processes,
            name="process",
            entrypoint=plan.program,
            args={number: process.arguments for number, process in numbered.items()},
            envs={
                number: {**process.variables, "PYTHONUNBUFFERED": "1"} for number, process in numbered.items()
            },
            logs_specs=logs,
            log_line_prefixes={
                number: f"[{process.rank if process.rank is not None else process.name}] "
                for number, process in numbered.items()
            },
        ).result()


def _logs(plan: Plan, folder: Path) -> DefaultLogsSpecs:
    """Return where output goes: to files, from which PyTorch's launcher copies lines here, with their process's name.

    In a terminal worker 0 writes to that itself, so that it may show how far it is.
    """
    shown = {number: Std.ALL for number in range(len(plan.processes))}
    if sys.stderr.isatty() or len(plan.processes) == 1:
        for number, process in enumerate(plan.processes):
            if process.rank == 0 or len(plan.processes) == 1:
                shown[number] = Std.NONE
    return DefaultLogsSpecs(log_dir=str(folder), tee=shown)


# Before the start.


def _check_programs(request: Request) -> None:
    """Check that there is what is to be started."""
    program = {"local": request.command[0], "ssh": "ssh", "mpi": "mpirun", "slurm": "srun"}[request.launcher]
    if shutil.which(program) is None:
        own = "" if request.launcher != "local" else f". This Python is {sys.executable}"
        raise MissingFileError(
            f"the command must be a program on the PATH; got {program!r}, which was not found{own}"
        )


def _copy_folder(request: Request, hosts: Sequence[Host]) -> None:
    """Copy this folder to all machines, if that is asked for."""
    if request.folder_there is None:
        return
    if shutil.which("rsync") is None:
        raise MissingFileError("--sync-dst-dir needs rsync; it is not installed")
    for host in dict.fromkeys(hosts):
        port = "" if host.port is None else f" -p {host.port}"
        command = [
            "rsync",
            "-az",
            "--rsh",
            f"ssh -o BatchMode=yes{port}",
            "./",
            f"{host.name}:{request.folder_there}",
        ]
        if subprocess.run(command).returncode:
            raise WorkerError(f"--sync-dst-dir: this folder must be copied to {host.name}; rsync failed")


def _is_open_mpi() -> bool:
    """Return whose ``mpirun`` it is."""
    text = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
    return "Open MPI" in text or "OpenRTE" in text or "PRRTE" in text


def _say(what: str) -> None:
    print(f"rebind launch: {what}", file=sys.stderr, flush=True)
