"""What NumPy's arrays have and MXNet's lack: ``x @ y``, ``x // y``, `round`, `std`, and NumPy's functions on arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch

from .. import dtypes
from ..dtypes import DTypeLike
from ..errors import MXNetError, ShapeError
from ..mode import mode
from .arithmetic import BINARY, Operand, combine
from .base import Array, ArrayBase, wrap_tensor
from .calls import invoke_by_name
from .history import opaque_step
from .reading import array_like

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["NumPyLike"]

#: A Python number, or lists of them.
Nested: TypeAlias = "int | float | bool | list[Nested]"


class NumPyLike(ArrayBase):
    """Methods of NumPy's arrays that MXNet's do not have."""

    __slots__ = ()

    def tolist(self) -> Nested:
        """Return the elements as (nested) lists of Python numbers.

        >>> import rebind as mx
        >>> mx.nd.array([[1, 2], [3, 4]], dtype="int32").tolist()
        [[1, 2], [3, 4]]
        """
        return np.asarray(self).tolist()

    def __format__(self, spec: str) -> str:
        """Format each element: ``f"{x:.2f}"``; without a format as `str` does."""
        if not spec:
            return str(self)
        values = np.asarray(self)
        if values.size == 1:
            return format(values.item(), spec)

        def formatted(value: Any) -> str:
            return format(value.item(), spec)

        return np.array2string(values, formatter={"all": formatted})

    # Python's operators.

    def __matmul__(self, other: Operand) -> Self:
        return _matrix_product(self, other)

    def __rmatmul__(self, other: Operand) -> Self:
        return _matrix_product(other, self)

    def __floordiv__(self, other: Operand) -> Self:
        return _floor_quotient(self, other)

    def __rfloordiv__(self, other: Operand) -> Self:
        return _floor_quotient(other, self)

    def __round__(self, ndigits: int | None = None) -> Self:
        """Round to decimals, halves to the even digit as Python does; the method `round` takes them away from 0."""
        tensor = self.tensor.detach()
        wide = tensor if tensor.is_floating_point() else tensor.to(dtype=torch.float64)
        result: Self = wrap_tensor(
            torch.round(wide, decimals=ndigits or 0).to(dtype=tensor.dtype), self.device
        )
        if mode.recording:
            result.history = opaque_step("round()", [self])
        return result

    # Statistics.

    def var(
        self,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        ddof: int = 0,
        keepdims: bool = False,
    ) -> Self:
        """Return the variance along axes, or of all elements, as NumPy does; of whole numbers in float32.

        Parameters
        ----------
        axis
            The axes; all without it.
        dtype
            The type to compute in; by default that of the array.
        ddof
            What the number of elements is lessened by in the divisor: 1 for the estimate from a sample.
        keepdims
            Whether the axes remain, with size 1.

        Examples
        --------
        >>> import rebind as mx
        >>> mx.nd.array([[1, 3], [5, 9]]).var(axis=1).asnumpy()
        array([1., 4.], dtype=float32)
        """
        given: Any = self
        if dtype is not None or not self.storage.dtype.is_floating_point:
            given = invoke_by_name("Cast", self, dtype=dtypes.torch_dtype(dtype or "float32"))
        axes = {} if axis is None else {"axis": axis}
        centered = given - invoke_by_name("mean", given, keepdims=True, **axes)
        found = invoke_by_name("mean", centered * centered, keepdims=keepdims, **axes)
        # How many numbers each mean is of.
        count = self.size // max(found.size, 1)
        return found * (count / (count - ddof)) if ddof and count > ddof else found

    def std(
        self,
        axis: int | Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        ddof: int = 0,
        keepdims: bool = False,
    ) -> Self:
        """Return the standard deviation, the root of `var`, along axes or of all elements.

        >>> import rebind as mx
        >>> mx.nd.array([[1, 3], [5, 9]]).std(axis=1).asnumpy()
        array([1., 2.], dtype=float32)
        """
        return invoke_by_name("sqrt", self.var(axis, dtype, ddof, keepdims))

    def __array_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object],
        kwargs: Mapping[str, object],
    ) -> object:
        """Run a function of NumPy on arrays.

        Some are the array's own method of that name, and return an array, as with MXNet: ``np.sum``. Where there is
        none that takes the call (``np.mean``), the function runs on copies as NumPy arrays.
        """
        # What NumPy runs for arrays without this protocol: it asks for the method.
        plain = getattr(func, "_implementation", None)
        # Tried first, as it stays on the device and is recorded where the array's method is.
        if plain is not None:
            try:
                return plain(*args, **kwargs)
            except (MXNetError, TypeError, ValueError, AttributeError):
                pass
        return func(*_as_numpy(args), **_as_numpy(kwargs))


def _as_numpy(value: Any) -> Any:
    """Return arguments with NumPy arrays in the place of arrays, in lists, tuples and dicts too."""
    if isinstance(value, ArrayBase):
        return np.asarray(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_as_numpy, value))
    if isinstance(value, dict):
        return {key: _as_numpy(each) for key, each in value.items()}
    return value


def _floor_quotient(left: Array | Operand, right: Array | Operand) -> Array:
    # By way of the remainder, as Python defines it: 1 // 0.1 is 9, though the quotient of the floats is 10.
    remainder = combine(BINARY["mod"], left, right)
    if remainder is NotImplemented:
        return remainder
    whole = combine(BINARY["truediv"], combine(BINARY["sub"], left, remainder), right)
    return invoke_by_name("round", whole)


def _matrix_product(left: Array | Operand, right: Array | Operand) -> Array:
    """Return ``left @ right`` as NumPy defines it: matrices in the last two axes, the others broadcast."""
    if isinstance(left, np.ndarray) and isinstance(right, ArrayBase):
        left = array_like(left, right)
    if isinstance(right, np.ndarray) and isinstance(left, ArrayBase):
        right = array_like(right, left)
    if not (isinstance(left, ArrayBase) and isinstance(right, ArrayBase)):
        # NotImplemented lets Python ask the other operand.
        return NotImplemented
    inner = right.shape[-2:][0]
    if left.shape[-1] != inner:
        raise ShapeError(
            f"NDArray @ NDArray: the last axis of the left array must have size {inner}, that of {right.shape} that it "
            f"is summed with; got {left.shape}"
        )
    if left.ndim <= 2 and right.ndim <= 2:
        return invoke_by_name("dot", left, right)
    return _batched_product(left, right)


def _batched_product(left: Array | ArrayBase, right: Array | ArrayBase) -> Array:
    # A vector is a matrix of one row, or of one column, whose axis is taken away again.
    rows, columns = left.shape[:-1][-1:], right.shape[-1:] if right.ndim > 1 else ()
    first, second = (*rows, 1)[0], (*columns, 1)[0]
    inner = left.shape[-1]
    try:
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    except ValueError:
        raise ShapeError(
            f"NDArray @ NDArray: axes before the last two must broadcast; got {left.shape} and {right.shape}"
        ) from None

    def stacked(source: ArrayBase, matrix: tuple[int, int]) -> ArrayBase:
        # (*batch, rows, columns): missing batch axes come in front, as in NumPy.
        sizes = (*(1,) * (len(batch) - max(source.ndim - 2, 0)), *source.shape[:-2], *matrix)
        spread = invoke_by_name(
            "broadcast_to", invoke_by_name("Reshape", source, shape=sizes), shape=(*batch, *matrix)
        )
        return invoke_by_name("Reshape", spread, shape=(math.prod(batch), *matrix))

    product = invoke_by_name("batch_dot", stacked(left, (first, inner)), stacked(right, (inner, second)))
    return invoke_by_name("Reshape", product, shape=(*batch, *rows, *columns))
