"""Networks of `mx.rnn` cells, unrolled: what a graph holds of them, in every form that MXNet's `unroll` gives them.

Recorded by `generate_unrolled`. The tests read the graphs, so that they do not depend on the cells here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

STEPS, BATCH, INPUTS, HIDDEN = 3, 2, 4, 3
BY_BATCH, BY_TIME = (BATCH, STEPS, INPUTS), (STEPS, BATCH, INPUTS)


class Case(NamedTuple):
    """A network, the shapes of its inputs, and how many layers it has whose cells can be joined."""

    build: Callable[[Any], Any]
    shapes: dict[str, tuple[int, ...]]
    layers: int
    trains: bool = True  # otherwise chance has a part in training: outputs of inference only


def _cell(mx: Any, kind: str, prefix: str) -> Any:
    if kind == "relu":
        return mx.rnn.RNNCell(HIDDEN, activation="relu", prefix=prefix)
    return {"rnn": mx.rnn.RNNCell, "lstm": mx.rnn.LSTMCell, "gru": mx.rnn.GRUCell}[kind](
        HIDDEN, prefix=prefix
    )


def _flat(found: Any) -> list[Any]:
    """Return the symbols of nested lists."""
    return [each for part in found for each in _flat(part)] if isinstance(found, (list, tuple)) else [found]


def _unrolled(
    make: Callable[[Any], Any], layout: str = "NTC", merge: bool | None = True, states: bool = False
) -> Callable[[Any], Any]:
    """Return a network of what `make` makes: its outputs, and with `states` the last states too.

    These are doubled: MXNet gives an entry that is an output twice the gradient of one of the two only.
    """

    def build(mx: Any) -> Any:
        outputs, last = make(mx).unroll(
            STEPS, inputs=mx.sym.Variable("data"), layout=layout, merge_outputs=merge
        )
        doubled = [state * 2 for state in _flat(last)] if states else []
        return mx.sym.Group(_flat([outputs] if merge else list(outputs)) + doubled)

    return build


def _of(kind: str) -> Callable[[Any], Any]:
    return lambda mx: _cell(mx, kind, f"{kind}_")


def _stack(*make: Callable[[Any, str], Any]) -> Callable[[Any], Any]:
    """Return what makes cells on top of each other."""

    def made(mx: Any) -> Any:
        cells = mx.rnn.SequentialRNNCell()
        for number, each in enumerate(make):
            cells.add(each(mx, f"l{number}_"))
        return cells

    return made


def _layer(kind: str) -> Callable[[Any, str], Any]:
    return lambda mx, prefix: _cell(mx, kind, prefix)


def _both(kind: str) -> Callable[[Any, str], Any]:
    def made(mx: Any, prefix: str) -> Any:
        left, right = (_cell(mx, kind, f"{prefix}{side}_") for side in "lr")
        return mx.rnn.BidirectionalCell(left, right, output_prefix=f"{prefix}bi_")

    return made


def _dropout(mx: Any, prefix: str) -> Any:
    return mx.rnn.DropoutCell(0.5, prefix=prefix)


def _residual(kind: str) -> Callable[[Any, str], Any]:
    return lambda mx, prefix: mx.rnn.ResidualCell(_cell(mx, kind, prefix))


def _zoneout(kind: str) -> Callable[[Any, str], Any]:
    return lambda mx, prefix: mx.rnn.ZoneoutCell(_cell(mx, kind, prefix), 0.5, 0.5)


def _begin(kind: str, make: Callable[[Any, Any], Sequence[Any]]) -> Callable[[Any], Any]:
    """Return a network whose first states are what `make` makes of a cell."""

    def build(mx: Any) -> Any:
        cell = _cell(mx, kind, f"{kind}_")
        states = make(mx, cell)
        outputs, _ = cell.unroll(
            STEPS, inputs=mx.sym.Variable("data"), begin_state=states, layout="TNC", merge_outputs=True
        )
        return outputs

    return build


def _variables(mx: Any, cell: Any) -> Sequence[Any]:
    return cell.begin_state(func=mx.sym.Variable)


def _ones(mx: Any, cell: Any) -> Sequence[Any]:
    return cell.begin_state(func=mx.sym.ones)


def _separate(kind: str) -> Callable[[Any], Any]:
    """Return a network with an input for each step."""

    def build(mx: Any) -> Any:
        inputs = [mx.sym.Variable(f"t{t}_data") for t in range(STEPS)]
        return mx.sym.Group(_flat(_cell(mx, kind, f"{kind}_").unroll(STEPS, inputs=inputs)[0]))

    return build


def _called(kind: str) -> Callable[[Any], Any]:
    """Return a network whose cell is called step by step; the last state is the output."""

    def build(mx: Any) -> Any:
        cell = _cell(mx, kind, f"{kind}_")
        states = cell.begin_state()
        for t in range(STEPS):
            output, states = cell(mx.sym.Variable(f"t{t}_data"), states)
        return output

    return build


def _decoder(mx: Any) -> Any:
    """Each step reads what the one before said."""
    cell = mx.rnn.LSTMCell(HIDDEN, prefix="lstm_")
    states, word = cell.begin_state(), mx.sym.Variable("data")
    for _ in range(STEPS):
        word, states = cell(word, states)
    return word


def _unfused(mode: str, **given: Any) -> Callable[[Any], Any]:
    return lambda mx: mx.rnn.FusedRNNCell(HIDDEN, num_layers=2, mode=mode, prefix="fused_", **given).unfuse()


BATCHES, TIMES = {"data": BY_BATCH}, {"data": BY_TIME}
STEPWISE = {f"t{t}_data": (BATCH, INPUTS) for t in range(STEPS)}

CASES: dict[str, Case] = {
    **{f"{kind}, merged": Case(_unrolled(_of(kind)), BATCHES, 1) for kind in ("rnn", "relu", "lstm", "gru")},
    **{
        f"{kind}, by time, with states": Case(_unrolled(_of(kind), "TNC", False, states=True), TIMES, 1)
        for kind in ("rnn", "lstm", "gru")
    },
    **{
        f"{kind}, states given": Case(
            _begin(kind, _variables),
            {**TIMES, **{f"{kind}_begin_state_{i}": (BATCH, HIDDEN) for i in range(1 + (kind == "lstm"))}},
            1,
        )
        for kind in ("rnn", "lstm", "gru")
    },
    "lstm, from ones": Case(_begin("lstm", _ones), TIMES, 1),
    "gru, an input for each step": Case(_separate("gru"), STEPWISE, 1),
    "lstm, called step by step": Case(_called("lstm"), STEPWISE, 1),
    "two lstm": Case(_unrolled(_stack(_layer("lstm"), _layer("lstm")), merge=None, states=True), BATCHES, 2),
    "gru on rnn, merged": Case(_unrolled(_stack(_layer("rnn"), _layer("gru")), "TNC"), TIMES, 2),
    "dropout between": Case(
        _unrolled(_stack(_layer("lstm"), _dropout, _layer("lstm"))), BATCHES, 2, trains=False
    ),
    **{
        f"both directions of {kind}, merge {merge}": Case(
            _unrolled(_stack(_both(kind)), "TNC", merge, states=merge is None), TIMES, 2
        )
        for kind, merge in (("lstm", True), ("gru", False), ("rnn", None))
    },
    "two layers of both directions": Case(_unrolled(_stack(_both("gru"), _both("lstm"))), BATCHES, 4),
    "residual": Case(_unrolled(_stack(_layer("rnn"), _residual("lstm"), _residual("gru"))), BATCHES, 3),
    "residual, by step": Case(
        _unrolled(_stack(_layer("rnn"), _residual("gru"), _layer("lstm")), "TNC", False), TIMES, 3
    ),
    "zoneout": Case(_unrolled(_stack(_layer("gru"), _zoneout("rnn")), "TNC", False), TIMES, 1, trains=False),
    "decoder": Case(_decoder, {"data": (BATCH, HIDDEN)}, 0),
    "unfused lstm": Case(_unrolled(_unfused("lstm"), "TNC", False), TIMES, 2),
    "unfused gru of both directions": Case(_unrolled(_unfused("gru", bidirectional=True)), BATCHES, 4),
}
