"""How operators are declared that compilers do not look into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch

__all__ = ["opaque"]

F = TypeVar("F", bound=Callable[..., Any])


def opaque(schema: str, like: Callable[..., Any] | None = None, where: str = "cpu") -> Callable[[F], F]:
    """Make a function the CPU's form of an operator ``torch.ops.rebind.<name>``, which must not write to its inputs.

    It is declared with its types rather than by `torch.library.custom_op`, which puts 60 µs of Python around each call.

    Parameters
    ----------
    schema
        Name and types, as PyTorch writes them.
    like
        Returns empty tensors of the results' shapes, types and strides; it is given tensors without numbers. The
        function itself, where PyTorch knows that of all that it calls.
    where
        What it is the operator's form for; ``"default"``: for packed tensors too, which are not those of "cpu".

    Examples
    --------
    >>> @opaque("twice_for_a_docstring(Tensor data) -> Tensor")
    ... def twice(data):
    ...     return data * 2
    >>> torch.ops.rebind.twice_for_a_docstring(torch.ones(2))
    tensor([2., 2.])
    """
    name, _, types = schema.partition("(")
    name = f"rebind::{name}"
    torch.library.define(name, f"({types}")

    def declare(function: F) -> F:
        torch.library.register_fake(name, like or function)
        torch.library.impl(name, where, function)
        return function

    return declare
