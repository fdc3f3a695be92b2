"""MXNet's functions of `mx.profiler`: settings, states, tables, traces, and what programs add."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.errors import MXNetError
from rebind.observing import observing

P = mx.profiler


@pytest.fixture(autouse=True)
def own_profile(tmp_path: Path) -> Iterator[str]:
    path = str(tmp_path / "trace.json")
    P.set_config(filename=path, continuous_dump=False, aggregate_stats=True)
    P.process_profile().recording.clear()
    P.set_kvstore_handle(None)
    yield path
    P.set_state("stop")
    P.process_profile().recording.clear()
    assert observing.programs is observing.kernels is observing.updates is observing.array_calls is None


def network() -> Any:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc")
    return mx.sym.SoftmaxOutput(mx.sym.Activation(net, act_type="tanh", name="act"), name="softmax")


def trained(net: Any, times: int = 3, **shapes: Any) -> Any:
    exe = net.simple_bind(mx.cpu(), **(shapes or {"data": (2, 3)}))
    for _ in range(times):
        exe.forward(is_train=True)
        exe.backward([mx.nd.ones(each.shape) for each in exe.outputs])
    return exe


def rows() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(P.dumps(format="json"))["Time"]
    return found


def events(path: str) -> list[dict[str, Any]]:
    with open(path) as file:
        found: list[dict[str, Any]] = json.load(file)["traceEvents"]
    return found


# Of networks whose backward is explicit, and autograd's.
@pytest.mark.parametrize(
    ("net", "names"),
    [
        (network(), ("FullyConnected", "Activation", "SoftmaxOutput")),
        (mx.sym.sin(mx.sym.var("data")), ("sin",)),
    ],
    ids=["explicit", "recorded"],
)
def test_operators_of_a_network_are_rows_with_their_derivatives(net: Any, names: tuple[str, ...]) -> None:
    P.set_state("run")
    trained(net)
    P.set_state("stop")
    found = rows()["operator"]
    for name in names:
        assert found[name]["Count"] == found[f"_backward_{name}"]["Count"] == 3
        assert 0 < found[name]["Min"] <= found[name]["Avg"] <= found[name]["Max"] <= found[name]["Total"]
    api = rows()["MXNET_C_API"]
    assert api["MXExecutorForward"]["Count"] == api["MXExecutorBackwardEx"]["Count"] == 3


def test_calls_and_their_derivatives_are_rows_and_so_are_updates() -> None:
    P.set_state("run")
    x, weight = mx.nd.ones((2, 2)), mx.nd.ones((2, 2))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.dot(x, x) * 2
    y.backward()
    mx.optimizer.get_updater(mx.optimizer.create("sgd"))(0, x.grad, weight)
    found = rows()["operator"]
    assert {name: found[name]["Count"] for name in found} == {
        "_ones": 2, "dot": 1, "_mul_scalar": 1, "_backward_dot": 1, "_backward_mul_scalar": 1, "sgd_update": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("code", "row"),
    [
        ("mx.nd.zeros((2,))", "_zeros"),
        ("mx.nd.full((2,), 3)", "_full"),
        ("mx.nd.linspace(0, 1, 3)", "_linspace"),
        ("mx.nd.sparse.zeros('csr', (2, 2))", "_zeros"),
        ("a[1]", None),  # shares the memory
        ("a[0:2]", None),
        ("a[:]", None),
        ("a[:, 1]", "slice"),
        ("a[::2]", "slice"),
        ("a[[0, 1]]", "gather_nd"),
        ("a[mx.nd.array([0, 1])]", "gather_nd"),
        ("a[:] = 2", "_full"),
        ("a[:] = b", "CopyCPU2CPU"),
        ("a[:] = np.ones((3, 4))", None),
        ("a[1] = 2", "_slice_assign_scalar"),
        ("a[:, 1:3] = b[:, 1:3].asnumpy()", ("slice", "_slice_assign")),
        ("a[[0, 1]] = 3", "_scatter_set_nd"),
        ("a.copy()", "CopyCPU2CPU"),
        ("a.copyto(b)", "CopyCPU2CPU"),
        ("a.as_in_context(mx.cpu(0))", None),
        ("a.as_in_context(mx.cpu(1))", "CopyCPU2CPU"),
        ("a.tostype('csr')", "cast_storage"),
        ("a.tostype('csr').tostype('default')", ("cast_storage", "cast_storage")),
        ("a.tostype('default')", None),
        ("mx.init.Xavier()(mx.init.InitDesc('w_weight'), a)", "_random_uniform"),
        ("mx.init.Normal()(mx.init.InitDesc('w_weight'), a)", "_random_normal"),
        ("mx.init.Zero()(mx.init.InitDesc('w_weight'), a)", "_full"),
    ],
)
def test_what_is_no_operators_call_has_the_row_that_mxnet_shows(
    code: str, row: str | tuple[str, ...] | None
) -> None:
    scope = {"mx": mx, "np": np, "a": mx.nd.ones((3, 4)), "b": mx.nd.ones((3, 4))}
    P.set_state("run")
    exec(code, scope)
    expected = Counter((row,) if isinstance(row, str) else row or ())
    operators = json.loads(P.dumps(format="json"))["Time"].get("operator", {})
    assert {name: each["Count"] for name, each in operators.items() if name != "_arange"} == expected


def test_a_copy_that_is_recorded_is_one_row() -> None:
    a = mx.nd.ones((3, 4))
    a.attach_grad()
    P.set_state("run")
    with mx.autograd.record():
        b = a.copy()
    b.backward()
    assert list(rows()["operator"]) == ["_copy", "_backward_copy"]


def test_custom_operators_are_a_category_of_their_own() -> None:
    class Add(mx.operator.CustomOp):
        def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            self.assign(out_data[0], req[0], in_data[0] + 1)

        def backward(
            self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any
        ) -> None:
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    @mx.operator.register("profiled_add")
    class AddProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Add:
            return Add()

    P.set_state("run")
    trained(mx.sym.Custom(mx.sym.var("data"), op_type="profiled_add"), times=2)
    with mx.autograd.record():
        mx.nd.Custom(mx.nd.ones((2,)), op_type="profiled_add")
    found = rows()
    assert set(found["Custom Operator"]) >= {
        "profiled_add::pure_python", "profiled_add::_plus_scalar", "_backward_profiled_add::pure_python",
        "_backward_profiled_add::_mul_scalar",
    }  # fmt: skip
    assert found["Custom Operator"]["profiled_add::pure_python"]["Count"] == 3
    assert not {"Custom", "_plus_scalar", "_mul_scalar"} & set(found.get("operator", {}))
    operators = {row.operator for row in P.process_profile().nodes()}  # times of inner calls count once
    assert operators - {"autograd", "_ones"} == {"profiled_add::pure_python"}


def test_the_table_has_mxnets_headings_and_columns() -> None:
    P.set_state("run")
    trained(network())
    lines = P.dumps().split("\n")
    assert lines[:3] == ["", "Profile Statistics:", "\tNote the difference in units for different entries."]
    assert lines[3:5] == ["Device Storage", "================="] or sys.platform != "linux"
    i = lines.index("operator")
    assert lines[i + 1 : i + 4] == [
        "=================",
        "Name                          Total Count        Time (ms)    Min Time (ms)    Max Time (ms)    Avg Time (ms)",
        "----                          -----------        ---------    -------------    -------------    -------------",
    ]
    assert len(lines[i + 4]) == 109 and lines[i + 4].split()[1] == "3"


@pytest.mark.parametrize("sort_by", ["total", "avg", "min", "max", "count"])
@pytest.mark.parametrize("ascending", [False, True])
def test_rows_are_sorted(sort_by: str, ascending: bool) -> None:
    P.set_state("run")
    trained(network())
    _ = mx.nd.ones((2,)) * 3
    found = json.loads(P.dumps(format="json", sort_by=sort_by, ascending=ascending))["Time"]["operator"]
    values = [row[sort_by.capitalize()] for row in found.values()]
    assert values == sorted(values, reverse=not ascending) and len(values) == 8


def test_dumps_is_empty_without_aggregate_stats_and_after_a_reset() -> None:
    P.set_state("run")
    trained(network())
    assert "FullyConnected" in P.dumps(reset=True)
    assert "FullyConnected" not in P.dumps()
    P.set_config(continuous_dump=False)
    assert P.dumps() == ""


def test_a_reset_leaves_the_trace_and_the_tables_by_node_as_they_are(own_profile: str) -> None:
    P.set_state("run")
    x, seen = mx.nd.ones((3,)), []
    for function in (mx.nd.exp, mx.nd.log, mx.nd.sin):
        function(x)
        P.Domain("reading").new_marker("done").mark()
        seen.append(P.dumps(reset=True))
    found = [[name for name in ("exp", "log", "sin") if name in text] for text in seen]
    assert found == [["exp"], ["log"], ["sin"]]
    assert P.dumps().strip().endswith("for different entries.")  # no rows
    P.dump()
    names = [each["name"] for each in events(own_profile) if each["ph"] in "Xi"]
    assert [name for name in names if name != "_ones"] == ["exp", "done", "log", "done", "sin", "done"]
    assert {"exp", "log", "sin"} <= {row.name for row in P.process_profile().nodes()}


@pytest.mark.parametrize(
    ("given", "absent"),
    [
        ({"profile_symbolic": False}, "FullyConnected"),
        ({"profile_imperative": False}, "_mul_scalar"),
        ({"profile_api": False}, "MXExecutorForward"),
        ({"profile_memory": False}, "Memory:"),
    ],
)
def test_kinds_are_left_out(given: dict[str, bool], absent: str, own_profile: str) -> None:
    names = {"FullyConnected", "_mul_scalar", "MXExecutorForward"}
    for settings, missing in ((given, absent), ({**given, "profile_all": True}, "")):
        P.set_config(filename=own_profile, continuous_dump=False, aggregate_stats=True, **settings)
        P.set_state("run")
        trained(network())
        _ = mx.nd.ones((2,)) * 3
        P.set_state("stop")
        text = P.dumps(reset=True)
        assert not missing or missing not in text
        assert all(name in text for name in names - {missing})


def test_a_pause_records_nothing() -> None:
    P.set_state("run")
    P.pause()
    _ = mx.nd.ones((2,)) * 3
    P.resume()
    _ = mx.nd.ones((2,)) + 3
    assert {name: row["Count"] for name, row in rows()["operator"].items()} == {"_ones": 1, "_plus_scalar": 1}


def test_what_a_program_adds_is_in_tables_and_trace(own_profile: str) -> None:
    P.set_state("run")
    domain = P.Domain("reading")
    task, frame, event = domain.new_task("parse"), domain.new_frame("line"), P.Event("all")
    for each in (event, task, frame):
        each.start()
    for each in (event, task, frame):  # not in the reverse order
        each.stop()
    counter = domain.new_counter("lines", 3)
    counter += 2
    counter -= 1
    counter.increment(4)
    counter.decrement(2)
    domain.new_marker("done").mark("global")
    text = P.dumps()
    row = rows()["reading"]["lines"]
    assert (row["Count"], row["Total"], row["Min"], row["Max"], row["Avg"]) == (5, 6.0, 3.0, 8.0, 5.2)
    P.dump()
    assert [str(each) for each in (domain, task, frame, event, counter)] == [
        "reading", "parse", "line", "all", "lines",
    ]  # fmt: skip
    assert counter.value == 6
    assert all(f"\n{heading}\n====" in text for heading in ("reading", "reading,frame", "event"))
    assert "\nreading,instant_marker\n" in text
    found = events(own_profile)
    assert [(each["ph"], each["s"]) for each in found if each["name"] == "done"] == [("i", "g")]
    assert [each["args"]["lines"] for each in found if each["name"] == "lines"] == [3, 5, 4, 8, 6]
    pairs = [(each["ph"], each["name"], each["id"]) for each in found if each["ph"] in "be"]
    assert sorted({ph for ph, _, _ in pairs}) == ["b", "e"] and len({number for _, _, number in pairs}) == 3


def test_a_trace_is_one_that_perfetto_reads(own_profile: str) -> None:
    P.set_state("run")
    trained(network())
    P.dump()
    found = events(own_profile)
    slices = [each for each in found if each["ph"] == "X"]
    assert {"fc", "act", "softmax", "fc_backward"} <= {each["name"] for each in slices}
    fc = next(each for each in slices if each["name"] == "fc")
    assert fc["args"] == {
        "operator": "FullyConnected",
        "inputs": "2x3 float32, 4x3 float32, 4 float32",
        "outputs": "2x4 float32",
    }
    assert all(0 <= each[key] < 2**53 for each in found for key in ("pid", "tid", "ts", "id") if key in each)
    for each in slices:  # in a thread they nest
        for other in slices:
            begin, end = (
                max(each["ts"], other["ts"]),
                min(each["ts"] + each["dur"], other["ts"] + other["dur"]),
            )
            inner = min(each["dur"], other["dur"])
            assert end - begin < 0.01 or abs((end - begin) - inner) < 0.01


def test_the_trace_is_written_while_the_program_runs(own_profile: str) -> None:
    P.set_config(filename=own_profile, dump_period=0.02)
    P.set_state("run")
    trained(network())
    until = time.monotonic() + 20
    while not Path(own_profile).exists() and time.monotonic() < until:
        time.sleep(0.01)
    P.set_state("stop")
    assert any(each["name"] == "fc" for each in events(own_profile))


def test_stopping_writes_what_the_last_period_has_added(own_profile: str) -> None:
    P.set_config(filename=own_profile, dump_period=1000)
    P.set_state("run")
    trained(network())
    P.set_state("stop")
    assert any(each["name"] == "fc" for each in events(own_profile))


@pytest.mark.parametrize("mode", [pytest.param("1", marks=pytest.mark.slow), "0"])
def test_the_environment_starts_it(tmp_path: Path, mode: str) -> None:
    program = "import rebind as mx; mx.sym.exp(mx.sym.var('x'), name='e').eval(x=mx.nd.ones((2,)) * 2)"
    own = {"MXNET_PROFILER_AUTOSTART": "1", "MXNET_PROFILER_MODE": mode}
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=os.environ | own, check=True)
    names = {each["name"] for each in events(str(tmp_path / "profile.json"))}
    assert "e" in names and ("_mul_scalar" in names) == (mode == "1")


def test_the_old_names_warn_and_do_the_same(own_profile: str) -> None:
    with pytest.warns(UserWarning, match=r"Please use profiler\.set_config\(\) instead"):
        P.profiler_set_config("symbolic", own_profile)
    with pytest.warns(UserWarning, match=r"Please use profiler\.set_state\(\) instead"):
        P.profiler_set_state("run")
    trained(network())
    with pytest.warns(UserWarning, match=r"Please use profiler\.dump\(\) instead"):
        P.dump_profile()
    assert any(each["name"] == "fc" for each in events(own_profile))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: P.set_config(file_name="x"), "no parameter 'file_name'; did you mean 'filename'"),
        (lambda: P.set_config(profile_all="yes"), "profile_all must be True or False; got 'yes'"),
        (lambda: P.set_config(dump_period=0), "dump_period must be a number of seconds above 0; got 0"),
        (lambda: P.set_config(profile_process="x"), "profile_process must be one of 'worker', 'server'; got 'x'"),
        (lambda: P.set_state("on"), "profiler.set_state: state must be one of 'run', 'stop'; got 'on'"),
        (lambda: P.set_state("run", profile_process="server"), "needs a key-value store with servers"),
        (lambda: P.dumps(sort_by="time"), "sort_by must be one of 'total', 'avg', 'min', 'max', 'count'; got 'time'"),
        (lambda: P.dumps(format="text"), "format must be one of 'table', 'json'; got 'text'"),
        (lambda: P.dumps(reset=2), "reset must be one of False, True; got 2"),
        (lambda: P.dumps(ascending=None), "ascending must be one of False, True; got None"),
        (lambda: P.profiler_set_config("bogus"), "mode must be one of 'symbolic', .*; got 'bogus'"),
        (lambda: P.Domain(5), "name must be text; got 5"),
        (lambda: P.Task("reading", "parse"), "domain must be a profiler.Domain; got 'reading'"),
        (lambda: P.Counter(P.Domain("d"), "c").set_value("a"), "value must be an int; got 'a'"),
        (lambda: P.Marker(P.Domain("d"), "m").mark("all"), "scope must be one of 'global', .*; got 'all'"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:profiler.profiler_set_config")
def test_mistakes_are_said(call: Any, says: str) -> None:
    with pytest.raises(MXNetError, match=says):
        call()


def test_a_dump_before_the_first_run_is_an_error() -> None:
    program = "import rebind as mx; mx.profiler.dump()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "profiler.dump: the profiler must have run; it was never started." in done.stderr
