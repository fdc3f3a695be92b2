"""How operators compute with sparse arrays, by families of operators; see `ops.storage_types`."""

from . import casts, embedding, products

__all__ = ["casts", "embedding", "products"]
