"""Symbols as JSON: what MXNet 1.9.1 writes, letter for letter, and what its older versions wrote.

Older files have a node's parameters under ``param`` and its attributes under ``attr`` (0.8 and before), or both under
``attr`` (up to 1.0); they leave out auxiliary states, and write hidden keys without underscores.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypedDict, TypeGuard, TypeVar, cast

from ..errors import FormatError, MXNetError, near_names
from ..mode import mode
from ..ops import OPERATORS, Operator
from ..params import Params
from .control_flow import control_flow_operator, is_control_flow
from .fused_layers import FUSED_LAYERS, fused_layer_operator, is_fused_layer
from .graph import Application, Entry, Graph, Node, Variable, check, input_variable
from .inference import declared_shape

__all__ = ["HIDDEN_KEYS", "TORCH_MODULE", "dumps", "hide", "is_attribute", "loads", "split_attributes"]

# Attributes that users write plainly and MXNet stores with underscores.
HIDDEN_KEYS = frozenset({"ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage"})

#: What a node of `sym.torch_module` is in a file, which cannot hold the module.
TORCH_MODULE = "torch_module"
_TORCH_VALUE = '["torchvalue"'

V = TypeVar("V")
#: What a JSON text holds, before it is checked.
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class _NodeRecord(TypedDict, total=False):
    """A node in a file; the name and the operator are checked, the rest is not."""

    op: str
    name: str
    param: Json
    attr: Json
    attrs: Json
    inputs: Json
    subgraphs: Json


_FORMAT_VERSION = 10901
_ARGMAX_CHANGED = _INITS_BEFORE = 905  # 0.9.5
_INLINE_LENGTH = 10  # longer lists are written one element a line


def hide(key: str) -> str:
    """Return ``__key__`` for a hidden key, anything else as it is.

    >>> hide("lr_mult"), hide("num_hidden")
    ('__lr_mult__', 'num_hidden')
    """
    return f"__{key}__" if key in HIDDEN_KEYS else key


def is_attribute(key: str) -> bool:
    """Whether `key` may be an attribute of an operator's node without being a parameter: ``__key__``, or a hidden key.

    >>> is_attribute("lr_mult"), is_attribute("__shape__"), is_attribute("num_hidden")
    (True, True, False)
    """
    return key in HIDDEN_KEYS or (key.startswith("__") and key.endswith("__"))


def split_attributes(op: Operator, attributes: Mapping[str, V]) -> tuple[dict[str, V], dict[str, V]]:
    """Split a node's attributes into parameters of its operator and others.

    >>> from rebind.ops import find
    >>> split_attributes(find("clip"), {"a_min": 0, "lr_mult": 2})
    ({'a_min': 0}, {'__lr_mult__': 2})
    """
    given = {key: value for key, value in attributes.items() if key in op.signature.parameters}
    others = {hide(key): value for key, value in attributes.items() if key not in op.signature.parameters}
    return given, others


def dumps(graph: Graph, numpy_shapes: bool = False) -> str:
    """Return the JSON text of a graph; it says whether it was written under `np_shape`.

    >>> import rebind as mx
    >>> json.loads(dumps(mx.sym.var("x", shape=(2,)).graph))["nodes"]
    [{'op': 'null', 'name': 'x', 'attrs': {'__shape__': '(2,)'}, 'inputs': []}]
    """
    attrs = [_field("mxnet_version", f'["int", {_FORMAT_VERSION}]')]
    if numpy_shapes:
        attrs.insert(0, _field("is_np_shape", '["int", 1]'))
    text = f"{{{attrs[0]}}}" if len(attrs) == 1 else _block("{", attrs, "}", 2)
    return _graph(graph, 0, [_field("attrs", text)])


def _graph(graph: Graph, indent: int, further: Sequence[str] = (), versions: bool = True) -> str:
    nodes = graph.nodes
    number = {id(node): i for i, node in enumerate(nodes)}
    auxiliary = {id(node) for node in graph.auxiliary} if versions else ()

    def reference(entry: Entry) -> list[int]:
        # The third is the "version": 1 for what operators write, as in MXNet's files.
        return [number[id(entry.node)], entry.index, int(id(entry.node) in auxiliary)]

    # Where each node's outputs begin when those of all nodes are counted.
    first_outputs, count = [0], 0
    for node in nodes:
        count += 1 if node.operator is None else node.operator.record.recorded_outputs(node.params)
        first_outputs.append(count)
    fields = [
        _field("nodes", _lines((_node(node, reference, indent + 4) for node in nodes), indent + 2)),
        _field("arg_nodes", _list([i for i, node in enumerate(nodes) if node.is_variable], indent + 2)),
        _field("node_row_ptr", _list(first_outputs, indent + 2)),
        _field("heads", _list([reference(entry) for entry in graph.outputs], indent + 2)),
        *further,
    ]
    return _block("{", fields, "}", indent)


def _node(node: Node, reference: Callable[[Entry], list[int]], indent: int) -> str:
    attributes = {**node.attributes, **node.given}
    if attributes.get("__init__", "").startswith(
        _TORCH_VALUE
    ):  # says where in this process's memory the value is
        del attributes["__init__"]
    fields = [
        _field("op", json.dumps(node.operator.name if node.operator else "null")),
        _field("name", _text(node.name)),
    ]
    if attributes:
        # Ordered by bytes, as C++'s map has them.
        pairs = [_field(key, _text(attributes[key])) for key in sorted(attributes, key=str.encode)]
        fields.append(
            _field("attrs", f"{{{pairs[0]}}}" if len(pairs) == 1 else _block("{", pairs, "}", indent + 2))
        )
    fields.append(_field("inputs", _list([reference(entry) for entry in node.inputs], indent + 2)))
    if node.operator is not None and node.operator.subgraphs:
        # In a layer that MXNet fused nothing has a version.
        versions = not is_fused_layer(node.operator)
        graphs = [_graph(graph, indent + 4, versions=versions) for graph in node.operator.subgraphs]
        fields.append(_field("subgraphs", _lines(graphs, indent + 2)))
    return _block("{", fields, "}", indent)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _field(key: str, text: str) -> str:
    return f"{_text(key)}: {text}"


def _list(items: Sequence[int | list[int]], indent: int) -> str:
    texts = [json.dumps(item) for item in items]
    return f"[{', '.join(texts)}]" if len(texts) <= _INLINE_LENGTH else _lines(texts, indent)


def _lines(texts: Iterable[str], indent: int) -> str:
    return _block("[", list(texts), "]", indent)


def _block(opening: str, texts: Sequence[str], closing: str, indent: int) -> str:
    inner = "\n" + " " * (indent + 2)
    return opening + inner + f", {inner}".join(texts) + "\n" + " " * indent + closing


def loads(text: str, source: str = "<json>") -> Graph:
    """Return the graph of a JSON text that MXNet of any age, or rebind, wrote.

    Raises
    ------
    FormatError
        When the text is no symbol; it names `source`, the node, and what was expected.

    Examples
    --------
    >>> loads('{"nodes": [{"op": "null", "name": "x", "inputs": []}], "heads": [[0, 0, 0]]}').output_names
    ('x',)
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{source}: a symbol must be JSON; {error}") from None
    if not isinstance(content, dict):
        raise FormatError(f"{source}: a symbol must be a JSON object with a list 'nodes'; got {text[:60]!r}")
    graph = _read_graph(content, source, _version(content))
    if mode.numpy_shapes and not _has_numpy_shapes(content):
        _open_sizes(graph)
    return graph


