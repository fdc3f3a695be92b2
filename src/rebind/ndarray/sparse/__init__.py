"""Sparse arrays (`nd.sparse`): their classes, and the operators whose names begin with ``_sparse_``.

A storage type is one file (`csr`, `row_sparse`), how operators compute with it are the files of `kernels`.
"""

from ...ops.frontend import make_namespace
from ..functions import make_function
from . import kernels  # declared before the first call
from .arrays import BaseSparseNDArray, CSRNDArray, RowSparseNDArray

#: In the stub these are functions with signatures (``make stubs``).
FUNCTIONS = make_namespace("sparse", make_function)
__all__ = ["BaseSparseNDArray", "CSRNDArray", "RowSparseNDArray", "kernels", *FUNCTIONS]
__getattr__, __dir__ = FUNCTIONS.attributes(globals())
