"""Key-value stores: how several devices share gradients and weights. `mx.kv`."""

from .all_reduce import AllReduceStore, TestStore
from .base import Key, KVStoreBase, capabilities_of, create, stores
from .capabilities import Capabilities
from .choose import choose_store, has_big_array
from .compression import Compression, Residuals
from .dist_sync import DistSyncStore
from .local import KVStore
from .nccl import NCCLStore

__all__ = [
    "AllReduceStore",
    "Capabilities",
    "Compression",
    "DistSyncStore",
    "KVStore",
    "KVStoreBase",
    "Key",
    "NCCLStore",
    "Residuals",
    "TestStore",
    "capabilities_of",
    "choose_store",
    "create",
    "has_big_array",
    "stores",
]
