"""What `fit` can call after each batch and each epoch.

Batch callbacks take a record with `epoch`, `nbatch`, `eval_metric` and `locals`; epoch callbacks take
``(epoch, symbol, arg_params, aux_params)``.
"""

from .averaging import ExponentialMovingAverage
from .records import BatchEndParam, StopTraining
from .reporting import LogValidationMetricsCallback, ProgressBar, Speedometer, log_train_metric
from .saving import do_checkpoint, module_checkpoint
from .stateful import BatchCallback, EpochCallback
from .watching import BestCheckpoint, EarlyStopping

__all__ = [
    "BatchCallback",
    "BatchEndParam",
    "BestCheckpoint",
    "EarlyStopping",
    "EpochCallback",
    "ExponentialMovingAverage",
    "LogValidationMetricsCallback",
    "ProgressBar",
    "Speedometer",
    "StopTraining",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
]
