"""The storage type of every entry of a graph: forward only, from those of the variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import FormatError, ParameterError
from ..ops.storage_types import DENSE, infer_storage_types, storage_name, storage_number
from .graph import Application, Entry, Graph, Node

__all__ = ["declared_storage_type", "infer_gradient_storage", "infer_storage"]


def infer_storage(graph: Graph, given: Mapping[str, str] | None = None) -> dict[Entry, str]:
    """Return the storage type of each entry.

    Parameters
    ----------
    graph
        The graph.
    given
        Storage types of variables by name. They win over the attribute ``__storage_type__``; a variable with neither
        is dense.

    Examples
    --------
    >>> from rebind.graph import Application, Variable
    >>> from rebind.ops import find
    >>> x = Entry(Variable("x", {"__storage_type__": "2"}))
    >>> graph = Graph([Entry(Application(find("exp"), "power", (x,)))])
    >>> {entry.name: stype for entry, stype in infer_storage(graph).items()}
    {'x': 'csr', 'power_output': 'default'}
    """
    given = {} if given is None else given
    found: dict[Entry, str] = {}
    for node in graph.nodes:
        if node.operator is None:
            found[Entry(node)] = _of_variable(node, given.get(node.name))
            continue
        # Nodes come after their inputs, so that one walk is enough.
        stypes = [found[entry] for entry in node.inputs]
        for index, stype in enumerate(infer_storage_types(node.operator, node.params, stypes).outputs):
            found[Entry(node, index)] = stype
    return found


def infer_gradient_storage(graph: Graph, stypes: Mapping[Entry, str]) -> dict[str, str]:
    """Return the storage types of gradients by argument, where they are not those of the arguments themselves.

    It is the type that the kernels give, where all that use an argument give the same; dense where they do not. What
    has no gradient, as that of a condition or of a rounded number, is 0 in the storage type of the argument.

    Parameters
    ----------
    graph
        The graph.
    stypes
        The storage type of each entry; dense where it is not named.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.sym.var("x", stype="csr")
    >>> [infer_gradient_storage(net.graph, {x.graph.outputs[0]: "csr"}) for net in (mx.sym.exp(x), x > 0)]
    [{'x': 'default'}, {}]
    """
    found: dict[Entry, set[str]] = {}
    for node in graph.nodes:
        if not isinstance(node, Application):
            continue
        inputs = [stypes.get(entry, DENSE) for entry in node.inputs]
        for entry, stype in zip(node.inputs, _gradients_of(node, inputs), strict=False):
            if entry.node.operator is None and stype is not None:
                found.setdefault(entry, set()).add(stype)
    one = {entry: each.pop() if len(each) == 1 else DENSE for entry, each in found.items()}
    return {entry.node.name: stype for entry, stype in one.items() if stype != stypes.get(entry, DENSE)}


def _gradients_of(node: Application, stypes: Sequence[str]) -> Sequence[str | None]:
    """Return the storage types of the gradients of an operator's inputs; None for one that has none."""
    op = node.operator
    kernel = infer_storage_types(op, node.params, stypes).kernel
    if kernel is not None and kernel.has_gradient:
        # `add_n` and the like: the last one is that of all further inputs.
        return (*kernel.gradients, *kernel.gradients[-1:] * (len(stypes) - len(kernel.gradients)))
    # A loss needs no head gradient either, but has a rule of its own.
    if op.kernels.gradient is None and not op.kernels.needs_head_gradient(node.params):
        return [None] * len(stypes)
    return [None if name in op.kernels.no_gradient else DENSE for name in node.input_names]


def _of_variable(node: Node, given: str | None) -> str:
    who = f"variable {node.name!r}: its storage type"
    if given is not None:
        storage_number(given, who)  # an error for an unknown one
        return given
    return declared_storage_type(node)


def declared_storage_type(node: Node) -> str:
    """Return the storage type that a variable's attribute ``__storage_type__`` names; dense without it.

    >>> import rebind as mx
    >>> declared_storage_type(mx.sym.var("w", stype="row_sparse").graph.outputs[0].node)
    'row_sparse'
    """
    who = f"variable {node.name!r}: its storage type"
    text = node.attributes.get("__storage_type__")
    if text is None:
        return DENSE
    try:
        name = storage_name(int(text)) if text.lstrip("-").isdigit() else text
        storage_number(str(name), who)
    except ParameterError as error:
        raise FormatError(f"{error}, from its attribute __storage_type__ = {text!r}") from None
    return str(name)
