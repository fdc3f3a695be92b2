"""`sym.linalg`: the operators whose names begin with ``_linalg_``.

Written by ``make stubs`` from the table of operators; not to be edited.
"""


from . import generated as _generated

det = _generated._linalg_det
extractdiag = _generated._linalg_extractdiag
extracttrian = _generated._linalg_extracttrian
gelqf = _generated._linalg_gelqf
gemm = _generated._linalg_gemm
gemm2 = _generated._linalg_gemm2
inverse = _generated._linalg_inverse
makediag = _generated._linalg_makediag
maketrian = _generated._linalg_maketrian
potrf = _generated._linalg_potrf
potri = _generated._linalg_potri
slogdet = _generated._linalg_slogdet
sumlogdiag = _generated._linalg_sumlogdiag
syevd = _generated._linalg_syevd
syrk = _generated._linalg_syrk
trmm = _generated._linalg_trmm
trsm = _generated._linalg_trsm
