"""Plain, LSTM and GRU cells."""

from __future__ import annotations

from collections.abc import Sequence

from .. import symbol
from ..checks import refuses_unknown
from ..initializer import LSTMBias
from ..ops.nn.recurrent_layers import GATES
from ..symbol import Symbol
from .base_cell import Activation, BaseRNNCell, StateInfo, at_least_one
from .params import RNNParams

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]


class DenseCell(BaseRNNCell):
    """A cell with two affine maps, of the input and of the state, whose rows are those of its gates."""

    @refuses_unknown
    def __init__(
        self, num_hidden: int, prefix: str, params: RNNParams | None, forget_bias: float | None
    ) -> None:
        super().__init__(prefix, params)
        self._num_hidden = at_least_one(num_hidden, "num_hidden", type(self).__name__)
        self._iW = self.params.get("i2h_weight")
        init = None if forget_bias is None else LSTMBias(forget_bias=forget_bias)
        self._iB = self.params.get("i2h_bias", init=init)
        self._hW = self.params.get("h2h_weight")
        self._hB = self.params.get("h2h_bias")

    @property
    def state_info(self) -> list[StateInfo]:
        """Shape and layout of the state."""
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"}]

    def _step_name(self) -> str:
        """Return what the names of the nodes of the next step begin with."""
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    def _maps(self, inputs: Symbol, state: Symbol, name: str) -> tuple[Symbol, Symbol]:
        """Return the maps of the input and of the state, of all gates."""
        rows = self._num_hidden * len(self._gate_names)
        return (
            symbol.FullyConnected(inputs, self._iW, self._iB, num_hidden=rows, name=f"{name}i2h"),
            symbol.FullyConnected(state, self._hW, self._hB, num_hidden=rows, name=f"{name}h2h"),
        )


class RNNCell(DenseCell):
    """A plain recurrent cell: ``output = activation(i2h(inputs) + h2h(state))``.

    Parameters
    ----------
    num_hidden
        Number of units.
    activation
        ``'tanh'``, ``'relu'`` or another one of the operator `Activation`; or a function of a symbol.
    prefix
        What the names of its variables and nodes begin with.
    params
        Where its variables are, to share them; by default its own.

    Examples
    --------
    >>> import rebind as mx
    >>> cell = RNNCell(4)
    >>> output, states = cell(mx.sym.var("x"), cell.begin_state())
    >>> output.list_arguments()
    ['x', 'rnn_i2h_weight', 'rnn_i2h_bias', 'rnn_h2h_weight', 'rnn_h2h_bias']
    """

    @refuses_unknown
    def __init__(
        self,
        num_hidden: int,
        activation: Activation = "tanh",
        prefix: str = "rnn_",
        params: RNNParams | None = None,
    ) -> None:
        super().__init__(num_hidden, prefix, params, forget_bias=None)
        self._activation = activation

    @property
    def _gate_names(self) -> Sequence[str]:
        return GATES["rnn_tanh"]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Return the output, and the new state, which is the output."""
        (state,) = self._given(states)
        name = self._step_name()
        i2h, h2h = self._maps(inputs, state, name)
        output = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


class LSTMCell(DenseCell):
    """A cell with long short-term memory: states are the output and the memory.

    Parameters
    ----------
    num_hidden
        Number of units.
    prefix
        What the names of its variables and nodes begin with.
    params
        Where its variables are, to share them; by default its own.
    forget_bias
        The first value of the bias of the forget gate (Jozefowicz, Zaremba and Sutskever, 2015).

    References
    ----------
    Hochreiter and Schmidhuber, Long Short-Term Memory (1997).

    Examples
    --------
    >>> import rebind as mx
    >>> outputs, states = LSTMCell(4).unroll(2, mx.sym.var("x"))
    >>> outputs, states
    ([<Symbol lstm_t0_out>, <Symbol lstm_t1_out>], [<Symbol lstm_t1_out>, <Symbol lstm_t1_state>])
    """

    @refuses_unknown
    def __init__(
        self,
        num_hidden: int,
        prefix: str = "lstm_",
        params: RNNParams | None = None,
        forget_bias: float = 1.0,
    ) -> None:
        super().__init__(num_hidden, prefix, params, forget_bias)

    @property
    def state_info(self) -> list[StateInfo]:
        """Shape and layout of the output and of the memory."""
        return super().state_info * 2

    @property
    def _gate_names(self) -> Sequence[str]:
        return GATES["lstm"]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Return the output, and the new states: the output and the memory."""
        state, memory = self._given(states)
        name = self._step_name()
        i2h, h2h = self._maps(inputs, state, name)
        return lstm_step(self, i2h + h2h, memory, name, "tanh")


