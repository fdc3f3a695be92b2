"""Sparse arrays (`nd.sparse`): their classes and how they are made, and the operators that have sparse kernels.

A storage type is one file (`csr`, `row_sparse`), how operators compute with it are the files of `kernels`.
"""

from ...ops.frontend import make_namespace
from ..functions import make_function
from . import kernels  # noqa: F401  # declared before the first call
from .arithmetic import add, divide, multiply, subtract
from .arrays import BaseSparseNDArray, CSRNDArray, RowSparseNDArray
from .creation import array, csr_matrix, empty, row_sparse_array, zeros

#: In the stub these are functions with signatures (``make stubs``).
FUNCTIONS = make_namespace("sparse", make_function)
__all__ = [
    "BaseSparseNDArray", "CSRNDArray", "RowSparseNDArray", "add", "array", "csr_matrix", "divide", "empty",
    "multiply", "row_sparse_array", "subtract", "zeros", *FUNCTIONS,
]  # fmt: skip
__getattr__, __dir__ = FUNCTIONS.attributes(globals())