def _has_numpy_shapes(content: dict[str, Json]) -> bool:
    attrs = content.get("attrs")
    flag = attrs.get("is_np_shape") if isinstance(attrs, dict) else None
    return isinstance(flag, list) and flag[-1:] == [1]


def _open_sizes(graph: Graph) -> None:
    """Write -1 for the sizes of variables that were unknown by the rule of shapes that a file was written under."""
    for node in graph.variables:
        shape = declared_shape(node, -1)
        if shape is not None and -1 in shape:
            node.attributes["__shape__"] = f"[{','.join(map(str, shape))}]"  # as MXNet does


def _read_graph(content: Json, source: str, version: int) -> Graph:
    nodes = content.get("nodes") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(nodes, list):
        raise FormatError(
            f"{source}: a symbol must be a JSON object with a list 'nodes'; got {str(content)[:60]!r}"
        )
    entries: list[list[Entry]] = []
    for i, record in enumerate(nodes):
        # Only earlier nodes can be referred to: no file can hold a cycle.
        entries.append(_read_node(record, i, entries, source, version))
    heads = content.get("heads")
    if not isinstance(heads, list) or not heads:
        raise FormatError(f"{source}: a symbol must have a list 'heads' of outputs; got {heads!r}")
    graph = Graph(_resolve(head, entries, f"{source}: head {i}") for i, head in enumerate(heads))
    try:
        return check(graph)
    except MXNetError as error:
        raise FormatError(f"{source}: {error}") from None


