"""PyTorch's tracers follow the inputs of executors, modules and graphs that are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import rebind as mx
from rebind.errors import StateError

SHAPE = (2, 3)


def network() -> Any:
    hidden = mx.sym.relu(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc1"))
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=2, name="fc2"), name="softmax")


def executor(grad_req: str) -> Any:
    exe = network().simple_bind(mx.cpu(), grad_req=grad_req, data=SHAPE)
    for name, array in exe.arg_dict.items():
        if name != "data":
            array[:] = mx.nd.arange(array.size).reshape(array.shape) / 10 - 0.2
    return exe


def by_keyword(grad_req: str, is_train: bool) -> Callable[[torch.Tensor], torch.Tensor]:
    exe = executor(grad_req)
    return lambda x: exe.forward(is_train=is_train, data=mx.nd.from_torch(x))[0].tensor


def by_array(grad_req: str, is_train: bool) -> Callable[[torch.Tensor], torch.Tensor]:
    exe = executor(grad_req)

    def run(x: torch.Tensor) -> torch.Tensor:
        exe.arg_dict["data"][:] = mx.nd.from_torch(x)
        exe.forward(is_train=is_train)
        return exe.outputs[0].tensor

    return run


def called(grad_req: str, is_train: bool) -> Callable[[torch.Tensor], torch.Tensor]:
    op, exe, names = mx.nd.CachedOp(network()), executor(grad_req), network().list_inputs()

    def run(x: torch.Tensor) -> torch.Tensor:
        given = {**exe.arg_dict, "data": mx.nd.from_torch(x)}
        with mx.autograd.train_mode() if is_train else mx.autograd.predict_mode():
            return op(*[given[name] for name in names]).tensor

    return run


TRACERS: dict[str, Callable[..., Any]] = {
    "jit": lambda run, x: torch.jit.trace(run, x, check_trace=False),
    "fx": lambda run, x: make_fx(run)(x),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("tracer", TRACERS)
@pytest.mark.parametrize("is_train", [False, True])
@pytest.mark.parametrize("grad_req", ["null", "write"])
@pytest.mark.parametrize("make", [by_keyword, by_array, called])
@pytest.mark.parametrize("runs_before", [0, 2])
def test_the_input_is_no_constant(
    make: Any, grad_req: str, is_train: bool, tracer: str, runs_before: int
) -> None:
    run = make(grad_req, is_train)
    for _ in range(runs_before):
        run(torch.ones(SHAPE))
    traced = TRACERS[tracer](run, torch.ones(SHAPE))
    fresh = make(grad_req, is_train)
    for x in (torch.rand(SHAPE), torch.rand(SHAPE) - 3):
        torch.testing.assert_close(traced(x), fresh(x.clone()))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_numpy_arrays_are_an_error_in_a_trace() -> None:
    exe = executor("null")
    with pytest.raises(
        StateError, match=r"data must be a tensor, or an NDArray of one, .* got a NumPy array"
    ):
        torch.jit.trace(lambda x: exe.forward(data=x.numpy())[0].tensor, torch.ones(SHAPE), check_trace=False)
    assert exe.forward(data=torch.ones(SHAPE).numpy())[0].shape == (2, 2)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_tensors_written_into_an_array_are_an_error_in_a_trace() -> None:
    exe = executor("null")

    def run(x: torch.Tensor) -> torch.Tensor:
        exe.arg_dict["data"][:] = x  # as numbers, which the trace would hold
        return exe.forward()[0].tensor

    with pytest.raises(StateError, match=r"must be an NDArray while torch.jit.trace records.*mx.to_torch"):
        torch.jit.trace(run, torch.ones(SHAPE), check_trace=False)
    assert run(torch.ones(SHAPE)).shape == (2, 2)


class Calling(torch.nn.Module):
    def __init__(self, run: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.run = run

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.run(x)


def by_tensor(exe: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: exe.forward(data=x)[0].tensor


def by_shared_tensor(exe: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: exe.forward(data=mx.nd.from_torch(x))[0].tensor


def by_writing(exe: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    def run(x: torch.Tensor) -> torch.Tensor:
        exe.arg_dict["data"][:] = x
        return exe.forward()[0].tensor

    return run


@pytest.mark.parametrize("make", [by_tensor, by_shared_tensor, by_writing])
def test_an_executor_in_an_export_is_an_error_and_goes_on(make: Any) -> None:
    exe = executor("null")
    run = make(exe)
    with pytest.raises(StateError, match=r"torch.export does not follow .* Export mx.to_torch"):
        torch.export.export(Calling(run), (torch.ones(SHAPE),))
    torch.testing.assert_close(run(torch.ones(SHAPE)), by_keyword("null", False)(torch.ones(SHAPE)))
