"""The processes that train together: `current_job` is what this process takes part in."""

from .environment import JobEnvironment, Role
from .first import first_does, from_first, gather_bytes, scatter_bytes
from .job import JSON, Job, Transfer, current_job, started_job

__all__ = [
    "JSON", "Job", "JobEnvironment", "Role", "Transfer", "current_job", "first_does", "from_first", "gather_bytes",
    "scatter_bytes", "started_job",
]  # fmt: skip
