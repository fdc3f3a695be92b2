"""Which settings inductor compiles with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.newer_torch import uses_private_names
from torch import fx

from rebind import tuning
from rebind.executor import compiling
from rebind.executor.compiling import called_from_cpp, in_given_layout


def both(compiler: Any) -> Any:
    return called_from_cpp(in_given_layout(compiler))


def own(graph: fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
    return graph


#: What is made of inductor, and whether that calls kernels from C++, also of a large graph, and chooses layouts.
SETTINGS = [
    pytest.param(lambda compiler: compiler, False, False, True, id="neither"),
    pytest.param(called_from_cpp, True, False, True, id="from C++"),
    pytest.param(in_given_layout, False, False, False, id="in the given layout"),
    pytest.param(both, True, False, False, id="both"),
]


@uses_private_names
@pytest.mark.parametrize(("make", "small", "large", "layouts"), SETTINGS)
def test_settings(
    make: Callable[[Any], Any], small: bool, large: bool, layouts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = pytest.importorskip("torch._inductor.config")
    seen = []

    def inductor(graph: fx.GraphModule, inputs: list[torch.Tensor]) -> None:
        seen.append((config.cpp_wrapper, config.layout_optimization))

    monkeypatch.setattr(compiling, "lookup_backend", lambda given: given if callable(given) else inductor)
    graph = fx.symbolic_trace(lambda x: x + 1)
    for most in (3, 2):
        with tuning.changed(cpp_wrapper_nodes=most):
            compiling.lookup_backend(make("inductor"))(graph, [torch.ones(1)])
    assert seen == [(small, layouts), (large, layouts)]


@pytest.mark.parametrize("compiler", ["eager", "cudagraphs", own])
def test_other_compilers_stay(compiler: Any) -> None:
    assert both(compiler) is compiler
