"""What compilers call without looking into it: where it is called, and that it computes the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from tests.newer_torch import uses_private_names
from tests.sampling import sampled
from torch import Tensor
from torch._dynamo.testing import CompileCounter
from torch.fx.experimental.proxy_tensor import make_fx

from rebind._torch.compiler import for_a_compiler
from rebind.ops import find

#: Dynamo and inductor import, and do, what PyTorch deprecates.
pytestmark = [
    pytest.mark.usefixtures("own_backends"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`"),
]


@dataclass
class Case:
    """An operator of inputs, whose first one has its channels last where it has four axes or five."""

    operator: str
    parameters: dict[str, Any]
    shapes: list[tuple[int, ...]]
    calls: set[str] = field(default_factory=set)
    training: bool = True
    in_order: bool = True

    def function(self) -> Callable[..., Tensor]:
        op = find(self.operator)
        keywords = op.signature.keywords(op.parse(self.parameters))
        return lambda *inputs: op(*inputs, **keywords)

    def inputs(self) -> list[Tensor]:
        random = torch.Generator().manual_seed(0)
        # Whole numbers, so that there are equals.
        found = [torch.randint(-4, 5, shape, generator=random).float() for shape in self.shapes]
        first = found[0]
        if first.dim() in (4, 5) and self.in_order:
            count, channels, *spatial = first.shape
            found[0] = first.reshape(count, *spatial, channels).movedim(-1, 1)
        return found

    def results(self, function: Callable[..., Any]) -> list[Tensor]:
        inputs = [each.clone().requires_grad_(self.training) for each in self.inputs()]
        out = function(*inputs)
        if not self.training:
            return [out]
        head = torch.linspace(-1, 1, out.numel()).view_as(out)
        return [out.detach(), *torch.autograd.grad(out, inputs, head)]


BACKWARD = {"rebind.convolution_backward.default"}
POOLS = {"rebind.max_pool.default", "rebind.max_pool_backward.default"}
PRODUCTS = {"rebind.linear.default"}
WINDOWS = {"kernel": (2, 2), "stride": (2, 2), "pool_type": "max"}
CASES = {
    "filters of one channel each": Case(
        "Convolution",
        {"kernel": (3, 3), "pad": (1, 1), "num_filter": 32, "num_group": 16, "no_bias": True},
        [(2, 16, 40, 40), (32, 1, 3, 3)],
        BACKWARD,
    ),
    "images of one channel": Case(
        "Convolution",
        {"kernel": (5, 5), "stride": (2, 1), "dilate": (1, 2), "num_filter": 20},
        [(4, 1, 40, 40), (20, 1, 5, 5), (20,)],
        BACKWARD,
    ),
    "images of one channel in the other order": Case(
        "Convolution",
        {"kernel": (5, 5), "num_filter": 20},
        [(4, 1, 40, 40), (20, 1, 5, 5), (20,)],
        in_order=False,
    ),
    "small images of one channel": Case(
        "Convolution", {"kernel": (3, 3), "num_filter": 16}, [(2, 1, 8, 8), (16, 1, 3, 3), (16,)]
    ),
    "filters of several channels": Case(
        "Convolution", {"kernel": (3, 3), "num_filter": 16}, [(2, 8, 64, 64), (16, 8, 3, 3), (16,)]
    ),
    "volumes of one channel": Case(
        "Convolution",
        {"kernel": (3, 3, 3), "pad": (1, 0, 1), "stride": (1, 2, 1), "num_filter": 16},
        [(2, 1, 8, 20, 20), (16, 1, 3, 3, 3), (16,)],
        BACKWARD,
    ),
    "largest of windows": Case("Pooling", WINDOWS, [(4, 16, 40, 40)], POOLS),
    "of windows that overlap": Case(
        "Pooling",
        {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "pooling_convention": "full", "pool_type": "max"},
        [(4, 16, 39, 40)],
        POOLS,
    ),
    "of volumes": Case(
        "Pooling",
        {"kernel": (2, 3, 2), "stride": (2, 2, 2), "pad": (0, 1, 1), "pool_type": "max"},
        [(2, 16, 8, 20, 20)],
        POOLS,
    ),
    "of volumes in the other order": Case(
        "Pooling", {**WINDOWS, "kernel": (2, 2, 2), "stride": (2, 2, 2)}, [(2, 16, 8, 20, 20)], in_order=False
    ),
    "in the other order": Case("Pooling", WINDOWS, [(4, 16, 40, 40)], in_order=False),
    "of few": Case("Pooling", WINDOWS, [(4, 16, 8, 8)]),
    "in inference": Case("Pooling", WINDOWS, [(4, 16, 40, 40)], training=False),
    "along one axis": Case("Pooling", {"kernel": (2,), "stride": (2,), "pool_type": "max"}, [(4, 16, 400)]),
    "along one axis in inference": Case(
        "Pooling",
        {"kernel": (3,), "stride": (2,), "pad": (1,), "pool_type": "max"},
        [(4, 16, 400)],
        {"rebind.max_pool1d.default"},
        training=False,
    ),
    "large products": Case(
        "FullyConnected", {"num_hidden": 1024}, [(8, 1024), (1024, 1024), (1024,)], PRODUCTS
    ),
    "large products without a bias": Case(
        "FullyConnected", {"num_hidden": 1024, "no_bias": True}, [(8, 1024), (1024, 1024)], PRODUCTS
    ),
    "large products in inference": Case(
        "FullyConnected", {"num_hidden": 1024}, [(8, 1024), (1024, 1024), (1024,)], PRODUCTS, training=False
    ),
    "small products": Case("FullyConnected", {"num_hidden": 8}, [(8, 4), (8, 4), (8,)]),
}

SAMPLED = [
    pytest.param(name, marks=marks)
    for name, marks in sampled(CASES, kind=lambda name: (CASES[name].operator, *sorted(CASES[name].calls)))
]


def assert_same(found: list[Tensor], wanted: list[Tensor]) -> None:
    for one, other in zip(found, wanted, strict=True):
        # Sums of up to some thousand products of whole numbers.
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-3)


@uses_private_names
@pytest.mark.parametrize("name", CASES)
def test_a_tracer_meets_one_call(name: str) -> None:
    case = CASES[name]

    def run(*inputs: Tensor) -> list[Tensor]:
        recorded = [each.detach().requires_grad_(case.training) for each in inputs]
        out = case.function()(*recorded)
        return [out, *torch.autograd.grad(out.sum(), recorded)] if case.training else [out]

    with for_a_compiler(), torch.autograd.set_multithreading_enabled(False):
        graph = make_fx(run, tracing_mode="fake")(*case.inputs())
    assert {str(node.target) for node in graph.graph.nodes if "rebind" in str(node.target)} == case.calls


@pytest.mark.parametrize("name", SAMPLED)
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
def test_compiled_results_are_those_of_the_default_mode(name: str, backend: str) -> None:
    case = CASES[name]
    compiled = torch.compile(case.function(), backend=backend, fullgraph=True)
    assert_same(case.results(compiled), case.results(case.function()))


@pytest.mark.parametrize("name", ["filters of one channel each", "largest of windows", "large products"])
def test_other_sizes_are_not_compiled_again(name: str) -> None:
    counter = CompileCounter()
    case = CASES[name]
    compiled = torch.compile(case.function(), backend=counter, fullgraph=True, dynamic=True)
    for batch in (8, 12, 14):  # from 16 on PyTorch has another convolution
        case.shapes[0] = (batch, *case.shapes[0][1:])
        assert_same(case.results(compiled), case.results(case.function()))
    assert counter.frame_count == 1
