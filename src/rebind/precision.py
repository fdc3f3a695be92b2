"""The rules of mixed precision: which operators are computed in a 16-bit floating type, and which in float32."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import torch
from torch import Tensor

__all__ = ["LOW_TYPES", "Kind", "Rules", "active_rules", "set_active_rules"]

LOW_TYPES = frozenset({torch.float16, torch.bfloat16})

#: ``low``: in the 16-bit type; ``full``: in float32; ``widest``: in the widest type of the inputs; ``any``: in whatever
#: type the inputs have.
Kind: TypeAlias = Literal["low", "full", "widest", "any"]


@dataclass(frozen=True)
class Rules:
    """The type that each operator is computed in; one that is not listed takes any type.

    Attributes
    ----------
    target
        The 16-bit type.
    low, full, widest
        Operators, by their first name.
    conditional
        For an operator, pairs of a parameter and its values for which float32 is used.
    """

    target: torch.dtype
    low: frozenset[str]
    full: frozenset[str]
    widest: frozenset[str]
    conditional: Mapping[str, Sequence[tuple[str, frozenset[str]]]] = field(default_factory=dict)

    def kind(self, name: str, params: Mapping[str, object]) -> Kind:
        """Return the kind of the operator `name` with these parameters.

        >>> rules = Rules(torch.float16, frozenset({"dot"}), frozenset({"exp"}), frozenset({"Concat"}))
        >>> [rules.kind(name, {}) for name in ("dot", "exp", "Concat", "relu")]
        ['low', 'full', 'widest', 'any']
        """
        # First: a condition is the exception for this one call.
        if any(str(params.get(key)) in values for key, values in self.conditional.get(name, ())):
            return "full"
        if name in self.low:
            return "low"
        if name in self.full:
            return "full"
        return "widest" if name in self.widest else "any"

    def cast(
        self, kind: Kind, tensors: Iterable[Tensor | None], fixed: Iterable[bool]
    ) -> list[Tensor | None]:
        """Return inputs in the types that an operator of `kind` takes; `fixed` ones are left as they are.

        >>> rules = Rules(torch.float16, frozenset({"dot"}), frozenset({"exp"}), frozenset({"Concat"}))
        >>> weight, count = rules.cast("low", [torch.ones(2), torch.ones(2)], fixed=[False, True])
        >>> weight.dtype, count.dtype
        (torch.float16, torch.float32)
        """
        tensors = list(tensors)
        floats = [t for t in tensors if t is not None and t.is_floating_point()]
        if kind == "any" or not floats:
            return tensors
        convert: Callable[[Tensor], Tensor]
        if kind == "low":
            convert = lambda tensor: tensor.to(self.target)  # noqa: E731
        # float64 stays: only types below float32 are raised.
        elif kind == "full" or len({tensor.dtype for tensor in floats}) > 1:
            convert = lambda tensor: tensor.float() if tensor.dtype in LOW_TYPES else tensor  # noqa: E731
        else:
            return tensors
        return [
            tensor if is_fixed or tensor is None or not tensor.is_floating_point() else convert(tensor)
            for tensor, is_fixed in zip(tensors, fixed, strict=True)
        ]


_active: list[Rules | None] = [None]


def active_rules() -> Rules | None:
    """Return the rules by which each call of an operator converts its inputs; None without mixed precision.

    >>> print(active_rules())
    None
    """
    return _active[0]


def set_active_rules(rules: Rules | None) -> Rules | None:
    """Let each call of an operator convert its inputs by `rules`; return the previous ones.

    >>> rules = Rules(torch.float16, frozenset({"dot"}), frozenset({"exp"}), frozenset({"Concat"}))
    >>> before = set_active_rules(rules)
    >>> set_active_rules(before) is rules
    True
    """
    before, _active[0] = _active[0], rules
    return before
