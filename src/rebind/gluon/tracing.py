"""What a block does to symbols, as a function of arrays: hybridized blocks, `infer_shape`, `export`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ..errors import ArgumentError
from ..executor import CachedOp
from ..ndarray import NDArray
from ..symbol import Group, Symbol
from .arrays import ParameterArrays

__all__ = ["Nesting", "Trace", "flat", "nested"]

#: How values are nested: ``'one'``, ``'none'`` for None, or a tuple of these for a list.
Nesting: TypeAlias = "str | tuple[Any, ...]"


def flat(value: object, kind: type, who: str) -> tuple[list[Any], Nesting]:
    """Return the values of class `kind` in nested lists, and how they are nested. Some may be None.

    >>> flat([1, None, [2, 3]], int, "example")
    ([1, 2, 3], ('one', 'none', ('one', 'one')))
    """
    if value is None:
        return [], "none"
    if isinstance(value, Symbol) and len(value.list_outputs()) > 1:
        value = list(value)
    if isinstance(value, kind):
        return [value], "one"
    if not isinstance(value, (list, tuple)):
        raise ArgumentError(
            f"{who} must be of class {kind.__name__}, or (nested) lists of such; got {value!r}"
        )
    pairs = [flat(each, kind, who) for each in value]
    return [one for found, _ in pairs for one in found], tuple(nesting for _, nesting in pairs)


def nested(values: Iterator[Any], nesting: Nesting) -> Any:
    """Return values as lists that are nested in a way that `flat` returned.

    >>> nested(iter([1, 2, 3]), ("one", "none", ("one", "one")))
    [1, None, [2, 3]]
    """
    if isinstance(nesting, tuple):
        return [nested(values, each) for each in nesting]
    return next(values) if nesting == "one" else None


class Trace:
    """A graph, as a function of arrays and parameters.

    Parameters
    ----------
    inputs
        The names of the variables that stand for the arguments.
    out
        The outputs: a symbol, or nested lists of symbols.
    who
        The block, for messages.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> Trace(["x"], [2 * x, [x + 1]], "example")([mx.nd.array([3])], {})[1][0].item()
    4.0
    """

    def __init__(self, inputs: Sequence[str], out: object, who: str) -> None:
        self.inputs = list(inputs)
        outputs, self._nesting = flat(out, Symbol, f"{who}: what is returned")
        self.symbol: Symbol = Group(outputs) if len(outputs) != 1 else outputs[0]
        self._op = CachedOp(self.symbol)
        self._names = self.symbol.list_inputs()

    def __call__(self, arrays: Sequence[NDArray], params: Mapping[str, NDArray]) -> Any:
        """Return the outputs for arrays, nested as those of the block."""
        given = {**params, **dict(zip(self.inputs, arrays, strict=True))}
        out = self._op(*(given[name] for name in self._names))
        return nested(iter([out] if isinstance(out, NDArray) else out), self._nesting)

    def infer(self, what: str, arrays: Sequence[NDArray], params: Mapping[str, ParameterArrays]) -> None:
        """Give parameters the shapes or types (`what`: ``'shape'`` or ``'dtype'``) that these arrays need."""
        given = dict(zip(self.inputs, arrays, strict=True))
        known = {name: getattr(given[name], what) for name in self._names if name in given}
        infer = self.symbol.infer_shape_partial if what == "shape" else self.symbol.infer_type
        arguments, _, states = infer(**known)
        names = [*self.symbol.list_arguments(), *self.symbol.list_auxiliary_states()]
        for name, found in zip(names, [*(arguments or ()), *(states or ())]):
            if name in params and found:
                setattr(params[name], what, found)
