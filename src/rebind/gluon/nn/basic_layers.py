"""Layers as blocks: dense ones, normalization, embedding, dropout; and sequences of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, TypeAlias, overload

import numpy as np

from ... import ndarray, symbol
from ...dtypes import DTypeLike, numpy_type
from ...errors import ArgumentError, near_names
from ...initializer import Initializer
from ..base_block import Block, described
from ..hybrid_block import HybridBlock
from ..parameter_dict import ParameterDict
from .activations import Activation

__all__ = [
    "BatchNorm", "BatchNormReLU", "Dense", "Dropout", "Embedding", "Flatten", "GroupNorm", "HybridLambda",
    "HybridSequential", "InstanceNorm", "Lambda", "LayerNorm", "Sequential",
]  # fmt: skip

Init: TypeAlias = "str | Initializer | None"


class Sequential(Block):
    """Blocks one after the other.

    >>> import rebind as mx
    >>> net = Sequential(prefix="net_")
    >>> with net.name_scope():
    ...     net.add(Dense(4, activation="relu"), Dense(2))
    >>> net(mx.sym.var("data")).name, len(net), net[1]
    ('net_dense1_fwd', 2, Dense(None -> 2, linear))
    """

    def add(self, *blocks: Block) -> None:
        """Append blocks."""
        for block in blocks:
            self.register_child(block)

    def forward(self, *args: Any) -> Any:
        """Return what the last block makes of what the ones before it made."""
        return _in_turn(self._children.values(), args)

    def __repr__(self) -> str:
        return described(self, list(self._children.items()))

    @overload
    def __getitem__(self, key: int) -> Block: ...
    @overload
    def __getitem__(self, key: slice) -> Sequential: ...
    def __getitem__(self, key: int | slice) -> Block | Sequential:
        blocks = list(self._children.values())[key]
        return blocks if isinstance(blocks, Block) else _slice_of(self, blocks)

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Block]:
        return iter(self._children.values())


class HybridSequential(Sequential, HybridBlock):
    """Blocks of class `HybridBlock`, one after the other.

    >>> HybridSequential(prefix="net_")
    HybridSequential(
    <BLANKLINE>
    )
    """

    def forward(self, *args: Any) -> Any:
        """Return what the last block makes of what the ones before it made."""
        return HybridBlock.forward(self, *args)

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return what the last block makes of what the ones before it made."""
        return _in_turn(self._children.values(), args)


def _in_turn(blocks: Any, args: Sequence[object]) -> object:
    """Call each block on what the one before it returned: several outputs are several arguments."""
    out: object = args[0] if len(args) == 1 else tuple(args)
    for block in blocks:
        out = block(*args)
        args = out if isinstance(out, (tuple, list)) else (out,)
    return out


def _slice_of(net: Sequential, blocks: Sequence[Block]) -> Sequential:
    new = type(net)(prefix=net.prefix)
    with new.name_scope():
        new.add(*blocks)
    return new


class Dense(HybridBlock):
    """A fully connected layer, with an activation.

    >>> import rebind as mx
    >>> Dense(2, activation="tanh", prefix="fc_")(mx.sym.var("x")).list_arguments()
    ['x', 'fc_weight', 'fc_bias']
    """

    def __init__(
        self,
        units: int,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: DTypeLike = "float32",
        weight_initializer: Init = None,
        bias_initializer: Init = "zeros",
        in_units: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix, params)
        self._units = units
        self._flatten = flatten
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=(units, in_units),
                init=weight_initializer,
                dtype=dtype,
                allow_deferred_init=True,
            )
            self.bias = (
                self.params.get(
                    "bias", shape=(units,), init=bias_initializer, dtype=dtype, allow_deferred_init=True
                )
                if use_bias
                else None
            )
            # The prefix is that of the activation, not "activation0_": so MXNet's files of parameters have it.
            self.act = None if activation is None else Activation(activation, prefix=f"{activation}_")

    def __repr__(self) -> str:
        units, inputs = self.weight.shape or (self._units, 0)
        return f"{type(self).__name__}({inputs or None} -> {units}, {self.act or 'linear'})"

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the layer's output."""
        out = F.FullyConnected(
            *args,
            **params,
            no_bias=self.bias is None,
            num_hidden=self._units,
            flatten=self._flatten,
            name="fwd",
        )
        return out if self.act is None else self.act(out)


