"""What every symbol is made of: a graph, the names and attributes in it, and what follows for its shapes and types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from .. import dtypes
from ..checks import TEXT, check_kind
from ..dtypes import DTypeLike
from ..errors import (
    ArgumentError,
    BoundsError,
    NameLookupError,
    NotImplementedForSymbol,
    ParameterError,
    near_names,
)
from ..graph import Entry, Graph, Node, infer_types, symbol_json
from ..graph.passes import backend_named
from ..shapes import Shape
from .inference import (
    ShapeLike,
    Three,
    ThreeOrNone,
    TypeFound,
    as_three,
    inferred_shapes,
    shapes_or_none,
    warn_of_unknown,
)
from .names import named_values

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["SymbolBase", "single_entry"]


class SymbolBase:
    """A handle on a graph: outputs, names, attributes, shapes and types. `Symbol` adds what runs it.

    Parameters
    ----------
    outputs
        A graph, or the symbol's outputs; the graph is these and all that they need.
    backend
        The name of the backend that it is bound with, unless `bind` is given another one.
    recompute
        Whether it is bound with ``recompute=True``, unless `bind` says otherwise.
    """

    __slots__ = ("__weakref__", "_backend", "_graph", "_recompute")
    #: The class of symbols that operators and methods return, set where that class is defined.
    symbol_class: ClassVar[type[Self]]

    def __init__(
        self,
        outputs: Graph | Sequence[Entry] | None,
        backend: str | None = None,
        recompute: bool | None = None,
    ) -> None:
        # None in MXNet's pickles: `__setstate__` brings the graph.
        self._graph = outputs if isinstance(outputs, Graph) else Graph(outputs or ())
        self._backend, self._recompute = backend, recompute

    @property
    def graph(self) -> Graph:
        """The graph that the symbol is a handle of."""
        return self._graph

    def with_graph(self, graph: Graph) -> Self:
        """Return a symbol on another graph, which is bound as this one.

        >>> import rebind as mx
        >>> x = mx.sym.var("x")
        >>> x.with_graph(mx.sym.exp(x, name="e").graph)
        <Symbol e>
        """
        return self.symbol_class(graph, self._backend, self._recompute)

    @property
    def backend(self) -> str | None:
        """The backend that it is bound with, unless `bind` is given another one; None: that of the environment.

        It belongs to this symbol: neither what is composed of it nor a file has it.
        """
        return self._backend

    def with_backend(self, backend: str | None) -> Self:
        """Return the same network, to be bound with a backend.

        Raises
        ------
        NameLookupError
            For a backend that nobody registered.

        Examples
        --------
        >>> import rebind as mx
        >>> mx.sym.var("x").with_backend("inductor").backend
        'inductor'
        """
        if backend is not None:
            backend_named(backend)
        return self.symbol_class(self._graph, backend, self._recompute)

    @property
    def recompute(self) -> bool | None:
        """Whether it is bound with ``recompute=True``; None: the environment says so. It belongs to this symbol."""
        return self._recompute

    def with_recompute(self, recompute: bool | None) -> Self:
        """Return the same network, to be bound with `recompute`; see `bind`.

        >>> import rebind as mx
        >>> mx.sym.var("x").with_recompute(True).recompute
        True
        """
        return self.symbol_class(self._graph, self._backend, None if recompute is None else bool(recompute))

    @property
    def name(self) -> str | None:
        """The name; None for a group of several symbols."""
        nodes = {entry.node for entry in self._graph.outputs}
        return next(iter(nodes)).name if len(nodes) == 1 else None

    def __repr__(self) -> str:
        if self.name is None:
            return f"<Symbol group [{', '.join(entry.node.name for entry in self._graph.outputs)}]>"
        return f"<Symbol {self.name}>"

    def list_arguments(self) -> list[str]:
        """Return the names of the arguments: inputs, labels and parameters.

        >>> import rebind as mx
        >>> mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc").list_arguments()
        ['x', 'fc_weight', 'fc_bias']
        """
        return [node.name for node in self._graph.arguments]

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs.

        >>> import rebind as mx
        >>> mx.sym.split(mx.sym.var("x"), num_outputs=2, name="halves").list_outputs()
        ['halves_output0', 'halves_output1']
        """
        return list(self._graph.output_names)

    def list_auxiliary_states(self) -> list[str]:
        """Return the names of the auxiliary states, such as moving averages.

        >>> import rebind as mx
        >>> mx.sym.BatchNorm(mx.sym.var("x"), name="bn").list_auxiliary_states()
        ['bn_moving_mean', 'bn_moving_var']
        """
        return [node.name for node in self._graph.auxiliary]

    def list_inputs(self) -> list[str]:
        """Return the names of arguments and auxiliary states, in the order of the graph.

        >>> import rebind as mx
        >>> mx.sym.BatchNorm(mx.sym.var("x"), name="bn").list_inputs()
        ['x', 'bn_gamma', 'bn_beta', 'bn_moving_mean', 'bn_moving_var']
        """
        return [node.name for node in self._graph.variables]

    @property
    def num_outputs(self) -> int:
        """The number of outputs."""
        return len(self._graph.outputs)

    def __len__(self) -> int:
        return len(self._graph.outputs)

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol(
            "Symbol: has no truth value, since it has no value before it is bound. Ask whether it is None instead."
        )

    def __getitem__(self, index: int | str | slice) -> Self:
        """Return one output, by number or by name, or several by a slice."""
        outputs = self._graph.outputs
        if isinstance(index, str):
            return self.symbol_class([outputs[self._number_of(index)]])
        if isinstance(index, slice):
            return self.symbol_class(outputs[index])
        if not hasattr(index, "__index__"):
            raise ArgumentError(f"Symbol: an output is chosen by a number, a name or a slice; got {index!r}")
        if not -len(outputs) <= index < len(outputs):
            raise BoundsError(f"Symbol: an output's number must be below {len(outputs)}; got {index}")
        return self.symbol_class([outputs[index]])

    def _number_of(self, name: str) -> int:
        """Return the number of an output, by its full name, or by that of its node when it is the only one."""
        names = self.list_outputs()
        found = [i for i, output in enumerate(names) if output == name]
        found = found or [i for i, entry in enumerate(self._graph.outputs) if entry.node.name == name]
        if not found:
            raise NameLookupError(f"Symbol: no output {name!r}{near_names(name, names)}")
        if len(found) > 1:
            raise NameLookupError(f"Symbol: {len(found)} outputs are named {name!r}; use a number")
        return found[0]

    # What it is made of.

    def get_internals(self) -> Self:
        """Return a symbol whose outputs are all outputs of all nodes.

        >>> import rebind as mx
        >>> net = mx.sym.relu(mx.sym.exp(mx.sym.var("x"), name="e"), name="r")
        >>> net.get_internals()["e_output"]
        <Symbol e>
        """
        return self.symbol_class(self._graph.internals)

    def get_children(self) -> Self | None:
        """Return the inputs of the outputs' nodes; None for a variable.

        >>> import rebind as mx
        >>> (mx.sym.var("a") + mx.sym.var("b")).get_children()
        <Symbol group [a, b]>
        """
        # A node with several outputs in the group gives its inputs once.
        nodes = dict.fromkeys(entry.node for entry in self._graph.outputs)
        children = [entry for node in nodes for entry in node.inputs]
        return self.symbol_class(children) if children else None

    def attr(self, key: str) -> str | None:
        """Return an attribute or parameter as text; None when it is not set.

        >>> import rebind as mx
        >>> mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2).attr("num_hidden")
        '2'
        """
        check_kind("Symbol.attr", TEXT, key=key)
        if self.name is None:
            return None
        return self.name if key == "name" else self.list_attr().get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """Return the attributes and parameters of this symbol's node.

        >>> import rebind as mx
        >>> mx.sym.var("w", wd_mult=0).list_attr()
        {'__wd_mult__': '0', 'wd_mult': '0'}
        """
        if recursive:
            raise ArgumentError("Symbol.list_attr: takes no recursive=True; use attr_dict()")
        return _shown(self._graph.outputs[0].node)

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """Return the attributes and parameters of all nodes that have some, by the node's name.

        >>> import rebind as mx
        >>> mx.sym.clip(mx.sym.var("x"), 0, 1, name="c").attr_dict()
        {'c': {'a_min': '0', 'a_max': '1'}}
        """
        return {node.name: shown for node in self._graph.nodes if (shown := _shown(node))}

    def _set_attr(self, **kwargs: str) -> None:
        """Set attributes of this symbol's node; a variable's may have any name."""
        if self.name is None:
            raise ArgumentError("Symbol: attributes are set on one symbol; choose one of the group with [i]")
        node = self._graph.outputs[0].node
        for key, value in kwargs.items():
            if not isinstance(value, str):
                raise ParameterError(f"Symbol: attribute {key!r} must be a string; got {value!r}")
            if node.operator is not None and not symbol_json.is_attribute(key):
                raise ParameterError(
                    f"Symbol: {node.operator.name} {node.name!r} takes attributes that begin and end with two "
                    f"underscores, or {', '.join(sorted(symbol_json.HIDDEN_KEYS))}; got {key!r}. "
                    "Parameters of an operator cannot be changed."
                )
            # The one thing of a node that may change; see `rebind.graph.graph`.
            node.attributes[symbol_json.hide(key)] = value

    def debug_str(self) -> str:
        """Return a text that lists the nodes and their inputs, in the form of MXNet's.

        >>> import rebind as mx
        >>> print(mx.sym.exp(mx.sym.var("x"), name="e").debug_str())
        Symbol Outputs:
            output[0]=e(0)
        Variable:x
        --------------------
        Op:exp, Name=e
        Inputs:
            arg[0]=x(0) version=0
        """
        return _listing(self._graph)

    # Shapes and types.

    def infer_shape(self, *args: ShapeLike, **kwargs: ShapeLike) -> ThreeOrNone[Shape]:
        """Return the shapes of arguments, outputs and auxiliary states, from those of some arguments.

        Parameters
        ----------
        *args, **kwargs
            Shapes in the order of `list_arguments`, or by name. A size may be 0 (unknown); under
            `mx.util.np_shape` it is -1, and 0 is a size.

        Returns
        -------
        tuple of three lists
            Three times None, with a warning that names what is in question, when not all shapes follow: an argument,
            or an array of a size that its consumers should tell, such as ``zeros(shape=(0, 3))``.

        Examples
        --------
        >>> import rebind as mx
        >>> mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3).infer_shape(x=(8, 5))
        ([(8, 5), (3, 5), (3,)], [(8, 3)], [])
        """
        return shapes_or_none(self._graph, args, kwargs)

    def infer_shape_partial(self, *args: ShapeLike, **kwargs: ShapeLike) -> Three[Shape | None]:
        """Return the shapes as far as they follow: 0 for an unknown size, () for a wholly unknown shape.

        Under `mx.util.np_shape` -1 and None, since 0 and () are shapes of NumPy's there.

        >>> import rebind as mx
        >>> mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3).infer_shape_partial(x=(0, 5))[1]
        [(0, 3)]
        """
        return as_three(*inferred_shapes(self._graph, args, kwargs))

    def infer_type(self, *args: DTypeLike | None, **kwargs: DTypeLike | None) -> ThreeOrNone[TypeFound]:
        """Return the types of arguments, outputs and auxiliary states, from those of some arguments.

        Parameters
        ----------
        *args, **kwargs
            Types in the order of `list_arguments`, or by name.

        Returns
        -------
        tuple of three lists
            Three times None, with a warning that names the arguments in question, when not all types follow.

        Examples
        --------
        >>> import rebind as mx
        >>> (mx.sym.var("a") + mx.sym.var("b")).infer_type(a="float16")
        ([<class 'numpy.float16'>, <class 'numpy.float16'>], [<class 'numpy.float16'>], [])
        """
        result = self.infer_type_partial(*args, **kwargs)
        if warn_of_unknown(self._graph, "infer_type", "types", result, lambda found: found is not None):
            return None, None, None
        return result

    def infer_type_partial(
        self, *args: DTypeLike | None, **kwargs: DTypeLike | None
    ) -> Three[TypeFound | None]:
        """Return the types as far as they follow, None elsewhere.

        >>> import rebind as mx
        >>> mx.sym.exp(mx.sym.var("a")).infer_type_partial()
        ([None], [None], [])
        """
        given = named_values(self._graph, "infer_type", args, kwargs)
        for name, dtype in given.items():
            if dtype is not None:
                dtypes.torch_dtype(dtype, f"Symbol.infer_type: {name}")
        found = infer_types(self._graph, given)
        return as_three(found, lambda dtype: None if dtype is None else dtypes.numpy_type(dtype))


