"""Shapes and types of everything in a graph, from what is known of some of it.

A fixed point: forward by running each operator on torch's ``meta`` device, backward by the rules that operators
declare, until nothing new is learnt. A size may be unknown (0) and may come from a consumer as well as from a
producer. A half-known shape passes forward by two runs with different sizes in its unknown places: where the answers
differ, the answer is unknown too.
"""

from __future__ import annotations

import ast
import contextlib
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .. import dtypes
from ..errors import DTypeError, FormatError, MXNetError, ShapeError
from ..ops import Operator
from ..ops._spec import TypeSlot
from ..params import Params
from ..shapes import Shape, is_known, merge
from .graph import Entry, Graph, Node

__all__ = ["Inferred", "infer_shapes", "infer_types"]

# They stand for an unknown size, and are divisible by all small numbers, so that splits go through.
_FILLERS = (5040, 10080)


@dataclass(frozen=True)
class Inferred:
    """Shapes or types of a graph's arguments, outputs and auxiliary states; None where unknown."""

    arguments: tuple[Any, ...]
    outputs: tuple[Any, ...]
    auxiliary: tuple[Any, ...]
    entries: Mapping[Entry, Any]

    def of(self, entry: Entry) -> Any:
        """Return what is known of one entry."""
        return self.entries.get(entry)


def _collect(graph: Graph, known: Mapping[Entry, Any]) -> Inferred:
    def of(nodes: Sequence[Node]) -> tuple[Any, ...]:
        return tuple(known.get(Entry(node)) for node in nodes)

    outputs = tuple(known.get(entry) for entry in graph.outputs)
    return Inferred(of(graph.arguments), outputs, of(graph.auxiliary), known)


# ---- types ---------------------------------------------------------------------------------------------------


def infer_types(graph: Graph, given: Mapping[str, Any], default: torch.dtype | None = None) -> Inferred:
    """Return the types that follow from `given` (name of an argument to type) and from ``var(dtype=)``.

    Within an operator, inputs and outputs that share a type variable agree; it flows both ways. A variable whose type
    does not follow is of type `default`, and others may follow from that; the first one in the graph comes first.

    Raises
    ------
    DTypeError
        When two inputs that must agree do not; it names the node and both.
    """
    known: dict[Entry, torch.dtype] = {}
    for node in graph.variables:
        dtype = given.get(node.name)
        if dtype is not None:
            known[Entry(node)] = dtypes.torch_dtype(dtype)
        elif "__dtype__" in node.attributes:
            known[Entry(node)] = _declared_type(node)
    applications = [node for node in graph.nodes if node.operator is not None]
    _settle(applications, known)
    if default is not None:
        for node in graph.variables:
            if Entry(node) not in known:
                known[Entry(node)] = default
                _settle(applications, known)
    return _collect(graph, known)


def _declared_type(node: Node) -> torch.dtype:
    text = node.attributes["__dtype__"]
    try:
        return dtypes.by_flag(int(text)) if text.lstrip("-").isdigit() else dtypes.torch_dtype(text)
    except DTypeError as error:
        raise DTypeError(
            f"variable {node.name!r}: its attribute __dtype__ must be a type's number; {error}"
        ) from None


def _settle(applications: list[Node], known: dict[Entry, torch.dtype]) -> None:
    for order in _sweeps(applications):
        changed = False
        for node in order:
            changed |= _unify_types(node, known)
        if not changed:
            return


def _sweeps(nodes: list[Node]) -> Any:
    """Yield the nodes forward, backward, forward, ... A sweep that changes nothing ends the search."""
    while True:
        yield nodes
        yield nodes[::-1]


def _unify_types(node: Node, known: dict[Entry, torch.dtype]) -> bool:
    op, p = node.operator, node.params
    assert op is not None
    slots = op.type_slots(p)
    places: list[tuple[str, Entry]] = [*zip(node.input_names, node.inputs, strict=True)]
    outputs = op.outputs_for(p)
    places += [(name, Entry(node, i)) for i, name in enumerate(outputs)]
    bound: dict[str, tuple[str, torch.dtype]] = {}
    resolved: list[tuple[str, Entry, TypeSlot]] = []
    count = len(node.inputs)
    for i, (name, key) in enumerate(places):
        slot = slots.get(name, slots.get("*" if i < count else "output", "T"))
        resolved.append((name, key, slot))
        if isinstance(slot, str) and slot != "any" and key in known:
            first, dtype = bound.setdefault(slot, (name, known[key]))
            if dtype is not known[key]:
                raise DTypeError(
                    f"{op.name} {node.name!r}: {name} must be of the type of {first}, {dtypes.name(dtype)}; "
                    f"got {dtypes.name(known[key])}"
                )
        elif callable(slot) and op.alike and key in known and slot(known[key]) is known[key]:
            bound.setdefault("T", (name, known[key]))  # element by element most types give themselves
    changed = False
    for name, key, slot in resolved:
        if isinstance(slot, str):
            dtype_here = bound.get(slot, (name, None))[1]
        elif isinstance(slot, torch.dtype):
            dtype_here = slot
        else:
            dtype_here = slot(bound["T"][1]) if "T" in bound else None
        if dtype_here is None and slot == "any" and key.node is node:
            dtype_here = _computed_type(node, key.index, known)
        if dtype_here is not None and key not in known:
            known[key] = dtype_here
            changed = True
        elif callable(slot) and op.alike and dtype_here is not known.get(key, dtype_here):
            raise DTypeError(
                f"{op.name} {node.name!r}: {name} is {dtypes.name(dtype_here)} for inputs of type "
                f"{dtypes.name(bound['T'][1])}; {dtypes.name(known[key])} is asked for"
            )
    filled = op.filled_types({name: known.get(key) for name, key in places[:count]}, p)
    for name, key in places:
        dtype_here = filled.get(name)
        if dtype_here is not None and key not in known:
            known[key] = dtype_here
            changed = True
    return changed