class Dropout(HybridBlock):
    """The operator `Dropout`; the identity with a rate of 0.

    >>> Dropout(0.5)
    Dropout(p = 0.5, axes=())
    """

    def __init__(
        self,
        rate: float,
        axes: Sequence[int] = (),
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix, params)
        self._rate = rate
        self._axes = tuple(axes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the input with some elements set to 0."""
        if self._rate > 0:
            return F.Dropout(*args, p=self._rate, axes=self._axes, name="fwd", cudnn_off=False)
        return F.identity(*args)


class Embedding(HybridBlock):
    """A vector of `output_dim` numbers for each index below `input_dim`.

    >>> import rebind as mx
    >>> Embedding(10, 4)(mx.sym.var("x")).infer_shape(x=(2, 3))[1]
    [(2, 3, 4)]
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        weight_initializer: Init = None,
        sparse_grad: bool = False,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix, params)
        self._kwargs = {
            "input_dim": input_dim, "output_dim": output_dim, "dtype": dtype, "sparse_grad": sparse_grad,
        }  # fmt: skip
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            allow_deferred_init=True,
            grad_stype="row_sparse" if sparse_grad else "default",
        )

    def __repr__(self) -> str:
        return "{}({input_dim} -> {output_dim}, {dtype})".format(type(self).__name__, **self._kwargs)

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the vectors of the indices."""
        return F.Embedding(*args, **params, name="fwd", **self._kwargs)


class Flatten(HybridBlock):
    """All axes but the first as one."""

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the flat input."""
        return F.Flatten(*args)

    def __repr__(self) -> str:
        return type(self).__name__


