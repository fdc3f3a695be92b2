"""Key-value stores, through which devices share gradients and weights: `mx.kv`."""

from .base import KVStoreBase, create, stores
from .choose import choose_store
from .local import KVStore

__all__ = ["KVStore", "KVStoreBase", "choose_store", "create", "stores"]
