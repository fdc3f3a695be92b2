"""rebind as mxnet, in this process, for a while."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rebind


@contextmanager
def installed() -> Iterator[Any]:
    """Give `mxnet`; afterwards the modules and finders are as they were."""
    saved = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "mxnet"}
    finders = list(sys.meta_path)
    for name in saved:
        del sys.modules[name]
    rebind.install_as_mxnet()
    try:
        yield importlib.import_module("mxnet")
    finally:
        sys.meta_path[:] = finders
        for name in [name for name in sys.modules if name.partition(".")[0] == "mxnet"]:
            del sys.modules[name]
        sys.modules.update(saved)
