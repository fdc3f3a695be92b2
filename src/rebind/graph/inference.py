"""Shapes and types of everything in a graph, from what is known of some of it.

A fixed point: forward by running each operator on torch's ``meta`` device, backward by the rules that operators
declare, until nothing new is learnt. A size may be unknown (0) and may come from a consumer as well as from a
producer. A half-known shape passes forward by two runs with different sizes for what is unknown: where the answers
differ, the answer is unknown too.
"""

from __future__ import annotations

import ast
import contextlib
import operator
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Generic, TypeVar

import torch

from .. import dtypes
from ..dtypes import DTypeLike
from ..errors import DTypeError, FormatError, MXNetError, ShapeError
from ..ops import Operator, TypeSlot
from ..params import Params, without_long
from ..shapes import Shape, is_known, merge
from .graph import Application, Entry, Graph, Node

__all__ = ["Inferred", "declared_shape", "infer_shapes", "infer_types"]

T = TypeVar("T")

# They stand for unknown sizes, and are divisible by small numbers, so that splits go through. With many unknown axes
# they are smaller: the number of elements must not overflow.
_FILLERS = ((5040, 10080), (60, 120), (6, 12))
_MOST_ELEMENTS = 2**62


@dataclass(frozen=True)
class Inferred(Generic[T]):
    """Shapes or types of a graph's arguments, outputs and auxiliary states; None where unknown."""

    arguments: tuple[T | None, ...]
    outputs: tuple[T | None, ...]
    auxiliary: tuple[T | None, ...]
    entries: Mapping[Entry, T]

    def of(self, entry: Entry) -> T | None:
        """Return what is known of one entry.

        >>> import rebind as mx
        >>> graph = mx.sym.exp(mx.sym.var("x")).graph
        >>> infer_shapes(graph, {"x": (2,)}).of(graph.outputs[0])
        (2,)
        """
        return self.entries.get(entry)


def _collect(graph: Graph, known: Mapping[Entry, T]) -> Inferred[T]:
    def of(nodes: Sequence[Node]) -> tuple[T | None, ...]:
        return tuple(known.get(Entry(node)) for node in nodes)

    outputs = tuple(known.get(entry) for entry in graph.outputs)
    return Inferred(of(graph.arguments), outputs, of(graph.auxiliary), known)


def infer_types(
    graph: Graph, given: Mapping[str, DTypeLike | None], default: torch.dtype | None = None
) -> Inferred[torch.dtype]:
    """Return the types that follow from `given` (name of an argument to type) and from ``var(dtype=)``.

    Within an operator, inputs and outputs that share a type variable agree; it flows both ways. A variable whose type
    does not follow is of type `default`, and others may follow from that; the first one in the graph comes first.

    Raises
    ------
    DTypeError
        When two inputs that must agree do not; it names the node and both.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2)
    >>> infer_types(net.graph, {"x": "float16"}).arguments
    (torch.float16, torch.float16, torch.float16)
    """
    known: dict[Entry, torch.dtype] = {}
    for node in graph.variables:
        dtype = given.get(node.name)
        if dtype is not None:
            known[Entry(node)] = dtypes.torch_dtype(dtype)
        elif "__dtype__" in node.attributes:
            known[Entry(node)] = _declared_type(node)
    applications = [node for node in graph.nodes if not node.is_variable]
    # Before any default, so that what follows from declared types is not overruled by one.
    _settle(applications, known)
    # One variable at a time: what follows from the first decides the type of the next.
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


def _settle(applications: list[Application], known: dict[Entry, torch.dtype]) -> None:
    seen: dict[Node, tuple] = {}  # what was known around a node when a visit taught nothing more
    is_open = False
    for order in _sweeps(applications):
        changed = False
        for node in order:
            outputs = node.outputs
            around = (*node.inputs, *outputs)
            before = tuple([known.get(entry) for entry in around])
            # Most nodes settle in the first sweep; those are not asked again.
            if seen.get(node) == before:
                continue
            try:
                if _have_one_type(node, around, known):
                    changed = True
                elif _unify_types(node, outputs, known):
                    changed = is_open = True  # what one rule has found another may use
                    continue
            except MXNetError as error:
                node.locate(error)
                raise
            seen[node] = after = tuple([known.get(entry) for entry in around])
            is_open = is_open or None in after
        if not (changed and is_open):
            return


def _sweeps(nodes: list[Application]) -> Iterator[list[Application]]:
    """Yield the nodes forward, backward, forward, ... A sweep that changes nothing ends the search."""
    while True:
        yield nodes
        # Backward, since what a later node knows may settle an earlier one.
        yield nodes[::-1]


