"""Checks of what users give, with messages that say how to mend it; and warnings at the user's own line."""

from __future__ import annotations

import functools
import inspect
import operator
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from .errors import (
    ArgumentError,
    ExistingFileError,
    MissingFileError,
    MXNetError,
    NoPermissionError,
    ParameterError,
    UnknownArgumentError,
    near_names,
    shown,
)

__all__ = [
    "BYTES", "COUNT", "DICT", "FLAG", "FUNCTION", "INT", "LIST", "NUMBER", "PAIRS", "PATH", "PROBABILITY", "TEXT",
    "WHOLE", "Kind", "an", "check_folder", "check_instance", "check_keywords", "check_kind", "check_new_folder",
    "check_numbers", "check_pattern", "check_writable", "or_none", "refuses_unknown", "warn_user",
]  # fmt: skip

P = ParamSpec("P")
R = TypeVar("R")

_PACKAGE = str(Path(__file__).parent) + os.sep
#: What other libraries, and older MXNet, call the number of epochs.
_EPOCHS = (
    "epoch", "epochs", "max_epoch", "n_epoch", "n_epochs", "nb_epoch", "num_epochs", "num_round", "num_rounds",
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """What an argument must be: in words, and as a test."""

    text: str
    allows: Callable[[Any], bool]
    error: type[MXNetError] = ArgumentError


def check_kind(who: str, kind: Kind, **values: object) -> None:
    """Raise an error for a value that is not of the kind that is meant.

    For calls that are made once or now and then. What has its own rule of reading, such as a shape or a type, is
    checked where it is read.

    >>> check_kind("Monitor", FUNCTION, stat_func=abs)
    >>> check_kind("Monitor", FUNCTION, stat_func=3)
    Traceback (most recent call last):
    rebind.errors.ArgumentError: Monitor: stat_func must be a function; got 3
    """
    for name, value in values.items():
        if not kind.allows(value):
            made = f" Call it: {value.__name__}(...)." if isinstance(value, type) else ""
            stop = "." if made else ""
            raise kind.error(f"{who}: {name} must be {kind.text}; got {_described(value)}{stop}{made}")


def _described(value: object) -> str:
    """Return the `repr` of a value; an array is known by its shape, text is called so."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if shape := getattr(value, "shape", None):
        return f"{type(value).__name__} of shape {shape}"
    return f"the text {shown(value)}" if isinstance(value, (str, bytes)) else shown(value)


def an(*types: type) -> Kind:
    """Return the kind of the instances of some classes.

    >>> check_kind("Monitor.install", an(dict), exe=3)
    Traceback (most recent call last):
    rebind.errors.ArgumentError: Monitor.install: exe must be an instance of dict; got 3
    """
    names = " or ".join(each.__name__ for each in types)
    return Kind(f"an instance of {names}", lambda value: isinstance(value, types))


def or_none(kind: Kind) -> Kind:
    """Return a kind that allows None too.

    >>> check_kind("Module", or_none(FUNCTION), grad_func=None)
    """
    return Kind(f"{kind.text} or None", lambda value: value is None or kind.allows(value), kind.error)


def _is_int(value: object) -> bool:
    try:
        operator.index(value)  # type: ignore[arg-type]  # what is no int raises
    except TypeError:
        return False
    return True


def _is_pairs(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in value)
    return isinstance(value, Iterable) and not _is_text(value)  # such as zip(), which can be read once only


def _is_text(value: object) -> bool:
    return isinstance(value, (str, bytes))


PATH = Kind(
    "a path", lambda value: isinstance(value, (str, bytes, os.PathLike))
)  # a number would be an open file
BYTES = Kind("bytes", lambda value: isinstance(value, (bytes, bytearray, memoryview)))
TEXT = Kind("text", lambda value: isinstance(value, str))
FUNCTION = Kind("a function", callable)
#: Of other kinds it counts whether they are true, as in MXNet: of text that is every one, 'False' too.
FLAG = Kind("True or False", lambda value: not _is_text(value))
INT = Kind("an int", _is_int, ParameterError)
WHOLE = Kind("an int >= 0", lambda value: _is_int(value) and value >= 0, ParameterError)
COUNT = Kind("an int >= 1", lambda value: _is_int(value) and value >= 1, ParameterError)
#: NumPy's numbers and arrays of one number are numbers too.
NUMBER = Kind(
    "a number", lambda value: hasattr(value, "__float__") and not isinstance(value, type), ParameterError
)
PROBABILITY = Kind(
    "a number in [0, 1]", lambda value: NUMBER.allows(value) and 0 <= value <= 1, ParameterError
)
LIST = Kind("a list", lambda value: isinstance(value, Iterable) and not _is_text(value))
DICT = Kind("a dict", lambda value: isinstance(value, Mapping))
PAIRS = Kind("a dict or a list of pairs", lambda value: isinstance(value, Mapping) or _is_pairs(value))


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


def check_pattern(who: str, **patterns: object) -> None:
    """Raise an error for what is no regular expression.

    >>> check_pattern("Monitor", pattern="[")
    Traceback (most recent call last):
    rebind.errors.ParameterError: Monitor: pattern must be a regular expression; got '[' (unterminated ...
    """
    for name, pattern in patterns.items():
        try:
            re.compile(pattern)  # type: ignore[call-overload]  # what is no text raises
        except (re.error, TypeError) as error:
            raise ParameterError(
                f"{who}: {name} must be a regular expression; got {pattern!r} ({error})"
            ) from None


def check_instance(value: object, who: str) -> None:
    """Raise an error for a class that is given where an instance of it is meant.

    >>> check_instance(dict, "fit: initializer")
    Traceback (most recent call last):
    rebind.errors.ArgumentError: fit: initializer must be an instance; got the class dict. Call it: dict(...).
    """
    if isinstance(value, type):
        name = value.__name__
        raise ArgumentError(f"{who} must be an instance; got the class {name}. Call it: {name}(...).")


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


def check_new_folder(path: object, who: str) -> None:
    """Raise an error when files cannot go into a folder that is made where it does not exist: a file is in its way.

    >>> check_new_folder("runs/first", "TensorBoard")
    >>> check_new_folder(3, "TensorBoard")
    Traceback (most recent call last):
    rebind.errors.ArgumentError: TensorBoard: folder must be a path; got 3
    """
    check_kind(who, PATH, folder=path)
    folder = Path(os.fsdecode(path))  # type: ignore[arg-type]  # a path, by the check
    file = next((each for each in (folder, *folder.parents) if each.is_file()), None)
    if file is not None:
        raise ExistingFileError(
            f"{who}: folder must be a folder, new or existing; {str(file)!r} is a file. Choose another name."
        )


def check_keywords(who: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Raise an error for a keyword that a function does not have, with the near names.

    >>> check_keywords("lenet", ["num_clases"], ["num_classes"])
    Traceback (most recent call last):
    rebind.errors.UnknownArgumentError: lenet: no argument 'num_clases'; did you mean 'num_classes'?
    >>> check_keywords("lenet", ["depth"], ["num_classes"])
    Traceback (most recent call last):
    rebind.errors.UnknownArgumentError: lenet: no argument 'depth'. Arguments: num_classes.
    """
    for name in given:
        if name not in known:
            near = near_names(name, known)
            listed = f" Arguments: {', '.join(known)}." if near == "." else ""
            raise UnknownArgumentError(f"{who}: no argument {name!r}{near}{listed}")


def refuses_unknown(function: Callable[P, R]) -> Callable[P, R]:
    """Let the error for a keyword that a method or a constructor does not have name the nearest one; a decorator.

    Python's own message does so from 3.13 on.

    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2)
    >>> mx.mod.Module(net, label_names=None).bind([("data", (2, 3))], for_traning=False)
    Traceback (most recent call last):
    rebind.errors.UnknownArgumentError: bind: no argument 'for_traning'; did you mean 'for_training' or 'force_rebind'?
    >>> mx.mod.Module(net, contxt=mx.cpu())
    Traceback (most recent call last):
    rebind.errors.UnknownArgumentError: Module: no argument 'contxt'; did you mean 'context'?
    """
    method = function.__name__
    known = list(inspect.signature(function).parameters)[1:]  # the first is the object

    @functools.wraps(function)
    def checked(*args: P.args, **given: P.kwargs) -> R:
        # A constructor is known by the class that is made, which may inherit it.
        who = type(args[0]).__name__ if method == "__init__" else method
        for name in given:
            if name in _EPOCHS and "num_epoch" in known:
                raise UnknownArgumentError(f"{who}: no argument {name!r}; did you mean 'num_epoch'?")
        check_keywords(who, given, known)
        return function(*args, **given)

    return checked


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
