"""The machine: cores, memory that processes share, files, disks."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from .findings import Finding

__all__ = [
    "cores_of_container", "disk", "free_bytes", "old_processor", "one_thread", "open_files", "shared_memory",
    "size_of_shared_memory", "soft_limit_of_files", "threads", "usable_cores",
]  # fmt: skip

#: Less than this many bytes of /dev/shm do not hold the batches of a few workers.
_LEAST_SHARED_MEMORY = 512 * 2**20
#: Less than this many open files are soon used up: each batch that a worker passes on takes some.
_LEAST_FILES = 1024
#: Less than this many bytes of a disk do not hold a few checkpoints.
_LEAST_DISK = 2**30


def usable_cores() -> int:
    """Return how many cores this process may use: containers and schedulers leave it fewer than there are."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, cores_of_container() or cores)


def cores_of_container(folder: str = "/sys/fs/cgroup") -> int | None:
    """Return how many cores' time a container's control group allows; None without such a limit."""
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            quota, period = " ".join(Path(folder, name).read_text() for name in names).split()
        except (OSError, ValueError):
            continue
        if quota not in ("max", "-1"):
            return max(1, math.ceil(int(quota) / int(period)))
    return None


def threads(count: int, cores: int) -> Iterator[Finding]:
    """Yield that there are more threads than cores, which wait for each other.

    >>> list(threads(4, 4)), [finding.mend for finding in threads(8, 2)]
    ([], ['set OMP_NUM_THREADS=2'])
    """
    if count > cores:
        yield Finding(
            f"PyTorch computes with {count} threads, and this process may use {cores} cores",
            f"set OMP_NUM_THREADS={cores}",
        )


def one_thread(environment: Mapping[str, str], cores: int) -> Iterator[Finding]:
    """Yield that one thread computes on a machine with more cores; workers of a job are given their share.

    >>> [finding.mend for finding in one_thread({"OMP_NUM_THREADS": "1"}, 8)]
    ['unset it, unless other processes compute on those cores']
    """
    if cores > 1 and environment.get("OMP_NUM_THREADS") == "1" and "DMLC_ROLE" not in environment:
        yield Finding(
            f"OMP_NUM_THREADS=1 leaves {cores - 1} of {cores} cores idle",
            "unset it, unless other processes compute on those cores",
        )


def size_of_shared_memory(folder: str = "/dev/shm") -> int | None:
    """Return how many bytes the memory has that processes share; None without such a folder."""
    try:
        system = os.statvfs(folder)
    except (AttributeError, OSError):
        return None
    return system.f_frsize * system.f_blocks


def shared_memory(size: int | None) -> Iterator[Finding]:
    """Yield that the memory which processes share is as small as in a container that nobody set up.

    >>> [finding.what for finding in shared_memory(64 * 2**20)]
    ['/dev/shm has 64 MB: workers of a DataLoader, which pass batches there, end with a bus error when it is full']
    """
    if size is not None and size < _LEAST_SHARED_MEMORY:
        yield Finding(
            f"/dev/shm has {size // 2**20} MB: workers of a DataLoader, which pass batches there, end with a bus error "
            "when it is full",
            "start the container with --shm-size=2g or --ipc=host",
        )


def old_processor(machine: str, capability: str) -> Iterator[Finding]:
    """Yield that PyTorch computes without AVX2 on a processor of Intel's or AMD's kind.

    >>> len(list(old_processor("x86_64", "DEFAULT"))), len(list(old_processor("aarch64", "DEFAULT")))
    (1, 0)
    """
    if machine in ("x86_64", "AMD64") and capability in ("DEFAULT", "NO AVX"):
        yield Finding(
            "PyTorch computes without AVX2 here, several times slower",
            "unset ATEN_CPU_CAPABILITY, have the virtual machine show its host's processor, or use a newer one",
        )


def soft_limit_of_files() -> int | None:
    """Return how many files a process may have open; None where the system does not say."""
    try:
        import resource
    except ModuleNotFoundError:  # on Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def open_files(limit: int | None) -> Iterator[Finding]:
    """Yield that a process may have few files open.

    >>> [finding.mend for finding in open_files(256)]
    ['ulimit -n 4096, in the shell that starts the program']
    """
    if limit is not None and limit < _LEAST_FILES:
        yield Finding(
            f"a process may have {limit} files open: workers of a DataLoader end with 'Too many open files'",
            "ulimit -n 4096, in the shell that starts the program",
        )


def free_bytes(folder: str = ".") -> int:
    """Return how many bytes are free on the disk of a folder."""
    return shutil.disk_usage(folder).free


def disk(free: int) -> Iterator[Finding]:
    """Yield that checkpoints will soon not fit.

    >>> [finding.what for finding in disk(100 * 2**20)]
    ['the disk of this folder has 100 MB left: checkpoints will not fit']
    """
    if free < _LEAST_DISK:
        yield Finding(
            f"the disk of this folder has {free // 2**20} MB left: checkpoints will not fit",
            "make room, or start the program in a folder of another disk",
        )
