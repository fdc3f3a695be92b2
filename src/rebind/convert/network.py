"""A model as it is used: what is exported, run and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ..device import cpu
from ..graph import Entry, deployed, infer_types
from ..ndarray import NDArray, array
from ..shapes import Shape
from ..symbol import Symbol
from .input_shapes import Inputs, find_inputs
from .model_files import Model

__all__ = ["Network", "prepared", "run"]


@dataclass(frozen=True)
class Network:
    """A model without what belongs to training.

    Attributes
    ----------
    symbol, arg_params, aux_params
        The network, and the parameters and states that it uses.
    inputs
        What it takes, with shapes.
    types
        The types of inputs.
    name
        The model's name.
    left_out
        A sentence for each thing that the model has and this has not.
    """

    symbol: Symbol
    arg_params: Mapping[str, NDArray]
    aux_params: Mapping[str, NDArray]
    inputs: Inputs
    types: Mapping[str, torch.dtype]
    name: str
    left_out: tuple[str, ...] = ()

    @property
    def params(self) -> dict[str, NDArray]:
        """Parameters and auxiliary states."""
        return {**self.arg_params, **self.aux_params}


def prepared(
    model: Model,
    shape: Mapping[str, Shape] | None = None,
    outputs: Sequence[str] | None = None,
    samples: Mapping[str, Shape] | None = None,
) -> Network:
    """Return a model as it is used.

    Parameters
    ----------
    model
        The model.
    shape
        Shapes of inputs that the checkpoint does not tell, 0 for free sizes.
    outputs
        Names of the outputs that are wanted; by default the predictions (`rebind.graph.deployed`).
    samples
        The shapes of data that it is to be run on, for what does not follow from the checkpoint.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.SoftmaxOutput(
    ...     mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"), name="softmax"
    ... )
    >>> params = {"fc_weight": mx.nd.ones((2, 5)), "fc_bias": mx.nd.zeros((2,))}
    >>> network = prepared(Model(net, params, {}, "net"))
    >>> network.symbol, network.inputs.data
    (<Symbol softmax>, {'data': (0, 5)})
    """
    parameters = {name: value.shape for name, value in {**model.arg_params, **model.aux_params}.items()}
    first = deployed(model.symbol.graph, outputs=outputs).graph
    inputs = find_inputs(first, parameters, shape, model.shapes, samples)
    result = deployed(model.symbol.graph, inputs.shapes, outputs)
    graph = result.graph
    names = {node.name for node in graph.variables}
    arg_params, aux_params = (
        {name: value for name, value in params.items() if name in names}
        for params in (model.arg_params, model.aux_params)
    )
    known = infer_types(graph, {name: value.dtype for name, value in {**arg_params, **aux_params}.items()})
    types = {
        node.name: known.of(Entry(node)) or torch.float32
        for node in graph.arguments
        if node.name in inputs.shapes
    }
    left_out = [*result.left_out, *_unused_parameters(parameters, names)]
    return Network(Symbol(graph), arg_params, aux_params, inputs, types, model.name, tuple(left_out))


def _unused_parameters(parameters: Mapping[str, Shape], used: set[str]) -> list[str]:
    unused = [name for name in parameters if name not in used]
    if not unused:
        return []
    names = ", ".join(unused[:5]) + (", ..." if len(unused) > 5 else "")
    subject = "1 parameter is" if len(unused) == 1 else f"{len(unused)} parameters are"
    return [f"{subject} left out: nothing uses {names}."]


def run(symbol: Symbol, params: Mapping[str, NDArray], data: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Return the outputs of a network, in inference on the CPU.

    >>> import rebind as mx
    >>> run(mx.sym.var("x") * mx.sym.var("w"), {"w": mx.nd.array([2, 3])}, {"x": np.ones(2, np.float32)})
    [array([2., 3.], dtype=float32)]
    """
    given = {**params, **{name: array(value, dtype=value.dtype) for name, value in data.items()}}
    arguments = {name: given[name] for name in symbol.list_arguments()}
    states = {name: given[name] for name in symbol.list_auxiliary_states()}
    executor = symbol.bind(cpu(), arguments, grad_req="null", aux_states=states)
    return [output.asnumpy() for output in executor.forward(is_train=False)]
