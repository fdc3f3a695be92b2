"""Errors of rebind: one class for each kind of mistake, each also the builtin that Python users expect.

A message has the form ``<who>: <what must hold>; got <value>[. How to mend.]``. What operators and their rules raise
has only what follows ``<who>:``. The caller adds the operator, the name that the user called it by
and the node as data (`MXNetError.locate`), and the text is put together when it is read.
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "AbsentFeatureError",
    "AbsentModuleError",
    "AbsentNameError",
    "ArgumentError",
    "BoundsError",
    "DTypeError",
    "DeviceError",
    "ExistingFileError",
    "FormatError",
    "MXNetError",
    "MissingExtraError",
    "MissingFileError",
    "NameLookupError",
    "NonFiniteError",
    "NotImplementedForSymbol",
    "NotSupportedForSparseNDArray",
    "ParameterError",
    "RecordKeyError",
    "ShapeError",
    "StateError",
    "UnknownArgumentError",
    "UnpicklableError",
    "UserCodeError",
    "WorkerError",
    "missing_operators",
    "near_names",
    "shortened",
    "shown",
]

#: Longer messages are cut in the middle: about what a terminal of 80 x 24 shows.
LONGEST_MESSAGE = 1600


class MXNetError(RuntimeError):
    """Base of every error that rebind raises on purpose.

    Parameters
    ----------
    *args
        The message. Of an error of an operator, without the operator's name.
    argument
        The input or parameter that is at fault.

    Attributes
    ----------
    operator
        The operator that failed, by the name that it is registered under first; None where none did.
    called_as
        The name by which it was called: an alias, or the same name.
    node
        The name of the node of a symbol; None for a call on arrays.
    argument
        The input or parameter that is at fault, if one is.
    inputs
        The node's inputs, one text each: ``data ('x') (2, 3)``.

    Examples
    --------
    >>> error = MXNetError("data must have 4 axes; got shape (2, 3)", argument="data")
    >>> print(error.locate("Convolution", called_as="Convolution_v1", node="conv0"))
    Convolution_v1 'conv0': data must have 4 axes; got shape (2, 3)
    >>> error.operator, error.called_as, error.node, error.argument
    ('Convolution', 'Convolution_v1', 'conv0', 'data')
    """

    def __init__(self, *args: object, argument: str | None = None) -> None:
        super().__init__(*(shortened(each) if isinstance(each, str) else each for each in args))
        self.argument = argument
        self.operator: str | None = None
        self.called_as: str | None = None
        self.node: str | None = None
        self.inputs: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """What must hold and what was found, without operator and node.

        >>> ShapeError("data must have 4 axes").locate("Pooling").message
        'data must have 4 axes'
        """
        return super().__str__()

    def locate(
        self,
        operator: str,
        *,
        called_as: str | None = None,
        node: str | None = None,
        inputs: Sequence[str] = (),
    ) -> Self:
        """Add the origin of the error, unless it is known already, and return the error.

        An error that passes through several calls (a node in the body of a loop, the loop) belongs to the innermost:
        what has been filled in already by another operator or node is not replaced.
        """
        # The innermost operator is the one that failed: who is outside may add its node, not another operator.
        if self.node is None and self.operator in (None, operator):
            self.operator = operator
            self.called_as = called_as or self.called_as or operator
            self.node = node
            self.inputs = tuple(inputs)
        return self

    def __str__(self) -> str:
        if self.operator is None:
            return self.message
        node = f" {self.node!r}" if self.node is not None else ""
        listed = f". Inputs: {', '.join(self.inputs)}" if self.inputs else ""
        return f"{self.called_as}{node}: {self.message}{listed}"


class ParameterError(MXNetError, ValueError):
    """A parameter of an operator or of a call has a value that is not allowed, or is missing."""


class ArgumentError(MXNetError, TypeError):
    """An argument is of a kind that the call cannot take."""


class ShapeError(MXNetError, ValueError):
    """Shapes do not fit each other."""


class DTypeError(MXNetError, TypeError):
    """Types of elements do not fit each other."""


class NameLookupError(MXNetError, ValueError):
    """A name is not known where it is looked up."""


class BoundsError(MXNetError, IndexError):
    """An index is outside of its axis, or there are more indices than axes."""


class RecordKeyError(NameLookupError, KeyError):
    """A key is not in the index of a record file."""


class UnknownArgumentError(NameLookupError, ArgumentError):
    """A keyword is no argument of what is called: to Python a TypeError, to MXNet 2.0 a ValueError."""


class UserCodeError(MXNetError):
    """The user's code, such as a custom operator, raised the error that is the cause of this one."""


