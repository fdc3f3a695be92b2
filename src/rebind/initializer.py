"""Initializers: what parameters are before training.

A module's initializer is asked for each parameter by name: names that end in ``_bias`` or ``_beta`` are zero, in
``_gamma`` one, and so on (`NAME_RULES`); only weights get what the initializer stands for. An initializer on the
variable itself (``sym.var(..., init=...)``) wins over all that.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .errors import ArgumentError, FormatError, NameLookupError, ParameterError, ShapeError
from .generators import generator
from .ndarray import NDArray, load, zeros
from .registry import Registry

__all__ = [
    "Bilinear",
    "Constant",
    "FusedRNN",
    "InitDesc",
    "Initializer",
    "LSTMBias",
    "Load",
    "MSRAPrelu",
    "Mixed",
    "Normal",
    "One",
    "Orthogonal",
    "Uniform",
    "Xavier",
    "Zero",
    "alias",
    "create",
    "register",
]

# What a name's end says, and the method that fills such a parameter; the first match counts.
NAME_RULES = (
    ("weight", "_init_weight"),
    ("bias", "_init_bias"),
    ("gamma", "_init_gamma"),
    ("beta", "_init_beta"),
    ("min", "_init_zero"),
    ("max", "_init_one"),
    ("moving_mean", "_init_zero"),
    ("running_mean", "_init_zero"),
    ("moving_var", "_init_one"),
    ("running_var", "_init_one"),
    ("moving_inv_var", "_init_zero"),
    ("moving_avg", "_init_zero"),
)
# For names given as plain strings, as old scripts do: these count before the others.
OLD_NAME_RULES = (
    (r"upsampling", "_init_bilinear"),
    (r"stn_loc.*weight$", "_init_zero"),
    (r"stn_loc.*bias$", "_init_loc_bias"),
)


class InitDesc(str):
    """The name of a parameter, with what is known about it.

    Parameters
    ----------
    name
        The name.
    attrs
        Attributes of its variable; ``__init__`` is an initializer that wins over all others.
    global_init
        The initializer that one made of others, `FusedRNN`, falls back to; by default the one that is called first.

    Examples
    --------
    >>> desc = InitDesc("fc_weight", {"__init__": '["one", {}]'})
    >>> desc, desc.attrs["__init__"]
    ('fc_weight', '["one", {}]')
    """

    attrs: Mapping[str, str]
    global_init: Initializer | None

    def __new__(
        cls, name: str, attrs: Mapping[str, str] | None = None, global_init: Initializer | None = None
    ) -> InitDesc:
        """Make the name, with its attributes."""
        self = super().__new__(cls, name)
        self.attrs = attrs or {}
        self.global_init = global_init
        return self


class Initializer:
    """Base of initializers: a subclass fills weights in ``_init_weight(name, array)``.

    It may override the methods for other kinds of names too: `_init_bias`, `_init_gamma`, `_init_beta`, `_init_zero`,
    `_init_one`, `_init_default`.

    Parameters
    ----------
    **kwargs
        The settings, for `dumps`.

    Examples
    --------
    >>> import numpy as np
    >>> from rebind.ndarray import array
    >>> @register
    ... class Half(Initializer):
    ...     def _init_weight(self, name, arr):
    ...         arr[:] = 0.5
    >>> weight = array(np.zeros(2))
    >>> Half()(InitDesc("fc_weight"), weight)
    >>> weight.asnumpy().tolist()
    [0.5, 0.5]
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print_func: Callable[[NDArray], Any] | None = None

    def set_verbosity(
        self, verbose: bool = False, print_func: Callable[[NDArray], Any] | None = None
    ) -> Initializer:
        """Log each parameter that is filled, with ``print_func(array)``: by default norm / sqrt(size)."""
        self._verbose = verbose
        self._print_func = print_func
        return self

    def dumps(self) -> str:
        """Return name and settings as JSON, for `create` and the attribute ``__init__``.

        >>> Xavier().dumps()
        '["xavier", {"rnd_type": "uniform", "factor_type": "avg", "magnitude": 3}]'
        """
        return json.dumps([type(self).__name__.lower(), self._kwargs], default=_to_json)

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self._kwargs.items())
        return f"{type(self).__name__}({settings})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.dumps() == other.dumps()

    def __hash__(self) -> int:
        return hash(self.dumps())

    def __call__(self, desc: str, arr: NDArray) -> None:
        """Fill `arr`, a parameter called `desc`, in place.

        Parameters
        ----------
        desc
            An `InitDesc`, or a plain name as in old scripts.
        arr
            The array.
        """
        if not isinstance(desc, str):
            raise ArgumentError(
                f"{type(self).__name__}: the name of a parameter must be an InitDesc; got {desc!r}"
            )
        is_old = not isinstance(desc, InitDesc)
        if is_old:
            desc = InitDesc(desc)
        if desc.global_init is None:  # type: ignore[attr-defined]
            desc.global_init = self  # type: ignore[attr-defined]
        own = desc.attrs.get("__init__")  # type: ignore[attr-defined]
        if own:
            create(own)._init_weight(desc, arr)
            self._log(desc, own, arr)
            return
        method, kind = _method_for(desc, is_old)
        getattr(self, method)(desc, arr)
        self._log(desc, kind, arr)

    def _log(self, desc: str, how: str, arr: NDArray) -> None:
        speaker = self if self._verbose else getattr(desc, "global_init", None)
        if speaker is not None and speaker._verbose:
            show = speaker._print_func or _norm
            logging.info("Initialized %s as %s: %s", desc, how, show(arr))

    def _init_weight(self, name: str, arr: NDArray) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define _init_weight(name, arr)")

    def _init_bias(self, name: str, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_beta(self, name: str, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_gamma(self, name: str, arr: NDArray) -> None:
        arr[:] = 1.0

    def _init_zero(self, name: str, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_one(self, name: str, arr: NDArray) -> None:
        arr[:] = 1.0

    def _init_loc_bias(self, name: str, arr: NDArray) -> None:
        """Fill with the affine map that leaves a picture as it is."""
        if arr.shape != (6,):
            raise ShapeError(
                f"{name}: the bias of a spatial transformer must have shape (6,); got {arr.shape}"
            )
        arr[:] = np.array([1.0, 0, 0, 0, 1.0, 0])

    def _init_bilinear(self, name: str, arr: NDArray) -> None:
        arr[:] = bilinear(arr.shape, name)

    def _init_default(self, name: str, arr: NDArray) -> None:
        raise NameLookupError(
            f"{type(self).__name__}: no rule for a parameter called {str(name)!r}; names should end in "
            f"{', '.join('_' + end for end, _ in NAME_RULES[:4])} and the like. Give the variable its own "
            f"initializer: sym.var({str(name)!r}, init=mx.init.Uniform()); or use mx.init.Mixed."
        )


def _method_for(name: str, is_old: bool) -> tuple[str, str]:
    """Return the method that fills a parameter, and the kind of it."""
    if is_old:
        for pattern, method in OLD_NAME_RULES:
            if re.match(pattern, name):
                return method, method.removeprefix("_init_")
    for end, method in NAME_RULES:
        if name.endswith(end):
            return method, end
    return "_init_default", "default"


def _norm(arr: NDArray) -> float:
    tensor = arr.tensor.detach().float()
    return (tensor.norm() / math.sqrt(tensor.numel())).item()


def _to_json(value: Any) -> Any:
    if isinstance(value, NDArray):
        return value.asnumpy().tolist()
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Initializer):
        return value.dumps()
    raise ArgumentError(f"initializer: a setting must be a number, a text or an array; got {value!r}")


initializers: Registry[type[Initializer]] = Registry("initializer", Initializer)


def register(klass: type[Initializer]) -> type[Initializer]:
    """Register an initializer under the name of its class; a decorator."""
    return initializers.register(klass)


def alias(*aliases: str) -> Callable[[type[Initializer]], type[Initializer]]:
    """Register an initializer under further names; a decorator."""
    return initializers.alias(*aliases)


def create(initializer: Any, **kwargs: Any) -> Any:
    """Return an initializer from a name, from what `dumps` returned, or as it is.

    Parameters
    ----------
    initializer
        A name in any case, JSON text ``["name", {settings}]``, or an `Initializer`.
    **kwargs
        Settings, with a name.

    Examples
    --------
    >>> create('["normal", {"sigma": 0.5}]').sigma
    0.5
    """
    return initializers.create(initializer, **kwargs)


# ---- random numbers ---------------------------------------------------------------------------------------


def _fill(arr: NDArray, draw: Callable[[Tensor, torch.Generator], Tensor]) -> None:
    """Fill an array with random numbers of its device's generator.

    Numbers for low precision are drawn in float32: half types have too few values near the bounds.
    """
    target = arr.tensor
    low = target.dtype not in (torch.float32, torch.float64)
    numbers = torch.empty(target.shape, dtype=torch.float32 if low else target.dtype, device=target.device)
    with torch.no_grad():
        target.copy_(draw(numbers, generator(arr.context)))


def _uniform(scale: float) -> Callable[[Tensor, torch.Generator], Tensor]:
    return lambda numbers, random: numbers.uniform_(-scale, scale, generator=random)


def _normal(sigma: float) -> Callable[[Tensor, torch.Generator], Tensor]:
    return lambda numbers, random: numbers.normal_(0.0, sigma, generator=random)


# ---- the initializers -------------------------------------------------------------------------------------


@alias("zeros")
@register
class Zero(Initializer):
    """Fills weights with 0."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = 0.0


@alias("ones")
@register
class One(Initializer):
    """Fills weights with 1."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = 1.0


@register
class Constant(Initializer):
    """Fills weights with a value.

    Parameters
    ----------
    value
        A number, or an array that broadcasts.
    """

    def __init__(self, value: Any) -> None:
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = np.asarray(self.value) if isinstance(self.value, (list, tuple)) else self.value


@register
class Uniform(Initializer):
    """Fills weights with random numbers, all alike likely from ``-scale`` to ``scale``.

    Parameters
    ----------
    scale
        The bound.
    """

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name: str, arr: NDArray) -> None:
        _fill(arr, _uniform(self.scale))


@alias("gaussian")
@register
class Normal(Initializer):
    """Fills weights with normally distributed numbers around 0.

    Parameters
    ----------
    sigma
        Standard deviation.
    """

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, name: str, arr: NDArray) -> None:
        _fill(arr, _normal(self.sigma))