def _version(content: Mapping[str, Json]) -> int:
    """Return the version of MXNet that wrote a file: 10901 for 1.9.1, 800 where none is given."""
    attrs = content.get("attrs")
    number = attrs.get("mxnet_version") if isinstance(attrs, dict) else None
    # Written as ``["int", 10901]``.
    number = number[1] if isinstance(number, list) and len(number) == 2 else number
    return number if _is_int(number) else 800


def _is_int(value: Json) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _resolve(reference: Json, entries: Sequence[Sequence[Entry]], who: str) -> Entry:
    given = reference if isinstance(reference, list) else []
    numbers = [number for number in given if _is_int(number)]
    if not 1 <= len(numbers) <= 3 or len(numbers) < len(given):
        raise FormatError(f"{who} must be [node, output, version]; got {reference!r}")
    node, index = numbers[0], numbers[1] if len(numbers) > 1 else 0
    if not 0 <= node < len(entries):
        raise FormatError(f"{who} must refer to an earlier node; got node {node}")
    if not 0 <= index < len(entries[node]):
        raise FormatError(
            f"{who} must refer to one of {len(entries[node])} outputs of node {node}; got {index}"
        )
    return entries[node][index]


def _read_node(
    item: Json, i: int, entries: Sequence[Sequence[Entry]], source: str, version: int
) -> list[Entry]:
    if (
        not isinstance(item, dict)
        or not isinstance(item.get("name"), str)
        or not isinstance(item.get("op"), str)
    ):
        raise FormatError(
            f"{source}: node {i} must be an object with the strings 'op' and 'name'; got {item!r}"
        )
    record = cast("_NodeRecord", item)
    who = f"{source}: node {i} ({record['op']} {record['name']!r})"
    texts: dict[str, str] = {}
    # By age; a file has one or two of them.
    for key, held in (
        ("param", record.get("param")),
        ("attr", record.get("attr")),
        ("attrs", record.get("attrs")),
    ):
        held = held or {}
        if not isinstance(held, dict):
            raise FormatError(f"{who}: {key!r} must be an object; got {held!r}")
        texts.update(
            {
                str(name): value if isinstance(value, str) else json.dumps(value)
                for name, value in held.items()
            }
        )
    inputs = record.get("inputs") or []
    if not isinstance(inputs, list):
        raise FormatError(f"{who}: 'inputs' must be a list; got {inputs!r}")
    sources = [_resolve(reference, entries, f"{who}: input {k}") for k, reference in enumerate(inputs)]
    if record["op"] == "null":
        if sources:
            raise FormatError(f"{who}: a variable must have no inputs; got {inputs}")
        return [Entry(Variable(record["name"], {hide(key): value for key, value in texts.items()}))]
    op = OPERATORS.get(record["op"]) or FUSED_LAYERS.get(record["op"])
    if record["op"] == TORCH_MODULE:
        raise FormatError(
            f"{who}: a file cannot hold the PyTorch module of sym.torch_module; make the symbol in code again, and "
            "load its parameters with Module.load_params"
        )
    if op is None:
        raise FormatError(f"{who}: no operator {record['op']!r}{near_names(record['op'], OPERATORS)}")
    try:
        op = op.resolved({key: value for key, value in texts.items() if not is_attribute(key)})
    except MXNetError as error:
        raise FormatError(f"{who}: {error}") from None
    if version < _ARGMAX_CHANGED and op.name in ("argmax", "argmin") and texts.get("axis") == "-1":
        del texts["axis"]  # it meant all elements then
    if is_control_flow(op):
        return _apply_with_graphs(control_flow_operator, op, record, texts, sources, who, version)
    if is_fused_layer(op):
        return _apply_with_graphs(fused_layer_operator, op, record, texts, sources, who, version)
    return _apply(op, record, texts, sources, who, version)


