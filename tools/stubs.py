"""Write the stubs of generated functions and methods: ``python tools/stubs.py`` (``make stubs``).

`nd.X`, `sym.X`, the methods of `NDArray` and `Symbol` and the functions of `random` and `contrib` are made at run time
from the table of operators, where neither a type checker nor an editor sees them. Beside each module that holds such
functions stands a ``.pyi`` with their signatures, first lines and shapes. With ``--check`` nothing is written, and the
exit code is 1 where a stub differs from what the table gives.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import torch

import rebind as mx
from rebind.graph.symbol_json import HIDDEN_KEYS
from rebind.ops import OPERATORS, Operator
from rebind.ops.frontend import NAMESPACES, plain_type, split_docstring
from rebind.ops.methods import FLUENT_METHODS
from rebind.params import Parameter

SOURCE = Path(mx.__file__).parent
_BASIC = {int: "int", float: "float", bool: "bool", str: "str", torch.dtype: "DTypeLike", type(None): "None"}


@dataclass(frozen=True)
class Front:
    """What differs between the stubs of arrays and those of symbols."""

    package: str
    short: str
    kind: type
    #: The keywords of every function.
    extra: tuple[str, ...]
    #: Whether an input may be left out, as for symbols, where it becomes a variable.
    inputs_follow: bool

    @property
    def name(self) -> str:
        """The class of inputs."""
        return self.kind.__name__

    def returned(self, op: Operator) -> str:
        """Return the type of a call's result; where parameters decide how many outputs there are, one is usual."""
        if self.inputs_follow:
            return self.name
        outputs = op.record.outputs
        if callable(outputs) or op.record.visible is not None or not outputs:
            return f"{self.name} | Any"
        return self.name if len(outputs) == 1 else f"list[{self.name}]"


ARRAYS = Front(
    "ndarray", "nd", mx.nd.NDArray,
    ("out: NDArray | Sequence[NDArray] | None = None", "name: str | None = None"), inputs_follow=False,
)  # fmt: skip
SYMBOLS = Front(
    "symbol", "sym", mx.sym.Symbol,
    (
        "name: str | None = None", "attr: Mapping[str, str] | None = None", "**attributes: Unpack[_Attributes]",
    ),
    inputs_follow=True,
)  # fmt: skip


def type_text(annotation: object) -> str:
    """Return the Python type of a parameter, as a caller gives it.

    >>> type_text(tuple[int, ...] | None)
    'int | Sequence[int] | None'
    """
    annotation = plain_type(annotation)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, arguments))}]"
    if origin in (typing.Union, types.UnionType):
        return " | ".join(dict.fromkeys(type_text(argument) for argument in arguments))
    if origin is tuple:
        element = type_text(arguments[0])
        return f"{element} | Sequence[{element}]"
    return _BASIC[typing.cast("type", annotation)]


def parameter_text(parameter: Parameter, *, bare: bool) -> str:
    """Return a parameter in a signature; `bare` is whether it may stand without a default."""
    # A device is what callers give for the text that files hold.
    kind = "Device | str" if parameter.name == "ctx" else type_text(parameter.annotation)
    if parameter.required:
        return f"{parameter.name}: {kind}" + ("" if bare else " = ...")
    if parameter.default is None and "None" not in kind.split(" | "):
        kind += " | None"
    return f"{parameter.name}: {kind} = {default_text(parameter.default)}"


def default_text(value: object) -> str:
    """Return a default as a stub can show it, else ``...``."""
    if isinstance(value, float):
        return repr(value) if isfinite(value) else "..."
    if value is None or isinstance(value, (int, str)):
        return repr(value)
    if isinstance(value, tuple) and all(default_text(item) != "..." for item in value):
        return repr(value)
    return "..."


def operator_arguments(op: Operator, front: Front, *, method: bool = False) -> list[str]:
    """Return the arguments of `nd.X`, `sym.X` or a method in the text of a signature."""
    signature, parameters = op.signature, list(op.signature.parameters.values())
    if signature.variadic:
        several = f"*{signature.input_names[0]}: {front.name} | Sequence[{front.name}]"
        found = [several, *(parameter_text(p, bare=True) for p in parameters), *front.extra]
    else:
        inputs = signature.inputs[1:] if method else signature.inputs
        missing = [entry.optional or front.inputs_follow for entry in inputs]
        found = [
            f"{entry.name}: {front.name}" + (" | None = None" if may_miss else "")
            for entry, may_miss in zip(inputs, missing, strict=True)
        ]
        bare = not any(missing)
        for p in parameters:
            bare = bare and p.required
            found.append(parameter_text(p, bare=bare))
        found += ["*", *front.extra]
    if op.depends_on_parameters:  # `Custom`: its inputs and parameters are the user's
        found = [text for text in found if not text.startswith("**")] + ["**kwargs: Any"]
    return ["self", *found] if method else found


