"""`mx.log`: loggers with one line for each record, in the style of glog."""

from __future__ import annotations

import logging
import sys
import warnings
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTSET", "WARNING", "getLogger", "get_logger"]

# Foreground colours of the ANSI escape sequences.
_COLOURS = {DEBUG: 34, INFO: 32, WARNING: 33, ERROR: 31, CRITICAL: 35}


class _Formatter(logging.Formatter):
    """``I0131 09:30:00 4711 train.py:main:12] message``: the level's letter, date, time, process, and where."""

    def __init__(self, coloured: bool) -> None:
        super().__init__(datefmt="%m%d %H:%M:%S")
        self._coloured = coloured

    def format(self, record: logging.LogRecord) -> str:
        letter = record.levelname[:1]
        where = f"{record.process} {record.filename}:{record.funcName}:{record.lineno}]"
        head = f"{letter}{self.formatTime(record, self.datefmt)} {where}"
        if self._coloured:
            head = f"\x1b[{_COLOURS.get(record.levelno, 32)}m{head}\x1b[0m"
        text = f"{head} {record.getMessage()}"
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return text


def get_logger(
    name: str | None = None, filename: str | None = None, filemode: str | None = None, level: int = WARNING
) -> logging.Logger:
    """Return the logger `name` with a handler of its own.

    Parameters
    ----------
    name
        The logger; the root logger, which is left as it is, without one.
    filename
        A file to write to, instead of the standard error stream, which is coloured in a terminal.
    filemode
        How the file is opened; ``'a'`` by default.
    level
        The lowest level that is logged. The first call for a name decides.

    Examples
    --------
    >>> get_logger("example", level=INFO).level == INFO
    True
    """
    logger = logging.getLogger(name)
    if name is None:
        return logger
    # One handler for a name, however often it is asked for: a second one would write every record twice.
    if not any(isinstance(handler.formatter, _Formatter) for handler in logger.handlers):
        handler: logging.Handler
        if filename:
            handler = logging.FileHandler(filename, filemode or "a", encoding="utf-8")
            handler.setFormatter(_Formatter(coloured=False))
        else:
            handler = logging.StreamHandler()
            handler.setFormatter(_Formatter(coloured=sys.stderr.isatty()))
        logger.addHandler(handler)
        logger.setLevel(level)
    return logger


def getLogger(
    name: str | None = None, filename: str | None = None, filemode: str | None = None, level: int = WARNING
) -> logging.Logger:
    """Return `get_logger(...)`, whose older name this is; it raises a DeprecationWarning, as in MXNet."""
    warnings.warn("log.getLogger is the older name of log.get_logger", DeprecationWarning, stacklevel=2)
    return get_logger(name, filename, filemode, level)
