"""The command `python -m benchmarks.unrolled`: recurrent cells unrolled step by step beside the operator `RNN`.

Both are symbols of rebind, trained through `Module` on the same batch. The cells are written as `mx.rnn` unrolls them.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from .command import Names, set_threads, wide
from .drivers import ModuleDriver
from .engines import LocalEngine
from .networks import Row
from .report import describe_machine
from .runner import QUICK, Column, Effort, Ratio, compare

LAYERS, STEPS, BATCH, INPUTS, HIDDEN, CLASSES = 2, 32, 32, 200, 200, 10
GATES = {"rnn_tanh": 1, "gru": 3, "lstm": 4}
NAMES = [f"{mode}{way}" for mode in GATES for way in ("", "-bidirectional")]

States = tuple[Any, ...]  # of one cell: the state; for an LSTM the memory too


# ---- the networks --------------------------------------------------------------------------------------------


def _rnn(mx: Any, i2h: Any, h2h: Any, states: States) -> States:
    return (mx.sym.Activation(i2h + h2h, act_type="tanh"),)


def _gru(mx: Any, i2h: Any, h2h: Any, states: States) -> States:
    of_input, of_state = (mx.sym.SliceChannel(each, num_outputs=3) for each in (i2h, h2h))
    reset = mx.sym.Activation(of_input[0] + of_state[0], act_type="sigmoid")
    update = mx.sym.Activation(of_input[1] + of_state[1], act_type="sigmoid")
    new = mx.sym.Activation(of_input[2] + reset * of_state[2], act_type="tanh")
    return ((1.0 - update) * new + update * states[0],)


def _lstm(mx: Any, i2h: Any, h2h: Any, states: States) -> States:
    gates = mx.sym.SliceChannel(i2h + h2h, num_outputs=4)
    kinds = ("sigmoid", "sigmoid", "tanh", "sigmoid")
    i, f, g, o = (mx.sym.Activation(gates[k], act_type=kind) for k, kind in enumerate(kinds))
    memory = f * states[1] + i * g
    return o * mx.sym.Activation(memory, act_type="tanh"), memory


CELLS: dict[str, Callable[..., States]] = {"rnn_tanh": _rnn, "gru": _gru, "lstm": _lstm}


def _unrolled_layer(mx: Any, mode: str, steps: Sequence[Any], name: str) -> list[Any]:
    """Return the states of one layer and direction, one for each step."""
    sym, rows = mx.sym, GATES[mode] * HIDDEN
    weights = {
        kind: [sym.Variable(f"{name}_{kind}_{part}") for part in ("weight", "bias")]
        for kind in ("i2h", "h2h")
    }
    states: States = tuple(sym.zeros(shape=(0, HIDDEN)) for _ in range(2 if mode == "lstm" else 1))
    outputs = []
    for data in steps:
        i2h = sym.FullyConnected(data, *weights["i2h"], num_hidden=rows)
        h2h = sym.FullyConnected(states[0], *weights["h2h"], num_hidden=rows)
        states = CELLS[mode](mx, i2h, h2h, states)
        outputs.append(states[0])
    return outputs


def _unrolled(mx: Any, mode: str, bidirectional: bool) -> Any:
    data = mx.sym.SliceChannel(mx.sym.Variable("data"), num_outputs=STEPS, axis=0, squeeze_axis=True)
    steps = list(data)
    for layer in range(LAYERS):
        forth = _unrolled_layer(mx, mode, steps, f"l{layer}")
        if bidirectional:
            back = _unrolled_layer(mx, mode, steps[::-1], f"r{layer}")[::-1]
            forth = [mx.sym.Concat(*pair, dim=1) for pair in zip(forth, back, strict=True)]
        steps = forth
    return mx.sym.Concat(*[mx.sym.expand_dims(step, axis=0) for step in steps], dim=0)


def _fused(mx: Any, mode: str, bidirectional: bool) -> Any:
    sym = mx.sym
    shape = (LAYERS * (1 + bidirectional), BATCH, HIDDEN)
    states = [sym.zeros(shape=shape) for _ in range(2 if mode == "lstm" else 1)]
    return sym.RNN(
        sym.Variable("data"), sym.Variable("rnn_parameters"), *states, mode=mode, state_size=HIDDEN,
        num_layers=LAYERS, bidirectional=bidirectional,
    )  # fmt: skip


def _row(name: str, recurrent: Callable[..., Any]) -> Row:
    mode, _, way = name.partition("-")

    def network(mx: Any) -> Any:
        hidden = mx.sym.Reshape(recurrent(mx, mode, bool(way)), shape=(-3, 0))
        scores = mx.sym.FullyConnected(hidden, num_hidden=CLASSES, name="decoder")
        label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
        return mx.sym.SoftmaxOutput(scores, label, name="softmax")

    return Row(name, name, network, (STEPS, BATCH, INPUTS), CLASSES, label_shape=(STEPS, BATCH))


# ---- the command ---------------------------------------------------------------------------------------------


def measure(name: str, effort: Effort, progress: Callable[[str], None]) -> dict[str, Column]:
    """Time both ways of one row in turn."""
    import rebind as mx

    made = {
        way: LocalEngine(
            {"rebind": mx.__version__}, functools.partial(ModuleDriver, mx, _row(name, recurrent))
        )
        for way, recurrent in (("unrolled", _unrolled), ("RNN", _fused))
    }
    return compare(made, effort, lambda text: progress(f"{name}: {text}"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    parser = argparse.ArgumentParser("python -m benchmarks.unrolled", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=Names(NAMES), default=NAMES, metavar="LIST", help=", ".join(NAMES))
    parser.add_argument("--threads", type=int, metavar="N", help="threads (default: PyTorch's own choice)")
    parser.add_argument("--quick", action="store_true", help="fewer, shorter rounds")
    parser.add_argument("--as-is", action="store_true", help="leave the cells as they are")
    given = parser.parse_args(arguments)
    threads = set_threads(given.threads)
    if given.as_is:
        _leave_cells()
    table = Table("row", "unrolled ms", "RNN ms", "prepare unrolled ms", "ratio (quartiles)")
    console = Console()
    with console.status("") as status:
        for name in given.rows:
            columns = measure(name, QUICK if given.quick else Effort(), status.update)
            unrolled, fused = columns["unrolled"], columns["RNN"]
            ratio = Ratio.of(unrolled, fused)
            table.add_row(
                name,
                f"{unrolled.median:.1f} ({unrolled.best:.1f})",
                f"{fused.median:.1f} ({fused.best:.1f})",
                f"{1000 * unrolled.preparation.prepare_seconds:.0f}",
                f"{ratio.median:.2f} ({ratio.lower:.2f}–{ratio.upper:.2f})",
            )
    wide(console).print(table)
    machine = describe_machine()
    console.print(
        f"{machine['processor']}, {machine['cores']} cores; {threads} threads. Medians (best) of a training step: "
        f"{LAYERS} layers of {HIDDEN}, {STEPS} steps, batch {BATCH}.",
        highlight=False,
        soft_wrap=True,
    )
    return 0


def _leave_cells() -> None:
    from rebind.graph.passes import DEFAULT, register_backend

    register_backend("default", [each for each in DEFAULT if each.name != "join_cells"], override=True)


if __name__ == "__main__":
    sys.exit(main())
