"""Cells whose maps are convolutions: states are pictures."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from .. import symbol
from ..checks import refuses_unknown
from ..defaults import init_defaults
from ..errors import ParameterError, ShapeError
from ..ops.nn.recurrent_layers import GATES
from ..shapes import Shape, as_shape
from ..symbol import Symbol
from ..symbol.creation import Dumped
from .base_cell import Activation, BaseRNNCell, StateInfo, at_least_one
from .cells import gru_step, lstm_step
from .params import RNNParams

__all__ = ["BaseConvRNNCell", "ConvGRUCell", "ConvLSTMCell", "ConvRNNCell"]

_leaky = functools.partial(symbol.LeakyReLU, act_type="leaky", slope=0.2)


class Window(NamedTuple):
    """What a convolution sees, and how it moves."""

    kernel: Shape
    stride: Shape
    pad: Shape
    dilate: Shape


class BaseConvRNNCell(BaseRNNCell):
    """Base of cells with two convolutions, of the input and of the state, whose channels are those of the gates.

    MXNet's knows pictures of two dimensions only; here the layout decides, ``NCW`` and ``NCDHW`` too.

    Parameters
    ----------
    input_shape
        The shape of a step of the input, (1, channels, height, width); the size of the batch has no effect.
    num_hidden
        Number of channels of the state.
    h2h_kernel, h2h_dilate
        Kernel and dilation of the convolution of the state, which is padded so that its size stays; kernels are odd.
    i2h_kernel, i2h_stride, i2h_pad, i2h_dilate
        Kernel, stride, padding and dilation of the convolution of the input.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        Initializers of the variables, or their names; None for the module's.
    activation
        ``'tanh'``, ``'relu'`` or another one of the operator `Activation`; or a function of a symbol.
    prefix
        What the names of its variables and nodes begin with.
    params
        Where its variables are, to share them; by default its own.
    conv_layout
        The layout of inputs and states.
    """

    @refuses_unknown
    def __init__(
        self,
        input_shape: Sequence[int],
        num_hidden: int,
        h2h_kernel: Sequence[int],
        h2h_dilate: Sequence[int],
        i2h_kernel: Sequence[int],
        i2h_stride: Sequence[int],
        i2h_pad: Sequence[int],
        i2h_dilate: Sequence[int],
        i2h_weight_initializer: str | Dumped | None,
        h2h_weight_initializer: str | Dumped | None,
        i2h_bias_initializer: str | Dumped | None,
        h2h_bias_initializer: str | Dumped | None,
        activation: Activation,
        prefix: str = "",
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ) -> None:
        super().__init__(prefix, params)
        who = type(self).__name__
        self._num_hidden = at_least_one(num_hidden, "num_hidden", who)
        self._input_shape = as_shape(input_shape, f"{who}: input_shape")
        self._conv_layout = conv_layout
        self._activation = activation
        kernel, dilate = (
            as_shape(h2h_kernel, f"{who}: h2h_kernel"),
            as_shape(h2h_dilate, f"{who}: h2h_dilate"),
        )
        if not all(size % 2 for size in kernel):
            raise ParameterError(
                f"{who}: h2h_kernel must be odd, so that states keep their size; got {kernel}"
            )
        if len(kernel) != len(dilate):
            raise ParameterError(
                f"{who}: h2h_dilate must have {len(kernel)} sizes, as h2h_kernel; got {dilate}"
            )
        pad = tuple(step * (size - 1) // 2 for size, step in zip(kernel, dilate, strict=True))
        self._h2h = Window(kernel, (1,) * len(kernel), pad, dilate)
        self._i2h = Window(
            as_shape(i2h_kernel, f"{who}: i2h_kernel"),
            as_shape(i2h_stride, f"{who}: i2h_stride"),
            as_shape(i2h_pad, f"{who}: i2h_pad"),
            as_shape(i2h_dilate, f"{who}: i2h_dilate"),
        )
        self._state_shape = self._shape_of_state()
        self._iW = self.params.get("i2h_weight", init=i2h_weight_initializer)
        self._hW = self.params.get("h2h_weight", init=h2h_weight_initializer)
        self._iB = self.params.get("i2h_bias", init=i2h_bias_initializer)
        self._hB = self.params.get("h2h_bias", init=h2h_bias_initializer)

    def _shape_of_state(self) -> Shape:
        """Return the shape of the state, which is that of the input's convolution; the batch is 0."""
        # Without a name, as in MXNet: convolutions that get automatic names after it count from 1.
        convolved = self._convolution(self._i2h, self._num_hidden, symbol.var("data"))
        _, outputs, _ = convolved.infer_shape(data=self._input_shape)
        if outputs is None or outputs[0] is None:
            raise ShapeError(
                f"{type(self).__name__}: input_shape must be known in full; got {self._input_shape}"
            )
        return (0, *outputs[0][1:])

    def _convolution(
        self,
        window: Window,
        filters: int,
        data: Symbol,
        weight: Symbol | None = None,
        bias: Symbol | None = None,
        name: str | None = None,
    ) -> Symbol:
        return symbol.Convolution(
            data,
            weight,
            bias,
            kernel=window.kernel,
            stride=window.stride,
            pad=window.pad,
            dilate=window.dilate,
            num_filter=filters,
            layout=self._conv_layout,  # type: ignore[arg-type]  # any text; it is checked there
            name=name,
        )

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    @property
    def state_info(self) -> list[StateInfo]:
        """Shape and layout of the state."""
        return [{"shape": self._state_shape, "__layout__": self._conv_layout}]

    @property
    def _channels(self) -> int:
        """The axis of the gates."""
        return self._conv_layout.index("C")

    def _step_name(self) -> str:
        """Return what the names of the nodes of the next step begin with."""
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    def _maps(self, inputs: Symbol, state: Symbol, name: str) -> tuple[Symbol, Symbol]:
        """Return the convolutions of the input and of the state, of all gates."""
        filters = self._num_hidden * self._num_gates
        i2h = self._convolution(self._i2h, filters, inputs, self._iW, self._iB, f"{name}i2h")
        h2h = self._convolution(self._h2h, filters, state, self._hW, self._hB, f"{name}h2h")
        return i2h, h2h


