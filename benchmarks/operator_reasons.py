"""Why large calls of some operators take more than 1.5 times as long as MXNet's."""

from __future__ import annotations

__all__ = ["REASONS"]

_SMALL = "some calls on small arrays, some µs each"
_ONE_KERNEL = "one kernel of MXNet's is several passes over memory here"
_SLEEF = "oneDNN's kernel is off by more of the last digits; PyTorch's, exact to half of one, takes longer"
_LAPACK = "the same LAPACK and BLAS, which PyTorch gives copies by columns"
_NARROW = "channels lie beside each other: loops over memory have three steps"

_DRAWS = "on two threads: PyTorch draws one sequence, in one thread; MXNet gives each thread a generator of its own"

_SHARED = {
    _SMALL: ("_contrib_MultiBoxPrior", "_cvimresize", "_unravel_index"),
    _ONE_KERNEL: ("_rmod_scalar", "softsign"),
    _SLEEF: ("Activation", "LeakyReLU"),
    _LAPACK: (
        "_linalg_det", "_linalg_inverse", "_linalg_potrf", "_linalg_slogdet", "_linalg_trmm", "_linalg_trsm",
    ),
    _DRAWS: (
        "Dropout", "_random_exponential", "_random_exponential_like", "_random_gamma", "_random_gamma_like",
        "_random_generalized_negative_binomial_like", "_random_negative_binomial_like", "_random_poisson",
        "_random_poisson_like", "_sample_exponential", "_sample_gamma", "_sample_generalized_negative_binomial",
        "_sample_poisson",
    ),
    _NARROW: (
        "_image_adjust_lighting", "_image_random_contrast", "_image_random_hue", "_image_random_saturation",
    ),
}  # fmt: skip

#: By operator.
REASONS: dict[str, str] = {
    **{name: reason for reason, names in _SHARED.items() for name in names},
    "Deconvolution": "PyTorch's own kernel; as a product of matrices and a copy it takes as long",
    "LRN": "oneDNN has a kernel of its own; here there is a pass over memory for each neighbour, and two roots",
    "Pooling": "a pass over memory for each element of a window; PyTorch's own kernel is slower",
    "RNN": "MXNet has a fused kernel for `gru`; PyTorch calls some operators in each step",
    "_contrib_ROIAlign": (
        "with `position_sensitive` each bin reads few numbers; the maps are turned first so that these lie together"
    ),
    "_contrib_index_copy": "the array is copied before rows are written, where MXNet copies both at once",
    "_random_pdf_uniform": "MXNet's is one number for a row, also outside of the support; here each sample is compared",
    "_cvcopyMakeBorder": "the constant is written everywhere, and the picture over it",
    "_rdiv_scalar": "integers are divided as floats, and converted back",
    "_sample_multinomial": "sums of float64 and a search in them; MXNet adds up to the one that it drew",
    "col2im": "PyTorch's own kernel (`fold`)",
    "Convolution": "the gradient of one channel a group, as PyTorch has oneDNN compute it",
    "reciprocal": "integers are divided as floats, and converted back",
    "dot": "PyTorch's own product of matrices",
    "slice": "a step backward in memory is a copy of single elements",
    "softmax": "with lengths a mask is made and applied first",
    "topk": "PyTorch's own kernel, asked for one element more, as it leaves open which of equal ones it takes",
    "transpose": "PyTorch's own copy",
}
