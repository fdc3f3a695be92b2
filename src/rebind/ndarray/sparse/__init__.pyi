"""`nd.sparse`: the operators whose names begin with ``_sparse_``.

Written by ``make stubs`` from the table of operators; not to be edited.
"""


from .arithmetic import add as add
from .arithmetic import divide as divide
from .arithmetic import multiply as multiply
from .arithmetic import subtract as subtract
from .arrays import BaseSparseNDArray as BaseSparseNDArray
from .arrays import CSRNDArray as CSRNDArray
from .arrays import RowSparseNDArray as RowSparseNDArray
from .creation import array as array
from .creation import csr_matrix as csr_matrix
from .creation import empty as empty
from .creation import row_sparse_array as row_sparse_array
from .creation import zeros as zeros
from .. import generated as _generated

ElementWiseSum = _generated._sparse_ElementWiseSum
Embedding = _generated._sparse_Embedding
FullyConnected = _generated._sparse_FullyConnected
LinearRegressionOutput = _generated._sparse_LinearRegressionOutput
LogisticRegressionOutput = _generated._sparse_LogisticRegressionOutput
MAERegressionOutput = _generated._sparse_MAERegressionOutput
_contrib_round_ste = _generated._sparse__contrib_round_ste
_contrib_sign_ste = _generated._sparse__contrib_sign_ste
abs = _generated._sparse_abs
adagrad_update = _generated._sparse_adagrad_update
adam_update = _generated._sparse_adam_update
add_n = _generated._sparse_add_n
arccos = _generated._sparse_arccos
arccosh = _generated._sparse_arccosh
arcsin = _generated._sparse_arcsin
arcsinh = _generated._sparse_arcsinh
arctan = _generated._sparse_arctan
arctanh = _generated._sparse_arctanh
broadcast_add = _generated._sparse_broadcast_add
broadcast_div = _generated._sparse_broadcast_div
broadcast_minus = _generated._sparse_broadcast_minus
broadcast_mul = _generated._sparse_broadcast_mul
broadcast_plus = _generated._sparse_broadcast_plus
broadcast_sub = _generated._sparse_broadcast_sub
cast_storage = _generated._sparse_cast_storage
cbrt = _generated._sparse_cbrt
ceil = _generated._sparse_ceil
clip = _generated._sparse_clip
concat = _generated._sparse_concat
cos = _generated._sparse_cos
cosh = _generated._sparse_cosh
degrees = _generated._sparse_degrees
dot = _generated._sparse_dot
elemwise_add = _generated._sparse_elemwise_add
elemwise_div = _generated._sparse_elemwise_div
elemwise_mul = _generated._sparse_elemwise_mul
elemwise_sub = _generated._sparse_elemwise_sub
exp = _generated._sparse_exp
expm1 = _generated._sparse_expm1
fix = _generated._sparse_fix
floor = _generated._sparse_floor
ftrl_update = _generated._sparse_ftrl_update
gamma = _generated._sparse_gamma
gammaln = _generated._sparse_gammaln
log = _generated._sparse_log
log10 = _generated._sparse_log10
log1p = _generated._sparse_log1p
log2 = _generated._sparse_log2
make_loss = _generated._sparse_make_loss
mean = _generated._sparse_mean
negative = _generated._sparse_negative
norm = _generated._sparse_norm
radians = _generated._sparse_radians
relu = _generated._sparse_relu
retain = _generated._sparse_retain
rint = _generated._sparse_rint
round = _generated._sparse_round
rsqrt = _generated._sparse_rsqrt
sgd_mom_update = _generated._sparse_sgd_mom_update
sgd_update = _generated._sparse_sgd_update
sigmoid = _generated._sparse_sigmoid
sign = _generated._sparse_sign
sin = _generated._sparse_sin
sinh = _generated._sparse_sinh
slice = _generated._sparse_slice
sqrt = _generated._sparse_sqrt
square = _generated._sparse_square
stop_gradient = _generated._sparse_stop_gradient
sum = _generated._sparse_sum
tan = _generated._sparse_tan
tanh = _generated._sparse_tanh
trunc = _generated._sparse_trunc
where = _generated._sparse_where
zeros_like = _generated._sparse_zeros_like