def _apply_with_graphs(
    make: Callable[[Operator, Params, Sequence[Graph], int], Operator],
    op: Operator,
    record: _NodeRecord,
    texts: Mapping[str, str],
    sources: list[Entry],
    who: str,
    version: int,
) -> list[Entry]:
    subgraphs = record.get("subgraphs")
    if not isinstance(subgraphs, list):
        raise FormatError(f"{who}: must have a list 'subgraphs'; got {subgraphs!r}")
    graphs = [_read_graph(each, f"{who}: subgraph {i}", version) for i, each in enumerate(subgraphs)]
    given, others = split_attributes(op, texts)
    try:
        p = op.parse(given)
        made = make(op, p, graphs, len(sources))
    except MXNetError as error:
        raise FormatError(f"{who}: {error.message}") from None
    node = Application(made, record["name"], tuple(sources), p, given, others, record["op"])
    return [Entry(node, k) for k in range(len(node.output_names))]


def _apply(
    op: Operator,
    record: _NodeRecord,
    texts: Mapping[str, str],
    sources: list[Entry],
    who: str,
    version: int,
) -> list[Entry]:
    given, others = split_attributes(op, texts)
    unknown = [key for key in others if not is_attribute(key)]
    # Up to 0.8 an operator's node could carry attributes for its inputs: weight_lr_mult.
    for_inputs = {key: value for key in unknown for value in [others[key]] if _belongs_to_input(op, key)}
    try:
        p = op.parse(given)
        stray = [key for key in unknown if key not in for_inputs]
        if stray:
            op.parse({**given, stray[0]: others[stray[0]]})
    except MXNetError as error:
        raise FormatError(f"{who}: {error.message}") from None
    names = op.signature.inputs_for(p, len(sources))
    # Files of 0.8 and before leave auxiliary states out. These get the attributes of their node: its group of devices,
    # too.
    inherited = {hide(key): value for key, value in texts.items()}
    for missing in names[len(sources) :]:
        sources = [*sources, input_variable(op, record["name"], missing, inherited)]
    if len(sources) != len(names):
        raise FormatError(f"{who}: must have the inputs {', '.join(names)}; got {len(sources)}")
    for key, value in for_inputs.items():
        prefix = _belongs_to_input(op, key)
        variable = sources[names.index(prefix)].node if prefix in names else None
        if variable is not None and variable.is_variable:
            variable.attributes[hide(key.removeprefix(f"{prefix}_"))] = value
    if version < _INITS_BEFORE:
        for input_name, entry in zip(names, sources, strict=True):
            if input_name in op.record.inits and entry.node.is_variable:
                entry.node.attributes.setdefault("__init__", op.record.inits[input_name])
    attributes = {key: value for key, value in others.items() if key not in for_inputs}
    node = Application(op, record["name"], tuple(sources), p, given, attributes, record["op"])
    return [Entry(node, k) for k in range(len(node.output_names))]


def _belongs_to_input(op: Operator, key: str) -> str | None:
    """Return the input that a key such as ``weight_lr_mult`` is for."""
    for name in op.signature.input_names:
        if key.startswith(f"{name}_") and key.removeprefix(f"{name}_") in HIDDEN_KEYS:
            return name
    return None
