"""How operators compute with sparse arrays, by families of operators; see `ops.storage_types`."""

from . import casts, products

__all__ = ["casts", "products"]
