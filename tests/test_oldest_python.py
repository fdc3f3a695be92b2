"""The sources, as Python 3.10 reads them: what mypy, which checks the rest for that version, does not see."""

import ast
from pathlib import Path

import rebind

SOURCES = sorted(Path(rebind.__file__).parent.rglob("*.py"))


def test_no_named_tuple_or_typed_dict_has_another_base() -> None:
    found = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 10))):
            if isinstance(node, ast.ClassDef) and len(node.bases) > 1:
                names = [base.id for base in node.bases if isinstance(base, ast.Name)]
                found += [f"{path.name}: {node.name}"] * bool({"NamedTuple", "TypedDict"} & set(names))
    assert not found
