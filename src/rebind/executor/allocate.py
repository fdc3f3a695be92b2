"""New arrays for an executor, or those of another one."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch

from ..device import Device
from ..errors import ShapeError
from ..graph import Graph
from ..ndarray import NDArray
from ..ndarray.base import wrap
from ..ndarray.storage import Storage, kind_or_dense
from ..shapes import Shape, size
from .arguments import in_shape
from .executor import Executor

__all__ = ["ArraySpec", "SharedArgumentError", "Sharing", "allocate"]

Arrays = dict[str, NDArray]


class ArraySpec(NamedTuple):
    """What an array of an executor must be."""

    shape: Shape
    dtype: torch.dtype
    device: Device
    stype: str = "default"

    @property
    def kind(self) -> type[Storage]:
        """The class of its storage: dense where the storage type is only known by name."""
        return kind_or_dense(self.stype)

    def make(self) -> NDArray:
        """Return a new array of zeros.

        >>> import rebind as mx
        >>> ArraySpec((2,), torch.int32, mx.cpu()).make().asnumpy()
        array([0, 0], dtype=int32)
        """
        return wrap(self.kind.zeros(self.shape, self.dtype, self.device.torch), self.device)

    def fits(self, array: NDArray) -> bool:
        """Return whether an array is what is asked for.

        >>> import rebind as mx
        >>> spec = ArraySpec((2, 3), torch.float32, mx.cpu())
        >>> spec.fits(mx.nd.ones((2, 3))), spec.fits(mx.nd.ones((3, 2)))
        (True, False)
        """
        # Exactly: a subclass may hold its values in another way.
        same_kind = type(array.storage) is self.kind
        return same_kind and array.shape == self.shape and array.storage.dtype is self.dtype

    def found_in(self, array: NDArray | None) -> bool:
        """Return whether an array has enough memory, of the right type and on the right device.

        >>> import rebind as mx
        >>> ArraySpec((2, 3), torch.float32, mx.cpu()).found_in(mx.nd.ones((10,)))
        True
        """
        return (
            array is not None
            and type(array.storage) is self.kind
            and array.storage.dtype is self.dtype
            and array.device == self.device
            and array.size >= size(self.shape)
        )


class SharedArgumentError(ShapeError):
    """An argument's array is to be shared, and the new shapes of the inputs need another one.

    Attributes
    ----------
    name
        The argument.
    wanted, found
        The shape that follows from the inputs, and that of the array.
    """

    def __init__(self, name: str, spec: ArraySpec, array: NDArray) -> None:
        self.name, self.wanted, self.found = name, spec.shape, array.shape
        super().__init__(
            f"Symbol.simple_bind: shared argument {name!r} must have shape {spec.shape} and type {spec.dtype}; "
            f"got {array.shape} and {array.storage.dtype}"
        )


@dataclass(frozen=True)
class Sharing:
    """Whose arrays a new executor may use.

    Attributes
    ----------
    executor
        An executor that shares its arguments, gradients and auxiliary states.
    names
        Which arguments must be shared; None: all that fit.
    buffer
        Memory for inputs, by name; what is too small is replaced in it.
    inputs
        Which arguments are inputs.
    """

    executor: Executor | None = None
    names: Collection[str] | None = None
    buffer: Arrays | None = None
    inputs: Collection[str] = ()

    @functools.cached_property
    def _arguments(self) -> Arrays:
        # Asked for by each argument of a network, which may have a thousand.
        return {} if self.executor is None else self.executor.arg_dict

    def argument(self, name: str, spec: ArraySpec) -> NDArray | None:
        """Return the shared array for an argument, if there is one.

        >>> import rebind as mx
        >>> exe = mx.sym.var("x").simple_bind(mx.cpu(), x=(2,))
        >>> spec = ArraySpec((2,), torch.float32, mx.cpu())
        >>> Sharing(exe).argument("x", spec) is exe.arg_dict["x"]
        True
        """
        if self.names is not None and name not in self.names:
            return None
        array = self._arguments.get(name)
        if array is None or spec.fits(array):
            return array
        # Without names sharing is an offer, with them a demand.
        if self.names is None:
            return None
        raise SharedArgumentError(name, spec, array)

    def memory(self, name: str, spec: ArraySpec) -> NDArray | None:
        """Return memory from the buffer for an input, put there if it is missing; None for other arguments.

        >>> import rebind as mx
        >>> buffer = {"data": mx.nd.zeros((10,))}
        >>> small = ArraySpec((2, 3), torch.float32, mx.cpu())
        >>> found = Sharing(buffer=buffer, inputs=["data"]).memory("data", small)
        >>> found[:] = 1
        >>> buffer["data"].sum().item()
        6.0
        """
        if self.buffer is None or name not in self.inputs:
            return None
        if not spec.found_in(self.buffer.get(name)):
            self.buffer[name] = spec.make()
        return in_shape(self.buffer[name], spec.shape)


def allocate(
    graph: Graph,
    specs: Mapping[str, ArraySpec],
    requests: Mapping[str, str],
    sharing: Sharing,
    gradients: Mapping[str, str] | None = None,
) -> tuple[Arrays, Arrays, Arrays]:
    """Return arguments, gradients and auxiliary states by name, new ones where nothing is shared.

    Parameters
    ----------
    graph
        What is to run.
    specs
        What each array must be, by the variable's name.
    requests
        The request for each gradient; arguments with ``'null'`` get none.
    sharing
        Whose arrays may be used.
    gradients
        The storage types of gradients, where they are not those of the arguments.

    Examples
    --------
    >>> import rebind as mx
    >>> spec = ArraySpec((2,), torch.float32, mx.cpu())
    >>> args, grads, aux = allocate(mx.sym.var("x").graph, {"x": spec}, {"x": "null"}, Sharing())
    >>> list(args), grads, aux
    (['x'], {}, {})
    """
    args: Arrays = {}
    grads: Arrays = {}
    aux: Arrays = {}
    old_grads = sharing.executor.grad_dict if sharing.executor is not None else {}
    old_aux = sharing.executor.aux_dict if sharing.executor is not None else {}
    for node in graph.arguments:
        name, spec = node.name, specs[node.name]
        shared = sharing.argument(name, spec)
        # Parameters are shared with another executor, inputs with the buffer.
        found = shared if shared is not None else sharing.memory(name, spec)
        args[name] = spec.make() if found is None else found
        if requests[name] != "null":
            # An argument that is new must not write its gradient into another's.
            grad = old_grads.get(name) if shared is not None else None
            of_gradient = spec._replace(stype=(gradients or {}).get(name, spec.stype))
            grads[name] = of_gradient.make() if grad is None else grad
    for node in graph.auxiliary:
        state = old_aux.get(node.name)
        spec = specs[node.name]
        aux[node.name] = state if state is not None and spec.fits(state) else spec.make()
    return args, grads, aux