@register
class Orthogonal(Initializer):
    """Fills weights with a random matrix whose rows, or columns if they are fewer, are orthogonal (Saxe et al., 2014).

    Parameters
    ----------
    scale
        The length of each of them.
    rand_type
        ``'uniform'`` or ``'normal'``: the numbers that the matrix is made from.
    """

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        if rand_type not in ("uniform", "normal"):
            raise ParameterError(
                f"Orthogonal: rand_type must be one of 'uniform', 'normal'; got {rand_type!r}"
            )
        self.scale = scale
        self.rand_type = rand_type

    def _init_weight(self, name: str, arr: NDArray) -> None:
        draw = _uniform(1.0) if self.rand_type == "uniform" else _normal(1.0)

        def orthogonal(numbers: Tensor, random: torch.Generator) -> Tensor:
            matrix = draw(numbers, random).reshape(numbers.shape[0], -1)
            left, _, right = torch.linalg.svd(matrix, full_matrices=False)
            found = left if left.shape == matrix.shape else right
            return self.scale * found.reshape(numbers.shape)

        _fill(arr, orthogonal)


@register
class Xavier(Initializer):
    """Fills weights so that signals keep their size from layer to layer (Glorot and Bengio, 2010).

    The scale is ``sqrt(magnitude / n)``, the bound of uniform numbers or the standard deviation of normal ones,
    where `n` is the number of inputs of a unit, of its outputs, or their mean.

    Parameters
    ----------
    rnd_type
        ``'uniform'`` or ``'gaussian'``.
    factor_type
        What `n` is: ``'in'``, ``'out'`` or ``'avg'``.
    magnitude
        See above.
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        if rnd_type not in ("uniform", "gaussian"):
            raise ParameterError(
                f"{type(self).__name__}: rnd_type must be one of 'uniform', 'gaussian'; got {rnd_type!r}"
            )
        if factor_type not in ("in", "out", "avg"):
            raise ParameterError(
                f"{type(self).__name__}: factor_type must be one of 'in', 'out', 'avg'; got {factor_type!r}"
            )
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if arr.ndim < 2:
            raise ShapeError(
                f"{type(self).__name__}: {str(name)!r} must have at least 2 axes; got shape {arr.shape}. "
                "Give a vector another initializer, such as mx.init.Zero()."
            )
        area = math.prod(arr.shape[2:])
        fan_in, fan_out = arr.shape[1] * area, arr.shape[0] * area
        n = {"in": fan_in, "out": fan_out, "avg": (fan_in + fan_out) / 2}[self.factor_type]
        scale = math.sqrt(self.magnitude / n)
        _fill(arr, _uniform(scale) if self.rnd_type == "uniform" else _normal(scale))


@register
class MSRAPrelu(Xavier):
    """`Xavier` for layers that end in ReLU or PReLU (He et al., 2015).

    Parameters
    ----------
    factor_type
        As for `Xavier`.
    slope
        The slope of PReLU on its negative side; 0 for ReLU.
    """

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Bilinear(Initializer):
    """Fills the weights of a Deconvolution so that it enlarges pictures bilinearly."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        self._init_bilinear(name, arr)


