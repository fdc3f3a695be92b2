"""What `fit` can call after each batch and each epoch.

Batch callbacks take a record with `epoch`, `nbatch`, `eval_metric` and `locals`; epoch callbacks take
``(epoch, symbol, arg_params, aux_params)``. A member of ``callbacks=[...]`` has hooks for several events: `Callback`.
"""

from typing import TYPE_CHECKING

from ..absent import old_names
from .averaging import ExponentialMovingAverage
from .hooks import Callback, EpochRecord
from .records import BatchEndParam, StopTraining
from .reporting import LogValidationMetricsCallback, ProgressBar, Speedometer, log_train_metric
from .saving import do_checkpoint, module_checkpoint
from .stateful import BatchCallback, EpochCallback
from .tables import CSVLogger, JSONLogger
from .watching import BestCheckpoint, EarlyStopping, ReduceLROnPlateau

__all__ = [
    "BatchCallback",
    "BatchEndParam",
    "BestCheckpoint",
    "CSVLogger",
    "Callback",
    "EarlyStopping",
    "EpochCallback",
    "EpochRecord",
    "ExponentialMovingAverage",
    "JSONLogger",
    "LogValidationMetricsCallback",
    "ProgressBar",
    "ReduceLROnPlateau",
    "Speedometer",
    "StopTraining",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
]

if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