def _have_one_type(node: Application, around: Sequence[Entry], known: dict[Entry, torch.dtype]) -> bool:
    """Give all inputs and outputs their one type, where an operator declares no other; return whether it could."""
    inference = node.operator.inference
    if inference.types is not None or inference.types_rule is not None:
        return False
    types = {known[entry] for entry in around if entry in known}
    if len(types) != 1:
        return False
    known.update(dict.fromkeys(around, types.pop()))
    return True


def _unify_types(node: Application, outputs: Sequence[Entry], known: dict[Entry, torch.dtype]) -> bool:
    op, p = node.operator, node.params
    slots = op.inference.type_slots(p)
    named: list[tuple[str, Entry]] = [*zip(node.input_names, node.inputs, strict=True)]
    named += zip(op.record.output_names(p), outputs, strict=True)
    bound: dict[str, tuple[str, torch.dtype]] = {}
    resolved: list[tuple[str, Entry, TypeSlot]] = []
    count = len(node.inputs)
    for i, (name, key) in enumerate(named):
        # Inputs without a slot of their own are "*", outputs "output"; "T" where nothing is declared.
        slot = slots.get(name, slots.get("*" if i < count else "output", "T"))
        resolved.append((name, key, slot))
        if isinstance(slot, str) and slot != "any" and key in known:
            # Slots of one name have one type; the first that is known says which.
            first, dtype = bound.setdefault(slot, (name, known[key]))
            if dtype is not known[key]:
                raise DTypeError(
                    f"{name} must be of the type of {first}, {dtypes.name(dtype)}; got {dtypes.name(known[key])}",
                    argument=name,
                )
        elif callable(slot) and op.inference.same_shape and key in known and slot(known[key]) is known[key]:
            bound.setdefault("T", (name, known[key]))  # element by element most types give themselves
    changed = False
    # Second round: what the first has bound goes to all that are still unknown.
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
        elif (
            dtype_here is not None
            and callable(slot)
            and op.inference.same_shape
            and dtype_here is not known.get(key, dtype_here)
        ):
            raise DTypeError(
                f"{name} must be of type {dtypes.name(dtype_here)} for inputs of type {dtypes.name(bound['T'][1])}; "
                f"got {dtypes.name(known[key])}",
                argument=name,
            )
    # At last the operator's own rule, for what slots cannot say.
    filled = op.inference.filled_types({name: known.get(key) for name, key in named[:count]}, p)
    for name, key in named:
        dtype_here = filled.get(name)
        if dtype_here is not None and key not in known:
            known[key] = dtype_here
            changed = True
    return changed


def _computed_type(node: Application, output: int, known: Mapping[Entry, torch.dtype]) -> torch.dtype | None:
    """Return the type of an output that nothing is declared of, from running an element-wise operator."""
    types = [known.get(entry) for entry in node.inputs]
    if not node.operator.inference.same_shape or None in types:
        return None
    found = run_on_meta(
        node.operator, node.params, [torch.empty((1,), dtype=t, device=_META) for t in types]
    )[output]
    return None if found is None else found.dtype


def infer_shapes(
    graph: Graph,
    given: Mapping[str, Shape],
    types: Inferred[torch.dtype] | Mapping[Entry, torch.dtype] | None = None,
    *,
    declared: bool = True,
) -> Inferred[Shape]:
    """Return the shapes that follow from `given` (name of an argument to shape) and from ``var(shape=)``.

    The latter are left aside without `declared`. `types` are what `infer_types` gave, as a whole or by entry.

    Raises
    ------
    ShapeError
        When shapes contradict each other; it names the node, its operator, the input and both shapes.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2)
    >>> found = infer_shapes(net.graph, {"x": (8, 3)})
    >>> found.arguments, found.outputs
    (((8, 3), (2, 3), (2,)), ((8, 2),))
    """
    known: dict[Entry, Shape] = {}
    for node in graph.variables:
        shape = given.get(node.name)
        # What is given wins over what was declared: a network made for one batch size runs with another.
        if declared:
            wanted = declared_shape(node, 0)
            with contextlib.suppress(ValueError):
                shape = merge(shape, wanted)
        if shape is not None:
            known[Entry(node)] = shape
    types = infer_types(graph, {}) if types is None else types
    inference = _ShapeInference(known, types.entries if isinstance(types, Inferred) else types)
    applications = [node for node in graph.nodes if not node.is_variable]
    for order in _sweeps(applications):
        # A list: all nodes are visited, those after the first that learnt something too.
        if not any([inference.visit(node) for node in order]) or not inference.is_open:
            break
    return _collect(graph, known)


