"""Every operator by itself can be given to a compiler: PyTorch's own traces all that operators do in Python."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from tests.executor.compiled.networks import QUICK, S
from tests.ops.sample import Sample
from tests.ops.samples import LAYERS, SAMPLES

import rebind as mx
from rebind.ops import OPERATORS
from rebind.symbol.functions import make_function

pytestmark = [pytest.mark.usefixtures("own_backends"), pytest.mark.slow]

#: PyTorch does not know the shape of its loss; how many points are read depends on values.
NOT_COMPILED = ("CTCLoss", "_contrib_RROIAlign")


def results(sample: Sample, backend: str, is_train: bool) -> list[np.ndarray]:
    """Return outputs, gradients of what is floating, and auxiliary states after a run."""
    values = sample.inputs()
    inputs = [S.var(f"x{i}") for i in range(len(values))]
    net = make_function(OPERATORS[sample.name], sample.name)(*inputs, name="op", **sample.parameters)
    args = {f"x{i}": mx.nd.array(value, dtype=value.dtype) for i, value in enumerate(values)}
    aux = {name: args.pop(name) for name in net.list_auxiliary_states()}
    grads = {name: mx.nd.zeros_like(arg) for name, arg in args.items() if arg.dtype == np.float32}
    exe = net.bind(mx.cpu(), args, grads, "write", aux, backend=backend)
    exe.forward(is_train=is_train)
    if is_train and grads:
        random = np.random.default_rng(0)
        exe.backward([mx.nd.array(random.random(out.shape), dtype=out.dtype) for out in exe.outputs])
    assert exe.is_compiled == (backend != "default" and sample.name not in NOT_COMPILED)
    return [each.asnumpy() for each in (*exe.outputs, *grads.values(), *aux.values())]


@pytest.mark.parametrize("sample", [*LAYERS, *SAMPLES], ids=str)
def test_every_operator_is_traced(sample: Sample) -> None:
    op = OPERATORS[sample.name]
    for is_train in (False, True):
        plain = results(sample, "default", is_train)
        with (
            pytest.warns(UserWarning, match="is not compiled")
            if sample.name in NOT_COMPILED
            else contextlib.nullcontext()
        ):
            compiled = results(sample, QUICK, is_train)
        if op.draws(op.parse(sample.parameters), is_train):
            continue  # other numbers
        for one, other in zip(plain, compiled, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
