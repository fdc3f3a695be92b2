"""`FusedRNNCell`: all layers, directions and steps of a recurrent network as one operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from .. import symbol
from ..checks import refuses_unknown, warn_user
from ..errors import ParameterError, ShapeError, StateError
from ..initializer import FusedRNN
from ..ndarray import NDArray, concat
from ..ops.nn.packing import gate_pieces, input_size
from ..ops.nn.recurrent_layers import GATES, Mode
from ..protocols import ArrayDict
from ..symbol import Symbol
from .base_cell import BaseRNNCell, NestedStates, StateInfo, at_least_one, take
from .cells import GRUCell, LSTMCell, RNNCell
from .containers import BidirectionalCell, SequentialRNNCell
from .modifiers import DropoutCell
from .params import RNNParams
from .sequences import Outputs, Steps, as_symbol, as_wanted, time_axis

__all__ = ["FusedRNNCell"]


class FusedRNNCell(BaseRNNCell):
    """Recurrent layers as one call of the operator `RNN`, whose parameters are one vector; on every device.

    Parameters
    ----------
    num_hidden
        Number of units of each layer and direction.
    num_layers
        Number of layers.
    mode
        ``'rnn_relu'``, ``'rnn_tanh'``, ``'lstm'`` or ``'gru'``.
    bidirectional
        Whether each layer has a second direction, from the end; outputs are then twice as wide.
    dropout
        The fraction that dropout takes from the outputs of each layer but the last, in training.
    get_next_state
        Whether `unroll` returns the states after the last step; otherwise an empty list.
    forget_bias
        The first value of the biases of the forget gates of an LSTM.
    prefix
        What the names of its variables and nodes begin with; by default the mode, as in ``lstm_``.
    params
        Where its variables are, to share them; by default its own.

    Examples
    --------
    >>> import rebind as mx
    >>> cell = FusedRNNCell(4, num_layers=2, mode="gru", get_next_state=True)
    >>> outputs, states = cell.unroll(3, mx.sym.var("x"), layout="TNC")
    >>> outputs.infer_shape(x=(3, 8, 5))[1], states[0].infer_shape(x=(3, 8, 5))[1]
    ([(3, 8, 4)], [(2, 8, 4)])
    """

    _by_step = False

    @refuses_unknown
    def __init__(
        self,
        num_hidden: int,
        num_layers: int = 1,
        mode: Mode = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        get_next_state: bool = False,
        forget_bias: float = 1.0,
        prefix: str | None = None,
        params: RNNParams | None = None,
    ) -> None:
        if mode not in GATES:
            raise ParameterError(
                f"FusedRNNCell: mode must be one of {', '.join(map(repr, GATES))}; got {mode!r}"
            )
        super().__init__(f"{mode}_" if prefix is None else prefix, params)
        self._num_hidden = at_least_one(num_hidden, "num_hidden", type(self).__name__)
        self._num_layers = at_least_one(num_layers, "num_layers", "FusedRNNCell")
        self._mode: Mode = mode
        self._bidirectional = bidirectional
        self._dropout = dropout
        self._get_next_state = get_next_state
        self._forget_bias = forget_bias
        self._directions = ["l", "r"] if bidirectional else ["l"]
        init = FusedRNN(None, self._num_hidden, self._num_layers, mode, bidirectional, forget_bias)
        self._parameter = self.params.get("parameters", init=init)

    @property
    def state_info(self) -> list[StateInfo]:
        """Shape and layout of each state: one for each layer and direction, along the first axis."""
        count = self._num_layers * len(self._directions)
        info: StateInfo = {"shape": (count, 0, self._num_hidden), "__layout__": "LNC"}
        return [info, info] if self._mode == "lstm" else [info]

    @property
    def _gate_names(self) -> Sequence[str]:
        return GATES[self._mode]

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Raise an error: the operator runs whole sequences."""
        raise StateError(
            "FusedRNNCell: runs whole sequences, not single steps. Use unroll(), or unfuse() first."
        )

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: NestedStates | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Outputs, NestedStates]:
        """Apply the layers to a sequence; see `BaseRNNCell.unroll`. The outputs are one symbol by default.

        With ``layout='NTC'`` the sequence is transposed before and after, with a warning.

        >>> import rebind as mx
        >>> outputs, states = FusedRNNCell(4).unroll(3, mx.sym.var("x"), layout="TNC")
        >>> outputs, states
        (<Symbol lstm_rnn>, [])
        """
        self.reset()
        merged = as_symbol(inputs, length, layout, "FusedRNNCell")
        batch_first = time_axis(layout, "FusedRNNCell") == 1
        if batch_first:
            warn_user(
                "FusedRNNCell.unroll: with layout 'NTC' the sequence is transposed before and after; "
                "layout='TNC' needs neither"
            )
            merged = symbol.swapaxes(merged, dim1=0, dim2=1)
        outputs, states = self._run(merged, self._first_states(begin_state))
        if batch_first:
            outputs = symbol.swapaxes(outputs, dim1=0, dim2=1)
        return as_wanted(outputs, length, layout, merge_outputs, "FusedRNNCell"), states

    def _run(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Return the outputs and, if they are wanted, the states after the last step."""
        rnn = symbol.RNN(
            inputs,
            self._parameter,
            states[0],
            states[1] if self._mode == "lstm" else None,
            state_size=self._num_hidden,
            num_layers=self._num_layers,
            bidirectional=self._bidirectional,
            p=self._dropout,
            state_outputs=self._get_next_state,
            mode=self._mode,
            name=f"{self._prefix}rnn",
            attr={"__layout__": "LNC"} if self._get_next_state else None,
        )
        return (rnn[0], list(rnn[1:])) if self._get_next_state else (rnn, [])

    def unfuse(self) -> SequentialRNNCell:
        """Return cells that compute the same step by step; `unpack_weights` of one fits `pack_weights` of the other.

        Different from MXNet's, the cells of an LSTM have this cell's `forget_bias`.

        Examples
        --------
        >>> import rebind as mx
        >>> FusedRNNCell(4, num_layers=2, mode="gru").unfuse().params
        <RNNParams '': gru_l0_i2h_weight, gru_l0_i2h_bias, gru_l0_h2h_weight, ...>
        """
        make: dict[str, Callable[[str], BaseRNNCell]] = {
            "rnn_relu": lambda prefix: RNNCell(self._num_hidden, activation="relu", prefix=prefix),
            "rnn_tanh": lambda prefix: RNNCell(self._num_hidden, activation="tanh", prefix=prefix),
            "lstm": lambda prefix: LSTMCell(self._num_hidden, prefix=prefix, forget_bias=self._forget_bias),
            "gru": lambda prefix: GRUCell(self._num_hidden, prefix=prefix),
        }
        stack = SequentialRNNCell()
        for layer in range(self._num_layers):
            cells = [make[self._mode](f"{self._prefix}{side}{layer}_") for side in self._directions]
            if self._bidirectional:
                stack.add(BidirectionalCell(cells[0], cells[1], output_prefix=f"{self._prefix}bi_l{layer}_"))
            else:
                stack.add(cells[0])
            if self._dropout > 0 and layer < self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{layer}_"))
        return stack

    def unpack_weights(self, args: Mapping[str, NDArray]) -> ArrayDict:
        """Return parameters with the vector taken apart: an array for each layer, direction, map and gate.

        >>> import rebind as mx
        >>> FusedRNNCell(2, mode="rnn_tanh").unpack_weights(
        ...     {"rnn_tanh_parameters": mx.nd.zeros((14,))}
        ... ).keys()
        dict_keys(['rnn_tanh_l0_i2h_weight', 'rnn_tanh_l0_h2h_weight', 'rnn_tanh_l0_i2h_bias', 'rnn_tanh_l0_h2h_bias'])
        """
        found = dict(args)
        name = str(self._parameter.name)
        vector = take(found, name, "FusedRNNCell.unpack_weights")
        inputs = input_size(vector.size, self._mode, self._num_hidden, self._num_layers, self._bidirectional)
        if inputs is None:
            raise ShapeError(
                f"FusedRNNCell.unpack_weights: {name!r} must hold the weights of {self._num_layers} layer(s) in "
                f"{len(self._directions)} direction(s) with num_hidden={self._num_hidden} and mode={self._mode!r}; got "
                f"{vector.size} elements, which fit no input size"
            )
        start = 0
        for piece, shape in self._pieces(inputs):
            stop = start + prod(shape)
            found[piece] = vector[start:stop].reshape(shape).copy()
            start = stop
        return found

    def pack_weights(self, args: Mapping[str, NDArray]) -> ArrayDict:
        """Return parameters with the arrays of all gates put into one vector: what `unpack_weights` took apart.

        >>> import rebind as mx
        >>> cell = FusedRNNCell(2, mode="rnn_tanh")
        >>> args = {"rnn_tanh_parameters": mx.nd.arange(14)}
        >>> bool(
        ...     (
        ...         cell.pack_weights(cell.unpack_weights(args))["rnn_tanh_parameters"] == mx.nd.arange(14)
        ...     ).min()
        ... )
        True
        """
        found = dict(args)
        who = "FusedRNNCell.pack_weights"
        first = f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"
        if first in found and len(found[first].shape) != 2:
            raise ShapeError(f"{who}: {first!r} must have 2 axes; got shape {found[first].shape}")
        # The first weight says how many inputs there are; where it is missing, `take` says so.
        inputs = found[first].shape[1] if first in found else 1
        pieces = []
        for name, shape in self._pieces(inputs):
            piece = take(found, name, who)
            if piece.shape != shape:
                raise ShapeError(f"{who}: {name!r} must have shape {shape}; got {piece.shape}")
            pieces.append(piece.reshape((-1,)))
        found[str(self._parameter.name)] = concat(*pieces, dim=0)
        return found

    def _pieces(self, inputs: int) -> list[tuple[str, tuple[int, ...]]]:
        pieces = gate_pieces(self._mode, inputs, self._num_hidden, self._num_layers, self._bidirectional)
        return [(self._prefix + name, shape) for name, shape in pieces]
