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


BOUNDS = np.array([-1.0, -0.2, 0.5, 2.0], dtype="float32")


@pytest.mark.parametrize(
    ("data", "bins", "counts", "bounds"),
    [
        pytest.param(
            mx.nd.array(VALUES), mx.nd.array(BOUNDS), np.histogram(VALUES, BOUNDS)[0], BOUNDS, id="bounds"
        ),
        pytest.param(
            mx.nd.array([0, 1, 1, 2], dtype="int32"),
            4,
            [1, 0, 2, 1],
            [0, 0.5, 1, 1.5, 2],
            id="whole-numbers-without-a-range",
        ),
    ],
)
def test_exact_bounds(data, bins, counts, bounds):
    found = mx.nd.histogram(data, bins=bins)
    np.testing.assert_array_equal(found[0].asnumpy(), counts)
    np.testing.assert_array_equal(found[1].asnumpy(), bounds)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.uint8, torch.int64])
def test_types(dtype):
    counts, bounds = run(torch.tensor([0, 1, 2, 2, 3, 4], dtype=dtype), bin_cnt=4, range=(0, 4))
    assert counts.tolist() == [1, 1, 2, 2] and bounds.dtype is dtype
    meta = run(torch.zeros(6, dtype=dtype, device="meta"), bin_cnt=4, range=(0, 4))
    assert [tuple(out.shape) for out in meta] == [(4,), (5,)] and meta[1].dtype is dtype


@pytest.mark.parametrize(
    ("values", "given", "counts", "bounds"),
    [
        ([float("nan"), 1.0, 2.0, float("inf"), -1.0], {"bin_cnt": 2, "range": (0, 2)}, [0, 2], [0, 1, 2]),
        ([1.0, 1.0, 1.0], {"bin_cnt": 3}, [0, 3, 0], [0.5, 5 / 6, 7 / 6, 1.5]),
        ([], {"bin_cnt": 2}, [0, 0], [0, 0.5, 1]),
    ],
)
def test_special_values(values, given, counts, bounds):
    found = run(torch.tensor(values), **given)
    assert found[0].tolist() == counts and found[1].tolist() == pytest.approx(bounds)


@pytest.mark.parametrize(
    ("given", "shapes", "expected"),
    [
        ({"bins": 5, "range": (0, 5)}, {"a": (2, 3)}, [(5,), (6,)]),
        ({"bins": mx.sym.var("b")}, {"a": (2, 3), "b": (4,)}, [(3,), (4,)]),
        ({}, {"a": (2,)}, [(10,), (11,)]),
    ],
)
def test_symbols(given, shapes, expected):
    symbol = mx.sym.histogram(mx.sym.var("a"), **given, name="h")
    assert symbol.list_outputs() == ["h_output0", "h_output1"]
    assert symbol.list_arguments() == list(shapes)
    assert symbol.infer_shape(**shapes)[1] == expected


@pytest.mark.parametrize(
    ("count", "given", "says"),
    [
        (1, {}, "_histogram: bins (an array of edges) or bin_cnt must be given; got neither"),
        (1, {"bin_cnt": 0}, "_histogram: bin_cnt must be an int >= 1 or None; got 0"),
        (1, {"bin_cnt": 3, "range": (2, 1)}, "range must be two numbers in ascending order; got (2.0, 1.0)"),
        (
            1,
            {"range": (1, 2)},
            "_histogram: range must be given together with bin_cnt; got range=(1.0, 2.0) without bin_cnt",
        ),
        (2, {}, "_histogram: bins must have one axis of two edges or more; got shape (1,)"),
    ],
)
def test_mistakes_meet_a_sentence(count, given, says):
    with pytest.raises(MXNetError) as caught:
        run(*(torch.zeros(1),) * count, **given)
    assert says in str(caught.value)
