"""Tables by node, by prefix and by iteration; profiles of `fit`."""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.newer_torch import follows_gradients

import rebind as mx
from rebind.observing import observing
from rebind.profiler.machine import Peak
from rebind.profiler.nodes import NodeRecord
from rebind.profiler.text import node_table

S = mx.sym


def layers(prefix: str = "") -> Any:
    net = S.Convolution(S.var("data"), num_filter=4, kernel=(3, 3), name=f"{prefix}conv1")
    net = S.Activation(net, act_type="relu", name=f"{prefix}relu1")
    net = S.FullyConnected(net, num_hidden=5, name=f"{prefix}fc")
    return S.SoftmaxOutput(net, name="softmax")


def module(**given: Any) -> Any:
    return mx.mod.Module(layers(), **given)


def data(batches: int = 6) -> Any:
    rng = np.random.default_rng(0)
    return mx.io.NDArrayIter(rng.random((2 * batches, 1, 6, 6)), np.arange(2 * batches) % 5, 2)


def test_a_layer_above_the_peak_of_memory_has_a_note() -> None:
    record = NodeRecord("fc", "FullyConnected", (), ((8, 10),), 2, 0.5, 1.0, 1.0, 10**9, 10**9)  # 2 GB/s
    assert "processor's caches; the peak is that of main memory" in node_table([record], peak=Peak(8.0, 1.0))
    assert "caches" not in node_table([record], peak=Peak(8.0, 4.0))


def rows(profile: Any, prefixes: int | None = None) -> dict[str, Any]:
    """The rows by name, without autograd's own, and those of changes of layout, which passes have put in."""
    found = profile.nodes() if prefixes is None else profile.prefixes(prefixes)
    return {
        row.name: row
        for row in found
        if (row.name != "(autograd)" and " " not in row.name) or "..." in row.name
    }


def ran(net: Any, profile: Any, times: int = 2, **given: Any) -> Any:
    exe = net.simple_bind(mx.cpu(), data=(2, 1, 6, 6), **given)
    with profile:
        for _ in range(times):
            exe.forward_before_backward()
            exe.backward()
    return exe


# `sin` declares no derivative: autograd runs backward.
@pytest.mark.parametrize("last", ["relu1", "sine"])
def test_each_node_has_calls_times_shapes_and_costs(last: str) -> None:
    net, profile = layers(), mx.profiler.Profile()
    if last == "sine":
        inner = S.sin(net.get_internals()["relu1_output"], name="sine")
        net = S.SoftmaxOutput(S.FullyConnected(inner, num_hidden=5, name="fc"), name="softmax")
    ran(net, profile)
    found = rows(profile)
    assert set(found) == {"conv1", "relu1", "fc", "softmax"} | ({"sine"} & {last})
    conv = found["conv1"]
    assert (conv.operator, conv.calls, conv.outputs) == ("Convolution", 2, ((2, 4, 4, 4),))
    assert conv.inputs == ((2, 1, 6, 6), (4, 1, 3, 3), (4,))
    assert conv.multiply_adds == 2 * (2 * 4 * 4 * 4 * 9 + 2 * 4 * 4 * 4)  # and the bias
    assert conv.nbytes == 2 * 4 * (2 * 36 + 36 + 4 + 2 * 4 * 16)
    assert all(row.forward > 0 for row in found.values())
    assert all(found[name].backward > 0 for name in found if name != "softmax")  # which autograd starts from
    assert sum(row.share for row in profile.nodes()) == pytest.approx(1)
    assert conv.gflops == pytest.approx(2e-9 * conv.multiply_adds / conv.forward)
    assert conv.gbytes == pytest.approx(1e-9 * conv.nbytes / conv.forward)
    assert found["fc"].multiply_adds == 2 * (2 * 64 * 5 + 2 * 5)


def test_the_numbers_are_those_of_a_run_without() -> None:
    first, second = (net.simple_bind(mx.cpu(), data=(2, 1, 6, 6)) for net in (layers(), layers()))
    for exe in (first, second):
        for i, array in enumerate(exe.arg_dict.values()):
            array[:] = mx.nd.array(np.random.default_rng(i).random(array.shape))
    with mx.profiler.Profile():
        first.forward_before_backward()
        first.backward()
    second.forward_before_backward()
    second.backward()
    np.testing.assert_array_equal(first.outputs[0].asnumpy(), second.outputs[0].asnumpy())
    for name, grad in second.grad_dict.items():
        np.testing.assert_array_equal(first.grad_dict[name].asnumpy(), grad.asnumpy())


