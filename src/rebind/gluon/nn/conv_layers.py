"""Convolution and pooling as blocks: a class for each number of dimensions, made from one definition."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, ClassVar, TypeAlias

from ...errors import ParameterError
from ..hybrid_block import HybridBlock
from ..parameter_dict import ParameterDict
from .activations import Activation
from .basic_layers import Init

__all__ = [
    "AvgPool1D", "AvgPool2D", "AvgPool3D", "Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D",
    "Conv3DTranspose", "GlobalAvgPool1D", "GlobalAvgPool2D", "GlobalAvgPool3D", "GlobalMaxPool1D", "GlobalMaxPool2D",
    "GlobalMaxPool3D", "MaxPool1D", "MaxPool2D", "MaxPool3D", "ReflectionPad2D",
]  # fmt: skip

Sizes: TypeAlias = "int | Sequence[int]"
_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def _sizes(value: Sizes, dimensions: int, what: str) -> tuple[int, ...]:
    """Return a size for each dimension; a single number is for all."""
    sizes = (value,) * dimensions if isinstance(value, int) else tuple(value)
    if len(sizes) != dimensions:
        raise ParameterError(f"{what} must be a number or {dimensions} numbers; got {value!r}")
    return sizes


class _Conv(HybridBlock):
    """Base of convolutions, whose prefix is `conv` for all of them."""

    dimensions: ClassVar[int]
    operator: ClassVar[str] = "Convolution"

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        layout: str | None = None,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Init = None,
        bias_initializer: Init = "zeros",
        in_channels: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix, params)
        who, n = type(self).__name__, self.dimensions
        self._kernel, self._groups = _sizes(kernel_size, n, f"{who}: kernel_size"), groups
        self._layout = layout or _LAYOUTS[n]
        self._kwargs = {
            "kernel": self._kernel,
            "stride": _sizes(strides, n, f"{who}: strides"),
            "dilate": _sizes(dilation, n, f"{who}: dilation"),
            "pad": _sizes(padding, n, f"{who}: padding"),
            "num_filter": channels, "num_group": groups, "no_bias": not use_bias, "layout": self._layout,
        }  # fmt: skip
        with self.name_scope():
            shape = self._weight_shape(channels, in_channels)
            self.weight = self.params.get(
                "weight", shape=shape, init=weight_initializer, allow_deferred_init=True
            )
            self.bias = (
                self.params.get("bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True)
                if use_bias
                else None
            )
            self.act = None if activation is None else Activation(activation, prefix=f"{activation}_")

    def _alias(self) -> str:
        return "conv"

    def _weight_shape(self, channels: int, in_channels: int) -> tuple[int, ...]:
        return self._with_channels(channels, in_channels // self._groups)

    def _with_channels(self, first: int, second: int) -> tuple[int, ...]:
        """Return the shape of a weight: the second number of channels is where the layout has its C."""
        last = self._layout.endswith("C")
        return (first, *self._kernel, second) if last else (first, second, *self._kernel)

    def __repr__(self) -> str:
        # 0 is an unknown number of inputs, shown as None.
        shape = self.weight.shape or (0, 0)
        kwargs, n = self._kwargs, self.dimensions
        text = f"{shape[1] or None} -> {shape[0]}, kernel_size={kwargs['kernel']}, stride={kwargs['stride']}"
        if kwargs["pad"] != (0,) * n:
            text += f", padding={kwargs['pad']}"
        if kwargs["dilate"] != (1,) * n:
            text += f", dilation={kwargs['dilate']}"
        if kwargs["num_group"] != 1:
            text += f", groups={kwargs['num_group']}"
        if self.bias is None:
            text += ", bias=False"
        return f"{type(self).__name__}({text}{f', {self.act}' if self.act else ''})"

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the convolved input."""
        out = getattr(F, self.operator)(*args, **params, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)


