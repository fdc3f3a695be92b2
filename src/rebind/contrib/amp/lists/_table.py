"""The table that the lists are made from: operators by the type that they are computed in.

Products of matrices and convolutions gain from 16 bits. Float32 is for sums over many elements, for functions that soon
leave the range of float16, for losses, and for what returns indices (`argmax`: float16 represents integers up to
2048, bfloat16 up to 256). Operators of several arrays that must be of one type take the widest. The rest is computed
in the type of its inputs.
"""

from __future__ import annotations

from ....ops import OPERATORS, find

__all__ = ["CONDITIONAL", "FULL", "LOSSES", "LOW", "WIDEST", "all_names", "other_names"]

LOW = ("Convolution", "Deconvolution", "FullyConnected", "RNN")

FULL = tuple(
    """
    _contrib_count_sketch _contrib_DeformableConvolution _contrib_DeformablePSROIPooling _contrib_fft
    _contrib_hawkesll _contrib_ModulatedDeformableConvolution _contrib_MultiBoxDetection _contrib_MultiBoxPrior
    _contrib_MultiBoxTarget _contrib_SyncBatchNorm _hypot _hypot_scalar _linalg_det _linalg_extractdiag
    _linalg_extracttrian _linalg_gelqf _linalg_gemm _linalg_gemm2 _linalg_inverse _linalg_makediag _linalg_maketrian
    _linalg_potrf _linalg_potri _linalg_slogdet _linalg_sumlogdiag _linalg_syevd _linalg_syrk _linalg_trmm
    _linalg_trsm _power _power_scalar _rdiv_scalar _rpower_scalar _square_sum arccos arcsin arctanh argmax
    argmax_channel argmin argsort broadcast_hypot broadcast_power Convolution_v1 cosh CTCLoss _np_cumsum Custom erfinv
    exp expm1 gamma gammaln GroupNorm IdentityAttachKLSparseReg InstanceNorm khatri_rao L2Normalization LayerNorm
    LinearRegressionOutput log log10 log1p log2 log_softmax LogisticRegressionOutput LRN MAERegressionOutput make_loss
    MakeLoss mean moments multi_sum_sq nanprod nansum norm prod rcbrt reciprocal rsqrt sinh smooth_l1 softmax
    softmax_cross_entropy SoftmaxActivation SoftmaxOutput softmin square sum SVMOutput tan topk
    """.split()  # noqa: SIM905  (as a list it would be ninety lines)
)

WIDEST = tuple(
    """
    _contrib_allclose _contrib_box_decode _contrib_box_encode _contrib_box_iou _contrib_box_nms _contrib_edge_id
    _contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_valatt
    _contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt _contrib_MultiProposal
    _contrib_Proposal _contrib_PSROIPooling _contrib_ROIAlign _contrib_RROIAlign _equal _greater _greater_equal _lesser
    _lesser_equal _logical_and _logical_or _logical_xor _maximum _minimum _mod _not_equal _random_pdf_dirichlet
    _random_pdf_exponential _random_pdf_gamma _random_pdf_generalized_negative_binomial _random_pdf_negative_binomial
    _random_pdf_normal _random_pdf_poisson _random_pdf_uniform _scatter_elemwise_div add_n batch_dot broadcast_add
    broadcast_div broadcast_equal broadcast_greater broadcast_greater_equal broadcast_lesser broadcast_lesser_equal
    broadcast_logical_and broadcast_logical_or broadcast_logical_xor broadcast_maximum broadcast_minimum broadcast_mod
    broadcast_mul broadcast_not_equal broadcast_sub Concat Correlation dot elemwise_add elemwise_div elemwise_mul
    elemwise_sub stack where
    """.split()  # noqa: SIM905  (as a list it would be ninety lines)
)

#: An operator, one of its parameters, and the values of that for which float32 is used.
CONDITIONAL = (("Activation", "act_type", ("softrelu",)), ("LeakyReLU", "act_type", ("elu", "selu")))

#: Losses whose gradient does not depend on head gradients.
LOSSES = ("SoftmaxOutput", "LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput")


def all_names(operators: tuple[str, ...]) -> list[str]:
    """Return the names of operators, aliases too.

    >>> all_names(("Concat",))
    ['Concat', 'concat']
    """
    return [name for operator in operators for name in (find(operator).name, *find(operator).aliases)]


def other_names() -> list[str]:
    """Return the names of all operators that no list holds.

    >>> names = other_names()
    >>> "Flatten" in names, "Convolution" in names
    (True, False)
    """
    listed = {*LOW, *FULL, *WIDEST, *(name for name, *_ in CONDITIONAL)}
    return [name for name, op in OPERATORS.items() if op.name not in listed]
