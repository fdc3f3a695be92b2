"""Calls that make layers, as their text has them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any, NamedTuple

from torch import nn

__all__ = ["Call", "in_loops", "is_number", "parsed"]

#: From how many on layers that are equal, or that differ in a number that grows evenly, are made by a loop.
_FEWEST_EQUAL, _FEWEST_GROWING = 3, 5


class Call(NamedTuple):
    """A call that makes a layer: the first arguments are by position; `defaults` are of those that may be absent."""

    function: str
    arguments: dict[str, str]
    positional: int
    defaults: Mapping[str, str]

    def __str__(self) -> str:
        items = list(self.arguments.items())
        by_name = [f"{name}={text}" for name, text in items[self.positional :]]
        return f"{self.function}({', '.join([*(text for _, text in items[: self.positional]), *by_name])})"


def parsed(line: str) -> Call | None:
    """Return the call of a line that makes a layer; None for lines of other kinds.

    >>> call = parsed("self.conv = nn.Conv2d(3, 8, kernel_size=1)")
    >>> call.arguments, call.positional, call.defaults["stride"]
    ({'in_channels': '3', 'out_channels': '8', 'kernel_size': '1'}, 2, '1')
    """
    head, _, text = line.partition(" = ")
    if not head.startswith("self.") or not text.endswith(")"):
        return None
    tree = ast.parse(text, mode="eval").body
    if not isinstance(tree, ast.Call):
        return None
    function = ast.unparse(tree.func)
    arguments = [*tree.args, *(keyword.value for keyword in tree.keywords)]
    texts = [ast.get_source_segment(text, argument) or "" for argument in arguments]
    names = [
        *_positional_names(function)[: len(tree.args)],
        *(keyword.arg or "" for keyword in tree.keywords),
    ]
    if len(names) < len(texts):
        return None
    return Call(function, dict(zip(names, texts, strict=True)), len(tree.args), _defaults(function))


def _layer(function: str) -> Any:
    name = function.removeprefix("nn.")
    return nn.BatchNorm2d if name == "BatchNorm" else getattr(nn, name, None) if "nn." in function else None


def _positional_names(function: str) -> list[str]:
    layer = _layer(function)
    return [] if layer is None else list(inspect.signature(layer).parameters)


def _defaults(function: str) -> dict[str, str]:
    """Return the numbers that arguments are when they are not given, in their order."""
    layer = _layer(function)
    parameters = {} if layer is None else inspect.signature(layer).parameters
    return {
        name: repr(parameter.default)
        for name, parameter in parameters.items()
        if isinstance(parameter.default, int | float)
    }


def is_number(text: str) -> bool:
    """Whether a text is a number, or a tuple."""
    try:
        return isinstance(ast.literal_eval(text), int | float | tuple)
    except (ValueError, SyntaxError):
        return False


def in_loops(calls: Sequence[Call]) -> Iterator[str]:
    """Yield the arguments of a sequence of layers; many that are equal are made by a loop.

    >>> list(in_loops([Call("Unit", {"n": str(n)}, 1, {}) for n in (3, 8, 8, 8, 10, 12, 14, 16)]))
    ['Unit(3)', '*(Unit(8) for _ in range(3))', 'Unit(10)', 'Unit(12)', 'Unit(14)', 'Unit(16)']
    >>> list(in_loops([Call("Unit", {"n": str(n)}, 1, {}) for n in (3, 4, 5, 6, 7)]))
    ['*(Unit(n) for n in range(3, 8))']
    """
    position = 0
    while position < len(calls):
        text, length = _loop(calls[position:]) or (str(calls[position]), 1)
        yield text
        position += length


def _loop(calls: Sequence[Call]) -> tuple[str, int] | None:
    """Return a loop that makes the first calls, and how many it makes."""
    first = calls[0]
    equal = sum(1 for _ in takewhile(lambda call: call == first, calls))
    if equal >= _FEWEST_EQUAL:
        return f"*({first} for _ in range({equal}))", equal
    for name in first.arguments:
        numbers = _growing(calls, name)
        if len(numbers) >= _FEWEST_GROWING:
            looped = first._replace(arguments=first.arguments | {name: "n"})
            return f"*({looped} for n in {numbers})", len(numbers)
    return None


def _growing(calls: Sequence[Call], name: str) -> range:
    """Return the numbers of one argument as far as they grow evenly, and nothing else changes."""
    without = [call._replace(arguments=call.arguments | {name: ""}) for call in calls]
    count = sum(1 for _ in takewhile(lambda call: call == without[0], without))
    texts = takewhile(str.isdigit, (call.arguments[name] for call in calls[:count]))
    numbers = list(map(int, texts))
    steps = [after - before for before, after in pairwise(numbers)]
    if not steps or steps[0] <= 0:
        return range(0)
    even = sum(1 for _ in takewhile(lambda step: step == steps[0], steps))
    return range(numbers[0], numbers[even] + steps[0], steps[0])
