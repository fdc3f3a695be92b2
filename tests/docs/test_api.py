"""The API reference has all public classes and functions, and its pages are in the index."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

import rebind as mx
from rebind.ops import OPERATORS

API = Path(__file__).parent.parent.parent / "docs" / "api"
DOCUMENTED = [
    importlib.import_module(name)
    for page in API.glob("*.md")
    for name in re.findall(r"automodule:: (\S+)", page.read_text(encoding="utf-8"))
]
NAMES = {id(getattr(module, name)) for module in DOCUMENTED for name in module.__all__}
#: What is public for rebind's own packages, or is one class of which the reference has a page.
INSIDE = {"executor"}


@pytest.mark.parametrize(
    "name", sorted({*mx.__all__, "contrib", "convert", "distributed", "gluon", "image"} - INSIDE)
)
def test_a_public_module_is_in_the_reference(name: str) -> None:
    module = getattr(mx, name)
    if not isinstance(module, ModuleType) or module.__name__.startswith("rebind.legacy"):
        return
    missing = [
        key
        for key in module.__all__
        if key not in OPERATORS
        and not key.startswith("_")
        and isinstance(getattr(module, key), type)
        and getattr(module, key).__module__.startswith("rebind")
        and id(getattr(module, key)) not in NAMES
    ]
    assert not missing


def test_the_index_lists_each_page() -> None:
    listed = set(re.findall(r"\((\w+)\.md\)", (API / "index.md").read_text(encoding="utf-8")))
    assert listed == {page.stem for page in API.glob("*.md")} - {"index"}
