"""`Symbol`: the user's handle on a graph."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import logging
import numbers
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from .. import dtypes, files, graph
from ..device import Device, as_device
from ..errors import (
    ArgumentError,
    BoundsError,
    FormatError,
    MXNetError,
    NameLookupError,
    NotImplementedForSymbol,
    ParameterError,
    near_names,
)
from ..executor import Arrays, Executor, GradReqs, Sharing, arrays_by_name, bind, simple_bind
from ..graph import (
    Application,
    Entry,
    Facts,
    Graph,
    Inferred,
    Node,
    Target,
    infer_shapes,
    infer_types,
    input_variable,
    rewrite,
    symbol_json,
)  # fmt: skip
from ..graph.passes import cast_inputs, optimize, optimize_without_shapes, without_casts
from ..ndarray import NDArray
from ..ndarray.storage import storage_kind
from ..ops import Operator, find
from ..ops.frontend import bind_arguments, split_parameters
from ..ops.methods import FLUENT_METHODS
from ..ops.storage_types import storage_number
from ..params import NULL, Params, format_value
from ..precision import active_rules
from ..scope import AttrScope, NameManager
from ..shapes import Shape, as_shape, is_known

__all__ = ["Group", "Symbol", "Variable", "compose", "fromjson", "load", "load_json", "var"]


class Symbol:
    """A network, or a part of one: outputs of a graph.

    Symbols are made by `var` and by operators, and are not changed by use. ``symbol(data=other)`` puts another symbol
    in the place of an argument.

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

    __slots__ = ("__weakref__", "_graph")
    __array_ufunc__ = None  # NumPy leaves arithmetic with symbols to this class
    __hash__ = object.__hash__

    def __init__(self, outputs: Sequence[Entry]) -> None:
        self._graph = Graph(outputs)

    @classmethod
    def _of(cls, graph: Graph) -> Symbol:
        symbol = cls.__new__(cls)
        symbol._graph = graph
        return symbol

    @property
    def graph(self) -> Graph:
        """The graph that the symbol is a handle of."""
        return self._graph

    def with_graph(self, graph: Graph) -> Symbol:
        """Return a symbol on another graph."""
        return Symbol._of(graph)

    # ---- what it is --------------------------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """The name; None for a group of several symbols."""
        nodes = {id(entry.node): entry.node for entry in self._graph.outputs}
        return next(iter(nodes.values())).name if len(nodes) == 1 else None

    def __repr__(self) -> str:
        if self.name is None:
            return f"<Symbol group [{', '.join(entry.node.name for entry in self._graph.outputs)}]>"
        return f"<Symbol {self.name}>"

    def list_arguments(self) -> list[str]:
        """Return the names of the arguments: inputs, labels and parameters."""
        return [node.name for node in self._graph.arguments]

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs."""
        return list(self._graph.output_names)

    def list_auxiliary_states(self) -> list[str]:
        """Return the names of the auxiliary states, such as moving averages."""
        return [node.name for node in self._graph.auxiliary]

    def list_inputs(self) -> list[str]:
        """Return the names of arguments and auxiliary states, in the order of the graph."""
        return [node.name for node in self._graph.variables]

    @property
    def num_outputs(self) -> int:
        """The number of outputs."""
        return len(self._graph.outputs)

    def __len__(self) -> int:
        return len(self._graph.outputs)

    def __iter__(self) -> Iterator[Symbol]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        raise ArgumentError("Symbol: has no truth value, since it has no value before it is bound")

    def __getitem__(self, index: int | str | slice) -> Symbol:
        """Return one output, by number or by name, or several by a slice."""
        outputs = self._graph.outputs
        if isinstance(index, str):
            # By the output's full name, or by that of its node when it is the only one.
            names = self.list_outputs()
            found = [i for i, name in enumerate(names) if name == index]
            found = found or [i for i, entry in enumerate(outputs) if entry.node.name == index]
            if not found:
                raise NameLookupError(f"Symbol: no output {index!r}{near_names(index, names)}")
            if len(found) > 1:
                raise NameLookupError(f"Symbol: {len(found)} outputs are named {index!r}; use a number")
            return Symbol([outputs[found[0]]])
        if isinstance(index, slice):
            return Symbol(outputs[index])
        if not hasattr(index, "__index__"):
            raise ArgumentError(f"Symbol: an output is chosen by a number, a name or a slice; got {index!r}")
        if not -len(outputs) <= index < len(outputs):
            raise BoundsError(f"Symbol: an output's number must be below {len(outputs)}; got {index}")
        return Symbol([outputs[index]])

    def get_internals(self) -> Symbol:
        """Return a symbol whose outputs are all outputs of all nodes."""
        return Symbol._of(self._graph.internals)

    def get_children(self) -> Symbol | None:
        """Return the inputs of the outputs' nodes; None for a variable."""
        nodes = {id(entry.node): entry.node for entry in self._graph.outputs}
        children = [entry for node in nodes.values() for entry in node.inputs]
        return Symbol(children) if children else None

    # ---- attributes --------------------------------------------------------------------------------------

    def attr(self, key: str) -> str | None:
        """Return an attribute or parameter as text; None when it is not set."""
        if self.name is None:
            return None
        return self.name if key == "name" else self.list_attr().get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """Return the attributes and parameters of this symbol's node."""
        if recursive:
            raise ArgumentError("Symbol.list_attr: takes no recursive=True; use attr_dict()")
        return _shown(self._graph.outputs[0].node)

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """Return the attributes and parameters of all nodes that have some, by the node's name."""
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
                    "Parameters do not change."
                )
            node.attributes[symbol_json.hide(key)] = value

    # ---- composition -------------------------------------------------------------------------------------

    def __call__(self, *args: Symbol, name: str | None = None, **kwargs: Symbol) -> Symbol:
        """Return a copy in which other symbols stand in the place of arguments.

        Parameters
        ----------
        *args
            For the first arguments, in order.
        name
            A new name for the copy.
        **kwargs
            By the argument's name.
        """
        arguments = self.list_arguments()
        if args and kwargs:
            raise ArgumentError("Symbol: compose takes symbols by position or by name, not both")
        if len(args) > len(arguments):
            raise ArgumentError(f"Symbol: compose takes at most {len(arguments)} symbols; got {len(args)}")
        given = {**dict(zip(arguments, args, strict=False)), **kwargs}
        entries = {}
        for key, symbol in given.items():
            if key not in arguments:
                raise NameLookupError(
                    f"Symbol: no argument {key!r}{near_names(key, arguments)} Arguments: {_listed(arguments)}."
                )
            entries[key] = _single(symbol, key)
        last = self._graph.outputs[0].node

        def replace(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
            if node.is_variable and node.name in entries:
                return [entries[node.name]]
            if name is not None and node is last and not node.is_variable:
                renamed = dataclasses.replace(node, name=name, inputs=inputs)
                return [Entry(renamed, i) for i in range(len(renamed.output_names))]
            return None

        return Symbol._of(rewrite(self._graph, replace))

    def __copy__(self) -> Symbol:
        def replace(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry]:
            copied = node.with_inputs(inputs)
            return [Entry(copied, i) for i in range(len(copied.output_names))]

        return Symbol._of(rewrite(self._graph, replace))

    def __deepcopy__(self, memo: Any) -> Symbol:
        return self.__copy__()

    def __reduce__(self) -> tuple:
        return load_json, (self.tojson(remove_amp_cast=False),)

    # ---- inference ---------------------------------------------------------------------------------------

    def infer_shape(self, *args: Any, **kwargs: Any) -> tuple[list | None, list | None, list | None]:
        """Return the shapes of arguments, outputs and auxiliary states, from those of some arguments.

        Parameters
        ----------
        *args, **kwargs
            Shapes in the order of `list_arguments`, or by name. A size may be 0 (unknown).

        Returns
        -------
        tuple of three lists
            Three times None, with a warning that names the arguments in question, when not all shapes follow.
        """
        result = self.infer_shape_partial(*args, **kwargs)
        if self._warn_of_unknown(
            "infer_shape", "shapes", result, lambda shape: bool(shape) and is_known(shape)
        ):
            return None, None, None
        return result

    def infer_shape_partial(self, *args: Any, **kwargs: Any) -> tuple[list, list, list]:
        """Return the shapes as far as they follow: 0 for an unknown size, () for a wholly unknown shape."""
        given = {
            name: as_shape(shape, f"Symbol.infer_shape: {name}")
            for name, shape in self._named("infer_shape", args, kwargs).items()
            if shape is not None and shape != ()
        }
        found = infer_shapes(self._graph, given)
        return tuple([() if s is None else s for s in part] for part in _three(found))  # type: ignore[return-value]

    def infer_type(self, *args: Any, **kwargs: Any) -> tuple[list | None, list | None, list | None]:
        """Return the types of arguments, outputs and auxiliary states, from those of some arguments.

        Parameters
        ----------
        *args, **kwargs
            Types in the order of `list_arguments`, or by name.

        Returns
        -------
        tuple of three lists
            Three times None, with a warning that names the arguments in question, when not all types follow.
        """
        result = self.infer_type_partial(*args, **kwargs)
        if self._warn_of_unknown("infer_type", "types", result, lambda found: found is not None):
            return None, None, None
        return result

    def _warn_of_unknown(
        self, who: str, what: str, found: Sequence[Sequence[Any]], known: Callable[[Any], bool]
    ) -> bool:
        """Warn of arguments, outputs and states that nothing is known of; tell whether there are any."""
        names = (*self.list_arguments(), *self.list_outputs(), *self.list_auxiliary_states())
        unknown = [
            name for name, value in zip(names, itertools.chain(*found), strict=True) if not known(value)
        ]
        if unknown:
            more = f" and {len(unknown) - 8} more" if len(unknown) > 8 else ""
            logging.getLogger(__name__).warning(
                "Symbol.%s: %s do not follow for %s%s", who, what, ", ".join(unknown[:8]), more
            )
        return bool(unknown)

    def infer_type_partial(self, *args: Any, **kwargs: Any) -> tuple[list, list, list]:
        """Return the types as far as they follow, None elsewhere."""
        found = _three(infer_types(self._graph, self._named("infer_type", args, kwargs)))
        return tuple([None if t is None else dtypes.numpy_type(t) for t in part] for part in found)  # type: ignore[return-value]

    def _types(self, given: Mapping[str, Any]) -> Inferred:
        """Infer types; arguments whose type does not follow are float32."""
        return infer_types(self._graph, given, default=torch.float32)

    def _named(self, who: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        if args and kwargs:
            raise ParameterError(f"Symbol.{who}: takes values by position or by name, not both")
        names = self.list_arguments()
        if len(args) > len(names):
            raise ArgumentError(f"Symbol.{who}: takes at most {len(names)} values; got {len(args)}")
        known = {node.name for node in self._graph.variables}
        for name in kwargs:
            if name not in known:
                raise NameLookupError(
                    f"Symbol.{who}: no argument {name!r}{near_names(name, known)} Arguments: {_listed(names)}."
                )
        return {**dict(zip(names, args, strict=False)), **kwargs}

    # ---- files -------------------------------------------------------------------------------------------

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """Return the symbol as JSON, letter for letter as MXNet 1.9.1 writes it.

        Parameters
        ----------
        remove_amp_cast
            Leave out ``amp_cast`` and ``amp_multicast``, the casts of mixed precision.
        """
        return symbol_json.dumps(without_casts(self._graph) if remove_amp_cast else self._graph)

    def save(self, fname: str | os.PathLike, remove_amp_cast: bool = True) -> None:
        """Write the symbol to a JSON file, which appears whole or not at all; for `remove_amp_cast` see `tojson`."""
        with files.atomic_write(fname) as file:
            file.write(self.tojson(remove_amp_cast).encode())

    def debug_str(self) -> str:
        """Return a text that lists the nodes and their inputs, in the form of MXNet's."""
        auxiliary = {id(node) for node in self._graph.auxiliary}
        lines = ["Symbol Outputs:"]
        lines += [
            f"\toutput[{i}]={entry.node.name}({entry.index})" for i, entry in enumerate(self._graph.outputs)
        ]
        for node in self._graph.nodes:
            if node.operator is None:
                lines.append(f"Variable:{node.name}")
                continue
            lines += ["--------------------", f"Op:{node.operator.name}, Name={node.name}", "Inputs:"]
            lines += [
                f"\targ[{i}]={entry.node.name}({entry.index})"
                + (f" version={int(id(entry.node) in auxiliary)}" if entry.node.is_variable else "")
                for i, entry in enumerate(node.inputs)
            ]
            said = {**node.attributes, **node.given}
            if said:
                lines += ["Attrs:", *(f"\t{key}={said[key]}" for key in sorted(said))]
        return "\n".join(lines) + "\n"

    # ---- binding -----------------------------------------------------------------------------------------

    def bind(
        self,
        ctx: Device,
        args: Arrays,
        args_grad: Arrays = None,
        grad_req: GradReqs = "write",
        aux_states: Arrays = None,
        group2ctx: Mapping[str, Device] | None = None,
        shared_exec: Executor | None = None,
    ) -> Executor:
        """Return an executor that works on the caller's own arrays.

        Parameters
        ----------
        ctx
            The device.
        args
            All arguments: a list in the order of `list_arguments`, or a dict.
        args_grad
            Arrays that gradients are written to: a list with None in it, a dict with some of the names, or None.
        grad_req
            ``'write'``, ``'add'`` or ``'null'``: one word, a list or a dict.
        aux_states
            The auxiliary states, a list or a dict.
        group2ctx
            The device of each ``ctx_group``.
        shared_exec
            Accepted; torch's allocator shares memory by itself.

        Raises
        ------
        ParameterError
            When an array is missing; it is a ValueError and names all that are.
        """
        device = as_device(ctx, "Symbol.bind: ctx")
        return bind(self, device, args, args_grad, grad_req, aux_states, group2ctx)

    def simple_bind(
        self,
        ctx: Device,
        grad_req: GradReqs = "write",
        type_dict: Mapping[str, Any] | None = None,
        stype_dict: Mapping[str, str] | None = None,
        group2ctx: Mapping[str, Device] | None = None,
        shared_arg_names: Sequence[str] | None = None,
        shared_exec: Executor | None = None,
        shared_buffer: dict[str, NDArray] | None = None,
        **kwargs: Any,
    ) -> Executor:
        """Return an executor with new arrays, from the shapes of the inputs.

        Parameters
        ----------
        ctx
            The device.
        grad_req
            ``'write'``, ``'add'`` or ``'null'``: one word, a list or a dict.
        type_dict
            Types by name; what does not follow from them is float32.
        stype_dict
            Storage types by name; others are those of ``var(stype=)``.
        group2ctx
            The device of each ``ctx_group``.
        shared_arg_names, shared_exec
            Arguments whose arrays are taken from another executor (all of the same shape, when no names are given).
        shared_buffer
            Arrays by name to use when they are large enough, and to which new ones are added.
        **kwargs
            Shapes by name of argument.
        """
        device = as_device(ctx, "Symbol.simple_bind: ctx")
        for name, stype in (stype_dict or {}).items():
            storage_kind(stype, f"Symbol.simple_bind: stype of {name!r}")
        shapes = self._named("simple_bind", (), kwargs)
        types = self._named("simple_bind", (), type_dict or {})
        sharing = Sharing(shared_exec, shared_arg_names, shared_buffer, frozenset(kwargs))
        return simple_bind(self, device, shapes, types, grad_req, group2ctx, sharing, stype_dict)

    def _bind(
        self,
        device: Device,
        args: Arrays,
        args_grad: Arrays = None,
        grad_req: GradReqs = "write",
        aux_states: Arrays = None,
        static_alloc: bool = False,
    ) -> Executor:
        """Return an executor as MXNet 2.0 makes it: with copies of the arguments."""
        return Executor(self, device, args, args_grad, grad_req, aux_states, static_alloc)

    def _simple_bind(self, device: Device, grad_req: Any = "write", **kwargs: Any) -> Executor:
        """Return an executor with new arrays, from the shapes of the inputs."""
        return self.simple_bind(device, grad_req, **kwargs)

    def eval(self, ctx: Device | None = None, **kwargs: NDArray) -> list[NDArray]:
        """Bind to the given arrays, run forward, and return the outputs.

        >>> import rebind as mx
        >>> a, b = mx.sym.var("a"), mx.sym.var("b")
        >>> (a + b).eval(a=mx.nd.ones((2,)), b=mx.nd.ones((2,)))[0].asnumpy()
        array([2., 2.], dtype=float32)
        """
        return self.bind(as_device(ctx, "Symbol.eval: ctx"), kwargs, grad_req="null").forward()

    # ---- arithmetic --------------------------------------------------------------------------------------

    def __neg__(self) -> Symbol:
        return self.__mul__(-1.0)  # type: ignore[operator]

    def __abs__(self) -> Symbol:
        return compose(find("abs"), "abs", (self,), {})

    def astype(self, dtype: Any) -> Symbol:
        """Return the symbol converted to `dtype`."""
        return compose(find("Cast"), "cast", (self,), {"dtype": dtype})

    def split_v2(self, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> Symbol:
        """Part the symbol into so many equal sections, or before each of some indices."""
        given = split_parameters(indices_or_sections, axis, squeeze_axis)
        return compose(find("_split_v2"), "_split_v2", (self,), given)

    def as_nd_ndarray(self) -> Symbol:
        """Return the symbol itself."""
        return self

    def get_backend_symbol(self, backend: str) -> Symbol:
        """Return the symbol after the passes of a backend, as `optimize_for` without arrays."""
        return self.optimize_for(backend)

    def get_optimized_symbol(self) -> Symbol:
        """Return the symbol as it is run in training mode, as far as that does not depend on shapes."""
        return self.optimize_for("default", training=True)

    def optimize_for(
        self,
        backend: str,
        args: Arrays = None,
        aux: Arrays = None,
        ctx: Device | None = None,
        shape_dict: Mapping[str, Shape] | None = None,
        type_dict: Mapping[str, Any] | None = None,
        *,
        training: bool = False,
        **kwargs: Any,
    ) -> Symbol:
        """Return the symbol after the passes of a backend.

        Parameters
        ----------
        backend
            ``'default'``, what is done with every symbol when it is run; or a name that
            `rebind.graph.passes.register_backend` was given. MXNet's own (``'MKLDNN'``, ...) leave the symbol as it is:
            the executor does what they do.
        args, aux
            Arrays, whose shapes and types the passes may use; a list or a dict.
        ctx
            The device.
        shape_dict, type_dict
            Shapes and types by name, where there are no arrays.
        training
            The mode that it is made ready for.
        **kwargs
            Options of MXNet's backends; they have no effect.

        Raises
        ------
        NameLookupError
            For a backend that nobody registered.

        Examples
        --------
        >>> import rebind as mx
        >>> weight = mx.sym.var("w")
        >>> a, b = (mx.sym.FullyConnected(mx.sym.var(x), weight, num_hidden=2, no_bias=True) for x in "ab")
        >>> mx.sym.Group([a, b]).optimize_for("default").list_arguments()
        ['a', 'b', 'w']
        """
        arrays = {
            **arrays_by_name("optimize_for: args", args, self.list_arguments()),
            **arrays_by_name("optimize_for: aux", aux, self.list_auxiliary_states()),
        }
        types = {**(type_dict or {}), **{name: value.dtype for name, value in arrays.items()}}
        shapes = {**(shape_dict or {}), **{name: value.shape for name, value in arrays.items()}}
        known = infer_types(self._graph, types)
        facts = Facts.of(infer_shapes(self._graph, shapes, known), known)
        target = Target.at(as_device(ctx, "Symbol.optimize_for: ctx"), training, backend=backend)
        # What shapes decide is left for `bind` where none are given.
        run = optimize if shapes else optimize_without_shapes
        return Symbol._of(run(self._graph, facts, target)[0])

    def reshape(self, *shape: Any, **kwargs: Any) -> Symbol:
        """Return the symbol in another shape; see the operator `Reshape` for the codes."""
        if shape:
            kwargs["shape"] = shape[0] if isinstance(shape[0], (tuple, list)) else shape
        return compose(find("Reshape"), "reshape", (self,), kwargs)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _three(found: Inferred) -> tuple[tuple, tuple, tuple]:
    return found.arguments, found.outputs, found.auxiliary


def _shown(node: Node) -> dict[str, str]:
    """Return a node's parameters and attributes as users see them: hidden keys in both forms."""
    shown = dict(node.given)
    for key, value in node.attributes.items():
        shown[key] = value
        plain = key.removeprefix("__").removesuffix("__")
        if plain in symbol_json.HIDDEN_KEYS:
            shown[plain] = value
    return shown


def _single(symbol: Any, who: str) -> Entry:
    if not isinstance(symbol, Symbol):
        raise ArgumentError(f"{who}: must be a Symbol; got {symbol!r}")
    outputs = symbol._graph.outputs
    if len(outputs) != 1:
        raise ArgumentError(
            f"{who}: must be a symbol with one output; {symbol!r} has {len(outputs)}. Choose one with [i]."
        )
    return outputs[0]


# ---- making symbols ------------------------------------------------------------------------------------------


def compose(
    op: Operator, hint: str, args: Sequence[Any], kwargs: dict[str, Any], called_as: str | None = None
) -> Symbol:
    """Apply an operator to symbols; what is missing among its inputs becomes a variable.

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
    """
    name = kwargs.pop("name", None)
    try:
        node = _apply(op, name, hint, args, kwargs, called_as or op.name)
    except MXNetError as error:
        error.locate(op.name, called_as=called_as, node=name)
        raise
    rules = active_rules()
    if rules is not None:
        node = node.with_inputs(cast_inputs(rules, node, lambda kind: NameManager.current.get(None, kind)))
    return Symbol([Entry(node, i) for i in range(node.visible_outputs)])


def _apply(
    op: Operator, name: str | None, hint: str, args: Sequence[Any], kwargs: dict[str, Any], called_as: str
) -> Application:
    attr = kwargs.pop("attr", None) or {}
    kwargs.pop("out", None)
    if op.depends_on_parameters:
        op = op.resolved(
            {
                key: value
                for key, value in kwargs.items()
                if not isinstance(value, Symbol) and not symbol_json.is_attribute(key)
            }
        )
    inputs, given = bind_arguments(op, args, kwargs, Symbol)
    for key, value in attr.items():
        if not isinstance(value, (str, numbers.Number)):
            raise ParameterError(f"attribute {key!r} must be a string; got {value!r}", argument=key)
    given, others = symbol_json.split_attributes(op, {**AttrScope.current.get(None), **attr, **given})
    for key in others:
        if not symbol_json.is_attribute(key):
            op.parse({**given, key: others[key]})  # raises, and names what is known
    if op.signature.count is not None and given.get(op.signature.count) is None:
        given[op.signature.count] = sum(len(symbol) for symbol in inputs)
    p = op.parse(given)
    name = NameManager.current.get(name, hint)
    texts = {key: format_value(value) for key, value in given.items() if value is not NULL}
    attributes = {key: format_value(value) for key, value in others.items()}
    entries = _entries(op, name, inputs, p, {**texts, **attributes})
    node = Application(op, name, entries, p, texts, attributes, called_as)
    if op.record.inits:  # of variables that are given too, as in MXNet, unless they have one
        for input_name, entry in zip(node.input_names, node.inputs, strict=True):
            if input_name in op.record.inits and entry.node.is_variable:
                entry.node.attributes.setdefault("__init__", op.record.inits[input_name])
    return node


def _entries(
    op: Operator, name: str, inputs: Sequence[Symbol | None], p: Params, texts: Mapping[str, str]
) -> tuple[Entry, ...]:
    """Return a node's inputs: what was given, and a variable for each that was not."""
    if op.signature.variadic:
        given = [entry for symbol in inputs if symbol is not None for entry in symbol._graph.outputs]
        missing = op.signature.inputs_for(p)[len(given) :]
        return (*given, *(input_variable(op, name, input_name, texts) for input_name in missing))
    wanted = op.signature.inputs_for(p)
    return tuple(
        input_variable(op, name, input_name, texts) if symbol is None else _single(symbol, input_name)
        for input_name, symbol in zip(op.signature.input_names, inputs, strict=True)
        if input_name in wanted
    )


def var(
    name: str,
    attr: Mapping[str, str] | None = None,
    shape: Any = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: Any = None,
    init: Any = None,
    stype: str | None = None,
    **kwargs: Any,
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
    said: dict[str, str] = {}
    for key, text in AttrScope.current.get(attr).items():
        if not isinstance(text, str):
            raise ParameterError(f"sym.var: attribute {key!r} must be a string; got {text!r}")
        said[symbol_json.hide(key)] = text
    if shape is not None:
        said["__shape__"] = format_value(shape)
    if lr_mult is not None:
        said["__lr_mult__"] = str(lr_mult)
    if wd_mult is not None:
        said["__wd_mult__"] = str(wd_mult)
    if dtype is not None:
        said["__dtype__"] = str(dtypes.flag(dtype))
    if init is not None:
        said["__init__"] = init if isinstance(init, str) else init.dumps()
    if stype is not None:
        said["__storage_type__"] = str(storage_number(stype, "sym.var: stype"))
    for key, value in kwargs.items():
        if not symbol_json.is_attribute(key):
            raise ParameterError(
                f"sym.var: no parameter {key!r}; further attributes must begin and end with two underscores: __{key}__"
            )
        said[key] = str(value)
    return Symbol([Entry(graph.Variable(name, said))])


Variable = var


def Group(symbols: Sequence[Symbol]) -> Symbol:
    """Return one symbol with the outputs of several.

    >>> import rebind as mx
    >>> mx.sym.Group([mx.sym.var("a"), mx.sym.var("b")]).list_outputs()
    ['a', 'b']
    """
    symbols = list(symbols)
    if not symbols or any(not isinstance(symbol, Symbol) for symbol in symbols):
        raise ArgumentError(f"sym.Group: must be given a list of symbols; got {symbols!r}")
    return Symbol([entry for symbol in symbols for entry in symbol._graph.outputs])


def load_json(json_str: str) -> Symbol:
    """Return the symbol of a JSON text that MXNet of any age, or rebind, wrote."""
    if not isinstance(json_str, str):
        raise ArgumentError(f"sym.load_json: must be a string; got {type(json_str).__name__}")
    return Symbol._of(symbol_json.loads(json_str))


fromjson = load_json


def load(fname: str | os.PathLike) -> Symbol:
    """Return the symbol in a JSON file."""
    with open(fname, encoding="utf-8") as file:
        try:
            text = file.read()
        except UnicodeDecodeError as error:
            raise FormatError(f"{os.fspath(fname)}: a symbol must be UTF-8 text; {error}") from None
    return Symbol._of(symbol_json.loads(text, os.fspath(fname)))


# ---- arithmetic: for each sign the operators for two symbols, for a number on the right, and on the left ---------
# They have several names in MXNet; these are the ones that automatic names come from.

_SIGNS: dict[str, tuple[str, str, str | None]] = {
    "add": ("_Plus", "_PlusScalar", "_PlusScalar"),
    "sub": ("_Minus", "_MinusScalar", "_RMinusScalar"),
    "mul": ("_Mul", "_MulScalar", "_MulScalar"),
    "truediv": ("_Div", "_DivScalar", "_RDivScalar"),
    "mod": ("_Mod", "_ModScalar", "_RModScalar"),
    "pow": ("_Power", "_PowerScalar", "_rpower_scalar"),
    "eq": ("_equal", "_equal_scalar", None),
    "ne": ("_not_equal", "_not_equal_scalar", None),
    "gt": ("_greater", "_greater_scalar", None),
    "ge": ("_greater_equal", "_greater_equal_scalar", None),
    "lt": ("_lesser", "_lesser_scalar", None),
    "le": ("_lesser_equal", "_lesser_equal_scalar", None),
}


def combine(pair: str, scalar: str, reverse: str | None, left: Any, right: Any) -> Any:
    """Return an operator applied to two symbols, or to a symbol and a number; else NotImplemented."""
    if isinstance(left, Symbol) and isinstance(right, Symbol):
        return compose(find(pair), pair.lower(), (left, right), {})
    first = isinstance(left, Symbol)
    symbol, number = (left, right) if first else (right, left)
    name = scalar if first else reverse
    if isinstance(number, np.ndarray):
        raise ArgumentError(
            "Symbol: arithmetic takes symbols and numbers; got a NumPy array. Make it an input: sym.var()"
        )
    if isinstance(number, (bool, np.bool_)):
        number = int(number)  # MXNet's files know no other numbers
    if not isinstance(number, (numbers.Number, np.number)) or not isinstance(symbol, Symbol) or name is None:
        return NotImplemented
    return compose(find(name), name.lower(), (symbol,), {"scalar": number})


def _forward(names: tuple[str, str, str | None]) -> Callable[[Symbol, Any], Any]:
    return lambda self, other: combine(*names, self, other)


def _reflected(names: tuple[str, str, str | None]) -> Callable[[Symbol, Any], Any]:
    return lambda self, other: combine(*names, other, self)


for _sign, _names in _SIGNS.items():
    setattr(Symbol, f"__{_sign}__", _forward(_names))
    if _names[2] is not None:
        setattr(Symbol, f"__r{_sign}__", _reflected(_names))


def _method(op: Operator, name: str) -> Callable[..., Symbol]:
    def method(self: Symbol, *args: Any, **kwargs: Any) -> Symbol:
        return compose(op, name.lower(), (self, *args), kwargs, name)

    functools.update_wrapper(method, op.kernels.function)
    method.__name__, method.__qualname__ = name, f"Symbol.{name}"
    return method


for _name in FLUENT_METHODS:
    if _name not in vars(Symbol):
        setattr(Symbol, _name, _method(find(_name), _name))


def _only_for_arrays(name: str) -> Callable[..., Any]:
    def method(self: Symbol, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedForSymbol(
            f"Symbol.{name}: only an array can do this; {self.name or 'a group'!r} has no values before it is bound. "
            "Bind it (simple_bind, bind) and run forward(), or call eval()."
        )

    method.__name__, method.__qualname__ = name, f"Symbol.{name}"
    method.__doc__ = f"Raise an error: `{name}` is for arrays only."
    return method


for _name in (
    "as_in_context", "asnumpy", "asscalar", "backward", "copy", "detach", "gradient", "wait_to_read",
):  # fmt: skip
    if _name not in vars(Symbol):
        setattr(Symbol, _name, _only_for_arrays(_name))
