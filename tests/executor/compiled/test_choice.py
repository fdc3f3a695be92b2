"""How a compiler is chosen, and what it is told."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.executor.compiled.networks import (
    CASES,
    QUICK,
    S,
    bound,
    is_compiled,
)

import rebind as mx
from rebind.errors import NameLookupError
from rebind.executor.compiling import compile_whole, reason_of

pytestmark = pytest.mark.usefixtures("own_backends")


def test_ways_to_choose_a_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    net = S.exp(S.var("x"))
    args = {"x": mx.nd.ones((2,))}
    ways = [
        net.bind(mx.cpu(), args, backend=QUICK),
        net.simple_bind(mx.cpu(), x=(2,), backend=QUICK),
        net.optimize_for(QUICK).bind(mx.cpu(), args),
        copy.deepcopy(net.with_backend(QUICK)).bind(mx.cpu(), args),
        mx.executor.Executor(net, mx.cpu(), args, backend=QUICK),
    ]
    module = mx.mod.Module(net, data_names=["x"], label_names=None, backend=QUICK)
    module.bind([("x", (2,))], for_training=False)
    ways += module.executors.execs
    assert all(is_compiled(exe, is_train=False) for exe in ways)
    assert not is_compiled(net.bind(mx.cpu(), args))
    assert not is_compiled((net.optimize_for(QUICK) + 1).bind(mx.cpu(), args))
    monkeypatch.setenv("REBIND_BACKEND", QUICK)
    assert is_compiled(net.bind(mx.cpu(), args))
    assert not is_compiled(net.bind(mx.cpu(), args, backend="default"))
    monkeypatch.setenv("REBIND_BACKEND", "inducter")
    with pytest.raises(NameLookupError, match="no backend 'inducter'; did you mean 'inductor'"):
        net.bind(mx.cpu(), args)


@pytest.mark.parametrize(
    "call",
    [
        lambda net: net.with_backend("nothing"),
        lambda net: net.optimize_for("nothing"),
        lambda net: net.simple_bind(mx.cpu(), x=(2,), backend="nothing"),
        lambda net: mx.mod.Module(net, data_names=["x"], label_names=None, backend="nothing"),
    ],
)
def test_an_unknown_backend_is_an_error(call: Callable[[Any], Any]) -> None:
    with pytest.raises(NameLookupError, match=r"^backend: no backend 'nothing'.*Registered: default"):
        call(S.exp(S.var("x")))


def test_get_optimized_symbol_is_what_is_compiled() -> None:
    exe = bound("dense", QUICK)
    assert exe.get_optimized_symbol().list_arguments() == CASES["dense"].make().list_arguments()


def test_the_reason_of_an_untraceable_network_is_what_the_compiler_met() -> None:
    def untraceable(x: torch.Tensor) -> torch.Tensor:
        return x * x.sum().item() if print("here") is None else x

    with pytest.raises(torch._dynamo.exc.Unsupported) as caught:
        compile_whole(untraceable, "eager")(torch.ones(2))
    reason = reason_of(caught.value)
    assert reason.startswith("Unsupported: ") and "print" in reason and "\n" not in reason


@pytest.mark.parametrize(
    "given", [{}, {"options": {"max_fusion_size": 8}}, {"mode": "max-autotune"}], ids=str
)
def test_options_of_the_compiler_reach_it(given):
    seen = {}

    def compiler(graph, inputs, **options):
        seen.update(options)
        return graph.forward

    assert compile_whole(lambda x: x * 2, compiler, **given)(torch.ones(1)).item() == 2
    assert {name: value for name, value in seen.items() if value} == given
