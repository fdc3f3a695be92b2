"""The plain case of an operator's calls, written out as a function of one array, of two, ...: `write_call`.

The plain case is dense arrays; inside of a record, of an operator with one result. A loop over the arrays, a list of
their tensors and a dict of keywords would take longer than all else around a small operator, so the functions have
none. Their text depends on a few things only, such as the number of arrays, and is compiled once for each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from torch import Tensor

from ..device import Device, current_device
from ..grad_mode import is_grad_enabled, set_grad_enabled
from ..mode import mode
from ..ops import Operator
from ..params import Params
from ..precision import active_rules
from .base import wrap_tensor
from .compute import raise_explained, unaliased_single
from .storage import DenseStorage

__all__ = ["Call", "Owner", "Pattern", "Placed", "never_plain", "write_call"]

# Of more arrays there would be many functions, and a loop over them does not count beside the rest.
_MOST_ARRAYS = 8

#: Takes the arrays, in the order of the call, and the values that vary; returns None where the case is not plain.
Call: TypeAlias = Callable[..., Any]

#: The device of the last call, and what the operator takes for it (`with_modes`): one tuple, as threads may share it.
Placed: TypeAlias = "tuple[Device | None, dict[str, Any]]"


class Owner(Protocol):
    """What a function asks for that it has no text for."""

    op: Operator
    p: Params
    placed: Placed

    def check_types(self, tensors: tuple[Tensor, ...]) -> None:
        """Raise an error for tensors of several types, unless the operator takes them."""

    def place(self, device: Device) -> Placed:
        """Make `placed` that of a device, and return it."""

    def record(self, *arrays: Any) -> Any:
        """Do as the function, for arrays inside of a record."""

    def remember(self, arrays: tuple[Any, ...], made: Any) -> Any:
        """Note how an array was computed, and return it."""

    def take(self, result: Any, tensors: tuple[Tensor, ...], arrays: tuple[Any, ...], device: Device) -> Any:
        """Return the arrays of a result that is more than one tensor."""


class Pattern(NamedTuple):
    """What the text of a function depends on.

    Attributes
    ----------
    order
        Which of the call's arrays is each of the operator's inputs.
    keywords
        The parameters that have the same values in all calls.
    varying
        Those that each call gives.
    modes
        What the operator takes besides; see `Signature.modes`.
    has_device
        Whether the device is one for all calls; else it is that of the first array, or the default.
    owns_output
        Whether a result that is no view is in memory of its own.
    over
        The inputs that the result is written over, by an operator that returns nothing then.
    recorded
        Whether it is for calls inside of records, of operators with one result.
    """

    order: tuple[int, ...]
    keywords: tuple[str, ...]
    varying: tuple[str, ...]
    modes: tuple[str, ...]
    has_device: bool
    owns_output: bool
    over: tuple[int, ...]
    recorded: bool = False


def write_call(
    owner: Owner,
    function: Callable[..., Any] | None,
    keywords: Mapping[str, Any],
    pattern: Pattern,
    device: Device | None,
) -> Call:
    """Return the function that runs an operator on the tensors of arrays, and makes arrays of what it returns.

    Parameters
    ----------
    owner
        Who has the operator.
    function
        What is called, where it is not the operator's own function but one that writes over inputs.
    keywords
        The values of the parameters that are the same in all calls.
    pattern
        What the text is made from.
    device
        Where the result is, if that is the same in all calls.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.ndarray.forms import Form
    >>> from rebind.ops import find
    >>> add = find("elemwise_add")
    >>> form = Form(add, add.parse({}), (0, 1))
    >>> call = write_call(form, None, {}, Pattern((0, 1), (), (), (), False, True, ()), None)
    >>> call(mx.nd.ones((2,)), mx.nd.ones((2,))).asnumpy()
    array([2., 2.], dtype=float32)
    """
    if len(pattern.order) > _MOST_ARRAYS:
        return never_plain
    return _compiled(pattern)(owner, function, device, *keywords.values())


def never_plain(*_: object) -> None:
    """Take every case for another than the plain one."""


@functools.lru_cache(maxsize=1024)
def _compiled(pattern: Pattern) -> Callable[..., Call]:
    names: dict[str, Any] = {
        "Tensor": Tensor,
        "active_rules": active_rules,
        "array_class": DenseStorage.array_class,
        "current_device": current_device,
        "dense": DenseStorage,
        "is_grad_enabled": is_grad_enabled,
        "mode": mode,
        "raise_explained": raise_explained,
        "set_grad_enabled": set_grad_enabled,
        "unaliased_single": unaliased_single,
        "wrap_tensor": wrap_tensor,
    }
    # Under this file's name, as it stands in tracebacks.
    exec(compile(_text(pattern), f"{__file__}: {len(pattern.order)} arrays", "exec"), names)
    made: Callable[..., Call] = names["make"]
    return made


#: What an operator takes beside parameters, and where the function has it from.
_MODES = {"training": "mode.training", "generator": "placed[1]['generator']", "device": "placed[1]['device']"}


def _text(pattern: Pattern) -> str:
    """Return the text of `make`, which returns the function, from what is the same in all calls."""
    inputs = range(len(pattern.order))
    names, named = [f"array{i}" for i in inputs], [f"tensor{i}" for i in inputs]
    in_call = [names[pattern.order.index(i)] for i in inputs]
    arrays, tensors = _tuple_of(names), _tuple_of(named)
    lines = [
        f"def make(form, function, device, {', '.join(map(_given, pattern.keywords))}):",
        f"    def call({', '.join([*in_call, *map(_given, pattern.varying)])}):",
        *_indented(2, _conditions(pattern, in_call)),
        *_indented(2, _preparations(pattern, names, named)),
        "        try:",
        *_indented(3, _computation(pattern, names, named)),
        "        except (RuntimeError, IndexError) as error:",
        f"            raise_explained(error, form.op, {tensors}, form.p)",
        "        finally:",
        f"            if is_switched: set_grad_enabled({not pattern.recorded})",
    ]
    if pattern.recorded:
        lines.append(f"        return form.remember({arrays}, made)")
    return "\n".join([*lines, "    return call"])


def _conditions(pattern: Pattern, in_call: Sequence[str]) -> list[str]:
    """Return what makes `tensor0` of `array0`, and leaves all but the plain case."""
    is_other = ["active_rules() is not None"]
    lines = []
    if pattern.recorded:
        is_other.append("not mode.recording")
    elif pattern.over or pattern.varying:
        is_other.append("mode.recording")
    else:
        lines.append(f"if mode.recording: return form.record({', '.join(in_call)})")
    for i in range(len(pattern.order)):
        is_other += [
            f"array{i}.__class__ is not array_class",
            f"(storage{i} := array{i}.storage).__class__ is not dense",
        ]
    lines.append(f"if {' or '.join(is_other)}: return None")
    lines += [f"tensor{i} = storage{i}.tensor" for i in range(len(pattern.order))]
    if pattern.recorded:
        for i in range(len(pattern.order)):
            # torch records operations on the leaf; whole numbers, which it has in another type, are another case.
            lines += [
                f"if (leaf := array{i}.leaf) is not None:",
                f"    if leaf.dtype is not tensor{i}.dtype: return None",
                f"    tensor{i} = leaf",
            ]
    return lines


def _preparations(pattern: Pattern, names: Sequence[str], named: Sequence[str]) -> list[str]:
    """Return what is done before the operator runs."""
    lines = []
    if len(named) > 1:
        is_mixed = " or ".join([f"{name}.dtype is not {named[0]}.dtype" for name in named[1:]])
        lines.append(f"if {is_mixed}: form.check_types({_tuple_of(named)})")
    if not pattern.has_device:
        lines.append(f"device = {names[0]}.device" if names else "device = current_device()")
    if not {"generator", "device"}.isdisjoint(pattern.modes):
        lines.append("if (placed := form.placed)[0] is not device: placed = form.place(device)")
    if pattern.recorded:
        is_switched = "not is_grad_enabled()"
    else:
        # Of tensors that want no gradient torch records nothing, in whatever mode.
        is_switched = f"({_any_wants_gradient(named)}) and is_grad_enabled()" if named else "False"
    return [
        *lines,
        f"is_switched = {is_switched}",
        f"if is_switched: set_grad_enabled({pattern.recorded})",
    ]


def _computation(pattern: Pattern, names: Sequence[str], named: Sequence[str]) -> list[str]:
    """Return what runs the operator, and makes arrays of the result."""
    given = [
        *named,
        *(f"{name}={_given(name)}" for name in (*pattern.keywords, *pattern.varying)),
        *(f"{name}={_MODES[name]}" for name in pattern.modes),
    ]
    call, arrays, tensors = f"({', '.join(given)})", _tuple_of(names), _tuple_of(named)
    if pattern.over:
        return [
            *(f"{named[i]} = {names[i]}.begin_write(recorded=False)" for i in pattern.over),
            f"function{call}",
            f"return {names[pattern.over[0]]}",
        ]
    # Looked up in each call: the operator's kernels may be others by then.
    lines = ["function = form.op.kernels.function"]
    if pattern.recorded and named:
        # With a declared gradient, which takes longer, only where there is one to be computed.
        lines.append(f"if {_any_wants_gradient(named)}: function = form.op.kernels.differentiable")
    lines.append(f"result = function{call}")
    if not pattern.recorded:
        lines.append(
            f"if result.__class__ is not Tensor: return form.take(result, {tensors}, {arrays}, device)"
        )
    is_shared, place = ["result._is_view()"], "(place := result.data_ptr())"
    for name in () if pattern.owns_output else named:
        is_shared.append(f"{place} == {name}.data_ptr()")
        place = "place"
    return [
        *lines,
        f"if {' or '.join(is_shared)}: result = unaliased_single(result, {tensors}, {pattern.recorded})",
        f"{'made =' if pattern.recorded else 'return'} wrap_tensor(result, device)",
    ]


def _any_wants_gradient(named: Sequence[str]) -> str:
    return " or ".join([f"{name}.requires_grad" for name in named])


def _indented(depth: int, lines: Sequence[str]) -> list[str]:
    return [" " * 4 * depth + line for line in lines]


def _given(name: str) -> str:
    """Return what the value of a parameter is called; its own name may be one of the text's."""
    return f"given_{name}"


def _tuple_of(names: Sequence[str]) -> str:
    return f"({''.join([f'{name}, ' for name in names])})"
