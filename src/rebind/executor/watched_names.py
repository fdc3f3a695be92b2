"""The names under which a monitor shows the inputs of operators."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Node

__all__ = ["watched_input_names"]

#: Operators with one input that MXNet gives no name, though its documentation does.
_UNNAMED = frozenset([
    "Activation", "BlockGrad", "Cast", "Flatten", "Reshape", "_contrib_AdaptiveAvgPooling2D",
    "_contrib_arange_like", "_contrib_bipartite_matching", "_contrib_box_nms", "_contrib_div_sqrt_dim",
    "_contrib_gradientmultiplier", "_contrib_round_ste", "_contrib_sign_ste", "_copy", "_div_scalar",
    "_equal_scalar", "_greater_equal_scalar", "_greater_scalar", "_hypot_scalar", "_image_adjust_lighting",
    "_image_crop", "_image_flip_left_right", "_image_flip_top_bottom", "_image_random_brightness",
    "_image_random_contrast", "_image_random_hue", "_image_random_lighting", "_image_random_saturation",
    "_image_resize", "_lesser_equal_scalar", "_lesser_scalar", "_logical_and_scalar", "_logical_or_scalar",
    "_logical_xor_scalar", "_maximum_scalar", "_minimum_scalar", "_minus_scalar", "_mod_scalar", "_mul_scalar",
    "_not_equal_scalar", "_plus_scalar", "_power_scalar", "_rdiv_scalar", "_rminus_scalar", "_rmod_scalar",
    "_rpower_scalar", "_scatter_minus_scalar", "_scatter_plus_scalar", "_slice_assign_scalar", "abs",
    "amp_cast", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax", "argmax_channel",
    "argmin", "argsort", "broadcast_axis", "broadcast_to", "cast_storage", "cbrt", "ceil", "clip", "cos",
    "cosh", "degrees", "erf", "erfinv", "exp", "expand_dims", "expm1", "fix", "floor", "gamma", "gammaln",
    "hard_sigmoid", "log", "log10", "log1p", "log2", "logical_not", "make_loss", "max", "mean", "min",
    "nanprod", "nansum", "negative", "norm", "ones_like", "prod", "radians", "rcbrt", "reciprocal", "relu",
    "rint", "round", "rsqrt", "shape_array", "sigmoid", "sign", "sin", "sinh", "size_array", "slice",
    "slice_axis", "smooth_l1", "softmin", "softsign", "sort", "sqrt", "square", "sum", "tan", "tanh", "topk",
    "transpose", "trunc", "zeros_like",
])  # fmt: skip
#: Operators of any number of inputs that count them under another name in reports.
_COUNTED = {"multi_all_finite": "array_", "multi_sum_sq": "array_"}


def watched_input_names(node: Node) -> Sequence[str]:
    """Return the names of a node's inputs, one for each argument of its function.

    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> [watched_input_names(net.graph.outputs[0].node)[0] for net in (mx.sym.exp(x), mx.sym.LRN(x, nsize=3))]
    ['input0', 'data']
    """
    op = node.operator
    assert op is not None
    if op.name in _UNNAMED:
        return ("input0",)
    if op.name in _COUNTED:
        return [f"{_COUNTED[op.name]}{i}" for i in range(len(node.inputs))]
    return node.input_names if op.signature.variadic else op.signature.input_names
