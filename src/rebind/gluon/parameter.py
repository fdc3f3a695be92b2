"""Parameters of blocks: descriptions of the variables that symbols get. The arrays are the `Module`'s."""

from __future__ import annotations

import itertools
from collections.abc import ItemsView, Iterator, KeysView, Sequence, ValuesView
from typing import TYPE_CHECKING

import numpy as np

from .. import initializer
from ..absent import absent_function, old_names
from ..dtypes import DTypeLike, numpy_type
from ..errors import NameLookupError, ParameterError, StateError
from ..ndarray import NDArray, array
from ..symbol import Symbol, var

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict"]

_ARRAYS = "Its array is the Module's, once a network is bound: module.get_params()"
_GRAD_REQS = ("write", "add", "null")
_numbers = itertools.count()


class DeferredInitializationError(StateError):
    """A parameter has no array yet. Here for programs that name it: parameters of blocks never have arrays."""


class Parameter:
    """A parameter of a block: name, shape, type and initializer of a variable.

    Parameters
    ----------
    name
        The whole name, with the prefix of its block.
    grad_req
        ``'write'``, ``'add'`` or ``'null'``. A note only: a `Module` trains what `fixed_param_names` does not name.
    shape
        A size of 0 is unknown.
    dtype, lr_mult, wd_mult, init, stype
        As in `sym.var`.
    allow_deferred_init
        Without effect, since modules find out shapes at `bind`.
    differentiable
        If not, `grad_req` is ``'null'``.
    grad_stype
        Without effect.

    Examples
    --------
    >>> weight = Parameter("fc_weight", shape=(2, 0))
    >>> weight
    Parameter fc_weight (shape=(2, 0), dtype=<class 'numpy.float32'>)
    >>> weight.var().attr("__shape__")
    '(2, 0)'
    """

    def __init__(
        self,
        name: str,
        grad_req: str = "write",
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike = np.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: str | initializer.Initializer | None = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ) -> None:
        self.name = name
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.init = init
        self.dtype = dtype
        self._allow_deferred_init = allow_deferred_init
        self._shape = (shape,) if isinstance(shape, int) else None if shape is None else tuple(shape)
        self._differentiable = differentiable
        self._stype = stype
        self._grad_stype = grad_stype
        self._var: Symbol | None = None
        self.grad_req = grad_req

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.name} (shape={self.shape}, dtype={self.dtype})"

    @property
    def grad_req(self) -> str:
        """Whether a gradient is wanted: ``'write'``, ``'add'`` or ``'null'``."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req not in _GRAD_REQS:
            raise ParameterError(
                f"gluon.Parameter {self.name!r}: grad_req must be 'write', 'add' or 'null'; got {req!r}"
            )
        # What is not differentiable has no gradient, whatever is asked for.
        self._grad_req = req if self._differentiable else "null"

    @property
    def stype(self) -> str:
        """The kind of storage."""
        return self._stype

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape, in which a size of 0 is unknown; None if nothing is known."""
        return self._shape

    @shape.setter
    def shape(self, shape: Sequence[int]) -> None:
        known = self._shape
        # A known size may not change; 0 and -1 are unknown.
        if known is not None:
            both = joined_shape(known, tuple(shape))
            if both != tuple(shape):
                raise ParameterError(
                    f"gluon.Parameter {self.name!r}: shape must fit {known}; got {tuple(shape)}"
                )
        self._shape = tuple(shape)

    def var(self) -> Symbol:
        """Return the variable, the same one at each call.

        >>> weight = Parameter("w", shape=(3,), lr_mult=2.0)
        >>> weight.var() is weight.var(), weight.var().attr("lr_mult")
        (True, '2.0')
        """
        if self._var is None:
            self._var = var(
                self.name,
                shape=self.shape,
                dtype=self.dtype,
                lr_mult=self.lr_mult,
                wd_mult=self.wd_mult,
                init=self.init,
                stype=self._stype,
            )
        return self._var

    def cast(self, dtype: DTypeLike) -> None:
        """Set the type, for a variable that is not made yet.

        >>> weight = Parameter("w")
        >>> weight.cast("float16")
        >>> weight.dtype
        'float16'
        """
        self.dtype = dtype

    data = absent_function("gluon.Parameter.data", _ARRAYS)
    grad = absent_function("gluon.Parameter.grad", _ARRAYS)
    initialize = absent_function("gluon.Parameter.initialize", "Give the initializer to module.init_params")
    list_ctx = absent_function("gluon.Parameter.list_ctx", _ARRAYS)
    list_data = absent_function("gluon.Parameter.list_data", _ARRAYS)
    list_grad = absent_function("gluon.Parameter.list_grad", _ARRAYS)
    list_row_sparse_data = absent_function("gluon.Parameter.list_row_sparse_data", _ARRAYS)
    reset_ctx = absent_function("gluon.Parameter.reset_ctx", "Devices are the Module's: Module(context=...)")
    row_sparse_data = absent_function("gluon.Parameter.row_sparse_data", _ARRAYS)
    set_data = absent_function("gluon.Parameter.set_data", "Use module.set_params")
    zero_grad = absent_function("gluon.Parameter.zero_grad", _ARRAYS)


