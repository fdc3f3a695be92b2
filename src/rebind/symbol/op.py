"""`sym.op`: the operators under all their names, and the namespaces of operators."""

from . import contrib, generated, image, linalg, sparse
from .generated import *  # noqa: F403  # some 600 names, which only the stub could list

__all__ = ["contrib", "image", "linalg", "sparse", *generated.__all__]
