"""Log lines: they go to the logger ``rebind``, and the root logger stays as the program has set it up.

MXNet logs with the functions of the `logging` module, which give the root logger a handler when it has none: what the
program sets up later, with `logging.basicConfig`, then has no effect. Here a handler of the logger ``rebind`` shows a
line where no other handler would, as MXNet's do; so a program that only sets the root logger's level sees them.
"""

from __future__ import annotations

import logging
import sys
from typing import TypeVar, cast

__all__ = ["log", "resolve"]

_NAME = "rebind"

Logger = TypeVar("Logger")


class _WhereNoOtherDoes(logging.Handler):
    """Writes a record to the standard error stream, if the logger and those above it have no other handler."""

    def emit(self, record: logging.LogRecord) -> None:
        if logging.getLogger(_NAME).handlers == [self] and not logging.root.handlers:
            print(self.format(record), file=sys.stderr)


_handler = _WhereNoOtherDoes()
_handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))


def log() -> logging.Logger:
    """Return the logger of this library.

    It is made when it is first used: `logging.config` disables the loggers that there are, by default.

    >>> log().name
    'rebind'
    """
    logger = logging.getLogger(_NAME)
    if _handler not in logger.handlers:
        logger.addHandler(_handler)
    return logger


def resolve(logger: Logger) -> Logger:
    """Return the logger that a user chose, or this library's for MXNet's default, which is the root logger.

    >>> resolve(logging).name, resolve(logging.getLogger("mine")).name
    ('rebind', 'mine')
    """
    return cast(Logger, log()) if logger is logging or logger is logging.root else logger
