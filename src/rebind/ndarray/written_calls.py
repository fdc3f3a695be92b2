"""The plain case of an operator's calls, written out as a function of one array, of two, ...: `write_call`.

The plain case is dense arrays outside of records. A loop over the arrays, a list of their tensors and a dict of
keywords would take longer than all else around a small operator, so the functions have none. Their text depends on a
few things only, such as the number of arrays, and is compiled once for each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import torch
from torch import Tensor

from ..device import Device, current_device
from ..grad_mode import is_grad_enabled, set_grad_enabled
from ..ops import Operator
from ..params import Params
from ..precision import active_rules
from .base import wrap_tensor
from .compute import raise_explained, unaliased_single
from .mode import mode
from .storage import DenseStorage

__all__ = ["Call", "Owner", "Pattern", "Placed", "write_call"]

# Of more arrays there would be many functions, and a loop over them does not count beside the rest.
_MOST_ARRAYS = 8

#: Takes the arrays, in the order of the call, and the values that vary; returns None where the case is not plain.
Call: TypeAlias = Callable[..., Any]

#: The device of the last call, its generator, and the device as torch has it: one tuple, as threads may share it.
Placed: TypeAlias = "tuple[Device | None, torch.Generator | None, torch.device | None]"


class Owner(Protocol):
    """What a function asks for that it has no text for."""

    op: Operator
    p: Params
    placed: Placed

    def check_types(self, tensors: tuple[Tensor, ...]) -> None:
        """Raise an error for tensors of several types, unless the operator takes them."""

    def place(self, device: Device) -> Placed:
        """Make `placed` that of a device, and return it."""

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
    """

    order: tuple[int, ...]
    keywords: tuple[str, ...]
    varying: tuple[str, ...]
    modes: tuple[str, ...]
    has_device: bool
    owns_output: bool
    over: tuple[int, ...]


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
        return _other
    return _compiled(pattern)(owner, function, device, *keywords.values())


def _other(*_: object) -> None:
    """Take every case for another than the plain one."""


@functools.lru_cache(maxsize=1024)
def _compiled(pattern: Pattern) -> Callable[..., Call]:
    names: dict[str, Any] = {
        "Tensor": Tensor,
        "active_rules": active_rules,
        "array_class": DenseStorage.array_class,
        "current_device": current_device,
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


_TEXT = """
def make(form, function, device, {keywords}):
    def call({parameters}):
        if {is_other}:
            return None
        {check_types}
        {find_device}
        {find_place}
        is_recorded = {requires_grad} and is_grad_enabled()
        if is_recorded:
            set_grad_enabled(False)
        try:
            {begin_write}
            result = {function}({given})
            {return_written}
            if result.__class__ is not Tensor:
                return form.take(result, {tensors}, {arrays}, device)
            if {is_shared}:
                result = unaliased_single(result, {tensors}, False)
            return wrap_tensor(result, device)
        except (RuntimeError, IndexError) as error:
            raise_explained(error, form.op, {tensors}, form.p)
        finally:
            if is_recorded:
                set_grad_enabled(True)
    return call
"""
#: What an operator takes beside parameters, and where the function has it from.
_MODES = {"training": "mode.training", "generator": "placed[1]", "device": "placed[2]"}


def _text(pattern: Pattern) -> str:
    """Return the text of a function that makes the function, from what is the same in all calls."""
    inputs = range(len(pattern.order))
    tensors = [f"tensor{i}" for i in inputs]
    # Each part is one line.
    check_types = find_place = begin_write = return_written = "pass"
    if len(tensors) > 1:
        first, *others = (f"{name}.dtype" for name in tensors)
        is_mixed = " or ".join([f"{name} is not {first}" for name in others])
        check_types = f"if {is_mixed}: form.check_types({_tuple_of(tensors)})"
    if pattern.has_device:
        find_device = "pass"
    else:
        find_device = "device = array0.device" if tensors else "device = current_device()"
    if not {"generator", "device"}.isdisjoint(pattern.modes):
        find_place = "if (placed := form.placed)[0] is not device: placed = form.place(device)"
    if pattern.over:
        begin_write = "; ".join([f"tensor{i} = array{i}.begin_write(recorded=False)" for i in pattern.over])
        return_written = f"return array{pattern.over[0]}"
    is_shared = ["result._is_view()"]
    if not pattern.owns_output:
        place = "(place := result.data_ptr())"
        for name in tensors:
            is_shared.append(f"{place} == {name}.data_ptr()")
            place = "place"
    return _TEXT.format(
        keywords=", ".join(map(_given, pattern.keywords)),
        parameters=", ".join(
            [*(f"array{pattern.order.index(i)}" for i in inputs), *map(_given, pattern.varying)]
        ),
        is_other=" or ".join(
            [
                "mode.recording",
                "active_rules() is not None",
                *(
                    f"array{i}.__class__ is not array_class or (tensor{i} := array{i}.storage.tensor) is None"
                    for i in inputs
                ),
            ]
        ),
        check_types=check_types,
        find_device=find_device,
        find_place=find_place,
        # Of other tensors torch records nothing, in whatever mode.
        requires_grad="({})".format(" or ".join([f"{name}.requires_grad" for name in tensors]) or "False"),
        begin_write=begin_write,
        # Looked up in each call: the operator's kernels may be others by then.
        function="function" if pattern.over else "form.op.kernels.function",
        given=", ".join(
            [
                *tensors,
                *(f"{name}={_given(name)}" for name in (*pattern.keywords, *pattern.varying)),
                *(f"{name}={_MODES[name]}" for name in pattern.modes),
            ]
        ),
        return_written=return_written,
        tensors=_tuple_of(tensors),
        arrays=_tuple_of([f"array{i}" for i in inputs]),
        is_shared=" or ".join(is_shared),
    )


def _given(name: str) -> str:
    """Return what the value of a parameter is called; its own name may be one of the text's."""
    return f"given_{name}"


def _tuple_of(names: Sequence[str]) -> str:
    return f"({''.join([f'{name}, ' for name in names])})"
