"""What belongs to the program, and not to the library: its loggers and its random numbers."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rebind

SOURCES = Path(rebind.__file__).parent
GUEST = Path(__file__).parent / "programs" / "guest.py"

FIT = """
import logging
import logging.config
import numpy as np
import rebind as mx
{before}
batches = mx.io.ResizeIter(mx.io.PrefetchingIter(mx.io.NDArrayIter(np.ones((8, 3)), np.zeros(8), 4)), 2)
mx.random.seed(1)
{between}
net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2), name="softmax")
module = mx.mod.Module(net{given})
module.fit(batches, num_epoch=1, batch_end_callback=mx.callback.Speedometer(4, 1))
"""
LINES = [
    "Epoch[0] Batch [0-1]",
    "Epoch[0] Train-accuracy=",
    "Epoch[0] Time cost=",
]
CONFIG = "logging.config.dictConfig({'version': 1, 'formatters': {'f': {'format': '%(levelname)s:%(name)s:%(message)s'}}, 'handlers': {'h': {'class': 'logging.StreamHandler', 'formatter': 'f'}}, 'root': {'level': 'INFO', 'handlers': ['h']}})"  # noqa: E501


def run(script: str, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True, timeout=300
    )


def slow(*row):
    return pytest.param(*row, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("before", "between", "given", "begin"),
    [
        # MXNet's own calls of `logging` show them then.
        slow("logging.getLogger().setLevel(logging.DEBUG)", "", "", "INFO:rebind:"),
        ("logging.getLogger().setLevel(logging.INFO)", "", ", logger=logging.getLogger()", "INFO:rebind:"),
        ("logging.basicConfig(level=logging.INFO)", "", "", "INFO:rebind:"),
        slow("", "logging.basicConfig(level=logging.INFO, format='> %(message)s')", "", "> "),
        slow("logging.info('mine'); logging.root.setLevel(logging.INFO)", "", "", "INFO:rebind:"),
        slow(CONFIG, "", "", "INFO:rebind:"),
        ("", CONFIG, "", "INFO:rebind:"),  # it disables loggers that there are
        (
            "logging.getLogger('rebind').addHandler(logging.StreamHandler()); logging.root.setLevel(20)",
            "",
            "",
            "",
        ),
        slow(
            "logging.basicConfig(level=logging.INFO); logging.getLogger('rebind').setLevel(30)", "", "", None
        ),
        ("", "", "", None),
    ],
)
def test_lines_of_fit_are_seen_once_as_the_program_has_set_up(before, between, given, begin):
    shown = run(FIT.format(before=before, between=between, given=given)).stderr
    lines = [line for line in shown.splitlines() if "Epoch[" in line]
    expected = LINES if begin is not None else []
    assert len(lines) == len(expected)
    assert all(line.startswith(f"{begin}{end}") for line, end in zip(lines, expected))


@pytest.mark.slow
def test_loggers_and_random_numbers_of_the_program_are_left_alone(tmp_path):
    done = subprocess.run(
        [sys.executable, str(GUEST), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
        capture_output=True,
        text=True,
        timeout=400,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert not [
        line for line in lines if " draws from " in line or "root logger" in line or "ends with" in line
    ]
    assert {"[0] []", "[1] []"} <= set(lines)  # the workers' handlers


def calls_of_logging(path: Path) -> list[str]:
    """Return the calls in a file that may give the root logger a handler."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        of, name = ast.unparse(node.func.value), node.func.attr
        levels = {"debug", "info", "warning", "warn", "error", "exception", "critical", "log"}
        # What is called `logger` may be the module, which is MXNet's default.
        if (of == "logging" and name in levels | {"basicConfig"}) or (
            (of == "logger" or of.endswith(".logger")) and name in levels
        ):
            found.append(f"{path.relative_to(SOURCES)}:{node.lineno}: {of}.{name}")
    return found


def test_no_module_logs_with_the_functions_of_logging():
    found = [call for path in SOURCES.rglob("*.py") for call in calls_of_logging(path)]
    of_their_own = ("kvstore/", "distributed/")  # `logger` is that of the module there
    assert [each for each in found if not each.startswith(of_their_own) or ": logging." in each] == []


def test_only_one_module_imports_rich():
    importing = {
        path.name
        for path in SOURCES.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").split(".")[0] == "rich"
            and not node.level
        )
        or (isinstance(node, ast.Import) and any(each.name.split(".")[0] == "rich" for each in node.names))
    }
    assert importing == {"terminal.py"}
