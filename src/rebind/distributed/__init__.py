"""The processes that train together: `current_job` is what this process takes part in."""

from .collective import CollectiveExchange, Exchanges
from .current import current_job, started_job
from .environment import JobEnvironment, Role
from .exchange import Exchange, StagedExchange, add_in_order, join_in_order
from .first import first_does, from_first, gather_bytes, scatter_bytes
from .job import FINISHED, JSON, Job, Transfer
from .liveness import Sign, Signs
from .machine import address_of_this_machine, cores, namespace
from .mesh import Mesh
from .roles import take_role, takes_role, wait_for_workers
from .store import host_store, open_store, view_of_job
from .tags import Tag

__all__ = [
    "FINISHED",
    "JSON",
    "CollectiveExchange",
    "Exchange",
    "Exchanges",
    "Job",
    "JobEnvironment",
    "Mesh",
    "Role",
    "Sign",
    "Signs",
    "StagedExchange",
    "Tag",
    "Transfer",
    "add_in_order",
    "address_of_this_machine",
    "cores",
    "current_job",
    "first_does",
    "from_first",
    "gather_bytes",
    "host_store",
    "join_in_order",
    "namespace",
    "open_store",
    "scatter_bytes",
    "started_job",
    "take_role",
    "takes_role",
    "view_of_job",
    "wait_for_workers",
]
