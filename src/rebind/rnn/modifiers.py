"""Cells that change what other cells do: dropout, zoneout, residual connections."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from .. import symbol
from ..checks import PROBABILITY, check_kind, check_numbers, refuses_unknown
from ..errors import ArgumentError
from ..ndarray import NDArray
from ..protocols import ArrayDict
from ..symbol import Symbol
from .base_cell import BaseRNNCell, MakeState, NestedStates, StateInfo
from .containers import CellContainer
from .params import RNNParams
from .sequences import Outputs, Steps, as_wanted

__all__ = ["DropoutCell", "ModifierCell", "ResidualCell", "ZoneoutCell"]


class DropoutCell(BaseRNNCell):
    """Dropout on each step, without state; in a `SequentialRNNCell` between cells.

    Parameters
    ----------
    dropout
        The fraction that is dropped in training; with 0 the inputs are returned as they are.
    prefix
        Without effect on names, as in MXNet.
    params
        Where its variables would be; it has none.

    Examples
    --------
    >>> import rebind as mx
    >>> DropoutCell(0.5)(mx.sym.var("x"), [])[0].list_arguments()
    ['x']
    """

    @refuses_unknown
    def __init__(self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None) -> None:
        super().__init__(prefix, params)
        check_numbers("DropoutCell", dropout=dropout)
        check_kind("DropoutCell", PROBABILITY, dropout=dropout)
        self.dropout = dropout

    @property
    def state_info(self) -> list[StateInfo]:
        """An empty list: it has no state."""
        return []

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Return the step with dropout; there are no states."""
        return (symbol.Dropout(inputs, p=self.dropout) if self.dropout > 0 else inputs), list(states)

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: NestedStates | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Outputs, NestedStates]:
        """Apply dropout to a sequence, at once where it is one symbol; see `BaseRNNCell.unroll`.

        >>> import rebind as mx
        >>> DropoutCell(0.5).unroll(3, mx.sym.var("x"))[0].infer_shape(x=(8, 3, 5))[1]
        [(8, 3, 5)]
        """
        self.reset()
        steps = as_wanted(inputs, length, layout, merge_outputs, "DropoutCell")
        if isinstance(steps, Symbol):
            return self(steps, [])
        return super().unroll(length, steps, begin_state, layout, merge_outputs)


class ModifierCell(BaseRNNCell):
    """Base of cells around another cell, whose parameters and states are theirs.

    The cell inside is not to be called itself any more.

    Parameters
    ----------
    base_cell
        The cell inside.

    Examples
    --------
    >>> import rebind as mx
    >>> ResidualCell(mx.rnn.LSTMCell(4)).state_shape
    [(0, 4), (0, 4)]
    """

    @refuses_unknown
    def __init__(self, base_cell: BaseRNNCell) -> None:
        if not isinstance(base_cell, BaseRNNCell):
            raise ArgumentError(f"{type(self).__name__}: base_cell must be a BaseRNNCell; got {base_cell!r}")
        super().__init__()
        base_cell._modified = True
        self.base_cell = base_cell

    @property
    def params(self) -> RNNParams:
        """The variables of the cell inside."""
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> list[StateInfo]:
        """Shape and layout of the states of the cell inside."""
        return self.base_cell.state_info

    def begin_state(  # type: ignore[override]  # others hand `init_sym` on to `func`, like any keyword
        self, func: MakeState = symbol.zeros, init_sym: MakeState | None = None, **kwargs: object
    ) -> list[Symbol]:
        """Return symbols for the states before the first step; see `BaseRNNCell.begin_state`.

        `init_sym` is MXNet's name of `func` for modifiers, which do not take `func` there.

        >>> import rebind as mx
        >>> ResidualCell(mx.rnn.RNNCell(4)).begin_state(func=mx.sym.var)
        [<Symbol rnn_begin_state_0>]
        """
        if self._modified:
            super().begin_state()  # raises
        with self._unlocked() as base:
            return base.begin_state(func=init_sym or func, **kwargs)

    @contextlib.contextmanager
    def _unlocked(self) -> Iterator[BaseRNNCell]:
        """Let the cell inside be used itself for a while."""
        self.base_cell._modified = False
        try:
            yield self.base_cell
        finally:
            self.base_cell._modified = True

    def unpack_weights(self, args: Mapping[str, NDArray]) -> ArrayDict:
        """Return parameters with the weights of the cell inside taken apart; see `BaseRNNCell.unpack_weights`."""
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: Mapping[str, NDArray]) -> ArrayDict:
        """Return parameters with the arrays of its gates put together; see `BaseRNNCell.pack_weights`."""
        return self.base_cell.pack_weights(args)


