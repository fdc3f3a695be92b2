"""`Symbol`: the user's handle on a graph. Its methods come by idea from the modules beside this one."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Sequence
from typing import NoReturn

from ..absent import absent_function
from ..dtypes import DTypeLike
from ..errors import ArgumentError
from ..graph import Entry, Node, rewrite
from ..ops import find
from ..ops.frontend import split_parameters
from .arithmetic import Arithmetic, combine
from .array_methods import ArrayMethods
from .base import SymbolBase, no_such_argument, single_entry, symbol_of
from .binding import Binding
from .composition import Group, Variable, compose, var
from .inference import Inference
from .methods import OperatorMethods
from .serialization import Serialization, fromjson, load, load_json

__all__ = [
    "Group",
    "Symbol",
    "Variable",
    "combine",
    "compose",
    "fromjson",
    "load",
    "load_json",
    "var",
]


class Symbol(Binding, Inference, Serialization, Arithmetic, ArrayMethods, OperatorMethods):
    """A network, or a part of one: outputs of a graph.

    Symbols are made by `var` and by operators, and are not changed by use. ``symbol(data=other)`` is the network with
    another symbol as its argument ``data``.

    Examples
    --------
    >>> import rebind as mx
    >>> data = mx.sym.var("data")
    >>> net = mx.sym.FullyConnected(data, num_hidden=10, name="fc")
    >>> net.list_arguments()
    ['data', 'fc_weight', 'fc_bias']
    >>> net.infer_shape(data=(2, 5))[1]
    [(2, 10)]
    """

    __slots__ = ()

    def __call__(self, *args: Symbol, name: str | None = None, **kwargs: Symbol) -> Symbol:
        """Return a copy with other symbols as its arguments.

        Parameters
        ----------
        *args
            For the first arguments, in order.
        name
            A new name for the copy.
        **kwargs
            By the argument's name.

        Examples
        --------
        >>> import rebind as mx
        >>> tail = mx.sym.exp(mx.sym.var("x"))
        >>> tail(x=mx.sym.relu(mx.sym.var("data"))).list_arguments()
        ['data']
        """
        entries = self._entries_by_argument(args, kwargs)
        last = self._graph.outputs[0].node

        def replace(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
            if node.is_variable and node.name in entries:
                return [entries[node.name]]
            if name is not None and node is last and not node.is_variable:
                return _outputs(dataclasses.replace(node, name=name, inputs=inputs))
            return None

        return symbol_of(rewrite(self._graph, replace))

    def _entries_by_argument(self, args: Sequence[Symbol], kwargs: dict[str, Symbol]) -> dict[str, Entry]:
        arguments = self.list_arguments()
        if args and kwargs:
            raise ArgumentError("Symbol: compose takes symbols by position or by name, not both")
        if len(args) > len(arguments):
            raise ArgumentError(f"Symbol: compose takes at most {len(arguments)} symbols; got {len(args)}")
        entries = {}
        for key, symbol in {**dict(zip(arguments, args, strict=False)), **kwargs}.items():
            if key not in arguments:
                raise no_such_argument("Symbol", key, arguments, arguments)
            entries[key] = single_entry(symbol, key)
        return entries

    def __copy__(self) -> Symbol:
        return symbol_of(rewrite(self._graph, lambda node, inputs: _outputs(node.with_inputs(inputs))))

    def __deepcopy__(self, memo: dict[int, object]) -> Symbol:
        return self.__copy__()

    def as_nd_ndarray(self) -> Symbol:
        """Return the symbol itself."""
        return self

    def as_np_ndarray(self) -> NoReturn:
        """Raise: the symbols of `mx.sym.np` are not part of rebind."""
        absent_function(
            "Symbol.as_np_ndarray", "Use mx.sym, whose operators are those of MXNet's symbolic API."
        )()

    @property
    def handle(self) -> ctypes.c_void_p:
        """A number that tells this object from others while it lives; there is no C library to hand it to."""
        return ctypes.c_void_p(id(self))

    def astype(self, dtype: DTypeLike) -> Symbol:
        """Return the symbol converted to `dtype`.

        >>> import rebind as mx
        >>> mx.sym.var("x").astype("float16").infer_type(x="float32")[1]
        [<class 'numpy.float16'>]
        """
        return compose(find("Cast"), "cast", (self,), {"dtype": dtype})

    def reshape(self, *shape: int | Sequence[int], **kwargs: int | Sequence[int] | bool | str) -> Symbol:
        """Return the symbol in another shape; see the operator `Reshape` for the codes.

        >>> import rebind as mx
        >>> mx.sym.var("x").reshape(-1, 2).infer_shape(x=(3, 4))[1]
        [(6, 2)]
        """
        if not shape:
            return compose(find("Reshape"), "reshape", (self,), kwargs)
        sizes = shape[0] if isinstance(shape[0], (tuple, list)) else shape
        return compose(find("Reshape"), "reshape", (self,), {**kwargs, "shape": sizes})

    def split_v2(
        self, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False
    ) -> Symbol:
        """Split the symbol into so many equal sections, or before each of some indices.

        >>> import rebind as mx
        >>> mx.sym.var("x").split_v2((1,)).infer_shape(x=(3, 2))[1]
        [(1, 2), (2, 2)]
        """
        given = split_parameters(indices_or_sections, axis, squeeze_axis)
        return compose(find("_split_v2"), "_split_v2", (self,), given)


def _outputs(node: Node) -> list[Entry]:
    return [Entry(node, i) for i in range(len(node.output_names))]


SymbolBase.symbol_class = Symbol
