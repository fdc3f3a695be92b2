"""Loggers of `mx.log`."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from rebind import log


def test_logger_with_a_file(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    logger = log.get_logger("rebind.test.file", filename=str(path), level=log.INFO)
    logger.debug("unseen")
    logger.info("epoch %d", 3)
    try:
        1 / 0  # noqa: B018
    except ZeroDivisionError:
        logger.exception("went wrong")
    for handler in logger.handlers:
        handler.close()
    first, second, *trace = path.read_text().splitlines()
    assert re.fullmatch(
        r"I\d{4} \d\d:\d\d:\d\d \d+ test_log\.py:test_logger_with_a_file:\d+\] epoch 3", first
    )
    assert second.startswith("E")
    assert second.endswith("went wrong")
    assert trace[-1] == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize("level", [log.INFO, log.WARNING, log.ERROR])
def test_one_handler_for_a_name(level: int) -> None:
    logger = log.get_logger("rebind.test.twice", level=log.DEBUG)
    assert log.get_logger("rebind.test.twice", level=level) is logger
    assert (len(logger.handlers), logger.level) == (1, logging.DEBUG)  # as in MXNet, the first call decides


@pytest.mark.parametrize(
    ("level", "start"),
    [(log.WARNING, "\x1b[33mW"), (log.ERROR, "\x1b[31mE"), (log.INFO, "\x1b[32mI")],
)
def test_colours_in_a_terminal_only(level: int, start: str) -> None:
    (handler,) = log.get_logger("rebind.test.colours").handlers
    record = logging.LogRecord("n", level, "train.py", 12, "slow", None, None, "main")
    assert "\x1b" not in handler.format(record)
    assert log._Formatter(coloured=True).format(record).startswith(start)


def test_the_root_logger_stays_as_it_is() -> None:
    handlers = list(logging.getLogger().handlers)
    assert log.get_logger(level=log.DEBUG) is logging.getLogger()
    assert logging.getLogger().handlers == handlers


def test_older_name() -> None:
    with pytest.warns(DeprecationWarning, match=r"log\.get_logger"):
        assert log.getLogger("rebind.test.older").name == "rebind.test.older"
