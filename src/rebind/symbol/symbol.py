"""`Symbol`: the user's handle on a graph, which it composes, writes and binds."""

from __future__ import annotations

import ctypes
import dataclasses
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from .. import files
from ..absent import absent_function, old_names
from ..checks import DICT, LIST, PATH, an, check_kind, or_none, warn_user
from ..completion import hides
from ..device import Device, as_device
from ..dtypes import DTypeLike, torch_dtype
from ..errors import ArgumentError, near_names, shown
from ..executor import Arrays, Executor, GradReqs, Sharing, arrays_by_name, bind, run_as, simple_bind
from ..first_use import OnFirstUse
from ..graph import Entry, Facts, Graph, Node, Target, infer_shapes, infer_types, rewrite, symbol_json
from ..graph.onnx_operators import onnx_operators
from ..graph.passes import backend_named, optimize, optimize_without_shapes, without_casts
from ..mode import mode
from ..ndarray import NDArray
from ..ndarray.storage import storage_kind
from ..ops import Operator
from ..shapes import Shape
from .base import SymbolBase, single_entry
from .composition import apply
from .methods import OperatorMethods
from .names import named_values, no_such_argument

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Symbol", "compose"]

T = TypeVar("T")

# Pictures are made above symbols in the layers, where they are found when a notebook asks for one.
_SHOWN = OnFirstUse.from_modules("rebind.viz", {"symbol_html": "notebook"})


