"""How operators compute with sparse arrays, by families of operators; see `ops.storage_types`."""

from . import arithmetic, casts, elements, embedding, matrices, products, reductions, unary, updates

__all__ = [
    "arithmetic",
    "casts",
    "elements",
    "embedding",
    "matrices",
    "products",
    "reductions",
    "unary",
    "updates",
]
