"""What iterators of a script's own take from ``mxnet.io``."""

from __future__ import annotations

from ..io.ndarray_iter import ArrayData, named_arrays
from ..io.samples import Samples

__all__ = ["init_data"]


def init_data(data: ArrayData | None, allow_empty: bool, default_name: str) -> list[tuple[str, Samples]]:
    """Return an array, a list or a dict of arrays as pairs of name and array, as `NDArrayIter` takes them.

    MXNet's ``io._init_data``, which iterators that were written after `NDArrayIter` call.

    Raises
    ------
    ArgumentError
        For no arrays at all, unless `allow_empty`.

    Examples
    --------
    >>> import numpy as np
    >>> [(name, each.shape) for name, each in init_data([np.zeros(4), np.ones((4, 2))], False, "data")]
    [('_0_data', (4,)), ('_1_data', (4, 2))]
    """
    return named_arrays(data, default_name, "data", required=not allow_empty)