def description(op: Operator) -> str:
    """Return the first line of an operator's help, and its shapes."""
    summary, sections = split_docstring(
        inspect.cleandoc(op.kernels.function.__doc__ or f"The operator {op.name}.")
    )
    first = summary.partition("\n\n")[0]
    return first + (f"\n\nShapes\n------\n{sections['Shapes']}" if "Shapes" in sections else "")


def definition(name: str, arguments: Iterable[str], returned: str, doc: str, indent: str = "") -> str:
    """Return the text of one function."""
    inner = indent + "    "
    raw = "r" if "\\" in doc else ""
    lines = [f"{line and inner}{line}" for line in doc.splitlines()]
    end = '"""' if len(lines) == 1 else f'\n{inner}"""'
    body = f'{inner}{raw}"""{chr(10).join(lines).lstrip()}{end}'
    listed = "".join(f"{inner}{argument},\n" for argument in arguments)
    return f"{indent}def {name}(\n{listed}{indent}) -> {returned}:\n{body}\n"


def stub(front: Front, what: str, body: str) -> str:
    """Return a whole stub: its docstring, the imports that `body` needs, and `body`."""
    known = {
        "from collections.abc import": ("Mapping", "Sequence"),
        "from typing import": ("Any", "Literal", "TypedDict"),
        "from typing_extensions import": ("Self", "Unpack"),
        "from ..device import": ("Device",),
        "from ..dtypes import": ("DTypeLike",),
        "from .base import": ("ArrayBase", "SymbolBase"),
        f"from .{front.package} import": (front.name,),
    }
    if "_Attributes" in body:
        keys = "".join(f"    {key}: str | float\n" for key in sorted(HIDDEN_KEYS))
        doc = '    """Attributes of a node that need no underscores."""\n\n'
        body = f"class _Attributes(TypedDict, total=False):\n{doc}{keys}\n{body}"
    words = set(re.findall(r"\w+", re.sub(r'""".*?"""', "", body, flags=re.DOTALL)))
    lines = [
        f"{start} {', '.join(name for name in names if name in words)}\n"
        for start, names in known.items()
        if words & {*names}
    ]
    header = f'"""{what}\n\nWritten by ``make stubs`` from the table of operators; not to be edited.\n"""\n\n'
    return f"{header}{''.join(lines)}\n{body.rstrip()}\n"


def generated(front: Front) -> str:
    """Return the stub with each operator once, and with its other names."""
    text = ""
    written: dict[int, str] = {}
    aliases = []
    for name, op in OPERATORS.items():
        if id(op) in written:
            aliases.append(f"{name} = {written[id(op)]}")
            continue
        written[id(op)] = name
        text += definition(name, operator_arguments(op, front), front.returned(op), description(op)) + "\n"
    listed = "".join(f'    "{name}",\n' for name in OPERATORS)
    text += f"{chr(10).join(aliases)}\n\n__all__ = [\n{listed}]\n"
    return stub(front, f"A function on {front.name}s for each operator, under each of its names.", text)


def namespace(front: Front, space: str) -> str:
    """Return the stub of a namespace: operators by their short names, and what is written by hand."""
    module = getattr(getattr(mx, front.short), space)
    prefix = f"_{space}_"
    short = {name.removeprefix(prefix) for name in OPERATORS if name.startswith(prefix)}
    written: dict[str, list[str]] = {}
    for name in module.__all__:
        if getattr(module, name) is not module.FUNCTIONS.get(name):
            above, _, where = getattr(module, name).__module__.rpartition(".")
            # Below a namespace that is a package, else beside it.
            dots = ".." if _is_package(module) and above != module.__name__ else "."
            written.setdefault(dots + _FRONT_END_MODULES.get(where, where), []).append(name)
    text = "".join(
        f"from {where} import {name} as {name}\n" for where in sorted(written) for name in written[where]
    )
    text += f"from {'..' if _is_package(module) else '.'} import generated as _generated\n\n"
    hand = {name for names in written.values() for name in names}
    text += "".join(f"{name} = _generated.{prefix}{name}\n" for name in sorted(short - hand))
    return stub(front, f"`{front.short}.{space}`: the operators whose names begin with ``{prefix}``.", text)


