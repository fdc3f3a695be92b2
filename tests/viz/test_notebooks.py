"""What a notebook shows: the last line of a cell, in a process that has only imported rebind."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Each is shown in a process of its own, which has done nothing else before.
SHOWN = {
    "mx.nd.ones((2, 3))": "_repr_html_ <div><b>NDArray</b> 2×3",
    "net": "_repr_html_ <svg",
    "net.get_internals()": "_repr_html_ <svg",
    "mx.sym.Group([net, net * 2])": "_repr_html_ <svg",
    "mx.mod.Module(net, label_names=None)": "_repr_html_ <div><b>Module</b>",
    "mx.module.BucketingModule(lambda key: (net, ['data'], None), 8)": "_repr_html_ <div><b>BucketingModule</b>",
    "mx.mod.SequentialModule().add(mx.mod.Module(net, label_names=None))": "_repr_html_ <div><b>SequentialModule</b>",
    "mx.mod.PythonLossModule()": "_repr_html_ <div><b>PythonLossModule</b>",
    "mx.viz.plot_network(net)": "_repr_svg_ <svg",
    "mx.viz.plot_history({'train': {'acc': [1, 2]}})": "_repr_png_ \x89PNG",
    # Those that a notebook shows as text.
    **dict.fromkeys(
        [
            *(
                "mx",
                "mx.nd",
                "mx.sym",
                "mx.viz",
                "mx.nd.contrib",
                "mx.sym.FullyConnected",
                "mx.cpu()",
                "mx.AttrScope()",
            ),
            *(
                "net.simple_bind(mx.cpu(), data=(1, 3))",
                "mx.metric.Accuracy()",
                "mx.optimizer.SGD()",
                "mx.init.Xavier()",
            ),
            *(
                "mx.io.NDArrayIter(mx.nd.ones((4, 2)))",
                "mx.io.DataBatch([mx.nd.ones((4, 2))])",
                "mx.kv.create('local')",
            ),
            *("mx.gluon.nn.Dense(3)", "mx.gluon.Parameter('w')", "mx.mon.Monitor(1)", "mx.rnn.LSTMCell(3)"),
            "mx.lr_scheduler.FactorScheduler(2)",
        ],
        "",
    ),
}
PROGRAM = """
import os, sys, warnings
import rebind as mx
warnings.simplefilter("error")
FORMS = ("html", "svg", "png", "jpeg", "markdown", "latex", "json", "javascript", "pdf")
NAMES = [f"_repr_{form}_" for form in FORMS] + ["_repr_mimebundle_", "_ipython_display_"]
for line in sys.stdin.read().splitlines():
    sys.stdout.flush()
    if os.fork() == 0:  # a fresh process, without a second import
        net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
        shown = eval(line)
        assert repr(shown)
        for name in NAMES:
            if (method := getattr(shown, name, None)) is not None:
                found = method()
                print(name, ascii((found if isinstance(found, str) else found.decode("latin-1"))[:40]), end="")
        print(flush=True)
        os._exit(0)
    status = os.wait()[1]
    if status:
        print("failed", flush=True)
"""


@pytest.fixture(scope="module")
def answers():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input="\n".join(SHOWN), capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(SHOWN), done.stderr
    return dict(zip(SHOWN, lines)), done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("shown", SHOWN)
def test_the_last_line_of_a_cell(answers, shown):
    if "plot_history" in shown:
        pytest.importorskip("matplotlib")
    lines, errors = answers
    assert lines[shown] != "failed", errors
    name, _, text = lines[shown].partition(" ")
    assert f"{name} {eval(text)}".startswith(SHOWN[shown]) if SHOWN[shown] else lines[shown] == ""