@pytest.mark.usefixtures("own_backends")
@follows_gradients
def test_compiled_code_is_a_piece_with_its_nodes(tmp_path: Path) -> None:
    profile = mx.profiler.Profile()
    ran(layers(), profile, backend="aot_eager")
    [piece] = [row for row in profile.nodes() if "..." in row.name]
    assert {"conv1", "relu1", "fc", "softmax"} <= set(piece.nodes) and piece.name.endswith(" ... softmax")
    with open(profile.save(str(tmp_path / "trace.json"))) as file:
        events = json.load(file)["traceEvents"]
    assert any(each.get("args", {}).get("nodes") == [*piece.nodes] for each in events)


def test_a_monitor_and_a_profile_both_see_a_run() -> None:
    seen: list[str] = []
    exe = layers().simple_bind(mx.cpu(), data=(2, 1, 6, 6))
    exe.set_monitor_callback(lambda name, array: seen.append(name))
    with mx.profiler.Profile() as profile:
        exe.forward(is_train=True)
        exe.backward()
    assert {"conv1_output", "conv1_backward_output0"} <= set(seen)
    assert rows(profile)["conv1"].calls == 1 and rows(profile)["conv1"].backward > 0


def test_prefixes_sum_up_their_nodes() -> None:
    profile = mx.profiler.Profile()
    ran(layers("stage1_unit1_"), profile)
    by_one, by_two = rows(profile, 1), rows(profile, 2)
    assert set(by_one) == {"stage1", "softmax"} and set(by_two) == {"stage1_unit1", "softmax"}
    inner = [row for row in profile.nodes() if row.name.startswith("stage1")]
    stage = by_one["stage1"]
    assert stage.calls == sum(row.calls for row in inner) >= 6
    assert stage.seconds == pytest.approx(sum(row.seconds for row in inner))
    assert {"Convolution", "Activation", "FullyConnected"} <= set(stage.operator.split(", "))


def test_iterations_begin_with_each_run_of_the_first_executor() -> None:
    profile = mx.profiler.Profile()
    ran(layers(), profile, times=4)
    found = profile.iterations()
    assert [each.number for each in found] == [0, 1, 2, 3]
    assert all(0 < each.forward < each.seconds and 0 < each.backward < each.seconds for each in found)


def test_records_are_dicts_and_text_is_a_table() -> None:
    profile = mx.profiler.Profile()
    ran(layers(), profile)
    records = profile.records()
    assert {"name", "operator", "calls", "forward", "backward", "seconds", "gflops", "gbytes"} <= set(
        records[0]
    )
    text = str(profile)
    assert text.splitlines()[0].split()[:4] == ["Name", "Operator", "Output", "Calls"]
    assert "2x4x4x4" in text and "Iterations: 2" in text
    assert " more)" in profile.table(rows=2)


def test_a_notebook_shows_the_tables_and_the_repr_says_how_much_there_is() -> None:
    profile = mx.profiler.Profile()
    assert repr(profile) == "<Profile of 0 nodes, 0 iterations>"
    ran(layers(), profile)
    assert repr(profile) == f"<Profile of {len(profile.nodes())} nodes, 2 iterations>"
    shown = profile._repr_html_()
    assert shown.startswith("<pre>Name ") and "conv1" in shown and "&gt;" not in shown


def test_a_dataframe_has_the_records() -> None:
    pandas = pytest.importorskip("pandas")
    profile = mx.profiler.Profile()
    ran(layers(), profile)
    found = profile.to_dataframe()
    assert isinstance(found, pandas.DataFrame)
    assert list(found.name) == [each["name"] for each in profile.records()]


def test_without_pandas_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"Profile\.to_dataframe: this needs pandas: pip install pandas"):
        mx.profiler.Profile().to_dataframe()


def test_fit_records_some_batches_and_then_costs_nothing() -> None:
    profile, seen = mx.profiler.Profile(skip=2, batches=3), []
    module().fit(
        data(), num_epoch=2, profile=profile,
        batch_end_callback=lambda record: seen.append(observing.programs is not None),
    )  # fmt: skip
    assert seen == [False] * 2 + [True] * 3 + [False] * 7
    assert rows(profile)["conv1"].calls == 3 and not profile.is_running
    found = profile.iterations()
    assert len(found) == 3
    for each in found:
        assert min(each.data, each.forward, each.backward, each.update, each.other) > 0
        assert each.data + each.forward + each.backward + each.update < each.seconds


def test_fit_goes_on_recording_in_the_next_epoch() -> None:
    profile = mx.profiler.Profile(skip=4, batches=4)
    module().fit(data(), num_epoch=2, profile=profile)
    assert rows(profile)["conv1"].calls == 4 and len(profile.iterations()) == 4


