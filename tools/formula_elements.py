"""Lines of formulas that assign elements: ``out[n, f] = sum(weight[f, c] * data[n, c])``, computed with NumPy.

Names that are not known are indices. They run over the axis in which they stand alone, or over the `range` of a
generator. `sum`, `mean` and `max` run over the indices of their generators, and over all others that are not on the
left; `argmax` gives the first position of the largest, over one index from 0. What is outside of an array counts as 0
in a sum, and is no element for the others; the mean of no element is 0, the maximum -inf. ``...`` stands for any number
of axes. ``+=`` adds for all values of all indices.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

__all__ = ["REDUCERS", "assign_elements", "assigned", "assigns_elements", "indices"]


def _first_largest(values: np.ma.MaskedArray, axes: tuple[int, ...]) -> np.ndarray:
    [axis] = axes
    return np.expand_dims(np.argmax(np.ma.filled(values.astype(float), -np.inf), axis), axis)


#: What sums, means and the like run over indices.
REDUCERS: dict[str, Callable[[np.ma.MaskedArray, tuple[int, ...]], np.ndarray]] = {
    "sum": lambda values, axes: values.filled(0).sum(axes, keepdims=True),
    "mean": lambda values, axes: values.mean(axes, keepdims=True),
    "max": lambda values, axes: np.ma.filled(values.astype(float), -np.inf).max(axes, keepdims=True),
    "argmax": _first_largest,
}
#: The index that stands for all axes of an ellipsis.
_DOTS = "..."
Assignment = ast.Assign | ast.AugAssign


def assigns_elements(statement: ast.stmt, known: set[str]) -> TypeGuard[Assignment]:
    """Return whether a statement assigns elements of an array by indices.

    >>> lines = ("out[i] = data[i]", "out[0] = data[0]", "out = data")
    >>> [assigns_elements(ast.parse(line).body[0], {"data"}) for line in lines]
    [True, False, False]
    """
    if not isinstance(statement, Assignment):
        return False
    target = _target(statement)
    return isinstance(target, ast.Subscript) and any(
        isinstance(node, ast.Name) and node.id not in known for node in ast.walk(target.slice)
    )


def indices(statement: ast.stmt, known: set[str]) -> set[str]:
    """Return the names that are indices: those that stand alone in a subscript, or that a generator binds.

    >>> sorted(
    ...     indices(ast.parse("out[n] = sum(data[n, i + j] for j in range(size))").body[0], {"data", "size"})
    ... )
    ['j', 'n']
    """
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Subscript):
            found |= {part.id for part in _parts(node) if isinstance(part, ast.Name)}
        elif isinstance(node, ast.comprehension) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found - known


def assign_elements(
    statement: Assignment, names: Mapping[str, Any], shape: Sequence[int] | None = None
) -> np.ndarray:
    """Return the array whose elements a statement assigns.

    Parameters
    ----------
    statement
        One for which `assigns_elements` holds.
    names
        Arrays, parameters and functions. An array that is here is changed in a copy; another is made of zeros.
    shape
        The shape of the array; None where the indices on the left say it.

    Examples
    --------
    >>> [line] = ast.parse("out[i, j] = sum(a[i, k] * a[j, k])").body
    >>> assign_elements(line, {"a": np.array([[1, 2], [3, 4]])})
    array([[ 5, 11],
           [11, 25]])
    """
    return _Evaluation(statement, names, shape).run()


def assigned(statement: ast.stmt) -> str:
    """Return the name of the array whose elements a statement assigns."""
    assert isinstance(statement, Assignment)
    target = _target(statement)
    assert isinstance(target, ast.Subscript)
    assert isinstance(target.value, ast.Name)
    return target.value.id


def _target(statement: Assignment) -> ast.expr:
    return statement.target if isinstance(statement, ast.AugAssign) else statement.targets[0]


def _parts(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is_dots(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _generated(statement: ast.AST) -> list[str]:
    """Return the indices of a statement's generators."""
    targets = [node.target for node in ast.walk(statement) if isinstance(node, ast.comprehension)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


class _Evaluation(ast.NodeTransformer):
    """Replaces each read and each sum, from inside to outside, by a name that holds its value.

    Each index has an axis of its own in all values; they meet by broadcasting.
    """

    def __init__(self, statement: Assignment, names: Mapping[str, Any], shape: Sequence[int] | None) -> None:
        self.statement, self.shape = statement, shape
        self.names = {**names, "where": np.ma.where}
        target = _target(statement)
        assert isinstance(target, ast.Subscript)
        self.target = target
        self.dots: tuple[int, ...] = ()  # the sizes that an ellipsis stands for
        self.extents = self._find_extents()
        order = [*self._used(target), *sorted(self.extents), *_generated(statement)]
        self.axes = {name: axis for axis, name in enumerate(dict.fromkeys(order))}
        for name, extent in self.extents.items():
            self._bind(name, np.arange(extent))

    def run(self) -> np.ndarray:
        """Compute the right side, and put it into its places."""
        left = [self._value(part) for part in _parts(self.target)]
        value = self._value(self.statement.value)
        if isinstance(self.statement, ast.Assign):
            self._check_indices(value)
        before = self.names.get(assigned(self.statement))
        shape = self.shape or (None if before is None else before.shape)
        if shape is None:
            wanted = [np.size(place) if np.ndim(place) else 1 for place in left]
            shape = self._unfold(wanted, self.target)
        folded = self._folded(shape, self.target)
        dtype = np.float64 if isinstance(self.statement, ast.AugAssign) else np.asarray(value).dtype
        result = np.zeros(folded, dtype) if before is None else before.reshape(folded).copy()
        *places, value = np.broadcast_arrays(*left, np.ma.filled(value, 0))
        places = [place.astype(int) for place in places]
        inside = np.all([(place >= 0) & (place < size) for place, size in zip(places, folded)], axis=0)
        selected = tuple(place[inside] for place in places)
        if isinstance(self.statement, ast.AugAssign):
            np.add.at(result, selected, value[inside])
        else:
            result[selected] = value[inside]
        return result.reshape(shape)

    def _check_indices(self, value: Any) -> None:
        shared = set(self._used(self.target))
        for name, axis in self.axes.items():
            if np.ndim(value) and np.shape(value)[axis] > 1 and name not in shared:
                raise ValueError(
                    f"{ast.unparse(self.statement)}: {name} must be on the left side or in a sum"
                )

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if not isinstance(node.value, ast.Name) or not isinstance(self.names.get(node.value.id), np.ndarray):
            return self._hold(self._plain(node))
        array = self.names[node.value.id]
        folded = array.reshape(self._folded(array.shape, node))
        places = [np.asarray(self._value(part)) for part in _parts(node)]
        inside: Any = True
        for place, size in zip(places, folded.shape, strict=True):
            inside = inside & (place >= 0) & (place < size)
        if np.all(inside):
            return self._hold(folded[tuple(place.astype(int) for place in places)])
        nearest = [np.clip(place, 0, size - 1) for place, size in zip(places, folded.shape, strict=True)]
        value = folded[tuple(place.astype(int) for place in nearest)]
        return self._hold(np.ma.array(value, mask=~np.broadcast_to(inside, value.shape)))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in REDUCERS or len(node.args) != 1:
            return self.generic_visit(node)  # type: ignore[return-value]
        [argument] = node.args
        mask: Any = True
        over: list[str] = []
        if isinstance(argument, ast.GeneratorExp):
            for each in argument.generators:
                assert isinstance(each.target, ast.Name)
                assert isinstance(each.iter, ast.Call)
                limits = [self._value(limit) for limit in each.iter.args]
                low, high = limits if len(limits) == 2 else (0, limits[0])
                self._bind(each.target.id, np.arange(np.min(low), np.max(high)))
                index = self.names[each.target.id]
                mask = mask & (index >= low) & (index < high)
                for condition in each.ifs:
                    mask = mask & self._value(condition)
                over.append(each.target.id)
            argument = argument.elt
        kept = self._used(self.target)
        over += [index for index in self._used(argument) if index not in kept]
        value = self._value(argument)
        axes = tuple(self.axes[index] for index in over)
        if not axes:
            return self._hold(value)
        grid = [self.names[index] for index in over]
        numbers, outside, mask, *_ = np.broadcast_arrays(
            np.ma.getdata(value), np.ma.getmaskarray(value), mask, *grid
        )
        value = np.ma.array(numbers, mask=outside | ~mask)
        return self._hold(REDUCERS[name](value, axes))

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        return self._call("where", node.test, node.body, node.orelse)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        joined = node.values[0]
        for value in node.values[1:]:
            joined = ast.BinOp(joined, ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr(), value)
        return self.visit(joined)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) == 1:
            return self.generic_visit(node)  # type: ignore[return-value]
        sides = [node.left, *node.comparators]
        pairs: list[ast.expr] = [ast.Compare(a, [op], [b]) for a, op, b in zip(sides, node.ops, sides[1:])]
        return self.visit(ast.BoolOp(ast.And(), pairs))

    def _call(self, name: str, *arguments: ast.expr) -> ast.expr:
        visited = [self.visit(argument) for argument in arguments]
        return ast.Call(ast.Name(name, ast.Load()), visited, [])

    def _value(self, node: ast.expr) -> Any:
        """Return the value of an expression."""
        if _is_dots(node):
            return self.names[_DOTS]
        return self._plain(self.visit(_copied(node)))

    def _plain(self, node: ast.expr) -> Any:
        expression = ast.fix_missing_locations(ast.Expression(node))
        return eval(compile(expression, "<formula>", "eval"), {}, self.names)

    def _hold(self, value: Any) -> ast.expr:
        name = f"value {len(self.names)}"
        self.names[name] = value
        return ast.Name(name, ast.Load())

    def _bind(self, name: str, numbers: np.ndarray) -> None:
        axes = [1] * len(self.axes)
        axes[self.axes[name]] = len(numbers)
        self.names[name] = numbers.reshape(axes)

    def _subscripts(self) -> list[tuple[ast.Subscript, Sequence[int]]]:
        """Return the subscripts of arrays with the shapes of these, the target's first."""
        found: list[tuple[ast.Subscript, Sequence[int]]] = []
        for node in ast.walk(self.statement):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
                array = self.names.get(node.value.id)
                if node is self.target and self.shape is not None:
                    found.insert(0, (node, self.shape))
                elif isinstance(array, np.ndarray):
                    found.append((node, array.shape))
        return found

    def _find_extents(self) -> dict[str, int]:
        """Return how far each index runs that is not a generator's."""
        generated = _generated(self.statement)
        extents: dict[str, int] = {}
        subscripts = self._subscripts()
        for node, shape in subscripts:
            for first in (i for i, part in enumerate(_parts(node)) if _is_dots(part)):
                count = len(shape) - len(_parts(node)) + 1
                self.dots = tuple(shape[first : first + count])
                extents.setdefault(_DOTS, math.prod(self.dots))
        for node, shape in subscripts:
            folded = self._folded(shape, node)
            if len(folded) != len(_parts(node)):
                raise IndexError(f"{ast.unparse(node)}: the array has {len(shape)} axes")
            for part, size in zip(_parts(node), folded, strict=True):
                if isinstance(part, ast.Name) and part.id not in self.names and part.id not in generated:
                    extents.setdefault(part.id, size)
        return extents

    def _folded(self, shape: Sequence[int], node: ast.Subscript) -> tuple[int, ...]:
        """Return a shape with one axis for those of an ellipsis."""
        parts = _parts(node)
        for i, part in enumerate(parts):
            if _is_dots(part):
                end = len(shape) - (len(parts) - 1 - i)
                return (*shape[:i], math.prod(shape[i:end]), *shape[end:])
        return tuple(shape)

    def _unfold(self, wanted: list[int], node: ast.Subscript) -> tuple[int, ...]:
        """Return a shape with the axes of an ellipsis."""
        sizes: list[int] = []
        for size, part in zip(wanted, _parts(node), strict=True):
            sizes += self.dots if _is_dots(part) else [size]
        return tuple(sizes)

    def _used(self, node: ast.AST) -> list[str]:
        """Return the indices in an expression, in their order."""
        found = []
        for each in ast.walk(node):
            if isinstance(each, ast.Name):
                found.append(each.id)
            elif _is_dots(each):
                found.append(_DOTS)
        return [name for name in dict.fromkeys(found) if name in self.extents]


def _copied(node: ast.expr) -> ast.expr:
    """Return a copy: a transformer changes nodes in place."""
    return ast.parse(ast.unparse(node), mode="eval").body
