"""Access to packages that rebind's extras install, which are imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from .errors import MissingExtraError

__all__ = ["imported"]


def imported(module: str, extra: str, who: str) -> Any:
    """Return a module of a package that an extra installs.

    Raises
    ------
    MissingExtraError
        Without the package; the message has the command that installs it.

    Examples
    --------
    >>> imported("json", "onnx", "export").__name__
    'json'
    >>> imported("json.x", "onnx", "export")
    Traceback (most recent call last):
        ...
    rebind.errors.MissingExtraError: export: this needs json, which ... 'onnx' installs: pip install 'rebind[onnx]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f"{who}: this needs {package}, which the extra {extra!r} installs: pip install 'rebind[{extra}]'"
        ) from error
