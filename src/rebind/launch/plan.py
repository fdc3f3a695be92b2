"""What to start for a job: a table of processes with their arguments and variables, for each launcher."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..compat import AS_MXNET, python_path
from ..distributed import Role, cores
from .arguments import Request
from .hosts import Host, Place, place_processes

__all__ = ["Address", "Plan", "Process", "make_plan"]

_OVER_SSH = Path(__file__).with_name("_over_ssh.py")


class Address(NamedTuple):
    """Where a job's processes find each other."""

    host: str
    port: int
    token: str


class Process(NamedTuple):
    """A process that the launcher starts.

    Attributes
    ----------
    name
        What the launcher calls it.
    rank
        The worker that it is; None for a server, and for what starts several workers.
    arguments
        Of the plan's program.
    variables
        What is added to the environment of the launcher.
    """

    name: str
    rank: int | None
    arguments: tuple[str, ...]
    variables: dict[str, str]


@dataclass(frozen=True)
class Plan:
    """The processes of one attempt to run a job; all run the same program."""

    program: str
    processes: Sequence[Process]


def make_plan(
    request: Request,
    address: Address,
    attempt: int = 0,
    *,
    hosts: Sequence[Host] = (),
    environment: Mapping[str, str] | None = None,
    is_open_mpi: bool = True,
) -> Plan:
    """Return what to start.

    Parameters
    ----------
    request
        What the user asks for.
    address
        Where processes find each other.
    attempt
        How often the job was started before.
    hosts
        The machines, for ``ssh``.
    environment
        This process's variables.
    is_open_mpi
        Whether ``mpirun`` is Open MPI's, otherwise one of MPICH's family: their flags differ.

    Examples
    --------
    >>> plan = make_plan(
    ...     Request(command=("python", "train.py"), workers=2), Address("127.0.0.1", 29500, "secret")
    ... )
    >>> plan.program, plan.processes[1].name, plan.processes[1].arguments
    ('python', 'worker 1', ('train.py',))
    >>> plan.processes[1].variables["RANK"], plan.processes[1].variables["DMLC_ROLE"]
    ('1', 'worker')
    """
    here = os.environ if environment is None else environment
    shared = _shared_variables(request, address, attempt, here)
    if request.launcher in ("mpi", "slurm"):
        return _plan_of_steps(request, shared, here, is_open_mpi)
    places = place_processes(hosts or [Host("localhost")], request.workers, request.servers)
    processes = []
    for place in places:
        variables = shared | _variables_of(place, request, here)
        _find_mxnet(variables, here if request.launcher == "local" else {})
        arguments = (
            request.command[1:] if request.launcher == "local" else _over_ssh(request, place, variables)
        )
        processes.append(
            Process(
                f"{place.role} {place.number}",
                place.number if place.role == "worker" else None,
                tuple(arguments),
                variables,
            )
        )
    program = request.command[0] if request.launcher == "local" else sys.executable
    return Plan(program, processes)


# Variables.


