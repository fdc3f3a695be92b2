"""Values of outputs have memory of their own: later writes into arguments do not show, and the other way round."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest
from tests.newer_torch import uses_private_names

import rebind as mx
from rebind.ops import OPERATORS
from rebind.symbol.functions import make_function
from rebind.tuning import current

from ..ops.sample import Sample
from ..ops.samples import SAMPLES

S = mx.sym

#: One call of each operator.
ONE_EACH = list({sample.name: sample for sample in SAMPLES}.values())


def run(net: Any, values: list[np.ndarray], grad_req: str, is_train: bool) -> tuple[Any, list[Any]]:
    args = {f"x{i}": mx.nd.array(value, dtype=value.dtype) for i, value in enumerate(values)}
    aux = {name: args.pop(name) for name in net.list_auxiliary_states()}
    args = {name: args[name] for name in net.list_arguments()}
    grads = {name: mx.nd.zeros_like(value) for name, value in args.items()} if grad_req != "null" else None
    exe = net.bind(mx.cpu(), args, grads, grad_req, aux)
    return exe, exe.forward(is_train=is_train)


def places(arrays: Any) -> set[int]:
    return {array.tensor.untyped_storage().data_ptr() for array in arrays if array.size}


@pytest.mark.parametrize("sample", ONE_EACH, ids=str)
def test_no_output_is_in_the_memory_of_an_argument(sample: Sample) -> None:
    values = sample.inputs()
    inputs = [S.var(f"x{i}") for i in range(len(values))]
    net = make_function(OPERATORS[sample.name], sample.name)(*inputs, name="op", **sample.parameters)
    for grad_req in ("null", "write"):
        for is_train in (False, True):
            exe, outputs = run(net, values, grad_req, is_train)
            arrays = [*exe.arg_arrays, *exe.aux_arrays]
            assert places(outputs).isdisjoint(places(arrays)), (grad_req, is_train)


#: Outputs whose values are those of an argument, or of a part of it.
SAME_VALUES = {
    "itself": lambda x: x,
    "blocked": lambda x: S.BlockGrad(x),
    "blocked twice": lambda x: S.BlockGrad(S.BlockGrad(x)),
    "a part, blocked": lambda x: S.BlockGrad(S.slice_axis(x, axis=0, begin=1, end=2)),
    "in another shape, blocked": lambda x: S.BlockGrad(S.reshape(x, shape=(-1,))),
    "blocked, in another shape": lambda x: S.reshape(S.BlockGrad(x), shape=(-1,)),
    "a loss": lambda x: S.MakeLoss(x),
    "the loss of what is blocked": lambda x: S.MakeLoss(S.BlockGrad(x)),
    "identity": lambda x: S.identity(x),
}


@pytest.mark.parametrize("kind", SAME_VALUES)
@pytest.mark.parametrize("grad_req", ["null", "write"])
@pytest.mark.parametrize("is_train", [False, True])
def test_later_writes_do_not_show(kind: str, grad_req: str, is_train: bool) -> None:
    """In MXNet neither, but for an argument that is itself an output."""
    exe, (output,) = run(SAME_VALUES[kind](S.var("x0")), [np.ones((2, 3), "float32")], grad_req, is_train)
    exe.arg_dict["x0"][:] = 7
    assert output.asnumpy().max() == 1
    output[:] = 5
    assert exe.arg_dict["x0"].asnumpy().min() == 7


@uses_private_names
def test_a_computed_value_is_not_copied() -> None:
    """Two outputs of equal values share memory, as in MXNet."""
    y = S.var("x0") * 2
    _, (value, blocked) = run(S.Group([y, S.BlockGrad(y)]), [np.ones((2,), "float32")], "write", True)
    assert places([value]) == places([blocked])


class Noting(mx.operator.CustomOp):
    """Notes, while it runs, whether the tensors that are watched still live."""

    def __init__(self, watched: list[Any], living: list[bool]) -> None:
        super().__init__()
        self.watched, self.living = watched, living

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.living += [each() is not None for each in self.watched]
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        self.assign(in_grad[0], req[0], out_grad[0] * 2)


@pytest.fixture
def noting() -> tuple[list[Any], list[bool]]:
    watched: list[Any] = []
    living: list[bool] = []

    @mx.operator.register("noting")
    class NotingProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Noting:
            return Noting(watched, living)

    return watched, living


LEAST = current().released_output_elements
LARGE, SMALL = (1, LEAST), (1, LEAST - 1)


@pytest.mark.parametrize("is_train", [False, True])
@pytest.mark.parametrize(
    ("shape", "hold", "lives"),
    [
        (LARGE, lambda outs: None, False),
        (SMALL, lambda outs: None, True),
        (LARGE, lambda outs: outs[0], True),  # and shows the new values
        (LARGE, lambda outs: outs[0][0:1], True),
    ],
    ids=["large", "small", "held", "a view"],
)
def test_a_run_has_not_the_memory_of_the_one_before(
    shape: Any, hold: Any, lives: bool, is_train: bool, noting: Any
) -> None:
    watched, living = noting
    exe = S.Custom(S.var("x"), op_type="noting").simple_bind(mx.cpu(), x=shape)
    exe.arg_dict["x"][:] = 1
    held = hold(exe.forward(is_train=is_train))
    watched.append(weakref.ref(exe.outputs[0].tensor))
    exe.arg_dict["x"][:] = 3
    exe.forward(is_train=is_train)
    assert living == [lives]
    assert float(exe.outputs[0].max().asscalar()) == 6
    if held is not None:
        assert float(held.min().asscalar()) == 6
