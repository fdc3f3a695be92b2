"""What a test runs in: devices, environment variables, the error stream."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..device import num_gpus
from ..errors import ArgumentError

__all__ = ["discard_stderr", "environment", "getenv", "list_gpus", "setenv"]


def list_gpus() -> range:
    """Return the numbers of the GPUs."""
    return range(num_gpus())


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable, or with None take it away."""
    _put_environment({name: value})


def getenv(name: str) -> str | None:
    """Return an environment variable; None when it is not set."""
    return os.environ.get(name)


@contextmanager
def environment(*args: Any) -> Iterator[None]:
    """Set environment variables in the ``with`` block: a name and a value, or a dict; None takes one away.

    >>> with environment("REBIND_PROGRESS", "off"):
    ...     os.environ["REBIND_PROGRESS"]
    'off'
    """
    if len(args) == 1 and isinstance(args[0], Mapping):
        wanted = dict(args[0])
    elif len(args) == 2:
        wanted = {args[0]: args[1]}
    else:
        raise ArgumentError(f"environment: takes a name and a value, or a dict; got {args!r}")
    for name, value in wanted.items():
        if not isinstance(name, str) or not (value is None or isinstance(value, str)):
            raise ArgumentError(f"environment: names and values must be texts; got {name!r}: {value!r}")
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
    """Throw away what is written to standard error in the ``with`` block, by libraries too."""
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
