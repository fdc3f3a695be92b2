"""The initializer of recurrent layers, whose parameters are one vector."""

from __future__ import annotations

from ..checks import check_numbers, refuses_unknown
from ..errors import ArgumentError, ParameterError, ShapeError
from ..ndarray import NDArray, zeros
from ..ops.nn.packing import gate_pieces, input_size
from ..ops.nn.recurrent_layers import GATES, Mode
from .base import InitDesc, Initializer, create, register

__all__ = ["FusedRNN"]


@register
class FusedRNN(Initializer):
    """Fills the vector of all parameters of the operator `RNN`, gate by gate, with another initializer.

    It is called with names such as ``l0_i2h_f_weight`` (layer 0, input to hidden, forget gate) and ``r1_h2h_o_bias``
    (layer 1 of the second direction, hidden to hidden, output gate). Give it to the variable:
    ``sym.var("lstm_parameters", init=FusedRNN(Xavier(), 200, 2, "lstm"))``.

    Parameters
    ----------
    init
        The initializer of each gate's weights and biases, or what `create` takes; None for the one that the module was
        given.
    num_hidden, num_layers, mode, bidirectional
        As the operator has them (`num_hidden` is its ``state_size``).
    forget_bias
        What both biases of the forget gates of an LSTM are filled with.

    Examples
    --------
    >>> import numpy as np
    >>> from rebind.initializer import One
    >>> from rebind.ndarray import array
    >>> parameters = array(np.zeros(4 * 2 * (3 + 2 + 2)))  # two units on three inputs
    >>> FusedRNN(One(), 2, 1, "lstm", forget_bias=5.0)._init_weight(InitDesc("lstm_parameters"), parameters)
    >>> parameters[40:48].asnumpy().tolist()
    [0.0, 0.0, 5.0, 5.0, 0.0, 0.0, 0.0, 0.0]
    """

    @refuses_unknown
    def __init__(
        self,
        init: str | Initializer | None,
        num_hidden: int,
        num_layers: int,
        mode: Mode,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ) -> None:
        check_numbers("FusedRNN", num_hidden=num_hidden, num_layers=num_layers, forget_bias=forget_bias)
        if mode not in GATES:
            raise ParameterError(f"FusedRNN: mode must be one of {', '.join(map(repr, GATES))}; got {mode!r}")
        for name, value in (("num_hidden", num_hidden), ("num_layers", num_layers)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ParameterError(f"FusedRNN: {name} must be an int >= 1; got {value!r}")
        made = None if init is None else create(init)
        super().__init__(
            # As text: settings are what JSON can hold.
            init=None if made is None else made.dumps(),
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._init = made
        self._num_hidden = num_hidden
        self._num_layers = num_layers
        self._mode = mode
        self._bidirectional = bidirectional
        self._forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        fallback = getattr(name, "global_init", None)
        initializer = fallback if self._init is None else self._init
        if initializer is None:
            raise ArgumentError(
                f"FusedRNN: {str(name)!r} needs an initializer for its gates; got init=None, and no module's. "
                "Set init, for example to mx.init.Xavier()."
            )
        start = 0
        for gate, shape in self._gates(str(name), arr):
            values = zeros(shape, ctx=arr.context, dtype=arr.dtype)
            if self._mode == "lstm" and gate.endswith("_f_bias"):
                values[:] = self._forget_bias
            else:
                initializer(InitDesc(gate, global_init=fallback), values)
            # The vector is filled piece by piece, in the order of `_gates`.
            arr[start : start + values.size] = values.reshape((-1,))
            start += values.size

    def _gates(self, name: str, arr: NDArray) -> list[tuple[str, tuple[int, ...]]]:
        """Return names and shapes in the order of the vector; the number of inputs follows from its size."""
        network = (self._num_hidden, self._num_layers, self._bidirectional)
        inputs = input_size(arr.size, self._mode, *network)
        if inputs is None:
            raise ShapeError(
                f"FusedRNN: the size of {name!r} must fit {self._num_layers} layer(s) of {self._num_hidden} with mode "
                f"{self._mode!r} in {2 if self._bidirectional else 1} direction(s), for some number of inputs; got "
                f"{arr.size} elements"
            )
        return gate_pieces(self._mode, inputs, *network)
