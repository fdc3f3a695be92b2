"""Blocks: classes that compose symbols, with MXNet's names for parameters and nodes."""

from __future__ import annotations

import contextvars
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING

from .. import symbol
from ..absent import absent_function, old_names
from ..dtypes import DTypeLike
from ..errors import AbsentFeatureError, ArgumentError, ParameterError
from ..ndarray import NDArray
from ..scope import NameManager, Prefix
from ..symbol import Symbol
from .absent import NO_ARRAYS, named
from .parameter import Parameter, ParameterDict
from .utils import HookHandle

__all__ = ["Block", "HybridBlock", "SymbolBlock"]

_PARAMS = "Parameters are the Module's, once a network is bound"


class Block:
    """Base of blocks. What is called on symbols and derives from this defines `forward`.

    Parameters
    ----------
    prefix
        Begins the names of parameters and nodes; by default the class in lower case with a number, below the block
        whose `name_scope` is entered.
    params
        The parameters of another block, to share them: ``Dense(8, params=other.params)``.

    Examples
    --------
    >>> import rebind as mx
    >>> class Twice(Block):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> Twice()(mx.sym.var("x")).list_arguments()
    ['x']
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        self._empty_prefix = prefix == ""
        self._prefix, self._params = _names(prefix, params, self._alias())
        self._name = self._prefix.removesuffix("_")
        self._scope = _NameScope(self)
        self._children: dict[str, Block] = {}
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks: dict[int, Callable[..., object]] = {}
        self._forward_pre_hooks: dict[int, Callable[..., object]] = {}

    def __repr__(self) -> str:
        members = [(name, value) for name, value in vars(self).items() if isinstance(value, Block)]
        return described(self, members)

    def __setattr__(self, name: str, value: object) -> None:
        before = getattr(self, name, None)
        # An attribute of a block keeps its kind: the block's structure is read from its attributes.
        if isinstance(before, (Parameter, Block)) and not isinstance(value, type(before)):
            raise ArgumentError(
                f"{type(self).__name__}.{name}: must stay a {type(before).__name__}; got {value!r}"
            )
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            self._reg_params[name] = value
        super().__setattr__(name, value)

    def __call__(self, *args: object) -> object:
        """Return what `forward` makes of the arguments: symbols, or lists of them."""
        if any(isinstance(each, NDArray) for each in _leaves(args)):
            raise AbsentFeatureError(
                f"{type(self).__name__} {self.name!r} was called on an NDArray. {NO_ARRAYS}"
            )
        for before in list(self._forward_pre_hooks.values()):
            before(self, args)
        out = self.forward(*args)
        for after in list(self._forward_hooks.values()):
            after(self, args, out)
        return out

    def forward(self, *args: object) -> object:
        """Return the block's outputs; a subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} must define forward(x, ...)")

    def _alias(self) -> str:
        """Return what an automatic prefix begins with."""
        return type(self).__name__.lower()

    @property
    def prefix(self) -> str:
        """What the names of parameters and nodes begin with.

        >>> Block(prefix="encoder_").prefix
        'encoder_'
        """
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without the underscore at its end.

        >>> Block(prefix="encoder_").name
        'encoder'
        """
        return self._name

    @property
    def params(self) -> ParameterDict:
        """The block's own parameters, without those of its children; ``params.get`` makes new ones."""
        return self._params

    def name_scope(self) -> _NameScope:
        """Return a scope in which blocks and nodes get this block's prefix.

        >>> outer = Block(prefix="net_")
        >>> with outer.name_scope():
        ...     Block(prefix="fc_").prefix
        'net_fc_'
        """
        return self._scope

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """Return the parameters of the block and its children, or those whose names match a pattern.

        >>> block = Block(prefix="net_")
        >>> _ = block.params.get("weight"), block.params.get("bias")
        >>> list(block.collect_params(".*bias"))
        ['net_bias']
        """
        found = ParameterDict(self._params.prefix)
        # A parameter that is shared by several blocks is there once.
        for block in self._walk():
            for name, parameter in block.params.items():
                if select is None or re.match(select, name):
                    found.add(parameter)
        return found

    def _walk(self) -> Iterator[Block]:
        yield self
        for child in self._children.values():
            yield from child._walk()

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Add a child; assigning a block to an attribute does so too."""
        self._children[str(len(self._children)) if name is None else name] = block

    def register_forward_hook(self, hook: Callable[..., object]) -> HookHandle:
        """Call ``hook(block, inputs, outputs)`` after each call of the block; the handle's `detach` ends it."""
        return HookHandle(self._forward_hooks, hook)

    def register_forward_pre_hook(self, hook: Callable[..., object]) -> HookHandle:
        """Call ``hook(block, inputs)`` before each call of the block; the handle's `detach` ends it."""
        return HookHandle(self._forward_pre_hooks, hook)

    def apply(self, fn: Callable[[Block], object]) -> Block:
        # Children first, as in MXNet.
        """Call a function on each child and on the block itself; return the block.

        >>> _ = Block(prefix="net_").apply(lambda block: print(block.name))
        net
        """
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def hybridize(self, active: bool = True, **kwargs: object) -> None:
        """Do nothing: a block makes symbols always."""

    def cast(self, dtype: DTypeLike) -> None:
        """Set the type of all parameters, before the block is called.

        >>> block = Block()
        >>> _ = block.params.get("weight")
        >>> block.cast("float16")
        >>> list(block.params.values())[0].dtype
        'float16'
        """
        for child in self._children.values():
            child.cast(dtype)
        for parameter in self._params.values():
            parameter.cast(dtype)

    initialize = absent_function("gluon.Block.initialize", "Give the initializer to module.init_params")
    load = absent_function("gluon.Block.load", "Use mx.model.load_params and module.set_params")
    load_parameters = absent_function("gluon.Block.load_parameters", "Use module.set_params")
    load_params = absent_function("gluon.Block.load_params", "Use module.set_params")
    register_op_hook = absent_function("gluon.Block.register_op_hook", "Use mx.mon.Monitor with the Module")
    save = absent_function("gluon.Block.save", f"{_PARAMS}: module.save_checkpoint")
    save_parameters = absent_function("gluon.Block.save_parameters", f"{_PARAMS}: module.save_params")
    save_params = absent_function("gluon.Block.save_params", f"{_PARAMS}: module.save_params")
    summary = absent_function("gluon.Block.summary", "Use mx.viz.print_summary on block(mx.sym.var('data'))")


