"""The surroundings of a test: devices, environment variables, the error stream."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ..device import num_gpus
from ..errors import ArgumentError

__all__ = [
    "discard_stderr", "environment", "getenv", "has_tvm_ops", "is_aarch64_run", "is_cd_run", "is_op_runnable",
    "list_gpus", "setenv",
]  # fmt: skip


def list_gpus() -> range:
    """Return the device numbers of the GPUs, which ``mx.gpu`` takes.

    >>> len(list_gpus()) == num_gpus()
    True
    """
    return range(num_gpus())


def is_aarch64_run() -> bool:
    """Return whether the processor is a 64-bit ARM.

    >>> is_aarch64_run() == (platform.machine() in ("aarch64", "arm64"))
    True
    """
    return platform.machine() in ("aarch64", "arm64")


def is_cd_run() -> bool:
    """Return whether MXNet's release system runs the test: if the environment variable ``CD_JOB`` is 1.

    >>> with environment("CD_JOB", "1"):
    ...     is_cd_run()
    True
    """
    return os.environ.get("CD_JOB") == "1"


def has_tvm_ops() -> bool:
    """Return whether there are operators made with TVM: there are none.

    >>> has_tvm_ops()
    False
    """
    return False


def is_op_runnable() -> bool:
    """Return whether operators made with TVM would run on this device: those of rebind run on all.

    >>> is_op_runnable()
    True
    """
    return True


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable, or remove it with None.

    >>> setenv("REBIND_EXAMPLE", "1")
    >>> getenv("REBIND_EXAMPLE")
    '1'
    >>> setenv("REBIND_EXAMPLE", None)
    """
    _put_environment({name: value})


def getenv(name: str) -> str | None:
    """Return an environment variable; None when it is not set.

    >>> print(getenv("REBIND_UNSET"))
    None
    """
    return os.environ.get(name)


@contextmanager
def environment(*args: str | Mapping[str, str | None] | None) -> Iterator[None]:
    """Set environment variables in the ``with`` block: a name and a value, or a dict; None removes one.

    >>> with environment("REBIND_PROGRESS", "off"):
    ...     os.environ["REBIND_PROGRESS"]
    'off'
    """
    if len(args) == 1 and isinstance(args[0], Mapping):
        pairs: list[tuple[object, object]] = list(args[0].items())
    elif len(args) == 2:
        pairs = [args]
    else:
        raise ArgumentError(f"environment: takes a name and a value, or a dict; got {args!r}")
    wanted: dict[str, str | None] = {}
    for name, value in pairs:
        if not isinstance(name, str) or not (value is None or isinstance(value, str)):
            raise ArgumentError(f"environment: names and values must be strings; got {name!r}: {value!r}")
        wanted[name] = value
    # None: it was not there, and is taken away again.
    before = {name: os.environ.get(name) for name in wanted}
    try:
        _put_environment(wanted)
        yield
    finally:
        _put_environment(before)


def _put_environment(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def discard_stderr() -> Iterator[None]:
    """Throw away what is written to standard error in the ``with`` block, by libraries too.

    >>> with discard_stderr():
    ...     _ = os.write(2, b"noise of a library")
    """
    # The file descriptor, not `sys.stderr`: C++ libraries write to it directly.
    saved = os.dup(2)
    try:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