def single_entry(symbol: SymbolBase, who: str) -> Entry:
    """Return the entry of a symbol with one output; `who` begins the message for anything else."""
    if not isinstance(symbol, SymbolBase):
        raise ArgumentError(f"{who} must be a Symbol; got {symbol!r}")
    outputs = symbol.graph.outputs
    if len(outputs) != 1:
        raise ArgumentError(
            f"{who} must be a symbol with one output; {symbol!r} has {len(outputs)}. Choose one with [i]."
        )
    return outputs[0]


def _shown(node: Node) -> dict[str, str]:
    """Return a node's parameters and attributes as users see them: hidden keys in both forms."""
    shown = dict(node.given)
    for key, value in node.attributes.items():
        shown[key] = value
        plain = key.removeprefix("__").removesuffix("__")
        if plain in symbol_json.HIDDEN_KEYS:
            shown[plain] = value
    return shown


def _listing(graph: Graph) -> str:
    # MXNet's version of a variable is 1 where its operator writes to it, as to a state.
    auxiliary = set(graph.auxiliary)
    lines = ["Symbol Outputs:"]
    lines += [f"\toutput[{i}]={entry.node.name}({entry.index})" for i, entry in enumerate(graph.outputs)]
    for node in graph.nodes:
        if node.operator is None:
            lines.append(f"Variable:{node.name}")
            continue
        lines += ["--------------------", f"Op:{node.operator.name}, Name={node.name}", "Inputs:"]
        lines += [
            f"\targ[{i}]={entry.node.name}({entry.index})"
            + (f" version={int(entry.node in auxiliary)}" if entry.node.is_variable else "")
            for i, entry in enumerate(node.inputs)
        ]
        texts = {**node.attributes, **node.given}
        if texts:
            lines += ["Attrs:", *(f"\t{key}={texts[key]}" for key in sorted(texts))]
    return "\n".join(lines) + "\n"
