"""The command ``rebind launch``: starts the processes of a job, says what became of them, and starts them again.

PyTorch's launcher does the work (`torch.distributed.elastic.multiprocessing`, what ``torchrun`` is made of): processes,
signals, prefixed output. Names and defaults are those of MXNet's ``tools/launch.py``.
"""

from .runner import run

__all__ = ["run"]
