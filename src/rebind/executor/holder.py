"""What an executor is made from: a symbol, by what the executor knows of it."""

from __future__ import annotations

from typing import Protocol, TypeVar

from ..graph import Graph

__all__ = ["GraphHolder", "run_as"]

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
    """Return a handle on the same graph that is run as `bind` was asked to; None: as the handle says.

    >>> import rebind as mx
    >>> found = run_as(mx.sym.var("x").with_backend("eager"), None, True)
    >>> found.backend, found.recompute
    ('eager', True)
    """
    if backend is not None:
        holder = holder.with_backend(backend)
    return holder if recompute is None else holder.with_recompute(recompute)
