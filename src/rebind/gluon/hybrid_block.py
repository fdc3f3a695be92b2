"""Blocks whose code runs on symbols and on arrays, and blocks made of a symbol."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from .. import ndarray, symbol
from ..absent import absent_function
from ..checkpoint.network import params_path, symbol_path, write_params
from ..checks import warn_user
from ..dtypes import DTypeLike
from ..errors import (
    AbsentFeatureError,
    ArgumentError,
    NameLookupError,
    ParameterError,
    ShapeError,
    StateError,
    near_names,
)
from ..files import atomic_write
from ..ndarray import NDArray
from ..symbol import Symbol, var
from .arrays import DeferredInitializationError, Devices
from .base_block import Block, leaves
from .base_parameter import Parameter
from .loading import named_arrays, without_kind
from .parameter_dict import ParameterDict
from .tracing import Nesting, Trace, flat, nested
from .utils import shape_is_known

__all__ = ["HybridBlock", "SymbolBlock"]

# MXNet's, for how a graph is executed; without effect.
_FLAGS = (
    "static_alloc", "static_shape", "inline_limit", "forward_bulk_size", "backward_bulk_size", "partition_if_dynamic",
    "backend", "backend_opts", "clear",
)  # fmt: skip


class HybridBlock(Block):
    """A block whose `hybrid_forward` gets the operators, the input, and the value of each of its parameters.

    Called on symbols, it gets `mx.sym` and variables; called on arrays, `mx.nd` and arrays. After `hybridize` it is
    called once on symbols, and the graph that this gives runs on the arrays.

    Examples
    --------
    >>> import rebind as mx
    >>> class Scale(HybridBlock):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         self.factor = self.params.get("factor", shape=(1,), init="ones")
    ...
    ...     def hybrid_forward(self, F, x, factor):
    ...         return F.broadcast_mul(x, factor)
    >>> block = Scale(prefix="scale_")
    >>> net = block(mx.sym.var("x"))
    >>> net.name, net.list_arguments()
    ('scale_broadcast_mul0', ['x', 'scale_factor'])
    >>> block.initialize()
    >>> block(mx.nd.array([3])).item()
    3.0
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix, params)
        self._active = False
        #: The structure of the arguments of the last call, and the graph for it.
        self._graph: tuple[Nesting, Trace] | None = None

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Add a child, which must be a `HybridBlock`."""
        if not isinstance(block, HybridBlock):
            raise ParameterError(
                f"{type(self).__name__}: children of a HybridBlock must be HybridBlocks; got {type(block).__name__}"
                f"{' (HybridSequential is one)' if type(block).__name__ == 'Sequential' else ''}"
            )
        super().register_child(block, name)
        self._forget_graph()

    def _forget_graph(self) -> None:
        self._graph = None

    def hybridize(self, active: bool = True, **kwargs: object) -> None:
        """Run as one graph when called on arrays (or no longer), the children too.

        Parameters
        ----------
        active
            Whether to.
        **kwargs
            MXNet's flags, such as ``static_alloc=True``; without effect.
        """
        for flag in kwargs:
            if flag not in _FLAGS:
                warn_user(f"hybridize: no flag {flag!r}{near_names(flag, _FLAGS)} It has no effect.")
        if kwargs.get("backend") is not None:
            raise AbsentFeatureError("hybridize: backends are not part of rebind; leave backend out")
        self._active = active
        self._forget_graph()
        super().hybridize(active, **kwargs)

    def cast(self, dtype: DTypeLike) -> None:
        """Set the type of all parameters."""
        self._forget_graph()
        super().cast(dtype)

    def forward(self, *args: Any) -> Any:
        """Return `hybrid_forward` of the arguments."""
        inputs = list(leaves(args))
        on_arrays = [each for each in inputs if isinstance(each, NDArray)]
        on_symbols = any(isinstance(each, Symbol) for each in inputs)
        if on_arrays and on_symbols:
            raise ParameterError(
                f"{self._who}: must be called on arrays or on symbols, and not on both at once"
            )
        if on_symbols:
            return self._on_symbols(*args)
        if not on_arrays:
            raise ParameterError(
                f"{self._who}: must be called on an NDArray (mx.nd.array makes one) or a symbol; got {args!r}"
            )
        with on_arrays[0].context:
            return self._as_graph(args) if self._active else self._on_arrays(args)

    @property
    def _who(self) -> str:
        return f"{type(self).__name__} {self.name!r}"

    def _on_symbols(self, *args: object) -> Any:
        variables = {name: parameter.var() for name, parameter in self._reg_params.items()}
        # The prefix of the scope makes the nodes' names.
        with self.name_scope():
            return self.hybrid_forward(symbol, *args, **variables)

    def _on_arrays(self, args: Sequence[object]) -> Any:
        try:
            values = {name: parameter.array_on() for name, parameter in self._reg_params.items()}
        except DeferredInitializationError:
            self._initialize_deferred(args, self._reg_params)
            values = {name: parameter.array_on() for name, parameter in self._reg_params.items()}
        return self.hybrid_forward(ndarray, *args, **values)

    def _as_graph(self, args: Sequence[object]) -> Any:
        trace, arrays = self._traced(args)
        params = self._with_children()
        used = [params[name] for name in trace.symbol.list_inputs() if name in params]
        try:
            values = {each.name: each.array_on() for each in used}
        except DeferredInitializationError:
            self._initialize_deferred(args, params)
            values = {each.name: each.array_on() for each in used}
        return trace(arrays, values)

    def _initialize_deferred(self, args: Sequence[object], params: Mapping[str, Parameter]) -> None:
        self.infer_shape(*args)
        for parameter in params.values():
            if not shape_is_known(parameter.shape):
                raise ShapeError(
                    f"{self._who}: the shape of {parameter.name!r} cannot be found from those of the arguments; "
                    f"give it in full: it is {parameter.shape}"
                )
            parameter.finish_initialization()

    def _traced(self, args: Sequence[object]) -> tuple[Trace, list[NDArray]]:
        """Return the graph for arguments of this structure, and the arrays in them."""
        arrays, nesting = flat(list(args), NDArray, f"{self._who}: the arguments of a hybridized block")
        if self._graph is None or self._graph[0] != nesting:
            # MXNet's names, which are in the files that `export` writes.
            names = ["data"] if len(arrays) == 1 else [f"data{i}" for i in range(len(arrays))]
            out = self._on_symbols(*nested(map(var, names), nesting))
            self._graph = nesting, Trace(names, out, self._who)
        return self._graph[1], arrays

    def infer_shape(self, *args: object) -> None:
        """Find the shapes of all parameters from arrays that the block could be called on.

        >>> import rebind as mx
        >>> layer = mx.gluon.nn.Dense(2)
        >>> layer.infer_shape(mx.nd.ones((4, 3)))
        >>> layer.weight.shape
        (2, 3)
        """
        trace, arrays = self._traced(args)
        trace.infer("shape", arrays, self._with_children())

    def infer_type(self, *args: object) -> None:
        """Find the types of all parameters from arrays that the block could be called on."""
        trace, arrays = self._traced(args)
        trace.infer("dtype", arrays, self._with_children())

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> None:
        """Write the graph and the arrays as a checkpoint, for `SymbolBlock.imports` and `Module.load`.

        The block must have been hybridized and called.

        Parameters
        ----------
        path
            Begins the names of the files: ``path-symbol.json`` and ``path-0000.params``.
        epoch
            The number in the name of the second one.
        remove_amp_cast
            Whether to leave out the casts that mixed precision put in.

        Examples
        --------
        >>> import os, tempfile, rebind as mx
        >>> layer = mx.gluon.nn.Dense(2)
        >>> layer.initialize()
        >>> layer.hybridize()
        >>> _ = layer(mx.nd.ones((1, 3)))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     layer.export(f"{folder}/layer")
        ...     sorted(os.listdir(folder))
        ['layer-0000.params', 'layer-symbol.json']
        """
        if not self._active or self._graph is None:
            raise StateError(
                f"{self._who}: export needs the graph; call hybridize() and then the block on an array first"
            )
        _, trace = self._graph
        params = self._with_children()
        found: list[dict[str, NDArray]] = [
            {name: params[name].reduced() for name in names if name in params}
            for names in (trace.symbol.list_arguments(), trace.symbol.list_auxiliary_states())
        ]
        with atomic_write(symbol_path(path), "w") as file:
            file.write(trace.symbol.tojson(remove_amp_cast=remove_amp_cast))
        write_params(params_path(path, epoch), *found)

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the block's outputs; a subclass defines it as ``hybrid_forward(self, F, x, ..., weight, ...)``.

        Parameters
        ----------
        F
            The operators: `mx.sym` or `mx.nd`.
        *args
            What the block is called on.
        **params
            A variable or an array for each parameter that is an attribute of the block, under the attribute's name.
        """
        raise AbsentFeatureError(f"{self._who}: the class must define hybrid_forward(self, F, x, ...)")

    optimize_for = absent_function("gluon.HybridBlock.optimize_for", "Bind the symbol that the block makes")