class Lambda(Block):
    """A function, or an operator by its name, as a block.

    >>> import rebind as mx
    >>> Lambda("tanh")(mx.sym.var("x")).list_arguments()
    ['x']
    """

    def __init__(self, function: str | Callable[..., object], prefix: str | None = None) -> None:
        super().__init__(prefix)
        if isinstance(function, str):
            _check_operator("Lambda", function)
        self._func_impl = function
        self._func_name = function if isinstance(function, str) else function.__name__

    def forward(self, *args: Any) -> Any:
        """Return what the function returns."""
        if not isinstance(self._func_impl, str):
            return self._func_impl(*args)
        on_symbols = any(isinstance(each, symbol.Symbol) for each in args)
        return getattr(symbol if on_symbols else ndarray, self._func_impl)(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"


class HybridLambda(HybridBlock):
    """A function ``function(F, x, ...)``, or an operator by its name, as a block.

    >>> import rebind as mx
    >>> HybridLambda(lambda F, x: F.relu(x) + 1, prefix="f_")(mx.sym.var("x")).name
    'f__plusscalar0'
    """

    def __init__(self, function: str | Callable[..., object], prefix: str | None = None) -> None:
        super().__init__(prefix)
        if isinstance(function, str):
            _check_operator("HybridLambda", function)
            self._func: Callable[..., object] = lambda F, *args: getattr(F, function)(*args)
        else:
            self._func = function
        self._func_name = function if isinstance(function, str) else function.__name__

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return what the function returns."""
        return self._func(F, *args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"


def _check_operator(who: str, name: str) -> None:
    if not hasattr(ndarray, name):
        raise ArgumentError(
            f"{who}: must be given a function or the name of an operator; got {name!r}{near_names(name, dir(ndarray))}"
        )


class _Normalization(HybridBlock):
    """Base of layers that normalize, and then scale by `gamma` and shift by `beta`, which may be left out."""

    #: The settings that `repr` shows, by MXNet's names.
    _kwargs: dict[str, Any]

    def _add_scale_and_shift(
        self,
        channels: int,
        scale: bool,
        center: bool,
        gamma_initializer: Init,
        beta_initializer: Init,
        differentiable: bool = False,
    ) -> None:
        for name, wanted, init in (("gamma", scale, gamma_initializer), ("beta", center, beta_initializer)):
            parameter = self.params.get(
                name,
                grad_req="write" if wanted else "null",
                shape=(channels,),
                init=init,
                allow_deferred_init=True,
                # What is not wanted, MXNet's BatchNorm marks as not differentiable, the others only as fixed.
                differentiable=wanted or not differentiable,
            )
            setattr(self, name, parameter)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._described()})"

    @property
    def _channels(self) -> int:
        """The number of channels, 0 while it is not known."""
        shape: tuple[int, ...] | None = getattr(self, "gamma").shape  # noqa: B009  # an attribute set by its name
        return shape[0] if shape else 0

    def _described(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self._kwargs.items())


class BatchNorm(_Normalization):
    """The operator `BatchNorm`, with its moving statistics as auxiliary states.

    >>> import rebind as mx
    >>> BatchNorm(prefix="bn_")(mx.sym.var("x")).list_auxiliary_states()
    ['bn_running_mean', 'bn_running_var']
    """

    _operator = "BatchNorm"
    _inputs = ("gamma", "beta", "running_mean", "running_var")

    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Init = "zeros",
        gamma_initializer: Init = "ones",
        running_mean_initializer: Init = "zeros",
        running_variance_initializer: Init = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix, params)
        self._kwargs = {
            # MXNet's operator has no `scale`: a gamma of 1 is what switches it off.
            "axis": axis, "eps": epsilon, "momentum": momentum, "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }  # fmt: skip
        self._add_scale_and_shift(in_channels, scale, center, gamma_initializer, beta_initializer, True)
        statistics = (
            ("running_mean", running_mean_initializer),
            ("running_var", running_variance_initializer),
        )
        for name, init in statistics:
            parameter = self.params.get(
                name,
                grad_req="null",
                shape=(in_channels,),
                init=init,
                allow_deferred_init=True,
                differentiable=False,
            )
            setattr(self, name, parameter)

    def cast(self, dtype: DTypeLike) -> None:
        """Set the type of all parameters; float32 in place of float16, in which statistics are too coarse."""
        super().cast("float32" if np.dtype(numpy_type(dtype)).name == "float16" else dtype)

    def _described(self) -> str:
        return f"{super()._described()}, in_channels={self._channels or None}"

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the normalized input."""
        data, *positional = args
        inputs = {**dict(zip(self._inputs, positional, strict=False)), **params}
        return getattr(F, self._operator)(
            data, *(inputs[name] for name in self._inputs), name="fwd", **self._kwargs
        )


class BatchNormReLU(BatchNorm):
    """`BatchNorm` and ReLU as one operator."""

    _operator = "BatchNormWithReLU"

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the normalized input, without what is negative."""
        return super().hybrid_forward(F.contrib, *args, **params)


class InstanceNorm(_Normalization):
    """The operator `InstanceNorm`, along any axis."""

    def __init__(
        self,
        axis: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer: Init = "zeros",
        gamma_initializer: Init = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix, params)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._add_scale_and_shift(in_channels, scale, center, gamma_initializer, beta_initializer)

    def _described(self) -> str:
        return f"{super()._described()}, in_channels={self._channels}"

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the normalized input."""
        axis, eps = self._kwargs["axis"], self._kwargs["eps"]
        if axis == 1:
            return F.InstanceNorm(*args, **params, name="fwd", eps=eps)
        # The operator has its channels on axis 1.
        swapped = F.swapaxes(*args, dim1=1, dim2=axis)
        return F.swapaxes(F.InstanceNorm(swapped, **params, name="fwd", eps=eps), dim1=1, dim2=axis)


class LayerNorm(_Normalization):
    """The operator `LayerNorm`.

    >>> import rebind as mx
    >>> LayerNorm(prefix="ln_")(mx.sym.var("x")).list_arguments()
    ['x', 'ln_gamma', 'ln_beta']
    """

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Init = "zeros",
        gamma_initializer: Init = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix, params)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._add_scale_and_shift(in_channels, scale, center, gamma_initializer, beta_initializer)

    def _described(self) -> str:
        return f"{super()._described()}, in_channels={self._channels}"

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the normalized input."""
        return F.LayerNorm(*args, **params, axis=self._kwargs["axis"], eps=self._kwargs["eps"])


class GroupNorm(_Normalization):
    """The operator `GroupNorm`."""

    def __init__(
        self,
        num_groups: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Init = "zeros",
        gamma_initializer: Init = "ones",
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix, params)
        self._kwargs = {"eps": epsilon, "num_groups": num_groups, "center": center, "scale": scale}
        self._add_scale_and_shift(num_groups, scale, center, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the normalized input."""
        groups, eps = self._kwargs["num_groups"], self._kwargs["eps"]
        return F.GroupNorm(*args, **params, num_groups=groups, eps=eps)
