"""Names that are gone from NumPy, and what to write instead. Whether one is gone, the installed NumPy says."""

from __future__ import annotations

__all__ = ["GONE", "REFUSES_ARRAYS_AS_NUMBERS"]

#: By the name below ``numpy``.
GONE: dict[str, str] = {
    "Inf": "np.inf",
    "Infinity": "np.inf",
    "NAN": "np.nan",
    "NINF": "-np.inf",
    "NaN": "np.nan",
    "PINF": "np.inf",
    "alltrue": "np.all",
    "asfarray": "np.asarray(x, dtype=float)",
    "asscalar": "x.item()",
    "complex": "complex",
    "complex_": "np.complex128",
    "cumproduct": "np.cumprod",
    "float": "float",
    "float_": "np.float64",
    "in1d": "np.isin",
    "infty": "np.inf",
    "int": "int",
    "mat": "np.asmatrix",
    "msort": "np.sort(x, axis=0)",
    "object": "object",
    "product": "np.prod",
    "round_": "np.round",
    "sometrue": "np.any",
    "str": "str",
    "string_": "np.bytes_",
    "trapz": "np.trapezoid",
    "unicode": "str",
    "unicode_": "np.str_",
}

#: The first version that makes a number of an array without axes only.
REFUSES_ARRAYS_AS_NUMBERS = (2, 4)