def _computed_type(node: Node, output: int, known: Mapping[Entry, torch.dtype]) -> torch.dtype | None:
    """Return the type of an output that nothing is declared of, from running an element-wise operator."""
    types = [known.get(entry) for entry in node.inputs]
    if node.operator is None or not node.operator.alike or None in types:
        return None
    found = run_on_meta(
        node.operator, node.params, [torch.empty((1,), dtype=t, device=_META) for t in types]
    )[output]
    return None if found is None else found.dtype


# ---- shapes --------------------------------------------------------------------------------------------------


def infer_shapes(
    graph: Graph, given: Mapping[str, Shape], types: Inferred | None = None, *, partial: bool = True
) -> Inferred:
    """Return the shapes that follow from `given` (name of an argument to shape) and from ``var(shape=)``.

    Raises
    ------
    ShapeError
        When shapes contradict each other; it names the node, its operator, the input and both shapes.
    """
    known: dict[Entry, Shape] = {}
    for node in graph.variables:
        shape = given.get(node.name)
        # What is given wins over what was declared: a network made for one batch size runs with another.
        if node.attributes.get("__shape__"):
            declared = _declared_shape(node)
            with contextlib.suppress(ValueError):
                shape = merge(shape, declared)
        if shape is not None:
            known[Entry(node)] = shape
    inference = _ShapeInference(known, types or infer_types(graph, {}))
    applications = [node for node in graph.nodes if node.operator is not None]
    for order in _sweeps(applications):
        if not any([inference.visit(node) for node in order]):
            break
    return _collect(graph, known)


def _declared_shape(node: Node) -> Shape | None:
    """Return the shape in ``var(shape=)``, None when it says nothing; -1 is unknown, as 0 is."""
    text = node.attributes["__shape__"]
    try:
        said = ast.literal_eval(text)
        shape = tuple(
            max(operator.index(n), 0) for n in (said if isinstance(said, (tuple, list)) else (said,))
        )
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise FormatError(
            f"variable {node.name!r}: its attribute __shape__ must be a tuple; got {text!r}"
        ) from None
    return shape or None