@register
class LSTMBias(Initializer):
    """Fills the bias of an LSTM with 0, and that of its forget gate with a value.

    Parameters
    ----------
    forget_bias
        The value; 1 lets a cell remember at first.
    """

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        hidden = arr.shape[0] // 4  # gates stand in the order input, forget, cell, output
        value = np.zeros(arr.shape)
        value[hidden : 2 * hidden] = self.forget_bias
        arr[:] = value


# The gates of a recurrent cell in the order of the rows of its weights, as parts of names.
_GATES = {"rnn_relu": ("",), "rnn_tanh": ("",), "lstm": ("_i", "_f", "_c", "_o"), "gru": ("_r", "_z", "_o")}


@register
class FusedRNN(Initializer):
    """Fills the vector of all parameters of the operator `RNN`, gate by gate, with another initializer.

    That is asked for names such as ``l0_i2h_f_weight`` (layer 0, input to hidden, forget gate) and ``r1_h2h_o_bias``
    (layer 1 of the second direction, hidden to hidden, output gate). Give it to the variable:
    ``sym.var("lstm_parameters", init=FusedRNN(Xavier(), 200, 2, "lstm"))``.

    Parameters
    ----------
    init
        The initializer of the parts, or what `create` makes one from; None for the one that the module was given.
    num_hidden, num_layers, mode, bidirectional
        As the operator has them (`num_hidden` is its ``state_size``).
    forget_bias
        What both biases of the forget gates of an LSTM are filled with.

    Examples
    --------
    >>> import numpy as np
    >>> from rebind.ndarray import array
    >>> parameters = array(np.zeros(4 * 2 * (3 + 2 + 2)))  # two units on three inputs
    >>> FusedRNN(One(), 2, 1, "lstm", forget_bias=5.0)._init_weight(InitDesc("lstm_parameters"), parameters)
    >>> parameters[40:48].asnumpy().tolist()
    [0.0, 0.0, 5.0, 5.0, 0.0, 0.0, 0.0, 0.0]
    """

    def __init__(
        self,
        init: Any,
        num_hidden: int,
        num_layers: int,
        mode: str,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ) -> None:
        if mode not in _GATES:
            raise ParameterError(
                f"FusedRNN: mode must be one of {', '.join(map(repr, _GATES))}; got {mode!r}"
            )
        for name, value in (("num_hidden", num_hidden), ("num_layers", num_layers)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ParameterError(f"FusedRNN: {name} must be an int >= 1; got {value!r}")
        made = None if init is None else create(init)
        super().__init__(
            init=None if made is None else made.dumps(),
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._init = made
        self._num_hidden = num_hidden
        self._num_layers = num_layers
        self._mode = mode
        self._bidirectional = bidirectional
        self._forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        everywhere = getattr(name, "global_init", None)
        initializer = everywhere if self._init is None else self._init
        if initializer is None:
            raise ArgumentError(
                f"FusedRNN: {str(name)!r} needs an initializer of its parts; got init=None, and no module's. "
                "Set init, for example to mx.init.Xavier()."
            )
        start = 0
        for part, shape in self._parts(str(name), arr):
            values = zeros(shape, ctx=arr.context, dtype=arr.dtype)
            if self._mode == "lstm" and part.endswith("_f_bias"):
                values[:] = self._forget_bias
            else:
                initializer(InitDesc(part, global_init=everywhere), values)
            arr[start : start + values.size] = values.reshape((-1,))
            start += values.size

    def _parts(self, name: str, arr: NDArray) -> list[tuple[str, tuple[int, ...]]]:
        """Return names and shapes of the parts, in the order of the vector: all weights, then all biases."""
        hidden, gates = self._num_hidden, _GATES[self._mode]
        sides = ("l", "r") if self._bidirectional else ("l",)
        rows = len(gates) * hidden * len(sides)
        later = (self._num_layers - 1) * rows * (len(sides) * hidden + hidden + 2)
        inputs, rest = divmod(arr.size - later - rows * (hidden + 2), rows)
        if rest or inputs < 1:
            raise ShapeError(
                f"FusedRNN: {name!r} must have as many elements as {self._num_layers} layer(s) of {hidden} with mode "
                f"{self._mode!r} in {len(sides)} direction(s) have for some number of inputs; got {arr.size}"
            )
        cells = [(layer, side) for layer in range(self._num_layers) for side in sides]
        ways = ("i2h", "h2h")
        weights = [
            (f"{side}{layer}_{way}{gate}_weight", (hidden, (len(sides) * hidden if layer else inputs)))
            if way == "i2h"
            else (f"{side}{layer}_{way}{gate}_weight", (hidden, hidden))
            for layer, side in cells
            for way in ways
            for gate in gates
        ]
        biases = [
            (f"{side}{layer}_{way}{gate}_bias", (hidden,))
            for layer, side in cells
            for way in ways
            for gate in gates
        ]
        return [*weights, *biases]


def bilinear(shape: Sequence[int], name: str) -> np.ndarray:
    """Return the kernel that enlarges bilinearly, for each pair of channels."""
    if len(shape) != 4:
        raise ShapeError(f"Bilinear: {str(name)!r} must have 4 axes; got shape {tuple(shape)}")
    factor = math.ceil(shape[3] / 2)
    centre = (2 * factor - 1 - factor % 2) / (2 * factor)
    rows, columns = (1 - np.abs(np.arange(size) / factor - centre) for size in shape[2:])
    return np.broadcast_to(np.outer(rows, columns), tuple(shape)).copy()


# ---- initializers made of others --------------------------------------------------------------------------


class Mixed:
    """The initializer of the first pattern that a name matches.

    Parameters
    ----------
    patterns
        Regular expressions.
    initializers
        As many initializers.

    Examples
    --------
    >>> import numpy as np
    >>> from rebind.ndarray import array
    >>> bias = array(np.ones(2))
    >>> Mixed(["bias", ".*"], [Zero(), Uniform(0.1)])(InitDesc("fc_bias"), bias)
    >>> bias.asnumpy().tolist()
    [0.0, 0.0]
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Any]) -> None:
        if len(patterns) != len(initializers):
            raise ArgumentError(
                f"Mixed: there must be an initializer for each pattern; "
                f"got {len(patterns)} patterns and {len(initializers)} initializers"
            )
        self.map = [(re.compile(pattern), each) for pattern, each in zip(patterns, initializers, strict=True)]

    def __call__(self, name: str, arr: NDArray) -> None:
        """Fill `arr`, a parameter called `name`, in place."""
        for pattern, initializer in self.map:
            if pattern.match(name):
                initializer(name, arr)
                return
        raise NameLookupError(
            f"Mixed: no pattern matches {str(name)!r}. Add the pattern '.*' at the end, with a default initializer."
        )


class Load:
    """Parameters from a file or a dict.

    Parameters
    ----------
    param
        A path, or a dict from name to array; ``arg:`` and ``aux:`` at the start of a name are left out.
    default_init
        The initializer of parameters that are not there.
    verbose
        Whether to log where each parameter comes from.

    Examples
    --------
    >>> import numpy as np
    >>> from rebind.ndarray import array
    >>> bias = array(np.zeros(2))
    >>> Load({"arg:fc_bias": array(np.ones(2))})("fc_bias", bias)
    >>> bias.asnumpy().tolist()
    [1.0, 1.0]
    """

    def __init__(self, param: Any, default_init: Any = None, verbose: bool = False) -> None:
        found = load(param) if isinstance(param, str) else param
        if not isinstance(found, Mapping):
            raise FormatError(
                f"Load: param must be a dict from name to array, or a file with one; got {type(found).__name__}"
            )
        self.param = {re.sub("^(arg|aux):", "", name): each for name, each in found.items()}
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: NDArray) -> None:
        """Fill `arr`, a parameter called `name`, in place."""
        if name in self.param:
            value = self.param[name]
            if value.shape != arr.shape:
                raise ShapeError(
                    f"Load: {str(name)!r} must have shape {arr.shape}; the loaded one has {value.shape}"
                )
            arr[:] = value
            how = "loading"
        elif self.default_init is not None:
            self.default_init(name, arr)
            how = "default"
        else:
            raise NameLookupError(f"Load: no parameter {str(name)!r} is loaded, and there is no default_init")
        if self.verbose:
            logging.info("Initialized %s by %s", name, how)
