"""The lists for float16, under MXNet's names."""

from ._table import CONDITIONAL, FULL, LOSSES, LOW, WIDEST, all_names, other_names

__all__ = [
    "CONDITIONAL_FP32_FUNCS",
    "FP16_FP32_FUNCS",
    "FP16_FUNCS",
    "FP32_FUNCS",
    "LOSS_OUTPUT_FUNCTIONS",
    "WIDEST_TYPE_CASTS",
]

FP16_FUNCS = list(LOW)
FP16_FP32_FUNCS = other_names()
FP32_FUNCS = all_names(FULL)
CONDITIONAL_FP32_FUNCS = [(name, parameter, list(values)) for name, parameter, values in CONDITIONAL]
WIDEST_TYPE_CASTS = all_names(WIDEST)
LOSS_OUTPUT_FUNCTIONS = list(LOSSES)
