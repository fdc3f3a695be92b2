"""`CachedOp`: a symbol that is called on arrays, as an operator is."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Protocol

import torch
from torch import Tensor

from .. import generators
from ..errors import ArgumentError
from ..grad_mode import grad_mode
from ..graph import Graph, Target
from ..graph.control_flow import counted_constants
from ..mode import mode
from ..ndarray import NDArray
from ..ndarray.base import wrap_tensor
from ..ndarray.compute import write_in_backward
from ..ndarray.history import TapeNode
from .control_flow import Body
from .gradient_flow import states_of_backward
from .writer import body_code

__all__ = ["CachedOp"]


class _HasGraph(Protocol):
    @property
    def graph(self) -> Graph: ...


class CachedOp:
    """A symbol as a function of arrays, which `autograd` records.

    Parameters
    ----------
    sym
        The symbol.
    flags
        MXNet's, such as ``[('static_alloc', True)]``; without effect.

    Examples
    --------
    >>> import rebind as mx
    >>> square = CachedOp(mx.sym.square(mx.sym.var("x")))
    >>> x = mx.nd.array([3])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = square(x)
    >>> y.backward()
    >>> y.item(), x.grad.item()
    (9.0, 6.0)
    """

    #: Whether it gives arrays of `mx.np`, which are not part of rebind.
    is_np_sym = False

    def __init__(self, sym: _HasGraph, flags: Sequence[tuple[str, object]] = ()) -> None:
        graph = getattr(sym, "graph", None)
        if not isinstance(graph, Graph):
            raise ArgumentError(f"CachedOp: must be given a symbol; got {sym!r}")
        self._graph = graph
        self._bodies: dict[bool, Body] = {}
        numbers = counted_constants(graph)
        self._constants = {i: numbers[node] for i, node in enumerate(graph.variables) if node in numbers}

    def __call__(
        self, *args: NDArray, out: NDArray | Sequence[NDArray] | None = None
    ) -> NDArray | Sequence[NDArray]:
        """Return the outputs for arrays in the order of ``symbol.list_inputs()``: one array, or a list.

        >>> import rebind as mx
        >>> CachedOp(mx.sym.var("a") - mx.sym.var("b"))(mx.nd.array([3]), mx.nd.array([1])).item()
        2.0
        """
        variables = self._graph.variables
        if len(args) != len(variables):
            names = ", ".join(node.name for node in variables)
            raise ArgumentError(f"CachedOp: takes {len(variables)} arrays, for {names}; got {len(args)}")
        for array in args:
            if not isinstance(array, NDArray):
                raise ArgumentError(f"CachedOp: takes NDArrays; got {array!r}")
        device = args[0].device
        with grad_mode(mode.recording):
            values, new_states = self._body()(
                generators.generator(device), *(array.source() for array in args)
            )
        self._write_in_backward(args, values, new_states)
        if mode.training:
            for position, constant in self._constants.items():
                array = args[position]
                array.write_unrecorded(torch.full_like(array.tensor, constant).detach())
        # The result of a graph that is a variable alone is that variable's tensor.
        given = {id(array.source()) for array in args}
        made: list[NDArray] = [
            wrap_tensor(value.clone() if id(value) in given else value, device) for value in values
        ]
        if mode.recording:
            depends = any(array.source().requires_grad for array in args)
            for i, array in enumerate(made):
                array.history = (TapeNode(opaque="a CachedOp", depends=depends), i)
        return _written(made, out) if out is not None else made[0] if len(made) == 1 else made

    @property
    def handle(self) -> ctypes.c_void_p:
        """A number that tells this object from others while it lives; there is no C library to hand it to."""
        return ctypes.c_void_p(id(self))

    def _write_in_backward(
        self, args: Sequence[NDArray], values: Sequence[Tensor], new_states: Mapping[int, Tensor]
    ) -> None:
        """Have backward write the new auxiliary states of the operators that it runs through."""
        variables = self._graph.variables
        wanted = {
            node.name for node, array in zip(variables, args, strict=True) if array.source().requires_grad
        }
        reached = states_of_backward(self._graph, wanted) if new_states and wanted else ()
        write_in_backward(
            values,
            [(args[i], value) for i, value in new_states.items() if variables[i].name in reached],
        )

    def _body(self) -> Body:
        """Return the code for today's mode; written at the first call."""
        if mode.training not in self._bodies:
            target = Target(training=mode.training)
            self._bodies[mode.training] = Body(self._graph, target, body_code)
        return self._bodies[mode.training]


def _written(made: Sequence[NDArray], out: NDArray | Sequence[NDArray]) -> NDArray | Sequence[NDArray]:
    targets = [out] if isinstance(out, NDArray) else out
    if not isinstance(targets, (list, tuple)) or not all(isinstance(each, NDArray) for each in targets):
        raise ArgumentError(f"CachedOp: out must be an NDArray or a list of them; got {out!r}")
    if len(targets) != len(made):
        raise ArgumentError(f"CachedOp: out must hold {len(made)} arrays; got {len(targets)}")
    for target, value in zip(targets, made, strict=True):
        target.write(value)
    return out
