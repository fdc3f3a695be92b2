"""CUDA graphs, with captures on the processor: a replay runs the function again, on the memory of the capture."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from tests.newer_torch import uses_private_names
from torch import Tensor

import rebind as mx
from rebind.executor.cuda_graphs import Capture, ReplayedCode
from rebind.tuning import current

from ..gpu.simulated import Traffic, capture


class Captures:
    """What `capture_on_gpu` does, on the processor; counted."""

    def __init__(self) -> None:
        self._traffic, self.made = Traffic(), 0

    def __call__(self, run: Callable[..., Sequence[Tensor]], inputs: Sequence[Tensor]) -> Capture:
        self.made += 1
        return capture(self._traffic, run, inputs)

    @property
    def replays(self) -> int:
        return self._traffic["replays"]


@pytest.fixture
def captures() -> Captures:
    return Captures()


def tensors(*numbers: float) -> list[Tensor]:
    return [torch.full((2,), number) for number in numbers]


def test_it_is_captured_at_the_second_run_and_replayed(captures: Captures) -> None:
    code, (x,) = ReplayedCode(lambda x: [x * 2], capture=captures), tensors(1)
    seen = [code(x.fill_(number))[0].tolist() for number in range(4)]
    assert seen == [[2 * number] * 2 for number in range(4)]
    assert (captures.made, captures.replays) == (1, 3)


def test_results_are_not_written_over(captures: Captures) -> None:
    code, (x,) = ReplayedCode(lambda x: [x * 2, x + 1], capture=captures), tensors(1)
    seen = [code(x.fill_(number)) for number in range(5)]
    assert [each.tolist() for pair in seen for each in pair] == [
        [value] * 2 for number in range(5) for value in (2 * number, number + 1)
    ]


@uses_private_names
def test_what_comes_in_other_memory_is_copied(captures: Captures) -> None:
    weight, *batches = tensors(10, 1, 2, 3, 4)
    code = ReplayedCode(lambda weight, batch: [weight * batch], capture=captures)
    assert [code(weight, batch)[0].tolist() for batch in batches] == [[10] * 2, [20] * 2, [30] * 2, [40] * 2]
    assert captures.made == 1
    assert [batch.tolist() for batch in batches] == [[1] * 2, [2] * 2, [3] * 2, [4] * 2]


@uses_private_names
def test_what_is_written_stays_where_it_is(captures: Captures) -> None:
    def add(weight: Tensor, batch: Tensor) -> list[Tensor]:
        weight += batch
        return [weight * 2]

    code, (one, other, *batches) = ReplayedCode(add, capture=captures), tensors(0, 100, 1, 2, 3, 4)
    versions = [one._version]
    for batch in batches:
        code(one, batch)
        versions.append(one._version)
    assert one.tolist() == [10, 10]
    assert sorted(set(versions)) == versions  # a new one after each run
    # Another executor of the same network, with weights of its own: in turn with the first.
    for batch in batches:
        code(other, batch)
        code(one, batch)
    assert (one.tolist(), other.tolist()) == ([20, 20], [110, 110])
    assert captures.made == 2


def test_what_is_said_to_be_written_counts(captures: Captures) -> None:
    """Of compiled code, whose writing no version shows."""

    def add(weight: Tensor, batch: Tensor) -> list[Tensor]:
        weight.data += batch
        return [batch * 1]

    code, (weight, *batches) = ReplayedCode(add, written={0}, capture=captures), tensors(0, 1, 2, 3)
    for batch in batches:
        code(weight, batch)
    assert weight.tolist() == [6, 6]
    assert weight._version >= captures.replays > 0


def test_what_never_stays_anywhere_runs_as_it_is(captures: Captures) -> None:
    def add(weight: Tensor) -> list[Tensor]:
        weight += 1
        return [weight * 1]

    code = ReplayedCode(add, capture=captures)
    weights = [each for each in tensors(*range(20)) for _ in range(2)]
    with pytest.warns(UserWarning, match="CUDA graphs: .+ at other memory addresses 8 times"):
        seen = [code(weight)[0].tolist() for weight in weights]
    assert seen == [[number + k] * 2 for number in range(20) for k in (1, 2)]
    assert captures.made == current().cuda_graph_captures


def test_what_cannot_be_captured_runs_as_it_is() -> None:
    def fail(run: object, inputs: object) -> Capture:
        raise RuntimeError("operation not permitted when stream is capturing")

    code, (x, *others) = ReplayedCode(lambda x: [x * 2], capture=fail), tensors(1, 2, 3)
    code(x)
    with pytest.warns(UserWarning, match="CUDA graphs: .+ not permitted when stream is capturing"):
        assert code(x)[0].tolist() == [2, 2]
    assert [code(each)[0].tolist() for each in others] == [[4, 4], [6, 6]]


def test_the_order_in_memory_stays(captures: Captures) -> None:
    batches = [torch.randn(2, 3).T for _ in range(3)]
    code = ReplayedCode(lambda batch: [batch.clone()], capture=captures)
    for batch in batches:
        (found,) = code(batch)
        assert torch.equal(found, batch) and found.stride() == batch.stride()


def test_on_the_processor_the_backend_is_the_default_mode() -> None:
    net = mx.sym.MakeLoss(mx.sym.Dropout(mx.sym.exp(mx.sym.var("x")), p=0.5))
    found = []
    for backend in ("default", "cudagraphs"):
        executor = net.simple_bind(mx.cpu(), backend=backend, x=(4, 5))
        mx.random.seed(3)
        executor.forward_before_backward()
        executor.backward()
        found.append([executor.outputs[0].asnumpy(), executor.grad_dict["x"].asnumpy()])
        executor.forward()
        found[-1].append(executor.outputs[0].asnumpy())
    np.testing.assert_array_equal(*map(np.stack, found))
