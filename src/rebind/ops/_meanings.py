"""What parameters mean that several operators of a family have; the docstring of an operator goes before this table."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["MEANINGS", "meaning"]

_DIAGONAL = "Which diagonal: 0 is the main one, positive numbers are above it, negative ones below."
_OLD = "No effect here; accepted for old programs."

#: By the module of the operators below `rebind.ops`, and by name; those of "" are the same in all modules.
MEANINGS: Mapping[str, Mapping[str, str]] = {
    "": {
        "ctx": "The device of the result, such as ``gpu(0)``; by default the current one.",
        "dtype": "Type of the result.",
        "num_args": "How many arrays are given; counted if left out.",
        "num_arrays": "How many arrays are given; counted if left out.",
    },
    "_tables": {
        "scalar": "The number.",
        "is_int": "Whether the result of an integer array has the array's type; else it is float64.",
    },
    "contrib.attention": {"heads": "How many heads of attention there are."},
    "contrib.tensor": {
        "a": "Factor of the square.",
        "b": "Factor of `data`.",
        "c": "The constant.",
        "rtol": "The tolerance relative to `b`.",
        "atol": "The absolute tolerance.",
        "axis": "The axis along which slices are taken.",
    },
    "axes": {
        "axes": "The order of the axes; reversed if left out.",
        "block_size": "Height and width of a block.",
        "dim1": "One axis.",
        "dim2": "The other axis.",
        "k": _DIAGONAL,
        "axis1": "The axis of the rows of the matrices.",
        "axis2": "The axis of their columns.",
    },
    "creation": {
        "shape": "Shape of the result.",
        "value": "The value of all elements.",
        "start": "The first number; of `arange` without `stop`, the end.",
        "stop": "The end, which `arange` leaves out.",
        "step": "The distance of two numbers.",
        "infer_range": "Whether the length follows from where the array is used.",
        "endpoint": "Whether `stop` is the last number.",
        "num": "How many numbers there are.",
        "repeat": "How often each number comes.",
        "N": "How many rows there are.",
        "M": "How many columns there are; 0 means as many as rows.",
        "k": _DIAGONAL,
    },
    "distributions": {
        "shape": "Shape of the draws; with arrays of parameters, of those for each element.",
        "low": "The lower bound.",
        "high": "The upper bound, which is not drawn.",
        "lam": "The rate.",
        "alpha": "The shape of the gamma distribution; the dispersion of the generalized negative binomial one.",
        "beta": "The scale of the gamma distribution.",
        "loc": "The mean.",
        "scale": "The standard deviation.",
        "mu": "The mean.",
        "p": "The probability of success.",
        "k": "How many successes end the trials.",
    },
    "image.colour": {
        "min_factor": "The smallest factor.",
        "max_factor": "The upper bound of the factor.",
        "alpha_std": "The standard deviation.",
        "brightness": "How far the factor of the brightness may be from 1.",
        "contrast": "How far the factor of the contrast may be from 1.",
        "saturation": "How far the factor of the saturation may be from 1.",
        "hue": "The largest rotation of the hue.",
    },
    "image.geometry": {
        "x": "The first column.",
        "y": "The first row.",
        "width": "How many columns there are.",
        "height": "How many rows there are.",
    },
    "indexing": {
        "mode": "Of an index out of range: ``clip`` takes the nearest, ``wrap`` counts around, ``raise`` is an error.",
        "shape": "Shape of the array that the indices lead into.",
        "depth": "The length of a vector.",
        "on_value": "The element at the index.",
        "off_value": "All other elements.",
        "axis": "The axis along which elements are chosen.",
        "keepdims": "Keep that axis, with size 1.",
    },
    "joining": {
        "axis": "The axis; of `stack`, where it is in the result.",
        "dim": "The axis.",
        "num_outputs": "How many sections there are.",
        "sections": "How many equal sections there are; 0 means that `indices` say where to split.",
        "indices": "Where each section begins.",
        "squeeze_axis": "Leave the axis out of the results; each section must have size 1.",
    },
    "linalg.factors": {"lower": "Whether the triangular matrix is the lower one."},
    "linalg.products": {
        "alpha": "Factor of the product; of `trsm`, of `B`.",
        "beta": "Factor of `C`.",
        "rightside": "Whether the triangular matrix is on the right.",
        "transpose": "Whether the first factor is transposed instead of the second.",
    },
    "linalg.triangles": {"offset": "How far the diagonal is above the main one; negative numbers are below."},
    "matmul": {
        "transpose_a": "Whether `lhs` is transposed first.",
        "transpose_b": "Whether `rhs` is transposed first.",
        "forward_stype": "The storage type of the result, if an array is sparse.",
    },
    "ordering": {
        "axis": "The axis; None means the flattened array.",
        "is_ascend": "Whether the smallest comes first.",
        "k": "How many elements; below 1 all of them.",
        "ret_typ": "``value``: the elements; ``indices``: their positions; ``both``; ``mask``: 1 at them, else 0.",
        "dtype": "Type of the positions.",
    },
    "reduce": {
        "axis": "The axis or axes; all of them by default.",
        "axes": "The axes; all of them by default.",
        "keepdims": "Keep the axes that are reduced, with size 1.",
        "exclude": "Reduce all axes but these.",
        "ord": "1 for the sum of absolute values, 2 for the root of the sum of squares.",
        "out_dtype": "Type of the result; by default that of `data`.",
        "init_output": _OLD,
    },
    "repetition": {
        "shape": "The new shape; 0 leaves a size as it is.",
        "axis": "The axis or axes.",
        "size": "The new size of each axis.",
        "lhs_axes": "The axes of `lhs` that are repeated.",
        "rhs_axes": "The axes of `rhs` whose sizes they get.",
        "reps": "How often along each axis.",
        "repeats": "How often.",
        "mode": "What the border is.",
        "pad_width": "Widths of the border before and after each axis: two numbers for each.",
        "constant_value": "The value of a constant border.",
    },
    "reshape": {
        "shape": "The new shape, or codes for it.",
        "reverse": "Match codes and axes from the right.",
        "target_shape": "MXNet's older form of `shape`.",
        "keep_highest": "With `target_shape`: leave the first size as it is.",
        "lhs_begin": "The first axis of `lhs` that is replaced.",
        "lhs_end": "The axis of `lhs` before which that ends.",
        "rhs_begin": "The first axis of `rhs` that replaces them.",
        "rhs_end": "The axis of `rhs` before which that ends.",
    },
    "sampling": {
        "shape": "Shape of the draws; with `data`, of those for each of its distributions.",
        "low": "The smallest number.",
        "high": "The upper bound, which is not drawn.",
        "get_prob": "Return the logarithm of the probability of each draw, too.",
    },
    "slicing": {
        "begin": "Where it begins; a negative number counts from the end of the axis.",
        "end": "Where it ends, that element left out; None is the end of the axis.",
        "step": "The distance of two elements, by default 1; a negative one goes backwards.",
        "axis": "The axis.",
        "axes": "The axes; all of them by default.",
        "scalar": "The number that is written.",
    },
    "storage": {"stype": "The storage type of the result."},
    "unary": {
        "alpha": "The slope.",
        "beta": "The value at 0.",
        "num_outputs": "How many arrays are given.",
        "is_int": _OLD,
        "a_min": "The lower bound.",
        "a_max": "The upper bound.",
        "dtype": "The new type.",
        "scalar": "Where it changes from a square to a line: at ``1 / scalar**2``.",
    },
}  # fmt: skip


def meaning(module: str, name: str) -> str | None:
    """Return what a parameter means for the operators of a module; None if the table does not say it.

    >>> meaning("rebind.ops.reduce", "keepdims")
    'Keep the axes that are reduced, with size 1.'
    >>> meaning("rebind.ops.reduce", "dtype")
    'Type of the result.'
    """
    return MEANINGS.get(module.removeprefix("rebind.ops."), {}).get(name) or MEANINGS[""].get(name)
