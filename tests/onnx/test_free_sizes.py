"""Free sizes stay free: a network goes out once, and gives rebind's numbers at two sizes of the first axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir
import onnxruntime as ort
import pytest

import onnx
import rebind as mx
from rebind.onnx import to_onnx

N = 0  # a free size
S = mx.sym


def _recurrent(data: Any, parameters: Any) -> Any:
    state = S.zeros(shape=(1, 0, 6))
    return S.RNN(data, parameters, state, state, mode="lstm", state_size=6, num_layers=1)


#: A name, what makes the network of its inputs, and their shapes.
ROWS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "sigmoid": (S.sigmoid, ((N, 3),)),
    "gammaln": (S.gammaln, ((N, 3),)),
    "zeros_like": (S.zeros_like, ((N, 3),)),
    "shape_array": (S.shape_array, ((N, 3),)),
    "size_array": (S.size_array, ((N, 3),)),
    "elemwise_add": (S.elemwise_add, ((N, 3), (N, 3))),
    "broadcast_mod": (S.broadcast_mod, ((N, 3), (1, 3))),
    "broadcast_hypot": (S.broadcast_hypot, ((N, 3), (1, 3))),
    "add_n": (S.add_n, ((N, 3), (N, 3), (N, 3))),
    "where": (S.where, ((N,), (N, 3), (N, 3))),
    "sum": (lambda x: S.sum(x, axis=1), ((N, 3, 2),)),
    "mean": (lambda x: S.mean(x, axis=0), ((N, 3),)),
    "mean of all": (S.mean, ((N, 3),)),
    "mean of integers": (lambda x: S.mean(S.cast(x, dtype="int32"), axis=0), ((N, 3),)),
    "norm": (lambda x: S.norm(x, axis=0), ((N, 3),)),
    "argmax": (lambda x: S.argmax(x, axis=1), ((N, 3),)),
    "argmax of all": (S.argmax, ((N, 3),)),
    "moments": (lambda x: S.moments(x, axes=(0, 1)), ((N, 3),)),
    "cumsum": (lambda x: S.cumsum(x, axis=0), ((N, 3),)),
    "softmax_cross_entropy": (lambda x: S.softmax_cross_entropy(x, S.argmax(x, axis=1)), ((N, 3),)),
    "Reshape(-1, 0)": (lambda x: S.reshape(x, shape=(-1, 0)), ((N, 3, 4),)),
    "Reshape(0, -1)": (lambda x: S.reshape(x, shape=(0, -1)), ((N, 3, 4),)),
    "Reshape(-3, 0)": (lambda x: S.reshape(x, shape=(-3, 0)), ((N, 3, 4),)),
    "Reshape(0, -3)": (lambda x: S.reshape(x, shape=(0, -3)), ((N, 3, 4),)),
    "Reshape(0, -4, 2, -1, -2)": (lambda x: S.reshape(x, shape=(0, -4, 2, -1, -2)), ((N, 6, 4),)),
    "Reshape(-4, -1, 1, -2)": (lambda x: S.reshape(x, shape=(-4, -1, 1, -2)), ((N, 6, 4),)),
    "Reshape(-4, -1, 1, -2) of two": (lambda x: S.reshape(x, shape=(-4, -1, 1, -2)), ((N, N, 4),)),
    "Reshape(-3, -2) of two": (lambda x: S.reshape(x, shape=(-3, -2)), ((N, 3, N),)),
    "Reshape(0, 0, -3) of two": (lambda x: S.reshape(x, shape=(0, 0, -3)), ((N, 3, N, 2),)),
    "Reshape(0, -1, 0) of two": (lambda x: S.reshape(x, shape=(0, -1, 0)), ((N, 3, N),)),
    "Reshape(-1, 0) from the right": (lambda x: S.reshape(x, shape=(-1, 0), reverse=True), ((N, 3, 4),)),
    "Reshape(0, -3) from the right": (lambda x: S.reshape(x, shape=(0, -3), reverse=True), ((N, 3, 4),)),
    "Reshape(target_shape)": (lambda x: S.Reshape(x, target_shape=(0, 12)), ((N, 3, 4),)),
    "Reshape(keep_highest)": (lambda x: S.Reshape(x, target_shape=(0, 4, 3), keep_highest=True), ((N, 3, 4),)),
    "reshape_like": (S.reshape_like, ((N, 12), (N, 3, 4))),
    "reshape_like of axes": (
        lambda x, y: S.reshape_like(x, y, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2),
        ((N, 2), (N, 1, 5)),
    ),
    "Flatten": (S.flatten, ((N, 3, 4),)),
    "transpose": (S.transpose, ((N, 3, 4),)),
    "SwapAxis": (lambda x: S.swapaxes(x, dim1=0, dim2=1), ((N, 3),)),
    "expand_dims": (lambda x: S.expand_dims(x, axis=-1), ((N, 3),)),
    "squeeze": (S.squeeze, ((N, 1, 3),)),
    "reverse": (lambda x: S.flip(x, axis=0), ((N, 3),)),
    "depth_to_space": (lambda x: S.depth_to_space(x, block_size=2), ((N, 4, 3, 2),)),
    "slice": (lambda x: S.slice(x, begin=(None, 2), end=(-1, 0), step=(1, -1)), ((N, 3),)),
    "slice from behind": (lambda x: S.slice(x, begin=(None,), end=(None,), step=(-1,)), ((N, 3),)),
    "slice_axis": (lambda x: S.slice_axis(x, axis=0, begin=-2, end=None), ((N, 3),)),
    "slice_like": (lambda x, y: S.slice_like(x, y, axes=(0,)), ((N, 3), (N, 2))),
    "_slice_assign": (
        lambda x, y: S._internal._slice_assign(x, y, begin=(0, 1), end=(None, None)),
        ((N, 3), (N, 2)),
    ),
    "_slice_assign_scalar": (
        lambda x: S._internal._slice_assign_scalar(x, scalar=7, begin=(1,), end=(None,)),
        ((N, 3),),
    ),
    "stack": (lambda x, y: S.stack(x, y, axis=1), ((N, 3), (N, 3))),
    "Concat": (lambda x, y: S.concat(x, y, dim=0), ((N, 3), (N, 3))),
    "SliceChannel": (lambda x: S.split(x, num_outputs=3, axis=1, squeeze_axis=True), ((N, 3),)),
    "SliceChannel of a free axis": (lambda x: S.split(x, num_outputs=2, axis=0), ((N, 3),)),
    "split_v2": (lambda x: S.split_v2(x, (1,), axis=1), ((N, 3),)),
    "tile": (lambda x: S.tile(x, reps=(2, 1, 2)), ((N, 3),)),
    "repeat": (lambda x: S.repeat(x, repeats=2, axis=1), ((N, 3),)),
    "repeat a free axis": (lambda x: S.repeat(x, repeats=2, axis=0), ((N, 3),)),
    "repeat elements": (lambda x: S.repeat(x, repeats=2), ((N, 3),)),
    "Pad": (lambda x: S.pad(x, mode="edge", pad_width=(0, 0, 0, 0, 1, 2, 1, 0)), ((N, 2, 3, 4),)),
    "broadcast_to": (lambda x: S.broadcast_to(x, shape=(0, 4)), ((N, 1),)),
    "broadcast_axis": (lambda x: S.broadcast_axis(x, axis=1, size=4), ((N, 1),)),
    "broadcast_like": (S.broadcast_like, ((1, 3), (N, 3))),
    "broadcast_like of axes": (
        lambda x, y: S.broadcast_like(x, y, lhs_axes=(0,), rhs_axes=(0,)),
        ((1, 3), (N, 2)),
    ),
    "take": (S.take, ((5, 3), (N, 2))),
    "take from a free axis": (lambda x, y: S.take(x, y * 9, mode="clip"), ((N, 3), (N,))),
    "take and wrap": (lambda x, y: S.take(x, y * 9 - 4, mode="wrap"), ((N, 3), (N,))),
    "pick": (lambda x: S.pick(x, S.argmin(x, axis=1), axis=1), ((N, 3),)),
    "batch_take": (lambda x: S.batch_take(x, S.cast(S.argmin(x, axis=1), dtype="int32")), ((N, 3),)),
    "one_hot": (lambda x: S.one_hot(x * 4 - 1, depth=3), ((N,),)),
    "index_array": (S.contrib.index_array, ((N, 3),)),
    "topk": (lambda x: S.topk(x, k=2, ret_typ="both"), ((N, 3),)),
    "topk of a free axis": (lambda x: S.topk(x, k=0, axis=0, ret_typ="value"), ((N, 3),)),
    "topk as a mask": (lambda x: S.topk(x, k=2, axis=None, ret_typ="mask"), ((N, 3),)),
    "sort": (lambda x: S.sort(x, axis=0), ((N, 3),)),
    "argsort": (lambda x: S.argsort(x, axis=None), ((N, 3),)),
    "dot": (lambda x, y: S.dot(x, y, transpose_b=True), ((N, 3), (2, 3))),
    "dot of more axes": (S.dot, ((N, 2, 3), (3, 4, 2))),
    "dot over a free axis": (lambda x, y: S.dot(x, y, transpose_a=True), ((N, 3), (N, 2, 4))),
    "batch_dot": (lambda x, y: S.batch_dot(x, y, transpose_b=True), ((N, 2, 3), (N, 4, 3))),
    "khatri_rao": (lambda x, y: S.khatri_rao(x, y), ((N, 3), (2, 3))),
    "linalg_gemm2": (lambda x, y: S.linalg.gemm2(x, y, axis=1, alpha=2.0), ((N, 3, 2, 3), (N, 3, 2, 4))),
    "linalg_syrk": (S.linalg.syrk, ((N, 2, 3),)),
    "linalg_inverse": (S.linalg.inverse, ((N, 3, 3),)),
    "linalg_slogdet": (S.linalg.slogdet, ((N, 3, 3),)),
    "linalg_potrf": (lambda x: S.linalg.potrf(S.linalg.syrk(x)), ((N, 3, 4),)),
    "linalg_gelqf": (S.linalg.gelqf, ((N, 2, 3),)),
    "linalg_extracttrian": (S.linalg.extracttrian, ((N, 3, 3),)),
    "linalg_makediag": (S.linalg.makediag, ((N, 3),)),
    "diag": (lambda x: S.diag(x, axis1=1, axis2=2), ((N, 3, 4),)),
    "SequenceMask": (
        lambda x, y: S.SequenceMask(x, y * 3, use_sequence_length=True, axis=1, value=-1),
        ((N, 3, 2), (N,)),
    ),
    "SequenceLast": (
        lambda x, y: S.SequenceLast(x, 1 + y * 2, use_sequence_length=True, axis=1),
        ((N, 3, 2), (N,)),
    ),
    "SequenceReverse": (
        lambda x, y: S.SequenceReverse(x, y * 3, use_sequence_length=True),
        ((N, 3, 2), (3,)),
    ),
    "CTCLoss": (lambda x, y: S.CTCLoss(x, S.floor(y * 5)), ((N, N, 5), (N, 1))),
    "bipartite_matching": (lambda x: S.contrib.bipartite_matching(x, threshold=0.2), ((N, 3, N),)),
    "image resize": (lambda x: S.image.resize(x * 255, size=(4, 2), interp=2), ((N, 5, 3, 2),)),
    "im2col": (lambda x: S.im2col(x, kernel=(2, 2), pad=(1, 0)), ((N, 2, 3, 4),)),
    "col2im": (lambda x: S.col2im(x, output_size=(3, 3), kernel=(2, 2)), ((N, 8, 4),)),
    "histogram": (lambda x: S._internal._histogram(x, bin_cnt=4, range=(0, 1)), ((N, 3),)),
    "zeros of a free size beside data": (lambda x: S.concat(S.zeros(shape=(0, 2)), x, dim=1), ((N, 3),)),
    "states of a loop": (
        lambda x: S.contrib.foreach(lambda x, s: (x + s, x * s), x, S.ones(shape=(0, 3)))[0], ((4, N, 3),),
    ),
    "states of recurrent layers": (_recurrent, ((5, N, 4), (288,))),
    "arange of a free length": (
        lambda x: x + S.arange(start=2, step=0.3, repeat=2, infer_range=True), ((N,),),
    ),
    "random numbers of a free size": (lambda x: x + S.random.uniform(shape=(0, 3)) * 0, ((N, 3),)),
    "begin states": (lambda x: x + S.zeros(shape=(0, 3)) + S.ones(shape=(0, 3)), ((N, 3),)),
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("opset", [13, 21])
@pytest.mark.parametrize("name", ROWS)
def test_at_two_sizes(name: str, opset: int) -> None:
    build, shapes = ROWS[name]
    names = [f"input{i}" for i in range(len(shapes))]
    symbol = build(*map(mx.sym.var, names))
    given = dict(zip(names, shapes, strict=True))
    proto = ir.to_proto(to_onnx(symbol, {}, given, opset=opset))
    onnx.checker.check_model(proto, full_check=True)
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    random = np.random.default_rng(7)
    for size in (2, 6):
        inputs = {
            key: random.random([n or size for n in shape], dtype=np.float32) for key, shape in given.items()
        }
        found = session.run(None, {each.name: inputs[each.name] for each in session.get_inputs()})
        expected = symbol.eval(**{key: mx.nd.array(value) for key, value in inputs.items()})
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other.asnumpy(), rtol=2e-5, atol=1e-6)
