"""The base of recurrent cells: names of nodes, states, unrolling, and weights gate by gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypedDict

from .. import symbol
from ..checks import DICT, FUNCTION, LIST, TEXT, an, check_kind, or_none, refuses_unknown, warn_user
from ..errors import ArgumentError, NameLookupError, ParameterError, ShapeError, StateError
from ..ndarray import NDArray, concat
from ..protocols import ArrayDict
from ..shapes import Shape
from ..symbol import Symbol
from .params import RNNParams
from .sequences import Outputs, Steps, as_list, as_wanted

__all__ = ["Activation", "BaseRNNCell", "MakeState", "NestedStates", "StateInfo", "flat"]

#: The name of an activation of the operator `Activation`, or a function of a symbol that takes ``name``.
Activation: TypeAlias = "str | Callable[..., Symbol]"
#: Makes a first state of a name and what `StateInfo` has: `sym.zeros`, `sym.var`.
MakeState: TypeAlias = "Callable[..., Symbol]"
#: States of a cell, or of several: a bidirectional cell has a list for each direction.
NestedStates: TypeAlias = "Sequence[Symbol | NestedStates]"

StateInfo = TypedDict("StateInfo", {"shape": Shape, "__layout__": str})


class BaseRNNCell:
    """Base of recurrent cells: ``output, states = cell(inputs, states)`` is one step of time.

    A subclass gives `state_info` and `__call__`; one with gates gives their names too (``_gate_names``), and its number
    of units as ``_num_hidden``, so that `unpack_weights` knows them. A cell holds no arrays: it makes symbols, whose
    variables are trained by a module.

    Parameters
    ----------
    prefix
        What the names of its variables and nodes begin with.
    params
        Where its variables are, to share them with another cell; by default its own.

    Examples
    --------
    >>> import rebind as mx
    >>> class Sum(BaseRNNCell):
    ...     state_info = [{"shape": (0, 2), "__layout__": "NC"}]
    ...
    ...     def __call__(self, inputs, states):
    ...         total = inputs + states[0]
    ...         return total, [total]
    >>> outputs, _ = Sum("sum_").unroll(3, mx.sym.var("x"), merge_outputs=True)
    >>> outputs.eval(x=mx.nd.ones((1, 3, 2)))[0].asnumpy().tolist()
    [[[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]]
    """

    #: Whether it can be called for one step; otherwise `unroll` runs whole sequences.
    _by_step = True

    @refuses_unknown
    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        check_kind(type(self).__name__, TEXT, prefix=prefix)
        check_kind(type(self).__name__, or_none(an(RNNParams)), params=params)
        # Whether nobody has seen its parameters: who combines cells may then still replace them.
        self._own_params = params is None
        self._prefix = prefix
        self._params = RNNParams(prefix) if params is None else params
        # Whether a modifier is around this cell, which is to be used instead.
        self._modified = False
        self.reset()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._prefix!r}>"

    def reset(self) -> None:
        """Let the names of nodes and states count from 0 again, for another unrolling.

        >>> import rebind as mx
        >>> cell = mx.rnn.RNNCell(4)
        >>> _ = cell.begin_state()
        >>> cell.reset()
        >>> cell.begin_state()
        [<Symbol rnn_begin_state_0>]
        """
        self._init_counter = -1
        self._counter = -1

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Return the output and the new states of one step.

        Parameters
        ----------
        inputs
            The input of the step, (batch, ...).
        states
            The states before it: of `begin_state`, or what the step before returned.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__(inputs, states)")

    @property
    def params(self) -> RNNParams:
        """The variables of the cell."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[StateInfo]:
        """Shape and layout of each state; the size of the batch, which is not known, is 0.

        >>> import rebind as mx
        >>> mx.rnn.RNNCell(4).state_info
        [{'shape': (0, 4), '__layout__': 'NC'}]
        """
        raise NotImplementedError(f"{type(self).__name__} must define state_info")

    @property
    def state_shape(self) -> list[Shape]:
        """The shape of each state.

        >>> import rebind as mx
        >>> mx.rnn.LSTMCell(4).state_shape
        [(0, 4), (0, 4)]
        """
        return [info["shape"] for info in self.state_info]

    @property
    def _gate_names(self) -> Sequence[str]:
        """The gates as they are in names, in the order of their rows in the weights."""
        return ()

    def begin_state(self, func: MakeState = symbol.zeros, **kwargs: object) -> list[Symbol]:
        """Return symbols for the states before the first step.

        Parameters
        ----------
        func
            Makes a symbol of a name, a shape and a layout: `sym.zeros`, or `sym.var` for states that are given by hand.
        **kwargs
            Further arguments of `func`, such as ``dtype``.

        Examples
        --------
        >>> import rebind as mx
        >>> mx.rnn.LSTMCell(4).begin_state(func=mx.sym.var)
        [<Symbol lstm_begin_state_0>, <Symbol lstm_begin_state_1>]
        """
        if self._modified:
            raise StateError(
                f"{type(self).__name__}: a cell inside of a modifier (zoneout, residual) is not called itself. "
                "Call the modifier."
            )
        if "shape" in kwargs:
            warn_user(
                f"{type(self).__name__}.begin_state: shape has no effect; the cell's states have theirs"
            )
        check_kind(f"{type(self).__name__}.begin_state", FUNCTION, func=func)
        states = []
        for info in self.state_info:
            self._init_counter += 1
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}", **{**kwargs, **info}))
        return states

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: NestedStates | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Outputs, NestedStates]:
        """Apply the cell to each step of a sequence.

        Parameters
        ----------
        length
            Number of steps.
        inputs
            A symbol with an axis of time, or a list with a symbol for each step.
        begin_state
            The states before the first step; by default those of `begin_state`, zeros.
        layout
            ``'NTC'`` or ``'TNC'``: where time is in `inputs` and outputs that are one symbol.
        merge_outputs
            True for the outputs as one symbol, False for a list, None for what needs no further node.

        Returns
        -------
        outputs
            One symbol or a list with one for each step.
        states
            The states after the last step.

        Examples
        --------
        >>> import rebind as mx
        >>> outputs, states = mx.rnn.LSTMCell(4).unroll(3, mx.sym.var("x"), merge_outputs=True)
        >>> outputs.infer_shape(x=(8, 3, 5))[1], states
        ([(8, 3, 4)], [<Symbol lstm_t2_out>, <Symbol lstm_t2_state>])
        """
        self.reset()
        steps = as_list(inputs, length, layout, type(self).__name__)
        states = self._first_states(begin_state)
        outputs = []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
        return as_wanted(outputs, length, layout, merge_outputs, type(self).__name__), states

    def _first_states(self, given: NestedStates | None) -> list[Symbol]:
        """Return the states before the first step as a flat list: those given, or new ones."""
        if given is None:
            return self.begin_state()
        check_kind(type(self).__name__, LIST, begin_state=given)
        states = flat(given)
        if len(states) != len(self.state_info):
            raise ArgumentError(
                f"{type(self).__name__}: begin_state must have {len(self.state_info)} states; got {len(states)}"
            )
        return states

    def _given(self, states: Sequence[Symbol]) -> Sequence[Symbol]:
        """Return the states of a step, which must be as many as the cell has."""
        check_kind(type(self).__name__, LIST, states=states)
        if len(states) != len(self.state_info):
            raise ArgumentError(
                f"{type(self).__name__}: states must be {len(self.state_info)} symbols; got {len(states)}"
            )
        return states

    def _get_activation(self, inputs: Symbol, activation: Activation, **kwargs: str) -> Symbol:
        """Return an activation of a symbol; `kwargs` has its name, if it is to have one."""
        if callable(activation):
            return activation(inputs, **kwargs)
        return symbol.Activation(inputs, act_type=activation, **kwargs)  # type: ignore[arg-type]  # checked there

    def unpack_weights(self, args: Mapping[str, NDArray]) -> ArrayDict:
        """Return parameters with the cell's weights and biases taken apart, an array for each gate.

        Parameters
        ----------
        args
            Parameters by name, as `Module.get_params` returns them; those of others stay as they are.

        Raises
        ------
        NameLookupError
            When an array of the cell is missing.

        Examples
        --------
        >>> import rebind as mx
        >>> cell = mx.rnn.GRUCell(2)
        >>> shapes = {"i2h_weight": (6, 3), "h2h_weight": (6, 2), "i2h_bias": (6,), "h2h_bias": (6,)}
        >>> args = {f"gru_{name}": mx.nd.zeros(shape) for name, shape in shapes.items()}
        >>> unpacked = cell.unpack_weights(args)
        >>> len(unpacked), unpacked["gru_i2h_r_weight"].shape
        (12, (2, 3))
        """
        who = f"{type(self).__name__}.unpack_weights"
        check_kind(who, DICT, args=args)
        found = dict(args)
        for way in self._packed_names():
            # Cells that share parameters meet them unpacked by the first of them.
            packed = {
                name: pieces
                for name, pieces in way.items()
                if name in found or not all(piece in found for piece in pieces)
            }
            values = {name: self._checked_rows(name, take(found, name, who), who) for name in packed}
            for i in range(len(self._gate_names)):
                for name, pieces in packed.items():
                    found[pieces[i]] = values[name][i * self._units : (i + 1) * self._units].copy()
        return found

    def _checked_rows(self, name: str, value: NDArray, who: str) -> NDArray:
        gates = len(self._gate_names)
        if not value.shape or value.shape[0] != gates * self._units:
            raise ShapeError(
                f"{who}: {name!r} must have {self._units} rows for each of {gates} gate(s); got shape {value.shape}"
            )
        return value

    def pack_weights(self, args: Mapping[str, NDArray]) -> ArrayDict:
        """Return parameters with the arrays of the cell's gates put together: what `unpack_weights` took apart.

        >>> import rebind as mx
        >>> cell = mx.rnn.RNNCell(2)
        >>> args = {
        ...     f"rnn_{name}": mx.nd.zeros((2, 2))
        ...     for name in ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")
        ... }
        >>> sorted(cell.pack_weights(cell.unpack_weights(args)))
        ['rnn_h2h_bias', 'rnn_h2h_weight', 'rnn_i2h_bias', 'rnn_i2h_weight']
        """
        who = f"{type(self).__name__}.pack_weights"
        check_kind(who, DICT, args=args)
        found = dict(args)
        for packed, pieces in (pair for way in self._packed_names() for pair in way.items()):
            if packed in found and not any(name in found for name in pieces):
                continue  # another cell, which shares it, has packed it
            found[packed] = concat(*[take(found, name, who) for name in pieces], dim=0)
        return found

    @property
    def _units(self) -> int:
        units: int = self._num_hidden  # type: ignore[attr-defined]  # a subclass with gates has it
        return units

    def _packed_names(self) -> list[dict[str, list[str]]]:
        """Return, for the input's map and for the state's, the names of its arrays with those of their gates."""
        if not self._gate_names:
            return []
        prefix = self._params.prefix
        return [
            {
                f"{prefix}{way}_{kind}": [f"{prefix}{way}{gate}_{kind}" for gate in self._gate_names]
                for kind in ("weight", "bias")
            }
            for way in ("i2h", "h2h")
        ]


def at_least_one(value: int, name: str, who: str) -> int:
    """Return a count as a plain int, a NumPy integer too.

    >>> at_least_one("4", "num_hidden", "RNNCell")
    Traceback (most recent call last):
    rebind.errors.ParameterError: RNNCell: num_hidden must be an int >= 1; got '4'
    """
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
        raise ParameterError(f"{who}: {name} must be an int >= 1; got {value!r}")
    return int(value)


def take(args: ArrayDict, name: str, who: str) -> NDArray:
    """Remove an array from a dict and return it."""
    if name not in args:
        raise NameLookupError(f"{who}: the parameters must have {name!r}; got {', '.join(args) or 'none'}")
    return args.pop(name)


def flat(states: NestedStates) -> list[Symbol]:
    """Return the states of all cells in one list.

    >>> import rebind as mx
    >>> flat([mx.sym.var("a"), [mx.sym.var("b"), mx.sym.var("c")]])
    [<Symbol a>, <Symbol b>, <Symbol c>]
    """
    return [each for state in states for each in ([state] if isinstance(state, Symbol) else flat(state))]