class SymbolBlock(HybridBlock):
    """A symbol as a block, whose parameters are the variables that are no inputs.

    Parameters
    ----------
    outputs
        The symbol, or several.
    inputs
        The variables that stand for the arguments.
    params
        The parameters of another block, to share them.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> block = SymbolBlock(mx.sym.FullyConnected(x, num_hidden=2, name="fc"), x)
    >>> block.initialize(mx.init.One())
    >>> block(mx.nd.array([[1, 2]])).asnumpy().tolist(), list(block.collect_params())
    ([[4.0, 4.0]], ['fc_weight', 'fc_bias'])
    """

    def __init__(
        self,
        outputs: Symbol | Sequence[Symbol],
        inputs: Symbol | Sequence[Symbol],
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__()
        self._prefix = ""
        self._params = ParameterDict("", params)
        self._empty_prefix = True
        names: list[str] = []
        for each in leaves(inputs if not isinstance(inputs, Symbol) else [inputs]):
            if not isinstance(each, Symbol) or each.list_inputs() != [each.name]:
                raise ParameterError(f"SymbolBlock: inputs must be variables; got {each!r}")
            names += each.list_inputs()
        outputs = [outputs] if isinstance(outputs, Symbol) else list(outputs)
        trace = self._graph = "one", Trace(names, outputs[0] if len(outputs) == 1 else outputs, self._who)
        whole = trace[1].symbol
        states = whole.list_auxiliary_states()
        for name in [*whole.list_arguments(), *states]:
            if name not in names:
                trained = "null" if name in states else "write"
                self._reg_params[name] = self.params.get(name, allow_deferred_init=True, grad_req=trained)

    @staticmethod
    def imports(
        symbol_file: str | os.PathLike,
        input_names: str | Sequence[str],
        param_file: str | os.PathLike | None = None,
        ctx: Devices = None,
    ) -> SymbolBlock:
        """Return a block for the files of `export`, or of a checkpoint of a `Module`.

        Parameters
        ----------
        symbol_file
            The file with the symbol.
        input_names
            The names of the variables that stand for the arguments.
        param_file
            The file with the arrays, if any.
        ctx
            The devices of the arrays.

        Examples
        --------
        >>> import tempfile
        >>> import rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     mx.model.save_checkpoint(f"{folder}/net", 1, net, {"fc_weight": mx.nd.ones((2, 3))}, {})
        ...     block = SymbolBlock.imports(
        ...         f"{folder}/net-symbol.json", ["data"], f"{folder}/net-0001.params"
        ...     )
        >>> block(mx.nd.array([[1, 2, 3]])).asnumpy().tolist()
        [[6.0, 6.0]]
        """
        whole = symbol.load(symbol_file)
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        block = SymbolBlock(whole, [var(name) for name in names])
        if param_file is not None:
            found = {without_kind(name): each for name, each in named_arrays(param_file).items()}
            known = whole.list_inputs()
            missing = [name for name in known if name not in found and name not in names]
            wrong = [name for name in names if name not in known]
            if missing and wrong:
                raise NameLookupError(
                    f"SymbolBlock.imports: input_names must be variables of the symbol; it has none called {wrong[0]!r}"
                    f"{near_names(wrong[0], missing)} Without an array in '{param_file}' are: {', '.join(missing)}."
                )
            block.collect_params().load_dict(
                found, ctx, filename=str(param_file), cast_dtype=True, dtype_source="saved"
            )
        return block

    @property
    def _trace(self) -> Trace:
        assert self._graph is not None
        return self._graph[1]

    def _forget_graph(self) -> None:
        """Do nothing: the graph is the block."""

    def reset_ctx(self, ctx: Devices) -> None:
        """Move the arrays to other devices."""
        self.collect_params().reset_ctx(ctx)

    def __repr__(self) -> str:
        whole = self._trace.symbol
        return (
            f"{type(self).__name__}(\n{whole!r} : {len(self._trace.inputs)} -> {len(whole.list_outputs())}\n)"
        )

    def _on_symbols(self, *args: object) -> Any:
        given: dict[str, Any] = dict(zip(self._trace.inputs, leaves(args), strict=True))
        whole = self._trace.symbol
        composed = whole(**{name: each for name, each in given.items() if name in whole.list_inputs()})
        return composed if len(whole.list_outputs()) == 1 else list(composed)

    def _on_arrays(self, args: Sequence[object]) -> Any:
        return self._as_graph(args)

    def _traced(self, args: Sequence[object]) -> tuple[Trace, list[NDArray]]:
        arrays, _ = flat(list(args), NDArray, f"{self._who}: the arguments")
        if len(arrays) != len(self._trace.inputs):
            names = ", ".join(self._trace.inputs)
            raise ArgumentError(
                f"{self._who}: takes {len(self._trace.inputs)} arrays, for {names}; got {len(arrays)}"
            )
        return self._trace, arrays
