"""Compilers that take inference only, with parameters as constants; OpenVINO is one."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from tests.executor.compiled.networks import (
    CASES,
    S,
    all_cases,
    bound,
    equal,
    equal_where_views_are_written,
    filled,
    heads,
    state,
)
from tests.newer_torch import uses_private_names

import rebind as mx
from rebind.errors import ParameterError
from rebind.graph.passes import DEFAULT, register_backend

pytestmark = pytest.mark.usefixtures("own_backends")

#: How often each of its modules was compiled, and ran.
Counts = dict[str, int]


@pytest.fixture
def counts() -> Counts:
    """The counts of the backend ``'frozen'``, which runs modules as they are."""
    found = {"compiled": 0, "ran": 0}

    def compile_counted(module: torch.nn.Module, data: Sequence[torch.Tensor]) -> Callable[..., Any]:
        found["compiled"] += 1

        def run(*given: torch.Tensor) -> Any:
            found["ran"] += 1
            return module(*given)

        return run

    register_backend("frozen", DEFAULT, compiler=compile_counted, freezing=True)
    return found


@pytest.fixture(scope="module", params=["frozen", "openvino"])
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "openvino":
        pytest.importorskip("openvino", reason="OpenVINO, the extra 'openvino', is not installed")
    yield request.param


def both(name: str, backend: str) -> tuple[Any, Any]:
    return bound(name, backend), bound(name, "default")


def is_frozen(exe: Any) -> bool:
    plan = exe.runner.plans.get(is_train=False, recorded=False)
    return plan.compiled is not None and plan.compiled.failure is None


@pytest.mark.sampled
@uses_private_names
@all_cases
def test_inference_is_that_of_the_default_mode(name: str, backend: str, counts: Counts) -> None:
    exe, plain = both(name, backend)
    for _ in range(2):
        for each in (exe, plain):
            each.arg_dict["data"][:] += 0.5
            each.forward()
        equal(state(exe), state(plain))
    for each in (exe, plain):
        each.backward(heads(name, each))
    equal(state(exe), state(plain))
    assert is_frozen(exe) and exe.is_compiled
    assert backend != "frozen" or counts == {"compiled": 1, "ran": 3}  # the first data twice


def recurrent(unrolled: bool) -> Any:
    stack = mx.rnn.SequentialRNNCell()
    for layer in ("one", "two"):
        stack.add(mx.rnn.LSTMCell(6, prefix=f"{layer}_"))
    cell = stack if unrolled else mx.rnn.FusedRNNCell(6, num_layers=2, mode="lstm", prefix="lstm_")
    words = S.Embedding(S.var("data"), input_dim=9, output_dim=5, name="words")
    outputs, _ = cell.unroll(4, words, layout="TNC", merge_outputs=True)
    return S.softmax(S.FullyConnected(S.reshape(outputs, shape=(-1, 6)), num_hidden=9, name="fc"))


def tied() -> Any:
    weight = S.var("w")
    words = S.Embedding(S.var("data"), weight=weight, input_dim=9, output_dim=5)
    return S.FullyConnected(words, weight=weight, num_hidden=9, no_bias=True, flatten=False)


def indices() -> Any:
    data = S.var("data")
    return S.Group([S.argmax(S.one_hot(data, depth=9), axis=1), data + 1])


NETWORKS = {
    "unrolled": lambda: recurrent(unrolled=True),
    "fused": lambda: recurrent(unrolled=False),
    "tied": tied,
    "indices": indices,
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", NETWORKS)
def test_other_networks(name: str, backend: str, counts: Counts) -> None:
    exes = [
        NETWORKS[name]().simple_bind(mx.cpu(), data=(4, 3), backend=each) for each in (backend, "default")
    ]
    for exe in exes:
        filled(exe).arg_dict["data"][:] = np.arange(12).reshape(4, 3) % 9
        exe.forward()
    equal(*map(state, exes), rtol=1e-4)
    assert is_frozen(exes[0])


@uses_private_names
def test_written_parameters_are_seen(backend: str, counts: Counts) -> None:
    exe, plain = both("dense", backend)
    for number in (1.0, 2.0):
        for each in (exe, plain):
            each.arg_dict["fc1_weight"][1:3] = number
            each.aux_dict["bn_moving_mean"][:] = number
            for _ in range(2):
                each.forward()
        equal(state(exe), state(plain))
    assert backend != "frozen" or counts["compiled"] == 2


def test_what_others_may_write_is_no_constant(backend: str, counts: Counts) -> None:
    equal_where_views_are_written("fc1_weight", *both("dense", backend))
    assert counts["compiled"] == 0


def test_training_is_not_compiled(backend: str, counts: Counts) -> None:
    exe, plain = both("dense", backend)
    for _ in range(2):
        for each in (exe, plain):
            each.forward_before_backward()
            each.backward()
            each.arg_dict["fc1_weight"][:] -= 0.1 * each.grad_dict["fc1_weight"]
        equal(state(exe), state(plain))
        assert counts["compiled"] == 0
    for each in (exe, plain):
        each.forward()
    equal(state(exe), state(plain))
    assert exe.is_compiled and exe.runner.plans.get(is_train=True).compiled is None


def test_two_combinations_of_shapes_are_compiled(counts: Counts) -> None:
    exe, plain = both("dense", "frozen")
    for size in (4, 3, 2, 3, 4):
        found = []
        for each in (exe, plain):
            other = each.reshape(allow_up_sizing=True, data=(size, 5), softmax_label=(size,))
            other.arg_dict["data"][:] = np.arange(size * 5).reshape(size, 5) % 7
            found.append(other.forward()[0].asnumpy())
        np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)
    assert counts["compiled"] == 4  # for each new executor of the first two


@uses_private_names
def test_executors_of_one_network_have_it_in_common(counts: Counts) -> None:
    exe = bound("dense", "frozen")
    other = exe.reshape(data=(4, 5), softmax_label=(4,))
    outputs = [each.forward()[0].asnumpy() for each in (exe, other, exe)]
    assert counts["compiled"] == 1
    np.testing.assert_array_equal(outputs[0], outputs[2])


@uses_private_names
def test_module_and_fit(backend: str, counts: Counts) -> None:
    data = np.random.default_rng(0).normal(size=(40, 5)).astype("float32")
    found = []
    for each in (backend, "default"):
        mx.random.seed(0)
        batches = mx.io.NDArrayIter(data, data[:, 0] > 0, 8)
        module = mx.mod.Module(CASES["dense"].make(), backend=each)
        module.fit(batches, eval_data=batches, num_epoch=2, initializer=mx.init.Xavier())
        found.append(module.predict(batches).asnumpy())
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)
    assert backend != "frozen" or counts["compiled"] == 2  # of new weights after each epoch


def wrong(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., Any]:
    return lambda module, data: lambda *given: [change(each) for each in module(*given)]


REFUSED = {
    "value": (wrong(lambda x: x + 0.5), r"RuntimeError: its output 0 is off by 0\.5"),
    "type": (wrong(torch.Tensor.double), "RuntimeError: its output 0 has shape and type"),
    "shape": (wrong(lambda x: x[:1]), "RuntimeError: its output 0 has shape and type"),
    "number": (lambda module, data: lambda *given: [], "RuntimeError: it gives 0 outputs; 1 are expected"),
    "nan": (wrong(lambda x: x / 0 - x / 0), "RuntimeError: its output 0 is off by inf"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_gives_something_else_runs_in_the_default_mode(name: str) -> None:
    compiler, says = REFUSED[name]
    register_backend("wrong", DEFAULT, compiler=compiler, freezing=True)
    exe, plain = both("dense", "wrong")
    with pytest.warns(UserWarning, match=f"runs in the default mode: {says}"):
        exe.forward()
    plain.forward()
    equal(state(exe), state(plain))
    exe.forward()
    assert not exe.is_compiled


def test_random_numbers_are_drawn_anew(backend: str, counts: Counts) -> None:
    exe = (S.random.uniform(0, 1, shape=(4,)) + S.var("x")).simple_bind(mx.cpu(), x=(4,), backend=backend)
    with pytest.warns(UserWarning, match="it draws random numbers, which would be the same in each run"):
        first = exe.forward()[0].asnumpy()
    assert not np.array_equal(first, exe.forward()[0].asnumpy())


def test_without_openvino(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("openvino", "openvino.frontend"):  # another test may have imported the second
        monkeypatch.setitem(sys.modules, name, None)
    exe = bound("dense", "openvino")
    with pytest.warns(UserWarning, match=r"pip install 'rebind\[openvino\]'"):
        exe.forward()


def test_openvino_reports_nothing() -> None:
    pytest.importorskip("openvino_telemetry", reason="comes with OpenVINO, the extra 'openvino'")
    # A process of its own: importing OpenVINO is what would be reported first.
    program = """
        import logging, openvino_telemetry, rebind as mx
        reported = []
        openvino_telemetry.Telemetry.send_event = lambda self, *event: reported.append(event)
        exe = (mx.sym.var("x") * 3).simple_bind(mx.cpu(), x=(2,), backend="openvino")
        exe.forward()
        import openvino_telemetry
        print(reported, logging.getLogger().handlers, openvino_telemetry.Telemetry.send_event.__name__)
    """
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", textwrap.dedent(program)],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("[] [] <lambda>\n", 0), done.stderr


def test_types_that_openvino_would_narrow() -> None:
    pytest.importorskip("openvino", reason="OpenVINO, the extra 'openvino', is not installed")
    exe = (S.var("x") * 3).simple_bind(mx.cpu(), x=(2,), type_dict={"x": "float64"}, backend="openvino")
    exe.arg_dict["x"][:] = 1 / 3
    with pytest.warns(UserWarning, match=r"on the CPU; got torch\.float64 on cpu"):
        assert exe.forward()[0].asnumpy().tolist() == [1, 1]


@pytest.mark.parametrize("compiler", [None, "inductor"])
def test_a_backend_that_freezes_needs_a_compiler(compiler: str | None) -> None:
    with pytest.raises(
        ParameterError, match=f"compiler must be a function with freezing=True; got {compiler!r}"
    ):
        register_backend("nothing", DEFAULT, compiler=compiler, freezing=True)