class UsualConvCell(BaseConvRNNCell):
    """A cell with what MXNet's convolutional cells have in common by default."""

    @refuses_unknown
    def __init__(
        self,
        input_shape: Sequence[int],
        num_hidden: int,
        h2h_kernel: Sequence[int] = (3, 3),
        h2h_dilate: Sequence[int] = (1, 1),
        i2h_kernel: Sequence[int] = (3, 3),
        i2h_stride: Sequence[int] = (1, 1),
        i2h_pad: Sequence[int] = (1, 1),
        i2h_dilate: Sequence[int] = (1, 1),
        i2h_weight_initializer: str | Dumped | None = None,
        h2h_weight_initializer: str | Dumped | None = None,
        i2h_bias_initializer: str | Dumped | None = "zeros",
        h2h_bias_initializer: str | Dumped | None = "zeros",
        activation: Activation = _leaky,
        prefix: str = "",
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ) -> None:
        super().__init__(
            input_shape, num_hidden, h2h_kernel, h2h_dilate, i2h_kernel, i2h_stride, i2h_pad, i2h_dilate,
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer,
            activation, prefix, params, conv_layout,
        )  # fmt: skip


@init_defaults(prefix="ConvRNN_")
class ConvRNNCell(UsualConvCell):
    """A plain recurrent cell with convolutions; see `BaseConvRNNCell` for the parameters.

    >>> import rebind as mx
    >>> cell = ConvRNNCell((1, 3, 8, 8), num_hidden=4)
    >>> cell.unroll(2, mx.sym.var("x"), merge_outputs=True)[0].infer_shape(x=(5, 2, 3, 8, 8))[1]
    [(5, 2, 4, 8, 8)]
    """

    @property
    def _gate_names(self) -> Sequence[str]:
        return GATES["rnn_tanh"]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Return the output, and the new state, which is the output."""
        (state,) = self._given(states)
        name = self._step_name()
        i2h, h2h = self._maps(inputs, state, name)
        output = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


@init_defaults(prefix="ConvLSTM_")
class ConvLSTMCell(UsualConvCell):
    """An LSTM with convolutions; see `BaseConvRNNCell` for the parameters. States are the output and the memory.

    References
    ----------
    Shi et al., Convolutional LSTM Network: A Machine Learning Approach for Precipitation Nowcasting (2015).

    Examples
    --------
    >>> import rebind as mx
    >>> ConvLSTMCell((1, 3, 8, 8), num_hidden=4, i2h_stride=(2, 2)).state_shape
    [(0, 4, 4, 4), (0, 4, 4, 4)]
    """

    @property
    def state_info(self) -> list[StateInfo]:
        """Shape and layout of the output and of the memory."""
        return super().state_info * 2

    @property
    def _gate_names(self) -> Sequence[str]:
        return GATES["lstm"]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Return the output, and the new states: the output and the memory."""
        state, memory = self._given(states)
        name = self._step_name()
        i2h, h2h = self._maps(inputs, state, name)
        return lstm_step(self, i2h + h2h, memory, name, self._activation, self._channels)


@init_defaults(prefix="ConvGRU_")
class ConvGRUCell(UsualConvCell):
    """A gated recurrent unit with convolutions; see `BaseConvRNNCell` for the parameters.

    MXNet's takes axis 1 for the channels whatever the layout; here it is the one that `conv_layout` says.

    >>> import rebind as mx
    >>> ConvGRUCell((1, 8, 8, 3), num_hidden=4, conv_layout="NHWC").state_shape
    [(0, 8, 8, 4)]
    """

    @property
    def _gate_names(self) -> Sequence[str]:
        return GATES["gru"]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Return the output, and the new state, which is the output."""
        (state,) = self._given(states)
        name = self._step_name()
        i2h, h2h = self._maps(inputs, state, name)
        axis = None if self._channels == 1 else self._channels  # 1 is not written, as in MXNet
        return gru_step(self, i2h, h2h, state, name, self._activation, axis)
