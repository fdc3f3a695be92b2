"""MXNet's functions of `mx.profiler`: the profile of this process, which they start, stop and write."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from .. import config
from ..checks import warn_user
from ..errors import StateError
from ..observing import observing
from .profile import Profile
from .recording import Recording
from .settings import PROCESSES, ProfilerSettings
from .statistics import as_json, as_table, check_choice, check_order
from .trace import write

__all__ = [
    "dump", "dump_profile", "dumps", "pause", "process_profile", "profiler_set_config", "profiler_set_state",
    "resume", "set_config", "set_kvstore_handle", "set_state", "start", "stop",
]  # fmt: skip


class ProcessProfile:
    """A profile that MXNet's functions work on: of this process, or of the key-value stores' servers in it.

    Parameters
    ----------
    servers_only
        Whether it records what servers do, and nothing else: a worker's process may have one.

    Attributes
    ----------
    settings
        What `set_config` said last.
    profile
        What is recorded.
    has_run
        Whether it was ever started.
    """

    def __init__(self, servers_only: bool = False) -> None:
        self.settings = ProfilerSettings()
        self.profile = Profile()
        self.profile.servers_only = servers_only
        self.has_run = False
        self._lock = threading.RLock()
        self._stopped = threading.Event()  # ends the thread that writes

    def configure(self, settings: ProfilerSettings) -> None:
        """Take new settings, also while it runs."""
        with self._lock:
            was_running = self.profile.is_running
            self.stop()
            self.settings = settings
            if was_running:
                self.start()

    def set_state(self, state: str) -> None:
        """Start (``'run'``) unless it runs, or stop (``'stop'``)."""
        if state == "stop":
            self.stop()
        elif not self.profile.is_running:
            self.start()

    def start(self) -> None:
        """Record from now on."""
        with self._lock:
            settings, everything = self.settings, self.settings.profile_all
            self.profile.symbolic = everything or settings.profile_symbolic
            self.profile.imperative = everything or settings.profile_imperative
            self.profile.memory = everything or settings.profile_memory
            self.profile.runs = everything or settings.profile_api
            self.profile.start()
            if not self.has_run:
                atexit.register(self._at_exit)
            self.has_run = True
            if settings.continuous_dump:
                self._stopped = threading.Event()
                threading.Thread(target=self._write_now_and_then, args=(self._stopped,), daemon=True).start()

    def stop(self) -> None:
        """Record no more."""
        with self._lock:
            self._stopped.set()
            was_running = self.profile.is_running
            self.profile.stop()
            if was_running and self.settings.continuous_dump:
                self.write()  # what the last period has added

    def dump(self, finished: bool = True) -> None:
        """Write the trace, and stop if it is finished; it must have run."""
        if not self.has_run:
            raise StateError(
                "profiler.dump: the profiler must have run; it was never started. "
                "Call profiler.set_state('run') first."
            )
        if finished:
            self.stop()
        self.write()

    def write(self) -> None:
        """Write the trace."""
        with self._lock:
            write(self.profile.recording, self.settings.filename)

    def _write_now_and_then(self, stopped: threading.Event) -> None:
        while not stopped.wait(self.settings.dump_period):
            self.write()

    def _at_exit(self) -> None:
        if self.profile.is_running:  # or `dump` has written it
            self.stop()
            self.write()


_process = ProcessProfile()
#: What workers start by ``profile_process='server'``.
_servers = ProcessProfile(servers_only=True)


def process_profile() -> Profile:
    """Return the profile that `set_state` starts: its tables by node, by prefix and by iteration.

    >>> import rebind as mx
    >>> isinstance(mx.profiler.process_profile(), mx.profiler.Profile)
    True
    """
    return _process.profile


def set_config(**kwargs: object) -> None:
    """Choose what is recorded, and where it is written.

    What is not given is MXNet's default, whatever an earlier call said.

    Parameters
    ----------
    filename : str
        Where `dump` writes the trace: ``'profile.json'``.
    profile_all, profile_symbolic, profile_imperative, profile_memory, profile_api : bool
        Which kinds are recorded: all; operators of graphs; calls of ``mx.nd`` and updates; the memory in use; the runs
        of executors. All but the first are True.
    continuous_dump, dump_period : bool, float
        Whether the trace is written while the program runs, and after how many seconds each time: True, 1.
    aggregate_stats : bool
        Whether `dumps` returns tables: False.
    profile_process : str
        ``'worker'``, or ``'server'`` for the servers of a key-value store.

    Raises
    ------
    ParameterError
        For a name or a value that is not allowed.

    Examples
    --------
    >>> import rebind as mx
    >>> mx.profiler.set_config(filename="profile.json", aggregate_stats=True, continuous_dump=False)
    """
    process = kwargs.pop("profile_process", "worker")
    settings = ProfilerSettings.read(kwargs)
    if _is_server("set_config", process):
        return _ask_servers("set_config", **{name: getattr(settings, name) for name in kwargs})
    _process.configure(settings)


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Start the profiler (``'run'``), or stop it.

    >>> import rebind as mx
    >>> mx.profiler.set_config(aggregate_stats=True, continuous_dump=False)
    >>> mx.profiler.set_state("run")
    >>> _ = mx.nd.ones((2, 3)) * 2
    >>> mx.profiler.set_state("stop")
    >>> "_mul_scalar" in mx.profiler.dumps(reset=True)
    True
    """
    check_choice("profiler.set_state", "state", state, ("run", "stop"))
    if _is_server("set_state", profile_process):
        _ask_servers("set_state", state=state)
    else:
        _process.set_state(state)


