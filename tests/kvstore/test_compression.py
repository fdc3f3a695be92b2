"""Compressed gradients: what is sent, what is kept, and what is received."""

import re

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.kvstore.compression import Compression, Residuals, _unpacked, _unpacked_by_torch

SIZES = [1, 7, 8, 64, 100, 128 * 1024, 128 * 1024 + 1, 300_003]  # beside the size of a block


def expected(compression, gradient, residual):
    """Return what is sent and what is kept, by the definition."""
    held = residual + gradient
    if compression.type == "1bit":
        sent = np.where(held > compression.threshold, 1, -1)
    else:
        level = held.dtype.type(compression.threshold)
        sent = np.where(held >= level, level, np.where(held <= -level, -level, held.dtype.type(0)))
    return sent, (held - sent).astype(held.dtype)


@pytest.mark.sampled
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "compression", [Compression("2bit", 0.5), Compression("2bit", 0.3), Compression("1bit", 0.1)]
)
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_what_is_sent_and_what_is_kept(size, compression, dtype):
    random = np.random.RandomState(size)
    kept = np.zeros(size, "float64" if dtype == "float64" else "float32")
    residual = compression.residual_for(torch.zeros(size, dtype=getattr(torch, dtype)))
    for _ in range(4):
        gradient = random.randn(size).astype(dtype)
        gradient[: size // 2] = np.round(gradient[: size // 2] * 4) / 4  # some are at the threshold
        packed = compression.quantize(torch.from_numpy(gradient), residual)
        assert packed.dtype == torch.uint8 and packed.numel() == compression.packed_size(size)
        sent, kept = expected(compression, gradient.astype(kept.dtype), kept)
        found = compression.dequantize(packed, size, residual.dtype)
        np.testing.assert_array_equal(found.numpy(), sent.astype(kept.dtype))
        np.testing.assert_array_equal(residual.numpy(), kept)


@pytest.mark.parametrize("compression", [Compression("2bit", 0.3), Compression("1bit")])
def test_the_way_for_other_devices_gives_the_same(compression):
    gradient = torch.randn(100_003, generator=torch.Generator().manual_seed(1))
    ours, theirs = torch.zeros(100_003), torch.zeros(100_003)
    packed = compression.quantize(gradient, ours)
    planes = torch.empty_like(packed).view(-1 if compression.type == "1bit" else 2, 12501)
    compression._quantize_by_torch(gradient, theirs, planes.view(-1, 12501))
    assert torch.equal(ours, theirs) and torch.equal(packed, planes.view(-1))
    for plane in planes.view(-1, 12501):
        assert torch.equal(_unpacked_by_torch(plane, 100_003), _unpacked(plane, 100_003))


def test_the_size_of_a_message():
    assert [
        Compression(kind).packed_size(64_000) * ratio for kind, ratio in (("2bit", 16), ("1bit", 32))
    ] == [
        256_000,
        256_000,
    ]


def test_a_gradient_that_is_nan_is_received_as_nan():
    compression, residual = Compression("2bit"), torch.zeros(3)
    packed = compression.quantize(torch.tensor([1.0, float("nan"), -1.0]), residual)
    np.testing.assert_array_equal(compression.dequantize(packed, 3), [0.5, np.nan, -0.5])
    with pytest.raises(mx.errors.NonFiniteError, match="must be finite to be sent in 1 bit"):
        Compression("1bit").quantize(torch.tensor([float("nan")]), torch.zeros(1))


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"type": "2bit"}, Compression("2bit", 0.5)),
        ({"type": "2bit", "threshold": "0.25"}, Compression("2bit", 0.25)),
        ({"type": "1bit", "threshold": 2}, Compression("1bit", 2.0)),
        ({"type": "none", "threshold": 2}, None),
    ],
)
def test_parameters(params, found):
    assert Compression.of(params) == found


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"type": "3bit"}, "type must be one of '2bit', '1bit', 'none'; got '3bit'"),
        ({"type": None}, "type must be one of '2bit', '1bit', 'none'; got None"),
        ({"threshold": 1}, "type must be one of '2bit', '1bit', 'none'; got none in {'threshold': 1}"),
        ({"type": "2bit", "threshold": 0}, "threshold must be a number above 0; got 0"),
        ({"type": "2bit", "threshold": -1}, "threshold must be a number above 0; got -1"),
        ({"type": "2bit", "threshold": "much"}, "threshold must be a number above 0; got 'much'"),
        ("2bit", "compression_params must be a dict such as {'type': '2bit'}; got '2bit'"),
    ],
)
def test_parameters_that_are_refused(params, says):
    with pytest.raises(mx.MXNetError, match=re.escape(f"KVStore.set_gradient_compression: {says}") + "$"):
        Compression.of(params)


def test_a_word_too_many_is_said():
    with pytest.warns(
        UserWarning, match="has the unknown key 'thresold', which is ignored; did you mean 'threshold'"
    ):
        Compression.of({"type": "2bit", "thresold": 0.1})


def test_integers_are_refused():
    with pytest.raises(TypeError, match=r"must be of a floating type to be compressed; got torch\.int32"):
        Residuals(Compression("2bit")).quantized("w", torch.ones(2, dtype=torch.int32))


def test_residuals_go_on_from_their_state():
    one = Residuals(Compression("2bit"))
    gradient = mx.nd.ones((2, 3)) * 0.3
    one.sent("w", gradient)
    two = Residuals(Compression("2bit"))
    two.load_state_dict(one.state_dict())
    for residuals in (one, two):
        assert (residuals.sent("w", gradient).asnumpy() == 0.5).all()
