"""How operators compute with sparse arrays, by families of operators; see `ops.storage_types`."""

from . import casts, elements, embedding, matrices, products, reductions, unary

__all__ = ["casts", "elements", "embedding", "matrices", "products", "reductions", "unary"]
