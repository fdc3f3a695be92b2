"""Shapes and types of a network's values, and numbers to try for the sizes that are free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count, islice
from typing import NamedTuple

import torch

from ..dtypes import DTypeLike
from ..errors import MXNetError
from ..graph import Application, Entry, Graph, infer_shapes, infer_types
from ..ndarray import NDArray
from ..shapes import Shape

__all__ = ["Facts", "network_facts"]

Types = Mapping[Entry, torch.dtype]
Shapes = Mapping[Entry, Shape]

#: By the axis (the last number for all further ones) what numbers to try are multiples of: networks halve sizes.
_MULTIPLES = (6, 8, 8, 8)


class Facts(NamedTuple):
    """What is known of each entry.

    Attributes
    ----------
    shapes
        With 0 where a size is free.
    sizes, other_sizes
        With numbers in place of the free sizes, those that differ having different ones; empty where none were found
        that fit. Sizes that are equal in both are the same size.
    types
        Types.
    """

    shapes: Shapes
    sizes: Shapes
    other_sizes: Shapes
    types: Types


def network_facts(
    graph: Graph,
    params: Mapping[str, NDArray],
    shapes: Mapping[str, Shape] | None,
    types: Mapping[str, DTypeLike] | None,
) -> Facts:
    """Return what follows from the parameters, and from what is given for the inputs.

    Raises
    ------
    MXNetError
        When `shapes` contradict each other.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.concat(mx.sym.var("x"), mx.sym.var("y"), dim=0)
    >>> facts = network_facts(net.graph, {}, {"x": (0, 2), "y": (0, 2)}, None)
    >>> [facts.sizes[Entry(node)] for node in net.graph.variables]
    [(6, 2), (30, 2)]
    """
    own_types: dict[str, DTypeLike | None] = {name: value.dtype for name, value in params.items()}
    known = infer_types(graph, own_types | dict(types or {}), torch.float32).entries
    own_shapes = {name: value.shape for name, value in params.items()}
    wanted = {**_guessed(graph, own_shapes), **(shapes or {}), **own_shapes}
    free = infer_shapes(graph, wanted, known).entries
    if all(map(all, wanted.values())):
        return Facts(free, free, free, known)
    try:
        # Other distances in the second, so that what is equal by chance in the first is not in it.
        sizes, others = (
            _tried(graph, wanted, known, factors) for factors in (_factors(1, 1), _factors(17, 2))
        )
    except MXNetError:
        if shapes is not None:
            raise
        sizes = others = {}  # sizes that fit are not known; what must be traced asks for `shapes`
    return Facts(free, sizes, others, known)


def _guessed(graph: Graph, of_params: Mapping[str, Shape]) -> dict[str, Shape]:
    """Return half-known shapes of inputs that follow from the first layer's kernel."""
    found: dict[str, Shape] = {}
    for node in graph.nodes:
        if isinstance(node, Application) and node.operator.name == "Convolution":
            data, weight = node.inputs[:2]
            shape = of_params.get(weight.name)
            layout = node.params.layout
            if data.node.is_variable and shape and not (layout and layout.endswith("C")):
                found[data.name] = (0, shape[1] * node.params.num_group, *(0 for _ in node.params.kernel))
    return found


def _factors(first: int, step: int) -> Iterator[int]:
    """Yield numbers that are 1 or have no divisors but themselves and 1, without 2 and 3."""
    return islice((n for n in count(first, 2) if n != 3 and all(n % k for k in range(3, n))), 0, None, step)


def _tried(graph: Graph, wanted: Mapping[str, Shape], types: Types, factors: Iterator[int]) -> Shapes:
    """Return the shape of each entry with numbers for the free sizes of the inputs, a new one for each that is."""
    shapes = dict(wanted)
    used: dict[int, list[int]] = {}
    found = infer_shapes(graph, shapes, types)
    for variable in map(Entry, graph.variables):
        shape = wanted.get(variable.name, ())
        for axis, size in enumerate(shape):
            known = found.of(variable) or shape
            if size or known[axis]:
                continue
            multiple = _MULTIPLES[min(axis, 3)]
            # A new one, unless this size must be one of those before it.
            candidates = [multiple * next(factors), *used.setdefault(multiple, [])]
            for number in candidates:
                shapes[variable.name] = (*known[:axis], number, *known[axis + 1 :])
                try:
                    found = infer_shapes(graph, shapes, types)
                    break
                except MXNetError:
                    if number == candidates[-1]:
                        raise
            used[multiple].append(number)
    return found.entries
