"""A warning when two layers have one name: their weights have one name too, and are one when the network is bound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..checks import warn_user
from .graph import Application, Entry, Node

__all__ = ["warn_of_joined_names", "warn_of_shared_names"]

# A walk over the network for each layer would make composition quadratic. It is needed only where a layer of the same
# name can be among the nodes before: where the oldest of these was made before the newest such layer. A network that
# is built again, from variables of its own, is younger as a whole.
_newest: dict[str, int] = {}  # by name, the birth of the last layer that made parameters of its own
_MOST_NAMES = 2**16  # automatic names never come again: an old one that is forgotten misses nothing


class _Repeated:
    """The newest layer whose name a later layer has again."""

    birth = -1


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
        before = _newest.get(node.name)
        if len(_newest) >= _MOST_NAMES:
            # Whole rather than by age: it happens once in a very long program.
            _newest.clear()
        _newest[node.name] = node.birth
        if before is not None:
            _Repeated.birth = max(_Repeated.birth, before)
            if any(entry.node.oldest <= before for entry in given):
                _compare(node, [each.name for each in made], _nodes_before(given))
    # Without parameters of its own a layer can only bring together branches that clash with each other.
    elif len(given) > 1:
        warn_of_joined_names([[entry] for entry in given if not entry.node.is_variable])


def warn_of_joined_names(branches: Sequence[Iterable[Entry]]) -> None:
    """Warn when branches that come together have layers of one name with parameters of their own.

    >>> import rebind as mx
    >>> warn_of_joined_names([mx.sym.var("a").graph.outputs, mx.sym.var("b").graph.outputs])
    """
    branches = [list(branch) for branch in branches]
    if len(branches) < 2 or all(e.node.oldest > _Repeated.birth for branch in branches for e in branch):
        # None of the branches is old enough to hold a layer whose name came again.
        return
    layers: dict[str, Application] = {}
    known: set[int] = set()
    for branch in branches:
        # What an earlier branch holds too is one node, which clashes with nothing.
        nodes = [node for node in _nodes_before(branch) if id(node) not in known]
        own: dict[str, Application] = {}
        for node in nodes:
            if isinstance(node, Application) and node.name in _newest:
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