class NotImplementedForSymbol(MXNetError, TypeError):
    """A symbol, which has no values before it is bound, was asked for something that only an array can do."""


class NotSupportedForSparseNDArray(MXNetError):
    """A sparse array was asked for what only a dense one can do."""


class StateError(MXNetError):
    """A call came before another call that it needs."""


class DeviceError(MXNetError):
    """A device cannot be used on this machine, or with this build of PyTorch."""


class OutOfMemoryError(MXNetError, MemoryError):
    """There is not enough memory for an array."""


class NonFiniteError(MXNetError, FloatingPointError):
    """A number is NaN or infinite where one must not be, or where a monitor was asked to stop at one."""


class FormatError(MXNetError, ValueError):
    """A file is truncated, or not of the format that was expected."""


class UnpicklableError(MXNetError, TypeError, ValueError):
    """What is bound to memory of this process is pickled: a TypeError to Python, a ValueError in MXNet."""


class WorkerError(MXNetError, ConnectionError):
    """Another process of the job is lost, is doing something else, or has another network."""


class MissingExtraError(MXNetError, ImportError):
    """A package that one of rebind's extras installs is missing."""


class MissingFileError(MXNetError, FileNotFoundError):
    """A file, or the folder that one is to be written to, does not exist."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        # OSError takes it from two arguments only; the message is one.
        self.errno = errno.ENOENT


class ExistingFileError(MXNetError, FileExistsError):
    """A file is to be written where one is already."""


class NoPermissionError(MXNetError, PermissionError):
    """A file is to be written where the user may not write."""


class AbsentModuleError(MXNetError, ImportError):
    """A module of MXNet's that rebind does not have is imported."""


class AbsentNameError(MXNetError, AttributeError):
    """A name of MXNet's that rebind does not have is used."""


class AbsentFeatureError(MXNetError, NotImplementedError):
    """Something is asked for that is there by name only, as are some of MXNet's classes and functions."""


def near_names(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence: ``"; did you mean 'a' or 'b'?"`` for near names in `known`, else ``"."``.

    >>> near_names("num_hiden", ["num_hidden", "flatten"])
    "; did you mean 'num_hidden'?"
    """
    if len(str(name)) > 200:  # no name is so long, and matching would take seconds
        return "."
    close = difflib.get_close_matches(str(name), list(known), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else "."


def missing_operators(who: str, nodes: Mapping[str, str]) -> MXNetError:
    """Return the error that MXNet lacks operators, by their names in another framework with a node of each.

    >>> print(missing_operators("import_model", {"Xor3": "b", "Det4": "a"}))
    import_model: MXNet has no operators for Det4 ('a'), Xor3 ('b')
    """
    listed = ", ".join(f"{name} ({node!r})" for name, node in sorted(nodes.items()))
    return MXNetError(f"{who}: MXNet has no operators for {listed}")


def shortened(text: str, limit: int = LONGEST_MESSAGE) -> str:
    """Return a text, cut in the middle if it is longer than `limit`, with a count of what was left out.

    >>> shortened("a" * 100, limit=20)
    'aaaaaaaaaaaaa ... (80 characters left out) ... aaaaaaa'
    """
    left_out = len(text) - limit
    if left_out <= 0:
        return text
    # More of the beginning, which says who and what; of the end enough for how to mend it.
    begin = limit * 2 // 3
    return f"{text[:begin]} ... ({left_out} characters left out) ... {text[len(text) - (limit - begin) :]}"


def shown(value: object) -> str:
    """Return the `repr` of what a user gave; of a long text or list the beginning, and its length.

    >>> shown("sgd"), shown("a" * 100_000)
    ("'sgd'", "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...' (100000 characters)")
    >>> shown([[1, 2]] * 100_000)
    '[[1, 2], [1, 2], [1, 2], [1, 2], ...] (100000 items)'
    """
    if isinstance(value, (str, bytes)) and len(value) > 200:
        return f"{value[:40]!r}"[:-1] + f"...' ({len(value)} characters)"
    if isinstance(value, (list, tuple)) and len(value) > 12:
        return f"[{', '.join(map(shown, value[:4]))}, ...] ({len(value)} items)"
    return shortened(repr(value), 400)
