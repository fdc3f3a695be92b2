"""`mx.module.executor_group`: the names that programs import from there."""

from __future__ import annotations

from collections.abc import Sequence

from ..executor import DataParallelExecutorGroup, join
from ..executor.group.replicas import groups_per_device as _prepare_group2ctxs
from ..ndarray import NDArray
from .executor_manager import _load_data, _load_general, _load_label, _split_input_slice

__all__ = [
    "DataParallelExecutorGroup",
    "_load_data",
    "_load_general",
    "_load_label",
    "_merge_multi_context",
    "_prepare_group2ctxs",
    "_split_input_slice",
]


def _merge_multi_context(outputs: Sequence[Sequence[NDArray]], major_axis: Sequence[int]) -> list[NDArray]:
    """Return each output in one array: the devices' slices joined along its batch axis, or the first one for -1."""
    return [join(arrays, axis) for arrays, axis in zip(outputs, major_axis, strict=True)]
