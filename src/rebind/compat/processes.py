"""How processes that are started from here find rebind as ``mxnet``: by a folder on their PYTHONPATH."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["AS_MXNET", "python_path"]

#: The folder with the module `mxnet` that they import.
AS_MXNET = str(Path(__file__).parents[1] / "legacy" / "_as_mxnet")


def python_path(inherited: str) -> str:
    """Return PYTHONPATH for them: the folder in front, and once only, however deep processes start each other.

    >>> python_path(python_path("/home/me/lib")) == os.pathsep.join([AS_MXNET, "/home/me/lib"])
    True
    """
    return os.pathsep.join(
        [AS_MXNET, *(each for each in inherited.split(os.pathsep) if each not in ("", AS_MXNET))]
    )
