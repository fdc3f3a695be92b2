"""Sparse arrays (`nd.sparse`): their classes, how they are made, and operators.

A storage type is one file (`csr`, `row_sparse`); how operators compute with it are the files of `kernels`.
"""

from typing import TYPE_CHECKING

from . import kernels as _kernels  # noqa: F401  # declared before the first call
from .arrays import BaseSparseNDArray, CSRNDArray, RowSparseNDArray

__all__ = ["BaseSparseNDArray", "CSRNDArray", "RowSparseNDArray"]

if TYPE_CHECKING:
    from .operators import *  # noqa: F403  # which only the stub could list
else:
    from .operators import FUNCTIONS

    __all__ += FUNCTIONS
    __getattr__, __dir__ = FUNCTIONS.attributes(globals())
