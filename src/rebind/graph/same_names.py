"""A warning when two layers have one name: their weights have one name too, and are one when the network is bound."""

from __future__ import annotations

from collections.abc import Iterator

from ..checks import warn_user
from .graph import Application, Graph, Node

__all__ = ["warn_of_shared_names"]


def warn_of_shared_names(graph: Graph) -> None:
    """Warn of layers in a graph whose own parameters have the names of an earlier layer's.

    >>> import warnings, rebind as mx
    >>> first = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="twice")
    >>> second = mx.sym.FullyConnected(first, num_hidden=2, name="twice")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_shared_names(second.graph)
    >>> str(caught[0].message)[:74]
    "bind: FullyConnected 'twice' and FullyConnected 'twice' have the same name"
    """
    if len({node.name for node in graph.variables}) == len(graph.variables):
        return
    makers: dict[str, tuple[Node, Application]] = {}  # by name of parameter: it, and the layer that made it
    warned: set[str] = set()  # one warning for a name: a loop may have made hundreds of such layers
    for node in graph.nodes:
        if isinstance(node, Application) and node.name not in warned:
            own = {variable.name: variable for variable in _own_variables(node)}
            earlier = {name: makers.setdefault(name, (variable, node)) for name, variable in own.items()}
            joined = [name for name, (variable, _) in earlier.items() if variable is not own[name]]
            if joined:
                warned.add(node.name)
                _warn(node, earlier[joined[0]][1], joined)


def _own_variables(node: Application) -> Iterator[Node]:
    """Yield the variables that composing made for a layer: they have its parameters as attributes."""
    given = node.given.items()
    return (
        entry.node
        for entry in node.inputs
        if entry.node.is_variable
        and entry.node.name.startswith(f"{node.name}_")
        and given <= entry.node.attributes.items()
    )


def _warn(node: Application, other: Application, names: list[str]) -> None:
    warn_user(
        f"bind: {other.operator.name} {other.name!r} and {node.operator.name} {node.name!r} have the same name, and "
        f"share {', '.join(map(repr, names))}. Rename one of them; or, if they are to "
        "share, give both the same variables."
    )