class _ShapeInference:
    """What is known so far, and how one node adds to it."""

    def __init__(self, known: dict[Entry, Shape], types: Inferred) -> None:
        self.known = known
        self.types = types
        self.seen: dict[Node, tuple] = {}  # what was known around a node when it was last visited

    def visit(self, node: Node) -> bool:
        """Learn from one node; tell whether anything was new."""
        op, p = node.operator, node.params
        assert op is not None
        keys = node.inputs
        out_keys = [Entry(node, i) for i in range(len(op.outputs_for(p)))]
        before = tuple(self.known.get(key) for key in (*keys, *out_keys))
        if self.seen.get(node) == before:
            return False
        names = node.input_names
        shapes = dict(zip(names, before, strict=False))
        try:
            self._learn(node, names, keys, op.filled_shapes(shapes, p), shapes)
            if not all(is_known(shape) for shape in shapes.values()):
                outputs = [self.known.get(key) for key in out_keys]
                shapes = {name: self.known.get(key) for name, key in zip(names, keys, strict=True)}
                self._learn(node, names, keys, op.shapes_of_inputs(shapes, outputs, p), shapes)
        except MXNetError as error:
            raise _naming(node, error) from None
        inputs = [self.known.get(key) for key in keys]
        if all(shape is not None for shape in inputs):
            self._forward(node, inputs, out_keys)
        after = tuple(self.known.get(key) for key in (*keys, *out_keys))
        self.seen[node] = after
        return after != before

    def _learn(
        self,
        node: Node,
        names: Sequence[str],
        keys: Sequence[Entry],
        found: Mapping[str, Shape | None],
        have: Mapping,
    ) -> None:
        for name, key in zip(names, keys, strict=True):
            shape = found.get(name)
            if shape is None:
                continue
            try:
                merged = merge(self.known.get(key), shape)
            except ValueError:
                raise self._conflict(node, name, shape, found, have) from None
            assert merged is not None
            self.known[key] = merged

    def _conflict(self, node: Node, name: str, wanted: Shape, found: Mapping, have: Mapping) -> ShapeError:
        names = list(node.input_names)
        entry = node.inputs[names.index(name)]
        # What the shape follows from: the data, rather than the other parameters that follow from it too.
        sources = [n for n in names if found.get(n) is None and have.get(n) is not None]
        sources = sources or [n for n in names if n != name and have.get(n) is not None]
        others = ", ".join(f"{n} {have[n]}" for n in sources)
        match = f" to match {others}" if others else ""
        assert node.operator is not None
        return ShapeError(
            f"{node.operator.name} {node.name!r}: {name} ({entry.name!r}) must have shape {wanted}{match}; "
            f"got {self.known[entry]}"
        )

    def _forward(self, node: Node, inputs: Sequence[Shape | None], out_keys: Sequence[Entry]) -> None:
        op, p = node.operator, node.params
        assert op is not None
        dtypes_ = [self.types.of(entry) for entry in node.inputs]
        known_all = all(is_known(shape) for shape in inputs)
        answers: list[Sequence[Shape | None]] = []
        for filler in _FILLERS[: 1 if known_all else 2]:
            filled = [tuple(n or filler for n in shape) for shape in inputs if shape is not None]
            try:
                answers.append(meta_shapes(op, p, filled, dtypes_))
            except Exception as error:
                if not known_all:
                    return  # the sizes that stand for unknown ones need not go through
                raise self._misfit(node, inputs, error) from None
        for i, key in enumerate(out_keys):
            shape = answers[0][i]
            if shape is None:
                continue
            if len(answers) == 2:
                other = answers[1][i]
                if other is None or len(other) != len(shape):
                    continue
                shape = tuple(a if a == b else 0 for a, b in zip(shape, other, strict=True))
            try:
                merged = merge(self.known.get(key), shape)
            except ValueError:
                raise ShapeError(
                    f"{op.name} {node.name!r}: its output has shape {shape}, but its consumers need "
                    f"{self.known[key]}"
                ) from None
            assert merged is not None
            self.known[key] = merged

    def _misfit(self, node: Node, inputs: Sequence[Shape | None], error: Exception) -> Exception:
        assert node.operator is not None
        listed = ", ".join(
            f"{name} ({entry.name!r}) {shape}"
            for name, entry, shape in zip(node.input_names, node.inputs, inputs, strict=True)
        )
        if isinstance(error, MXNetError):
            return _naming(node, error, f". Inputs: {listed}" if listed else "")
        reason = (str(error) or type(error).__name__).splitlines()[0]
        return ShapeError(
            f"{node.operator.name} {node.name!r}: inputs do not fit; got {listed or 'no inputs'}. {reason}"
        )


def _naming(node: Node, error: MXNetError, more: str = "") -> MXNetError:
    """Return an operator's error as one that names the node too."""
    assert node.operator is not None
    text, who = str(error), f"{node.operator.name} {node.name!r}"
    return error if who in text else type(error)(text.replace(node.operator.name, who, 1) + more)


_META = torch.device("meta")
_CACHE: dict[Any, list[Shape | None]] = {}


def meta_shapes(
    op: Operator, p: Params, shapes: Sequence[Shape], types: Sequence[torch.dtype | None]
) -> list[Shape | None]:
    """Return the shapes of the outputs of `op`, by running it on tensors without content."""
    try:
        key = None if op.is_own else (op.name, tuple(p.items()), tuple(shapes), tuple(types))
        found = _CACHE.get(key)
    except TypeError:
        key, found = None, None
    if found is None:
        tensors = [
            torch.empty(shape, dtype=dtype or torch.float32, device=_META)
            for shape, dtype in zip(shapes, types, strict=True)
        ]
        found = [None if value is None else tuple(value.shape) for value in run_on_meta(op, p, tensors)]
        if key is not None and len(_CACHE) < 16384:
            _CACHE[key] = found
    return found


def run_on_meta(op: Operator, p: Params, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
    """Run `op` on tensors without content; absent optional inputs are filled in as None."""
    present = iter(tensors)
    wanted = op.inputs_for(p, len(tensors))
    arguments = (
        list(tensors) if op.variadic else [next(present) if n in wanted else None for n in op.input_names]
    )
    keywords = op.keywords(p)
    modes = op.mode_keywords(training=True, generator=None, device=_META)
    with torch.no_grad():
        result = op.function(*arguments, **keywords, **modes)
    results = result if isinstance(result, tuple) else (result,)
    return list(results[: len(op.outputs_for(p))])
