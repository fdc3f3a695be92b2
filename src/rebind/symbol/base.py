"""What every symbol is made of: a graph, and the names in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeVar

from ..errors import (
    ArgumentError,
    BoundsError,
    NameLookupError,
    NotImplementedForSymbol,
    ParameterError,
    near_names,
)
from ..graph import Entry, Graph
from ..graph.passes import backend_named

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["SymbolBase", "named_values", "no_such_argument", "single_entry"]

T = TypeVar("T")


class SymbolBase:
    """A handle on a graph: its outputs and the names of its variables. `Symbol` adds what users call.

    Parameters
    ----------
    outputs
        A graph, or the symbol's outputs; the graph is these and all that they need.
    backend
        The name of the backend that it is bound with, unless `bind` is given another one.
    recompute
        Whether it is bound with ``recompute=True``, unless `bind` says otherwise.
    """

    __slots__ = ("__weakref__", "_backend", "_graph", "_recompute")
    #: The class of symbols that operators and methods return, set where that class is defined.
    symbol_class: ClassVar[type[Self]]

    def __init__(
        self,
        outputs: Graph | Sequence[Entry] | None,
        backend: str | None = None,
        recompute: bool | None = None,
    ) -> None:
        # None in MXNet's pickles: `__setstate__` brings the graph.
        self._graph = outputs if isinstance(outputs, Graph) else Graph(outputs or ())
        self._backend, self._recompute = backend, recompute

    @property
    def graph(self) -> Graph:
        """The graph that the symbol is a handle of."""
        return self._graph

    def with_graph(self, graph: Graph) -> Self:
        """Return a symbol on another graph, which is bound as this one.

        >>> import rebind as mx
        >>> x = mx.sym.var("x")
        >>> x.with_graph(mx.sym.exp(x, name="e").graph)
        <Symbol e>
        """
        return self.symbol_class(graph, self._backend, self._recompute)

    @property
    def backend(self) -> str | None:
        """The backend that it is bound with, unless `bind` is given another one; None: that of the environment.

        It belongs to this symbol: neither what is composed of it nor a file has it.
        """
        return self._backend

    def with_backend(self, backend: str | None) -> Self:
        """Return the same network, to be bound with a backend.

        Raises
        ------
        NameLookupError
            For a backend that nobody registered.

        Examples
        --------
        >>> import rebind as mx
        >>> mx.sym.var("x").with_backend("inductor").backend
        'inductor'
        """
        if backend is not None:
            backend_named(backend)
        return self.symbol_class(self._graph, backend, self._recompute)

    @property
    def recompute(self) -> bool | None:
        """Whether it is bound with ``recompute=True``; None: the environment says so. It belongs to this symbol."""
        return self._recompute

    def with_recompute(self, recompute: bool | None) -> Self:
        """Return the same network, to be bound with `recompute`; see `bind`.

        >>> import rebind as mx
        >>> mx.sym.var("x").with_recompute(True).recompute
        True
        """
        return self.symbol_class(self._graph, self._backend, None if recompute is None else bool(recompute))

    @property
    def name(self) -> str | None:
        """The name; None for a group of several symbols."""
        nodes = {entry.node for entry in self._graph.outputs}
        return next(iter(nodes)).name if len(nodes) == 1 else None

    def __repr__(self) -> str:
        if self.name is None:
            return f"<Symbol group [{', '.join(entry.node.name for entry in self._graph.outputs)}]>"
        return f"<Symbol {self.name}>"

    def list_arguments(self) -> list[str]:
        """Return the names of the arguments: inputs, labels and parameters.

        >>> import rebind as mx
        >>> mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc").list_arguments()
        ['x', 'fc_weight', 'fc_bias']
        """
        return [node.name for node in self._graph.arguments]

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs.

        >>> import rebind as mx
        >>> mx.sym.split(mx.sym.var("x"), num_outputs=2, name="halves").list_outputs()
        ['halves_output0', 'halves_output1']
        """
        return list(self._graph.output_names)

    def list_auxiliary_states(self) -> list[str]:
        """Return the names of the auxiliary states, such as moving averages.

        >>> import rebind as mx
        >>> mx.sym.BatchNorm(mx.sym.var("x"), name="bn").list_auxiliary_states()
        ['bn_moving_mean', 'bn_moving_var']
        """
        return [node.name for node in self._graph.auxiliary]

    def list_inputs(self) -> list[str]:
        """Return the names of arguments and auxiliary states, in the order of the graph.

        >>> import rebind as mx
        >>> mx.sym.BatchNorm(mx.sym.var("x"), name="bn").list_inputs()
        ['x', 'bn_gamma', 'bn_beta', 'bn_moving_mean', 'bn_moving_var']
        """
        return [node.name for node in self._graph.variables]

    @property
    def num_outputs(self) -> int:
        """The number of outputs."""
        return len(self._graph.outputs)

    def __len__(self) -> int:
        return len(self._graph.outputs)

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol(
            "Symbol: has no truth value, since it has no value before it is bound. Ask whether it is None instead."
        )

    def __getitem__(self, index: int | str | slice) -> Self:
        """Return one output, by number or by name, or several by a slice."""
        outputs = self._graph.outputs
        if isinstance(index, str):
            return self.symbol_class([outputs[self._number_of(index)]])
        if isinstance(index, slice):
            return self.symbol_class(outputs[index])
        if not hasattr(index, "__index__"):
            raise ArgumentError(f"Symbol: an output is chosen by a number, a name or a slice; got {index!r}")
        if not -len(outputs) <= index < len(outputs):
            raise BoundsError(f"Symbol: an output's number must be below {len(outputs)}; got {index}")
        return self.symbol_class([outputs[index]])

    def _number_of(self, name: str) -> int:
        """Return the number of an output, by its full name, or by that of its node when it is the only one."""
        names = self.list_outputs()
        found = [i for i, output in enumerate(names) if output == name]
        found = found or [i for i, entry in enumerate(self._graph.outputs) if entry.node.name == name]
        if not found:
            raise NameLookupError(f"Symbol: no output {name!r}{near_names(name, names)}")
        if len(found) > 1:
            raise NameLookupError(f"Symbol: {len(found)} outputs are named {name!r}; use a number")
        return found[0]