class Constant(Parameter):
    """A parameter with fixed values, which a module's `init_params` fills in.

    Parameters
    ----------
    name
        The whole name.
    value
        The values: an array, or nested lists.

    Examples
    --------
    >>> table = Constant("table", [[1, 2], [3, 4]])
    >>> table, table.grad_req
    (Constant table (shape=(2, 2), dtype=<class 'numpy.float32'>), 'null')
    """

    def __init__(self, name: str, value: NDArray | ArrayLike) -> None:
        self.value = value if isinstance(value, NDArray) else array(value)
        super().__init__(name, "null", self.value.shape, self.value.dtype, init=_registered(name, self.value))

    @property
    def grad_req(self) -> str:
        """Always ``'null'``."""
        return "null"

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req not in ("null", "write"):  # `write` is what settings for all parameters of a block say
            raise ParameterError(f"gluon.Constant {self.name!r}: grad_req must be 'null'; got {req!r}")


def _registered(name: str, value: NDArray) -> str:
    """Register an initializer that fills in `value`, and return its name.

    By name and not by its text, as in MXNet, since the values of large tables do not belong into a symbol's JSON.
    """
    # The number keeps two constants of one name, of different networks, apart.
    registered = f"Constant_{name}_{next(_numbers)}"
    initializer.initializers.register(registered)(lambda: initializer.Constant(value))
    return registered


