"""LSTMs that are compiled in training: oneDNN's numbers and gradients, whoever compiles, for all sizes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.newer_torch import uses_private_names
from torch import Tensor
from torch._dynamo.testing import CompileCounter

from rebind._torch import onednn
from rebind.ops.nn import recurrent_layers
from rebind.ops.nn.recurrent_layers import parameter_shapes, run_layers, unpack

#: Dynamo and inductor import, and do, what PyTorch deprecates.
pytestmark = [
    pytest.mark.usefixtures("own_backends"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

STEPS, BATCH, FEATURES, SIZE = 5, 3, 2, 4


def arrays(
    layers: int, directions: int, dtype: torch.dtype = torch.float32, batch: int = BATCH
) -> list[Tensor]:
    """Return data, hidden and cell states, and the vector of parameters."""
    random = torch.Generator().manual_seed(0)
    shapes = parameter_shapes("lstm", FEATURES, SIZE, layers, directions, 0)
    count = sum(torch.Size(shape).numel() for shape in shapes)
    states = (layers * directions, batch, SIZE)
    sizes: list[tuple[int, ...]] = [(STEPS, batch, FEATURES), states, states, (count,)]
    return [(torch.rand(size, generator=random) - 0.5).to(dtype) for size in sizes]


class Network(torch.nn.Module):
    """Outputs and last states of an LSTM."""

    def __init__(self, layers: int, directions: int) -> None:
        super().__init__()
        self.layers, self.directions = layers, directions
        self.packing = parameter_shapes("lstm", FEATURES, SIZE, layers, directions, 0)

    def forward(self, data: Tensor, hidden: Tensor, memory: Tensor, parameters: Tensor) -> tuple[Tensor, ...]:
        cells = unpack(parameters, self.packing, self.layers * self.directions)
        out, states = run_layers(
            data, (hidden, memory), cells, mode="lstm", directions=self.directions, lengths=None, clip=None,
            drop=0.0, generator=None,
        )  # fmt: skip
        return out, *states


def results(network: Any, given: list[Tensor], wanted: list[int], used: list[int]) -> list[Tensor]:
    """Return outputs, and gradients by some inputs of a sum over some outputs, each element with a weight."""
    inputs = [each.clone().requires_grad_(i in wanted) for i, each in enumerate(given)]
    found = network(*inputs)
    weighted = [
        (found[i] * torch.linspace(-1, 1, found[i].numel(), dtype=found[i].dtype).view_as(found[i])).sum()
        for i in used
    ]
    grads = torch.autograd.grad(sum(weighted), [inputs[i] for i in wanted])
    return [*(each.detach() for each in found), *grads]


def assert_same(found: list[Tensor], wanted: list[Tensor], tolerance: float = 1e-6) -> None:
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


COMPILERS = ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)]


@pytest.mark.sampled
@uses_private_names
@pytest.mark.parametrize("backend", COMPILERS)
@pytest.mark.parametrize("wanted", [[3], [0, 1, 2, 3]], ids=["parameters", "all"])
@pytest.mark.parametrize("used", [[0], [1, 2], [0, 1, 2]], ids=["outputs", "states", "both"])
@pytest.mark.parametrize(("layers", "directions"), [(1, 1), (2, 2)])
def test_compiled_training_is_torch_s(
    layers: int, directions: int, used: list[int], wanted: list[int], backend: str
) -> None:
    network, given = Network(layers, directions), arrays(layers, directions)
    compiled = torch.compile(network, backend=backend, fullgraph=True)
    assert_same(results(compiled, given, wanted, used), results(network, given, wanted, used))


@uses_private_names
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_compiler_sees_one_call_a_direction(dtype: torch.dtype) -> None:
    calls: list[str] = []

    def count(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Any:
        parts = [part for part in graph.modules() if isinstance(part, torch.fx.GraphModule)]
        calls.extend(str(node.target) for part in parts for node in part.graph.nodes)
        return graph

    network, given = Network(2, 2), arrays(2, 2, dtype)
    found = results(torch.compile(network, backend=count, fullgraph=True), given, [3], [0])
    wanted = 4 if onednn.computes(dtype) else 0  # of bfloat16, on some processors
    assert [calls.count(f"rebind.lstm_layer{part}") for part in ("", "_backward")] == [wanted] * 2
    assert_same(found, results(network, given, [3], [0]), 1e-6 if dtype is torch.float32 else 2e-2)


def test_other_batches_are_not_compiled_again() -> None:
    counter = CompileCounter()
    network = Network(1, 2)
    compiled = torch.compile(network, backend=counter, fullgraph=True, dynamic=True)
    for batch in (3, 4, 6):
        given = arrays(1, 2, batch=batch)
        assert_same(results(compiled, given, [0, 3], [0]), results(network, given, [0, 3], [0]))
    assert counter.frame_count == 1


def test_other_types_are_written_out() -> None:
    network, given = Network(1, 1), arrays(1, 1, torch.float64)
    compiled = torch.compile(network, backend="aot_eager", fullgraph=True)
    assert_same(results(compiled, given, [0, 3], [0]), results(network, given, [0, 3], [0]))


def test_without_a_compiler_it_is_torch_s(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    kernel = torch.lstm
    monkeypatch.setattr(recurrent_layers.torch, "lstm", lambda *given: (seen.append(True), kernel(*given))[1])
    results(Network(1, 1), arrays(1, 1), [3], [0])
    assert seen == [True]
