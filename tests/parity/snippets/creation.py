"""Arrays and symbols that are made on a device, and operators' parameters at their limits."""

from __future__ import annotations

from typing import Any


def _windows(**given: Any) -> Any:
    return lambda mx: mx.nd.Pooling(mx.nd.array([[[1, 5, 2, 0, 3]]]), kernel=(3,), pool_type="max", **given)


def _loop(mx: Any) -> Any:
    """A loop whose function returns its one variable without the list around it."""
    return mx.nd.contrib.while_loop(
        lambda v: v < 3, lambda v: (v, v + 1), [mx.nd.array([0.0])], max_iterations=3
    )


def _loop_of_symbols(mx: Any) -> Any:
    outputs, new = mx.sym.contrib.while_loop(
        lambda v: v < 3, lambda v: (v, v + 1), [mx.sym.var("v")], max_iterations=3
    )
    both = mx.sym.Group([outputs, *new])
    return list(both.bind(mx.cpu(), {"v": mx.nd.array([0.0])}).forward())


SNIPPETS = {
    "zeros_json": lambda mx: mx.sym.zeros((2,), ctx=mx.cpu(), name="z").tojson(),
    "normal_json": lambda mx: mx.sym.random.normal(0, 1, shape=(2,), ctx=mx.cpu(), name="n").tojson(),
    "uniform_symbol": lambda mx: mx.sym.random.uniform(shape=(2,), ctx=mx.cpu(1)).infer_shape(),
    "eye_symbol": lambda mx: mx.sym.eye(3, ctx=mx.cpu()).infer_shape(),
    "ones_symbol_text": lambda mx: mx.sym.ones((2,), ctx="cpu(0)").infer_shape(),
    "arange_symbol": lambda mx: mx.sym.arange(3, ctx=mx.cpu()),
    "zeros_text": lambda mx: mx.nd.zeros((2,), ctx="cpu(0)"),
    "internal": lambda mx: str(mx.nd._internal._zeros(shape=(2,), ctx=mx.cpu(1)).context),
    "internal_text": lambda mx: str(mx.nd._internal._zeros(shape=(2,), ctx="cpu(1)").context),
    "surplus_pad": _windows(pad=(1, 0, 0)),
    "surplus_stride": _windows(stride=(2, 1, 1), pad=(1, 0, 0)),
    "surplus_pad_of_a_convolution": lambda mx: mx.nd.Convolution(
        mx.nd.ones((1, 1, 5)),
        mx.nd.ones((1, 1, 3)),
        mx.nd.zeros((1,)),
        kernel=(3,),
        num_filter=1,
        pad=(0, 0, 0),
    ),
    "dropout_of_everything_at_inference": lambda mx: mx.nd.Dropout(mx.nd.ones((3,)), p=1.0),
    "loop": _loop,
    "loop_of_symbols": _loop_of_symbols,
}
