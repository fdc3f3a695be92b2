"""`from_torch`: modules and exported programs of PyTorch as symbols."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.export import Dim, ExportedProgram, ShapesCollection

from ...errors import MXNetError
from ...ndarray import NDArray
from ...symbol import Symbol
from .graph_reader import GraphReader
from .mistakes import check_example, check_modes, check_module, explained

__all__ = ["from_torch", "read_pt2"]


def from_torch(
    module: nn.Module | ExportedProgram,
    example_inputs: Tensor | Sequence[Any] | Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Return a network of PyTorch as a symbol with parameters, which can be trained and saved.

    Whether Dropout drops, and BatchNorm uses the statistics of its batch, is what ``is_train`` says, whichever mode the
    module is in. Python's own branches on ``self.training`` are read in the module's mode: call ``module.eval()``
    before, if the module returns more in training. A BatchNorm in evaluation mode inside of a module that trains is one
    with ``use_global_stats``. MXNet's BatchNorm moves the biased variance, PyTorch's the unbiased one. Names come from
    the modules' paths:
    ``layer1.0.weight`` is ``layer1_0_weight``, or ``_gamma``, ``_beta``, ``_moving_mean``, ``_moving_var`` of a
    normalization; a recurrent layer has one vector, ``lstm_parameters``. The ResNets and MobileNet v2 of torchvision
    get the names of published MXNet checkpoints, and what `to_torch` made has its own again. Tensors without axes are
    arrays of one element.

    Two things differ from PyTorch. MXNet's recurrent layers have biases: those of a layer with ``bias=False`` are zeros
    in its vector, and training changes them. Attention gives not-a-number where a mask leaves a query nothing to look
    at; PyTorch's gives 0.

    Parameters
    ----------
    module
        A module, or what `torch.export.export` or `torch.export.load` returned.
    example_inputs
        Of a module: the arguments of one call, by position or by name. Their first axis is the batch, which stays free
        where the module allows it.
    dynamic_shapes
        Which sizes are free, as `torch.export.export` takes it.

    Returns
    -------
    sym
        The network. Its inputs are named as the arguments of ``forward``.
    arg_params, aux_params
        Parameters and auxiliary states by name, as copies. Buffers and constants are parameters that training does not
        change.

    Raises
    ------
    MXNetError
        If MXNet has no operators for some of PyTorch's: the message names them all. If the example inputs are not
        those of ``forward``, or what ``forward`` does depends on the numbers of its inputs; what else `torch.export`
        cannot export has its own error.

    Examples
    --------
    >>> import rebind as mx
    >>> module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
    >>> sym, arg_params, aux_params = from_torch(module, torch.zeros(2, 3))
    >>> sym.list_arguments(), sym.list_outputs()
    (['input', '0_weight', '0_bias'], ['1_output'])
    """
    with warnings.catch_warnings():
        # Of PyTorch about itself: a class of its own that it uses, and how its recurrent layers hold their weights.
        warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)
        warnings.filterwarnings("ignore", ".*_flat_weights", UserWarning)
        names = getattr(module, "mxnet_names", None)  # of a module that `to_torch` made
        reader = GraphReader(_functional(module, example_inputs, dynamic_shapes), names)
    symbol = reader.read()
    params = reader.params
    return (
        symbol,
        {name: params[name] for name in symbol.list_arguments() if name in params},
        {name: params[name] for name in symbol.list_auxiliary_states()},
    )


def read_pt2(path: str | os.PathLike[str]) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Read a file of `torch.export.save` as `from_torch` does."""
    return from_torch(torch.export.load(os.fspath(path)))


def _functional(module: nn.Module | ExportedProgram, example: Any, dynamic_shapes: Any) -> ExportedProgram:
    """Return a program that writes into no tensor."""
    program = module if isinstance(module, ExportedProgram) else _exported(module, example, dynamic_shapes)
    with _marked_dropout(program.graph):
        return program.run_decompositions({})  # without a table, layers stay as they are


def _exported(module: nn.Module, example: Any, dynamic_shapes: Any) -> ExportedProgram:
    check_module(module)
    if example is None:
        raise MXNetError(
            "from_torch: example_inputs, the arguments of one call, must be given with a module; got None"
        )
    args = () if isinstance(example, Mapping) else tuple(example) if _is_list(example) else (example,)
    kwargs = dict(example) if isinstance(example, Mapping) else {}
    check_example(module, args, kwargs)
    check_modes(module)
    if dynamic_shapes is None:
        args, kwargs = tuple(map(_batch, args)), {name: _batch(value) for name, value in kwargs.items()}
        free = ShapesCollection()
        for value in (*args, *kwargs.values()):
            if isinstance(value, Tensor) and value.ndim:
                free[value] = {0: Dim.AUTO}
        dynamic_shapes = free
    with explained(module):
        return torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _batch(value: Any) -> Any:
    """Return an example with more than one element in its batch: `torch.export` takes a size of 1 for fixed."""
    alone = isinstance(value, Tensor) and value.ndim > 0 and len(value) == 1
    return torch.cat([value, value]) if alone else value


@torch.library.custom_op("rebind::dropout", mutates_args=())
def _dropout(data: Tensor, p: float, channels: bool) -> Tensor:
    """Stand for dropout in a program: rewriting leaves out what does nothing in evaluation mode."""
    return data.clone()


@_dropout.register_fake
def _(data: Tensor, p: float, channels: bool) -> Tensor:
    return torch.empty_like(data)


@contextmanager
def _marked_dropout(graph: fx.Graph) -> Iterator[None]:
    """Let dropout survive the rewriting of a program; the program itself is as it was afterwards."""
    aten = torch.ops.aten
    kinds = {aten.dropout.default: False, aten.feature_dropout.default: True}
    before = [(node, node.target, node.args) for node in graph.nodes if node.target in kinds]
    for node, target, args in before:
        node.target, node.args = torch.ops.rebind.dropout.default, (*args[:2], kinds[target])
    try:
        yield
    finally:
        for node, target, args in before:
            node.target, node.args = target, args
