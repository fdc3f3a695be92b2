"""Applying operators to symbols: the node, and variables for inputs that are missing."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..checks import TEXT, check_kind, warn_user
from ..device import Device
from ..errors import MXNetError, ParameterError, near_names
from ..graph import Application, Entry, input_variable, symbol_json
from ..graph.passes import cast_inputs
from ..ops import Operator
from ..ops.frontend import bind_arguments, warn_ignored
from ..params import NULL, Params, format_value
from ..precision import active_rules
from ..scope import AttrScope, NameManager
from .base import SymbolBase, single_entry

__all__ = ["apply"]


def apply(
    op: Operator, hint: str, args: Sequence[Any], kwargs: dict[str, Any], called_as: str | None = None
) -> list[Entry]:
    """Apply an operator to symbols, and return its outputs; what is missing among its inputs becomes a variable.

    Parameters
    ----------
    op
        The operator.
    hint
        What automatic names begin with.
    args, kwargs
        As the user gave them: inputs, parameters, `name`, `attr`, and attributes such as ``lr_mult``.
    called_as
        The name by which the user called the operator, for errors.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.ops import find
    >>> [output] = apply(find("exp"), "exp", [mx.sym.var("x")], {"name": "e"})
    >>> output.node.name, output.node.input_names
    ('e', ('data',))
    """
    # The name comes first, so that an error names the node, an automatic name too; as in MXNet, a call that fails uses
    # it up.
    given = kwargs.pop("name", None)
    if given is not None:
        check_kind(called_as or op.name, TEXT, name=given)
    name = NameManager.current.get(given, hint)
    try:
        node = _node(op, name, args, kwargs, called_as or op.name)
    except MXNetError as error:
        error.locate(op.name, called_as=called_as, node=name)
        raise
    rules = active_rules()
    if rules is not None:
        node = node.with_inputs(cast_inputs(rules, node, lambda kind: NameManager.current.get(None, kind)))
    return [Entry(node, i) for i in range(node.visible_outputs)]


def _node(
    op: Operator, name: str, args: Sequence[Any], kwargs: dict[str, Any], called_as: str
) -> Application:
    attr = kwargs.pop("attr", None) or {}
    if not isinstance(attr, Mapping):
        raise ParameterError(f"attr must be a dict; got {attr!r}", argument="attr")
    kwargs.pop("out", None)
    if op.depends_on_parameters:
        # What an operator such as `Custom` is resolved by: parameters only, neither symbols nor attributes.
        op = op.resolved(
            {
                key: value
                for key, value in kwargs.items()
                if not isinstance(value, SymbolBase) and not symbol_json.is_attribute(key)
            }
        )
    # A device is text in a symbol.
    if "ctx" in op.signature.parameters and isinstance(kwargs.get("ctx"), Device):
        kwargs["ctx"] = str(kwargs["ctx"])
    nothing = {*_inputs_of_none(op, args, kwargs)}
    inputs, given = bind_arguments(op, args, kwargs, SymbolBase.symbol_class)
    _drop_symbols(op, given, called_as)
    if given and op.signature.takes_any:
        # A symbol keeps it as an attribute, which is what others are given for.
        warn_ignored(op.signature, [key for key in given if not symbol_json.is_attribute(key)], called_as)
    for key, value in attr.items():
        if not isinstance(key, str):
            raise ParameterError(f"the names of attributes must be strings; got {key!r}", argument="attr")
        if not isinstance(value, (str, numbers.Number)):
            raise ParameterError(f"attribute {key!r} must be a string; got {value!r}", argument=key)
    # Later wins: what the call gives over `attr`, and that over the scope's.
    given, others = symbol_json.split_attributes(op, {**AttrScope.current.get(None), **attr, **given})
    for key in others:
        if not symbol_json.is_attribute(key):
            op.parse({**given, key: others[key]})  # raises, and names what is known
    # Files have the number of inputs, which MXNet asks for on loading.
    if op.signature.count is not None and given.get(op.signature.count) is None:
        given[op.signature.count] = sum(len(symbol) for symbol in inputs)
    p = op.parse(given)
    texts = {key: format_value(value) for key, value in given.items() if value is not NULL}
    attributes = {key: format_value(value) for key, value in others.items()}
    entries = _entries(op, name, inputs, p, {**texts, **attributes})
    for input_name in nothing.intersection(op.signature.inputs_for(p)):
        warn_user(
            f"{called_as}: {input_name} must be a symbol; got None. The variable '{name}_{input_name}' is made for "
            "it, as in MXNet."
        )
    node = Application(op, name, entries, p, texts, attributes, called_as)
    if op.record.inits:  # of variables that are given too, as in MXNet, unless they have one
        for input_name, entry in zip(node.input_names, node.inputs, strict=True):
            if input_name in op.record.inits and entry.node.is_variable:
                entry.node.attributes.setdefault("__init__", op.record.inits[input_name])
    return node


def _inputs_of_none(op: Operator, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of inputs that are given as None, and are no parameters or labels, for which that is usual."""
    if op.signature.variadic:
        return
    for number, name in enumerate(op.signature.input_names):
        given = args[number] if number < len(args) else kwargs.get(name, _NOT_GIVEN)
        # What follows from the data has a rule for its shape.
        if given is None and (not number or op.inference.shapes_rule is None):
            yield name


_NOT_GIVEN = object()


def _drop_symbols(op: Operator, given: dict[str, Any], called_as: str) -> None:
    """Refuse symbols that are no inputs; but an operator without any ignores them, as in MXNet: programs give them."""
    for key in [key for key, value in given.items() if isinstance(value, SymbolBase)]:
        if key in op.signature.parameters:  # which refuses them, and knows what it takes
            continue
        if op.signature.inputs:
            names = op.signature.input_names
            raise ParameterError(
                f"no input {key!r}{near_names(key, names)} Inputs: {', '.join(names)}.", argument=key
            )
        single_entry(given.pop(key), key)  # MXNet looks at what it ignores, too
        warn_user(f"{called_as}: takes no symbols; {key} is ignored, as in MXNet")


def _entries(
    op: Operator, name: str, inputs: Sequence[SymbolBase | None], p: Params, texts: Mapping[str, str]
) -> tuple[Entry, ...]:
    """Return a node's inputs: what was given, and a variable for each that was not."""
    if op.signature.variadic:
        # All outputs of a symbol are inputs here, where other operators want a symbol of one.
        given = [entry for symbol in inputs if symbol is not None for entry in symbol.graph.outputs]
        missing = op.signature.inputs_for(p)[len(given) :]
        return (*given, *(input_variable(op, name, input_name, texts) for input_name in missing))
    wanted = op.signature.inputs_for(p)
    entries: list[Entry] = []
    for input_name, symbol in zip(op.signature.input_names, inputs, strict=True):
        if symbol is None:
            if input_name in wanted:
                entries.append(input_variable(op, name, input_name, texts))
        elif input_name in wanted:
            entries.append(single_entry(symbol, input_name))
        else:
            raise ParameterError(
                f"takes no {input_name} with these parameters, only {', '.join(wanted)}; got {symbol!r}",
                argument=input_name,
            )
    return tuple(entries)