class ZoneoutCell(ModifierCell):
    """Zoneout: in training some units keep the value of the step before.

    Parameters
    ----------
    base_cell
        The cell inside, which must run step by step.
    zoneout_outputs
        The fraction of units of the output that keep their value.
    zoneout_states
        The fraction of units of each state that keep their value.

    References
    ----------
    Krueger et al., Zoneout: Regularizing RNNs by Randomly Preserving Hidden Activations (2016).

    Examples
    --------
    >>> import rebind as mx
    >>> ZoneoutCell(mx.rnn.LSTMCell(4), zoneout_states=0.1).unroll(2, mx.sym.var("x"))[0]
    [<Symbol lstm_t0_out>, <Symbol lstm_t1_out>]
    """

    @refuses_unknown
    def __init__(
        self, base_cell: BaseRNNCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0
    ) -> None:
        if isinstance(base_cell, BaseRNNCell) and not _can_step(base_cell):
            raise ArgumentError(
                f"ZoneoutCell: base_cell must run step by step; got {base_cell!r}. "
                "Put the zoneout around the cells inside of a bidirectional one; unfuse() a fused one."
            )
        check_numbers("ZoneoutCell", zoneout_outputs=zoneout_outputs, zoneout_states=zoneout_states)
        check_kind("ZoneoutCell", PROBABILITY, zoneout_outputs=zoneout_outputs, zoneout_states=zoneout_states)
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states

    def reset(self) -> None:
        """Forget the last output, for another unrolling.

        As in MXNet, the names of the nodes of the cell inside count on.
        """
        super().reset()
        self.prev_output: Symbol | None = None

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Return the output and the new states of one step."""
        output, new_states = self.base_cell(inputs, states)
        before = self.prev_output
        if before is None:
            before = symbol.zeros((0,) * len(self.state_shape[0]))  # sizes that follow from the output's
        if self.zoneout_outputs:
            output = _keep(self.zoneout_outputs, output, before)
        if self.zoneout_states:
            new_states = [
                _keep(self.zoneout_states, new, old) for new, old in zip(new_states, states, strict=True)
            ]
        self.prev_output = output
        return output, new_states


class ResidualCell(ModifierCell):
    """A residual connection: the output of the cell inside plus its input.

    Parameters
    ----------
    base_cell
        The cell inside; its outputs have the shape of its inputs.

    References
    ----------
    Wu et al., Google's Neural Machine Translation System (2016).

    Examples
    --------
    >>> import rebind as mx
    >>> ResidualCell(mx.rnn.GRUCell(4)).unroll(2, mx.sym.var("x"))[0]
    [<Symbol gru_t0_out_plus_residual>, <Symbol gru_t1_out_plus_residual>]
    """

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Return the output plus the input, and the new states."""
        output, new_states = self.base_cell(inputs, states)
        return _sum(output, inputs), new_states

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: NestedStates | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Outputs, NestedStates]:
        """Apply the cell inside to a sequence, and add the inputs to its outputs; see `BaseRNNCell.unroll`.

        >>> import rebind as mx
        >>> outputs, _ = ResidualCell(mx.rnn.GRUCell(4)).unroll(2, mx.sym.var("x"), merge_outputs=True)
        >>> outputs.infer_shape(x=(8, 2, 4))[1]
        [(8, 2, 4)]
        """
        self.reset()
        with self._unlocked() as base:
            outputs, states = base.unroll(length, inputs, begin_state, layout, merge_outputs)
        merge = isinstance(outputs, Symbol)
        steps = as_wanted(inputs, length, layout, merge, "ResidualCell")
        if isinstance(outputs, Symbol) and isinstance(steps, Symbol):
            return _sum(outputs, steps), states
        return [_sum(output, step) for output, step in zip(outputs, steps, strict=True)], states


def _sum(output: Symbol, inputs: Symbol) -> Symbol:
    return symbol.elemwise_add(output, inputs, name=f"{output.name}_plus_residual")


def _keep(fraction: float, new: Symbol, old: Symbol) -> Symbol:
    """Return `new`, in which a fraction of the elements has the value in `old` in training."""
    # Dropout of ones is the mask: what it drops is 0.
    mask = symbol.Dropout(symbol.ones_like(new), p=fraction)
    return symbol.where(mask, new, old)


def _can_step(cell: BaseRNNCell) -> bool:
    """Return whether a cell and those inside of it can be run step by step."""
    if isinstance(cell, ModifierCell):
        return _can_step(cell.base_cell)
    if isinstance(cell, CellContainer):
        return cell._by_step and all(map(_can_step, cell._cells))
    return cell._by_step
