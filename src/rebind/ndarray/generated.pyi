"""A function on NDArrays for each operator, under each of its names.

Written by ``make stubs`` from the table of operators; not to be edited.
"""

from collections.abc import Sequence
from typing import Any, Literal
from ..device import Device
from ..dtypes import DTypeLike
from .ndarray import NDArray

def expand_dims(
    data: NDArray,
    axis: int,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` with a new axis of size 1 before position `axis`."""

def squeeze(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` without axes of size 1: those of `axis`, or all of them. One axis is always left."""

def transpose(
    data: NDArray,
    axes: int | Sequence[int] = (),
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` with its axes in the order `axes`, by default reversed."""

def SwapAxis(
    data: NDArray,
    dim1: int = 0,
    dim2: int = 0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` with two axes exchanged."""

def reverse(
    data: NDArray,
    axis: int | Sequence[int],
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` with the order along some axes reversed."""

def depth_to_space(
    data: NDArray,
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

def space_to_depth(
    data: NDArray,
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

def diag(
    data: NDArray,
    k: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Diagonals of `data`, or the matrix with a one-dimensional `data` on its diagonal `k`."""

def _contrib_interleaved_matmul_selfatt_qk(
    queries_keys_values: NDArray,
    heads: int,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Products of queries and keys of self-attention, divided by the square root of their size.

    Shapes
    ------
    queries_keys_values : (L, B, heads * 3 * D)
    out : (B * heads, L, L)
    """

def _contrib_interleaved_matmul_encdec_qk(
    queries: NDArray,
    keys_values: NDArray,
    heads: int,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Products of a decoder's queries and an encoder's keys, divided by the square root of their size.

    Shapes
    ------
    queries : (L, B, heads * D)
    keys_values : (S, B, heads * 2 * D)
    out : (B * heads, L, S)
    """

def _contrib_interleaved_matmul_selfatt_valatt(
    queries_keys_values: NDArray,
    attention: NDArray,
    heads: int,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Sums of the values of self-attention with the weights `attention`.

    Shapes
    ------
    queries_keys_values : (L, B, heads * 3 * D)
    attention : (B * heads, L, L)
    out : (L, B, heads * D)
    """

def _contrib_interleaved_matmul_encdec_valatt(
    keys_values: NDArray,
    attention: NDArray,
    heads: int,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Sums of an encoder's values with the weights `attention`.

    Shapes
    ------
    keys_values : (S, B, heads * 2 * D)
    attention : (B * heads, L, S)
    out : (L, B, heads * D)
    """

def _contrib_box_iou(
    lhs: NDArray,
    rhs: NDArray,
    format: Literal['center', 'corner'] = 'corner',
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Intersection over union of each box of `lhs` with each of `rhs`; 0 where they do not meet.

    Shapes
    ------
    lhs : (..., 4)
    rhs : (... , 4)
    out : the axes of lhs without its last, then those of rhs
    """

def _contrib_bipartite_matching(
    data: NDArray,
    is_ascend: bool = False,
    threshold: float = ...,
    topk: int = -1,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """For each row the column that it is matched with, and for each column its row; -1 for none.

    Shapes
    ------
    data : (..., N, M)
    out : (..., N) and (..., M)
    """

def _contrib_box_encode(
    samples: NDArray,
    matches: NDArray,
    anchors: NDArray,
    refs: NDArray,
    means: NDArray,
    stds: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Targets of box regression: offsets from anchors to the boxes that they are matched with, and their mask.

    Shapes
    ------
    samples, matches : (B, N)
    anchors : (B, N, 4)
    refs : (B, M, 4)
    means, stds : (4,)
    out : (B, N, 4), twice
    """

def _contrib_box_decode(
    data: NDArray,
    anchors: NDArray,
    std0: float = 1.0,
    std1: float = 1.0,
    std2: float = 1.0,
    std3: float = 1.0,
    clip: float = -1.0,
    format: Literal['center', 'corner'] = 'center',
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Boxes (left, top, right, bottom) from predicted offsets to anchors: the inverse of `box_encode`.

    Shapes
    ------
    data, out : (B, N, 4)
    anchors : (1, N, 4)
    """

def _contrib_ModulatedDeformableConvolution(
    data: NDArray,
    offset: NDArray,
    mask: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
    kernel: int | Sequence[int] = ...,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    num_filter: int = ...,
    num_group: int = 1,
    num_deformable_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    im2col_step: int = 64,
    layout: Literal['NCDHW', 'NCHW', 'NCW'] | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Convolution in two dimensions whose filters read each element shifted by `offset` and multiplied by `mask`.

    Shapes
    ------
    data : (N, C, H, W)
    offset : (N, num_deformable_group * h * w * 2, *windows)     down and right for each element of a filter
    mask : (N, num_deformable_group * h * w, *windows)
    weight : (num_filter, C / num_group, h, w)
    bias : (num_filter,)                                         absent when ``no_bias``
    out : (N, num_filter, *windows)
    """

def _contrib_DeformableConvolution(
    data: NDArray,
    offset: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
    kernel: int | Sequence[int] = ...,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    num_filter: int = ...,
    num_group: int = 1,
    num_deformable_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    layout: Literal['NCDHW', 'NCHW', 'NCW'] | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Convolution in two dimensions whose filters read each element shifted by `offset`.

    Shapes
    ------
    data : (N, C, H, W)
    offset : (N, num_deformable_group * h * w * 2, *windows)     down and right for each element of a filter
    weight : (num_filter, C / num_group, h, w)
    bias : (num_filter,)                                         absent when ``no_bias``
    out : (N, num_filter, *windows)
        ``windows = (spatial + 2 pad - dilate (kernel - 1) - 1) // stride + 1``
    """

def _contrib_fft(
    data: NDArray,
    compute_size: int = 128,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Fourier transform over the last axis: real and imaginary part of each frequency beside each other.

    Shapes
    ------
    data : (..., D)
    out : (..., 2 * D)
    """

def _contrib_ifft(
    data: NDArray,
    compute_size: int = 128,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Real part of the inverse Fourier transform over the last axis, not divided by the number of frequencies.

    Shapes
    ------
    data : (..., 2 * D)     real and imaginary part of each frequency beside each other
    out : (..., D)
    """

def _contrib_hawkesll(
    lda: NDArray,
    alpha: NDArray,
    beta: NDArray,
    state: NDArray,
    lags: NDArray,
    marks: NDArray,
    valid_length: NDArray,
    max_time: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Log likelihood of marked events under Hawkes processes with exponential decay, and the processes' new state.

    Shapes
    ------
    lda, state : (N, K)
    alpha, beta : (K,)
    lags, marks : (N, T)
    valid_length, max_time : (N,)
    out : (N,) and (N, K)
    """

def _contrib_MultiBoxPrior(
    data: NDArray,
    sizes: float | Sequence[float] = (1.0,),
    ratios: float | Sequence[float] = (1.0,),
    clip: bool = False,
    steps: float | Sequence[float] = (-1.0, -1.0),
    offsets: float | Sequence[float] = (0.5, 0.5),
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Anchors around each position of a feature map, as (left, top, right, bottom), the whole map being 1 by 1.

    Shapes
    ------
    data : (B, C, H, W)
    out : (1, H * W * A, 4)     A = len(sizes) + len(ratios) - 1
    """

def _contrib_MultiBoxTarget(
    anchor: NDArray,
    label: NDArray,
    cls_pred: NDArray,
    overlap_threshold: float = 0.5,
    ignore_label: float = -1.0,
    negative_mining_ratio: float = -1.0,
    negative_mining_thresh: float = 0.5,
    minimum_negative_samples: int = 0,
    variances: float | Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """What anchors are to learn: offsets to the objects they are matched with, their mask, and classes.

    Shapes
    ------
    anchor : (1, N, 4)
    label : (B, M, 5 or more)
    cls_pred : (B, C, N)      before softmax
    loc_target, loc_mask : (B, N * 4)
    cls_target : (B, N)
    """

def _contrib_MultiBoxDetection(
    cls_prob: NDArray,
    loc_pred: NDArray,
    anchor: NDArray,
    clip: bool = True,
    threshold: float = 0.01,
    background_id: int = 0,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: float | Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    nms_topk: int = -1,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Detections (class, score, left, top, right, bottom) of each image, the best first; class -1 is none.

    Shapes
    ------
    cls_prob : (B, C, N)
    loc_pred : (B, N * 4)
    anchor : (1, N, 4)
    out : (B, N, 6)
    """

def topk(
    data: NDArray,
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

def sort(
    data: NDArray,
    axis: int | None = -1,
    is_ascend: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` sorted along an axis, flattened without one."""

def argsort(
    data: NDArray,
    axis: int | None = -1,
    is_ascend: bool = True,
    dtype: DTypeLike = ...,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Positions that sort `data` along an axis, the flattened array without one."""

def _contrib_Proposal(
    cls_prob: NDArray,
    bbox_pred: NDArray,
    im_info: NDArray,
    rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300,
    threshold: float = 0.7,
    rpn_min_size: int = 16,
    scales: float | Sequence[float] = (4.0, 8.0, 16.0, 32.0),
    ratios: float | Sequence[float] = (0.5, 1.0, 2.0),
    feature_stride: int = 16,
    output_score: bool = False,
    iou_loss: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Regions (image, left, top, right, bottom) that may hold an object, the best of an image first, and scores.

    Shapes
    ------
    cls_prob : (B, 2 * A, H, W)     probabilities of background, then of an object; A = len(ratios) * len(scales)
    bbox_pred : (B, 4 * A, H, W)
    im_info : (B, 3)                height, width and scale of each image
    output : (B * rpn_post_nms_top_n, 5)
    score : (B * rpn_post_nms_top_n, 1)
    """

def _contrib_MultiProposal(
    cls_prob: NDArray,
    bbox_pred: NDArray,
    im_info: NDArray,
    rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300,
    threshold: float = 0.7,
    rpn_min_size: int = 16,
    scales: float | Sequence[float] = (4.0, 8.0, 16.0, 32.0),
    ratios: float | Sequence[float] = (0.5, 1.0, 2.0),
    feature_stride: int = 16,
    output_score: bool = False,
    iou_loss: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Regions (image, left, top, right, bottom) that may hold an object, the best of an image first, and scores.

    Shapes
    ------
    cls_prob : (B, 2 * A, H, W)     probabilities of background, then of an object; A = len(ratios) * len(scales)
    bbox_pred : (B, 4 * A, H, W)
    im_info : (B, 3)                height, width and scale of each image
    output : (B * rpn_post_nms_top_n, 5)
    score : (B * rpn_post_nms_top_n, 1)
    """

def _contrib_AdaptiveAvgPooling2D(
    data: NDArray,
    output_size: int | Sequence[int] | None = (),
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Means over a grid of `output_size` windows that cover the whole picture.

    Shapes
    ------
    data : (N, C, H, W)
    out : (N, C, *output_size)
    """

def _contrib_BilinearResize2D(
    data: NDArray,
    like: NDArray | None = None,
    height: int = 1,
    width: int = 1,
    scale_height: float | None = None,
    scale_width: float | None = None,
    mode: Literal['like', 'odd_scale', 'size', 'to_even_down', 'to_even_up', 'to_odd_down', 'to_odd_up'] = 'size',
    align_corners: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Pictures of another height and width, interpolated linearly in both directions.

    Shapes
    ------
    data : (N, C, H, W)
    like : (..., height, width), four axes      with mode ``'like'``; it gets no gradient
    out : (N, C, height, width)
    """

def _contrib_count_sketch(
    data: NDArray,
    h: NDArray,
    s: NDArray,
    out_dim: int,
    processing_batch_size: int = 32,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Count sketch of the last axis: ``out[h[i]]`` is the sum of ``s[i] * data[i]``.

    Shapes
    ------
    data : (..., D)
    h, s : (1, D)
    out : (..., out_dim)
    """

def _contrib_box_nms(
    data: NDArray,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0,
    topk: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = -1,
    background_id: int = -1,
    force_suppress: bool = False,
    in_format: Literal['center', 'corner'] = 'corner',
    out_format: Literal['center', 'corner'] = 'corner',
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Boxes that no better box that stays overlaps too much, the best first; -1 in the rows that remain.

    Shapes
    ------
    data, out : (..., N, K)     N boxes of K numbers; leading axes are those of a batch
    """

def relu(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``max(data, 0)``."""

def sigmoid(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``1 / (1 + exp(-data))``."""

def softsign(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``data / (1 + |data|)``."""

def negative(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``-data``."""

def reciprocal(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``1 / data``."""

def abs(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Absolute value; its gradient at 0 is 0."""

def sign(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """-1, 0 or 1, as the sign is."""

def square(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``data ** 2``."""

def sqrt(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Square root."""

def rsqrt(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``1 / sqrt(data)``."""

def cbrt(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Cube root, of negative numbers too."""

def rcbrt(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``1 / cbrt(data)``."""

def exp(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``e ** data``."""

def expm1(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``e ** data - 1``, exact near 0."""

def log(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Natural logarithm."""

def log2(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Logarithm to base 2."""

def log10(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Logarithm to base 10."""

def log1p(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``log(1 + data)``, exact near 0."""

def erf(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Error function."""

def erfinv(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Inverse of the error function."""

def gamma(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Gamma function."""

def gammaln(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Logarithm of ``|gamma(data)|``."""

def sin(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Sine of radians."""

def cos(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Cosine of radians."""

def tan(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Tangent of radians."""

def arcsin(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Inverse sine, in radians."""

def arccos(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Inverse cosine, in radians."""

def arctan(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Inverse tangent, in radians."""

def degrees(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Radians as degrees."""

def radians(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Degrees as radians."""

def sinh(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Hyperbolic sine."""

def cosh(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Hyperbolic cosine."""

def tanh(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Hyperbolic tangent."""

def arcsinh(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Inverse hyperbolic sine."""

def arccosh(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Inverse hyperbolic cosine."""

def arctanh(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Inverse hyperbolic tangent."""

def floor(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Largest integer not above."""

def ceil(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Smallest integer not below."""

def trunc(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Integer part: rounded towards 0."""

def fix(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Integer part: rounded towards 0."""

def round(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Nearest integer; halves go away from 0."""

def rint(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Nearest integer; halves go down."""

def logical_not(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where data is 0, else 0."""

def zeros_like(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Zeros of data's shape."""

def ones_like(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Ones of data's shape."""

def _copy(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` as it is."""

def _copyto(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` as it is."""

def BlockGrad(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` as it is; no gradient flows back through it."""

def make_loss(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` as it is, as something to minimise: its gradient is 1, whatever the gradient of the output."""

def hard_sigmoid(
    data: NDArray,
    alpha: float = 0.2,
    beta: float = 0.5,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``alpha * data + beta`` cut to [0, 1]; at both ends the gradient is 0."""

def clip(
    data: NDArray,
    a_min: float,
    a_max: float,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` cut to [a_min, a_max]; at both ends the gradient is 1."""

def smooth_l1(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Absolute value made smooth near 0: ``(scalar * data)**2 / 2`` where ``|data| < 1 / scalar**2``."""

def Cast(
    data: NDArray,
    dtype: DTypeLike,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` in another type; fractions are rounded towards 0."""

def amp_cast(
    data: NDArray,
    dtype: DTypeLike,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` in another of the types float16, bfloat16 and float32; of other types it stays as it is."""

def amp_multicast(
    *data: NDArray | Sequence[NDArray],
    num_outputs: int | None = None,
    cast_narrow: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Arrays of float16, bfloat16 and float32 in the widest of their types; other arrays stay as they are."""

def shape_array(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Shape of `data`, as an int64 array."""

def size_array(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Number of elements of `data`, as an int64 array of one element."""

def _contrib_quadratic(
    data: NDArray,
    a: float = 0.0,
    b: float = 0.0,
    c: float = 0.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``a * data**2 + b * data + c``; for integers cut towards 0."""

def _contrib_div_sqrt_dim(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` divided by the square root of the size of its last axis; integers are cut towards 0."""

def _contrib_gradientmultiplier(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` as it is; the gradient that flows back through it is multiplied by `scalar`."""

def _contrib_round_ste(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Nearest whole number, halves away from 0; the gradient flows through as it is (*straight through*)."""

def _contrib_sign_ste(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """-1, 0 or 1, as the sign is; the gradient flows through as it is (*straight through*)."""

def _contrib_allclose(
    a: NDArray,
    b: NDArray,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``|a - b| <= atol + rtol * |b|`` everywhere, else 0, as an array without axes."""

def _contrib_arange_like(
    data: NDArray,
    start: float = 0.0,
    step: float = 1.0,
    repeat: int = 1,
    ctx: Device | str = '',
    axis: int | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Evenly spaced values, as many as `data` has elements and in its shape, or as many as one axis is long."""

def _contrib_index_array(
    data: NDArray,
    axes: int | Sequence[int] | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Coordinates of each element of `data`, in a further last axis.

    Shapes
    ------
    data : (X0, X1, ...)
    out : (X0, X1, ..., K)     K coordinates
    """

def _contrib_index_copy(
    old_tensor: NDArray,
    index_vector: NDArray,
    new_tensor: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """A copy of `old_tensor` with the rows of `new_tensor` at the positions in `index_vector`.

    Shapes
    ------
    old_tensor, out : (N, ...)
    index_vector : (K,)
    new_tensor : (K, ...)
    """

def _contrib_boolean_mask(
    data: NDArray,
    index: NDArray,
    axis: int = 0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Slices of `data` along an axis where `index` is not 0.

    Shapes
    ------
    data : (N, ...)     N in `axis`
    index : (N,)
    out : (K, ...)      K elements of `index` are not 0
    """

def _foreach(
    *data: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    num_outputs: int,
    num_out_data: int,
    in_state_locs: int | Sequence[int],
    in_data_locs: int | Sequence[int],
    remain_locs: int | Sequence[int],
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Run a body on each slice of arrays; made by ``sym.contrib.foreach``."""

def _while_loop(
    *data: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    num_outputs: int,
    num_out_data: int,
    max_iterations: int,
    cond_input_locs: int | Sequence[int],
    func_input_locs: int | Sequence[int],
    func_var_locs: int | Sequence[int],
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Run a body as long as a condition holds; made by ``sym.contrib.while_loop``."""

def _cond(
    *data: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    num_outputs: int,
    cond_input_locs: int | Sequence[int],
    then_input_locs: int | Sequence[int],
    else_input_locs: int | Sequence[int],
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Run one of two bodies; made by ``sym.contrib.cond``."""

def _zeros(
    shape: int | Sequence[int] | None = (),
    ctx: Device | str = '',
    dtype: DTypeLike = ...,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Array of zeros."""

def _zeros_without_dtype(
    shape: int | Sequence[int] | None = None,
    ctx: Device | str = '',
    dtype: int = -1,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Array of zeros whose type others decide; alone it is float32."""

def _ones(
    shape: int | Sequence[int] | None = (),
    ctx: Device | str = '',
    dtype: DTypeLike = ...,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Array of ones."""

def _full(
    shape: int | Sequence[int] | None = None,
    ctx: Device | str = '',
    dtype: DTypeLike = ...,
    value: float = ...,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Array of one value; for an integer type the value is rounded towards 0."""

def _arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    ctx: Device | str = '',
    dtype: DTypeLike = ...,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Numbers from `start` up to but not including `stop`, each `repeat` times; from 0 to `start` when it is alone."""

def _linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: Device | str = '',
    dtype: DTypeLike = ...,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`num` numbers at equal distances from `start` to `stop`, which is the last one with `endpoint`."""

def _eye(
    N: int,
    M: int = 0,
    k: int = 0,
    ctx: Device | str = '',
    dtype: DTypeLike = ...,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Matrix of N rows and M columns (0: as many as rows) with ones on diagonal `k`, zeros elsewhere."""

def Custom(
    *data: NDArray | Sequence[NDArray],
    op_type: str,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> NDArray:
    """Apply an operator that was written in Python and registered with `mx.operator.register`."""

def _random_uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Device | str = '',
    dtype: DTypeLike | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws from the uniform distribution on ``[low, high)``."""

def _random_uniform_like(
    data: NDArray,
    low: float = 0.0,
    high: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws from the uniform distribution on ``[low, high)``, as many and of the type of `data`."""

def _sample_uniform(
    low: NDArray,
    high: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws of `shape` from the uniform distribution for each pair of `low` and `high`."""

def _random_normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Device | str = '',
    dtype: DTypeLike | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws from the normal distribution with mean `loc` and standard deviation `scale`."""

def _random_normal_like(
    data: NDArray,
    loc: float = 0.0,
    scale: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws from the normal distribution, as many and of the type of `data`."""

def _sample_normal(
    mu: NDArray,
    sigma: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws of `shape` from the normal distribution for each pair of `mu` and `sigma`."""

def _random_exponential(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Device | str = '',
    dtype: DTypeLike | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws from the exponential distribution with rate `lam`."""

def _random_exponential_like(
    data: NDArray,
    lam: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws from the exponential distribution with rate `lam`, as many and of the type of `data`."""

def _sample_exponential(
    lam: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws of `shape` from the exponential distribution for each rate `lam`."""

def _random_gamma(
    alpha: float = 1.0,
    beta: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Device | str = '',
    dtype: DTypeLike | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws from the gamma distribution with shape `alpha` and scale `beta`."""

def _random_gamma_like(
    data: NDArray,
    alpha: float = 1.0,
    beta: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws from the gamma distribution, as many and of the type of `data`."""

def _sample_gamma(
    alpha: NDArray,
    beta: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws of `shape` from the gamma distribution for each pair of shape `alpha` and scale `beta`."""

def _random_poisson(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Device | str = '',
    dtype: DTypeLike | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws from the Poisson distribution with mean `lam`."""

def _random_poisson_like(
    data: NDArray,
    lam: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws from the Poisson distribution with mean `lam`, as many and of the type of `data`."""

def _sample_poisson(
    lam: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws of `shape` from the Poisson distribution for each mean `lam`."""

def _random_negative_binomial(
    k: int = 1,
    p: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Device | str = '',
    dtype: DTypeLike | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws from the negative binomial distribution: failures before `k` successes of probability `p`."""

def _random_negative_binomial_like(
    data: NDArray,
    k: int = 1,
    p: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws from the negative binomial distribution, as many and of the type of `data`."""

def _sample_negative_binomial(
    k: NDArray,
    p: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws of `shape` from the negative binomial distribution for each pair of `k` and `p`."""

def _random_generalized_negative_binomial(
    mu: float = 1.0,
    alpha: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: Device | str = '',
    dtype: DTypeLike | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws from the negative binomial distribution with mean `mu` and dispersion `alpha`."""

def _random_generalized_negative_binomial_like(
    data: NDArray,
    mu: float = 1.0,
    alpha: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws from the generalized negative binomial distribution, as many and of the type of `data`."""

def _sample_generalized_negative_binomial(
    mu: NDArray,
    alpha: NDArray,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Draws of `shape` from the generalized negative binomial distribution for each pair of `mu` and `alpha`."""

def elemwise_add(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Sum ``lhs + rhs``."""

def elemwise_sub(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Difference ``lhs - rhs``."""

def elemwise_mul(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Product ``lhs * rhs``."""

def elemwise_div(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Quotient ``lhs / rhs``; of integers, rounded towards 0."""

def _grad_add(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Sum ``lhs + rhs`` of two gradients."""

def _scatter_elemwise_div(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Quotient ``lhs / rhs``."""

def _mod(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Remainder of ``lhs / rhs``, with the sign of ``rhs``; 0 where ``rhs`` is 0."""

def _power(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``lhs`` to the power of ``rhs``."""

def _maximum(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The larger of both; on a tie the gradient goes to ``lhs``."""

def _minimum(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The smaller of both; on a tie the gradient goes to ``lhs``."""

def _hypot(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Hypotenuse ``sqrt(lhs**2 + rhs**2)``."""

def broadcast_add(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Sum ``lhs + rhs``. Sizes of 1 broadcast, as in NumPy."""

def broadcast_sub(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Difference ``lhs - rhs``. Sizes of 1 broadcast, as in NumPy."""

def broadcast_mul(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Product ``lhs * rhs``. Sizes of 1 broadcast, as in NumPy."""

def broadcast_div(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Quotient ``lhs / rhs``; of integers, rounded towards 0. Sizes of 1 broadcast, as in NumPy."""

def broadcast_mod(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Remainder of ``lhs / rhs``, with the sign of ``rhs``; 0 where ``rhs`` is 0. Sizes of 1 broadcast, as in NumPy."""

def broadcast_power(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``lhs`` to the power of ``rhs``. Sizes of 1 broadcast, as in NumPy."""

def broadcast_maximum(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The larger of both; on a tie the gradient goes to ``lhs``. Sizes of 1 broadcast, as in NumPy."""

def broadcast_minimum(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The smaller of both; on a tie the gradient goes to ``lhs``. Sizes of 1 broadcast, as in NumPy."""

def broadcast_hypot(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Hypotenuse ``sqrt(lhs**2 + rhs**2)``. Sizes of 1 broadcast, as in NumPy."""

def _plus_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Sum ``data + scalar``."""

def _minus_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Difference ``data - scalar``."""

def _rminus_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``scalar - data``."""

def _mul_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Product ``data * scalar``."""

def _div_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Quotient ``data / scalar``."""

def _rdiv_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Quotient ``scalar / data``."""

def _mod_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Remainder of ``data / scalar``; 0 for a scalar of 0."""

def _rmod_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Remainder of ``scalar / data``; 0 where data is 0."""

def _power_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``data`` to the power of ``scalar``."""

def _rpower_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``scalar`` to the power of ``data``."""

def _maximum_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The larger of ``data`` and ``scalar``; on a tie the gradient is 1."""

def _minimum_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The smaller of ``data`` and ``scalar``; on a tie the gradient is 1."""

def _hypot_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Hypotenuse ``sqrt(data**2 + scalar**2)``."""

def _scatter_plus_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Sum ``data + scalar``."""

def _scatter_minus_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Difference ``data - scalar``."""

def _equal(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``lhs == rhs``, else 0, in the type of the array."""

def broadcast_equal(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``lhs == rhs``, else 0, in the type of the array. Sizes of 1 broadcast, as in NumPy."""

def _equal_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``data == scalar``, else 0, in the type of the array."""

def _not_equal(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``lhs != rhs``, else 0, in the type of the array."""

def broadcast_not_equal(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``lhs != rhs``, else 0, in the type of the array. Sizes of 1 broadcast, as in NumPy."""

def _not_equal_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``data != scalar``, else 0, in the type of the array."""

def _greater(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``lhs > rhs``, else 0, in the type of the array."""

def broadcast_greater(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``lhs > rhs``, else 0, in the type of the array. Sizes of 1 broadcast, as in NumPy."""

def _greater_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``data > scalar``, else 0, in the type of the array."""

def _greater_equal(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``lhs >= rhs``, else 0, in the type of the array."""

def broadcast_greater_equal(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``lhs >= rhs``, else 0, in the type of the array. Sizes of 1 broadcast, as in NumPy."""

def _greater_equal_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``data >= scalar``, else 0, in the type of the array."""

def _lesser(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``lhs < rhs``, else 0, in the type of the array."""

def broadcast_lesser(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``lhs < rhs``, else 0, in the type of the array. Sizes of 1 broadcast, as in NumPy."""

def _lesser_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``data < scalar``, else 0, in the type of the array."""

def _lesser_equal(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``lhs <= rhs``, else 0, in the type of the array."""

def broadcast_lesser_equal(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``lhs <= rhs``, else 0, in the type of the array. Sizes of 1 broadcast, as in NumPy."""

def _lesser_equal_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``data <= scalar``, else 0, in the type of the array."""

def _logical_and(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``lhs and rhs``, else 0, in the type of the array."""

def broadcast_logical_and(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``lhs and rhs``, else 0, in the type of the array. Sizes of 1 broadcast, as in NumPy."""

def _logical_and_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``data and scalar``, else 0, in the type of the array."""

def _logical_or(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``lhs or rhs``, else 0, in the type of the array."""

def broadcast_logical_or(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``lhs or rhs``, else 0, in the type of the array. Sizes of 1 broadcast, as in NumPy."""

def _logical_or_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``data or scalar``, else 0, in the type of the array."""

def _logical_xor(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``lhs xor rhs``, else 0, in the type of the array."""

def broadcast_logical_xor(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``lhs xor rhs``, else 0, in the type of the array. Sizes of 1 broadcast, as in NumPy."""

def _logical_xor_scalar(
    data: NDArray,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 where ``data xor scalar``, else 0, in the type of the array."""

def add_n(
    *args: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Sum of any number of arrays of one shape."""

def where(
    condition: NDArray,
    x: NDArray,
    y: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Elements of `x` where `condition` is not 0, of `y` elsewhere.

    Shapes
    ------
    condition : of x, or its leading axes: each element then chooses a slice, such as a row
    x, y, out : one shape
    """

def _identity_with_attr_like_rhs(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`lhs` as it is; only inference sees `rhs`, whose shape and type are those of `lhs`."""

def _histogram(
    data: NDArray,
    bins: NDArray | None = None,
    bin_cnt: int | None = None,
    range: float | Sequence[float] | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Counts of the values between bounds, and the bounds.

    Shapes
    ------
    data : any
    bins : (K + 1,)
    out : (K,) of int64 and (K + 1,) of the type of data
    """

def _image_random_brightness(
    data: NDArray,
    min_factor: float,
    max_factor: float,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` multiplied by a factor drawn uniformly from ``[min_factor, max_factor)``.

    Shapes
    ------
    data, out : (H, W, C)     C is 1 or 3
    """

def _image_random_contrast(
    data: NDArray,
    min_factor: float,
    max_factor: float,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` scaled about its mean brightness by a factor drawn uniformly from ``[min_factor, max_factor)``.

    Shapes
    ------
    data, out : (H, W, C)     C is 1 or 3
    """

def _image_random_saturation(
    data: NDArray,
    min_factor: float,
    max_factor: float,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Pixels scaled about their own grey by a factor drawn uniformly from ``[min_factor, max_factor)``.

    Shapes
    ------
    data, out : (H, W, C)     C is 1 or 3; one channel has no colour and stays as it is
    """

def _image_random_hue(
    data: NDArray,
    min_factor: float,
    max_factor: float,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Hues rotated by a fraction of the circle drawn uniformly from ``[min_factor, max_factor)``.

    Shapes
    ------
    data, out : (H, W, C)     C is 1 or 3
    """

def _image_random_color_jitter(
    data: NDArray,
    brightness: float,
    contrast: float,
    saturation: float,
    hue: float,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Brightness, contrast, saturation and hue changed at random, in random order.

    Shapes
    ------
    data, out : (H, W, C)     C is 1 or 3
    """

def _image_adjust_lighting(
    data: NDArray,
    alpha: float | Sequence[float],
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` with multiples of the principal components of ImageNet's colours added, the same to each pixel.

    Shapes
    ------
    data, out : (H, W, C) or (N, H, W, C)     C is 1 or 3
    """

def _image_random_lighting(
    data: NDArray,
    alpha_std: float = 0.05,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`adjust_lighting` with numbers drawn from the normal distribution with standard deviation `alpha_std`.

    Shapes
    ------
    data, out : (H, W, C)     C is 1 or 3
    """

def _image_to_tensor(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Numbers from 0 to 1 as float32, channels first: `data` divided by 255.

    Shapes
    ------
    data : (H, W, C) or (N, H, W, C)
    out : (C, H, W) or (N, C, H, W)
    """

def _image_normalize(
    data: NDArray,
    mean: float | Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    std: float | Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """``(data - mean) / std`` for each channel.

    Shapes
    ------
    data, out : (C, H, W) or (N, C, H, W)     C is 1 or 3
    """

def _image_crop(
    data: NDArray,
    x: int,
    y: int,
    width: int,
    height: int,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The region of `width` and `height` whose first column is `x` and whose first row is `y`.

    Shapes
    ------
    data : (H, W, C) or (N, H, W, C)
    out : (height, width, C) or (N, height, width, C)
    """

def _image_resize(
    data: NDArray,
    size: int | Sequence[int] = (),
    keep_ratio: bool = False,
    interp: int = 1,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` in another size, as OpenCV resizes an image.

    Shapes
    ------
    data : (H, W, C) or (N, H, W, C)
    out : (height, width, C) or (N, height, width, C)
    """

def _image_flip_left_right(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` with its columns in reverse order.

    Shapes
    ------
    data, out : (H, W, C) or (N, H, W, C)
    """

def _image_random_flip_left_right(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data`, or with a probability of one half `data` with its columns in reverse order.

    Shapes
    ------
    data, out : (H, W, C)
    """

def _image_flip_top_bottom(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` with its rows in reverse order.

    Shapes
    ------
    data, out : (H, W, C) or (N, H, W, C)
    """

def _image_random_flip_top_bottom(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data`, or with a probability of one half `data` with its rows in reverse order.

    Shapes
    ------
    data, out : (H, W, C)
    """

def take(
    a: NDArray,
    indices: NDArray,
    axis: int = 0,
    mode: Literal['clip', 'raise', 'wrap'] = 'clip',
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Slices of `a` along an axis at `indices`, whose axes replace that axis."""

def pick(
    data: NDArray,
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

def one_hot(
    indices: NDArray,
    depth: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: DTypeLike = ...,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Vectors of length `depth` with `on_value` at the index, `off_value` elsewhere and for an index out of range."""

def batch_take(
    a: NDArray,
    indices: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """One element of each row of a matrix; indices out of range are cut.

    Shapes
    ------
    a : (N, C)
    indices, out : (N,)
    """

def gather_nd(
    data: NDArray,
    indices: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Elements or slices of `data` at coordinates, which are in the first axis of `indices`.

    Shapes
    ------
    data : (X0, X1, ...)
    indices : (M, Y0, Y1, ...)     M coordinates for each of the first M axes of data
    out : (Y0, Y1, ..., XM, ...)
    """

def scatter_nd(
    data: NDArray,
    indices: NDArray,
    shape: int | Sequence[int],
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Zeros of `shape` with elements or slices of `data` at coordinates; undoes `gather_nd`."""

def _scatter_set_nd(
    lhs: NDArray,
    rhs: NDArray,
    indices: NDArray,
    shape: int | Sequence[int],
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """A copy of `lhs` with elements or slices of `rhs` at coordinates; `shape` is that of `lhs`."""

def _ravel_multi_index(
    data: NDArray,
    shape: int | Sequence[int] | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Positions in a flattened array of `shape` from coordinates, which are in the first axis."""

def _unravel_index(
    data: NDArray,
    shape: int | Sequence[int] | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Coordinates, in the first axis of the result, from positions in a flattened array of `shape`."""

def fill_element_0index(
    lhs: NDArray,
    mhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`lhs` with one element of each row replaced by that of `mhs`, at the column in `rhs`.

    Shapes
    ------
    lhs, out : (N, C)
    mhs, rhs : (N,)
    """

def _onehot_encode(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Rows in the shape and type of `rhs` that are 1 at the column in `lhs` and 0 elsewhere.

    Shapes
    ------
    lhs : (N,)
    rhs, out : (N, C)
    """

def Concat(
    *data: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    dim: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Arrays joined along an axis they have."""

def _rnn_param_concat(
    *data: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    dim: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Arrays joined along an axis; what RNN layers use to pack their parameters."""

def stack(
    *data: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    axis: int = 0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Arrays of one shape joined along a new axis."""

def SliceChannel(
    data: NDArray,
    num_outputs: int,
    axis: int = 1,
    squeeze_axis: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """`data` split along an axis into equal sections."""

def _split_v2(
    data: NDArray,
    indices: int | Sequence[int],
    axis: int = 1,
    squeeze_axis: bool = False,
    sections: int = 0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """`data` split along an axis, into equal `sections` or at `indices`, the first of which is 0."""

def _linalg_potrf(
    A: NDArray,
    lower: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Cholesky factor: the lower triangular L with ``L @ L.T = A``, for symmetric positive definite A."""

def _linalg_potri(
    A: NDArray,
    lower: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Inverse of ``A @ A.T`` for lower triangular A: of the matrix whose Cholesky factor is A."""

def _linalg_gelqf(
    A: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Orthonormal rows Q and lower triangular L with ``L @ Q = A``, in this order.

    Shapes
    ------
    A, output0 : (B..., M, N)     M at most N
    output1 : (B..., M, M)
    """

def _linalg_syevd(
    A: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Eigenvectors, as the rows of U, and ascending eigenvalues L of symmetric A: ``U.T @ diag(L) @ U = A``.

    Shapes
    ------
    A, output0 : (B..., N, N)
    output1 : (B..., N)
    """

def _linalg_inverse(
    A: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Inverse of square matrices."""

def _linalg_det(
    A: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Determinant of square matrices; that of a single one has shape ``(1,)``."""

def _linalg_slogdet(
    A: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Sign of the determinant of square matrices, and the logarithm of its size."""

def _linalg_sumlogdiag(
    A: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Sum of the logarithms of the diagonal; that of a single matrix has shape ``(1,)``."""

def _linalg_gemm(
    A: NDArray,
    B: NDArray,
    C: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Product of matrices and a sum: ``alpha * op(A) @ op(B) + beta * C``.

    Shapes
    ------
    A : (B..., M, K)     with ``transpose_a``: (B..., K, M)
    B : (B..., K, N)     with ``transpose_b``: (B..., N, K)
    C, out : (B..., M, N)
    """

def _linalg_gemm2(
    A: NDArray,
    B: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Product of matrices: ``alpha * op(A) @ op(B)``.

    Shapes
    ------
    A : (B..., M, K)     with ``transpose_a``: (B..., K, M)
    B : (B..., K, N)     with ``transpose_b``: (B..., N, K)
    out : (B..., M, N)
    """

def _linalg_trmm(
    A: NDArray,
    B: NDArray,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Product with a triangular matrix: ``alpha * op(A) @ B``, or ``alpha * B @ op(A)`` with `rightside`.

    Shapes
    ------
    A : (B..., M, M)     with ``rightside``: (B..., N, N)
    B, out : (B..., M, N)
    """

def _linalg_trsm(
    A: NDArray,
    B: NDArray,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Solution X of ``op(A) @ X = alpha * B``, or of ``X @ op(A) = alpha * B`` with `rightside`, for triangular A.

    Shapes
    ------
    A : (B..., M, M)     with ``rightside``: (B..., N, N)
    B, out : (B..., M, N)
    """

def _linalg_syrk(
    A: NDArray,
    transpose: bool = False,
    alpha: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Product of a matrix and itself: ``alpha * A @ A.T``, with `transpose` ``alpha * A.T @ A``.

    Shapes
    ------
    A : (B..., M, N)
    out : (B..., M, M)     with ``transpose``: (B..., N, N)
    """

def _linalg_extractdiag(
    A: NDArray,
    offset: int = 0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Diagonal of square matrices, `offset` above the main one.

    Shapes
    ------
    A : (B..., N, N)
    out : (B..., N - abs(offset))
    """

def _linalg_makediag(
    A: NDArray,
    offset: int = 0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Square matrices of zeros with `A` on the diagonal that is `offset` above the main one.

    Shapes
    ------
    A : (B..., N)
    out : (B..., N + abs(offset), N + abs(offset))
    """

def _linalg_extracttrian(
    A: NDArray,
    offset: int = 0,
    lower: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Triangle of square matrices as one axis: the lower one row after row, the upper one column after column.

    Shapes
    ------
    A : (B..., N, N)
    out : (B..., M * (M + 1) / 2)     M = N - abs(offset)
    """

def _linalg_maketrian(
    A: NDArray,
    offset: int = 0,
    lower: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Square matrices of zeros with a triangle from `A`, in the order of `extracttrian`, which it undoes.

    Shapes
    ------
    A : (B..., M * (M + 1) / 2)
    out : (B..., N, N)     N = M + abs(offset)
    """

def MakeLoss(
    data: NDArray,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: Literal['batch', 'null', 'valid'] = 'null',
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The data itself, as a loss: its gradient is `grad_scale`, whatever follows.

    Shapes
    ------
    data, out : any, the same
    """

def SVMOutput(
    data: NDArray,
    label: NDArray,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The data itself, with the gradient of the hinge loss of one class against the rest.

    Shapes
    ------
    data, out : (..., C)
    label : that of data without the last axis
    """

def LinearRegressionOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The data itself, with the gradient of half the squared error.

    Shapes
    ------
    data, out : (N, ...)
    label : that of data, but for sizes of 1: (N,) goes with (N, 1)
    """

def LogisticRegressionOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The logistic function of the data, with the gradient of the cross-entropy.

    Shapes
    ------
    data, out : (N, ...)
    label : that of data, but for sizes of 1: (N,) goes with (N, 1)
    """

def MAERegressionOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The data itself, with the gradient of the absolute error.

    Shapes
    ------
    data, out : (N, ...)
    label : that of data, but for sizes of 1: (N,) goes with (N, 1)
    """

def SoftmaxOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Literal['batch', 'null', 'valid'] = 'null',
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Softmax whose gradient is that of the cross-entropy between it and `label`.

    Shapes
    ------
    data, out : (N, C)      with ``multi_output``: (N, C, d1, ...); with ``preserve_shape``: (..., C)
    label : that of data without the axis of the classes, or that of data
        With ``multi_output`` also (N, 1, d1, ...) and (N, d1 * d2 ...).
    """

def softmax_cross_entropy(
    data: NDArray,
    label: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Sum over the batch of the cross-entropy between the softmax of `data` and `label`.

    Shapes
    ------
    data : (N, C)
    label : (N,)
    out : (1,)
    """

def dot(
    lhs: NDArray,
    rhs: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Literal['csr', 'default', 'row_sparse'] | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Product over the last axis of `lhs` and the first of `rhs`.

    Shapes
    ------
    lhs : (..., K)       with ``transpose_a``: (K, ...)
    rhs : (K, ...)       with ``transpose_b``: (..., K)
    out : the other axes of lhs, then those of rhs
    """

def batch_dot(
    lhs: NDArray,
    rhs: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Literal['csr', 'default', 'row_sparse'] | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Product of matrices in the last two axes, for each position on the axes before.

    Shapes
    ------
    lhs : (B..., M, K)     with ``transpose_a``: (B..., K, M)
    rhs : (B..., K, N)     with ``transpose_b``: (B..., N, K)
    out : (B..., M, N)
    """

def khatri_rao(
    *args: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Column-wise Kronecker product of matrices.

    Shapes
    ------
    args : (M0, N), (M1, N), ...
    out : (M0 * M1 * ..., N)
    """

def Activation(
    data: NDArray,
    act_type: Literal['relu', 'sigmoid', 'tanh', 'softrelu', 'softsign'],
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Element-wise activation.

    Shapes
    ------
    data, out : any, the same
    """

def LeakyReLU(
    data: NDArray,
    gamma: NDArray | None = None,
    act_type: Literal['elu', 'gelu', 'leaky', 'prelu', 'rrelu', 'selu'] = 'leaky',
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Rectifiers that let something through below zero.

    Shapes
    ------
    data, out : (N, C, ...)
    gamma : (C,) or (1,)     with ``'prelu'`` only
    mask : that of data      with ``'rrelu'`` only: the slopes in training, 1 above zero; zeros otherwise
    """

def _contiguous(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The data, in memory as the order of its axes says."""

def _channels_last(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Images, or volumes, with their channels last in memory; the order of the axes stays.

    Shapes
    ------
    data, out : (N, C, H, W) or (N, C, D, H, W)
    """

def BatchNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Normalize each channel to mean 0 and variance 1 over the batch, then scale and shift it.

    Shapes
    ------
    data, out : any with C at `axis`
    gamma, beta, moving_mean, moving_var : (C,)
    mean, var : (C,)     hidden without ``output_mean_var``; no gradient flows through them
    """

def BatchNorm_v1(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Normalize each channel over the batch: the old form of `BatchNorm`, with the channels on axis 1.

    Shapes
    ------
    data, out : (N, C, ...)
    gamma, beta, moving_mean, moving_var : (C,)
    mean, var : (C,)     hidden without ``output_mean_var``
    """

def _contrib_BatchNormWithReLU(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Normalize each channel over the batch as `BatchNorm` does, and cut off what is below zero.

    Shapes
    ------
    data, out : any with C at `axis`
    gamma, beta, moving_mean, moving_var : (C,)
    mean, var : (C,)     hidden without ``output_mean_var``; no gradient flows through them
    """

def Convolution(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
    kernel: int | Sequence[int] = ...,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    num_filter: int = ...,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: Literal['off', 'limited_workspace', 'fastest'] | None = None,
    cudnn_off: bool = False,
    layout: Literal['NCW', 'NCHW', 'NCDHW', 'NHWC', 'NDHWC'] | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Correlation of `data` with a bank of filters in one, two or three dimensions.

    Shapes
    ------
    data : (N, C, *spatial)                           with channels last: (N, *spatial, C)
    weight : (num_filter, C / num_group, *kernel)     with channels last: (num_filter, *kernel, C / num_group)
    bias : (num_filter,)                              absent when ``no_bias``
    out : (N, num_filter, *windows)
        ``windows = (spatial + 2 pad - dilate (kernel - 1) - 1) // stride + 1``
    """

def Convolution_v1(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
    kernel: int | Sequence[int] = ...,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    num_filter: int = ...,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: Literal['off', 'limited_workspace', 'fastest'] | None = None,
    cudnn_off: bool = False,
    layout: Literal['NCW', 'NCHW', 'NCDHW', 'NHWC', 'NDHWC'] | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Correlation of `data` with a bank of filters in one, two or three dimensions.

    Shapes
    ------
    data : (N, C, *spatial)                           with channels last: (N, *spatial, C)
    weight : (num_filter, C / num_group, *kernel)     with channels last: (num_filter, *kernel, C / num_group)
    bias : (num_filter,)                              absent when ``no_bias``
    out : (N, num_filter, *windows)
        ``windows = (spatial + 2 pad - dilate (kernel - 1) - 1) // stride + 1``
    """

def Deconvolution(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
    kernel: int | Sequence[int] = ...,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    adj: int | Sequence[int] = (),
    target_shape: int | Sequence[int] = (),
    num_filter: int = ...,
    num_group: int = 1,
    workspace: int = 512,
    no_bias: bool = True,
    cudnn_tune: Literal['off', 'limited_workspace', 'fastest'] | None = None,
    cudnn_off: bool = False,
    layout: Literal['NCW', 'NCHW', 'NCDHW', 'NHWC', 'NDHWC'] | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Transpose of a convolution: what a convolution with these parameters does to a gradient.

    Shapes
    ------
    data : (N, C, *spatial)                           with channels last: (N, *spatial, C)
    weight : (C, num_filter / num_group, *kernel)     with channels last: (C, *kernel, num_filter / num_group)
    bias : (num_filter,)                              absent when ``no_bias``
    out : (N, num_filter, *sizes)
        ``sizes = stride (spatial - 1) + dilate (kernel - 1) + 1 - 2 pad + adj``, or `target_shape`
    """

def CTCLoss(
    data: NDArray,
    label: NDArray,
    data_lengths: NDArray | None = None,
    label_lengths: NDArray | None = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal['first', 'last'] = 'first',
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Connectionist temporal classification: ``-log p(label | data)`` of each sequence.

    Shapes
    ------
    data : (T, N, C)               scores, before the softmax
    label : (N, L)                 of any type
    data_lengths, label_lengths : (N,)      of any type; absent without their flags
    out : (N,)
    """

def WarpCTC(
    data: NDArray,
    label: NDArray,
    label_length: int,
    input_length: int,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Softmax of each time step, whose gradient is that of `CTCLoss`, summed over the sequences.

    Shapes
    ------
    data, out : (T * N, C)      scores, before the softmax
    label : (N * L,)            of any type
    """

def Dropout(
    data: NDArray,
    p: float = 0.5,
    mode: Literal['training', 'always'] = 'training',
    axes: int | Sequence[int] = (),
    cudnn_off: bool | None = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Zeros in place of randomly chosen elements; the others are scaled up so that the mean stays.

    Shapes
    ------
    data, out : any, the same
    mask : that of data, with 1 at `axes`; hidden, and None when nothing is to be dropped
    """

def FullyConnected(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
    num_hidden: int = ...,
    no_bias: bool = False,
    flatten: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Affine map ``data @ weight.T + bias``.

    Shapes
    ------
    data : (N, ...)            with ``flatten=False``: (..., C)
    weight : (num_hidden, C)   C = product of the trailing axes of data
    bias : (num_hidden,)       absent when ``no_bias``
    out : (N, num_hidden)      with ``flatten=False``: (..., num_hidden)
    """

def _joint_fully_connected(
    *inputs: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    num_hidden: int,
    no_bias: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """`FullyConnected` of several arrays with the same weights, in one product.

    Shapes
    ------
    inputs : (N1, ...), (N2, ...), ..., weight (num_hidden, C), bias (num_hidden,) without ``no_bias``
    out : (N1, num_hidden), (N2, num_hidden), ...
    """

def Embedding(
    data: NDArray,
    weight: NDArray,
    input_dim: int,
    output_dim: int,
    dtype: DTypeLike = ...,
    sparse_grad: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Rows of `weight` chosen by the indices in `data`.

    Shapes
    ------
    data : (...)
    weight : (input_dim, output_dim)
    out : (..., output_dim)
    """

def _contrib_SparseEmbedding(
    data: NDArray,
    weight: NDArray,
    input_dim: int,
    output_dim: int,
    dtype: DTypeLike = ...,
    deterministic: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The older name of ``Embedding(sparse_grad=True)``, in files an operator of its own."""

def _joint_cells(
    data: NDArray,
    i2h_weight: NDArray,
    i2h_bias: NDArray,
    state: NDArray,
    h2h_weight: NDArray,
    h2h_bias: NDArray | None = None,
    state_cell: NDArray | None = None,
    mode: Literal['rnn_relu', 'rnn_tanh', 'lstm', 'gru'] = ...,
    state_size: int = ...,
    gates: int | Sequence[int] = (),
    no_i2h_bias: bool = False,
    no_h2h_bias: bool = False,
    from_zero: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Cells with the same weights in a chain: all steps of a recurrent layer in one call.

    Shapes
    ------
    data : (T, N, ...)
    i2h_weight : (gates * H, C)    C = product of the trailing axes of data
    h2h_weight : (gates * H, H)
    i2h_bias, h2h_bias : (gates * H,)
    state, state_cell : (N, H)     absent with ``from_zero``; `state_cell` for ``'lstm'`` only
    output : (T, N, H)
    state_output, statecell_output : (N, H)
    """

def _stack_rows(
    *data: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The arrays of all steps as one: the rows that `FullyConnected` takes from each, along a new first axis.

    Shapes
    ------
    data : (N, ...), (N, ...), ...
    out : (T, N, C)    C = product of the trailing axes
    """

def LayerNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    axis: int = -1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Normalize along one axis to mean 0 and variance 1, then scale and shift.

    Shapes
    ------
    data, out : any with C at `axis`
    gamma, beta : (C,)
    mean, std : those of data with 1 at `axis`; hidden without ``output_mean_var``
    """

def GroupNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    num_groups: int = 1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Normalize each group of channels of each instance to mean 0 and variance 1, then scale and shift.

    Shapes
    ------
    data, out : (N, C, ...)
    gamma, beta : (num_groups,)
    mean, std : (N, num_groups)     hidden without ``output_mean_var``
    """

def InstanceNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    eps: float = 0.001,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Normalize each channel of each instance to mean 0 and variance 1, then scale and shift.

    Shapes
    ------
    data, out : (N, C, ...)
    gamma, beta : (C,)
    """

def L2Normalization(
    data: NDArray,
    eps: float = 1e-10,
    mode: Literal['channel', 'instance', 'spatial'] = 'instance',
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Divide by the Euclidean length, the root of the sum of squares plus `eps`.

    Shapes
    ------
    data, out : (N, C, ...)
    """

def LRN(
    data: NDArray,
    alpha: float = 0.0001,
    beta: float = 0.75,
    knorm: float = 2.0,
    nsize: int = ...,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Local response normalization: ``x / (knorm + alpha / nsize * s) ** beta``.

    Shapes
    ------
    data, out : (N, C, ...)
    """

def Pooling(
    data: NDArray,
    kernel: int | Sequence[int] = (),
    pool_type: Literal['avg', 'lp', 'max', 'sum'] = 'max',
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: Literal['full', 'same', 'valid'] = 'valid',
    stride: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: Literal['NCDHW', 'NCHW', 'NCW', 'NDHWC', 'NHWC', 'NWC'] | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Maximum, mean, sum or p-norm over windows in one, two or three dimensions.

    Shapes
    ------
    data : (N, C, *spatial)      with channels last: (N, *spatial, C)
    out : (N, C, *windows)       ``windows = (spatial + 2 pad - kernel) / stride + 1``, rounded by the convention
    """

def Pooling_v1(
    data: NDArray,
    kernel: int | Sequence[int] = (),
    pool_type: Literal['avg', 'max', 'sum'] = 'max',
    global_pool: bool = False,
    pooling_convention: Literal['full', 'valid'] = 'valid',
    stride: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Maximum, mean or sum over windows in two dimensions: the old form of `Pooling`.

    Shapes
    ------
    data : (N, C, H, W)
    out : (N, C, *windows)
    """

def RNN(
    data: NDArray,
    parameters: NDArray,
    state: NDArray,
    state_cell: NDArray | None = None,
    sequence_length: NDArray | None = None,
    state_size: int = ...,
    num_layers: int = ...,
    bidirectional: bool = False,
    mode: Literal['rnn_relu', 'rnn_tanh', 'lstm', 'gru'] = ...,
    p: float = 0.0,
    state_outputs: bool = False,
    projection_size: int | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Recurrent layers over a sequence, with the parameters of all of them in one vector.

    Shapes
    ------
    data : (T, N, C)
    parameters : (size,)           follows from the data and the parameters
    state : (L, N, P or H)         ``L = num_layers``, doubled with ``bidirectional``
    state_cell : (L, N, H)         for ``'lstm'`` only
    sequence_length : (N,)         absent without ``use_sequence_length``; each in [1, T]
    out : (T, N, P or H)           the last size doubled with ``bidirectional``
    state_output, statecell_output : those of state and state_cell
    """

def SoftmaxActivation(
    data: NDArray,
    mode: Literal['channel', 'instance'] = 'instance',
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Softmax along the last axis or over the channels; deprecated in MXNet in favour of `softmax`.

    Shapes
    ------
    data, out : (N, C, ...)
    """

def softmax(
    data: NDArray,
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
    data: NDArray,
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

def log_softmax(
    data: NDArray,
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

def _contrib_SyncBatchNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    ndev: int = 1,
    key: str = ...,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Normalize each channel to mean 0 and variance 1 over the batches of all processes, then scale and shift it.

    Shapes
    ------
    data, out : (N, C, ...)
    gamma, beta, moving_mean, moving_var : (C,)
    mean, var : (C,)     hidden without ``output_mean_var``; no gradient flows through them
    """

def _onnx_integer_division(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Quotients of integers, cut towards 0."""

def _onnx_modulo(
    lhs: NDArray,
    rhs: NDArray,
    sign_of_dividend: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Remainders with the sign of the divisor, or of the dividend."""

def _onnx_round(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The nearest integers; of two the even one."""

def _onnx_bit_cast(
    data: NDArray,
    dtype: DTypeLike,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The bits of `data` as a type of the same width."""

def _onnx_bitwise(
    lhs: NDArray,
    rhs: NDArray,
    kind: Literal['and', 'or', 'xor', 'left', 'right'],
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Logical functions of bits, and bits moved by as many positions as `rhs` says."""

def _onnx_log_sum_exp(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The logarithm of the sum of exponentials along axes, by default all."""

def _onnx_cumulative(
    data: NDArray,
    axis: int,
    kind: Literal['sum', 'prod'] = 'sum',
    exclusive: bool = False,
    reverse: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Running sums or products along an axis."""

def _onnx_matmul(
    lhs: NDArray,
    rhs: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Products of matrices in the last two axes; the axes before them are broadcast."""

def _onnx_einsum(
    *data: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    equation: str,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Products summed over the axes whose letters the result lacks."""

def _onnx_triangle(
    data: NDArray,
    k: int = 0,
    upper: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The upper or lower triangles of matrices, from the diagonal `k` on, and 0."""

def _onnx_gather_elements(
    data: NDArray,
    indices: NDArray,
    axis: int = 0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The elements at positions of one axis; on the other axes their positions are those of the index itself."""

def _onnx_scatter_elements(
    data: NDArray,
    indices: NDArray,
    updates: NDArray,
    axis: int = 0,
    reduction: Literal['none', 'add', 'mul', 'max', 'min'] = 'none',
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` with elements written at positions of one axis, or combined with those that are there."""

def _onnx_gather_nd(
    data: NDArray,
    indices: NDArray,
    batch_dims: int = 0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Slices of `data` at positions, the last axis of `indices`; the first axes may belong together."""

def _onnx_scatter_nd(
    data: NDArray,
    indices: NDArray,
    updates: NDArray,
    reduction: Literal['none', 'add', 'mul', 'max', 'min'] = 'none',
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` with slices written at positions, or combined with those that are there."""

def _onnx_tensor_scatter(
    data: NDArray,
    updates: NDArray,
    positions: NDArray | None = None,
    axis: int = -2,
    circular: bool = False,
    has_positions: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` with `updates` along an axis, from a position for each element of the batch on."""

def _onnx_cast_through(
    data: NDArray,
    kind: Literal['uint2', 'int2', 'uint4', 'int4', 'uint16', 'uint32', 'float4e2m1', 'float8e4m3fn', 'float8e4m3fnuz', 'float8e5m2', 'float8e5m2fnuz', 'float8e8m0'],
    saturate: bool = True,
    rounding: Literal['up', 'down', 'nearest'] = 'up',
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """What `data` is after a cast to a type that arrays do not have, and back; the gradient is a cast's."""

def _onnx_pool(
    data: NDArray,
    kernel: int | Sequence[int],
    stride: int | Sequence[int],
    dilate: int | Sequence[int],
    pads: int | Sequence[int],
    ceil_mode: bool = False,
    kind: Literal['max', 'avg', 'lp'] = 'max',
    count_include_pad: bool = False,
    p: float = 2.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The greatest element, the mean or the norm of each window."""

def _onnx_max_pool(
    data: NDArray,
    kernel: int | Sequence[int],
    stride: int | Sequence[int],
    dilate: int | Sequence[int],
    pads: int | Sequence[int],
    ceil_mode: bool = False,
    column_major: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """The greatest element of each window, and its position in all of `data`."""

def _onnx_max_unpool(
    data: NDArray,
    indices: NDArray,
    image: int | Sequence[int],
    output: int | Sequence[int],
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Elements at the positions that max pooling gave, of an image that lies in the first corner of a larger one."""

def _onnx_col2im(
    data: NDArray,
    image: int | Sequence[int],
    block: int | Sequence[int],
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pads: int | Sequence[int] = (),
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Columns of windows added up to images of any number of axes.

    Shapes
    ------
    data : (N, C * K, L)    K elements of a window, L windows
    out : (N, C, *image)
    """

def _onnx_resize(
    data: NDArray,
    axes: int | Sequence[int],
    scales: float | Sequence[float] = (),
    sizes: int | Sequence[int] = (),
    mode: Literal['nearest', 'linear', 'cubic'] = 'nearest',
    coordinates: Literal['align_corners', 'asymmetric', 'half_pixel', 'half_pixel_symmetric', 'pytorch_half_pixel', 'tf_crop_and_resize', 'tf_half_pixel_for_nn'] = 'half_pixel',
    nearest: Literal['ceil', 'floor', 'round_prefer_ceil', 'round_prefer_floor'] = 'round_prefer_floor',
    cubic: float = -0.75,
    exclude_outside: bool = False,
    extrapolation: float = 0.0,
    region: float | Sequence[float] = (),
    antialias: bool = False,
    policy: Literal['stretch', 'not_larger', 'not_smaller'] = 'stretch',
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` with other sizes along axes, each interpolated by itself."""

def _onnx_grid_sample(
    data: NDArray,
    grid: NDArray,
    mode: Literal['linear', 'nearest', 'cubic'] = 'linear',
    padding: Literal['zeros', 'border', 'reflection'] = 'zeros',
    align_corners: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Samples of an image of any number of axes at the positions of a grid, which are from -1 to 1.

    Shapes
    ------
    data : (N, C, *image)
    grid : (N, *result, axes of the image)      the last axis of the image first
    out : (N, C, *result)
    """

def _onnx_non_zero(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Positions of the elements that are not 0, a row for each axis."""

def _onnx_unique(
    data: NDArray,
    axis: int | None = None,
    sorted: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Distinct elements or slices, where they are first, which of them each one is, and how often they occur."""

def _onnx_non_max_suppression(
    boxes: NDArray,
    scores: NDArray,
    most: int = 0,
    iou_threshold: float = 0.0,
    score_threshold: float | None = None,
    center_point: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Of each class the boxes, best first, that overlap no better one too far.

    Shapes
    ------
    boxes : (N, B, 4)
    scores : (N, C, B)
    out : (K, 3)      numbers of batch, class and box
    """

def _onnx_dft(
    data: NDArray,
    axis: int,
    length: int | None = None,
    inverse: bool = False,
    onesided: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The discrete Fourier transform along an axis, or its inverse."""

def _onnx_stft(
    data: NDArray,
    window: NDArray,
    step: int,
    length: int,
    onesided: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Fourier transforms of parts of a signal that begin `step` after each other, each times `window`.

    Shapes
    ------
    data : (N, T, 1) or (N, T, 2)
    window : (length,)
    out : (N, parts, bins, 2)
    """

def _cvimdecode(
    buf: NDArray,
    flag: int = 1,
    to_rgb: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The image in the bytes of a file (JPEG, PNG and whatever else OpenCV reads), as uint8.

    Shapes
    ------
    buf : any
    out : (H, W, 3), grey (H, W, 1)
    """

def _cvimread(
    filename: str,
    flag: int = 1,
    to_rgb: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The image in a file (JPEG, PNG and whatever else OpenCV reads), as uint8; see `cvimdecode`.

    Shapes
    ------
    out : (H, W, 3), grey (H, W, 1)
    """

def _cvimresize(
    src: NDArray,
    w: int,
    h: int,
    interp: int = 1,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`src` in another size, as ``image.resize`` computes it.

    Shapes
    ------
    src : (H, W, C)
    out : (h, w, C)
    """

def _cvcopyMakeBorder(
    src: NDArray,
    top: int,
    bot: int,
    left: int,
    right: int,
    type: int = 0,
    value: float = 0.0,
    values: float | Sequence[float] = (),
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`src` with a margin around it.

    Shapes
    ------
    src : (H, W, C)
    out : (top + H + bot, left + W + right, C)
    """

def im2col(
    data: NDArray,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """All windows of the data as columns, in one, two or three dimensions.

    Shapes
    ------
    data : (N, C, *spatial)
    out : (N, C * K, W)       K elements of a window; W windows, the last axis of the data running fastest in both
    """

def col2im(
    data: NDArray,
    output_size: int | Sequence[int],
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Columns of windows added up where they lie in the result: the transpose, and the gradient, of `im2col`.

    Shapes
    ------
    data : (N, C * K, W)       K elements of a window, W windows
    out : (N, C, *output_size)
    """

def _random_pdf_uniform(
    sample: NDArray,
    low: NDArray,
    high: NDArray,
    is_log: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Density of the uniform distribution: ``1 / (high - low)`` in ``[low, high]``.

    Shapes
    ------
    sample : (*shape of the parameters, ...)
    out : shape of sample
    """

def _random_pdf_normal(
    sample: NDArray,
    mu: NDArray,
    sigma: NDArray,
    is_log: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Density of the normal distribution with mean `mu` and standard deviation `sigma`.

    Shapes
    ------
    sample : (*shape of the parameters, ...)
    out : shape of sample
    """

def _random_pdf_gamma(
    sample: NDArray,
    alpha: NDArray,
    beta: NDArray,
    is_log: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Density of the gamma distribution with shape `alpha` and rate `beta` (a rate here, a scale where one draws).

    Shapes
    ------
    sample : (*shape of the parameters, ...)
    out : shape of sample
    """

def _random_pdf_exponential(
    sample: NDArray,
    lam: NDArray,
    is_log: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Density of the exponential distribution with rate `lam`.

    Shapes
    ------
    sample : (*shape of the parameters, ...)
    out : shape of sample
    """

def _random_pdf_poisson(
    sample: NDArray,
    lam: NDArray,
    is_log: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Probability of a count under the Poisson distribution with mean `lam`, interpolated between integers.

    Shapes
    ------
    sample : (*shape of the parameters, ...)
    out : shape of sample
    """

def _random_pdf_negative_binomial(
    sample: NDArray,
    k: NDArray,
    p: NDArray,
    is_log: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Probability of a count under the negative binomial distribution, interpolated between integers.

    Shapes
    ------
    sample : (*shape of the parameters, ...)
    out : shape of sample
    """

def _random_pdf_generalized_negative_binomial(
    sample: NDArray,
    mu: NDArray,
    alpha: NDArray,
    is_log: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Probability of a count under the negative binomial distribution with mean `mu` and dispersion `alpha`.

    Shapes
    ------
    sample : (*shape of the parameters, ...)
    out : shape of sample
    """

def _random_pdf_dirichlet(
    sample: NDArray,
    alpha: NDArray,
    is_log: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Density of the Dirichlet distribution with concentrations `alpha`.

    Shapes
    ------
    sample : (..., K)
    alpha : (*leading axes of sample, K)     or fewer of these axes, the first ones; (K,) for all
    out : shape of sample without its last axis
    """

def _contrib_calibrate_entropy(
    hist: NDArray,
    hist_edges: NDArray,
    num_quantized_bins: int = 255,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Threshold at which the distribution in 8 bits differs least from the distribution, by Kullback and Leibler.

    Shapes
    ------
    hist : (B,)                 counts, B odd and at least num_quantized_bins; the middle bin holds 0
    hist_edges : (B + 1,)       edges of the bins
    threshold, divergence : (1,)
    """

def _contrib_quantize(
    data: NDArray,
    min_range: NDArray,
    max_range: NDArray,
    out_type: Literal['int8', 'uint8'] = 'uint8',
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Levels of `data` within a given range: ``data / max(|min_range|, |max_range|)`` times 127 or 255, rounded.

    Shapes
    ------
    data, output0 : (...)
    min_range, max_range : (1,)
    output1, output2 : (1,)     the range: for int8 symmetric, for uint8 as given
    """

def _contrib_quantize_v2(
    data: NDArray,
    out_type: Literal['auto', 'int8', 'uint8'] = 'int8',
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Levels of `data` within a calibrated range, or within its own: ``data / largest`` times 127.5 or 255.5, rounded.

    Shapes
    ------
    data, output0 : (...)
    output1, output2 : (1,)     the range: for int8 symmetric, for uint8 as it is
    """

def _contrib_quantize_asym(
    data: NDArray,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Levels of `data` in uint8 with a zero of its own: ``data * scale + shift``, rounded, halves up.

    Shapes
    ------
    data, output : (...)
    scale, shift : (1,)
    """

def _contrib_dequantize(
    data: NDArray,
    min_range: NDArray,
    max_range: NDArray,
    out_type: Literal['float32'] = 'float32',
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Real numbers that the levels in `data` represent: ``data * max(|min_range|, |max_range|) / 127.5``.

    Shapes
    ------
    data, out : (...)
    min_range, max_range : (1,)
    """

def _contrib_requantize(
    data: NDArray,
    min_range: NDArray,
    max_range: NDArray,
    out_type: Literal['auto', 'int8', 'uint8'] = 'int8',
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Levels in int8 or uint8 of sums in int32, within a calibrated range or within what the sums reach.

    Shapes
    ------
    data, output0 : (...)
    min_range, max_range : (1,)     of the whole int32
    output1, output2 : (1,)         the range: symmetric for int8, from 0 for uint8
    """

def _contrib_quantized_concat(
    *data: NDArray | Sequence[NDArray],
    num_args: int,
    dim: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Arrays joined along an axis, in levels of the widest of their ranges.

    Shapes
    ------
    data : (..., Ci, ...)     Ci in `dim`, int8 or uint8
    output : (..., C1 + C2 + ..., ...)
    min_output, max_output : (1,)     the least and the greatest end
    """

def _contrib_quantized_elemwise_add(
    lhs: NDArray,
    rhs: NDArray,
    lhs_min: NDArray,
    lhs_max: NDArray,
    rhs_min: NDArray,
    rhs_max: NDArray,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Sum of two quantized arrays: int32, or 8 bits within a calibrated range.

    Shapes
    ------
    lhs, rhs, output : (...)
    lhs_min, lhs_max, rhs_min, rhs_max, min_output, max_output : (1,)
    """

def _contrib_quantized_elemwise_mul(
    lhs: NDArray,
    rhs: NDArray,
    lhs_min: NDArray,
    lhs_max: NDArray,
    rhs_min: NDArray,
    rhs_max: NDArray,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    enable_float_output: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Product of two quantized arrays: exact in int32, int8 within a calibrated range, or real numbers.

    Shapes
    ------
    lhs, rhs, output : (...)
    lhs_min, lhs_max, rhs_min, rhs_max, min_output, max_output : (1,)
    """

def _contrib_quantized_fully_connected(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
    min_data: NDArray | None = None,
    max_data: NDArray | None = None,
    min_weight: NDArray | None = None,
    max_weight: NDArray | None = None,
    min_bias: NDArray | None = None,
    max_bias: NDArray | None = None,
    num_hidden: int = ...,
    no_bias: bool = False,
    flatten: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """``data @ weight.T + bias`` in whole numbers: exact sums in int32.

    Shapes
    ------
    data : (N, ...)            int8 or uint8; with ``flatten=False``: (..., C)
    weight : (num_hidden, C)   int8
    bias : (num_hidden,)       int8
    min_data, max_data, min_weight, max_weight, min_bias, max_bias : (1,)
    output : (N, num_hidden)   int32; with ``flatten=False``: (..., num_hidden)
    min_output, max_output : (1,)     of the whole int32
    """

def _contrib_quantized_conv(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
    min_data: NDArray | None = None,
    max_data: NDArray | None = None,
    min_weight: NDArray | None = None,
    max_weight: NDArray | None = None,
    min_bias: NDArray | None = None,
    max_bias: NDArray | None = None,
    kernel: int | Sequence[int] = ...,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    num_filter: int = ...,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: Literal['off', 'limited_workspace', 'fastest'] | None = None,
    cudnn_off: bool = False,
    layout: Literal['NCW', 'NCHW', 'NCDHW', 'NHWC', 'NDHWC'] | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Correlation of quantized data with a bank of filters: exact sums in int32.

    Shapes
    ------
    data : (N, C, *spatial)                           int8 or uint8; with channels last: (N, *spatial, C)
    weight : (num_filter, C / num_group, *kernel)     int8; with channels last: (num_filter, *kernel, C / num_group)
    bias : (num_filter,)                              int8
    min_data, max_data, min_weight, max_weight, min_bias, max_bias : (1,)
    output : (N, num_filter, *windows)                int32
    min_output, max_output : (1,)                     of the whole int32
    """

def _contrib_quantized_batch_norm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Normalize each channel of quantized data by its moving statistics; the result is int8.

    Shapes
    ------
    data, output : (N, C, ...)     C in `axis`; int8 or uint8, the result int8
    gamma, beta, moving_mean, moving_var : (C,)
    min_data, max_data, min_output, max_output : (1,)
    """

def _contrib_quantized_rnn(
    data: NDArray,
    parameters: NDArray,
    state: NDArray,
    state_cell: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    state_size: int,
    num_layers: int,
    bidirectional: bool = False,
    mode: Literal['rnn_relu', 'rnn_tanh', 'lstm', 'gru'] = ...,
    p: float = 0.0,
    state_outputs: bool = False,
    projection_size: int | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
    quantized: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """LSTM layers on the uint8 data of `_contrib_quantize_asym`, with weights held to the levels of int8.

    Shapes
    ------
    data : (T, N, C)     uint8
    parameters, state, state_cell, output, state_output, statecell_ouput
        As in `RNN`.
    min_data, max_data : (1,)
    """

def _contrib_quantized_act(
    data: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    act_type: Literal['relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'],
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Rectifier of quantized data: negative levels become 0; the range stays as it is.

    Shapes
    ------
    data, output : (...)     int8 or uint8
    min_data, max_data, min_output, max_output : (1,)
    """

def _contrib_quantized_flatten(
    data: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """All axes but the first as one; the range stays as it is.

    Shapes
    ------
    data : (N, ...)
    output : (N, C)     C = product of the trailing axes of data
    min_data, max_data, min_output, max_output : (1,)
    """

def _contrib_quantized_pooling(
    data: NDArray,
    min_data: NDArray,
    max_data: NDArray,
    kernel: int | Sequence[int] = (),
    pool_type: Literal['avg', 'lp', 'max', 'sum'] = 'max',
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: Literal['full', 'same', 'valid'] = 'valid',
    stride: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: Literal['NCDHW', 'NCHW', 'NCW', 'NDHWC', 'NHWC', 'NWC'] | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Maximum or mean over windows of quantized data; a mean is rounded, halves to even. The range stays as it is.

    Shapes
    ------
    data : (N, C, *spatial)       int8 or uint8; with channels last: (N, *spatial, C)
    output : (N, C, *windows)     of the type of data
    min_data, max_data, min_output, max_output : (1,)
    """

def _contrib_quantized_embedding(
    data: NDArray,
    weight: NDArray,
    min_weight: NDArray,
    max_weight: NDArray,
    input_dim: int,
    output_dim: int,
    dtype: DTypeLike = ...,
    sparse_grad: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Rows of a table in int8 chosen by the indices in `data`; the range stays as it is.

    Shapes
    ------
    data : (...)
    weight : (input_dim, output_dim)     int8
    output : (..., output_dim)           int8
    min_weight, max_weight, min_output, max_output : (1,)
    """

def sum(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Sum along axes."""

def mean(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Mean along axes; of integers, rounded towards 0."""

def prod(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Product along axes."""

def nansum(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Sum along axes, nan counting as 0."""

def nanprod(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Product along axes, nan counting as 1."""

def max(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Largest element along axes; each of several largest gets the full gradient."""

def min(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Smallest element along axes; each of several smallest gets the full gradient."""

def _square_sum(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Sum of squares along axes."""

def norm(
    data: NDArray,
    ord: int = 2,
    axis: int | Sequence[int] | None = None,
    out_dtype: DTypeLike | None = None,
    keepdims: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Norm of the elements along axes: the sum of absolute values (``ord=1``) or the root of the sum of squares."""

def argmax(
    data: NDArray,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Position of the first of the largest elements along an axis, in data's type; of the flattened array without."""

def argmin(
    data: NDArray,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Position of the first of the smallest elements along an axis, in data's type; of the flattened array without."""

def argmax_channel(
    data: NDArray,
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

def moments(
    data: NDArray,
    axes: int | Sequence[int] | None = None,
    keepdims: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Mean and variance along axes, of integers rounded towards 0; all axes where MXNet asks for their names."""

def _np_cumsum(
    a: NDArray,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Running sum along an axis, of the flattened array without one."""

def all_finite(
    data: NDArray,
    init_output: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 when no element is infinite or nan, else 0. `init_output` has no effect."""

def multi_all_finite(
    *data: NDArray | Sequence[NDArray],
    num_arrays: int | None = None,
    init_output: bool = True,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """1 when no element of any array is infinite or nan, else 0. `init_output` has no effect."""

def multi_sum_sq(
    *data: NDArray | Sequence[NDArray],
    num_arrays: int | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Sum of squares of each array."""

def ROIPooling(
    data: NDArray,
    rois: NDArray,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Maximum of `data` over each bin of each box, whose edges are rounded to whole pixels.

    Shapes
    ------
    data : (N, C, H, W)
    rois : (R, 5)         image, x1, y1, x2, y2, both corners inside the box
    out : (R, C, h, w)
    """

def _contrib_ROIAlign(
    data: NDArray,
    rois: NDArray,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Mean of `data` over each bin of each box, at evenly spaced points between the pixels; nothing is rounded.

    Shapes
    ------
    data : (N, C, H, W)        with `position_sensitive`: (N, C * h * w, H, W)
    rois : (R, 5)              image, x1, y1, x2, y2
    out : (R, C, h, w)
    """

def _contrib_RROIAlign(
    data: NDArray,
    rois: NDArray,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    sampling_ratio: int = -1,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Mean of `data` over each bin of each box, as `ROIAlign` has it, for boxes that are turned.

    Shapes
    ------
    data : (N, C, H, W)
    rois : (R, 6)        image, x and y of the centre, width, height, angle in degrees
    out : (R, C, h, w)
    """

def _contrib_PSROIPooling(
    data: NDArray,
    rois: NDArray,
    spatial_scale: float,
    output_dim: int,
    pooled_size: int,
    group_size: int = 0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Mean of `data` over each bin of each box, where each bin reads maps of its own (R-FCN).

    Shapes
    ------
    data : (N, output_dim * group_size**2, H, W)     channel ``(c * group_size + i) * group_size + j`` for map (i, j)
    rois : (R, 5)                                    image, x1, y1, x2, y2, both corners inside the box
    out : (R, output_dim, pooled_size, pooled_size)
    """

def _contrib_DeformablePSROIPooling(
    data: NDArray,
    rois: NDArray,
    trans: NDArray | None = None,
    spatial_scale: float = ...,
    output_dim: int = ...,
    group_size: int = ...,
    pooled_size: int = ...,
    part_size: int = 0,
    sample_per_part: int = 1,
    trans_std: float = 0.0,
    no_trans: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Mean of `data` over each bin of each box, where each bin reads maps of its own and is shifted by `trans`.

    Shapes
    ------
    data : (N, output_dim * group_size**2, H, W)
    rois : (R, 5)                                    image, x1, y1, x2, y2, both corners inside the box
    trans : (R, 2 * K, part_size, part_size)         x and y for each of K classes, which have output_dim / K channels
    out : (R, output_dim, pooled_size, pooled_size)
    """

def IdentityAttachKLSparseReg(
    data: NDArray,
    moving_avg: NDArray,
    sparseness_target: float = 0.1,
    penalty: float = 0.001,
    momentum: float = 0.9,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The data itself, a sigmoid's output, with a gradient that draws the mean of each unit to a target.

    Shapes
    ------
    data, out : (N, C, ...)      C units, each averaged over all the other axes
    moving_avg : (C,)
    """

def broadcast_to(
    data: NDArray,
    shape: int | Sequence[int] = (),
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` repeated along axes of size 1 up to `shape`, in which 0 leaves a size as it is."""

def broadcast_axis(
    data: NDArray,
    axis: int | Sequence[int] = (),
    size: int | Sequence[int] = (),
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` repeated along some axes of size 1, up to the sizes given for them."""

def broadcast_like(
    lhs: NDArray,
    rhs: NDArray,
    lhs_axes: int | Sequence[int] | None = None,
    rhs_axes: int | Sequence[int] | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`lhs` repeated along axes of size 1 up to the shape of `rhs`; with axes given, up to those of `rhs` only."""

def tile(
    data: NDArray,
    reps: int | Sequence[int],
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` laid side by side, ``reps`` times along each axis."""

def repeat(
    data: NDArray,
    repeats: int,
    axis: int | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Each element, or each slice along `axis`, repeated; without an axis, of the flattened array."""

def Pad(
    data: NDArray,
    mode: Literal['constant', 'edge', 'reflect'],
    pad_width: int | Sequence[int],
    constant_value: float = 0.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` with a border: of a constant, of the nearest element, or of a mirror image."""

def reset_arrays(
    *data: NDArray | Sequence[NDArray],
    num_arrays: int | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Write zeros into arrays, of any shapes and types, and return nothing."""

def Reshape(
    data: NDArray,
    shape: int | Sequence[int] = (),
    reverse: bool = False,
    target_shape: int | Sequence[int] = (),
    keep_highest: bool = False,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` in another shape, its elements in the same order."""

def Flatten(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` as a matrix: all axes but the first become one.

    Shapes
    ------
    data : (N, ...)
    out : (N, product of the others)
    """

def reshape_like(
    lhs: NDArray,
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

def BilinearSampler(
    data: NDArray,
    grid: NDArray,
    cudnn_off: bool | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Values of images at the positions of a grid, interpolated between the four pixels around each.

    Shapes
    ------
    data : (N, C, H, W)
    grid : (N, 2, H', W')      the horizontal position x, then the vertical one y
    out : (N, C, H', W')
    """

def GridGenerator(
    data: NDArray,
    transform_type: Literal['affine', 'warp'],
    target_shape: int | Sequence[int] = (0, 0),
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Positions for `BilinearSampler`: those of an affine map, or of the pixels displaced by a flow.

    Shapes
    ------
    data : (N, 6)              with ``'warp'``: (N, 2, H, W), to the right and down
    out : (N, 2, H, W)         x, then y
    """

def SpatialTransformer(
    data: NDArray,
    loc: NDArray,
    target_shape: int | Sequence[int] = (0, 0),
    transform_type: Literal['affine'] = ...,
    sampler_type: Literal['bilinear'] = ...,
    cudnn_off: bool | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Images seen through an affine map: `BilinearSampler` on the grid that `GridGenerator` makes of `loc`.

    Shapes
    ------
    data : (N, C, H, W)
    loc : (N, 6)
    out : (N, C, *target_shape)
    """

def _random_randint(
    low: int,
    high: int,
    shape: int | Sequence[int] | None = None,
    ctx: Device | str = '',
    dtype: DTypeLike | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Random integers from ``[low, high)``, all equally likely."""

def _sample_multinomial(
    data: NDArray,
    shape: int | Sequence[int] = (),
    get_prob: bool = False,
    dtype: DTypeLike = ...,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """Draws of `shape` of positions along the last axis of `data`, whose elements are their probabilities.

    Shapes
    ------
    data : (C,) or (N, C)
    out : shape or (N, shape)
    """

def _shuffle(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` with its slices along the first axis in random order."""

def _sample_unique_zipfian(
    range_max: int,
    shape: int | Sequence[int] | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]:
    """Different integers below `range_max`, by the approximately log-uniform (Zipfian) distribution.

    Shapes
    ------
    out : (N, K) and (N,)
    """

def SequenceMask(
    data: NDArray,
    sequence_length: NDArray | None = None,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: int = 0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Replace what lies beyond the end of each sequence by `value`.

    Shapes
    ------
    data, out : (T, N, ...)      with ``axis=1``: (N, T, ...)
    sequence_length : (N,)       absent without ``use_sequence_length``
    """

def SequenceLast(
    data: NDArray,
    sequence_length: NDArray | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Take the last step of each sequence.

    Shapes
    ------
    data : (T, N, ...)           with ``axis=1``: (N, T, ...)
    sequence_length : (N,)       absent without ``use_sequence_length``; each 1 at least
    out : (N, ...)
    """

def SequenceReverse(
    data: NDArray,
    sequence_length: NDArray | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Turn the steps of each sequence around, leaving the padding where it is.

    Shapes
    ------
    data, out : (T, N, ...)
    sequence_length : (N,)       absent without ``use_sequence_length``
    """

def slice(
    data: NDArray,
    begin: int | None | Sequence[int | None],
    end: int | None | Sequence[int | None],
    step: int | None | Sequence[int | None] = (),
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Slice of `data` from `begin` up to `end`, as Python slices of its first axes; None is "all the way"."""

def slice_axis(
    data: NDArray,
    axis: int,
    begin: int,
    end: int | None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Slice of `data` from `begin` up to `end` along one axis; both may count from the end."""

def slice_like(
    data: NDArray,
    shape_like: NDArray,
    axes: int | Sequence[int] = (),
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The beginning of `data`, as large as `shape_like`, on all axes or on those of `axes`."""

def _slice_assign(
    lhs: NDArray,
    rhs: NDArray,
    begin: int | None | Sequence[int | None],
    end: int | None | Sequence[int | None],
    step: int | None | Sequence[int | None] = (),
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """A copy of `lhs` whose region from `begin` up to `end` is `rhs`; differentiable in both."""

def _slice_assign_scalar(
    data: NDArray,
    scalar: float = 0.0,
    begin: int | None | Sequence[int | None] = ...,
    end: int | None | Sequence[int | None] = ...,
    step: int | None | Sequence[int | None] = (),
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """A copy of `data` whose region from `begin` up to `end` is `scalar`."""

def Correlation(
    data1: NDArray,
    data2: NDArray,
    kernel_size: int = 1,
    max_displacement: int = 1,
    stride1: int = 1,
    stride2: int = 1,
    pad_size: int = 0,
    is_multiply: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Correlation of each patch of `data1` with the patches around the same position of `data2` (FlowNet).

    Shapes
    ------
    data1, data2 : (N, C, H, W)
    out : (N, D * D, *positions)      ``D = 2 * (max_displacement // stride2) + 1``; channel ``i * D + j`` is
        displaced by ``stride2 * (i - D // 2)`` rows and ``stride2 * (j - D // 2)`` columns;
        ``positions = ceil((spatial + 2 pad_size - 2 max_displacement - kernel_size + 1) / stride1)``
    """

def Crop(
    *data: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    offset: int | Sequence[int] = (0, 0),
    h_w: int | Sequence[int] = (0, 0),
    center_crop: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """A region of the first array, of the size of the second or of `h_w`.

    Shapes
    ------
    data : (N, C, H, W), and none or (..., h, w)
    out : (N, C, h, w)
    """

def cast_storage(
    data: NDArray,
    stype: Literal['csr', 'default', 'row_sparse'],
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`data` in the storage `stype`."""

def _sparse_retain(
    data: NDArray,
    indices: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The rows `indices` of a row_sparse array; a dense one is refused, as in MXNet."""

def _contrib_getnnz(
    data: NDArray,
    axis: int | None = None,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """How many values a csr array stores; a dense one is refused, as in MXNet."""

def _contrib_edge_id(
    data: NDArray,
    u: NDArray,
    v: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Values of a graph's csr array at rows `u` and columns `v`, -1 where there are none."""

def adam_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Adam (Kingma and Ba, 2015), without the correction of the bias, which the caller puts into `lr`."""

def _adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    rescale_grad: NDArray,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    eta: float = ...,
    clip_gradient: float = -1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """AdamW (Loshchilov and Hutter, 2019): Adam whose weight decay is not in the gradient."""

def _mp_adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    rescale_grad: NDArray,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    eta: float = ...,
    clip_gradient: float = -1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`_adamw_update` through a copy in float32, `weight32`."""

def _multi_adamw_update(
    *data: NDArray | Sequence[NDArray],
    lrs: float | Sequence[float],
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wds: float | Sequence[float],
    etas: float | Sequence[float],
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """`_adamw_update` of several weights at once."""

def _multi_mp_adamw_update(
    *data: NDArray | Sequence[NDArray],
    lrs: float | Sequence[float],
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wds: float | Sequence[float],
    etas: float | Sequence[float],
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """`_adamw_update` of several weights at once, through copies in float32."""

def rmsprop_update(
    weight: NDArray,
    grad: NDArray,
    n: NDArray,
    lr: float,
    gamma1: float = 0.95,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """RMSProp (Tieleman and Hinton, 2012)."""

def rmspropalex_update(
    weight: NDArray,
    grad: NDArray,
    n: NDArray,
    g: NDArray,
    delta: NDArray,
    lr: float,
    gamma1: float = 0.95,
    gamma2: float = 0.9,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """RMSProp around the mean gradient, with momentum (Graves, 2013)."""

def _sparse_adagrad_update(
    weight: NDArray,
    grad: NDArray,
    history: NDArray,
    lr: float,
    epsilon: float = 1e-07,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """AdaGrad (Duchi and others, 2011)."""

def _contrib_group_adagrad_update(
    weight: NDArray,
    grad: NDArray,
    history: NDArray,
    lr: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    epsilon: float = 1e-05,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """AdaGrad with one learning rate for each row."""

def sgd_update(
    weight: NDArray,
    grad: NDArray,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Stochastic gradient descent: ``weight = (1 - lr * wd) * weight - lr * clip(rescale_grad * grad)``."""

def mp_sgd_update(
    weight: NDArray,
    grad: NDArray,
    weight32: NDArray,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`sgd_update` through a copy in float32, `weight32`."""

def multi_sgd_update(
    *data: NDArray | Sequence[NDArray],
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """`sgd_update` of several weights at once."""

def multi_mp_sgd_update(
    *data: NDArray | Sequence[NDArray],
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """`sgd_update` of several weights at once, through copies in float32."""

def preloaded_multi_sgd_update(
    *data: NDArray | Sequence[NDArray],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """`sgd_update` of several weights at once, with learning rates and weight decays in arrays."""

def preloaded_multi_mp_sgd_update(
    *data: NDArray | Sequence[NDArray],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """`sgd_update` of several weights at once, through copies in float32, with learning rates and weight decays in arrays."""

def sgd_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Stochastic gradient descent with momentum."""

def mp_sgd_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    weight32: NDArray,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`sgd_mom_update` through a copy in float32, `weight32`."""

def multi_sgd_mom_update(
    *data: NDArray | Sequence[NDArray],
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """`sgd_mom_update` of several weights at once."""

def multi_mp_sgd_mom_update(
    *data: NDArray | Sequence[NDArray],
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """`sgd_mom_update` of several weights at once, through copies in float32."""

def preloaded_multi_sgd_mom_update(
    *data: NDArray | Sequence[NDArray],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """`sgd_mom_update` of several weights at once, with learning rates and weight decays in arrays."""

def preloaded_multi_mp_sgd_mom_update(
    *data: NDArray | Sequence[NDArray],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """`sgd_mom_update` of several weights at once, through copies in float32, with learning rates and weight decays in arrays."""

def nag_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Nesterov's accelerated gradient."""

def mp_nag_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    weight32: NDArray,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`nag_mom_update` through a copy in float32, `weight32`."""

def signsgd_update(
    weight: NDArray,
    grad: NDArray,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Steps of one size (Bernstein and others, 2018): ``weight = (1 - lr * wd) * weight - lr * sign(grad)``."""

def signum_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    wd_lh: float = 0.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Steps of one size along the momentum (Bernstein and others, 2018)."""

def lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-06,
    t: int = ...,
    bias_correction: bool = True,
    wd: float = ...,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """The direction of a step of LAMB (You and others, 2020), for `lamb_update_phase2`."""

def mp_lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-06,
    t: int = ...,
    bias_correction: bool = True,
    wd: float = ...,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`lamb_update_phase1` through a copy in float32, `weight32`."""

def lamb_update_phase2(
    weight: NDArray,
    g: NDArray,
    r1: NDArray,
    r2: NDArray,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """A step of LAMB along `g`: ``weight -= lr * r1 / r2 * g``."""

def mp_lamb_update_phase2(
    weight: NDArray,
    g: NDArray,
    r1: NDArray,
    r2: NDArray,
    weight32: NDArray,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """`lamb_update_phase2` through a copy in float32, `weight32`."""

def _multi_lamb_update(
    *data: NDArray | Sequence[NDArray],
    learning_rates: float | Sequence[float],
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-06,
    wds: float | Sequence[float],
    rescale_grad: float = 1.0,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    clip_gradient: float = -1.0,
    bias_correction: bool = True,
    step_count: int | Sequence[int],
    num_tensors: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """A step of LAMB (You and others, 2020): `lamb_update_phase1` and `lamb_update_phase2`."""

def _multi_mp_lamb_update(
    *data: NDArray | Sequence[NDArray],
    learning_rates: float | Sequence[float],
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-06,
    wds: float | Sequence[float],
    rescale_grad: float = 1.0,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    clip_gradient: float = -1.0,
    bias_correction: bool = True,
    step_count: int | Sequence[int],
    num_tensors: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | Any:
    """`_multi_lamb_update` of several weights at once, through copies in float32."""

def multi_lars(
    lrs: NDArray,
    weights_sum_sq: NDArray,
    grads_sum_sq: NDArray,
    wds: NDArray,
    eta: float,
    eps: float,
    rescale_grad: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Learning rates of LARS (You and others, 2017) for several weights."""

def ftml_update(
    weight: NDArray,
    grad: NDArray,
    d: NDArray,
    v: NDArray,
    z: NDArray,
    lr: float,
    beta1: float = 0.6,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    t: int = ...,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_grad: float = -1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Follow the moving leader (Zheng and Kwok, 2017)."""

def ftrl_update(
    weight: NDArray,
    grad: NDArray,
    z: NDArray,
    n: NDArray,
    lr: float,
    lamda1: float = 0.01,
    beta: float = 1.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Follow the regularized leader (McMahan and others, 2013), which makes weights sparse."""

def UpSampling(
    *data: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    scale: int,
    num_filter: int = 0,
    sample_type: Literal['bilinear', 'nearest'],
    multi_input_mode: Literal['concat', 'sum'] = 'concat',
    workspace: int = 512,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray:
    """Images `scale` times as high and wide: each pixel repeated, or spread by a kernel.

    Shapes
    ------
    data : (N, C, H, W)                  further ones: (N, C', H', W'), sizes that divide those of the result
    weight : (C, 1, K, K)                with ``'bilinear'``; K = 2 * scale - scale % 2
    out : (N, channels, scale * H, scale * W)
    """

swapaxes = SwapAxis
flip = reverse
_contrib_box_non_maximum_suppression = _contrib_box_nms
identity = _copy
stop_gradient = BlockGrad
cast = Cast
uniform = _random_uniform
random_uniform = _random_uniform
sample_uniform = _sample_uniform
normal = _random_normal
random_normal = _random_normal
sample_normal = _sample_normal
random_exponential = _random_exponential
sample_exponential = _sample_exponential
random_gamma = _random_gamma
sample_gamma = _sample_gamma
random_poisson = _random_poisson
sample_poisson = _sample_poisson
random_negative_binomial = _random_negative_binomial
sample_negative_binomial = _sample_negative_binomial
random_generalized_negative_binomial = _random_generalized_negative_binomial
sample_generalized_negative_binomial = _sample_generalized_negative_binomial
_plus = elemwise_add
_Plus = elemwise_add
_add = elemwise_add
_minus = elemwise_sub
_Minus = elemwise_sub
_sub = elemwise_sub
_mul = elemwise_mul
_Mul = elemwise_mul
_div = elemwise_div
_Div = elemwise_div
_Mod = _mod
_Power = _power
_Maximum = _maximum
_Minimum = _minimum
_Hypot = _hypot
broadcast_plus = broadcast_add
broadcast_minus = broadcast_sub
_PlusScalar = _plus_scalar
_MinusScalar = _minus_scalar
_RMinusScalar = _rminus_scalar
_MulScalar = _mul_scalar
_DivScalar = _div_scalar
_RDivScalar = _rdiv_scalar
_ModScalar = _mod_scalar
_RModScalar = _rmod_scalar
_PowerScalar = _power_scalar
_RPowerScalar = _rpower_scalar
_MaximumScalar = _maximum_scalar
_MinimumScalar = _minimum_scalar
_HypotScalar = _hypot_scalar
_Equal = _equal
_EqualScalar = _equal_scalar
_Not_Equal = _not_equal
_NotEqualScalar = _not_equal_scalar
_Greater = _greater
_GreaterScalar = _greater_scalar
_Greater_Equal = _greater_equal
_GreaterEqualScalar = _greater_equal_scalar
_Lesser = _lesser
_LesserScalar = _lesser_scalar
_Lesser_Equal = _lesser_equal
_LesserEqualScalar = _lesser_equal_scalar
_Logical_And = _logical_and
_LogicalAndScalar = _logical_and_scalar
_Logical_Or = _logical_or
_LogicalOrScalar = _logical_or_scalar
_Logical_Xor = _logical_xor
_LogicalXorScalar = _logical_xor_scalar
ElementWiseSum = add_n
choose_element_0index = pick
ravel_multi_index = _ravel_multi_index
unravel_index = _unravel_index
concat = Concat
split = SliceChannel
linalg_potrf = _linalg_potrf
linalg_potri = _linalg_potri
linalg_gelqf = _linalg_gelqf
linalg_inverse = _linalg_inverse
linalg_det = _linalg_det
linalg_slogdet = _linalg_slogdet
linalg_sumlogdiag = _linalg_sumlogdiag
linalg_gemm = _linalg_gemm
linalg_gemm2 = _linalg_gemm2
linalg_trmm = _linalg_trmm
linalg_trsm = _linalg_trsm
linalg_syrk = _linalg_syrk
linalg_extractdiag = _linalg_extractdiag
linalg_makediag = _linalg_makediag
linalg_extracttrian = _linalg_extracttrian
linalg_maketrian = _linalg_maketrian
Softmax = SoftmaxOutput
ctc_loss = CTCLoss
_contrib_CTCLoss = CTCLoss
_contrib_ctc_loss = CTCLoss
random_pdf_uniform = _random_pdf_uniform
random_pdf_normal = _random_pdf_normal
random_pdf_gamma = _random_pdf_gamma
random_pdf_exponential = _random_pdf_exponential
random_pdf_poisson = _random_pdf_poisson
random_pdf_negative_binomial = _random_pdf_negative_binomial
random_pdf_generalized_negative_binomial = _random_pdf_generalized_negative_binomial
random_pdf_dirichlet = _random_pdf_dirichlet
sum_axis = sum
max_axis = max
min_axis = min
cumsum = _np_cumsum
broadcast_axes = broadcast_axis
pad = Pad
reshape = Reshape
flatten = Flatten
random_randint = _random_randint
sample_multinomial = _sample_multinomial
shuffle = _shuffle
crop = slice
_crop_assign = _slice_assign
_crop_assign_scalar = _slice_assign_scalar
_sparse_ElementWiseSum = add_n
_sparse_Embedding = Embedding
_sparse_FullyConnected = FullyConnected
_sparse_LinearRegressionOutput = LinearRegressionOutput
_sparse_LogisticRegressionOutput = LogisticRegressionOutput
_sparse_MAERegressionOutput = MAERegressionOutput
_sparse__contrib_round_ste = _contrib_round_ste
_sparse__contrib_sign_ste = _contrib_sign_ste
_sparse_abs = abs
_sparse_add_n = add_n
_sparse_arccos = arccos
_sparse_arccosh = arccosh
_sparse_arcsin = arcsin
_sparse_arcsinh = arcsinh
_sparse_arctan = arctan
_sparse_arctanh = arctanh
_sparse_broadcast_add = broadcast_add
_sparse_broadcast_div = broadcast_div
_sparse_broadcast_minus = broadcast_sub
_sparse_broadcast_mul = broadcast_mul
_sparse_broadcast_plus = broadcast_add
_sparse_broadcast_sub = broadcast_sub
_sparse_cbrt = cbrt
_sparse_ceil = ceil
_sparse_clip = clip
_sparse_concat = Concat
_sparse_cos = cos
_sparse_cosh = cosh
_sparse_degrees = degrees
_sparse_dot = dot
_sparse_elemwise_add = elemwise_add
_sparse_elemwise_div = elemwise_div
_sparse_elemwise_mul = elemwise_mul
_sparse_elemwise_sub = elemwise_sub
_sparse_exp = exp
_sparse_expm1 = expm1
_sparse_fix = fix
_sparse_floor = floor
_sparse_gamma = gamma
_sparse_gammaln = gammaln
_sparse_log = log
_sparse_log10 = log10
_sparse_log1p = log1p
_sparse_log2 = log2
_sparse_make_loss = make_loss
_sparse_mean = mean
_sparse_negative = negative
_sparse_norm = norm
_sparse_radians = radians
_sparse_relu = relu
_sparse_rint = rint
_sparse_round = round
_sparse_rsqrt = rsqrt
_sparse_sigmoid = sigmoid
_sparse_sign = sign
_sparse_sin = sin
_sparse_sinh = sinh
_sparse_slice = slice
_sparse_sqrt = sqrt
_sparse_square = square
_sparse_stop_gradient = BlockGrad
_sparse_sum = sum
_sparse_tan = tan
_sparse_tanh = tanh
_sparse_trunc = trunc
_sparse_where = where
_sparse_zeros_like = zeros_like
_sparse_cast_storage = cast_storage
_sparse_adam_update = adam_update
_sparse_sgd_update = sgd_update
_sparse_sgd_mom_update = sgd_mom_update
_sparse_ftrl_update = ftrl_update

__all__ = [
    "expand_dims",
    "squeeze",
    "transpose",
    "SwapAxis",
    "swapaxes",
    "reverse",
    "flip",
    "depth_to_space",
    "space_to_depth",
    "diag",
    "_contrib_interleaved_matmul_selfatt_qk",
    "_contrib_interleaved_matmul_encdec_qk",
    "_contrib_interleaved_matmul_selfatt_valatt",
    "_contrib_interleaved_matmul_encdec_valatt",
    "_contrib_box_iou",
    "_contrib_bipartite_matching",
    "_contrib_box_encode",
    "_contrib_box_decode",
    "_contrib_ModulatedDeformableConvolution",
    "_contrib_DeformableConvolution",
    "_contrib_fft",
    "_contrib_ifft",
    "_contrib_hawkesll",
    "_contrib_MultiBoxPrior",
    "_contrib_MultiBoxTarget",
    "_contrib_MultiBoxDetection",
    "topk",
    "sort",
    "argsort",
    "_contrib_Proposal",
    "_contrib_MultiProposal",
    "_contrib_AdaptiveAvgPooling2D",
    "_contrib_BilinearResize2D",
    "_contrib_count_sketch",
    "_contrib_box_nms",
    "_contrib_box_non_maximum_suppression",
    "relu",
    "sigmoid",
    "softsign",
    "negative",
    "reciprocal",
    "abs",
    "sign",
    "square",
    "sqrt",
    "rsqrt",
    "cbrt",
    "rcbrt",
    "exp",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "erf",
    "erfinv",
    "gamma",
    "gammaln",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "degrees",
    "radians",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "floor",
    "ceil",
    "trunc",
    "fix",
    "round",
    "rint",
    "logical_not",
    "zeros_like",
    "ones_like",
    "_copy",
    "identity",
    "_copyto",
    "BlockGrad",
    "stop_gradient",
    "make_loss",
    "hard_sigmoid",
    "clip",
    "smooth_l1",
    "Cast",
    "cast",
    "amp_cast",
    "amp_multicast",
    "shape_array",
    "size_array",
    "_contrib_quadratic",
    "_contrib_div_sqrt_dim",
    "_contrib_gradientmultiplier",
    "_contrib_round_ste",
    "_contrib_sign_ste",
    "_contrib_allclose",
    "_contrib_arange_like",
    "_contrib_index_array",
    "_contrib_index_copy",
    "_contrib_boolean_mask",
    "_foreach",
    "_while_loop",
    "_cond",
    "_zeros",
    "_zeros_without_dtype",
    "_ones",
    "_full",
    "_arange",
    "_linspace",
    "_eye",
    "Custom",
    "_random_uniform",
    "uniform",
    "random_uniform",
    "_random_uniform_like",
    "_sample_uniform",
    "sample_uniform",
    "_random_normal",
    "normal",
    "random_normal",
    "_random_normal_like",
    "_sample_normal",
    "sample_normal",
    "_random_exponential",
    "random_exponential",
    "_random_exponential_like",
    "_sample_exponential",
    "sample_exponential",
    "_random_gamma",
    "random_gamma",
    "_random_gamma_like",
    "_sample_gamma",
    "sample_gamma",
    "_random_poisson",
    "random_poisson",
    "_random_poisson_like",
    "_sample_poisson",
    "sample_poisson",
    "_random_negative_binomial",
    "random_negative_binomial",
    "_random_negative_binomial_like",
    "_sample_negative_binomial",
    "sample_negative_binomial",
    "_random_generalized_negative_binomial",
    "random_generalized_negative_binomial",
    "_random_generalized_negative_binomial_like",
    "_sample_generalized_negative_binomial",
    "sample_generalized_negative_binomial",
    "elemwise_add",
    "_plus",
    "_Plus",
    "_add",
    "elemwise_sub",
    "_minus",
    "_Minus",
    "_sub",
    "elemwise_mul",
    "_mul",
    "_Mul",
    "elemwise_div",
    "_div",
    "_Div",
    "_grad_add",
    "_scatter_elemwise_div",
    "_mod",
    "_Mod",
    "_power",
    "_Power",
    "_maximum",
    "_Maximum",
    "_minimum",
    "_Minimum",
    "_hypot",
    "_Hypot",
    "broadcast_add",
    "broadcast_plus",
    "broadcast_sub",
    "broadcast_minus",
    "broadcast_mul",
    "broadcast_div",
    "broadcast_mod",
    "broadcast_power",
    "broadcast_maximum",
    "broadcast_minimum",
    "broadcast_hypot",
    "_plus_scalar",
    "_PlusScalar",
    "_minus_scalar",
    "_MinusScalar",
    "_rminus_scalar",
    "_RMinusScalar",
    "_mul_scalar",
    "_MulScalar",
    "_div_scalar",
    "_DivScalar",
    "_rdiv_scalar",
    "_RDivScalar",
    "_mod_scalar",
    "_ModScalar",
    "_rmod_scalar",
    "_RModScalar",
    "_power_scalar",
    "_PowerScalar",
    "_rpower_scalar",
    "_RPowerScalar",
    "_maximum_scalar",
    "_MaximumScalar",
    "_minimum_scalar",
    "_MinimumScalar",
    "_hypot_scalar",
    "_HypotScalar",
    "_scatter_plus_scalar",
    "_scatter_minus_scalar",
    "_equal",
    "_Equal",
    "broadcast_equal",
    "_equal_scalar",
    "_EqualScalar",
    "_not_equal",
    "_Not_Equal",
    "broadcast_not_equal",
    "_not_equal_scalar",
    "_NotEqualScalar",
    "_greater",
    "_Greater",
    "broadcast_greater",
    "_greater_scalar",
    "_GreaterScalar",
    "_greater_equal",
    "_Greater_Equal",
    "broadcast_greater_equal",
    "_greater_equal_scalar",
    "_GreaterEqualScalar",
    "_lesser",
    "_Lesser",
    "broadcast_lesser",
    "_lesser_scalar",
    "_LesserScalar",
    "_lesser_equal",
    "_Lesser_Equal",
    "broadcast_lesser_equal",
    "_lesser_equal_scalar",
    "_LesserEqualScalar",
    "_logical_and",
    "_Logical_And",
    "broadcast_logical_and",
    "_logical_and_scalar",
    "_LogicalAndScalar",
    "_logical_or",
    "_Logical_Or",
    "broadcast_logical_or",
    "_logical_or_scalar",
    "_LogicalOrScalar",
    "_logical_xor",
    "_Logical_Xor",
    "broadcast_logical_xor",
    "_logical_xor_scalar",
    "_LogicalXorScalar",
    "add_n",
    "ElementWiseSum",
    "where",
    "_identity_with_attr_like_rhs",
    "_histogram",
    "_image_random_brightness",
    "_image_random_contrast",
    "_image_random_saturation",
    "_image_random_hue",
    "_image_random_color_jitter",
    "_image_adjust_lighting",
    "_image_random_lighting",
    "_image_to_tensor",
    "_image_normalize",
    "_image_crop",
    "_image_resize",
    "_image_flip_left_right",
    "_image_random_flip_left_right",
    "_image_flip_top_bottom",
    "_image_random_flip_top_bottom",
    "take",
    "pick",
    "choose_element_0index",
    "one_hot",
    "batch_take",
    "gather_nd",
    "scatter_nd",
    "_scatter_set_nd",
    "_ravel_multi_index",
    "ravel_multi_index",
    "_unravel_index",
    "unravel_index",
    "fill_element_0index",
    "_onehot_encode",
    "Concat",
    "concat",
    "_rnn_param_concat",
    "stack",
    "SliceChannel",
    "split",
    "_split_v2",
    "_linalg_potrf",
    "linalg_potrf",
    "_linalg_potri",
    "linalg_potri",
    "_linalg_gelqf",
    "linalg_gelqf",
    "_linalg_syevd",
    "_linalg_inverse",
    "linalg_inverse",
    "_linalg_det",
    "linalg_det",
    "_linalg_slogdet",
    "linalg_slogdet",
    "_linalg_sumlogdiag",
    "linalg_sumlogdiag",
    "_linalg_gemm",
    "linalg_gemm",
    "_linalg_gemm2",
    "linalg_gemm2",
    "_linalg_trmm",
    "linalg_trmm",
    "_linalg_trsm",
    "linalg_trsm",
    "_linalg_syrk",
    "linalg_syrk",
    "_linalg_extractdiag",
    "linalg_extractdiag",
    "_linalg_makediag",
    "linalg_makediag",
    "_linalg_extracttrian",
    "linalg_extracttrian",
    "_linalg_maketrian",
    "linalg_maketrian",
    "MakeLoss",
    "SVMOutput",
    "LinearRegressionOutput",
    "LogisticRegressionOutput",
    "MAERegressionOutput",
    "SoftmaxOutput",
    "Softmax",
    "softmax_cross_entropy",
    "dot",
    "batch_dot",
    "khatri_rao",
    "Activation",
    "LeakyReLU",
    "_contiguous",
    "_channels_last",
    "BatchNorm",
    "BatchNorm_v1",
    "_contrib_BatchNormWithReLU",
    "Convolution",
    "Convolution_v1",
    "Deconvolution",
    "CTCLoss",
    "ctc_loss",
    "_contrib_CTCLoss",
    "_contrib_ctc_loss",
    "WarpCTC",
    "Dropout",
    "FullyConnected",
    "_joint_fully_connected",
    "Embedding",
    "_contrib_SparseEmbedding",
    "_joint_cells",
    "_stack_rows",
    "LayerNorm",
    "GroupNorm",
    "InstanceNorm",
    "L2Normalization",
    "LRN",
    "Pooling",
    "Pooling_v1",
    "RNN",
    "SoftmaxActivation",
    "softmax",
    "softmin",
    "log_softmax",
    "_contrib_SyncBatchNorm",
    "_onnx_integer_division",
    "_onnx_modulo",
    "_onnx_round",
    "_onnx_bit_cast",
    "_onnx_bitwise",
    "_onnx_log_sum_exp",
    "_onnx_cumulative",
    "_onnx_matmul",
    "_onnx_einsum",
    "_onnx_triangle",
    "_onnx_gather_elements",
    "_onnx_scatter_elements",
    "_onnx_gather_nd",
    "_onnx_scatter_nd",
    "_onnx_tensor_scatter",
    "_onnx_cast_through",
    "_onnx_pool",
    "_onnx_max_pool",
    "_onnx_max_unpool",
    "_onnx_col2im",
    "_onnx_resize",
    "_onnx_grid_sample",
    "_onnx_non_zero",
    "_onnx_unique",
    "_onnx_non_max_suppression",
    "_onnx_dft",
    "_onnx_stft",
    "_cvimdecode",
    "_cvimread",
    "_cvimresize",
    "_cvcopyMakeBorder",
    "im2col",
    "col2im",
    "_random_pdf_uniform",
    "random_pdf_uniform",
    "_random_pdf_normal",
    "random_pdf_normal",
    "_random_pdf_gamma",
    "random_pdf_gamma",
    "_random_pdf_exponential",
    "random_pdf_exponential",
    "_random_pdf_poisson",
    "random_pdf_poisson",
    "_random_pdf_negative_binomial",
    "random_pdf_negative_binomial",
    "_random_pdf_generalized_negative_binomial",
    "random_pdf_generalized_negative_binomial",
    "_random_pdf_dirichlet",
    "random_pdf_dirichlet",
    "_contrib_calibrate_entropy",
    "_contrib_quantize",
    "_contrib_quantize_v2",
    "_contrib_quantize_asym",
    "_contrib_dequantize",
    "_contrib_requantize",
    "_contrib_quantized_concat",
    "_contrib_quantized_elemwise_add",
    "_contrib_quantized_elemwise_mul",
    "_contrib_quantized_fully_connected",
    "_contrib_quantized_conv",
    "_contrib_quantized_batch_norm",
    "_contrib_quantized_rnn",
    "_contrib_quantized_act",
    "_contrib_quantized_flatten",
    "_contrib_quantized_pooling",
    "_contrib_quantized_embedding",
    "sum",
    "sum_axis",
    "mean",
    "prod",
    "nansum",
    "nanprod",
    "max",
    "max_axis",
    "min",
    "min_axis",
    "_square_sum",
    "norm",
    "argmax",
    "argmin",
    "argmax_channel",
    "moments",
    "_np_cumsum",
    "cumsum",
    "all_finite",
    "multi_all_finite",
    "multi_sum_sq",
    "ROIPooling",
    "_contrib_ROIAlign",
    "_contrib_RROIAlign",
    "_contrib_PSROIPooling",
    "_contrib_DeformablePSROIPooling",
    "IdentityAttachKLSparseReg",
    "broadcast_to",
    "broadcast_axis",
    "broadcast_axes",
    "broadcast_like",
    "tile",
    "repeat",
    "Pad",
    "pad",
    "reset_arrays",
    "Reshape",
    "reshape",
    "Flatten",
    "flatten",
    "reshape_like",
    "BilinearSampler",
    "GridGenerator",
    "SpatialTransformer",
    "_random_randint",
    "random_randint",
    "_sample_multinomial",
    "sample_multinomial",
    "_shuffle",
    "shuffle",
    "_sample_unique_zipfian",
    "SequenceMask",
    "SequenceLast",
    "SequenceReverse",
    "slice",
    "crop",
    "slice_axis",
    "slice_like",
    "_slice_assign",
    "_crop_assign",
    "_slice_assign_scalar",
    "_crop_assign_scalar",
    "_sparse_ElementWiseSum",
    "_sparse_Embedding",
    "_sparse_FullyConnected",
    "_sparse_LinearRegressionOutput",
    "_sparse_LogisticRegressionOutput",
    "_sparse_MAERegressionOutput",
    "_sparse__contrib_round_ste",
    "_sparse__contrib_sign_ste",
    "_sparse_abs",
    "_sparse_add_n",
    "_sparse_arccos",
    "_sparse_arccosh",
    "_sparse_arcsin",
    "_sparse_arcsinh",
    "_sparse_arctan",
    "_sparse_arctanh",
    "_sparse_broadcast_add",
    "_sparse_broadcast_div",
    "_sparse_broadcast_minus",
    "_sparse_broadcast_mul",
    "_sparse_broadcast_plus",
    "_sparse_broadcast_sub",
    "_sparse_cbrt",
    "_sparse_ceil",
    "_sparse_clip",
    "_sparse_concat",
    "_sparse_cos",
    "_sparse_cosh",
    "_sparse_degrees",
    "_sparse_dot",
    "_sparse_elemwise_add",
    "_sparse_elemwise_div",
    "_sparse_elemwise_mul",
    "_sparse_elemwise_sub",
    "_sparse_exp",
    "_sparse_expm1",
    "_sparse_fix",
    "_sparse_floor",
    "_sparse_gamma",
    "_sparse_gammaln",
    "_sparse_log",
    "_sparse_log10",
    "_sparse_log1p",
    "_sparse_log2",
    "_sparse_make_loss",
    "_sparse_mean",
    "_sparse_negative",
    "_sparse_norm",
    "_sparse_radians",
    "_sparse_relu",
    "_sparse_rint",
    "_sparse_round",
    "_sparse_rsqrt",
    "_sparse_sigmoid",
    "_sparse_sign",
    "_sparse_sin",
    "_sparse_sinh",
    "_sparse_slice",
    "_sparse_sqrt",
    "_sparse_square",
    "_sparse_stop_gradient",
    "_sparse_sum",
    "_sparse_tan",
    "_sparse_tanh",
    "_sparse_trunc",
    "_sparse_where",
    "_sparse_zeros_like",
    "Correlation",
    "Crop",
    "cast_storage",
    "_sparse_cast_storage",
    "_sparse_retain",
    "_contrib_getnnz",
    "_contrib_edge_id",
    "adam_update",
    "_sparse_adam_update",
    "_adamw_update",
    "_mp_adamw_update",
    "_multi_adamw_update",
    "_multi_mp_adamw_update",
    "rmsprop_update",
    "rmspropalex_update",
    "_sparse_adagrad_update",
    "_contrib_group_adagrad_update",
    "sgd_update",
    "_sparse_sgd_update",
    "mp_sgd_update",
    "multi_sgd_update",
    "multi_mp_sgd_update",
    "preloaded_multi_sgd_update",
    "preloaded_multi_mp_sgd_update",
    "sgd_mom_update",
    "_sparse_sgd_mom_update",
    "mp_sgd_mom_update",
    "multi_sgd_mom_update",
    "multi_mp_sgd_mom_update",
    "preloaded_multi_sgd_mom_update",
    "preloaded_multi_mp_sgd_mom_update",
    "nag_mom_update",
    "mp_nag_mom_update",
    "signsgd_update",
    "signum_update",
    "lamb_update_phase1",
    "mp_lamb_update_phase1",
    "lamb_update_phase2",
    "mp_lamb_update_phase2",
    "_multi_lamb_update",
    "_multi_mp_lamb_update",
    "multi_lars",
    "ftml_update",
    "ftrl_update",
    "_sparse_ftrl_update",
    "UpSampling",
]
