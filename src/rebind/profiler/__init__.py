"""Where time goes: MXNet's profiler, and tables by node. `mx.profiler`."""

import typing as _typing

from ..absent import old_names as _old_names
from ..completion import listing as _listing
from .annotations import Counter, Domain, Event, Frame, Marker, Task
from .control import (
    dump,
    dump_profile,
    dumps,
    pause,
    process_profile,
    profiler_set_config,
    profiler_set_state,
    resume,
    set_config,
    set_kvstore_handle,
    set_state,
    start,
    stop,
)
from .memory import MemoryUse, memory_of
from .nodes import IterationRecord, NodeRecord
from .profile import Profile

__all__ = [
    "Counter",
    "Domain",
    "Event",
    "Frame",
    "IterationRecord",
    "Marker",
    "MemoryUse",
    "NodeRecord",
    "Profile",
    "Task",
    "dump",
    "dump_profile",
    "dumps",
    "memory_of",
    "pause",
    "process_profile",
    "profiler_set_config",
    "profiler_set_state",
    "resume",
    "set_config",
    "set_kvstore_handle",
    "set_state",
    "start",
    "stop",
]
__dir__ = _listing(globals())

if not _typing.TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = _old_names(__name__)
