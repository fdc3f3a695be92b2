"""Operators as methods of NDArray.

Written by ``make stubs`` from the table of operators; not to be edited.
"""

from collections.abc import Sequence
from typing import Any, Literal
from ..dtypes import DTypeLike
from .base import ArrayBase
from .ndarray import NDArray

class OperatorMethods(ArrayBase):
    """A method for each operator of `FLUENT_METHODS`."""

    def abs(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Absolute value; its gradient at 0 is 0."""

    def arccos(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Inverse cosine, in radians."""

    def arccosh(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Inverse hyperbolic cosine."""

    def arcsin(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Inverse sine, in radians."""

    def arcsinh(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Inverse hyperbolic sine."""

    def arctan(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Inverse tangent, in radians."""

    def arctanh(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Inverse hyperbolic tangent."""

    def argmax(
        self,
        axis: int | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Position of the first of the largest elements along an axis, in data's type; of the flattened array without."""

    def argmax_channel(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Position of the largest element along axis 1, in data's type.

        Shapes
        ------
        data : (N, C, ...)
        out : (N, ...)
        """

    def argmin(
        self,
        axis: int | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Position of the first of the smallest elements along an axis, in data's type; of the flattened array without."""

    def argsort(
        self,
        axis: int | None = -1,
        is_ascend: bool = True,
        dtype: DTypeLike = ...,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Positions that sort `data` along an axis, the flattened array without one."""

    def broadcast_axes(
        self,
        axis: int | Sequence[int] = (),
        size: int | Sequence[int] = (),
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """`data` repeated along some axes of size 1, up to the sizes given for them."""

    def broadcast_like(
        self,
        rhs: NDArray,
        lhs_axes: int | Sequence[int] | None = None,
        rhs_axes: int | Sequence[int] | None = None,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """`lhs` repeated along axes of size 1 up to the shape of `rhs`; with axes given, up to those of `rhs` only."""

    def cbrt(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Cube root, of negative numbers too."""

    def ceil(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Smallest integer not below."""

    def clip(
        self,
        a_min: float,
        a_max: float,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """`data` cut to [a_min, a_max]; at both ends the gradient is 1."""

    def cos(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Cosine of radians."""

    def cosh(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Hyperbolic cosine."""

    def degrees(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Radians as degrees."""

    def depth_to_space(
        self,
        block_size: int,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Channels rearranged into blocks of space.

        Shapes
        ------
        data : (N, C * block_size**2, H, W)
        out : (N, C, H * block_size, W * block_size)
        """

    def diag(
        self,
        k: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Diagonals of `data`, or the matrix with a one-dimensional `data` on its diagonal `k`."""

    def exp(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """``e ** data``."""

    def expm1(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """``e ** data - 1``, exact near 0."""

    def fix(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Integer part: rounded towards 0."""

    def flip(
        self,
        axis: int | Sequence[int],
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """`data` with the order along some axes reversed."""

    def floor(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Largest integer not above."""

    def log(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Natural logarithm."""

    def log10(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Logarithm to base 10."""

    def log1p(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """``log(1 + data)``, exact near 0."""

    def log2(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Logarithm to base 2."""

    def log_softmax(
        self,
        axis: int = -1,
        temperature: float | None = None,
        dtype: DTypeLike | None = None,
        use_length: bool | None = False,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Logarithm of `softmax`, computed without its rounding.

        Shapes
        ------
        data, out : any, the same
        """

    def max(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Largest element along axes; each of several largest gets the full gradient."""

    def mean(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Mean along axes; of integers, rounded towards 0."""

    def min(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Smallest element along axes; each of several smallest gets the full gradient."""

    def nanprod(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Product along axes, nan counting as 1."""

    def nansum(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Sum along axes, nan counting as 0."""

    def norm(
        self,
        ord: int = 2,
        axis: int | Sequence[int] | None = None,
        out_dtype: DTypeLike | None = None,
        keepdims: bool = False,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Norm of the elements along axes: the sum of absolute values (``ord=1``) or the root of the sum of squares."""

    def one_hot(
        self,
        depth: int,
        on_value: float = 1.0,
        off_value: float = 0.0,
        dtype: DTypeLike = ...,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Vectors of length `depth` with `on_value` at the index, `off_value` elsewhere and for an index out of range."""

    def ones_like(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Ones of data's shape."""

    def pad(
        self,
        mode: Literal['constant', 'edge', 'reflect'],
        pad_width: int | Sequence[int],
        constant_value: float = 0.0,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """`data` with a border: of a constant, of the nearest element, or of a mirror image."""

    def pick(
        self,
        index: NDArray,
        axis: int | None = -1,
        keepdims: bool = False,
        mode: Literal['clip', 'wrap'] = 'clip',
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """One element along an axis for each position on the others.

        Shapes
        ------
        data : (..., C, ...)
        index : (..., ...)       or with 1 instead of C
        out : of index           with 1 instead of C when `keepdims`
        """

    def prod(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Product along axes."""

    def radians(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Degrees as radians."""

    def rcbrt(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """``1 / cbrt(data)``."""

    def reciprocal(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """``1 / data``."""

    def relu(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """``max(data, 0)``."""

    def repeat(
        self,
        repeats: int,
        axis: int | None = None,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Each element, or each slice along `axis`, repeated; without an axis, of the flattened array."""

    def reshape_like(
        self,
        rhs: NDArray,
        lhs_begin: int | None = None,
        lhs_end: int | None = None,
        rhs_begin: int | None = None,
        rhs_end: int | None = None,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """`lhs` in the shape of `rhs`, or with some of its axes replaced by some of those of `rhs`."""

    def rint(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Nearest integer; halves go down."""

    def round(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Nearest integer; halves go away from 0."""

    def rsqrt(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """``1 / sqrt(data)``."""

    def shape_array(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Shape of `data`, as an int64 array."""

    def sigmoid(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """``1 / (1 + exp(-data))``."""

    def sign(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """-1, 0 or 1, as the sign is."""

    def sin(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Sine of radians."""

    def sinh(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Hyperbolic sine."""

    def size_array(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Number of elements of `data`, as an int64 array of one element."""

    def slice_axis(
        self,
        axis: int,
        begin: int,
        end: int | None,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Slice of `data` from `begin` up to `end` along one axis; both may count from the end."""

    def slice_like(
        self,
        shape_like: NDArray,
        axes: int | Sequence[int] = (),
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """The beginning of `data`, as large as `shape_like`, on all axes or on those of `axes`."""

    def softmax(
        self,
        length: NDArray | None = None,
        axis: int = -1,
        temperature: float | None = None,
        dtype: DTypeLike | None = None,
        use_length: bool | None = False,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """``exp(x / temperature)``, scaled so that it sums to 1 along an axis.

        Shapes
        ------
        data, out : any, the same
        length : that of data without the axis
        """

    def softmin(
        self,
        axis: int = -1,
        temperature: float | None = None,
        dtype: DTypeLike | None = None,
        use_length: bool | None = False,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """``exp(-x / temperature)``, scaled so that it sums to 1 along an axis.

        Shapes
        ------
        data, out : any, the same
        """

    def sort(
        self,
        axis: int | None = -1,
        is_ascend: bool = True,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """`data` sorted along an axis, flattened without one."""

    def space_to_depth(
        self,
        block_size: int,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Blocks of space rearranged into channels; undoes `depth_to_space`.

        Shapes
        ------
        data : (N, C, H * block_size, W * block_size)
        out : (N, C * block_size**2, H, W)
        """

    def split(
        self,
        num_outputs: int,
        axis: int = 1,
        squeeze_axis: bool = False,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray | Any:
        """`data` split along an axis into equal sections."""

    def sqrt(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Square root."""

    def square(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """``data ** 2``."""

    def sum(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Sum along axes."""

    def swapaxes(
        self,
        dim1: int = 0,
        dim2: int = 0,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """`data` with two axes exchanged."""

    def take(
        self,
        indices: NDArray,
        axis: int = 0,
        mode: Literal['clip', 'raise', 'wrap'] = 'clip',
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Slices of `a` along an axis at `indices`, whose axes replace that axis."""

    def tan(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Tangent of radians."""

    def tanh(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Hyperbolic tangent."""

    def tile(
        self,
        reps: int | Sequence[int],
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """`data` laid side by side, ``reps`` times along each axis."""

    def topk(
        self,
        axis: int | None = -1,
        k: int = 1,
        ret_typ: Literal['both', 'indices', 'mask', 'value'] = 'indices',
        is_ascend: bool = False,
        dtype: DTypeLike = ...,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray | Any:
        """The `k` largest (smallest with `is_ascend`) elements along an axis, of the flattened array without one."""

    def transpose(
        self,
        axes: int | Sequence[int] = (),
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """`data` with its axes in the order `axes`, by default reversed."""

    def trunc(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Integer part: rounded towards 0."""

    def zeros_like(
        self,
        *,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray:
        """Zeros of data's shape."""
