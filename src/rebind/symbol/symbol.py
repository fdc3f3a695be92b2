"""`Symbol`: the user's handle on a graph, and the functions that make one.

Its methods come by idea from the modules beside this one, none of which knows of it.
"""

from __future__ import annotations

import ctypes
import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from .. import dtypes, graph
from ..absent import absent_function, old_names
from ..checks import DICT, Kind, check_instance, check_kind
from ..dtypes import DTypeLike
from ..errors import ArgumentError, MXNetError, ParameterError, shown
from ..first_use import OnFirstUse
from ..graph import Entry, Node, rewrite, symbol_json
from ..ops import Operator, find
from ..ops.frontend import split_parameters
from ..ops.storage_types import storage_number
from ..params import Parameter, format_value
from ..scope import AttrScope
from .arithmetic import Arithmetic
from .array_methods import ArrayMethods
from .base import SymbolBase, no_such_argument, single_entry
from .binding import Binding
from .composition import apply
from .inference import Inference
from .methods import OperatorMethods
from .numpy_calls import NumpyCalls
from .serialization import Serialization, read_graph

__all__ = [
    "Group",
    "Symbol",
    "Variable",
    "compose",
    "fromjson",
    "load",
    "load_json",
    "var",
]

# Pictures are made above symbols in the layers, where they are found when a notebook asks for one.
_SHOWN = OnFirstUse.from_modules("rebind.viz", {"symbol_html": "notebook"})


class Symbol(
    Binding, Inference, Serialization, Arithmetic["Symbol"], ArrayMethods, NumpyCalls, OperatorMethods
):
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

        return Symbol(rewrite(self._graph, replace))

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
            entries[key] = single_entry(symbol, f"Symbol: {key}")
        return entries

    def __copy__(self) -> Symbol:
        return self.with_graph(rewrite(self._graph, lambda node, inputs: _outputs(node.with_inputs(inputs))))

    def __deepcopy__(self, memo: dict[int, object]) -> Symbol:
        return self.__copy__()

    def __reduce__(self) -> tuple[Callable[[str], Symbol], tuple[str]]:
        # With the casts: a copy in another process computes the same.
        return load_json, (self.tojson(remove_amp_cast=False),)

    def _repr_html_(self) -> str:
        return _SHOWN["symbol_html"](self)

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


SymbolBase.symbol_class = Symbol


def compose(
    op: Operator, hint: str, args: Sequence[Any], kwargs: dict[str, Any], called_as: str | None = None
) -> Symbol:
    """Apply an operator to symbols; for the arguments see `composition.apply`.

    >>> import rebind as mx
    >>> compose(find("exp"), "exp", [mx.sym.var("x")], {"name": "e"}).list_outputs()
    ['e_output']
    """
    return Symbol(apply(op, hint, args, kwargs, called_as))


class Dumped(Protocol):
    """What has a text for files, as an initializer does."""

    def dumps(self) -> str:
        """Return the text."""
        ...


def var(
    name: str,
    attr: Mapping[str, str] | None = None,
    shape: int | Sequence[int] | None = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: DTypeLike | None = None,
    init: str | Dumped | None = None,
    stype: str | None = None,
    **kwargs: str | float,
) -> Symbol:
    """Return a variable: an input, a label or a parameter.

    Parameters
    ----------
    name
        Its name.
    attr
        Attributes.
    shape, dtype
        What is known of it; a size may be 0.
    lr_mult, wd_mult
        Factors of the learning rate and of weight decay.
    init
        An initializer, or its text, which wins over the module's.
    stype
        The kind of storage.
    **kwargs
        Further attributes; their names begin and end with two underscores.

    Examples
    --------
    >>> import rebind as mx
    >>> mx.sym.var("w", shape=(2, 3), lr_mult=0.5).attr("lr_mult")
    '0.5'
    """
    if not isinstance(name, str):
        raise ArgumentError(f"sym.var: name must be a string; got {name!r}")
    # As files hold them: all values are text, and types and storages are MXNet's numbers.
    if attr is not None:
        check_kind("sym.var", DICT, attr=attr)
    _check_settings(shape=shape, lr_mult=lr_mult, wd_mult=wd_mult)
    texts: dict[str, str] = {}
    for key, text in AttrScope.current.get(attr).items():
        if not isinstance(text, str):
            raise ParameterError(f"sym.var: attribute {key!r} must be a string; got {text!r}")
        texts[symbol_json.hide(key)] = text
    if shape is not None:
        texts["__shape__"] = format_value(shape)
    if lr_mult is not None:
        texts["__lr_mult__"] = str(lr_mult)
    if wd_mult is not None:
        texts["__wd_mult__"] = str(wd_mult)
    if dtype is not None:
        texts["__dtype__"] = str(dtypes.flag(dtype, "sym.var: dtype"))
    if init is not None:
        check_instance(init, f"sym.var: init of {name!r}")
        check_kind("sym.var", _INITIALIZER, init=init)
        texts["__init__"] = init if isinstance(init, str) else init.dumps()
    if stype is not None:
        texts["__storage_type__"] = str(storage_number(stype, "sym.var: stype"))
    for key, value in kwargs.items():
        if not symbol_json.is_attribute(key):
            raise ParameterError(
                f"sym.var: no parameter {key!r}; further attributes must begin and end with two underscores: __{key}__"
            )
        texts[key] = str(value)
    return Symbol([Entry(graph.Variable(name, texts))])


Variable = var

#: Read as an operator's parameters are: their text will do.
_SETTINGS = {
    name: Parameter.from_annotation(name, annotation)
    for name, annotation in (("shape", tuple[int, ...]), ("lr_mult", float), ("wd_mult", float))
}
_INITIALIZER = Kind(
    "an Initializer or its text", lambda value: isinstance(value, str) or hasattr(value, "dumps")
)


def _check_settings(**given: object) -> None:
    for name, value in given.items():
        if value is not None:
            try:
                _SETTINGS[name].parse(value)
            except MXNetError as error:
                raise error.locate("sym.var") from None


def Group(symbols: Sequence[Symbol]) -> Symbol:
    """Return one symbol with the outputs of several.

    >>> import rebind as mx
    >>> mx.sym.Group([mx.sym.var("a"), mx.sym.var("b")]).list_outputs()
    ['a', 'b']
    """
    symbols = list(symbols)
    if not symbols or any(not isinstance(symbol, SymbolBase) for symbol in symbols):
        raise ArgumentError(f"sym.Group: must be given a list of symbols; got {symbols!r}")
    return Symbol([entry for symbol in symbols for entry in symbol.graph.outputs])


def load_json(json_str: str) -> Symbol:
    """Return the symbol of a JSON text that MXNet of any age, or rebind, wrote.

    >>> import rebind as mx
    >>> mx.sym.load_json(mx.sym.exp(mx.sym.var("x"), name="e").tojson())
    <Symbol e>
    """
    if not isinstance(json_str, str):
        raise ArgumentError(f"sym.load_json: json_str must be a string; got {shown(json_str)}")
    return Symbol(symbol_json.loads(json_str))


fromjson = load_json


def load(fname: str | os.PathLike) -> Symbol:
    """Return the symbol in a JSON file.

    >>> import pathlib, tempfile, rebind as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = str(pathlib.Path(folder, "net-symbol.json"))
    ...     mx.sym.exp(mx.sym.var("x"), name="e").save(path)
    ...     load(path).list_outputs()
    ['e_output']
    """
    return Symbol(read_graph(fname))


def _outputs(node: Node) -> list[Entry]:
    return [Entry(node, i) for i in range(len(node.output_names))]


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
