"""Linear algebra on matrices in the last two axes, for each position on the axes before.

Matrices are of float32 or float64, as in MXNet. Where only a triangle of a matrix counts, the rest is never looked
at and gets no gradient; symmetric matrices are read from their lower triangle and get a symmetric gradient.
"""

from .factors import det, gelqf, inverse, potrf, potri, slogdet, sumlogdiag, syevd
from .products import gemm, gemm2, syrk, trmm, trsm
from .triangles import extractdiag, extracttrian, makediag, maketrian

__all__ = [
    "det", "extractdiag", "extracttrian", "gelqf", "gemm", "gemm2", "inverse", "makediag", "maketrian", "potrf",
    "potri", "slogdet", "sumlogdiag", "syevd", "syrk", "trmm", "trsm",
]  # fmt: skip
