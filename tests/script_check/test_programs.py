"""Programs with what is to be found written beside each line, and programs in which nothing stops."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rebind.script_check import check_file, check_source
from rebind.script_check.older_numpy import REFUSES_ARRAYS_AS_NUMBERS

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))
RUNNING = sorted((HERE.parent / "programs").glob("*.py"))
EXAMPLES = sorted((HERE.parents[1] / "examples").rglob("*.py"))


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
    assert [
        finding for finding in check_file(path) if finding.stops or finding.kind not in ("value", "file")
    ] == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_nothing_is_said_of_the_examples(path: Path) -> None:
    assert check_file(path) == []


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
        ("import os\nimport rebind.np", "np is not part of rebind. Use mx.nd and mx.sym"),
        ("import mxnet as mx; net = mx.mod.Module(net)\nnet.init_param()", "did you mean 'init_params'"),
        (
            "import mxnet as mx; net = mx.mod.Module(net)\nnet.fit(it, num_epochs=3)",
            "fit takes no 'num_epochs'; did you",
        ),
        ("import mxnet as mx\nmx.model.FeedForward(net).predict(x, batches=3)", "takes no 'batches'"),
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
        "import mxnet as mx\nclass Net(mx.mod.Module):\n    def fitt(self): ...\nnet = Net(1)\nnet.fitt()",
        "import mxnet as mx\nif x:\n    net = mx.mod.Module(1)\nelse:\n    net = box()\nnet.fitt()",
        "import mxnet as mx\nwith mx.AttrScope() as scope:\n    scope.gett()",
        "import mxnet as mx\nnet = mx.mod.Module(1)\nnet.fit(it, num_epoch=3)",
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


@pytest.mark.parametrize(
    ("program", "stops"),
    [
        ("x = mx.nd.ones((1,))\nfloat(x.asnumpy())", True),
        ("x = mx.nd.ones((2, 3)).sum()\n'%f' % x[0].asnumpy()", True),
        ("def show(x): return int(x.asnumpy())", False),
        ("with mx.util.np_shape(True):\n    x = mx.nd.ones(())\n    float(x.asnumpy())", False),
    ],
)
def test_a_number_of_an_array_stops_where_it_is_known_to_have_axes(program: str, stops: bool) -> None:
    (finding,) = check_source(f"import mxnet as mx\n{program}\n", "a.py")
    refuses = tuple(map(int, np.__version__.split(".")[:2])) >= REFUSES_ARRAYS_AS_NUMBERS
    assert (finding.kind, finding.stops) == ("number", stops and refuses)