class GRUCell(DenseCell):
    """A gated recurrent unit, in cuDNN's form: the reset gate acts on the mapped state, biases included.

    Parameters
    ----------
    num_hidden
        Number of units.
    prefix
        What the names of its variables and nodes begin with.
    params
        Where its variables are, to share them; by default its own.

    References
    ----------
    Cho et al., Learning Phrase Representations using RNN Encoder-Decoder (2014).

    Examples
    --------
    >>> import rebind as mx
    >>> GRUCell(4).unroll(2, mx.sym.var("x"))[0]
    [<Symbol gru_t0_out>, <Symbol gru_t1_out>]
    """

    @refuses_unknown
    def __init__(self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None) -> None:
        super().__init__(num_hidden, prefix, params, forget_bias=None)

    @property
    def _gate_names(self) -> Sequence[str]:
        return GATES["gru"]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Return the output, and the new state, which is the output."""
        (state,) = self._given(states)
        name = self._step_name()
        # MXNet's names of these nodes have two underscores: gru_t0__i2h
        i2h, h2h = self._maps(inputs, state, f"{name}_")
        return gru_step(self, i2h, h2h, state, name, "tanh")


def lstm_step(
    cell: BaseRNNCell,
    gates: Symbol,
    memory: Symbol,
    name: str,
    activation: Activation,
    axis: int | None = None,
) -> tuple[Symbol, list[Symbol]]:
    """Return the output and the states of an LSTM from the sum of its maps; the gates are along `axis`, or 1."""
    # The order of these lines is that of automatic names: it decides which node is `_mul0`.
    parts = _parts(gates, 4, f"{name}slice", axis)
    in_gate = symbol.Activation(parts[0], act_type="sigmoid", name=f"{name}i")
    forget_gate = symbol.Activation(parts[1], act_type="sigmoid", name=f"{name}f")
    change = cell._get_activation(parts[2], activation, name=f"{name}c")
    out_gate = symbol.Activation(parts[3], act_type="sigmoid", name=f"{name}o")
    new_memory = symbol.elemwise_add(forget_gate * memory, in_gate * change, name=f"{name}state")
    output = symbol.elemwise_mul(out_gate, cell._get_activation(new_memory, activation), name=f"{name}out")
    return output, [output, new_memory]


def gru_step(
    cell: BaseRNNCell,
    i2h: Symbol,
    h2h: Symbol,
    state: Symbol,
    name: str,
    activation: Activation,
    axis: int | None = None,
) -> tuple[Symbol, list[Symbol]]:
    """Return the output and the state of a GRU from its two maps; the gates are along `axis`, or 1."""
    # The order of these lines is that of automatic names: it decides which node is `_plus0`.
    i2h_reset, i2h_update, i2h_new = _parts(i2h, 3, f"{name}_i2h_slice", axis)
    h2h_reset, h2h_update, h2h_new = _parts(h2h, 3, f"{name}_h2h_slice", axis)
    reset_gate = symbol.Activation(i2h_reset + h2h_reset, act_type="sigmoid", name=f"{name}_r_act")
    update_gate = symbol.Activation(i2h_update + h2h_update, act_type="sigmoid", name=f"{name}_z_act")
    new = cell._get_activation(i2h_new + reset_gate * h2h_new, activation, name=f"{name}_h_act")
    output = symbol.elemwise_add((1.0 - update_gate) * new, update_gate * state, name=f"{name}out")
    return output, [output]


def _parts(gates: Symbol, count: int, name: str, axis: int | None) -> Symbol:
    if axis is None:  # 1, which MXNet does not write for dense cells
        return symbol.SliceChannel(gates, num_outputs=count, name=name)
    return symbol.SliceChannel(gates, num_outputs=count, axis=axis, name=name)
