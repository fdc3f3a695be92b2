"""Parameters of blocks: descriptions of the variables that symbols get, and arrays for calls on arrays."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .. import initializer
from ..dtypes import DTypeLike
from ..errors import ParameterError
from ..ndarray import NDArray, array
from ..ndarray.storage import storage_kind
from ..symbol import Symbol, var
from .arrays import ParameterArrays
from .utils import joined_shape

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Constant", "Parameter"]

_GRAD_REQS = ("write", "add", "null")
_numbers = itertools.count()


class Parameter(ParameterArrays):
    """A parameter of a block: name, shape, type and initializer of a variable; and its array, once it is initialized.

    Parameters
    ----------
    name
        The whole name, with the prefix of its block.
    grad_req
        ``'write'``, ``'add'`` or ``'null'``: for `grad`. A `Module` trains what `fixed_param_names` does not name.
    shape
        A size of 0 is unknown.
    dtype, lr_mult, wd_mult, init, stype
        As in `sym.var`. The rows of a ``'row_sparse'`` one are read with `row_sparse_data`.
    allow_deferred_init
        Whether `initialize` may be called before the shape is known. Modules find out shapes at `bind`.
    differentiable
        If not, `grad_req` is ``'null'``.
    grad_stype
        The storage type of the gradient.

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
        self._dtype = dtype
        self._allow_deferred_init = allow_deferred_init
        self._shape = (shape,) if isinstance(shape, int) else None if shape is None else tuple(shape)
        self._differentiable = differentiable
        for kind, given in (("stype", stype), ("grad_stype", grad_stype)):
            storage_kind(given, f"gluon.Parameter {name!r}: {kind}")
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
        if self._arrays is not None:
            self._set_arrays(self._arrays)

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
        """Set the type, of the array and of a variable that is not made yet.

        >>> weight = Parameter("w")
        >>> weight.cast("float16")
        >>> weight.dtype
        'float16'
        """
        self.dtype = dtype


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
