"""The layers give the numbers that MXNet 1.9.1 gave (recorded by `record.py`)."""

import numpy as np
import pytest
import torch
from tests.ops.nn.recorded import CASES, compute

from rebind.ops import find

#: Relative to the largest number of an array.
TOLERANCES = {"infer": 1e-5, "train": 1e-5, "grad": 1e-4, "aux": 1e-5}


# What the records cannot hold, and the test that holds it instead.
ELSEWHERE = {
    "_joint_fully_connected": "not MXNet's: tests/graph/passes/test_join_layers.py",
    "_joint_cells": "not MXNet's: tests/graph/passes/test_join_cells.py",
    "_channels_last": "not MXNet's: tests/graph/passes/test_channels_last.py",
    "_contiguous": "not MXNet's: tests/graph/passes/test_channels_last.py",
    "_stack_rows": "not MXNet's: tests/graph/passes/test_join_cells.py",
    "CTCLoss": "recorded in tests/parity/cases/samplers.py",
    "WarpCTC": "a plugin, not in the published packages: tests/ops/nn/test_ctc.py",
    "_contrib_SparseEmbedding": "recorded in tests/parity/cases/miscellany.py",
    "_contrib_SyncBatchNorm": "recorded in tests/parity/cases/samplers.py",
    "_contrib_BatchNormWithReLU": "needs oneDNN: test_sync_norm.py",
}


def close(found, wanted, tolerance, what):
    found = found.detach().numpy()
    assert found.shape == wanted.shape, what
    assert found.dtype == wanted.dtype, what
    scale = max(1.0, np.abs(wanted[np.abs(wanted) < 1e30]).max(initial=0.0))
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * scale, err_msg=what)


@pytest.mark.filterwarnings("ignore:Embedding. data must hold indices")  # a case is outside of the table
@pytest.mark.parametrize("index", range(len(CASES)), ids=lambda i: f"{CASES[i][0]}-{i}")
def test_as_recorded(index):
    name, given, recorded = CASES[index]
    for kind, arrays in compute(name, given, recorded).items():
        for k, found in arrays.items():
            close(found, recorded[kind][k], TOLERANCES[kind], f"{name} {given}: {kind} {k}")


@pytest.mark.parametrize("index", range(len(CASES)), ids=lambda i: f"{CASES[i][0]}-{i}")
def test_shapes_on_meta(index):
    """The meta run gives shapes and types of the outputs; the rules give those of the parameters."""
    name, given, recorded = CASES[index]
    op = find(name)
    p = op.parse(given)
    names = op.signature.inputs_for(p)
    tensors = [
        torch.empty(recorded["in"][k].shape, dtype=torch.from_numpy(recorded["in"][k]).dtype, device="meta")
        for k in names
    ]
    for training in (False, True):
        mode = {"training": training} if "training" in op.signature.modes else {}
        out = op(*tensors, **op.signature.keywords(p), **mode)
        outs = out if isinstance(out, tuple) else (out,)
        kind = "train" if training else "infer"
        for i in range(op.record.visible_outputs(p)):
            assert tuple(outs[i].shape) == recorded[kind][str(i)].shape
            assert str(outs[i].dtype) == f"torch.{recorded[kind][str(i)].dtype}"
    shapes = {k: tuple(recorded["in"][k].shape) for k in names}
    filled = op.inference.filled_shapes(shapes, p)
    for k, shape in filled.items():
        if k in shapes:
            assert shape == shapes[k], k
    # Nothing is claimed that a half-known shape does not say.
    nothing = dict.fromkeys(names)
    for half in (nothing, nothing | {"data": (0,) * len(shapes["data"])}):
        for k, shape in op.inference.filled_shapes(half, p).items():
            if k in shapes and k != "label":  # of several that are allowed it names the first
                assert all(a in (0, b) for a, b in zip(shape, shapes[k], strict=True)), (k, shape)
    outputs = [recorded["infer"][str(i)].shape for i in range(op.record.visible_outputs(p))]
    for known in (nothing, nothing | {"data": (0, *shapes["data"][1:])}, shapes):
        for k, shape in op.inference.shapes_of_inputs(known, outputs, p).items():
            if shape is not None:
                assert all(a in (0, b) for a, b in zip(shape, shapes[k], strict=True)), (k, shape)