class HybridBlock(Block):
    """A block whose `hybrid_forward` gets the operators, the input, and a variable for each of its parameters.

    Examples
    --------
    >>> import rebind as mx
    >>> class Scale(HybridBlock):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         self.factor = self.params.get("factor", shape=(1,))
    ...
    ...     def hybrid_forward(self, F, x, factor):
    ...         return F.broadcast_mul(x, factor)
    >>> net = Scale(prefix="scale_")(mx.sym.var("x"))
    >>> net.name, net.list_arguments()
    ('scale_broadcast_mul0', ['x', 'scale_factor'])
    """

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Add a child, which must be a `HybridBlock`."""
        if not isinstance(block, HybridBlock):
            raise ParameterError(
                f"{type(self).__name__}: children of a HybridBlock must be HybridBlocks; got {type(block).__name__}"
                f"{' (HybridSequential is one)' if type(block).__name__ == 'Sequential' else ''}"
            )
        super().register_child(block, name)

    def forward(self, *args: object) -> object:
        """Return `hybrid_forward` of the arguments, inside the block's name scope."""
        if not any(isinstance(each, Symbol) for each in _leaves(args)):
            raise ParameterError(
                f"{type(self).__name__} {self.name!r}: must be called on a symbol; got {args!r}"
            )
        variables = {name: parameter.var() for name, parameter in self._reg_params.items()}
        # The prefix of the scope makes the nodes' names.
        with self.name_scope():
            return self.hybrid_forward(symbol, *args, **variables)

    def hybrid_forward(self, F: ModuleType, *args: object, **params: Symbol) -> object:
        """Return the block's outputs; a subclass defines it as ``hybrid_forward(self, F, x, ..., weight, ...)``.

        Parameters
        ----------
        F
            The operators: `mx.sym`.
        *args
            What the block is called on.
        **params
            A variable for each parameter that is an attribute of the block, under the attribute's name.
        """
        raise NotImplementedError(f"{type(self).__name__} must define hybrid_forward(F, x, ...)")

    export = absent_function("gluon.HybridBlock.export", f"{_PARAMS}: module.save_checkpoint")
    infer_shape = absent_function(
        "gluon.HybridBlock.infer_shape", "Call the block on a symbol, and infer_shape of that"
    )
    infer_type = absent_function(
        "gluon.HybridBlock.infer_type", "Call the block on a symbol, and infer_type of that"
    )
    optimize_for = absent_function("gluon.HybridBlock.optimize_for", "Bind the symbol that the block makes")


SymbolBlock = named("SymbolBlock")


class _NameScope:
    """``with block.name_scope():`` blocks made inside get the block's prefix, and so do nodes."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self._counts: dict[str, int] = {}
        self._entered: list[tuple[contextvars.Token[_NameScope | None], Prefix] | None] = []

    def next_prefix(self, hint: str) -> str:
        """Return the next automatic prefix for a class of blocks."""
        number = self._counts.get(hint, 0)
        self._counts[hint] = number + 1
        return f"{hint}{number}_"

    def __enter__(self) -> _NameScope:
        if self.block._empty_prefix:
            self._entered.append(None)
            return self
        # A new manager each time, as in MXNet: nodes count from 0 at every call of the block.
        names = Prefix(self.block.prefix)
        self._entered.append((_current.set(self), names))
        names.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        entered = self._entered.pop()
        if entered is not None:
            token, names = entered
            names.__exit__(*error)
            _current.reset(token)


_current: contextvars.ContextVar[_NameScope | None] = contextvars.ContextVar("rebind_block", default=None)


def _names(prefix: str | None, params: ParameterDict | None, hint: str) -> tuple[str, ParameterDict]:
    """Return the whole prefix of a new block, and its parameters."""
    # Inside a name scope a block's prefix goes behind that of the block whose scope it is.
    scope = _current.get()
    if scope is None:
        prefix = f"{NameManager.current.get(None, hint)}_" if prefix is None else prefix
        return prefix, ParameterDict(prefix) if params is None else ParameterDict(params.prefix, params)
    prefix = scope.next_prefix(hint) if prefix is None else prefix
    if params is not None:
        return scope.block.prefix + prefix, ParameterDict(params.prefix, params)
    # Parameters that the block above shares are found by its children too.
    above = scope.block.params
    return scope.block.prefix + prefix, ParameterDict(above.prefix + prefix, above.shared)


def _leaves(value: object) -> Iterator[object]:
    """Yield what nested lists and tuples hold."""
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


def described(block: Block, members: list[tuple[str, Block]]) -> str:
    """Return the text of a block and its children, indented.

    >>> print(described(Block(), [("fc", Block())]).splitlines()[1])
      (fc): Block(
    """
    lines = "\n".join(f"  ({name}): " + repr(member).replace("\n", "\n  ") for name, member in members)
    return f"{type(block).__name__}(\n{lines}\n)"


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
