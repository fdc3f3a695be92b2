"""Networks, and what executors of them have, for the tests of compiled executors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import rebind as mx

S = mx.sym
QUICK = "aot_eager"
#: It imports what torch itself deprecates.
needs_inductor = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def dense() -> Any:
    net = S.FullyConnected(S.var("data"), num_hidden=6, name="fc1")
    net = S.Activation(S.BatchNorm(net, name="bn", fix_gamma=False), act_type="relu")
    return S.SoftmaxOutput(S.FullyConnected(net, num_hidden=3, name="fc2"), name="softmax")


def convolutional() -> Any:
    net = S.Convolution(S.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    net = S.Pooling(S.Activation(net, act_type="tanh"), kernel=(2, 2), stride=(2, 2), pool_type="max")
    return S.SoftmaxOutput(S.FullyConnected(S.Flatten(net), num_hidden=3, name="fc"), name="softmax")


def transposed() -> Any:
    net = S.Deconvolution(S.var("data"), kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=4, name="up")
    net = S.LeakyReLU(S.BatchNorm(net, name="bn", fix_gamma=False), slope=0.1)
    net = S.Deconvolution(net, kernel=(3, 3), num_filter=2, name="out")
    return S.MakeLoss(S.tanh(net / 10), name="loss")


def several_outputs() -> Any:
    """A loss, an output that needs a head gradient, and one that no gradient comes to."""
    hidden = S.FullyConnected(S.var("data"), num_hidden=4, name="fc1")
    return S.Group([S.MakeLoss(S.tanh(hidden).sum(), name="loss"), hidden * 2, S.BlockGrad(hidden)])


def loss_inside() -> Any:
    """A loss whose output is used again, so that autograd passes through it."""
    loss = S.MakeLoss(S.FullyConnected(S.var("data"), num_hidden=4, name="fc1") ** 2, name="loss")
    return S.Group([loss, loss * 2])


def inputs_as_outputs() -> Any:
    data = S.var("data")
    return S.Group([data, S.Reshape(data, shape=(-1,)), S.FullyConnected(data, num_hidden=2, name="fc1")])


@dataclass(frozen=True)
class Case:
    """A network with the shapes of its inputs, and which outputs need a head gradient."""

    make: Callable[[], Any]
    shapes: dict[str, tuple[int, ...]]
    heads: Sequence[int] = ()


CASES = {
    "dense": Case(dense, {"data": (4, 5), "softmax_label": (4,)}),
    "convolutional": Case(convolutional, {"data": (2, 1, 8, 8), "softmax_label": (2,)}),
    "transposed": Case(transposed, {"data": (2, 3, 4, 4)}),
    "several outputs": Case(several_outputs, {"data": (3, 2)}, heads=[1]),
    "loss inside": Case(loss_inside, {"data": (3, 2)}),
    "inputs as outputs": Case(inputs_as_outputs, {"data": (3, 2)}, heads=[0, 1, 2]),
}
all_cases = pytest.mark.parametrize("name", CASES)


def filled(executor: Any) -> Any:
    random = np.random.default_rng(3)
    for name, array in {**executor.arg_dict, **executor.aux_dict}.items():
        whole = name.endswith("label")
        value = random.integers(0, 3, array.shape) if whole else random.normal(size=array.shape)
        array[:] = abs(value) if name.endswith("var") else value
    return executor


def bound(name: str, backend: str, grad_req: Any = "write") -> Any:
    case = CASES[name]
    return filled(case.make().simple_bind(mx.cpu(), grad_req=grad_req, backend=backend, **case.shapes))


def heads(name: str, executor: Any) -> list[Any] | None:
    wanted = CASES[name].heads
    if not wanted:
        return None
    return [
        mx.nd.ones(out.shape) * (i + 1) if i in wanted else None for i, out in enumerate(executor.outputs)
    ]


def state(executor: Any) -> dict[str, np.ndarray]:
    """All that a program can see."""
    found = {f"output {i}": array for i, array in enumerate(executor.outputs)}
    found.update({f"aux {name}": array for name, array in executor.aux_dict.items()})
    found.update({f"grad {name}": array for name, array in executor.grad_dict.items() if array is not None})
    return {name: array.asnumpy().copy() for name, array in found.items()}


def equal(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray], **tolerance: float) -> None:
    assert found.keys() == wanted.keys()
    for name, value in found.items():
        np.testing.assert_allclose(
            value, wanted[name], **{"rtol": 1e-5, "atol": 1e-6, **tolerance}, err_msg=name
        )


def equal_where_views_are_written(name: str, *executors: Any) -> None:
    """What executors compute stays equal while views of an argument are written."""
    views = [each.arg_dict[name][0:2] for each in executors]
    for number in (1.0, 2.0):
        for each, view in zip(executors, views, strict=True):
            view[:] = number
            each.forward()
        equal(*map(state, executors))


def is_compiled(executor: Any, is_train: bool = True) -> bool:
    return executor.runner.plans.get(is_train).compiled is not None


def mixed_requests(name: str) -> dict[str, str]:
    """Write, add and null in turn."""
    names = CASES[name].make().list_arguments()
    return {each: ("write", "add", "null")[i % 3] for i, each in enumerate(names)}


def dropped(backend: str = QUICK) -> Any:
    net = S.Dropout(S.var("x"), p=0.25, name="drop")
    exe = S.MakeLoss(net, name="loss").simple_bind(mx.cpu(), x=(100, 100), backend=backend)
    exe.arg_dict["x"][:] = 1
    return exe
