"""What `fit` can call after each batch and each epoch.

Batch callbacks take a record with `epoch`, `nbatch`, `eval_metric` and `locals`; epoch callbacks take
``(epoch, symbol, arg_params, aux_params)``. A member of ``callbacks=[...]`` has hooks for several events: `Callback`.
"""

import typing as _typing

from ..absent import old_names as _old_names
from ..completion import listing as _listing
from .averaging import ExponentialMovingAverage
from .hooks import Callback, EpochRecord
from .records import BatchEndParam, StopTraining
from .reporting import LogValidationMetricsCallback, ProgressBar, Speedometer, log_train_metric
from .saving import do_checkpoint, module_checkpoint
from .stateful import BatchCallback, EpochCallback
from .tables import CSVLogger, JSONLogger
from .tensorboard import TensorBoard
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
    "TensorBoard",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
]
__dir__ = _listing(globals())

if not _typing.TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = _old_names(__name__)
