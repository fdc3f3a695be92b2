"""How calls of operators are read, for arrays and for symbols alike: signatures, help, arguments."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentError
from ._spec import Operator

__all__ = ["bind_arguments", "documentation", "signature"]


def bind_arguments(
    op: Operator, args: Sequence[Any], kwargs: dict[str, Any], kind: type
) -> tuple[list[Any], dict[str, Any]]:
    """Split the arguments of a call into arrays (or symbols), in the operator's order, and parameters.

    `kind` is the class of the inputs, `NDArray` or `Symbol`. Inputs come first by position, then parameters, and
    each may come by name.
    """
    if op.variadic:
        items = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
        inputs = [item for item in items if isinstance(item, kind)]
        rest = items[len(inputs) :]
        given = dict(zip(op.order, rest, strict=False))
        named = {k: kwargs.pop(k) for k in [k for k, v in kwargs.items() if isinstance(v, kind)]}
        inputs += named.values()
        if any(isinstance(item, kind) for item in rest) or len(rest) > len(op.order):
            raise ArgumentError(f"{op.name}: takes {kind.__name__}s, then parameters; got {items!r}")
        return inputs, {**given, **kwargs}
    if len(args) > len(op.order):
        raise ArgumentError(
            f"{op.name}: takes at most {len(op.order)} arguments ({', '.join(op.order)}); got {len(args)}"
        )
    count = len(op.input_names)
    inputs = list(args[:count]) + [None] * (count - len(args))
    given = {name: value for name, value in zip(op.order[count:], args[count:], strict=False)}
    for i, name in enumerate(op.input_names):
        if name in kwargs:
            if inputs[i] is not None:
                raise ArgumentError(f"{op.name}: {name} is given twice")
            inputs[i] = kwargs.pop(name)
        value = inputs[i]
        if value is not None and not isinstance(value, kind):
            # A parameter where an absent optional input would stand: sym.Embedding(data, 10, 4) and the like.
            raise ArgumentError(f"{op.name}: {name} must be of class {kind.__name__}; got {value!r}")
    for name in given:
        if name in kwargs:
            raise ArgumentError(f"{op.name}: {name} is given twice")
    return inputs, {**given, **kwargs}



def signature(op: Operator, kind: type, extra: Sequence[str]) -> inspect.Signature:
    """Return the signature of `nd.X` or `sym.X`: inputs, parameters, then the keywords in `extra`.

    MXNet's callers write ``nd.clip(x, 0, 1)``: parameters may come by position after the inputs.
    """
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    arguments = []
    if op.variadic:
        arguments.append(
            inspect.Parameter(op.input_names[0], inspect.Parameter.VAR_POSITIONAL, annotation=kind)
        )
        positional = inspect.Parameter.KEYWORD_ONLY
    else:
        arguments += [
            inspect.Parameter(name, positional, default=None, annotation=kind) for name in op.input_names
        ]
    arguments += [
        inspect.Parameter(p.name, positional, default=p.default, annotation=p.annotation)
        for p in op.parameters.values()
    ]
    arguments += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any) for name in extra
    ]
    return inspect.Signature(arguments, return_annotation=kind)


def documentation(op: Operator, kind: str, extra: str) -> str:
    """Return the help text of `nd.X` or `sym.X`: the operator's docstring and a list of its parameters."""
    lines = [inspect.cleandoc(op.function.__doc__ or f"The operator {op.name}."), "", "Parameters", "----------"]
    if op.variadic:
        lines.append(f"*{op.input_names[0]} : {kind}s")
    for entry in op.inputs if not op.variadic else ():
        note = ", optional" if entry.optional else ""
        lines.append(f"{entry.name} : {kind}{note}{' (auxiliary state)' if entry.auxiliary else ''}")
    for p in op.parameters.values():
        lines.append(f"{p.name} : {p.type_text}{', required' if p.required else f', default {p.default!r}'}")
    return "\n".join([*lines, extra])