def declared_shape(node: Node, unknown: int | None) -> Shape | None:
    """Return the shape in ``var(shape=)`` of a variable, None when there is none.

    An unknown size is -1 in it, under MXNet's rule of shapes 0 too; `unknown` takes the place of both, or, where it is
    None, nothing: 0 is a size then.

    >>> import rebind as mx
    >>> variable = mx.sym.var("x", shape=(0, 3, -1)).graph.nodes[0]
    >>> declared_shape(variable, 0), declared_shape(variable, None)
    ((0, 3, 0), (0, 3, -1))
    """
    text = node.attributes.get("__shape__")
    if not text:
        return None
    try:
        value = ast.literal_eval(without_long(text))
        shape = tuple(operator.index(n) for n in (value if isinstance(value, (tuple, list)) else (value,)))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise FormatError(
            f"variable {node.name!r}: its attribute __shape__ must be a tuple; got {text!r}"
        ) from None
    if unknown is None:
        return shape
    return tuple(unknown if n <= 0 else n for n in shape) or None


class _ShapeInference:
    """What is known so far, and how one node adds to it."""

    def __init__(self, known: dict[Entry, Shape], types: Mapping[Entry, torch.dtype]) -> None:
        self.known = known
        self.types = types
        self.seen: dict[Node, tuple] = {}  # what was known around a node when it was last visited
        self.is_open = False  # whether a visit has left something unknown, so that another may learn more

    def visit(self, node: Application) -> bool:
        """Learn from one node; return whether anything was new."""
        op, p = node.operator, node.params
        keys = node.inputs
        out_keys = node.outputs
        around = (*keys, *out_keys)
        before = tuple([self.known.get(key) for key in around])
        # Most nodes settle in the first sweep; those are not asked again.
        if self.seen.get(node) == before:
            return False
        names = node.input_names
        shapes = dict(zip(names, before, strict=False))
        try:
            filled = op.inference.filled_shapes(shapes, p)
            if filled:
                self._learn(node, names, keys, filled, shapes)
            # Backward, from outputs to inputs, only where something is still unknown.
            if not all(map(is_known, shapes.values())):
                outputs = [self.known.get(key) for key in out_keys]
                shapes = {name: self.known.get(key) for name, key in zip(names, keys, strict=True)}
                self._learn(node, names, keys, op.inference.shapes_of_inputs(shapes, outputs, p), shapes)
            # As they are now: both rules may have added to them.
            inputs = [self.known.get(key) for key in keys]
            half_known = op.inference.half_known_rule
            if None not in inputs:
                self._forward(node, inputs, out_keys)
            elif half_known is not None:
                self._take_outputs(half_known(dict(zip(names, inputs, strict=True)), p), out_keys)
        except MXNetError as error:
            node.locate(error)
            raise
        except ValueError as error:  # of a rule that met shapes that contradict each other
            found = [self.known.get(key) for key in keys]
            raise node.locate(self._misfit(node, found, error)) from None
        after = tuple([self.known.get(key) for key in around])
        self.seen[node] = after
        self.is_open = self.is_open or not all(map(is_known, after))
        return after != before

    def _learn(
        self,
        node: Application,
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

    def _conflict(
        self, node: Application, name: str, wanted: Shape, found: Mapping, have: Mapping
    ) -> ShapeError:
        names = list(node.input_names)
        entry = node.inputs[names.index(name)]
        # What the shape follows from: the data, rather than the other parameters that follow from it too.
        sources = [n for n in names if found.get(n) is None and have.get(n) is not None]
        sources = sources or [n for n in names if n != name and have.get(n) is not None]
        others = ", ".join(f"{n} {have[n]}" for n in sources)
        match = f" to match {others}" if others else ""
        return ShapeError(
            f"{name} ({entry.name!r}) must have shape {wanted}{match}; got {self.known[entry]}", argument=name
        )

    def _forward(self, node: Application, inputs: Sequence[Shape | None], out_keys: Sequence[Entry]) -> None:
        op, p = node.operator, node.params
        if op.has_open_size(p):
            assert op.inference.size is not None
            self._take_outputs([op.inference.size.known(p)], out_keys)
            return
        dtypes_ = [self.types.get(entry) for entry in node.inputs]
        known_all = all(map(is_known, inputs))
        answers: list[Sequence[Shape | None]] = []
        if not known_all:
            found = self._from_half_known(node, inputs, out_keys)
            if found:
                self._take_outputs(found, out_keys)
                return
        # Two runs with different fillers: sizes equal in both do not depend on what is unknown.
        for filler in (1,) if known_all else _fillers(inputs):
            filled = [tuple(n or filler for n in shape) for shape in inputs if shape is not None]
            try:
                answers.append(
                    _declared_outputs(node, filled, dtypes_) or meta_shapes(op, p, filled, dtypes_)
                )
            except Exception as error:
                if not known_all:
                    return  # the sizes tried for unknown ones need not fit
                misfit = self._misfit(node, inputs, error)
                if misfit is error:
                    raise
                raise misfit from None
        self._take_outputs(answers[0] if known_all else map(_common, *answers), out_keys)

    def _from_half_known(
        self, node: Application, inputs: Sequence[Shape | None], out_keys: Sequence[Entry]
    ) -> Sequence[Shape | None]:
        """Return what is declared of the outputs for half-known inputs; nothing if nothing is."""
        inference = node.operator.inference
        if inference.half_known_rule is not None:
            return inference.half_known_rule(dict(zip(node.input_names, inputs, strict=True)), node.params)
        # Sizes that are tried for unknown ones need not fit where an operator wants square matrices.
        return inputs[:1] if inference.same_shape and len(out_keys) == 1 else ()

    def _take_outputs(self, shapes: Iterable[Shape | None], out_keys: Sequence[Entry]) -> None:
        for key, shape in zip(out_keys, shapes, strict=False):
            if shape is None:
                continue
            try:
                merged = merge(self.known.get(key), shape)
            except ValueError:
                raise ShapeError(
                    f"the output must have shape {self.known[key]} for the operators that use it; got {shape}"
                ) from None
            assert merged is not None
            self.known[key] = merged

    def _misfit(self, node: Application, inputs: Sequence[Shape | None], error: Exception) -> MXNetError:
        listed = [
            f"{name} ({entry.name!r}) {shape}"
            for name, entry, shape in zip(node.input_names, node.inputs, inputs, strict=True)
        ]
        if isinstance(error, MXNetError):
            return node.locate(error, listed)
        reason = (str(error) or type(error).__name__).splitlines()[0]
        return ShapeError(f"inputs do not fit; got {', '.join(listed) or 'no inputs'}. {reason}")


def _declared_outputs(
    node: Application, shapes: Sequence[Shape], types: Sequence[torch.dtype | None]
) -> Sequence[Shape | None]:
    """Return what the operator says of its outputs, nothing if it says nothing."""
    rule = node.operator.inference.forward_rule
    if rule is None or not all(dtype is None or dtype.is_floating_point for dtype in types):
        return ()
    return rule(dict(zip(node.input_names, shapes, strict=True)), node.params)


def _fillers(shapes: Sequence[Shape | None]) -> tuple[int, int]:
    """Return two sizes to put in the place of unknown ones."""
    for pair in _FILLERS:
        if all(prod(n or pair[1] for n in shape or ()) < _MOST_ELEMENTS for shape in shapes):
            return pair
    return _FILLERS[-1]


def _common(shape: Shape | None, other: Shape | None) -> Shape | None:
    """Return what does not depend on the sizes that stand for unknown ones."""
    if shape is None or other is None or len(other) != len(shape):
        return None
    # Equal in both runs: it does not follow from the fillers.
    return tuple(a if a == b else 0 for a, b in zip(shape, other, strict=True))


_META = torch.device("meta")
_CACHE: dict[Hashable, list[Shape | None]] = {}


def meta_shapes(
    op: Operator, p: Params, shapes: Sequence[Shape], types: Sequence[torch.dtype | None]
) -> list[Shape | None]:
    """Return the shapes of the outputs of `op`, by running it on tensors without content.

    >>> from rebind.ops import find
    >>> op = find("dot")
    >>> meta_shapes(op, op.parse({}), [(2, 3), (3, 4)], [None, None])
    [(2, 4)]
    """
    try:
        key = None if not op.shared else (op.name, tuple(p.items()), tuple(shapes), tuple(types))
        found = _CACHE.get(key)
    # A parameter that cannot be hashed, such as a list: not worth a cache.
    except TypeError:
        key, found = None, None
    if found is None:
        tensors = [
            torch.empty(shape, dtype=dtype or torch.float32, device=_META)
            for shape, dtype in zip(shapes, types, strict=True)
        ]
        found = [None if value is None else tuple(value.shape) for value in run_on_meta(op, p, tensors)]
        # Bounded, for programs that make graphs in ever new shapes; the early ones are those that come again.
        if key is not None and len(_CACHE) < 16384:
            _CACHE[key] = found
    return found


def run_on_meta(op: Operator, p: Params, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
    """Run `op` on tensors without content; absent optional inputs are filled in as None.

    >>> from rebind.ops import find
    >>> op = find("exp")
    >>> run_on_meta(op, op.parse({}), [torch.empty((2, 3), device="meta")])
    [tensor(..., device='meta', size=(2, 3))]
    """
    signature = op.signature
    modes = signature.mode_keywords(training=True, generator=None, device=_META)
    with torch.no_grad():
        result = op.kernels.function(*signature.arguments(p, tensors), **signature.keywords(p), **modes)
    results = result if isinstance(result, tuple) else (result,)
    return list(results[: len(op.record.output_names(p))])