def test_a_profile_records_each_fit_that_it_is_given_to() -> None:
    profile, trained = mx.profiler.Profile(skip=2, batches=3), module()
    for count in (3, 6):
        trained.fit(data(), num_epoch=1, profile=profile)
        assert rows(profile)["conv1"].calls == len(profile.iterations()) == count


def test_fit_logs_a_table_and_writes_a_trace(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "trace.json"
    with caplog.at_level(logging.INFO):
        module().fit(data(), num_epoch=1, profile=path)
    text = caplog.messages[-1]
    assert text.startswith("Where the time of 4 batches went:\nName") and "conv1" in text
    assert text.endswith(f"The trace is in {path}: open it in ui.perfetto.dev.")
    assert any(each["name"] == "conv1" for each in json.loads(path.read_text())["traceEvents"])


def test_fit_with_several_devices_counts_their_runs() -> None:
    profile = mx.profiler.Profile(skip=0)
    module(context=[mx.cpu(0), mx.cpu(1)]).fit(data(), num_epoch=1, profile=profile)
    assert rows(profile)["conv1"].calls == 12 and len(profile.iterations()) == 6


def test_a_profile_is_started_once_and_may_pause() -> None:
    with mx.profiler.Profile() as profile:
        with pytest.raises(
            mx.MXNetError, match=r"it must not run yet; it was started before\. Call stop\(\)"
        ):
            profile.start()
        x = mx.nd.ones((2,))
        profile.pause()
        _ = x * 2
        profile.resume()
        _ = x + 2
    assert {row.name for row in profile.nodes()} == {"_ones", "_plus_scalar"}
    assert observing.kernels is None


def test_a_picture_has_a_bar_for_each_node(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    profile = mx.profiler.Profile()
    ran(layers(), profile)
    picture = profile.plot(tmp_path / "profile.png", rows=2)
    labels = [text.get_text() for text in picture.figure.axes[0].get_yticklabels()]
    count = len(profile.nodes())
    assert labels == [*(row.name for row in profile.nodes()[:2]), f"({count - 2} more)"]
    widths = sum(bar.get_width() for bar in picture.figure.axes[0].patches)
    assert widths == pytest.approx(1000 * sum(row.seconds for row in profile.nodes()))
    assert (tmp_path / "profile.png").read_bytes()[:4] == picture._repr_png_()[:4] == b"\x89PNG"


def test_what_a_profile_takes_is_checked() -> None:
    for settings in ({"skip": -1}, {"batches": 0}, {"skip": "trace.json"}):
        with pytest.raises(ValueError, match=f"Profile: {next(iter(settings))} must be"):
            mx.profiler.Profile(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda profile: profile.prefixes(0), "Profile.prefixes: depth must be an int >= 1; got 0"),
        (lambda profile: profile.prefixes("stage1"), "Profile.prefixes: depth must be .*; got the text 'stage1'"),
        (lambda profile: profile.table(rows=-1), "Profile.table: rows must be an int >= 0.*; got -1"),
        (lambda profile: profile.plot(rows=-1), "Profile.plot: rows must be an int >= 0; got -1"),
    ],
)  # fmt: skip
def test_what_tables_take_is_checked(call: Any, says: str) -> None:
    with pytest.raises(mx.MXNetError, match=says):
        call(mx.profiler.Profile())


def _fit(**settings: Any) -> None:
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), name="softmax")
    batches = mx.io.NDArrayIter(np.ones((8, 3), "float32"), np.zeros(8), batch_size=4)
    mx.mod.Module(net).fit(batches, num_epoch=settings.pop("num_epoch", 3), **settings)


def test_fit_prints_its_table_where_no_log_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    _fit(profile=True)
    assert "Where the time of 4 batches went:" in capsys.readouterr().out


def test_fit_says_that_all_batches_were_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    _fit(profile=True, num_epoch=1)
    said = capsys.readouterr().out
    assert said.startswith(
        "Nothing was recorded: there were 2 batches, of which the first 2 are not recorded."
    )


def test_a_profile_of_the_process_has_the_time_that_fit_waits_for_data() -> None:
    class Slow(mx.io.NDArrayIter):
        def next(self) -> Any:
            time.sleep(0.02)
            return super().next()

    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), name="softmax")
    batches = Slow(np.ones((16, 3), "float32"), np.zeros(16), batch_size=4)
    with mx.profiler.Profile() as profile:
        mx.mod.Module(net).fit(batches, num_epoch=2)
    assert sum(each.data for each in profile.iterations()) > 6 * 0.02


@pytest.mark.parametrize("given", [3, 2.5])
def test_fit_says_what_profile_may_be(given: Any) -> None:
    with pytest.raises(
        TypeError, match=r"fit: profile must be True, the name of a file .* or a profiler.Profile"
    ):
        _fit(profile=given)