class ParameterDict:
    """The parameters of a block by name. `get` makes those that are missing.

    Parameters
    ----------
    prefix
        Begins the name of each parameter that `get` makes.
    shared
        Another block's, whose parameters `get` returns where the names are the same.

    Examples
    --------
    >>> params = ParameterDict("fc_")
    >>> params.get("weight", shape=(2, 3)) is params["fc_weight"]
    True
    """

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None) -> None:
        self._prefix = prefix
        self._params: dict[str, Parameter] = {}
        self._shared = shared

    def __repr__(self) -> str:
        lines = "\n".join(f"  {each}" for each in self.values())
        return f"{self._prefix + ' ' if self._prefix else ''}(\n{lines}\n)"

    def __getitem__(self, name: str) -> Parameter:
        return self._params[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __contains__(self, name: object) -> bool:
        return name in self._params

    def __len__(self) -> int:
        return len(self._params)

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        """Return the parameters."""
        return self._params.values()

    def items(self) -> ItemsView[str, Parameter]:
        """Return names and parameters."""
        return self._params.items()

    @property
    def prefix(self) -> str:
        """What the name of each parameter made by `get` begins with."""
        return self._prefix

    @property
    def shared(self) -> ParameterDict | None:
        """The parameters of another block that this one shares."""
        return self._shared

    def add(self, parameter: Parameter) -> None:
        """Add a parameter under its name; one that is there already must be the same.

        >>> params = ParameterDict()
        >>> params.add(Parameter("fc_weight"))
        >>> list(params)
        ['fc_weight']
        """
        if self._params.setdefault(parameter.name, parameter) is not parameter:
            raise ParameterError(
                f"ParameterDict: parameters must have different names; got two called {parameter.name!r}"
            )

    def get(self, name: str, **settings: object) -> Parameter:
        """Return the parameter ``prefix + name``, which is made if there is none.

        Parameters
        ----------
        name
            The name without the prefix.
        **settings
            Those of `Parameter`. A parameter that is there must have the same, or gets those that it lacks.

        Examples
        --------
        >>> params = ParameterDict("fc_")
        >>> _ = params.get("weight", shape=(2, 0))
        >>> params.get("weight", shape=(2, 3)).shape
        (2, 3)
        """
        whole = self._prefix + name
        found = self._find(whole)
        if found is None:
            found = self._params[whole] = Parameter(whole, **settings)  # type: ignore[arg-type]  # checked there
            return found
        for key, wanted in settings.items():
            self._agree(found, key, wanted)
        return found

    def get_constant(self, name: str, value: NDArray | ArrayLike | None = None) -> Constant:
        """Return the constant ``prefix + name``, which is made of `value` if there is none.

        >>> ParameterDict("net_").get_constant("table", [1, 2]).value.asnumpy().tolist()
        [1.0, 2.0]
        """
        whole = self._prefix + name
        found = self._find(whole)
        if found is None:
            if value is None:
                raise NameLookupError(
                    f"ParameterDict.get_constant: no constant {whole!r}; give its value to make it"
                )
            made = self._params[whole] = Constant(whole, value)
            return made
        if not isinstance(found, Constant):
            raise ParameterError(f"ParameterDict.get_constant: {whole!r} is a parameter and no constant")
        given = value.asnumpy() if isinstance(value, NDArray) else value
        if given is not None and not np.array_equal(found.value.asnumpy(), np.asarray(given)):
            raise ParameterError(f"ParameterDict.get_constant: {whole!r} has other values already")
        return found

    def update(self, other: ParameterDict) -> None:
        """Add the parameters of `other`; two of one name must be the same.

        >>> params = ParameterDict()
        >>> params.update(ParameterDict("fc_"))
        """
        for parameter in other.values():
            self.add(parameter)

    def setattr(self, name: str, value: object) -> None:
        """Set an attribute of all parameters, such as `lr_mult`.

        >>> params = ParameterDict()
        >>> _ = params.get("w")
        >>> params.setattr("grad_req", "null")
        >>> params["w"].grad_req
        'null'
        """
        for parameter in self.values():
            setattr(parameter, name, value)

    def _find(self, whole: str) -> Parameter | None:
        # From now on it is in this dict too, so that `collect_params` finds it.
        if whole not in self._params and self._shared is not None and whole in self._shared:
            self._params[whole] = self._shared[whole]
        return self._params.get(whole)

    @staticmethod
    def _agree(found: Parameter, key: str, wanted: object) -> None:
        """Check that a parameter has the setting that is wanted, or give it that one."""
        # Not known yet: whoever asks first decides.
        known = getattr(found, key, None)
        if known is None:
            setattr(found, key, wanted)
            return
        # No opinion.
        if wanted is None:
            return
        if key == "shape":
            assert isinstance(wanted, (int, tuple, list))
            both = joined_shape(known, (wanted,) if isinstance(wanted, int) else tuple(wanted))
            # What one of them leaves open the other may know.
            if both is not None:
                found.shape = both
                return
        elif known == wanted or (key == "dtype" and numpy_type(known) == numpy_type(wanted)):  # type: ignore[arg-type]  # of `get`
            return
        raise ParameterError(
            f"ParameterDict.get: {found.name!r} must have {key} {known!r}, as before; got {wanted!r}"
        )

    initialize = absent_function(
        "gluon.ParameterDict.initialize", "Give the initializer to module.init_params"
    )
    list_ctx = absent_function("gluon.ParameterDict.list_ctx", _ARRAYS)
    load = absent_function("gluon.ParameterDict.load", "Use mx.model.load_params and module.set_params")
    load_dict = absent_function("gluon.ParameterDict.load_dict", "Use module.set_params")
    reset_ctx = absent_function(
        "gluon.ParameterDict.reset_ctx", "Devices are the Module's: Module(context=...)"
    )
    save = absent_function("gluon.ParameterDict.save", "Use module.save_params")
    zero_grad = absent_function("gluon.ParameterDict.zero_grad", _ARRAYS)


def joined_shape(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...] | None:
    """Return what two shapes with unknown sizes (0 or -1) say together; None if they contradict each other.

    >>> joined_shape((2, 0), (0, 3)), joined_shape((2,), (3,))
    ((2, 3), None)
    """
    if len(one) != len(other):
        return None
    pairs = list(zip(one, other, strict=True))
    if any(a > 0 and b > 0 and a != b for a, b in pairs):
        return None
    return tuple(max(a, b, 0) for a, b in pairs)


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
