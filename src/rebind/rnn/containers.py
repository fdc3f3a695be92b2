"""Cells made of cells: one after the other, and in both directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import symbol
from ..checks import refuses_unknown
from ..errors import ArgumentError, StateError
from ..ndarray import NDArray
from ..protocols import ArrayDict
from ..symbol import Symbol
from .base_cell import BaseRNNCell, MakeState, NestedStates, StateInfo
from .params import RNNParams
from .sequences import Outputs, Steps, as_list, slices, time_axis

__all__ = ["BidirectionalCell", "CellContainer", "SequentialRNNCell"]


class CellContainer(BaseRNNCell):
    """A cell whose states and parameters are those of other cells, one cell's after the other's."""

    @refuses_unknown
    def __init__(self, params: RNNParams | None) -> None:
        self._cells: list[BaseRNNCell] = []
        super().__init__("", params)
        self._override_cell_params = params is not None

    def _adopt(self, cell: BaseRNNCell) -> None:
        if not isinstance(cell, BaseRNNCell):
            raise ArgumentError(f"{type(self).__name__}: a cell must be a BaseRNNCell; got {cell!r}")
        if self._override_cell_params and not cell._own_params:
            raise ArgumentError(
                f"{type(self).__name__}: params cannot be given when its cells have parameters, as {cell!r} has. "
                "Give them to the cells."
            )
        self._cells.append(cell)
        self.params.update(cell.params)

    def reset(self) -> None:
        """Let the names of nodes and states count from 0 again, in all cells."""
        super().reset()
        for cell in self._cells:
            cell.reset()

    @property
    def state_info(self) -> list[StateInfo]:
        """Shape and layout of the states of all cells."""
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, func: MakeState = symbol.zeros, **kwargs: object) -> list[Symbol]:
        """Return symbols for the states of all cells before the first step; see `BaseRNNCell.begin_state`.

        >>> import rebind as mx
        >>> BidirectionalCell(mx.rnn.RNNCell(4, prefix="l_"), mx.rnn.GRUCell(4, prefix="r_")).begin_state()
        [<Symbol l_begin_state_0>, <Symbol r_begin_state_0>]
        """
        if self._modified:
            super().begin_state()  # raises
        return [state for cell in self._cells for state in cell.begin_state(func=func, **kwargs)]

    def unpack_weights(self, args: Mapping[str, NDArray]) -> ArrayDict:
        """Return parameters with the weights of all cells taken apart; see `BaseRNNCell.unpack_weights`."""
        found = dict(args)
        for cell in self._cells:
            found = cell.unpack_weights(found)
        return found

    def pack_weights(self, args: Mapping[str, NDArray]) -> ArrayDict:
        """Return parameters with the arrays of all cells' gates put together; see `BaseRNNCell.pack_weights`."""
        found = dict(args)
        for cell in self._cells:
            found = cell.pack_weights(found)
        return found

    def _shares(self, states: Sequence[Symbol]) -> list[list[Symbol]]:
        """Return the states of each cell, from those of all."""
        shares, start = [], 0
        for cell in self._cells:
            stop = start + len(cell.state_info)
            shares.append(list(states[start:stop]))
            start = stop
        return shares


