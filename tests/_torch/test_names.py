"""PyTorch's private names are in `rebind._torch`, and nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import rebind

SOURCE = Path(rebind.__file__).parent
#: Operators that are oneDNN's, or another part's of PyTorch, without an underscore.
_INTERNAL = re.compile(r"torch\.ops\.(mkldnn|onednn|quantized|aten\.mkldnn_\w*)(\.|$)")
_UNDERSCORE = re.compile(r"_(?!_)\w")
#: Attributes of what PyTorch makes, but for those that classes of ours have too.
_ATTRIBUTES = {
    name
    for kind in (torch.Tensor, torch.UntypedStorage, torch.autograd.Variable, torch.autograd.graph.Node)
    for name in (*dir(kind), "_execution_engine", "_schema")
    if _UNDERSCORE.match(name)
} - {"_indices", "_name", "_values"}


def _is_private(name: str) -> bool:
    return any(map(_UNDERSCORE.match, name.split(".")[1:])) or _INTERNAL.match(name) is not None


def _imports(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the name in the file and the name in PyTorch of what is imported from there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name.split(".")[0] == "torch":
                    yield node.lineno, each.asname or "torch", each.name
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            for each in node.names:
                if node.module.split(".")[0] == "torch":
                    yield node.lineno, each.asname or each.name, f"{node.module}.{each.name}"


def _attribute(node: ast.Attribute, known: dict[str, str]) -> str | None:
    """Return the private name that an attribute is, if it is one of PyTorch's."""
    names: list[str] = []
    value: ast.expr = node
    while isinstance(value, ast.Attribute):
        names.insert(0, value.attr)
        value = value.value
    first = value.id if isinstance(value, ast.Name) else ""
    if first in known:
        name = ".".join((known[first], *names))
        return name if _is_private(name) else None
    is_ours = first in ("self", "cls") and len(names) == 1
    return node.attr if node.attr in _ATTRIBUTES and not is_ours else None


def _texts(call: ast.Call, known: dict[str, str]) -> Iterator[str]:
    """Yield private names that a call is given as texts: ``getattr(torch, "_x")``, ``attrgetter("_version")``."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    texts = [
        each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]
    if function in ("getattr", "hasattr", "setattr", "delattr"):
        first = ast.unparse(call.args[0])
        of_torch = first.split(".")[0] in known
        yield from (
            text for text in texts[:1] if _UNDERSCORE.match(text) and (of_torch or text in _ATTRIBUTES)
        )
    elif function in ("attrgetter", "methodcaller", "import_module", "__import__", "resolve_name"):
        parts = [part for text in texts for part in text.split(".")]
        yield from (part for part in parts if part in _ATTRIBUTES)
        yield from (text for text in texts if text.startswith("torch.") and _is_private(text))


def private_names(source: str) -> list[str]:
    """Return the private names of PyTorch in a module, with their lines."""
    tree = ast.parse(source)
    imports = list(_imports(tree))
    known = {own: "torch" if own == "torch" else name for _, own, name in imports}
    found = {(line, name) for line, _, name in imports if _is_private(name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (name := _attribute(node, known)) is not None:
            found.add((node.lineno, name))
        elif isinstance(node, ast.Call):
            found |= {(node.lineno, text) for text in _texts(node, known)}
    # ``torch._C`` is in ``torch._C._nn``.
    names = {(line, name) for line, name in found if not any(
        line == other and longer.startswith(f"{name}.") for other, longer in found
    )}  # fmt: skip
    return [f"{line}: {name}" for line, name in sorted(names)]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import torch\ntorch._foreach_add_(x, y)", ["2: torch._foreach_add_"]),
        ("import torch as t\nt._C._nn.gelu(x)", ["2: torch._C._nn.gelu"]),
        ("import torch.nn.functional as F\nF._verify(x)", ["2: torch.nn.functional._verify"]),
        ("import torch._dynamo.config as config", ["1: torch._dynamo.config"]),
        ("from torch._ops import OpOverload", ["1: torch._ops.OpOverload"]),
        ("from torch import Tensor, _VF", ["1: torch._VF"]),
        ("from torch.utils import _pytree as p", ["1: torch.utils._pytree"]),
        ("x._version", ["1: _version"]),
        ("self.x._base", ["1: _base"]),
        ("f(x)._is_view()", ["1: _is_view"]),
        ("f(x).untyped_storage()._cdata", ["1: _cdata"]),
        ("x._execution_engine.run_backward", ["1: _execution_engine"]),
        ("import torch\ngetattr(torch, '_lazy_clone')", ["2: _lazy_clone"]),
        ("hasattr(x, '_is_zerotensor')", ["1: _is_zerotensor"]),
        ("operator.attrgetter('a', '_version')", ["1: _version"]),
        ("import_module('torch._inductor.config')", ["1: torch._inductor.config"]),
        ("import torch\ntorch.ops.mkldnn.f(x)", ["2: torch.ops.mkldnn.f"]),
        ("import torch\ntorch.ops.aten.mkldnn_rnn_layer(x)", ["2: torch.ops.aten.mkldnn_rnn_layer"]),
        ("import torch\ntorch.ops.aten.add(x, torch.__version__)", []),
        ("from .._torch import foreach\nself._base = x._values\nf('_version')", []),
    ],
)
def test_private_names_are_seen(source: str, names: list[str]) -> None:
    assert private_names(source) == names


def test_private_names_are_in_one_package() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{name}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.parent != SOURCE / "_torch"
        for name in private_names(path.read_text("utf-8"))
    ]
    assert not found, (
        "a private name of PyTorch belongs into rebind/_torch, with a probe, a public form and a reason"
    )
