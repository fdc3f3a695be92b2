"""What programs look at in an executor: its arrays and outputs, its network, and what each operator computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

import torch

from ..checks import FUNCTION, check_kind, or_none
from ..device import Device
from ..errors import StateError
from ..graph import Entry, Graph
from ..graph.passes import optimize
from ..ndarray import NDArray
from .bound import BoundArrays
from .describe import describe_memory, operator_of
from .outputs import OutputHandles
from .plans import Plans
from .unpicklable import Unpicklable
from .watch import Watch

__all__ = ["GraphHolder", "Inspection", "run_as"]

Holder = TypeVar("Holder", bound="GraphHolder")


class GraphHolder(Protocol):
    """What an executor is made from: a `Symbol`, which is in a layer above."""

    @property
    def graph(self) -> Graph:
        """The graph."""
        ...

    @property
    def backend(self) -> str | None:
        """The name of the backend that it is run by; None: that of the environment."""
        ...

    def with_graph(self: Holder, graph: Graph) -> Holder:
        """Return a handle like this one on another graph."""
        ...

    def with_backend(self: Holder, backend: str | None) -> Holder:
        """Return a handle on the same graph that is run by a backend."""
        ...

    @property
    def recompute(self) -> bool | None:
        """Whether backward computes again what takes little time; None: the environment says so."""
        ...

    def with_recompute(self: Holder, recompute: bool | None) -> Holder:
        """Return a handle on the same graph that is run so, or not."""
        ...

    def debug_str(self) -> str:
        """Return a text about the graph."""
        ...


def run_as(holder: Holder, backend: str | None, recompute: bool | None) -> Holder:
    """Return a handle on the same graph that is run as `bind` was told; None: as the handle says.

    >>> import rebind as mx
    >>> found = run_as(mx.sym.var("x").with_backend("eager"), None, True)
    >>> found.backend, found.recompute
    ('eager', True)
    """
    if backend is not None:
        holder = holder.with_backend(backend)
    return holder if recompute is None else holder.with_recompute(recompute)


class Inspection(Unpicklable):
    """An executor as far as it is looked at; `Executor` sets the attributes, and runs it."""

    _symbol: GraphHolder
    _graph: Graph
    _device: Device
    _arrays: BoundArrays
    _plans: Plans
    _handles: OutputHandles | None
    _monitor: Watch | None

    @property
    def is_compiled(self) -> bool:
        """Whether a compiler takes the runs that nobody watches.

        >>> import rebind as mx
        >>> net = mx.sym.exp(mx.sym.var("x"))
        >>> net.simple_bind(mx.cpu(), x=(1,)).is_compiled
        False
        """
        return self._plans.compiles

    def types_in(self, graph: Graph) -> Mapping[Entry, torch.dtype] | None:
        """Return all types, if it runs this graph: shapes do not change them.

        >>> import rebind as mx
        >>> net = mx.sym.exp(mx.sym.var("x"))
        >>> net.simple_bind(mx.cpu(), x=(1,)).types_in(net.graph)[net.graph.outputs[0]]
        torch.float32
        """
        return self._plans.facts.types if graph is self._graph else None

    # Arrays.

    @property
    def arg_arrays(self) -> list[NDArray | None]:
        """The arguments, in the order of ``list_arguments()``."""
        return [slot.array for slot in self._arrays.order]

    @property
    def grad_arrays(self) -> list[NDArray | None]:
        """The arrays for gradients; None where none is bound."""
        return [slot.bound_grad for slot in self._arrays.order]

    @property
    def aux_arrays(self) -> list[NDArray | None]:
        """The auxiliary states, in the order of ``list_auxiliary_states()``."""
        return list(self._arrays.aux.values())

    @property
    def arg_dict(self) -> dict[str, NDArray]:
        """The arguments by name."""
        return {name: slot.array for name, slot in self._arrays.slots.items() if slot.array is not None}

    @property
    def grad_dict(self) -> dict[str, NDArray | None]:
        """The arrays for gradients by name; None where none is bound."""
        return {name: slot.bound_grad for name, slot in self._arrays.slots.items()}

    @property
    def aux_dict(self) -> dict[str, NDArray | None]:
        """The auxiliary states by name."""
        return dict(self._arrays.aux)

    @property
    def outputs(self) -> list[NDArray]:
        """The outputs: the same arrays for the executor's whole life, with the newest values after each `forward`."""
        if self._handles is None:
            raise StateError(f"Executor: outputs are there after forward(); it needs {self._arrays.missing}")
        return self._handles.arrays

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """The outputs by name."""
        return dict(zip(self._graph.output_names, self.outputs, strict=True))

    def __repr__(self) -> str:
        shapes = ", ".join(
            f"{name} {'?' if slot.array is None else slot.array.shape}"
            for name, slot in self._arrays.slots.items()
        )
        return f"<Executor of {', '.join(self._graph.output_names)} on {self._device}: {shapes}>"

    _ctx = property(lambda self: self._device)  # by MXNet's name, which programs read

    # Looking inside.

    def set_monitor_callback(
        self,
        callback: Callable[[str, NDArray], object] | None,
        monitor_all: bool = False,
        *,
        active: Callable[[], bool] | None = None,
    ) -> None:
        """Call ``callback(name, array)`` for what each operator computes, forward and backward.

        In `forward` these are each operator's outputs, such as ``fc1_output``, hidden ones too (``bn1_mean``); in the
        `backward` that follows, the gradients of its inputs, such as ``fc1_backward_output0`` (without the number when
        it has one input only), in the order in which they are computed. Inputs without a gradient are left out.

        Parameters
        ----------
        callback
            What is called; it replaces the one before. None removes it.
        monitor_all
            Whether to report what goes in, too: before an operator's outputs each of its inputs under the operator's
            name for it (``fc1_data``), and before that a variable under its own (``data``, ``fc1_weight``); before the
            gradients of its inputs those of its outputs (``fc1_backward_input0``).
        active
            Asked before each `forward`; when it returns False, the network runs unwatched, at full speed.

        Examples
        --------
        >>> import rebind as mx
        >>> exe = mx.sym.exp(mx.sym.var("x"), name="e").simple_bind(mx.cpu(), x=(1,))
        >>> exe.set_monitor_callback(lambda name, array: print(name, array.item()))
        >>> _ = exe.forward()
        e_output 1.0
        """
        check_kind("Executor.set_monitor_callback", or_none(FUNCTION), callback=callback)
        self._monitor = None if callback is None else Watch(callback, monitor_all, active, self._device)

    def operator_of(self, name: str) -> str | None:
        """Return the operator that a monitor's `name` is of, as ``FullyConnected 'fc1'``; None for a variable's."""
        return operator_of(self._graph, name)

    def get_optimized_symbol(self) -> GraphHolder:
        """Return the symbol as it is run in training mode, after all passes."""
        best, _ = optimize(self._graph, self._plans.facts, self._plans.target(is_train=True))
        return self._symbol.with_graph(best)

    def debug_str(self) -> str:
        """Return a text about the graph and its memory, in the form of MXNet's."""
        wanted = [name for name, slot in self._arrays.slots.items() if slot.grad is not None]
        return f"{self._symbol.debug_str()}\n{describe_memory(self._graph, self._plans.facts, wanted)}"
