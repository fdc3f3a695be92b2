"""Every operator by itself can be given to a compiler: PyTorch's own traces all that operators do in Python."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.executor.compiled.networks import S
from tests.ops.sample import Sample
from tests.ops.samples import RANDOM, SAMPLES

import rebind as mx
from rebind.ops import OPERATORS
from rebind.symbol.functions import make_function

pytestmark = [pytest.mark.usefixtures("own_backends"), pytest.mark.slow]

#: Compiled code draws other numbers.
DRAWS = {sample.name for sample in RANDOM}


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_every_operator_is_traced(sample: Sample) -> None:
    values = sample.inputs()
    inputs = [S.var(f"x{i}") for i in range(len(values))]
    net = make_function(OPERATORS[sample.name], sample.name)(*inputs, name="op", **sample.parameters)
    for is_train in (False, True):
        found = []
        for backend in ("default", "eager"):
            args = {f"x{i}": mx.nd.array(value, dtype=value.dtype) for i, value in enumerate(values)}
            aux = {name: args.pop(name) for name in net.list_auxiliary_states()}
            exe = net.bind(mx.cpu(), args, None, "null", aux, backend=backend)
            with warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)  # that it is not compiled
                exe.forward(is_train=is_train)
            found.append([each.asnumpy() for each in exe.outputs])
        if sample.name not in DRAWS:
            for one, other in zip(*found, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
