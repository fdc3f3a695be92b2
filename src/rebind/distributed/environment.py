"""What launchers tell a process about its job, read from the environment.

=================  =============================================================================================
started by         variables
=================  =============================================================================================
``torchrun``       ``RANK``, ``WORLD_SIZE``, ``LOCAL_RANK``, ``MASTER_ADDR``, ``MASTER_PORT``
``rebind launch``  those of torchrun and of MXNet, and ``REBIND_JOB_ADDRESS``, ``REBIND_JOB_TOKEN``
MXNet's launcher   ``DMLC_ROLE``, ``DMLC_NUM_WORKER``, ``DMLC_NUM_SERVER``, ``DMLC_PS_ROOT_URI``, ``DMLC_PS_ROOT_PORT``
``mpirun``, Slurm  a rank and a number of processes, beside an address in one of the forms above
=================  =============================================================================================

A program or an engine, such as Ray Train, may have made a process group of PyTorch's before: that is the job, whatever
the environment says of ranks.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias, cast

import torch.distributed as dist

from ..errors import ParameterError

__all__ = ["JobEnvironment", "Role", "listening_on", "loopback"]

Role: TypeAlias = Literal["worker", "server", "scheduler"]


class _Ranks(NamedTuple):
    """The names under which a launcher tells a process its place among the others."""

    rank: str
    size: str
    local_rank: str


#: In the order of preference: torchrun may itself run below mpirun or Slurm.
_LAUNCHERS = (
    _Ranks("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    _Ranks("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    _Ranks("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    _Ranks("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
)


@dataclass(frozen=True, kw_only=True)
class JobEnvironment:
    """A process's job, and its place in it.

    Attributes
    ----------
    role
        ``'worker'``, or one of the processes of MXNet's parameter server.
    rank
        The number of this process among those of its role; None where the job is to number them.
    num_workers, num_servers
        How many processes of each role there are.
    local_rank
        The number of this process among those on its machine: which of the machine's GPUs is its own.
    host, port
        Where the processes find each other.
    hosts_store
        Whether this process opens that port; otherwise another one does.
    host_of_store
        Which: ``'the launcher'``, ``'the scheduler'`` or ``'worker 0'``.
    token
        The job's secret: only processes that know it take part.
    attempt
        How often ``rebind launch`` has restarted the job.
    store_is_reused
        Whether workers that the launcher has replaced may have left things in the store: torchrun's outlives them, and
        its number of restarts need not be the same on all machines.
    in_group
        Whether the program has made a process group, whose store is the job's.

    Examples
    --------
    >>> job = JobEnvironment.read(
    ...     {"RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "node0", "MASTER_PORT": "29500"}
    ... )
    >>> job.rank, job.num_workers, job.host
    (1, 4, 'node0')
    >>> JobEnvironment.read({}) is None  # a program that was started by itself
    True
    """

    role: Role = "worker"
    rank: int | None = None
    num_workers: int = 1
    num_servers: int = 0
    local_rank: int = 0
    host: str = "127.0.0.1"
    port: int = 0
    hosts_store: bool = False
    host_of_store: Literal["the launcher", "the scheduler", "worker 0"] = "worker 0"
    token: str = ""
    attempt: int = 0
    store_is_reused: bool = False
    in_group: bool = False

    @property
    def address_of_store(self) -> tuple[str, int]:
        """Host and port at which the processes find each other.

        >>> JobEnvironment(host="node0", port=29500).address_of_store
        ('node0', 29500)
        """
        return self.host, self.port

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None) -> JobEnvironment | None:
        """Return the job that the environment describes; None when it describes none.

        Without `environment` it is that of this process, where a process group that was made before counts.

        Raises
        ------
        ParameterError
            When a variable is not a number, or one is missing beside the others.
        """
        if environment is not None:
            return cls._described_by(environment)
        described = cls._described_by(os.environ)
        return _of_group(described) if dist.is_initialized() and dist.get_world_size() > 1 else described

    @classmethod
    def _described_by(cls, given: Mapping[str, str]) -> JobEnvironment | None:
        found = _Reader(given)
        address = found.address()
        if address is None:
            return None
        names = next((names for names in _LAUNCHERS if names.rank in given and names.size in given), None)
        role = given.get("DMLC_ROLE", "worker").lower()
        if role not in ("worker", "server", "scheduler"):
            raise ParameterError(
                f"environment variable DMLC_ROLE: must be 'worker', 'server' or 'scheduler'; got {role!r}"
            )
        own = _own_rank(role)
        rank = found.number(own) if own in given else found.number("DMLC_TASK_ID")
        if rank is None and names is not None and role != "scheduler":
            rank = found.number(names.rank)
        size = found.number("DMLC_NUM_WORKER")
        if size is None and names is not None:
            size = found.number(names.size)
        if size is None:
            raise ParameterError(
                "environment: a job has an address, so its number of workers must be given too (WORLD_SIZE or "
                "DMLC_NUM_WORKER); got neither"
            )
        host_of_store = _host_of_store(given)
        is_our_launcher = "REBIND_JOB_ADDRESS" in given
        return cls(
            role=cast(Role, role),
            rank=rank,
            num_workers=size,
            num_servers=found.number("DMLC_NUM_SERVER") or 0,
            local_rank=(found.number(names.local_rank) or 0) if names is not None else rank or 0,
            host=address[0],
            port=address[1],
            hosts_store=role == "scheduler"
            or (host_of_store == "worker 0" and role == "worker" and rank == 0),
            host_of_store=host_of_store,
            token=given.get("REBIND_JOB_TOKEN", ""),
            attempt=(found.number("TORCHELASTIC_RESTART_COUNT") or 0) if is_our_launcher else 0,
            store_is_reused=host_of_store == "the launcher" and not is_our_launcher,
        )


def _of_group(described: JobEnvironment | None) -> JobEnvironment:
    """Return the job of the process group that the program has made; what its ranks leave open is as described."""
    found = described or JobEnvironment(host="", local_rank=_Reader(os.environ).number("LOCAL_RANK") or 0)
    if found.role != "worker":
        return found
    rank = dist.get_rank()
    # A launcher's store is there for all of the job's processes, and the launcher reads it, too.
    return replace(
        found,
        rank=rank,
        num_workers=dist.get_world_size(),
        hosts_store=found.host_of_store == "worker 0" and rank == 0,
        in_group=found.host_of_store == "worker 0",
    )


def _host_of_store(given: Mapping[str, str]) -> Literal["the launcher", "the scheduler", "worker 0"]:
    """Return who opens the port: where there is one who could, it is none of the workers."""
    if "REBIND_JOB_ADDRESS" in given or given.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        return "the launcher"
    return "the scheduler" if "DMLC_PS_ROOT_URI" in given and "MASTER_ADDR" not in given else "worker 0"


def _own_rank(role: str) -> str:
    return "DMLC_SERVER_ID" if role == "server" else "DMLC_WORKER_ID"


class _Reader(NamedTuple):
    """Reads numbers and addresses, with errors that name the variable."""

    given: Mapping[str, str]

    def number(self, name: str) -> int | None:
        text = self.given.get(name)
        if text is None or text == "":
            return None
        try:
            return int(text)
        except ValueError:
            raise ParameterError(
                f"environment variable {name}: must be a whole number; got {text!r}"
            ) from None

    def address(self) -> tuple[str, int] | None:
        joined = self.given.get("REBIND_JOB_ADDRESS")
        if joined:
            name, _, number = joined.rpartition(":")
            return name, _Reader({"REBIND_JOB_ADDRESS": number}).number("REBIND_JOB_ADDRESS") or 0
        for host_name, port_name in (
            ("MASTER_ADDR", "MASTER_PORT"),
            ("DMLC_PS_ROOT_URI", "DMLC_PS_ROOT_PORT"),
        ):
            if host_name in self.given:
                port = self.number(port_name)
                if port is None:
                    raise ParameterError(
                        f"environment variable {port_name}: must be given beside {host_name}; it is missing"
                    )
                return self.given[host_name], port
        return None


def loopback() -> str:
    """Return the network interface of this machine's loopback address."""
    return "lo0" if sys.platform == "darwin" else "lo"


@contextlib.contextmanager
def listening_on(interface: str | None) -> Iterator[None]:
    """Let Gloo listen on a network interface, unless the user or MXNet's ``DMLC_INTERFACE`` names one."""
    name = "GLOO_SOCKET_IFNAME"
    chosen = os.environ.get("DMLC_INTERFACE") or interface
    if name in os.environ or chosen is None:
        yield
        return
    os.environ[name] = chosen
    try:
        yield
    finally:
        del os.environ[name]
