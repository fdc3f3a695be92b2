"""Every operator with a gradient can be computed again for it: the same numbers, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.ops import OPERATORS
from rebind.symbol.functions import make_function

from .sample import Sample
from .test_derivatives import ROWS_OF_OPERATORS, differentiated

#: What runs once whatever is asked for.
ONCE = {
    "_contrib_SyncBatchNorm": "all members of a job run it together",
}


def network(sample: Sample, marks: dict[str, str]) -> Any:
    """The operator between two others, all of which are computed again where they are marked."""
    op = OPERATORS[sample.name]
    inputs: list[Any] = []
    for i, wanted in enumerate(differentiated(sample)):
        x = mx.sym.var(f"x{i}")
        inputs.append(mx.sym._mul_scalar(x, scalar=1.0, name=f"before{i}", **marks) if wanted else x)
    made = make_function(op, sample.name)(*inputs, name="op", **sample.parameters, **marks)
    return mx.sym.Group([mx.sym.square(each.astype("float32"), **marks) for each in made])


def run(sample: Sample, marks: dict[str, str]) -> tuple[list[np.ndarray], list[str]]:
    net = network(sample, marks)
    values = sample.inputs()
    types = {f"x{i}": value.dtype for i, value in enumerate(values)}
    args = {f"x{i}": mx.nd.array(value, dtype=value.dtype) for i, value in enumerate(values)}
    names = net.list_auxiliary_states()
    aux = {name: args.pop(name) for name in names}
    args = {name: args[name] for name in net.list_arguments()}
    grads = {name: mx.nd.zeros_like(value) for name, value in args.items() if types[name].kind == "f"}
    exe = net.bind(mx.cpu(), args, grads, aux_states=aux)
    mx.random.seed(5)
    outputs = exe.forward(is_train=sample.training)
    exe.backward([mx.nd.ones_like(each) for each in outputs])
    again = exe.runner.plans.get(sample.training).recomputed
    arrays = [*outputs, *grads.values(), *aux.values(), mx.nd.random.uniform(shape=(3,))]
    return [array.asnumpy() for array in arrays], [node.name for node in again]


# A graph takes no whole numbers as the `like` of real ones.
@pytest.mark.parametrize(
    "sample", [row for row in ROWS_OF_OPERATORS if row.values[0].parameters.get("mode") != "like"]
)
@pytest.mark.filterwarnings(
    "ignore:gradients of contrib.SparseEmbedding"
)  # said once, by whatever test is first
def test_the_gradient_is_the_same(sample: Sample) -> None:
    wanted, nothing = run(sample, {})
    found, again = run(sample, {"force_mirroring": "True"})
    assert not nothing and ("op" in again) == (sample.name not in ONCE)
    for value, other in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(other, value)
