"""The settings of `mx.profiler`, by MXNet's names."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields

from ..errors import ParameterError, near_names, shown

__all__ = ["PROCESSES", "ProfilerSettings"]

PROCESSES = ("worker", "server")
_WORDS = {"true": True, "false": False, "1": True, "0": False}


@dataclass(frozen=True)
class ProfilerSettings:
    """What `set_config` was called with.

    Attributes
    ----------
    profile_all
        Record all kinds, whatever the next four say.
    profile_symbolic, profile_imperative, profile_memory, profile_api
        Whether to record the operators of graphs; calls of ``mx.nd`` and updates; the memory in use; the runs of
        executors, which stand for the calls of MXNet's C library.
    filename
        Where `dump` writes the trace.
    continuous_dump, dump_period
        Whether the trace is written while the profiler runs, and after how many seconds each time.
    aggregate_stats
        Whether `dumps` returns tables.

    Examples
    --------
    >>> ProfilerSettings.read({"filename": "trace.json", "aggregate_stats": True}).filename
    'trace.json'
    """

    profile_all: bool = False
    profile_symbolic: bool = True
    profile_imperative: bool = True
    profile_memory: bool = True
    profile_api: bool = True
    filename: str = "profile.json"
    continuous_dump: bool = True
    dump_period: float = 1.0
    aggregate_stats: bool = False

    @classmethod
    def read(cls, given: dict[str, object]) -> ProfilerSettings:
        """Return the settings for keywords; those that are not given are MXNet's defaults, not those of before."""
        kinds = {each.name: type(each.default) for each in fields(cls)}
        read = {name: _read(name, value, kinds) for name, value in given.items()}
        return cls(**read)  # type: ignore[arg-type]  # `_read` returns what each field takes


def _read(name: str, value: object, kinds: dict[str, type]) -> object:
    if name not in kinds:
        listed = ", ".join((*kinds, "profile_process"))
        near = near_names(name, kinds)
        raise ParameterError(f"profiler.set_config: no parameter {name!r}{near or '.'} Parameters: {listed}.")
    kind = kinds[name]
    if kind is str and isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if kind is bool and str(value).lower() in _WORDS:
        return _WORDS[str(value).lower()]
    if kind is float:
        try:
            seconds = float(str(value))
        except ValueError:
            seconds = 0.0
        if seconds > 0:
            return seconds
    words = {str: "the name of a file", bool: "True or False", float: "a number of seconds above 0"}
    raise ParameterError(f"profiler.set_config: {name} must be {words[kind]}; got {shown(value)}")