def _shared_variables(
    request: Request, address: Address, attempt: int, here: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables of all processes: those of rebind, of MXNet's launcher and of torchrun."""
    found = {
        "REBIND_JOB_ADDRESS": f"{address.host}:{address.port}",
        "REBIND_JOB_TOKEN": address.token,
        "DMLC_PS_ROOT_URI": address.host,
        "DMLC_PS_ROOT_PORT": str(address.port),
        "DMLC_NUM_WORKER": str(request.workers),
        "DMLC_NUM_SERVER": str(request.servers),
        # What torch.distributed's own programs read; its store is that of the job.
        "MASTER_ADDR": address.host,
        "MASTER_PORT": str(address.port),
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "TORCHELASTIC_RESTART_COUNT": str(attempt),
        "TORCHELASTIC_MAX_RESTARTS": str(request.max_restarts),
        "TORCHELASTIC_RUN_ID": "rebind",
        "REBIND_TUNE": here.get("REBIND_TUNE", "1"),
    }
    if request.timeout is not None:
        found["REBIND_TIMEOUT"] = f"{request.timeout:g}"
    return found | _resolved(request.variables, here)


def _variables_of(place: Place, request: Request, here: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a server or worker that is numbered here."""
    if place.role == "server":
        found = {"DMLC_ROLE": "server", "DMLC_SERVER_ID": str(place.number)}
        return found | _resolved(request.server_variables, here)
    found = {
        "DMLC_ROLE": "worker",
        "DMLC_WORKER_ID": str(place.number),
        "RANK": str(place.number),
        "WORLD_SIZE": str(request.workers),
        "LOCAL_RANK": str(place.local_number),
        "LOCAL_WORLD_SIZE": str(place.on_host),
    }
    if request.launcher == "local" and "OMP_NUM_THREADS" not in here:
        # Each would take all cores for itself, and wait for the others' threads.
        found["OMP_NUM_THREADS"] = str(max(1, len(cores()) // place.on_host))
    return found | _resolved(request.worker_variables, here)


def _resolved(given: Mapping[str, str | None] | None, here: Mapping[str, str]) -> dict[str, str]:
    """Return variables with their values; those without one have that of this process, if it has them."""
    return {
        name: here[name] if value is None else value
        for name, value in (given or {}).items()
        if value is not None or name in here
    }


def _find_mxnet(variables: dict[str, str], here: Mapping[str, str]) -> None:
    """Let ``import mxnet`` give rebind in a process, as under ``rebind run``; `here` is what it inherits."""
    variables["PYTHONPATH"] = python_path(variables.get("PYTHONPATH", here.get("PYTHONPATH", "")))


# Other launchers.


def _over_ssh(request: Request, place: Place, variables: Mapping[str, str]) -> list[str]:
    """Return the arguments of Python that run the command on another machine."""
    port = [] if place.host.port is None else ["-p", str(place.host.port)]
    # A question, for a password say, could be answered by nobody.
    options = ["-o", "BatchMode=yes", *port, place.host.name]
    return ["-I", "-S", str(_OVER_SSH), *options, _remote_script(request, variables)]


def _remote_script(request: Request, variables: Mapping[str, str]) -> str:
    """Return what the other machine's shell runs: the command, until it ends or standard input closes."""
    exports = [
        f"{name}={shlex.quote(value)}" for name, value in variables.items() if name != "REBIND_JOB_TOKEN"
    ]
    if variables["PYTHONPATH"] == AS_MXNET:  # nobody gave one, so that of the other machine follows
        exports.append('PYTHONPATH="$PYTHONPATH${PYTHONPATH_THERE:+:$PYTHONPATH_THERE}"')
    folder = request.folder_there or os.getcwd()
    return (
        "IFS= read -r REBIND_JOB_TOKEN; export REBIND_JOB_TOKEN; exec 3<&0; "
        f"PYTHONPATH_THERE=$PYTHONPATH; export {' '.join(exports)}; cd {shlex.quote(folder)} || exit 1; "
        f"{shlex.join(request.command)} 3<&- & command=$!; "
        # It reads until nobody is there to write. What is stopped is not ended by SIGTERM.
        "( cat <&3 >/dev/null 2>&1; kill $command; sleep 10; kill -KILL $command ) >/dev/null 2>&1 & guard=$!; "
        "wait $command; code=$?; kill $guard 2>/dev/null; exit $code"
    )


def _plan_of_steps(
    request: Request, shared: Mapping[str, str], here: Mapping[str, str], is_open_mpi: bool
) -> Plan:
    """Return one process for all workers and one for all servers, ``mpirun`` or ``srun``; these number theirs."""
    program = "mpirun" if request.launcher == "mpi" else "srun"
    roles: list[tuple[Role, int, Mapping[str, str | None] | None]] = [
        ("worker", request.workers, request.worker_variables)
    ]
    if request.servers:
        roles.insert(0, ("server", request.servers, request.server_variables))
    processes = []
    for role, count, own in roles:
        variables = {**shared, "DMLC_ROLE": role, **_resolved(own, here)}
        _find_mxnet(variables, here)
        if program == "srun":
            arguments = _srun_arguments(request, count)
        else:
            arguments = _mpirun_arguments(request, count, variables, is_open_mpi)
        name = f"{program} of {count} {role}{'s' if count > 1 else ''}"
        processes.append(Process(name, None, (*arguments, *request.command), variables))
    return Plan(program, processes)


def _mpirun_arguments(
    request: Request, count: int, variables: Mapping[str, str], is_open_mpi: bool
) -> list[str]:
    # Names alone: the values are in mpirun's own environment, not in what everyone sees of its command line.
    if is_open_mpi:
        hosts = ["--hostfile", str(request.host_file)] if request.host_file else []
        return ["-n", str(count), *hosts, *(word for name in variables for word in ("-x", name))]
    hosts = ["-f", str(request.host_file)] if request.host_file else []
    return ["-n", str(count), *hosts, "-genvlist", ",".join(variables)]


def _srun_arguments(request: Request, count: int) -> list[str]:
    hosts = [f"--nodefile={request.host_file}"] if request.host_file else []
    # Servers and workers share the nodes of the allocation; when one process fails, all are to end.
    return [f"--ntasks={count}", *hosts, "--overlap", "--kill-on-bad-exit=1", "--export=ALL", "--label"]
