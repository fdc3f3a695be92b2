"""Blocks: classes that compose symbols, with MXNet's names for parameters and nodes."""

from __future__ import annotations

import contextvars
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from ..absent import absent_function
from ..checks import FUNCTION, check_kind, check_pattern, warn_user
from ..dtypes import DTypeLike
from ..errors import AbsentFeatureError, ArgumentError
from ..ndarray import save
from ..scope import NameManager, Prefix
from .arrays import Devices, Init
from .base_parameter import Parameter
from .loading import load_arrays, named_arrays, without_kind
from .parameter_dict import ParameterDict
from .utils import HookHandle

__all__ = ["Block", "described", "leaves"]


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

    def __call__(self, *args: Any) -> Any:
        """Return what `forward` makes of the arguments: symbols or arrays, or lists of them."""
        for before in list(self._forward_pre_hooks.values()):
            before(self, args)
        out = self.forward(*args)
        for after in list(self._forward_hooks.values()):
            after(self, args, out)
        return out

    def forward(self, *args: Any) -> Any:
        """Return the block's outputs; a subclass defines it."""
        raise AbsentFeatureError(
            f"{type(self).__name__} {self.name!r}: the class must define forward(self, x, ...)"
        )

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
        if select is not None:
            check_pattern("collect_params", select=select)
        self._warn_of_lists()
        found = ParameterDict(self._params.prefix)
        # A parameter that is shared by several blocks is there once.
        for block in self._walk():
            for name, parameter in block.params.items():
                if select is None or re.match(select, name):
                    found.add(parameter)
        return found

    def _warn_of_lists(self) -> None:
        """Warn of blocks that are in a list or dict only: they are no children, and their parameters are not found."""
        for block in self._walk():
            registered = {id(child) for child in block._children.values()}
            for name, value in vars(block).items():
                held = (
                    value.values()
                    if isinstance(value, dict)
                    else value
                    if isinstance(value, (list, tuple))
                    else ()
                )
                if name != "_children" and any(
                    isinstance(each, Block) and id(each) not in registered for each in leaves(list(held))
                ):
                    warn_user(
                        f"{type(block).__name__}.{name}: holds blocks that are not children, so their parameters are "
                        "left out; use nn.Sequential, or register_child for each"
                    )

    def _with_children(self) -> dict[str, Parameter]:
        """Return the parameters of the block and its children by name."""
        return {name: parameter for block in self._walk() for name, parameter in block.params.items()}

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
        check_kind("apply", FUNCTION, fn=fn)
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def hybridize(self, active: bool = True, **kwargs: object) -> None:
        """Have the children that are `HybridBlock`s run as a graph; see `HybridBlock.hybridize`."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

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

    def initialize(
        self,
        init: Init | None = None,
        ctx: Devices = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Make the arrays of all parameters, for calls on arrays; see `ParameterDict.initialize`.

        >>> import rebind as mx
        >>> layer = mx.gluon.nn.Dense(2)
        >>> layer.initialize(mx.init.One())
        >>> layer(mx.nd.array([[1, 2, 3]])).asnumpy().tolist()
        [[6.0, 6.0]]
        """
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def save_parameters(self, filename: str | os.PathLike, deduplicate: bool = False) -> None:
        """Write the arrays of all parameters, under the names of attributes: ``fc.weight``, ``0.bias``.

        Parameters
        ----------
        filename
            The file.
        deduplicate
            Whether to write a parameter that several blocks share only once.
        """
        named = self._by_attribute()
        if deduplicate:
            last = {id(parameter): name for name, parameter in named.items()}  # as MXNet has it
            named = {name: parameter for name, parameter in named.items() if last[id(parameter)] == name}
        save(filename, {name: parameter.reduced() for name, parameter in named.items()})

    def load_parameters(
        self,
        filename: str | os.PathLike,
        ctx: Devices = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Read what `save_parameters` wrote, or a file with the parameters' whole names.

        The parameters are those of `ParameterDict.load`.

        Examples
        --------
        >>> import tempfile
        >>> import rebind as mx
        >>> net, same = (mx.gluon.nn.Dense(2, in_units=3) for _ in range(2))
        >>> net.initialize()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     net.save_parameters(f"{folder}/net.params")
        ...     same.load_parameters(f"{folder}/net.params")
        >>> (same.weight.data() == net.weight.data()).asnumpy().all()
        np.True_
        """
        found = {without_kind(name): each for name, each in named_arrays(filename).items()}
        whole = dict(self.collect_params().items())
        # Names of attributes, or of parameters: whole ones, or without the block's prefix as `save_params` writes them.
        namings = (
            self._by_attribute(),
            whole,
            {name.removeprefix(self.prefix): each for name, each in whole.items()},
        )
        params = max(namings, key=lambda names: len({*names} & {*found}))
        load_arrays(
            params, found, f"the file '{filename}'", ctx, allow_missing=allow_missing, ignore_extra=ignore_extra,
            cast_dtype=cast_dtype, dtype_source=dtype_source,
        )  # fmt: skip

    def save_params(self, filename: str | os.PathLike) -> None:
        """Write the arrays under the parameters' names without the block's prefix: MXNet's older way."""
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_params(
        self,
        filename: str | os.PathLike,
        ctx: Devices = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> None:
        """Do what `load_parameters` does: its older name."""
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    def _by_attribute(self, before: str = "") -> dict[str, Parameter]:
        """Return the parameters under the names of the attributes that lead to them: ``encoder.0.weight``."""
        found = {before + name: parameter for name, parameter in self._reg_params.items()}
        for name, child in self._children.items():
            found |= child._by_attribute(f"{before}{name}.")
        return found

    load = absent_function("gluon.Block.load", "Use load_parameters, or SymbolBlock.imports")
    register_op_hook = absent_function("gluon.Block.register_op_hook", "Use mx.mon.Monitor with a Module")
    save = absent_function("gluon.Block.save", "Use save_parameters, or export")
    summary = absent_function("gluon.Block.summary", "Use mx.viz.print_summary on block(mx.sym.var('data'))")


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


def leaves(value: object) -> Iterator[object]:
    """Yield what nested lists and tuples hold."""
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def described(block: Block, members: list[tuple[str, Block]]) -> str:
    """Return the text of a block and its children, indented.

    >>> print(described(Block(), [("fc", Block())]).splitlines()[1])
      (fc): Block(
    """
    lines = "\n".join(f"  ({name}): " + repr(member).replace("\n", "\n  ") for name, member in members)
    return f"{type(block).__name__}(\n{lines}\n)"
