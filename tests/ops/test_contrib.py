"""Operators of ``contrib``: what the recorded cases do not show."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.errors import MXNetError
from rebind.ops import OPERATORS, all_operators
from rebind.ops.contrib import attention, fourier, tensor

MODULES = {module.__name__: module for module in (attention, fourier, tensor)}
HERE = [op for op in all_operators() if op.kernels.function.__module__ in MODULES]

#: MXNet has the transforms for GPUs only; the table holds what has an inferred shape: not a mask, and not an array
#: without axes, whose shape reads as unknown. `test_allclose` holds MXNet's answers.
NOT_RECORDED = {"fft", "ifft", "boolean_mask", "allclose"}


def run(name: str, *arrays: torch.Tensor, **keywords):
    return OPERATORS[f"_contrib_{name}"](*arrays, **keywords)


@pytest.mark.parametrize("op", HERE, ids=lambda op: op.name)
def test_names_and_documentation(op):
    short = op.name.removeprefix("_contrib_")
    assert callable(getattr(mx.nd.contrib, short)) and callable(getattr(mx.sym.contrib, short))
    assert inspect.getdoc(op.kernels.function)


@pytest.mark.parametrize("shape", [(6,), (2, 4), (2, 3, 2, 8)])
def test_fourier_transforms(shape):
    data = np.random.RandomState(0).standard_normal(shape)
    found = run("fft", torch.tensor(data)).numpy()
    expected = np.fft.fft(data)
    np.testing.assert_allclose(found[..., 0::2], expected.real, atol=1e-12)
    np.testing.assert_allclose(found[..., 1::2], expected.imag, atol=1e-12)
    np.testing.assert_allclose(run("ifft", torch.tensor(found)).numpy() / shape[-1], data, atol=1e-12)
    for name in ("fft", "ifft"):
        signal = torch.tensor(data, requires_grad=True)
        torch.autograd.gradcheck(lambda x, name=name: run(name, x), [signal])
        assert run(name, signal.to("meta")).shape == run(name, signal).shape


def test_boolean_mask():
    data, index = mx.nd.array([[1, 2, 3], [4, 5, 6]]), mx.nd.array([0, 2])
    data.attach_grad()
    with mx.autograd.record():
        out = mx.nd.contrib.boolean_mask(data, index)
    out.backward()
    assert out.asnumpy().tolist() == [[4, 5, 6]]
    assert data.grad.asnumpy().tolist() == [[0, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize(
    ("index", "dtype", "parameters", "expected"),
    [([0, 0], "float32", {}, np.zeros((0, 3))), ([1, 0, 1], "int32", {"axis": 1}, [[1, 3], [4, 6]])],
)
def test_boolean_mask_of_nothing_and_along_an_axis(index, dtype, parameters, expected):
    data = mx.nd.array([[1, 2, 3], [4, 5, 6]])
    chosen = mx.nd.contrib.boolean_mask(data, mx.nd.array(index, dtype=dtype), **parameters)
    np.testing.assert_array_equal(chosen.asnumpy(), expected)


def test_boolean_mask_has_an_unknown_shape():
    symbol = mx.sym.contrib.boolean_mask(mx.sym.var("data"), mx.sym.var("index"))
    assert symbol.infer_shape_partial(data=(3, 2))[:2] == ([(3, 2), (3,)], [()])
    bound = symbol.bind(mx.cpu(), {"data": mx.nd.array([[1, 2], [3, 4]]), "index": mx.nd.array([0, 1])})
    assert bound.forward()[0].asnumpy().tolist() == [[3, 4]]


@pytest.mark.parametrize(
    ("a", "b", "parameters", "found"),
    [
        ([1.0, 2.0], [1.0, 2.0], {}, 1),
        ([1.0], [1.1], {}, 0),
        ([1.0], [2.0], {"rtol": 0.5, "atol": 0.0}, 1),  # the tolerance is relative to b
        ([2.0], [1.0], {"rtol": 0.5, "atol": 0.0}, 0),
        ([2.0], [1.0], {"atol": 1.0}, 1),
        ([np.nan], [np.nan], {}, 1),
        ([np.nan], [np.nan], {"equal_nan": False}, 0),
        ([np.inf], [np.inf], {}, 1),
    ],
)
def test_allclose(a, b, parameters, found):
    """As MXNet 1.9.1 answers."""
    out = mx.nd.contrib.allclose(mx.nd.array(a), mx.nd.array(b), **parameters)
    assert (out.shape, out.dtype, int(out.asnumpy())) == ((), np.uint8, found)


@pytest.mark.parametrize("index", [4.0, 7.0])
def test_rows_at_indices_out_of_range(index):
    with pytest.raises(MXNetError, match=r"index_vector must be in \[0, 4\), axis 0 of old_tensor"):
        run("index_copy", torch.zeros(4, 2), torch.tensor([index]), torch.zeros(1, 2))


@pytest.mark.parametrize(
    ("name", "shapes", "parameters", "says"),
    [
        ("allclose", [(2, 3), (1, 3)], {}, "b must have the shape of a, (2, 3); got (1, 3)"),
        ("arange_like", [(2, 3)], {"axis": 4}, "_contrib_arange_like: axis must be in [-2, 2)"),
        ("index_array", [(2, 3)], {"axes": (3,)}, "_contrib_index_array: axes must be in [-2, 2)"),
        ("index_copy", [(4, 2), (2,), (1, 2)], {}, "new_tensor must have shape (2, 2) to match index_vector (2,)"),
        ("index_copy", [(4, 2), (2, 1), (2, 2)], {}, "index_vector must have 1 axis; got shape (2, 1)"),
        ("boolean_mask", [(2, 3), (3,)], {}, "index must have shape (2,) to match axis 0 of data of shape (2, 3)"),
        ("interleaved_matmul_selfatt_qk", [(3, 2, 7)], {"heads": 2}, "a multiple of 6); got (3, 2, 7)"),
        ("interleaved_matmul_encdec_qk", [(3, 2, 4), (5, 1, 8)], {"heads": 2}, "must have the batch of queries"),
        (
            "interleaved_matmul_encdec_valatt",
            [(5, 2, 8), (4, 3, 4)],
            {"heads": 2},
            "attention must have shape (4, length of the queries, 5); got (4, 3, 4)",
        ),
        ("ifft", [(2, 3)], {}, "the last axis of data must have an even size, real and imaginary parts"),
        ("div_sqrt_dim", [()], {}, "data must have 1 axis or more; got shape ()"),
    ],
)  # fmt: skip
def test_mistakes_meet_a_sentence(name, shapes, parameters, says):
    with pytest.raises(MXNetError) as caught:
        run(name, *(torch.zeros(shape) for shape in shapes), **parameters)
    assert says in str(caught.value)
