"""Making arrays, views of them, and mistakes with them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np


def _view(make: Any, shape: tuple[int, ...] = (1, 2, 1, 3)) -> Any:
    """Return a snippet that writes through what `make` returns, and shows both."""

    def run(mx: Any) -> Any:
        x = mx.nd.arange(int(np.prod(shape))).reshape(shape)
        y = make(x)
        y[:1] = 7
        return x, y, y is x

    return run


def _read_only(mx: Any) -> Any:
    values = np.arange(6.0).reshape(2, 3)
    x = mx.nd.from_numpy(values)
    copied = np.arange(6.0)
    mx.nd.from_numpy(copied, zero_copy=False)
    return x, values.flags.writeable, copied.flags.writeable, mx.nd.from_numpy(values)


def _dlpack(mx: Any) -> Any:
    x = mx.nd.array([1, 2, 3])
    y = mx.nd.from_dlpack(x.to_dlpack_for_write())
    y[:] = 5
    return x, mx.nd.from_dlpack(mx.nd.to_dlpack_for_read(x)), mx.nd.from_dlpack(mx.nd.to_dlpack_for_write(x))


def _no_axes(mx: Any) -> Any:
    with mx.util.np_shape():
        x = mx.nd.array(2.5)
        return x.shape, (x + 1).shape, x


def _one_number(mx: Any) -> Any:
    with mx.util.np_shape():
        x = mx.nd.array([1, 2, 3])
        x.attach_grad()
        with mx.autograd.record():
            y = x[1] * x[2] * 3 + x[:1].reshape(())
        y.backward()
        drawn = mx.nd.random.uniform(shape=()), mx.nd.random.randint(0, 9, shape=()), mx.nd.random.normal()
        taken = mx.nd.take(x, mx.nd.array(1)), mx.nd.array(5)[()], next(iter(x)), x[0:2][1]
        return [y, x.grad, [each.shape for each in drawn], taken, x.sum(), mx.nd.ones((1, 1)).squeeze()]


LARGEST = np.nan_to_num(np.float32(np.inf))
RANGES = {
    "fractions": ((1.3, 10.6, 1.3), "int32"),
    "large_steps": ((1.9, 7.2, 2.9), "int64"),
    "small_steps": ((0, 5, 0.5), "int32"),
    "downwards": ((10, 1, -1.5), "int32"),
    "from_zero": ((5.7,), "int32"),
    "bytes": ((1.9, 10.6, 1.3), "uint8"),
    "floats": ((1.5, 4, 0.5), "float32"),
}

SNIPPETS = {
    "no_axes_of_selections": _one_number,
    **{
        f"arange_{name}": lambda mx, given=given, dtype=dtype: mx.nd.arange(*given, dtype=dtype)
        for name, (given, dtype) in RANGES.items()
    },
    "arange_repeated": lambda mx: mx.nd.arange(1.3, 10.6, 1.3, repeat=2, dtype="int32"),
    "arange_of_a_symbol": lambda mx: mx.sym.arange(1.3, 10.6, 1.3, dtype="int32").eval(ctx=mx.cpu())[0],
    "array_of_texts": lambda mx: mx.nd.array([["1", "2.5"], ["3", "4"]]),
    "array_of_texts_as_whole_numbers": lambda mx: mx.nd.array([["1", "2"]], dtype="int32"),
    "array_of_decimals": lambda mx: mx.nd.array([[Decimal("1"), Decimal("2.5")]]),
    "array_of_words": lambda mx: mx.nd.array(["a"]),
    "array_without_axes": _no_axes,
    "clip_to_the_largest": lambda mx: [
        mx.nd.array([1, 2, -3]).clip(0, LARGEST),
        mx.nd.clip(mx.nd.array([1, -2, 3]), -LARGEST, 0),
    ],
    "flatten_in_place": _view(lambda x: x.flatten(inplace=True), (2, 3, 2)),
    "flatten": _view(lambda x: x.flatten(), (2, 3, 2)),
    "flatten_a_vector": _view(lambda x: x.flatten(inplace=True), (3,)),
    "expand_dims_in_place": _view(lambda x: x.expand_dims(1, inplace=True)),
    "expand_dims_at_the_end": _view(lambda x: x.expand_dims(-1, inplace=True), (2, 3)),
    "expand_dims_out_of_range": _view(lambda x: x.expand_dims(5, inplace=True), (2, 3)),
    "squeeze_in_place": _view(lambda x: x.squeeze(inplace=True)),
    "squeeze_axes": _view(lambda x: x.squeeze(axis=(0, 2), inplace=True)),
    "squeeze_to_one": _view(lambda x: x.squeeze(inplace=True), (1, 1)),
    "squeeze_what_is_larger": _view(lambda x: x.squeeze(axis=0, inplace=True), (2, 1)),
    "from_numpy": _read_only,
    "dlpack": _dlpack,
    "gather_out_of_range": lambda mx: mx.nd.gather_nd(mx.nd.ones((2, 3)), mx.nd.array([[5], [0]])).asnumpy(),
    "reshape_to_an_array": lambda mx: mx.nd.ones((2, 3)).reshape(mx.nd.array([3, 2])),
    "full_of_an_array": lambda mx: mx.nd.full(mx.nd.array([2]), 1),
    "allclose_shapes": lambda mx: mx.sym.contrib.allclose(mx.sym.var("a"), mx.sym.var("b")).infer_shape(
        a=(2, 3), b=(2, 3)
    ),
}
