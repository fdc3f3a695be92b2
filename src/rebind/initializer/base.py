"""The base of initializers: which method fills a parameter, by its name; and the registry."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar, overload

import numpy as np

from ..checks import an, check_instance, check_kind
from ..errors import ArgumentError, MXNetError, NameLookupError, ShapeError, shown
from ..logs import log
from ..ndarray import NDArray
from ..registry import Registry

__all__ = [
    "NAME_RULES",
    "OLD_NAME_RULES",
    "Filler",
    "InitDesc",
    "Initializer",
    "alias",
    "as_initializer",
    "bilinear",
    "create",
    "register",
]

# The end of a name, and the method that fills such a parameter; the first match counts. MXNet's names: `min` and `max`
# are the ranges of quantized layers, the `moving_` and `running_` ones the statistics of normalization.
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
# For names given as plain strings, as old scripts do: patterns for the start of a name, which count before the others.
# `stn_loc` is the layer of a spatial transformer that predicts the affine map, which begins as the identity.
OLD_NAME_RULES = (
    (r"upsampling", "_init_bilinear"),
    (r"stn_loc.*weight$", "_init_zero"),
    (r"stn_loc.*bias$", "_init_loc_bias"),
)


#: Fills the parameter of a name: an `Initializer`, or any function with this signature.
Filler: TypeAlias = "Callable[[str, NDArray], object]"
#: Returns what is logged of an array.
PrintFunc: TypeAlias = "Callable[[NDArray], object]"
Class = TypeVar("Class", bound="type[Initializer]")


class InitDesc(str):
    """The name of a parameter, with the attributes of its variable.

    Parameters
    ----------
    name
        The name.
    attrs
        Attributes of its variable; ``__init__`` is an initializer that takes precedence over all others.
    global_init
        The initializer that `FusedRNN` falls back to; by default the one that is called first.

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

    def __init__(self, **kwargs: object) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print_func: PrintFunc | None = None

    def set_verbosity(self, verbose: bool = False, print_func: PrintFunc | None = None) -> Initializer:
        """Log each parameter that is filled, with ``print_func(array)``: by default norm / sqrt(size)."""
        self._verbose = verbose
        self._print_func = print_func
        return self

    def dumps(self) -> str:
        """Return name and settings as JSON, for `create` and the attribute ``__init__``.

        >>> import rebind as mx
        >>> mx.init.Xavier().dumps()
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
        check_kind(type(self).__name__, an(NDArray), arr=arr)
        named = desc if isinstance(desc, InitDesc) else InitDesc(desc)
        # What a variable's own initializer falls back on for parts of the array.
        if named.global_init is None:
            named.global_init = self
        own = named.attrs.get("__init__")
        if own:
            # As a weight, whatever the name ends in: so MXNet has it, and so a bias can have an initializer of its own.
            _own_of(named, own)._init_weight(named, arr)
            self._log(named, own, arr)
            return
        if named is not desc:
            self._legacy_init(named, arr)
            return
        method, kind = _method_for(named, is_old=False)
        getattr(self, method)(named, arr)
        self._log(named, kind, arr)

    def _legacy_init(self, name: str, arr: NDArray) -> None:
        """Fill a parameter whose name was given as plain text, for which MXNet has other rules."""
        method, kind = _method_for(name, is_old=True)
        getattr(self, method)(name, arr)
        self._log(name, kind, arr)

    def _log(self, desc: str, how: str, arr: NDArray) -> None:
        # Verbosity is set on the initializer that the module was given: those that it calls log as it does.
        chosen = self if self._verbose else getattr(desc, "global_init", None)
        if chosen is not None and chosen._verbose:
            show = chosen._print_func or _norm
            log().info("Initialized %s as %s: %s", desc, how, show(arr))

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
        """Fill with the identity as an affine map: the picture is left as it is."""
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


def _own_of(name: str, text: str) -> Initializer:
    """Return the initializer of a variable, by its text, which is read here first: an error names the variable."""
    try:
        return create(text)
    except MXNetError as error:
        raise type(error)(f"init of variable {str(name)!r}: {error}") from None


def _method_for(name: str, is_old: bool) -> tuple[str, str]:
    """Return the method that fills a parameter, and a word for the log."""
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


def _to_json(value: object) -> object:
    """Return a setting in a form that JSON has, for `json.dumps`."""
    if isinstance(value, NDArray):
        return value.asnumpy().tolist()
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Initializer):
        return value.dumps()
    raise ArgumentError(f"initializer: a setting must be a number, a string or an array; got {value!r}")


initializers: Registry[type[Initializer]] = Registry("initializer", Initializer)


def register(klass: Class) -> Class:
    """Register an initializer under the name of its class; a decorator.

    >>> @register
    ... class Third(Initializer): ...
    >>> create("third")
    Third()
    """
    registered: Class = initializers.register(klass)
    return registered


def alias(*aliases: str) -> Callable[[Class], Class]:
    """Register an initializer under additional names; a decorator.

    >>> @alias("a_quarter")
    ... @register
    ... class Quarter(Initializer): ...
    >>> create("a_quarter")
    Quarter()
    """
    return initializers.alias(*aliases)


def create(initializer: str | Initializer, **kwargs: object) -> Initializer:
    """Return an initializer from a name, from what `dumps` returned, or as it is.

    Parameters
    ----------
    initializer
        A name in any case, a JSON string ``["name", {settings}]``, or an `Initializer`.
    **kwargs
        Settings, with a name.

    Examples
    --------
    >>> create("Uniform", scale=0.1), create('["normal", {"sigma": 0.5}]')
    (Uniform(scale=0.1), Normal(sigma=0.5))
    """
    return initializers.create(initializer, **kwargs)


@overload
def as_initializer(given: str | Filler, who: str) -> Filler: ...


@overload
def as_initializer(given: str | Filler | None, who: str) -> Filler | None: ...


def as_initializer(given: str | Filler | None, who: str) -> Filler | None:
    """Return what fills parameters: an initializer, one by its name, a function, or None as it is.

    >>> as_initializer("xavier", "fit: initializer")
    Xavier(rnd_type='uniform', factor_type='avg', magnitude=3)
    """
    check_instance(given, who)
    if isinstance(given, str):
        return create(given)
    if given is not None and not callable(given):
        raise ArgumentError(
            f"{who} must be an initializer, its name, or a function of a name and an array; got {shown(given)}"
        )
    return given


def bilinear(shape: Sequence[int], name: str) -> np.ndarray:
    """Return the kernel that enlarges bilinearly, for each pair of channels.

    >>> bilinear((1, 1, 1, 4), "up_weight")
    array([[[[0.0625, 0.1875, 0.1875, 0.0625]]]])
    """
    if len(shape) != 4:
        raise ShapeError(f"Bilinear: {str(name)!r} must have 4 axes; got shape {tuple(shape)}")
    # Long, Shelhamer and Darrell (2015) begin the upsampling layers of FCN, of stride `factor`, with this kernel.
    factor = math.ceil(shape[3] / 2)
    centre = (2 * factor - 1 - factor % 2) / (2 * factor)
    rows, columns = (1 - np.abs(np.arange(size) / factor - centre) for size in shape[2:])
    return np.broadcast_to(np.outer(rows, columns), tuple(shape)).copy()
