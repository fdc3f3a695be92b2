"""Checks of what users give, with messages that say how to mend it; and warnings at the user's own line."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

from .errors import ArgumentError, MissingFileError, NoPermissionError, ParameterError, shown

__all__ = [
    "check_flag",
    "check_folder",
    "check_instance",
    "check_numbers",
    "check_writable",
    "is_ours",
    "warn_user",
]

_PACKAGE = str(Path(__file__).parent) + os.sep


def check_numbers(who: str, **values: object) -> None:
    """Raise an error for a number that is given as text, as `argparse` gives it without ``type``.

    Nothing is converted silently. What is neither a number nor text is left to who uses it.

    >>> check_numbers("SGD", learning_rate=0.1, momentum="0.9")
    Traceback (most recent call last):
    rebind.errors.ParameterError: SGD: momentum must be a number; got the text '0.9'. Convert it with float() ...
    """
    for name, value in values.items():
        if isinstance(value, (str, bytes)):
            raise ParameterError(
                f"{who}: {name} must be a number; got the text {shown(value)}. Convert it with float() or int(); "
                f"with argparse: add_argument(..., type=float)."
            )


def check_instance(value: object, who: str) -> None:
    """Raise an error for a class that is given where an instance of it is meant.

    >>> check_instance(dict, "fit: initializer")
    Traceback (most recent call last):
    rebind.errors.ArgumentError: fit: initializer must be an instance; got the class dict. Call it: dict(...).
    """
    if isinstance(value, type):
        name = value.__name__
        raise ArgumentError(f"{who} must be an instance; got the class {name}. Call it: {name}(...).")


def check_flag(who: str, **values: object) -> None:
    """Raise an error for a flag that is given as text: any text counts as true, ``'False'`` as well.

    >>> check_flag("NDArrayIter", shuffle="False")
    Traceback (most recent call last):
    rebind.errors.ParameterError: NDArrayIter: shuffle must be True or False; got the text 'False', which counts ...
    """
    for name, value in values.items():
        if isinstance(value, (str, bytes)):
            raise ParameterError(
                f"{who}: {name} must be True or False; got the text {shown(value)}, which counts as true. "
                f"With argparse: add_argument(..., action='store_true')."
            )


def check_folder(path: str, who: str) -> None:
    """Raise an error when the folder that a file is to be written to does not exist.

    >>> check_folder("no-such-folder/net", "Checkpoint")
    Traceback (most recent call last):
    rebind.errors.MissingFileError: Checkpoint: the folder 'no-such-folder' of 'no-such-folder/net' must exist. ...
    """
    folder = Path(path).parent
    file = next((each for each in (folder, *folder.parents) if each.is_file()), None)
    if file is not None:
        raise MissingFileError(
            f"{who}: {str(folder)!r} of {str(path)!r} must be a folder; {str(file)!r} is a file. Choose another name."
        )
    if not folder.is_dir():
        raise MissingFileError(
            f"{who}: the folder {str(folder)!r} of {str(path)!r} must exist. Make it with "
            f"os.makedirs({str(folder)!r}, exist_ok=True)."
        )


def check_writable(path: str, who: str) -> None:
    """Raise an error when a file cannot be written: its folder does not exist, or nothing may be written there.

    >>> check_writable("no-such-folder/net", "Checkpoint")
    Traceback (most recent call last):
    rebind.errors.MissingFileError: Checkpoint: the folder 'no-such-folder' of 'no-such-folder/net' must exist. ...
    """
    check_folder(path, who)
    folder = str(Path(path).parent)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise NoPermissionError(
            f"{who}: the folder {folder!r} of {str(path)!r} must be writable; this user may not write there. Choose "
            f"another one, or change its permissions."
        )


#: How the names of our modules begin.
_OURS = f"{__name__.split('.')[0]}."


def is_ours(instance: object, method: str) -> bool:
    """Return whether a method is the library's: what a user's own does is not known.

    >>> import rebind as mx
    >>> is_ours(mx.mod.Module(mx.sym.var("data") * 2, label_names=None), "update")
    True
    """
    # Of the object, on which a program may have replaced it. What has no module, such as a partial, is the user's.
    return str(getattr(getattr(instance, method), "__module__", "")).startswith(_OURS)


def is_of_rebind(defined: object) -> bool:
    """Return whether a class or function is defined in this package.

    >>> import rebind as mx
    >>> is_of_rebind(mx.optimizer.SGD), is_of_rebind(dict)
    (True, False)
    """
    return str(getattr(defined, "__module__", "")).startswith(_OURS)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's program that led here, however many calls of this package are between.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("Something is odd.")
    >>> str(caught[0].message)
    'Something is odd.'
    """
    # Level 1 is this function, 2 is who called it.
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
