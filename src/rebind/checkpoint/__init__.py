"""Checkpoints: networks with their parameters in MXNet's files, and whole training runs in files of rebind's own.

``prefix-symbol.json`` holds the network, ``prefix-0010.params`` the parameters after epoch 10. What `fit` needs to
resume is in ``prefix-0010-000120.run`` (`Checkpoint`). Each file appears whole or not at all.
"""

from .network import (
    load_checkpoint,
    load_params,
    params_path,
    read_params,
    save_checkpoint,
    states_path,
    symbol_path,
    write_params,
)
from .run import Checkpoint, Position
from .shared import SavedRun, SharedCheckpoint

__all__ = [
    "Checkpoint", "Position", "SavedRun", "SharedCheckpoint", "load_checkpoint", "load_params", "params_path",
    "read_params", "save_checkpoint", "states_path", "symbol_path", "write_params",
]  # fmt: skip
