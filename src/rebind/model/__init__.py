"""`mx.model`: files of checkpoints, and the record that batch callbacks get."""

from .checkpoint import load_checkpoint, load_params, save_checkpoint
from .module import BatchEndParam

__all__ = ["BatchEndParam", "load_checkpoint", "load_params", "save_checkpoint"]
