"""Every recorded call of an operator goes out to PyTorch, and gives there what MXNet gave."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch
from tests.parity.cases import CASES
from tests.parity.golden import assert_close
from tests.parity.test_operators import MANIFESTS, PACKS, RTOL_FORWARD, WIDER
from tests.sampling import sampled

import rebind as mx
from rebind.pytorch import to_torch

ROWS = [
    pytest.param(group, name, id=f"{group}-{name}", marks=marks)
    for (group, name), marks in sampled(
        [(group, name) for group, cases in CASES.items() for name in cases],
        kind=lambda row: CASES[row[0]][row[1]].operator,
    )
]


@pytest.mark.parametrize(("group", "name"), ROWS)
def test_in_pytorch(group: str, name: str) -> None:
    case, entry, pack = CASES[group][name], MANIFESTS[group][name], PACKS[group]
    symbol, inputs = case.symbol(mx), pack.get_all(entry["arguments"])
    # Where there are states it is a layer, which has its parameters.
    layers = {name for name in ("gamma", "beta", "op_gamma", "op_beta") if entry["states"] and name in inputs}
    params = {
        key: mx.nd.array(value, dtype=value.dtype)
        for key, value in {
            **{key: inputs.pop(key) for key in layers},
            **pack.get_all(entry["states"]),
        }.items()
    }
    shapes = {key: value.shape for key, value in inputs.items()}
    types = {key: value.dtype for key, value in inputs.items()}
    module = to_torch(symbol, params, shapes=shapes, types=types).eval()
    arguments = inspect.signature(module.forward).parameters
    outputs = module(*(torch.from_numpy(inputs[key]) for key in arguments))
    outputs = (outputs,) if isinstance(outputs, torch.Tensor) else outputs
    rtols = [RTOL_FORWARD.get(str(value.dtype), 0.0) for value in inputs.values()]
    for i, (found, reference) in enumerate(zip(outputs, entry["inference"], strict=True)):
        expected = pack.get(reference)
        assert str(found.dtype).removeprefix("torch.") == str(expected.dtype)
        rtol = RTOL_FORWARD.get(str(expected.dtype), 0.0) * WIDER.get(case.operator, 1.0)
        rtol = max([rtol, *rtols]) if rtol else rtol
        assert_close(np.asarray(found.detach()), expected, rtol=rtol, what=f"{name}: output {i}")