def start(profile_process: str = "worker") -> None:
    """Start the profiler, as ``set_state("run")`` does; MXNet has only that."""
    set_state("run", profile_process)


def stop(profile_process: str = "worker") -> None:
    """Stop the profiler, as ``set_state("stop")`` does.

    >>> import rebind as mx
    >>> mx.profiler.set_config(aggregate_stats=True, continuous_dump=False)
    >>> mx.profiler.start()
    >>> _ = mx.nd.ones((2, 3)) * 2
    >>> mx.profiler.stop()
    >>> "_mul_scalar" in mx.profiler.dumps(reset=True)
    True
    """
    set_state("stop", profile_process)


def pause(profile_process: str = "worker") -> None:
    """Record nothing until `resume`."""
    if _is_server("pause", profile_process):
        _ask_servers("pause")
    else:
        _process.profile.pause()


def resume(profile_process: str = "worker") -> None:
    """Record again, after `pause`."""
    if _is_server("resume", profile_process):
        _ask_servers("resume")
    else:
        _process.profile.resume()


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Write the trace to the file that `set_config` named.

    Parameters
    ----------
    finished
        Whether the profiler stops.
    profile_process
        Whose trace: ``'worker'`` or ``'server'``.

    Raises
    ------
    StateError
        If the profiler was never started.
    """
    if _is_server("dump", profile_process):
        _ask_servers("dump", finished=finished)
    else:
        _process.dump(finished)


def dumps(reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False) -> str:
    """Return tables of what was recorded, by category; '' unless ``set_config(aggregate_stats=True)`` asked for them.

    Parameters
    ----------
    reset
        Whether the next tables begin with what is recorded from now on. The trace and the tables by node have all;
        ``process_profile().recording.clear()`` empties these too.
    format
        ``'table'`` or ``'json'``.
    sort_by
        ``'total'``, ``'avg'``, ``'min'``, ``'max'`` or ``'count'``.
    ascending
        Whether the smallest comes first.
    """
    check_choice("profiler.dumps", "format", format, ("table", "json"))
    check_order(sort_by, ascending)
    check_choice("profiler.dumps", "reset", reset, (False, True))
    if not _process.settings.aggregate_stats:
        return ""
    recording: Recording = _process.profile.recording
    text = (as_table if format == "table" else as_json)(recording, sort_by, bool(ascending))
    if reset:
        recording.reset_tables()
    return text


# Key-value stores.


def set_kvstore_handle(handle: object) -> None:
    """Say which key-value store's servers ``profile_process='server'`` means: by itself the last one with servers.

    >>> import rebind as mx
    >>> store = mx.kv.create("dist_async")
    >>> mx.profiler.set_kvstore_handle(store)
    >>> mx.profiler.set_kvstore_handle(None)  # none any more
    """
    observing.store = lambda: handle


def _is_server(who: str, process: object) -> bool:
    check_choice(f"profiler.{who}", "profile_process", process, PROCESSES)
    return process == "server"


def _ask_servers(who: str, **arguments: object) -> None:
    ask = getattr(observing.store(), "profile_servers", None)
    if ask is None:
        raise StateError(
            f"profiler.{who}: profile_process='server' needs a key-value store with servers; there is none. "
            "Create one first: mx.kv.create('dist_async')."
        )
    ask(who, arguments)


def serve(header: Mapping[str, Any]) -> None:
    """Do what a worker asks of the profiler of a server; its trace has the server's number in its name."""
    call, arguments = header["call"], dict(header["arguments"])
    if call == "set_config":
        folder, name = os.path.split(str(arguments.get("filename", "profile.json")))
        arguments["filename"] = os.path.join(folder, f"rank{header['server']}_{name}")
        return _servers.configure(ProfilerSettings.read(arguments))
    functions: dict[str, Callable[..., None]] = {
        "set_state": _servers.set_state,
        "pause": _servers.profile.pause,
        "resume": _servers.profile.resume,
        "dump": _servers.dump,
    }
    functions[call](**arguments)


# The older names.

_MODES = ("symbolic", "imperative", "api", "memory", "all")


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """Choose what is recorded: the older name of `set_config`."""
    warn_user("profiler.profiler_set_config() is deprecated. Please use profiler.set_config() instead")
    check_choice("profiler.profiler_set_config", "mode", mode, _MODES)
    set_config(**{f"profile_{mode}": True, "filename": filename})


def profiler_set_state(state: str = "stop") -> None:
    """Start or stop: the older name of `set_state`."""
    warn_user("profiler.profiler_set_state() is deprecated. Please use profiler.set_state() instead")
    set_state(state)


def dump_profile() -> None:
    """Write the trace and stop: the older name of `dump`."""
    warn_user("profiler.dump_profile() is deprecated. Please use profiler.dump() instead")
    dump(True)


def start_from_environment() -> None:
    """Start if the environment says so: ``MXNET_PROFILER_AUTOSTART``, ``MXNET_PROFILER_MODE``."""
    if config.get("MXNET_PROFILER_AUTOSTART"):
        everything = bool(config.get("MXNET_PROFILER_MODE"))
        settings = replace(_process.settings, profile_all=everything, profile_imperative=everything)
        _process.configure(settings)
        set_state("run")
