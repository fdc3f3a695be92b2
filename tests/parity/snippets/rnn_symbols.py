"""Recurrent cells: the symbols that they unroll into, their states, and the names of their parameters."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

Snippet = Callable[[Any], Any]


def _flat(symbols: Any) -> list[Any]:
    return (
        [each for one in symbols for each in _flat(one)] if isinstance(symbols, (list, tuple)) else [symbols]
    )


def _described(mx: Any, symbols: Any) -> list[Any]:
    """What a symbol's JSON says, a line for each node, and a digest of the whole text."""
    text = mx.sym.Group(_flat(symbols)).tojson()
    graph = json.loads(text)
    nodes = [
        " ".join(
            [
                node["op"],
                node["name"],
                *(f"{source}:{output}" for source, output, _ in node["inputs"]),
                json.dumps(node.get("attrs", {}), sort_keys=True),
            ]
        )
        for node in graph["nodes"]
    ]
    return [nodes, graph["heads"], hashlib.sha256(text.encode()).hexdigest()]


def _kinds(found: Any) -> Any:
    return [_kinds(each) for each in found] if isinstance(found, (list, tuple)) else type(found).__name__


def _unrolled(
    make: Callable[[Any], Any], *, length: int = 2, listed: bool = False, states: int = 0, **settings: Any
) -> Snippet:
    def snippet(mx: Any) -> Any:
        with mx.name.NameManager():
            cell = make(mx.rnn)
            inputs = [mx.sym.var(f"x{i}") for i in range(length)] if listed else mx.sym.var("x")
            if states:
                settings["begin_state"] = [mx.sym.var(f"s{i}") for i in range(states)]
            outputs, after = cell.unroll(length, inputs, **settings)
            made = _described(mx, [outputs, after])
        return [
            made, _kinds(outputs), _kinds(after), sorted(cell.params._params), cell.state_info, cell.state_shape,
        ]  # fmt: skip

    return snippet


