"""Histograms against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.errors import MXNetError
from rebind.ops import OPERATORS

VALUES = np.random.default_rng(0).normal(size=(40, 25)).astype("float32")


def run(*arrays, **parameters):
    op = OPERATORS["_histogram"]
    return op(*arrays, **op.parse(parameters))


@pytest.mark.parametrize("given", [{"bins": 7, "range": (-1, 2)}, {"bins": 7}, {}, {"bins": 1}])
def test_bins_of_one_width(given):
    counts, bounds = mx.nd.histogram(mx.nd.array(VALUES), **given)
    expected, edges = np.histogram(VALUES, **given)
    assert counts.dtype == np.int64 and bounds.dtype == np.float32
    np.testing.assert_array_equal(counts.asnumpy(), expected)
    np.testing.assert_allclose(bounds.asnumpy(), edges, rtol=1e-6, atol=1e-6)


def test_bounds_given():
    bounds = np.array([-1.0, -0.2, 0.5, 2.0], dtype="float32")
    found = mx.nd.histogram(mx.nd.array(VALUES), bins=mx.nd.array(bounds))
    np.testing.assert_array_equal(found[0].asnumpy(), np.histogram(VALUES, bounds)[0])
    np.testing.assert_array_equal(found[1].asnumpy(), bounds)


def test_whole_numbers_without_a_range():
    counts, bounds = mx.nd.histogram(mx.nd.array([0, 1, 1, 2], dtype="int32"), bins=4)
    assert counts.asnumpy().tolist() == [1, 0, 2, 1]
    assert bounds.asnumpy().tolist() == [0, 0.5, 1, 1.5, 2]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.uint8, torch.int64])
def test_types(dtype):
    counts, bounds = run(torch.tensor([0, 1, 2, 2, 3, 4], dtype=dtype), bin_cnt=4, range=(0, 4))
    assert counts.tolist() == [1, 1, 2, 2] and bounds.dtype is dtype
    meta = run(torch.zeros(6, dtype=dtype, device="meta"), bin_cnt=4, range=(0, 4))
    assert [tuple(out.shape) for out in meta] == [(4,), (5,)] and meta[1].dtype is dtype


def test_special_values():
    odd = torch.tensor([float("nan"), 1.0, 2.0, float("inf"), -1.0])
    assert run(odd, bin_cnt=2, range=(0, 2))[0].tolist() == [0, 2]
    same = run(torch.ones(3), bin_cnt=3)
    assert same[0].tolist() == [0, 3, 0] and same[1].tolist() == pytest.approx([0.5, 5 / 6, 7 / 6, 1.5])
    empty = run(torch.zeros(0), bin_cnt=2)
    assert empty[0].tolist() == [0, 0] and empty[1].tolist() == [0, 0.5, 1]


def test_symbols():
    a, b = mx.sym.var("a"), mx.sym.var("b")
    uniform = mx.sym.histogram(a, bins=5, range=(0, 5), name="h")
    assert uniform.list_outputs() == ["h_output0", "h_output1"]
    assert uniform.list_arguments() == ["a"]
    assert uniform.infer_shape(a=(2, 3))[1] == [(5,), (6,)]
    bounded = mx.sym.histogram(a, bins=b)
    assert bounded.list_arguments() == ["a", "b"]
    assert bounded.infer_shape(a=(2, 3), b=(4,))[1] == [(3,), (4,)]
    assert mx.sym.histogram(a).infer_shape(a=(2,))[1] == [(10,), (11,)]


@pytest.mark.parametrize(
    ("count", "given", "says"),
    [
        (1, {}, "_histogram: needs the array bins, or bin_cnt; got neither"),
        (1, {"bin_cnt": 0}, "_histogram: bin_cnt must be an int >= 1 or None; got 0"),
        (1, {"bin_cnt": 3, "range": (2, 1)}, "range must be two numbers in ascending order; got (2.0, 1.0)"),
        (1, {"range": (1, 2)}, "_histogram: range needs bin_cnt; got (1.0, 2.0) alone"),
        (2, {}, "_histogram: bins must hold two bounds or more; got shape (1,)"),
    ],
)
def test_mistakes_meet_a_sentence(count, given, says):
    with pytest.raises(MXNetError) as caught:
        run(*(torch.zeros(1),) * count, **given)
    assert says in str(caught.value)
