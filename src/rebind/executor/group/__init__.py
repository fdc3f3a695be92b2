"""One network on several devices, each with its slice of a batch: data parallelism in one process.

A batch goes through it like this::

    batch --routing--> arrays of each device --Executor--> outputs of each device --outputs--> outputs of the batch

`split` decides which slice each device gets, `replicas` binds the executors, `binding_cache` remembers those of other
shapes, `states` are inputs that persist between batches; `data_parallel` combines them under MXNet's names.
"""

from .data_parallel import DataParallelExecutorGroup
from .split import batch_axis, join, split_batch

__all__ = ["DataParallelExecutorGroup", "batch_axis", "join", "split_batch"]
