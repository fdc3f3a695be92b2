"""What recurrent cells compute, outputs and gradients, and their weights taken apart and put together.

Recorded with oneDNN: without it MXNet's operator `RNN` gives zeros, or whatever was in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Snippet = Callable[[Any], Any]
ONEDNN = True
LENGTH, BATCH, INPUTS, UNITS = 3, 2, 3, 3


def _values(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Numbers that both packages have without a generator, in about [-0.5, 0.5]."""
    return (0.5 * np.sin(1.0 + 1.7 * seed + np.arange(np.prod(shape)) * 0.9)).reshape(shape).astype("float32")


def _flat(symbols: Any) -> list[Any]:
    return (
        [each for one in symbols for each in _flat(one)] if isinstance(symbols, (list, tuple)) else [symbols]
    )


def _computed(
    make: Callable[[Any], Any], shape: tuple[int, ...] = (BATCH, LENGTH, INPUTS), **settings: Any
) -> Snippet:
    """Outputs, states, and gradients by name, with head gradients that differ from element to element."""

    def snippet(mx: Any) -> Any:
        outputs, states = make(mx.rnn).unroll(LENGTH, mx.sym.var("x"), **settings)
        # Squares, since a state that is an output too would be two heads of one node: MXNet loses one's gradient.
        net = mx.sym.Group([*_flat([outputs]), *(mx.sym.square(state) for state in _flat(states))])
        executor = net.simple_bind(mx.cpu(), x=shape)
        for seed, name in enumerate(net.list_arguments()):
            executor.arg_dict[name][:] = mx.nd.array(_values(executor.arg_dict[name].shape, seed))
        computed = executor.forward(is_train=True)
        executor.backward([mx.nd.array(_values(each.shape, 20 + i)) for i, each in enumerate(computed)])
        return [executor.outputs, executor.grad_dict]

    return snippet


def _stacked(rnn: Any) -> Any:
    stack = rnn.SequentialRNNCell()
    stack.add(rnn.ResidualCell(rnn.GRUCell(UNITS, prefix="a_")))
    stack.add(rnn.BidirectionalCell(rnn.LSTMCell(2, prefix="l_"), rnn.RNNCell(2, prefix="r_")))
    stack.add(rnn.FusedRNNCell(2, mode="gru", prefix="f_", get_next_state=True))
    return stack


def _fused(mode: str, layers: int = 1, bidirectional: bool = False) -> Callable[[Any], Any]:
    return lambda rnn: rnn.FusedRNNCell(2, layers, mode, bidirectional, get_next_state=True)


def _packed(make: Callable[[Any], Any]) -> Snippet:
    """Parameters taken apart, in their order, and put together again."""

    def snippet(mx: Any) -> Any:
        cell = make(mx.rnn)
        outputs, _ = cell.unroll(2, [mx.sym.var("x0"), mx.sym.var("x1")])
        net = mx.sym.Group(_flat([outputs]))
        shapes, _, _ = net.infer_shape(x0=(BATCH, INPUTS), x1=(BATCH, INPUTS))
        args = {
            name: mx.nd.array(np.arange(np.prod(shape)).reshape(shape))
            for name, shape in zip(net.list_arguments(), shapes)
            if name not in ("x0", "x1")
        }
        args["other"] = mx.nd.ones((1,))
        unpacked = cell.unpack_weights(args)
        packed = cell.pack_weights(unpacked)
        return [list(unpacked), unpacked, list(packed), packed, list(args)]

    return snippet


def _checkpoint(mx: Any) -> Any:
    """The files of a checkpoint, byte by byte, and what is loaded from them."""
    import tempfile
    from pathlib import Path

    cell = mx.rnn.FusedRNNCell(2, mode="gru", prefix="g_")
    net, _ = cell.unroll(2, mx.sym.var("x"), layout="TNC")
    arg_params = {"g_parameters": mx.nd.array(_values((42,), 3)), "fc_weight": mx.nd.ones((2, 2))}
    with tempfile.TemporaryDirectory() as folder:
        prefix = f"{folder}/net"
        save = mx.rnn.do_rnn_checkpoint(cell, prefix, period=2)
        for epoch in range(2):
            save(epoch, net, arg_params, {"bn_moving_mean": mx.nd.zeros((2,))})
        files = {path.name: path.read_bytes().hex() for path in sorted(Path(folder).iterdir())}
        _, fused, aux = mx.rnn.load_rnn_checkpoint(cell, prefix, 2)
        _, unfused, _ = mx.rnn.load_rnn_checkpoint([cell.unfuse()], prefix, 2)
    return [files, fused, aux, unfused]


SNIPPETS = {
    "rnn": _computed(lambda rnn: rnn.RNNCell(UNITS)),
    "rnn_relu": _computed(lambda rnn: rnn.RNNCell(UNITS, activation="relu"), merge_outputs=True),
    "lstm": _computed(lambda rnn: rnn.LSTMCell(UNITS)),
    "lstm_time_first": _computed(
        lambda rnn: rnn.LSTMCell(UNITS), (LENGTH, BATCH, INPUTS), layout="TNC", merge_outputs=True
    ),
    "gru": _computed(lambda rnn: rnn.GRUCell(UNITS)),
    "residual": _computed(lambda rnn: rnn.ResidualCell(rnn.LSTMCell(UNITS))),
    "zoneout_of_nothing": _computed(lambda rnn: rnn.ZoneoutCell(rnn.GRUCell(UNITS))),
    "bidirectional": _computed(
        lambda rnn: rnn.BidirectionalCell(rnn.LSTMCell(2, prefix="l_"), rnn.GRUCell(2, prefix="r_"))
    ),
    "bidirectional_merged": _computed(
        lambda rnn: rnn.BidirectionalCell(rnn.LSTMCell(2, prefix="l_"), rnn.GRUCell(2, prefix="r_")),
        merge_outputs=True,
    ),
    "stacked": _computed(_stacked, merge_outputs=True),
    "fused_rnn": _computed(_fused("rnn_tanh")),
    "fused_lstm": _computed(_fused("lstm")),
    "fused_gru": _computed(_fused("gru", 2, True)),
    "unfused_gru": _computed(lambda rnn: _fused("gru", 2, True)(rnn).unfuse()),
    "conv_rnn": _computed(lambda rnn: rnn.ConvRNNCell((1, 2, 3, 3), 2), (1, LENGTH, 2, 3, 3)),
    "conv_lstm": _computed(lambda rnn: rnn.ConvLSTMCell((1, 2, 3, 3), 2), (1, LENGTH, 2, 3, 3)),
    "conv_gru": _computed(lambda rnn: rnn.ConvGRUCell((1, 2, 3, 3), 2), (1, LENGTH, 2, 3, 3)),
    "packed_rnn": _packed(lambda rnn: rnn.RNNCell(2)),
    "packed_lstm": _packed(lambda rnn: rnn.LSTMCell(2)),
    "packed_residual": _packed(lambda rnn: rnn.ResidualCell(rnn.GRUCell(3))),
    "packed_fused_lstm": _packed(lambda rnn: rnn.FusedRNNCell(2)),
    "packed_fused_gru": _packed(lambda rnn: rnn.FusedRNNCell(1, 2, "gru", True)),
    "packed_stacked": _packed(_stacked),
    "packed_bidirectional": _packed(
        lambda rnn: rnn.BidirectionalCell(rnn.LSTMCell(2, prefix="l_"), rnn.GRUCell(2, prefix="r_"))
    ),
    "packed_dropout": _packed(lambda rnn: rnn.DropoutCell(0.4)),
    "checkpoint": _checkpoint,
}
