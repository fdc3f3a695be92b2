"""Calls as a user's program has them, for type checkers: `test_stubs.py` runs mypy on this file.

An ignored line is one that a checker must refuse; it reports an ignore that nothing needs.
"""

from __future__ import annotations

import rebind as mx
from rebind import NDArray, Symbol

x = mx.nd.ones((2, 4))
weight, bias = mx.nd.ones((3, 4)), mx.nd.zeros((3,))

array: NDArray = mx.nd.FullyConnected(x, weight, bias, num_hidden=3)
array = mx.nd.FullyConnected(x, weight, bias, 3)
array = mx.nd.FullyConnected(data=x, weight=weight, num_hidden=3, no_bias=True, out=mx.nd.zeros((2, 3)))
array = mx.nd.clip(x, 0, 1)
array = mx.nd.concat(x, x, dim=1)
array = mx.nd.stack([x, x], axis=0)
array = mx.nd.reshape(x, shape=(4, 2))
array = mx.nd.random.uniform(0, 1, shape=(2,))
array = mx.nd.linalg.gemm2(x, x, transpose_b=True)
array = mx.nd.contrib.div_sqrt_dim(x)
array = mx.nd.op.relu(x)
array = mx.nd._internal._plus_scalar(x, scalar=1)
array = x.sum(axis=1)
array = x.sum(axis=(0, 1), keepdims=True)
array = x.transpose((1, 0)).exp().argmax(axis=0)
array = x.reshape((4, 2))[0].expand_dims(0)
array = -x + 2 * x @ x.T // 3
array += mx.nd.array([1])
rows: list[NDArray] = list(x)
gradient: NDArray | None = x.grad
first, second = mx.nd.split(x, num_outputs=2)
outputs: list[NDArray] = mx.nd.linalg.gelqf(x)

data = mx.sym.var("data", shape=(2, 3, 8, 8))
symbol: Symbol = mx.sym.Convolution(data, kernel=(3, 3), num_filter=8, name="conv")
symbol = mx.sym.Convolution(data=data, kernel=3, num_filter=8, lr_mult=2.0, attr={"ctx_group": "first"})
symbol = mx.sym.Activation(symbol, act_type="relu").sum(axis=1)
symbol = mx.sym.SoftmaxOutput(mx.sym.Flatten(symbol), name="softmax")
symbol = mx.sym.random.normal(0, 1, shape=(2, 2))
symbol = mx.sym.op.tanh(mx.sym._internal._plus_scalar(symbol, scalar=1))
symbol = -symbol + 2 * symbol.reshape(-1)[0] ** data
symbol = abs(mx.sym.Group([symbol, data]).get_internals().get_optimized_symbol())
pieces: list[Symbol] = list(symbol)
symbol = mx.sym.Custom(data, op_type="mine", factor=3)
states, outs = mx.sym.contrib.foreach(lambda step, state: (step + state, state), data, symbol)

mx.nd.relu(x, axis=1)  # type: ignore[call-arg]  # an unknown keyword
mx.nd.FullyConected(x, weight, num_hidden=3)  # type: ignore[attr-defined]  # a misspelt name
mx.nd.Activation(x, act_type="rely")  # type: ignore[arg-type]  # a word that is not allowed
mx.nd.FullyConnected(weight)  # type: ignore[call-arg]  # a missing input
mx.nd.exp("x")  # type: ignore[arg-type]  # no array
x.sum(axes=1)  # type: ignore[call-arg]
mx.nd.linalg.gemm3(x)  # type: ignore[attr-defined]
mx.sym.Convolution(data, kernels=(3, 3), num_filter=8)  # type: ignore[call-arg]
mx.sym.FullyConnected(x, num_hidden=3)  # type: ignore[arg-type]  # an array where a symbol is due
mx.sym.random.uniform(0, 1, shapes=(2,))  # type: ignore[call-arg]
data.asnumpy()  # type: ignore[attr-defined]  # symbols have no values