def single_entry(symbol: SymbolBase, who: str) -> Entry:
    """Return the entry of a symbol with one output; `who` begins the message for anything else."""
    if not isinstance(symbol, SymbolBase):
        raise ArgumentError(f"{who}: must be a Symbol; got {symbol!r}")
    outputs = symbol.graph.outputs
    if len(outputs) != 1:
        raise ArgumentError(
            f"{who}: must be a symbol with one output; {symbol!r} has {len(outputs)}. Choose one with [i]."
        )
    return outputs[0]


def named_values(symbol: SymbolBase, who: str, args: Sequence[T], kwargs: Mapping[str, T]) -> dict[str, T]:
    """Return values by name of variable, from those of arguments in order, or of any variables by name.

    >>> import rebind as mx
    >>> named_values(mx.sym.var("a") + mx.sym.var("b"), "example", [1, 2], {})
    {'a': 1, 'b': 2}
    """
    if args and kwargs:
        raise ParameterError(f"Symbol.{who}: takes values by position or by name, not both")
    names = symbol.list_arguments()
    if len(args) > len(names):
        raise ArgumentError(f"Symbol.{who}: takes at most {len(names)} values; got {len(args)}")
    known = {node.name for node in symbol.graph.variables}
    for name in kwargs:
        if name not in known:
            raise no_such_argument(f"Symbol.{who}", name, known, names)
    return {**dict(zip(names, args, strict=False)), **kwargs}


def no_such_argument(
    who: str, name: str, known: Collection[str], arguments: Sequence[str]
) -> NameLookupError:
    """Return the error for a name that is not among those `known`; it lists the first of the `arguments`."""
    more = f" and {len(arguments) - 12} more" if len(arguments) > 12 else ""
    return NameLookupError(
        f"{who}: no argument {name!r}{near_names(name, known)} Arguments: {', '.join(arguments[:12])}{more}."
    )
