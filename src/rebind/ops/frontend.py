"""How calls of operators are read, for arrays and symbols: signatures, help, arguments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Annotated, Any, TypeVar, get_args, get_origin

from ..checks import warn_user
from ..errors import ArgumentError, near_names
from ..first_use import OnFirstUse
from ._meanings import meaning
from .declaration import OPERATORS, Operator, Signature

__all__ = [
    "NAMESPACES", "bind_arguments", "documentation", "make_functions", "make_namespace", "plain_type", "signature",
    "split_docstring", "split_parameters", "warn_ignored",
]  # fmt: skip

Function = TypeVar("Function")

# Operators whose names begin so are also found in a namespace: `_linalg_gemm2` is `linalg.gemm2`.
NAMESPACES = ("contrib", "image", "linalg", "sparse")


def bind_arguments(
    op: Operator, args: Sequence[Any], kwargs: dict[str, Any], kind: type
) -> tuple[list[Any], dict[str, Any]]:
    """Split the arguments of a call into arrays (or symbols), in the operator's order, and parameters.

    `kind` is the class of the inputs, `NDArray` or `Symbol`. Inputs come first by position, then parameters, and
    each may come by name. `kwargs` is used up.

    >>> bind_arguments(OPERATORS["clip"], ("x", 0), {"a_max": 1}, str)  # strings for arrays
    (['x'], {'a_min': 0, 'a_max': 1})
    """
    signature = op.signature
    if signature.variadic:
        return _bind_variadic(signature, args, kwargs, kind)
    names, order = signature.input_names, signature.order
    count = len(names)
    inputs = list(args[:count])
    if args and kwargs and not kwargs.keys().isdisjoint(order[: len(args)]):
        name = next(name for name in order if name in kwargs)
        raise ArgumentError(f"{name} is given twice, by position and by name", argument=name)
    # Popped: what is left of the keywords are parameters.
    if len(inputs) < count:
        inputs += [kwargs.pop(name, None) for name in names[len(inputs) :]]
    # Most calls give arrays of the one class, which is seen without a loop.
    if {*map(type, inputs)} != {kind}:
        for i, value in enumerate(inputs):
            if value is not None and not isinstance(value, kind):
                raise ArgumentError(
                    f"{names[i]} must be of class {kind.__name__}; got {value!r}{_parameters_follow(signature)}",
                    argument=names[i],
                )
    # Parameters by position, as MXNet's callers write: ``nd.clip(x, 0, 1)``.
    if len(args) > count:
        if len(args) > len(order):
            raise ArgumentError(f"takes at most {len(order)} arguments ({', '.join(order)}); got {len(args)}")
        kwargs = {**dict(zip(order[count:], args[count:], strict=False)), **kwargs}
    return inputs, kwargs


def warn_ignored(signature: Signature, given: Iterable[str], called_as: str) -> None:
    """Warn of keywords that are no parameters, where an operator takes any; see `Signature`.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_ignored(OPERATORS["relu"].signature, ["axis"], "relu")
    >>> print(caught[0].message)
    relu: no parameter 'axis'. Parameters: none. It is ignored, as in MXNet.
    """
    parameters = signature.parameters
    for name in given:
        if name not in parameters:
            near = near_names(name, (*parameters, *signature.input_names))
            warn_user(
                f"{called_as}: no parameter {name!r}{near} Parameters: {', '.join(parameters) or 'none'}. "
                "It is ignored, as in MXNet."
            )


def split_parameters(indices_or_sections: Any, axis: int, squeeze_axis: bool) -> dict[str, Any]:
    """Return the parameters of ``_split_v2`` for a number of sections, or the indices before which to split.

    >>> split_parameters((2, 5), axis=0, squeeze_axis=False)
    {'indices': [0, 2, 5], 'sections': 0, 'axis': 0, 'squeeze_axis': False}
    """
    # As MXNet stores it: either a number of sections, or indices that begin with 0.
    if isinstance(indices_or_sections, int):
        where: dict[str, Any] = {"indices": [], "sections": indices_or_sections}
    elif isinstance(indices_or_sections, (tuple, list, set)):
        where = {"indices": [0, *indices_or_sections], "sections": 0}
    else:
        raise ArgumentError(
            f"split_v2: indices_or_sections must be an int or a tuple of ints; got {indices_or_sections!r}"
        )
    return {**where, "axis": axis, "squeeze_axis": squeeze_axis}


def _parameters_follow(signature: Signature) -> str:
    if not signature.parameters or len(signature.input_names) == 1:
        return ""
    return f". Parameters come after {', '.join(signature.input_names)}, or by name."


def _bind_variadic(
    signature: Signature, args: Sequence[Any], kwargs: dict[str, Any], kind: type
) -> tuple[list[Any], dict[str, Any]]:
    # Both ``concat(a, b)`` and ``concat([a, b])`` are accepted.
    items = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    inputs = [item for item in items if isinstance(item, kind)]
    if len(inputs) < len(items):  # parameters by position
        rest = items[len(inputs) :]
        if any(isinstance(item, kind) for item in rest) or len(rest) > len(signature.order):
            raise ArgumentError(
                f"must be called with {kind.__name__}s first, then parameters; got {list(items)!r}"
            )
        kwargs = {**dict(zip(signature.order, rest, strict=False)), **kwargs}
    # Arrays under names of the caller's choice: ``Concat(first=a, second=b)``, in the order of the call.
    named = [name for name, value in kwargs.items() if isinstance(value, kind)]
    inputs += [kwargs.pop(name) for name in named]
    if not inputs:
        raise ArgumentError(f"needs at least one {kind.__name__}; got none")
    return inputs, kwargs


def signature(
    op: Operator, kind: type, extra: Sequence[str], *, inputs_follow: bool = False
) -> inspect.Signature:
    """Return the signature of `nd.X` or `sym.X`: inputs, parameters, then the keywords in `extra`.

    MXNet's callers write ``nd.clip(x, 0, 1)``: parameters may come by position after the inputs. With
    `inputs_follow` every input may be left out, as for symbols, where it becomes a variable.

    >>> str(signature(OPERATORS["clip"], float, ["out"]))
    '(data: float, a_min: float, a_max: float, *, out: Any = None) -> float'
    """
    argument_kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    arguments = []
    if op.signature.variadic:
        name = op.signature.input_names[0]
        arguments.append(inspect.Parameter(name, inspect.Parameter.VAR_POSITIONAL, annotation=kind))
        # Behind any number of arrays nothing can come by position.
        argument_kind = inspect.Parameter.KEYWORD_ONLY
    else:
        for entry in op.signature.inputs:
            needed = not (entry.optional or inputs_follow)
            default = inspect.Parameter.empty if needed else None
            arguments.append(inspect.Parameter(entry.name, argument_kind, default=default, annotation=kind))
    may_be_bare = argument_kind is inspect.Parameter.KEYWORD_ONLY or all(
        argument.default is inspect.Parameter.empty for argument in arguments
    )
    for p in op.signature.parameters.values():
        # Python wants a default after an argument with one: a required parameter then shows `<required>`.
        bare = p.required and may_be_bare
        may_be_bare = may_be_bare and (bare or argument_kind is inspect.Parameter.KEYWORD_ONLY)
        default = inspect.Parameter.empty if bare else p.default
        arguments.append(
            inspect.Parameter(p.name, argument_kind, default=default, annotation=plain_type(p.annotation))
        )
    arguments += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any)
        for name in extra
    ]
    return inspect.Signature(arguments, return_annotation=kind)


def plain_type(annotation: Any) -> Any:
    """Return the type of a parameter without its bounds, which the help text gives.

    >>> plain_type(Annotated[int, "at least 1"]), plain_type(tuple[Annotated[int, "at least 0"], ...])
    (<class 'int'>, tuple[int, ...])
    """
    if get_origin(annotation) is Annotated:
        return plain_type(get_args(annotation)[0])
    if get_origin(annotation) is tuple:
        return tuple[tuple(plain_type(each) for each in get_args(annotation))]  # type: ignore[misc]  # made at run time
    return annotation


def documentation(op: Operator, kind: str, extra: str) -> str:
    """Return the help text of `nd.X` or `sym.X`.

    It is the operator's own docstring with all inputs and parameters in the section *Parameters*: types, bounds and
    defaults from the signature, meanings from the docstring, or from the table of the family. Examples on tensors
    are left out.

    >>> documentation(OPERATORS["clip"], "NDArray", "out : NDArray").splitlines()[4:7]
    ['data : NDArray', 'a_min : a float, required', '    The lower bound.']
    """
    summary, sections = split_docstring(
        inspect.cleandoc(op.kernels.function.__doc__ or f"The operator {op.name}.")
    )
    meanings = _meanings(sections.pop("Parameters", ""))
    lines = [summary, "", "Parameters", "----------"]
    for entry in op.signature.inputs:
        note = (
            f"{kind}{', optional' if entry.optional else ''}{' (auxiliary state)' if entry.auxiliary else ''}"
        )
        lines.append(f"*{entry.name} : {kind}s" if op.signature.variadic else f"{entry.name} : {note}")
        lines += meanings.get(entry.name, ())
    for p in op.signature.parameters.values():
        lines.append(f"{p.name} : {p.type_text}{', required' if p.required else f', default {p.default!r}'}")
        shared = meaning(op.kernels.function.__module__, p.name)
        lines += meanings.get(p.name) or ([f"    {shared}"] if shared else [])
    text = "\n".join([*lines, extra])
    for title, body in sections.items():
        text += f"\n\n{title}\n{'-' * len(title)}\n{body}"
    return text


_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def split_docstring(text: str) -> tuple[str, dict[str, str]]:
    r"""Return what is before the first section of a docstring, and the sections by title, without examples.

    >>> split_docstring("Double.\n\nShapes\n------\nout : (N,)\n\n>>> 2 * 2\n4")
    ('Double.', {'Shapes': 'out : (N,)'})
    """
    # Examples need no title: one is a line with `>>>` and all up to the next empty line.
    text = re.sub(r"(?m)^>>> .*\n?(?:^(?!\s*$).*\n?)*", "", text)
    parts = _SECTION.split(text)
    sections = {title: body.strip("\n") for title, body in zip(parts[1::2], parts[2::2], strict=True)}
    sections.pop("Examples", None)
    return parts[0].strip(), sections


def _meanings(body: str) -> dict[str, list[str]]:
    """Return the indented lines below each name of a section *Parameters*; ``a, b`` means both."""
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for line in body.splitlines():
        if line and not line[0].isspace():
            # A line of names may be ``a, b``, ``*data`` or ``x : type``.
            names = [name.strip(" *") for name in line.split(":")[0].split(",")]
        else:
            for name in names:
                found.setdefault(name, []).append(line)
    return found


def make_functions(make: Callable[[Operator, str, str], Function]) -> OnFirstUse[Function]:
    """Return what `make` makes of each operator under each of its names; see `make_namespace`.

    >>> make_functions(lambda op, name, called_as: op.name)["Softmax"]
    'SoftmaxOutput'
    """
    return OnFirstUse({name: partial(make, op, name, name) for name, op in OPERATORS.items()})


def make_namespace(space: str, make: Callable[[Operator, str, str], Function]) -> OnFirstUse[Function]:
    """Return the functions of one of the `NAMESPACES`: ``linalg.gemm2`` is the operator ``_linalg_gemm2``.

    `make` is given an operator, its name in the namespace, and the name for errors, which is that of the call.

    >>> make_namespace("image", lambda op, name, called_as: (op.name, name, called_as))["to_tensor"]
    ('_image_to_tensor', 'to_tensor', 'image.to_tensor')
    """
    prefix = f"_{space}_"
    short = {name: name.removeprefix(prefix) for name in OPERATORS if name.startswith(prefix)}
    return OnFirstUse(
        {
            name: partial(make, OPERATORS[whole], name, whole.replace(prefix, f"{space}.", 1))
            for whole, name in short.items()
        }
    )
