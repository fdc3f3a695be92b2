"""Runs that repeat the last one, in inference mode: the same values, in ordinary tensors of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.executor.cached_pass import BatchInputs, CachedPass
from rebind.ops import OPERATORS
from rebind.symbol.functions import make_function

from ..ops.sample import Sample
from .test_outputs import ONE_EACH, S, places, run


def outputs_of(exe: Any) -> list[np.ndarray]:
    return [each.asnumpy() for each in exe.outputs]


@pytest.mark.parametrize("sample", ONE_EACH, ids=str)
def test_every_operator_gives_the_same_in_inference_mode(sample: Sample) -> None:
    inputs = [S.var(f"x{i}") for i in range(len(sample.arrays))]
    net = make_function(OPERATORS[sample.name], sample.name)(*inputs, name="op", **sample.parameters)
    for grad_req in ("null", "write"):
        mx.random.seed(7)
        exe, _ = run(net, sample.inputs(), grad_req, is_train=False)
        expected = outputs_of(exe)
        data = list(exe.arg_dict.values())[:1]
        cached = CachedPass.of(exe.runner, BatchInputs(data, []), is_train=False)
        if cached is None:  # custom operators, and networks with loops, whose Python code runs in between
            assert sample.name == "Custom"
            continue
        mx.random.seed(7)
        assert cached.run([each.copy() for each in data])
        for one, other in zip(outputs_of(exe), expected, strict=True):
            np.testing.assert_array_equal(one, other)
        assert not any(each.tensor.is_inference() for each in exe.outputs)
        assert places(exe.outputs).isdisjoint(places([*exe.arg_arrays, *exe.aux_arrays]))