class _ConvTranspose(_Conv):
    """Base of transposed convolutions."""

    operator = "Deconvolution"

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        layout: str | None = None,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Init = None,
        bias_initializer: Init = "zeros",
        in_channels: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(
            channels, kernel_size, strides, padding, dilation, groups, layout, activation, use_bias,
            weight_initializer, bias_initializer, in_channels, prefix, params,
        )  # fmt: skip
        what = f"{type(self).__name__}: output_padding"
        self._kwargs["adj"] = _sizes(output_padding, self.dimensions, what)

    def _weight_shape(self, channels: int, in_channels: int) -> tuple[int, ...]:
        # The other way round than in a convolution: its first axis is that of the inputs.
        return self._with_channels(in_channels, channels // self._groups)


class Conv1D(_Conv):
    """Convolution along one axis.

    >>> import rebind as mx
    >>> Conv1D(4, 3, activation="relu")(mx.sym.var("x")).infer_shape(x=(2, 5, 10))[1]
    [(2, 4, 8)]
    """

    dimensions = 1


class Conv2D(_Conv):
    """Convolution over height and width.

    >>> Conv2D(8, kernel_size=3, padding=1)
    Conv2D(None -> 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    """

    dimensions = 2


class Conv3D(_Conv):
    """Convolution over depth, height and width."""

    dimensions = 3


class Conv1DTranspose(_ConvTranspose):
    """Transposed convolution along one axis."""

    dimensions = 1


class Conv2DTranspose(_ConvTranspose):
    """Transposed convolution over height and width.

    >>> import rebind as mx
    >>> Conv2DTranspose(4, 4, strides=2, padding=1)(mx.sym.var("x")).infer_shape(x=(2, 3, 8, 8))[1]
    [(2, 4, 16, 16)]
    """

    dimensions = 2


class Conv3DTranspose(_ConvTranspose):
    """Transposed convolution over depth, height and width."""

    dimensions = 3


class _Pooling(HybridBlock):
    """Base of pooling layers, whose prefix is `pool` for all of them."""

    dimensions: ClassVar[int]
    pool_type: ClassVar[str]

    def __init__(
        self,
        pool_size: Sizes,
        strides: Sizes | None,
        padding: Sizes,
        layout: str | None,
        ceil_mode: bool,
        global_pool: bool,
        count_include_pad: bool | None,
        prefix: str | None,
        params: ParameterDict | None,
    ) -> None:
        super().__init__(prefix, params)
        who, n = type(self).__name__, self.dimensions
        self._kwargs = {
            "kernel": _sizes(pool_size, n, f"{who}: pool_size"),
            # Windows beside each other, unless stated otherwise.
            "stride": _sizes(pool_size if strides is None else strides, n, f"{who}: strides"),
            "pad": _sizes(padding, n, f"{who}: padding"),
            "global_pool": global_pool, "pool_type": self.pool_type, "layout": layout or _LAYOUTS[n],
            "pooling_convention": "full" if ceil_mode else "valid",
        }  # fmt: skip
        if count_include_pad is not None:
            self._kwargs["count_include_pad"] = count_include_pad

    def _alias(self) -> str:
        return "pool"

    def __repr__(self) -> str:
        ceil_mode = self._kwargs["pooling_convention"] == "full"
        return (
            "{}(size={kernel}, stride={stride}, padding={pad}, ceil_mode={}, global_pool={global_pool}, "
            "pool_type={pool_type}, layout={layout})".format(type(self).__name__, ceil_mode, **self._kwargs)
        )

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the pooled input."""
        return F.Pooling(*args, name="fwd", **self._kwargs)


class _MaxPool(_Pooling):
    """Base of maxima over windows. Its last arguments come in the order of MXNet's class for one dimension."""

    pool_type = "max"

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        layout: str | None = None,
        ceil_mode: bool = False,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(pool_size, strides, padding, layout, ceil_mode, False, None, prefix, params)


class MaxPool1D(_MaxPool):
    """Maxima over windows of one axis."""

    dimensions = 1


class MaxPool2D(_MaxPool):
    """Maxima over windows of height and width.

    >>> import rebind as mx
    >>> MaxPool2D(2)(mx.sym.var("x")).infer_shape(x=(2, 3, 8, 8))[1]
    [(2, 3, 4, 4)]
    """

    dimensions = 2


class MaxPool3D(_MaxPool):
    """Maxima over windows of depth, height and width."""

    dimensions = 3

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        layout: str | None = None,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(pool_size, strides, padding, layout, ceil_mode, prefix, params)


class AvgPool1D(_Pooling):
    """Means over windows of one axis."""

    dimensions = 1
    pool_type = "avg"

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        layout: str | None = None,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(
            pool_size, strides, padding, layout, ceil_mode, False, count_include_pad, prefix, params
        )


class AvgPool2D(_Pooling):
    """Means over windows of height and width."""

    dimensions = 2
    pool_type = "avg"

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        layout: str | None = None,
        count_include_pad: bool = True,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(
            pool_size, strides, padding, layout, ceil_mode, False, count_include_pad, prefix, params
        )


class AvgPool3D(AvgPool2D):
    """Means over windows of depth, height and width."""

    dimensions = 3


class _GlobalPool(_Pooling):
    """Base of pooling over all positions."""

    def __init__(
        self, layout: str | None = None, prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        super().__init__(1, None, 0, layout, True, True, None, prefix, params)


class GlobalMaxPool1D(_GlobalPool):
    """The maximum over one axis."""

    dimensions, pool_type = 1, "max"


class GlobalMaxPool2D(_GlobalPool):
    """The maximum over height and width."""

    dimensions, pool_type = 2, "max"


class GlobalMaxPool3D(_GlobalPool):
    """The maximum over depth, height and width."""

    dimensions, pool_type = 3, "max"


class GlobalAvgPool1D(_GlobalPool):
    """The mean over one axis."""

    dimensions, pool_type = 1, "avg"


class GlobalAvgPool2D(_GlobalPool):
    """The mean over height and width.

    >>> import rebind as mx
    >>> GlobalAvgPool2D()(mx.sym.var("x")).infer_shape(x=(2, 3, 8, 8))[1]
    [(2, 3, 1, 1)]
    """

    dimensions, pool_type = 2, "avg"


class GlobalAvgPool3D(_GlobalPool):
    """The mean over depth, height and width."""

    dimensions, pool_type = 3, "avg"


class ReflectionPad2D(HybridBlock):
    """Height and width, padded with their reflection."""

    def __init__(
        self, padding: Sizes = 0, prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        super().__init__(prefix, params)
        self._padding = (0, 0, 0, 0, *(padding,) * 4) if isinstance(padding, int) else tuple(padding)

    def hybrid_forward(self, F: ModuleType, *args: Any, **params: Any) -> Any:
        """Return the padded input."""
        return F.pad(*args, mode="reflect", pad_width=self._padding)
