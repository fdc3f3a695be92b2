"""The processes that train together: `current_job` is what this process takes part in."""

from .environment import JobEnvironment, Role
from .job import JSON, Job, Transfer, current_job, started_job
from .roles import take_role, takes_role, wait_for_workers

__all__ = [
    "JSON",
    "Job",
    "JobEnvironment",
    "Role",
    "Transfer",
    "current_job",
    "started_job",
    "take_role",
    "takes_role",
    "wait_for_workers",
]
