"""`mx.model`: FeedForward, checkpoint files, and the building blocks of custom training loops."""

import typing as _typing

from ..absent import old_names as _old_names
from ..checkpoint import load_checkpoint, load_params, save_checkpoint
from ..completion import listing as _listing
from ..module import BatchEndParam
from .feedforward import FeedForward
from .following import TrainingState
from .steps import (
    _create_kvstore,
    _create_sparse_kvstore,
    _initialize_kvstore,
    _multiple_callbacks,
    _update_params,
    _update_params_on_kvstore,
)

__all__ = [
    "BatchEndParam", "FeedForward", "TrainingState", "_create_kvstore", "_create_sparse_kvstore",
    "_initialize_kvstore", "_multiple_callbacks", "_update_params", "_update_params_on_kvstore", "load_checkpoint",
    "load_params", "save_checkpoint",
]  # fmt: skip
__dir__ = _listing(globals())

if not _typing.TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = _old_names(__name__)
