"""Key-value stores: how several devices share gradients and weights. `mx.kv`."""

import typing as _typing

from ..absent import old_names as _old_names
from ..completion import listing as _listing
from .all_reduce import AllReduceStore, TestStore
from .averaging import Averaging
from .base import Key, KVStoreBase, capabilities_of, create, stores
from .capabilities import Capabilities
from .choose import choose_store, has_big_array
from .compression import Compression, Residuals
from .dist_async import DistAsyncStore
from .dist_sync import DistSyncStore
from .local import KVStore
from .local_steps import LocalStepsStore
from .nccl import NCCLStore
from .server import run_server
from .staleness import Staleness

__all__ = [
    "AllReduceStore",
    "Averaging",
    "Capabilities",
    "Compression",
    "DistAsyncStore",
    "DistSyncStore",
    "KVStore",
    "KVStoreBase",
    "Key",
    "LocalStepsStore",
    "NCCLStore",
    "Residuals",
    "Staleness",
    "TestStore",
    "capabilities_of",
    "choose_store",
    "create",
    "has_big_array",
    "run_server",
    "stores",
]
__dir__ = _listing(globals())

if not _typing.TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = _old_names(__name__)
