"""Programs with what is to be found written beside each line, and programs in which nothing stops."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from rebind.script_check import check_file, check_source

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))
RUNNING = sorted((HERE.parent / "programs").glob("*.py"))


def expected(path: Path) -> Counter[tuple[int, str]]:
    """Return what the comments of a program say, as (line, kind)."""
    return Counter(
        (number, kind.strip())
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (found := re.search(r"# expect: (.*)", line))
        for kind in found[1].split(",")
    )


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_each_is_found_and_nothing_else(path: Path) -> None:
    assert Counter((finding.line, finding.kind) for finding in check_file(path)) == expected(path)


@pytest.mark.parametrize("path", RUNNING, ids=lambda path: path.stem)
def test_no_alarm_for_programs_that_run(path: Path) -> None:
    assert [finding for finding in check_file(path) if finding.stops or finding.kind != "value"] == []


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            "import mxnet as mx\nmx.sym.FullyConnected(num_hiden=3)",
            "FullyConnected takes no 'num_hiden'; did you mean 'num_hidden'?",
        ),
        ("import numpy as np\nnp.float", "; write float"),
        ("from mxnet import gluon\ngluon.Trainer()", "mx.mod.Module trains symbols"),
        (
            "import mxnet as mx\nmx.sym.Convoluton",
            "neither here nor in MXNet 1.9.1; did you mean 'Convolution'",
        ),
        ("\nprint 'a'", "print is a function: write print(...)"),
        ("import rebind as mx\nmx.nd.ons", "rebind.nd has no 'ons'; did you mean 'ones'"),
    ],
)
def test_messages_say_what_to_do(program: str, message: str) -> None:
    (finding,) = check_source(program, "a.py")
    assert finding.line == 2
    assert message in finding.message


@pytest.mark.parametrize(
    "program",
    [
        "import rebind.convert.targets\nrebind.convert.targets.TARGETS",
        "class Box:\n    def iteritems(self): ...\nBox().iteritems()",
        "import box\nbox.has_key(1)",
    ],
)
def test_nothing_is_said_of_what_is_there(program: str) -> None:
    assert check_source(program, "a.py") == []


@pytest.mark.parametrize(
    ("call", "stops"),
    [
        ("mx.io.MNISTIter(input_shape=(784,))", False),
        ("mx.sym.relu(axis=1)", False),
        ("mx.io.NDArrayIter([1], batch=3)", True),
        ("mx.sym.Pooling(kernal=(2, 2))", True),
    ],
)
def test_arguments_that_are_ignored_are_notes(call: str, stops: bool) -> None:
    (finding,) = check_source(f"import mxnet as mx\n{call}\n", "a.py")
    assert (finding.kind, finding.stops) == ("keyword", stops)