def _is_package(module: types.ModuleType) -> bool:
    return module.__name__ == module.__package__


#: Functions that are made elsewhere than where they are.
_FRONT_END_MODULES = {"front_ends": "updates"}


def methods(front: Front) -> str:
    """Return the stub of the methods that are operators."""
    base = "SymbolBase" if front.inputs_follow else "ArrayBase"
    text = f'class FluentMethods({base}):\n    """A method for each operator of `FLUENT_METHODS`."""\n\n'
    for name in sorted(FLUENT_METHODS):
        # What a class writes by hand wins; a stub with both would contradict itself.
        if not hasattr(getattr(front.kind, name), "__wrapped__"):
            continue
        op = OPERATORS[name]
        # Their class is below the one that users hold, which it does not import.
        named = operator_arguments(op, front, method=True)
        arguments = [argument.replace(front.name, "Self") for argument in named]
        returned = front.returned(op).replace(front.name, "Self")
        text += definition(name, arguments, returned, description(op), "    ") + "\n"
    return stub(front, f"Operators as methods of {front.name}.", text)


def functions(front: Front, module: types.ModuleType, what: str) -> str:
    """Return the stub of functions that carry a signature, of `random` and of updates, and of others beside them."""
    imported = text = ""
    for name in module.__all__:
        function = getattr(module, name)
        if not hasattr(function, "__signature__"):  # written by hand
            imported += f"from .{function.__module__.rpartition('.')[2]} import {name} as {name}\n"
            continue
        doc = split_docstring(inspect.cleandoc(function.__doc__))[0].partition("\n\n")[0]
        text += definition(name, signature_arguments(function, front), front_type(function), doc) + "\n"
    return stub(front, what, f"{imported}\n{text}" if imported else text)


def signature_arguments(function: Callable[..., object], front: Front) -> Iterator[str]:
    """Yield the arguments of a function in the text of a signature."""
    keyword_only = False
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.VAR_KEYWORD and p.annotation is typing.Any:  # what every function takes
            yield from front.extra if keyword_only else ("*", *front.extra)
            continue
        if p.kind is p.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            yield "*"
        keyword_only = keyword_only or p.kind is p.VAR_POSITIONAL  # `*shape` separates as a bare star does
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        kind = _named_type(p.name, p.annotation)
        default = "" if p.default is p.empty else f" = {default_text(p.default)}"
        if p.default is None and "None" not in kind and kind != "Any":
            kind += " | None"
        yield f"{star}{p.name}: {kind}{default}"


def front_type(function: Callable[..., object]) -> str:
    """Return the type of a function's result."""
    return _named_type("", inspect.signature(function).return_annotation)


#: What keywords take whose annotation is left open.
_OPEN = {
    "dtype": "DTypeLike | None",
    "out": "NDArray | Sequence[NDArray] | None",
    "name": "str | None",
    "attr": "Mapping[str, str] | None",
}


def _named_type(name: str, annotation: object) -> str:
    if annotation is typing.Any:
        return _OPEN.get(name, "Any")
    text = inspect.formatannotation(annotation)
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)  # names as the stub imports them


def stubs() -> dict[Path, str]:
    """Return all stubs by path."""
    found: dict[str, str] = {}
    for front in (ARRAYS, SYMBOLS):
        package = getattr(mx, front.package)
        found[f"{front.package}/generated.pyi"] = generated(front)
        found[f"{front.package}/fluent.pyi"] = methods(front)
        random = f"`{front.short}.random`: functions that draw random numbers."
        found[f"{front.package}/random.pyi"] = functions(front, package.random, random)
        updates = f"Functions of `{front.short}.contrib` over update operators."
        found[f"{front.package}/updates.pyi"] = functions(front, package.updates, updates)
        for space in NAMESPACES:
            file = f"{space}/__init__" if _is_package(getattr(package, space)) else space
            found[f"{front.package}/{file}.pyi"] = namespace(front, space)
    return {SOURCE / path: text for path, text in found.items()}


def main(arguments: list[str] | None = None) -> int:
    """Write or check the stubs; return the exit code."""
    parser = argparse.ArgumentParser(description="Write the stubs of generated functions and methods.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail where a stub is out of date"
    )
    check = parser.parse_args(arguments).check
    found = stubs()
    stale = [
        path for path, text in found.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path in stale:
        print(f"{'out of date' if check else 'written'}: {path.relative_to(SOURCE.parent)}")
        if not check:
            path.write_text(found[path], encoding="utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
