"""`mx.contrib.amp`: mixed precision, by `convert_symbol` or `init`; `init_trainer` scales losses for training."""

import typing as _typing

from ...absent import old_names as _old_names
from . import amp, lists, loss_scaler
from .amp import (
    convert_bucketing_module,
    convert_model,
    convert_symbol,
    init,
    init_trainer,
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_fp32_ops,
    list_lp16_ops,
    list_lp16_use_fp32_params,
    list_widest_type_cast,
    loss_scaler_of,
    scale_loss,
    unscale,
)
from .loss_scaler import LossScaler

__all__ = [
    "LossScaler",
    "amp",
    "convert_bucketing_module",
    "convert_model",
    "convert_symbol",
    "init",
    "init_trainer",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "lists",
    "loss_scaler",
    "loss_scaler_of",
    "scale_loss",
    "unscale",
]

if not _typing.TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = _old_names(__name__)
