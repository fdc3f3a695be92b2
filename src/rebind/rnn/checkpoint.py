"""Checkpoints in which the weights of each gate are an array of their own; and unrolling as it was first called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ..callback.records import EpochEnd
from ..callback.saving import EpochEndFunction
from ..checkpoint import load_checkpoint, save_checkpoint
from ..checks import LIST, Kind, check_kind, check_numbers, warn_user
from ..errors import ArgumentError
from ..ndarray import NDArray
from ..protocols import ArrayDict
from ..symbol import Symbol, var
from .base_cell import BaseRNNCell, NestedStates
from .sequences import Outputs, Steps

__all__ = ["do_rnn_checkpoint", "load_rnn_checkpoint", "rnn_unroll", "save_rnn_checkpoint"]

Cells: TypeAlias = "BaseRNNCell | Sequence[BaseRNNCell]"
_CELLS = Kind("a recurrent cell or a list of them", LIST.allows)


def save_rnn_checkpoint(
    cells: Cells,
    prefix: str,
    epoch: int,
    symbol: Symbol | None,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
) -> None:
    """Write a network and its parameters, with the cells' weights taken apart.

    A fused network and an unfused one can so read each other's files.

    Parameters
    ----------
    cells
        The cell, or the cells, of the network.
    prefix
        Where the files go, and how their names begin.
    epoch
        The number of finished epochs; it is in the file's name.
    symbol
        The network.
    arg_params, aux_params
        Parameters and auxiliary states.

    Examples
    --------
    >>> import tempfile, rebind as mx
    >>> cell = mx.rnn.FusedRNNCell(2, mode="rnn_tanh", prefix="rnn_")
    >>> outputs, _ = cell.unroll(3, mx.sym.var("x"), layout="TNC")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_rnn_checkpoint(cell, f"{folder}/net", 1, outputs, {"rnn_parameters": mx.nd.zeros((14,))}, {})
    ...     _, arg_params, _ = load_rnn_checkpoint(cell.unfuse(), f"{folder}/net", 1)
    >>> sorted(arg_params)
    ['rnn_l0_h2h_bias', 'rnn_l0_h2h_weight', 'rnn_l0_i2h_bias', 'rnn_l0_i2h_weight']
    """
    params = dict(arg_params)
    for cell in _as_list(cells, "save_rnn_checkpoint"):
        params = cell.unpack_weights(params)
    save_checkpoint(prefix, epoch, symbol, params, aux_params)


def load_rnn_checkpoint(cells: Cells, prefix: str, epoch: int) -> tuple[Symbol, ArrayDict, ArrayDict]:
    """Read a checkpoint that `save_rnn_checkpoint` wrote, and put the cells' weights together.

    Parameters
    ----------
    cells
        The cell, or the cells, of the network that the parameters are for.
    prefix, epoch
        Name the files.

    Returns
    -------
    tuple
        The symbol in the file, parameters and auxiliary states.
    """
    symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
    for cell in _as_list(cells, "load_rnn_checkpoint"):
        arg_params = cell.pack_weights(arg_params)
    return symbol, arg_params, aux_params


def do_rnn_checkpoint(cells: Cells, prefix: str, period: int = 1) -> EpochEnd:
    """Return an epoch callback that calls `save_rnn_checkpoint` every `period` epochs.

    Parameters
    ----------
    cells
        The cell, or the cells, of the network.
    prefix
        Where the files go, and how their names begin.
    period
        Epochs from one checkpoint to the next.

    Examples
    --------
    >>> import os, tempfile, rebind as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     callback = do_rnn_checkpoint(
    ...         [], f"{folder}/net", period=2
    ...     )  # fit(..., epoch_end_callback=callback)
    ...     for epoch in range(3):
    ...         callback(epoch, None, {}, {})
    ...     os.listdir(folder)
    ['net-0002.params']
    """
    check_numbers("do_rnn_checkpoint", period=period)
    period = max(1, int(period))

    def save(epoch: int, symbol: Symbol | None, arg_params: ArrayDict, aux_params: ArrayDict) -> None:
        if (epoch + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, epoch + 1, symbol, arg_params, aux_params)

    return EpochEndFunction(save, prefix)


def rnn_unroll(
    cell: BaseRNNCell,
    length: int,
    inputs: Steps | None = None,
    begin_state: NestedStates | None = None,
    input_prefix: str = "",
    layout: str = "NTC",
) -> tuple[Outputs, NestedStates]:
    """Apply a cell to each step of a sequence: deprecated, call `cell.unroll`.

    In MXNet 1.9.1 every call of it fails; this is what it was before.

    Parameters
    ----------
    cell
        The cell.
    length, inputs, begin_state, layout
        As in `BaseRNNCell.unroll`; without `inputs` there is a variable for each step.
    input_prefix
        What the names of these variables begin with: ``t0_data`` follows.

    Examples
    --------
    >>> import warnings, rebind as mx
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     outputs, _ = rnn_unroll(mx.rnn.RNNCell(4), 2, input_prefix="in_")
    >>> outputs[0].list_arguments()[:2]
    ['in_t0_data', 'rnn_i2h_weight']
    """
    warn_user("rnn_unroll is deprecated; call cell.unroll", DeprecationWarning)
    if inputs is None:
        inputs = [var(f"{input_prefix}t{i}_data") for i in range(length)]
    return cell.unroll(length, inputs, begin_state, layout)


def _as_list(cells: Cells, who: str) -> list[BaseRNNCell]:
    if not isinstance(cells, BaseRNNCell):
        check_kind(who, _CELLS, cells=cells)
    found = [cells] if isinstance(cells, BaseRNNCell) else list(cells)
    for cell in found:
        if not isinstance(cell, BaseRNNCell):
            raise ArgumentError(f"{who}: cells must be recurrent cells; got {cell!r}")
    return found