class SequentialRNNCell(CellContainer):
    """Cells one after the other: each step of one is the input of the next.

    Parameters
    ----------
    params
        Where its variables are; only for cells without parameters. Give them to the cells instead.

    Examples
    --------
    >>> import rebind as mx
    >>> stack = SequentialRNNCell()
    >>> stack.add(mx.rnn.LSTMCell(4, prefix="l0_"))
    >>> stack.add(mx.rnn.DropoutCell(0.5))
    >>> stack.add(mx.rnn.LSTMCell(4, prefix="l1_"))
    >>> stack.unroll(2, mx.sym.var("x"))[0]
    [<Symbol l1_t0_out>, <Symbol l1_t1_out>]
    """

    @refuses_unknown
    def __init__(self, params: RNNParams | None = None) -> None:
        super().__init__(params)

    def add(self, cell: BaseRNNCell) -> None:
        """Append a cell.

        >>> import rebind as mx
        >>> stack = SequentialRNNCell()
        >>> stack.add(mx.rnn.GRUCell(4))
        >>> stack.state_shape
        [(0, 4)]
        """
        self._adopt(cell)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Return the output of the last cell, and the new states of all."""
        self._counter += 1
        after: list[Symbol] = []
        for cell, share in zip(self._cells, self._shares(self._given(states)), strict=True):
            inputs, new = cell(inputs, share)
            after += new
        return inputs, after

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: NestedStates | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Outputs, NestedStates]:
        """Apply each cell to the whole sequence, then the next; see `BaseRNNCell.unroll`.

        >>> import rebind as mx
        >>> stack = SequentialRNNCell()
        >>> stack.add(mx.rnn.RNNCell(4, prefix="a_"))
        >>> stack.add(mx.rnn.RNNCell(4, prefix="b_"))
        >>> stack.unroll(2, mx.sym.var("x"))[1]
        [<Symbol a_t1_out>, <Symbol b_t1_out>]
        """
        self.reset()
        after: list[Symbol | NestedStates] = []
        shares = self._shares(self._first_states(begin_state))
        for i, (cell, share) in enumerate(zip(self._cells, shares, strict=True)):
            merge = merge_outputs if i == len(self._cells) - 1 else None
            inputs, states = cell.unroll(length, inputs, share, layout, merge)
            after += states
        return inputs, after


class BidirectionalCell(CellContainer):
    """Two cells, one from the start and one from the end; the outputs of both are concatenated.

    Parameters
    ----------
    l_cell
        The cell that runs from the start.
    r_cell
        The cell that runs from the end.
    params
        Where its variables are; only for cells without parameters. Give them to the cells instead.
    output_prefix
        What the names of its outputs begin with.

    Examples
    --------
    >>> import rebind as mx
    >>> cell = BidirectionalCell(mx.rnn.GRUCell(4, prefix="l_"), mx.rnn.GRUCell(4, prefix="r_"))
    >>> outputs, _ = cell.unroll(3, mx.sym.var("x"), merge_outputs=True)
    >>> outputs.infer_shape(x=(8, 3, 5))[1]
    [(8, 3, 8)]
    """

    _by_step = False

    @refuses_unknown
    def __init__(
        self,
        l_cell: BaseRNNCell,
        r_cell: BaseRNNCell,
        params: RNNParams | None = None,
        output_prefix: str = "bi_",
    ) -> None:
        super().__init__(params)
        self._output_prefix = output_prefix
        self._adopt(l_cell)
        self._adopt(r_cell)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Raise an error: the second direction begins at the end."""
        raise StateError("BidirectionalCell: runs whole sequences, not single steps. Use unroll().")

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: NestedStates | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Outputs, NestedStates]:
        """Apply both cells to a sequence; see `BaseRNNCell.unroll`. The states are a list for each direction.

        >>> import rebind as mx
        >>> cell = BidirectionalCell(mx.rnn.RNNCell(4, prefix="l_"), mx.rnn.RNNCell(4, prefix="r_"))
        >>> cell.unroll(2, mx.sym.var("x"))
        ([<Symbol bi_t0>, <Symbol bi_t1>], [[<Symbol l_t1_out>], [<Symbol r_t1_out>]])
        """
        self.reset()
        steps = as_list(inputs, length, layout, "BidirectionalCell")
        axis = time_axis(layout, "BidirectionalCell")
        shares = self._shares(self._first_states(begin_state))
        runs = [
            cell.unroll(length, order, share, layout, merge_outputs)
            for cell, order, share in zip(self._cells, (steps, steps[::-1]), shares, strict=True)
        ]
        (left, _), (right, _) = runs
        if isinstance(left, Symbol) and isinstance(right, Symbol) and merge_outputs is not False:
            backwards = symbol.reverse(right, axis=axis)
            outputs: Steps = symbol.Concat(left, backwards, dim=2, name=f"{self._output_prefix}out")
        else:
            pairs = zip(_steps_of(left, length, axis), _steps_of(right, length, axis)[::-1], strict=True)
            outputs = [
                symbol.Concat(*pair, dim=1, name=f"{self._output_prefix}t{i}") for i, pair in enumerate(pairs)
            ]
        return outputs, [list(states) for _, states in runs]


def _steps_of(outputs: Steps, length: int, axis: int) -> list[Symbol]:
    return slices(outputs, length, axis) if isinstance(outputs, Symbol) else list(outputs)
