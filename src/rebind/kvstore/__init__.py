"""Key-value stores: how several devices share gradients and weights. `mx.kv`."""

from .all_reduce import AllReduceStore, TestStore
from .base import Key, KVStoreBase, capabilities_of, create, stores
from .capabilities import Capabilities
from .choose import choose_store, has_big_array
from .compression import Compression, Residuals
from .dist_async import DistAsyncStore
from .dist_sync import DistSyncStore
from .local import KVStore
from .nccl import NCCLStore
from .server import run_server
from .staleness import Staleness

__all__ = [
    "AllReduceStore",
    "Capabilities",
    "Compression",
    "DistAsyncStore",
    "DistSyncStore",
    "KVStore",
    "KVStoreBase",
    "Key",
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
