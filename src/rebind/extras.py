"""Access to packages that rebind's extras install, which are imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from .errors import MissingExtraError

__all__ = ["imported"]


def imported(module: str, extra: str, who: str | None = None, *, package: str | None = None) -> Any:
    """Return a module of a package that an extra installs.

    Parameters
    ----------
    module
        The module's whole name.
    extra
        The extra that installs it.
    who
        Whose need it is; None for operators, whose names are added to their messages by the caller.
    package
        What messages call it; by default the first part of the module's name.

    Raises
    ------
    MissingExtraError
        Without the package, or with one that cannot be imported; the message has the command that installs it.

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
    except ImportError as error:
        raise MissingExtraError(
            f"{'' if who is None else f'{who}: '}this needs {package or module.partition('.')[0]}, which the extra "
            f"{extra!r} installs: pip install 'rebind[{extra}]'"
        ) from error