def _stack(*makers: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def make(rnn: Any) -> Any:
        stack = rnn.SequentialRNNCell()
        for maker in makers:
            stack.add(maker(rnn))
        return stack

    return make


def _all_kinds(rnn: Any) -> Any:
    return _stack(
        lambda rnn: rnn.ResidualCell(rnn.RNNCell(4, prefix="a_")),
        lambda rnn: rnn.ZoneoutCell(rnn.LSTMCell(4, prefix="b_"), 0.2, 0.3),
        lambda rnn: rnn.BidirectionalCell(rnn.RNNCell(4, prefix="l_"), rnn.GRUCell(4, prefix="r_")),
    )(rnn)


def _deep(rnn: Any) -> Any:
    return _stack(
        lambda rnn: rnn.LSTMCell(2, prefix="a_"),
        lambda rnn: rnn.DropoutCell(0.3),
        lambda rnn: rnn.FusedRNNCell(2, prefix="b_"),
    )(rnn)


def _pair(left: str, right: str, **settings: Any) -> Callable[[Any], Any]:
    return lambda rnn: rnn.BidirectionalCell(
        getattr(rnn, left)(4, prefix="l_"), getattr(rnn, right)(4, prefix="r_"), **settings
    )


PICTURE = (1, 3, 8, 8)

UNROLLED = {
    "rnn": _unrolled(lambda rnn: rnn.RNNCell(4)),
    "rnn_relu": _unrolled(lambda rnn: rnn.RNNCell(4, activation="relu", prefix="a_"), listed=True),
    "rnn_no_steps": _unrolled(lambda rnn: rnn.RNNCell(4), length=0, listed=True),
    "lstm": _unrolled(lambda rnn: rnn.LSTMCell(4)),
    "lstm_forget_bias": _unrolled(lambda rnn: rnn.LSTMCell(4, forget_bias=2.5), length=1, listed=True),
    "lstm_time_first": _unrolled(lambda rnn: rnn.LSTMCell(4), layout="TNC", merge_outputs=True),
    "lstm_listed": _unrolled(lambda rnn: rnn.LSTMCell(4), listed=True, merge_outputs=True),
    "lstm_not_merged": _unrolled(lambda rnn: rnn.LSTMCell(4), merge_outputs=False),
    "lstm_states": _unrolled(lambda rnn: rnn.LSTMCell(4), states=2),
    "gru": _unrolled(lambda rnn: rnn.GRUCell(4)),
    "fused": _unrolled(lambda rnn: rnn.FusedRNNCell(4)),
    "fused_all": _unrolled(
        lambda rnn: rnn.FusedRNNCell(4, 2, "gru", True, 0.3, True, prefix="g_"),
        merge_outputs=True,
        layout="TNC",
    ),
    "fused_listed": _unrolled(lambda rnn: rnn.FusedRNNCell(4), listed=True),
    "fused_list_of_outputs": _unrolled(
        lambda rnn: rnn.FusedRNNCell(4, get_next_state=True), listed=True, merge_outputs=False
    ),
    "fused_tanh": _unrolled(lambda rnn: rnn.FusedRNNCell(4, mode="rnn_tanh"), listed=True, layout="TNC"),
    "unfused": _unrolled(lambda rnn: rnn.FusedRNNCell(4).unfuse(), merge_outputs=True),
    "unfused_gru": _unrolled(lambda rnn: rnn.FusedRNNCell(4, 2, "gru", True, 0.3).unfuse()),
    "unfused_relu": _unrolled(lambda rnn: rnn.FusedRNNCell(4, 3, "rnn_relu", dropout=0.3, prefix="k_").unfuse()),
    "stack": _unrolled(_deep),
    "stack_states": _unrolled(_deep, states=4, merge_outputs=False),
    "stack_merged": _unrolled(
        _stack(lambda rnn: rnn.RNNCell(4), lambda rnn: rnn.DropoutCell(0.5)), merge_outputs=True
    ),
    "stack_dropout_first": _unrolled(_stack(lambda rnn: rnn.DropoutCell(0.5), lambda rnn: rnn.RNNCell(4))),
    "stack_empty": _unrolled(_stack()),
    "stack_of_all": _unrolled(_all_kinds),
    "dropout": _unrolled(lambda rnn: rnn.DropoutCell(0.5)),
    "dropout_listed": _unrolled(lambda rnn: rnn.DropoutCell(0.5), listed=True),
    "dropout_split": _unrolled(lambda rnn: rnn.DropoutCell(0.5), merge_outputs=False),
    "dropout_none": _unrolled(lambda rnn: rnn.DropoutCell(0.0), listed=True),
    "zoneout": _unrolled(lambda rnn: rnn.ZoneoutCell(rnn.RNNCell(4), 0.2, 0.3)),
    "zoneout_outputs": _unrolled(lambda rnn: rnn.ZoneoutCell(rnn.LSTMCell(4), 0.2), length=3),
    "zoneout_states": _unrolled(lambda rnn: rnn.ZoneoutCell(rnn.LSTMCell(4), 0, 0.4)),
    "zoneout_of_residual": _unrolled(lambda rnn: rnn.ZoneoutCell(rnn.ResidualCell(rnn.RNNCell(4)), 0.1)),
    "residual": _unrolled(lambda rnn: rnn.ResidualCell(rnn.RNNCell(4))),
    "residual_merged": _unrolled(lambda rnn: rnn.ResidualCell(rnn.RNNCell(4)), merge_outputs=True),
    "residual_listed": _unrolled(
        lambda rnn: rnn.ResidualCell(rnn.RNNCell(4)), merge_outputs=False, listed=True
    ),
    "residual_fused": _unrolled(lambda rnn: rnn.ResidualCell(rnn.FusedRNNCell(4))),
    "residual_dropout": _unrolled(lambda rnn: rnn.ResidualCell(rnn.DropoutCell(0.4))),
    "bidirectional": _unrolled(_pair("RNNCell", "GRUCell")),
    "bidirectional_merged": _unrolled(
        _pair("RNNCell", "RNNCell", output_prefix="o_"), merge_outputs=True, layout="TNC"
    ),
    "bidirectional_states": _unrolled(_pair("RNNCell", "LSTMCell"), states=3, merge_outputs=False),
    "bidirectional_fused": _unrolled(_pair("FusedRNNCell", "FusedRNNCell")),
    "bidirectional_fused_split": _unrolled(_pair("FusedRNNCell", "FusedRNNCell"), merge_outputs=False),
    "bidirectional_half_fused": _unrolled(_pair("FusedRNNCell", "LSTMCell")),
    "bidirectional_other_half": _unrolled(_pair("RNNCell", "FusedRNNCell"), layout="TNC"),
    "conv_rnn": _unrolled(lambda rnn: rnn.ConvRNNCell(PICTURE, 4, activation="relu"), merge_outputs=True),
    "conv_lstm": _unrolled(lambda rnn: rnn.ConvLSTMCell(PICTURE, 4)),
    "conv_lstm_settings": _unrolled(
        lambda rnn: rnn.ConvLSTMCell(
            (1, 8, 8, 3), 4, conv_layout="NHWC", activation="tanh", prefix="q_", i2h_kernel=(5, 5),
            i2h_stride=(2, 2), i2h_pad=(2, 2), i2h_weight_initializer="xavier",
        ),
        listed=True,
    ),
    "conv_gru": _unrolled(lambda rnn: rnn.ConvGRUCell(PICTURE, 4), listed=True),
    "conv_gru_settings": _unrolled(
        lambda rnn: rnn.ConvGRUCell(PICTURE, 4, activation="relu", h2h_dilate=(2, 2), h2h_kernel=(5, 3))
    ),
}  # fmt: skip


def _twice(make: Callable[[Any], Any]) -> Snippet:
    """The second of two times that a cell is unrolled."""

    def snippet(mx: Any) -> Any:
        with mx.name.NameManager():
            cell = make(mx.rnn)
            cell.unroll(2, mx.sym.var("x"), merge_outputs=False)
            return _described(mx, cell.unroll(2, mx.sym.var("x"), merge_outputs=False))

    return snippet


def _steps(mx: Any) -> Any:
    """Steps one by one, with states handed on, and again after a reset."""
    with mx.name.NameManager():
        cell = _stack(
            lambda rnn: rnn.LSTMCell(3, prefix="a_"),
            lambda rnn: rnn.DropoutCell(0.4),
            lambda rnn: rnn.ResidualCell(rnn.GRUCell(3, prefix="b_")),
        )(mx.rnn)
        first, states = cell(mx.sym.var("x"), cell.begin_state())
        second, states = cell(first, states)
        cell.reset()
        return _described(mx, [second, states, cell(mx.sym.var("x"), states)])


def _scoped(mx: Any) -> Any:
    with mx.AttrScope(ctx_group="dev1"), mx.name.Prefix("outer_"):
        return _described(mx, mx.rnn.LSTMCell(2).unroll(1, [mx.sym.var("x")]))


def _begun(look: Callable[[Any], Any]) -> Snippet:
    def snippet(mx: Any) -> Any:
        with mx.name.NameManager():
            return [[state.name, state.attr_dict()] for state in look(mx)]

    return snippet


def _shared(mx: Any) -> Any:
    """Two cells with the parameters of one `RNNParams`, and one with those of another cell."""
    shared = mx.rnn.RNNParams("shared_")
    first, second = (mx.rnn.GRUCell(3, prefix=prefix, params=shared) for prefix in ("a_", "b_"))
    third = mx.rnn.GRUCell(3, prefix="c_", params=first.params)
    return [cell.unroll(1, [mx.sym.var("x")])[0][0].list_arguments() for cell in (first, second, third)]


def _two_kinds(mx: Any) -> Any:
    stack = mx.rnn.SequentialRNNCell(params=mx.rnn.RNNParams("stack_"))
    stack.add(mx.rnn.RNNCell(4))


def _convolution_after(mx: Any) -> Any:
    """A convolution without a name, after a cell that made one to find out its state's shape."""
    with mx.name.NameManager():
        mx.rnn.ConvRNNCell(PICTURE, 4)
        return mx.sym.Convolution(mx.sym.var("x"), kernel=(3, 3), num_filter=2).name


def _modified(mx: Any) -> Any:
    cell = mx.rnn.LSTMCell(4)
    mx.rnn.ZoneoutCell(cell)
    return cell.begin_state()


SNIPPETS = {
    **{f"unrolled_{name}": snippet for name, snippet in UNROLLED.items()},
    "twice_rnn": _twice(lambda rnn: rnn.RNNCell(3)),
    "twice_zoneout": _twice(lambda rnn: rnn.ZoneoutCell(rnn.RNNCell(3), 0.1, 0.1)),
    "twice_residual": _twice(lambda rnn: rnn.ResidualCell(rnn.RNNCell(3))),
    "twice_stack": _twice(_all_kinds),
    "steps": _steps,
    "scoped": _scoped,
    "begin_zeros": _begun(lambda mx: mx.rnn.LSTMCell(4).begin_state(dtype="float16")),
    "begin_variables": _begun(lambda mx: mx.rnn.LSTMCell(4).begin_state(func=mx.sym.var)),
    "begin_uniform": _begun(lambda mx: mx.rnn.GRUCell(4).begin_state(func=mx.sym.uniform, low=-1)),
    "begin_twice": _begun(
        lambda mx: (lambda cell: cell.begin_state() + cell.begin_state())(mx.rnn.LSTMCell(4))
    ),
    "begin_stack": _begun(lambda mx: _all_kinds(mx.rnn).begin_state()),
    "begin_modifier": _begun(
        lambda mx: mx.rnn.ResidualCell(mx.rnn.LSTMCell(4)).begin_state(init_sym=mx.sym.ones)
    ),
    "begin_fused": _begun(lambda mx: mx.rnn.FusedRNNCell(3, 2, "gru", True).begin_state(func=mx.sym.var)),
    "begin_dropout": _begun(lambda mx: mx.rnn.DropoutCell(0.5).begin_state()),
    "params_of_stack": lambda mx: sorted(_all_kinds(mx.rnn).params._params),
    "params_get": lambda mx: (lambda params: [params.get("w", shape=(2,)).attr_dict(), params.get("w").name])(
        mx.rnn.RNNParams("k_")
    ),
    "shared": _shared,
    "shared_and_own": _two_kinds,
    "convolution_after": _convolution_after,
    "base_of_modifier": _modified,
    "step_of_fused": lambda mx: mx.rnn.FusedRNNCell(4)(mx.sym.var("x"), []),
    "step_of_bidirectional": lambda mx: _pair("RNNCell", "GRUCell")(mx.rnn)(mx.sym.var("x"), []),
    "zoneout_of_fused": lambda mx: mx.rnn.ZoneoutCell(mx.rnn.FusedRNNCell(4), 0.1),
    "zoneout_of_bidirectional": lambda mx: mx.rnn.ZoneoutCell(_pair("RNNCell", "GRUCell")(mx.rnn), 0.1),
    "steps_of_another_number": lambda mx: mx.rnn.RNNCell(4).unroll(3, [mx.sym.var("a"), mx.sym.var("b")]),
    "steps_of_several_outputs": lambda mx: mx.rnn.RNNCell(4).unroll(
        2, mx.sym.split(mx.sym.var("a"), num_outputs=2)
    ),
    "steps_of_nothing": lambda mx: mx.rnn.RNNCell(4).unroll(2, None),
    "states_too_few": lambda mx: mx.rnn.LSTMCell(4)(mx.sym.var("x"), [mx.sym.var("a")]),
    "even_kernel": lambda mx: mx.rnn.ConvRNNCell(PICTURE, 4, h2h_kernel=(2, 3)),
    "unpack_without": lambda mx: mx.rnn.LSTMCell(2).unpack_weights({}),
    "pack_without": lambda mx: mx.rnn.FusedRNNCell(2).pack_weights({}),
    "unpack_of_another_size": lambda mx: mx.rnn.FusedRNNCell(2).unpack_weights(
        {"lstm_parameters": mx.nd.zeros((7,))}
    ),
}
