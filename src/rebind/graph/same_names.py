"""A warning when two layers have one name: their weights have one name too, and are one when the network is bound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..checks import warn_user
from .graph import Application, Entry, Node

__all__ = ["warn_of_joined_names", "warn_of_shared_names"]

# A walk over the network for each layer would make composition quadratic. So there is none for a name that no layer
# had before: names of layers that made parameters of their own, and those among them that came twice.
_seen: set[str] = set()
_repeated: set[str] = set()


def warn_of_shared_names(node: Application, given: Sequence[Entry]) -> None:
    """Warn when a new layer has made parameters whose names a layer before it has used; `given` are its inputs.

    >>> import warnings, rebind as mx
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     first = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="twice")
    ...     second = mx.sym.FullyConnected(first, num_hidden=2, name="twice")
    >>> str(caught[0].message)[:73]
    "sym: FullyConnected 'twice' and FullyConnected 'twice' have one name, and"
    """
    ids = {id(entry.node) for entry in given}
    made = [entry.node for entry in node.inputs if entry.node.is_variable and id(entry.node) not in ids]
    if made:
        if node.name not in _seen:
            _seen.add(node.name)
        else:
            _repeated.add(node.name)
            _compare(node, [each.name for each in made], _nodes_before(given))
    elif _repeated and len(given) > 1:
        warn_of_joined_names([[entry] for entry in given if not entry.node.is_variable])


def warn_of_joined_names(branches: Sequence[Iterable[Entry]]) -> None:
    """Warn when branches that come together have layers of one name with parameters of their own.

    >>> import rebind as mx
    >>> warn_of_joined_names([mx.sym.var("a").graph.outputs, mx.sym.var("b").graph.outputs])
    """
    if not _repeated or len(branches) < 2:
        return
    layers: dict[str, Application] = {}
    known: set[int] = set()
    for branch in branches:
        nodes = [node for node in _nodes_before(branch) if id(node) not in known]
        own: dict[str, Application] = {}
        for node in nodes:
            if isinstance(node, Application) and node.name in _repeated:
                shared = layers.get(node.name)
                names = _own_variables(node)
                if shared is not None and names and not _same_variables(node, shared):
                    _warn(node, shared, names)
                own.setdefault(node.name, node)
        known.update(map(id, nodes))
        layers.update({name: node for name, node in own.items() if name not in layers})


def _compare(node: Application, names: Sequence[str], before: Iterable[Node]) -> None:
    for other in before:
        if (
            isinstance(other, Application)
            and other.name == node.name
            and set(names) & set(_own_variables(other))
        ):
            _warn(node, other, names)
            return


def _own_variables(node: Application) -> list[str]:
    return [
        entry.node.name
        for entry in node.inputs
        if entry.node.is_variable and entry.node.name.startswith(f"{node.name}_")
    ]


def _same_variables(one: Application, other: Application) -> bool:
    return {id(entry.node) for entry in one.inputs if entry.node.is_variable} <= {
        id(entry.node) for entry in other.inputs
    }


def _warn(node: Application, other: Application, names: Sequence[str]) -> None:
    warn_user(
        f"sym: {other.operator.name} {other.name!r} and {node.operator.name} {node.name!r} have one name, and share "
        f"{', '.join(map(repr, names))}. Give one of them another name; or, if they are to share, give both the same "
        "variables."
    )


def _nodes_before(entries: Iterable[Entry]) -> list[Node]:
    """Return the nodes that these entries are computed from, in any order."""
    found = [entry.node for entry in entries]
    seen = set(map(id, found))
    for node in found:  # it grows
        for entry in node.inputs:
            if id(entry.node) not in seen:
                seen.add(id(entry.node))
                found.append(entry.node)
    return found