@hides("symbol_class with_graph")
class Symbol(OperatorMethods):
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

    # Files.

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """Return the symbol as JSON, letter for letter as MXNet 1.9.1 writes it.

        Parameters
        ----------
        remove_amp_cast
            Leave out ``amp_cast`` and ``amp_multicast``, the casts of mixed precision.

        Examples
        --------
        >>> import json
        >>> import rebind as mx
        >>> text = mx.sym.exp(mx.sym.var("x"), name="e").tojson()
        >>> [node["name"] for node in json.loads(text)["nodes"]]
        ['x', 'e']
        """
        return symbol_json.dumps(
            without_casts(self._graph) if remove_amp_cast else self._graph, mode.numpy_shapes
        )

    def save(self, fname: str | os.PathLike, remove_amp_cast: bool = True) -> None:
        """Write the symbol to a JSON file, which appears whole or not at all; for `remove_amp_cast` see `tojson`.

        It warns of operators that only rebind has, which `onnx.import_model` and `from_torch` use: MXNet cannot load
        such a file.

        >>> import pathlib, tempfile, rebind as mx
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "net-symbol.json")
        ...     mx.sym.var("x").save(path)
        ...     '"name": "x"' in path.read_text()
        True
        """
        check_kind("Symbol.save", PATH, fname=fname)
        if names := onnx_operators(self.graph):
            warn_user(
                f"Symbol.save: MXNet cannot load this network, since it has no {', '.join(names)}: operators of ONNX "
                "that only rebind has. rebind loads it, and onnx.export_model writes it."
            )
        with files.atomic_write(fname) as file:
            file.write(self.tojson(remove_amp_cast).encode())

    def __setstate__(self, state: Mapping[str, str | None]) -> None:
        """Take the graph from a pickle of MXNet's: ``{'handle': JSON}``.

        >>> import rebind as mx
        >>> x = mx.sym.var("x")
        >>> x.__setstate__({"handle": mx.sym.exp(x, name="e").tojson()})
        >>> x.list_outputs()
        ['e_output']
        """
        text = state["handle"]
        self._graph = Graph(()) if text is None else symbol_json.loads(text)

    # What runs it.

    def bind(
        self,
        ctx: Device,
        args: Arrays,
        args_grad: Arrays = None,
        grad_req: GradReqs = "write",
        aux_states: Arrays = None,
        group2ctx: Mapping[str, Device] | None = None,
        shared_exec: Executor | None = None,
        *,
        backend: str | None = None,
        recompute: bool | None = None,
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
        backend
            How it is run: ``'default'``; ``'inductor'``, compiled by PyTorch's compiler, which takes some time at the
            first run; ``'openvino'``, in inference by OpenVINO (docs/faster.md); or a name that
            `rebind.graph.passes.register_backend` was given. None: the symbol's own (`optimize_for`), or that of the
            environment (``REBIND_BACKEND``).
        recompute
            Whether training keeps fewer results for `backward`: those that take little time, such as of batch norms and
            activations, are computed again there, with the same numbers (docs/faster.md). Operators with the
            attribute ``force_mirroring='True'`` always are. None: as the environment says
            (``MXNET_BACKWARD_DO_MIRROR=1``).

        Raises
        ------
        ParameterError
            When an array is missing; it is a ValueError and names all that are.

        Examples
        --------
        >>> import rebind as mx
        >>> w, grad = mx.nd.array([3]), mx.nd.zeros((1,))
        >>> exe = mx.sym.MakeLoss(mx.sym.var("w") ** 2).bind(mx.cpu(), {"w": w}, {"w": grad})
        >>> _ = exe.forward(is_train=True)
        >>> exe.backward()
        >>> grad.item()  # written into the caller's own array
        6.0
        """
        device = as_device(ctx, "Symbol.bind: ctx")
        check_kind("Symbol.bind", or_none(DICT), group2ctx=group2ctx)
        check_kind("Symbol.bind", or_none(an(Executor)), shared_exec=shared_exec)
        chosen = run_as(self, backend, recompute)
        return bind(chosen, device, args, args_grad, grad_req, aux_states, group2ctx)

    def simple_bind(
        self,
        ctx: Device,
        grad_req: GradReqs = "write",
        type_dict: Mapping[str, DTypeLike] | None = None,
        stype_dict: Mapping[str, str] | None = None,
        group2ctx: Mapping[str, Device] | None = None,
        shared_arg_names: Sequence[str] | None = None,
        shared_exec: Executor | None = None,
        shared_buffer: dict[str, NDArray] | None = None,
        *,
        backend: str | None = None,
        recompute: bool | None = None,
        **kwargs: Sequence[int],
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
        backend, recompute
            As for `bind`.
        **kwargs
            Shapes by name of argument. Other names are ignored, as in MXNet.

        Examples
        --------
        >>> import rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc")
        >>> exe = net.simple_bind(mx.cpu(), x=(8, 3))
        >>> exe.arg_dict["fc_weight"].shape, exe.forward()[0].shape
        ((2, 3), (8, 2))
        """
        device = as_device(ctx, "Symbol.simple_bind: ctx")
        dicts = {"type_dict": type_dict, "stype_dict": stype_dict, "group2ctx": group2ctx}
        check_kind("Symbol.simple_bind", or_none(DICT), **dicts)
        check_kind("Symbol.simple_bind", or_none(an(Executor)), shared_exec=shared_exec)
        check_kind("Symbol.simple_bind", or_none(LIST), shared_arg_names=shared_arg_names)
        check_kind("Symbol.simple_bind", or_none(DICT), shared_buffer=shared_buffer)
        stypes = _storage_types(stype_dict or {})
        for name, dtype in (type_dict or {}).items():
            if dtype is not None:
                torch_dtype(dtype, f"Symbol.simple_bind: type_dict: type of {name!r}")
        shapes = self._of_inputs(kwargs, "simple_bind")
        types = named_values(self._graph, "simple_bind", (), type_dict or {})
        sharing = Sharing(shared_exec, shared_arg_names, shared_buffer, frozenset(shapes))
        chosen = run_as(self, backend, recompute)
        return simple_bind(chosen, device, shapes, types, grad_req, group2ctx, sharing, stypes)

    def _of_inputs(self, given: Mapping[str, T], who: str) -> dict[str, T]:
        """Return what is given for variables; other names are ignored, as in MXNet, with a warning.

        Programs hand on what a module's `bind` takes (``force_rebind=True``), and the labels of other networks.
        """
        known = {node.name for node in self._graph.variables}
        for name in [name for name in given if name not in known]:
            near = near_names(name, (*known, *inspect.signature(getattr(self, who)).parameters))
            warn_user(f"Symbol.{who}: no argument {name!r}{near} It is ignored.")
        return {name: value for name, value in given.items() if name in known}

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

    def _simple_bind(self, device: Device, grad_req: GradReqs = "write", **kwargs: Any) -> Executor:
        """Return an executor with new arrays, from the shapes of the inputs."""
        return self.simple_bind(device, grad_req, **kwargs)

    def eval(self, ctx: Device | None = None, **kwargs: NDArray) -> list[NDArray]:
        """Bind to the given arrays, run forward, and return the outputs.

        >>> import rebind as mx
        >>> a, b = mx.sym.var("a"), mx.sym.var("b")
        >>> (a + b).eval(a=mx.nd.ones((2,)), b=mx.nd.ones((2,)))[0].asnumpy()
        array([2., 2.], dtype=float32)
        """
        arrays = self._of_inputs(kwargs, "eval")
        return self.bind(as_device(ctx, "Symbol.eval: ctx"), arrays, grad_req="null").forward()

    def get_backend_symbol(self, backend: str) -> Self:
        """Return the symbol after the passes of a backend, as `optimize_for` without arrays.

        >>> import rebind as mx
        >>> mx.sym.exp(mx.sym.var("x"), name="e").get_backend_symbol("default").list_outputs()
        ['e_output']
        """
        return self.optimize_for(backend)

    def get_optimized_symbol(self) -> Self:
        """Return the symbol as it is run in training mode, as far as that does not depend on shapes."""
        return self.optimize_for("default", training=True)

    def optimize_for(
        self,
        backend: str,
        args: Arrays = None,
        aux: Arrays = None,
        ctx: Device | None = None,
        shape_dict: Mapping[str, Shape] | None = None,
        type_dict: Mapping[str, DTypeLike] | None = None,
        *,
        training: bool = False,
        **kwargs: str | float,
    ) -> Self:
        """Return the symbol after the passes of a backend; for one that compiles, the symbol that is bound with it.

        Parameters
        ----------
        backend
            ``'default'``, what is done with every symbol when it is run; ``'inductor'`` or ``'openvino'``, to have it
            compiled then, as by ``bind(..., backend='inductor')``; or a name that
            `rebind.graph.passes.register_backend` was given.
            MXNet's own (``'MKLDNN'``, ...) leave the symbol as it is: the executor does what they do.
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
        if backend_named(backend).compiler is not None:
            # Its passes run when it is bound, when shapes are known.
            return self.with_backend(backend)
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
        return self.symbol_class(run(self._graph, facts, target)[0])


SymbolBase.symbol_class = Symbol


def compose(
    op: Operator, hint: str, args: Sequence[Any], kwargs: dict[str, Any], called_as: str | None = None
) -> Symbol:
    """Apply an operator to symbols; for the arguments see `composition.apply`.

    >>> import rebind as mx
    >>> from rebind.ops import find
    >>> compose(find("exp"), "exp", [mx.sym.var("x")], {"name": "e"}).list_outputs()
    ['e_output']
    """
    return Symbol(apply(op, hint, args, kwargs, called_as))


def load_json(json_str: str) -> Symbol:
    """Return the symbol in a JSON text that rebind, or any version of MXNet, wrote.

    >>> import rebind as mx
    >>> mx.sym.load_json(mx.sym.exp(mx.sym.var("x"), name="e").tojson())
    <Symbol e>
    """
    if not isinstance(json_str, str):
        raise ArgumentError(f"sym.load_json: json_str must be a string; got {shown(json_str)}")
    return Symbol(symbol_json.loads(json_str))


fromjson = load_json


def _storage_types(given: Mapping[str, str]) -> dict[str, str]:
    """Return storage types by name, after a check that arrays can have them."""
    for name, stype in given.items():
        storage_kind(stype, f"Symbol.simple_bind: stype_dict: stype of {name!r}")
    return dict(given)


def _outputs(node: Node) -> list[Entry]:
    return [Entry(node, i) for i in range(len(node.output_names))]


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
