"""Arithmetic on lists: PyTorch's functions and the public ones give the same numbers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from rebind._torch import foreach
from rebind._torch.private import USES

HALF = torch.tensor(0.5)
_ROWS: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("abs neg_ sign sqrt sqrt_ zero_", [()]),
    ("add add_ sub sub_ div div_ mul mul_", [("x",), (0.5,), ([0.5, 2.0],)]),
    ("add_ div div_ mul mul_", [(torch.tensor(0.5),)]),
    ("copy_ maximum_", [("x",)]),
    ("clamp_max_ clamp_min clamp_min_", [(0.5,)]),
    ("addcdiv_ addcmul addcmul_", [("x", "y"), ("x", "y", -0.5)]),
    ("lerp_", [("x", 0.25)]),
    ("norm", [(), (2, torch.float64), (float("inf"),)]),
]
#: Functions, and what else each is given; ``x`` and ``y`` are lists of tensors.
CASES = [(name, case) for names, cases in _ROWS for name in names.split() for case in cases]


def some(seed: int, dtype: torch.dtype) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.rand(shape, generator=generator).add_(0.1).to(dtype) for shape in ((3, 2), ())]


def called(function: Any, arguments: tuple[Any, ...], dtype: torch.dtype, **keywords: Any) -> list[Tensor]:
    tensors, given = some(0, dtype), {"x": some(1, dtype), "y": some(2, dtype)}
    filled = [given[each] if isinstance(each, str) else each for each in arguments]
    found = function(tensors, *filled, **keywords)
    return [*tensors, *(found if isinstance(found, tuple) else ())]


def test_all_have_a_case() -> None:
    assert {name for name, _ in CASES} == {*foreach.__all__}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16], ids=str)
@pytest.mark.parametrize(("name", "arguments"), CASES)
def test_public_forms_give_the_same_numbers(
    name: str, arguments: tuple[Any, ...], dtype: torch.dtype
) -> None:
    chosen, public = getattr(foreach, name), USES[f"torch._foreach_{name}"].public
    wanted = called(chosen, arguments, dtype)
    for each, expected in zip(called(public, arguments, dtype), wanted, strict=True):
        assert each.dtype is expected.dtype and torch.equal(each, expected)


@pytest.mark.parametrize("name", ["add", "add_"])
def test_a_factor_has_a_name(name: str) -> None:
    public = USES[f"torch._foreach_{name}"].public
    wanted = called(getattr(foreach, name), ("x",), torch.float32, alpha=-0.5)
    assert all(map(torch.equal, called(public, ("x",), torch.float32, alpha=-0.5), wanted))
