"""Operators as methods of NDArray.

Written by ``make stubs`` from the table of operators; not to be edited.
"""

from collections.abc import Sequence
from typing import Any, Literal
from typing_extensions import Self
from ..dtypes import DTypeLike
from .base import ArrayBase

class FluentMethods(ArrayBase):
    """A method for each operator of `FLUENT_METHODS`."""

    def abs(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Absolute value; its gradient at 0 is 0."""

    def arccos(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Inverse cosine, in radians."""

    def arccosh(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Inverse hyperbolic cosine."""

    def arcsin(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Inverse sine, in radians."""

    def arcsinh(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Inverse hyperbolic sine."""

    def arctan(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Inverse tangent, in radians."""

    def arctanh(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Inverse hyperbolic tangent."""

    def argmax(
        self,
        axis: int | None = None,
        keepdims: bool = False,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Position of the first of the largest elements along an axis, in data's type; of the flattened array without."""

    def argmax_channel(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
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
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Position of the first of the smallest elements along an axis, in data's type; of the flattened array without."""

    def argsort(
        self,
        axis: int | None = -1,
        is_ascend: bool = True,
        dtype: DTypeLike = ...,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Positions that sort `data` along an axis, the flattened array without one."""

    def broadcast_axes(
        self,
        axis: int | Sequence[int] = (),
        size: int | Sequence[int] = (),
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """`data` repeated along some axes of size 1, up to the sizes given for them."""

    def broadcast_like(
        self,
        rhs: Self,
        lhs_axes: int | Sequence[int] | None = None,
        rhs_axes: int | Sequence[int] | None = None,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """`lhs` repeated along axes of size 1 up to the shape of `rhs`; with axes given, up to those of `rhs` only."""

    def cbrt(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Cube root, of negative numbers too."""

    def ceil(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Smallest integer not below."""

    def clip(
        self,
        a_min: float,
        a_max: float,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """`data` cut to [a_min, a_max]; at both ends the gradient is 1."""

    def cos(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Cosine of radians."""

    def cosh(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Hyperbolic cosine."""

    def degrees(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Radians as degrees."""

    def depth_to_space(
        self,
        block_size: int,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
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
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Diagonals of `data`, or the matrix with a one-dimensional `data` on its diagonal `k`."""

    def exp(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """``e ** data``."""

    def expm1(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """``e ** data - 1``, exact near 0."""

    def fix(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Integer part: rounded towards 0."""

    def flip(
        self,
        axis: int | Sequence[int],
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """`data` with the order along some axes reversed."""

    def floor(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Largest integer not above."""

    def log(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Natural logarithm."""

    def log10(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Logarithm to base 10."""

    def log1p(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """``log(1 + data)``, exact near 0."""

    def log2(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Logarithm to base 2."""

    def log_softmax(
        self,
        axis: int = -1,
        temperature: float | None = None,
        dtype: DTypeLike | None = None,
        use_length: bool | None = False,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
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
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Largest element along axes; each of several largest gets the full gradient."""

    def mean(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Mean along axes; of integers, rounded towards 0."""

    def min(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Smallest element along axes; each of several smallest gets the full gradient."""

    def nanprod(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Product along axes, nan counting as 1."""

    def nansum(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Sum along axes, nan counting as 0."""

    def norm(
        self,
        ord: int = 2,
        axis: int | Sequence[int] | None = None,
        out_dtype: DTypeLike | None = None,
        keepdims: bool = False,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Norm of the elements along axes: the sum of absolute values (``ord=1``) or the root of the sum of squares."""

    def one_hot(
        self,
        depth: int,
        on_value: float = 1.0,
        off_value: float = 0.0,
        dtype: DTypeLike = ...,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Vectors of length `depth` with `on_value` at the index, `off_value` elsewhere and for an index out of range."""

    def ones_like(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Ones of data's shape."""

    def pad(
        self,
        mode: Literal['constant', 'edge', 'reflect'],
        pad_width: int | Sequence[int],
        constant_value: float = 0.0,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """`data` with a border: of a constant, of the nearest element, or of a mirror image."""

    def pick(
        self,
        index: Self,
        axis: int | None = -1,
        keepdims: bool = False,
        mode: Literal['clip', 'wrap'] = 'clip',
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
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
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Product along axes."""

    def radians(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Degrees as radians."""

    def rcbrt(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """``1 / cbrt(data)``."""

    def reciprocal(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """``1 / data``."""

    def relu(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """``max(data, 0)``."""

    def repeat(
        self,
        repeats: int,
        axis: int | None = None,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Each element, or each slice along `axis`, repeated; without an axis, of the flattened array."""

    def reshape_like(
        self,
        rhs: Self,
        lhs_begin: int | None = None,
        lhs_end: int | None = None,
        rhs_begin: int | None = None,
        rhs_end: int | None = None,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """`lhs` in the shape of `rhs`, or with some of its axes replaced by some of those of `rhs`."""

    def rint(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Nearest integer; halves go down."""

    def round(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Nearest integer; halves go away from 0."""

    def rsqrt(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """``1 / sqrt(data)``."""

    def shape_array(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Shape of `data`, as an int64 array."""

    def sigmoid(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """``1 / (1 + exp(-data))``."""

    def sign(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """-1, 0 or 1, as the sign is."""

    def sin(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Sine of radians."""

    def sinh(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Hyperbolic sine."""

    def size_array(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Number of elements of `data`, as an int64 array of one element."""

    def slice_axis(
        self,
        axis: int,
        begin: int,
        end: int | None,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Slice of `data` from `begin` up to `end` along one axis; both may count from the end."""

    def slice_like(
        self,
        shape_like: Self,
        axes: int | Sequence[int] = (),
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """The beginning of `data`, as large as `shape_like`, on all axes or on those of `axes`."""

    def softmax(
        self,
        length: Self | None = None,
        axis: int = -1,
        temperature: float | None = None,
        dtype: DTypeLike | None = None,
        use_length: bool | None = False,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
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
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
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
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """`data` sorted along an axis, flattened without one."""

    def space_to_depth(
        self,
        block_size: int,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
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
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self | Any:
        """`data` split along an axis into equal sections."""

    def sqrt(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Square root."""

    def square(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """``data ** 2``."""

    def sum(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Sum along axes."""

    def swapaxes(
        self,
        dim1: int = 0,
        dim2: int = 0,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """`data` with two axes exchanged."""

    def take(
        self,
        indices: Self,
        axis: int = 0,
        mode: Literal['clip', 'raise', 'wrap'] = 'clip',
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Slices of `a` along an axis at `indices`, whose axes replace that axis."""

    def tan(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Tangent of radians."""

    def tanh(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Hyperbolic tangent."""

    def tile(
        self,
        reps: int | Sequence[int],
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """`data` laid side by side, ``reps`` times along each axis."""

    def topk(
        self,
        axis: int | None = -1,
        k: int = 1,
        ret_typ: Literal['both', 'indices', 'mask', 'value'] = 'indices',
        is_ascend: bool = False,
        dtype: DTypeLike = ...,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self | Any:
        """The `k` largest (smallest with `is_ascend`) elements along an axis, of the flattened array without one."""

    def transpose(
        self,
        axes: int | Sequence[int] = (),
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """`data` with its axes in the order `axes`, by default reversed."""

    def trunc(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Integer part: rounded towards 0."""

    def zeros_like(
        self,
        *,
        out: Self | Sequence[Self] | None = None,
        name: str | None = None,
    ) -> Self:
        """Zeros of data's shape."""
