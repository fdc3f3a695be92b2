"""Times of backward by operator, where autograd runs it: from hooks on the functions that an operator has recorded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from torch import Tensor
from torch.autograd.graph import Node as GradientFunction

from .recording import Slice, now

__all__ = ["functions_between", "gradient_functions", "time_backward"]


def functions_between(
    last: Collection[GradientFunction], boundary: Collection[GradientFunction]
) -> list[GradientFunction]:
    """Return the functions through which backward goes from those of an operator's outputs to those of its inputs.

    >>> import torch
    >>> x = torch.ones(2, requires_grad=True) * 2
    >>> y = (x.exp() + 1).sin()
    >>> sorted(each.name() for each in functions_between([y.grad_fn], [x.grad_fn]))
    ['AddBackward0', 'ExpBackward0', 'SinBackward0']
    """
    found: dict[GradientFunction, None] = {}
    waiting = list(last)
    while waiting:
        function = waiting.pop()
        if function in found or function in boundary or hasattr(function, "variable"):  # of a leaf
            continue
        found[function] = None
        waiting += [each for each, _ in function.next_functions if each is not None]
    return list(found)


def gradient_functions(arrays: Iterable[object]) -> set[GradientFunction]:
    """Return the functions that autograd has recorded last for arrays.

    >>> import torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> [each.name() for each in gradient_functions([x, x.exp(), None])]
    ['ExpBackward0']
    """
    return {each.grad_fn for each in arrays if isinstance(each, Tensor) and each.grad_fn is not None}


class _Call:
    """The backward part of one call of an operator: when its function that runs began, and whether one has run."""

    __slots__ = ("begin", "has_run")

    def __init__(self) -> None:
        self.begin, self.has_run = 0.0, False


def time_backward(
    functions: Collection[GradientFunction],
    like: Slice,
    record: Callable[[Slice, bool], None],
    clock: Callable[[], float] = now,
    begin: Callable[[], None] = lambda: None,
) -> None:
    """Have backward call `begin` and record when the functions of a call run, as slices like one without times.

    >>> import torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> y = x.exp().sum()
    >>> functions = functions_between([y.grad_fn], [])
    >>> time_backward(functions, Slice("operator", "e", 0.0, 0.0), lambda found, continues: print(continues))
    >>> y.backward()
    False
    True
    """
    call = _Call()

    def before(_: Any) -> None:
        begin()
        call.begin = clock()

    def after(_: Any, __: Any) -> None:
        record(Slice(like.category, like.name, call.begin, clock(), like.statistic, "backward"), call.has_run)
        call.has_run = True

    for function in functions:
        function.register_prehook(before)
        function.register_hook(after)
