"""Gradients of arrays of whole numbers: of what selects, reshapes, joins, sums and multiplies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

VALUES = [[1, -2, 3], [4, 5, -6], [3, 1, 2]]


def _gradients(dtype: str = "int32", **calls: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Return a snippet that gives the gradient of each call, for head gradients 1, 2, ..., 5, 1, ..."""

    def run(mx: Any) -> Any:
        return {name: _gradient(mx, call, dtype) for name, call in calls.items()}

    return run


def _gradient(mx: Any, call: Callable[[Any, Any], Any], dtype: str) -> Any:
    x = mx.nd.array(np.array(VALUES), dtype=dtype)
    x.attach_grad()
    with mx.autograd.record():
        y = call(mx.nd, x)
    head = (np.arange(y.size) % 5 + 1).reshape(y.shape)
    y.backward(mx.nd.array(head, dtype=y.dtype))
    return x.grad


def _lengths(nd: Any, dtype: str = "float32") -> Any:
    return nd.array([1, 2, 3], dtype=dtype)


def _picture(x: Any) -> Any:
    return x.reshape((1, 1, 3, 3))


SNIPPETS = {
    "limits": _gradients(
        clip=lambda nd, x: nd.clip(x, -1, 3),
        clip_fraction=lambda nd, x: nd.clip(x, -1.5, 3.5),
        relu=lambda nd, x: nd.relu(x),
        abs=lambda nd, x: nd.abs(x),
        maximum_number=lambda nd, x: nd.maximum(x, 1),
        maximum_fraction=lambda nd, x: nd.maximum(x, 1.5),
        minimum_number=lambda nd, x: nd.minimum(x, 1),
        minimum_fraction=lambda nd, x: nd.minimum(x, -1.5),
        maximum=lambda nd, x: nd.maximum(x, nd.array([[2]], dtype="int32")),
        minimum=lambda nd, x: nd.broadcast_minimum(x, nd.array([[2, 1, 0]], dtype="int32")),
        elementwise_maximum=lambda nd, x: nd._internal._maximum(x, x.T),
        elementwise_minimum=lambda nd, x: nd._internal._minimum(x, x.T),
    ),
    "selecting": _gradients(
        topk=lambda nd, x: nd.topk(x, k=2, ret_typ="value"),
        topk_both=lambda nd, x: nd.topk(x, k=2, ret_typ="both", axis=0)[0],
        topk_mask=lambda nd, x: nd.topk(x, k=2, ret_typ="mask"),
        boolean_mask=lambda nd, x: nd.contrib.boolean_mask(x, nd.array([1, 0, 1])),
        diag=lambda nd, x: nd.diag(x, k=1),
        diag_of_a_vector=lambda nd, x: nd.diag(x[0]),
        embedding=lambda nd, x: nd.Embedding(
            nd.array([0, 2, 2]), x, input_dim=3, output_dim=3, dtype="int32"
        ),
        index_copy=lambda nd, x: nd.contrib.index_copy(x, nd.array([0]), x[2:3] * 2),
        scatter_nd=lambda nd, x: nd.scatter_nd(x[0], nd.array([[0, 2, 1]]), shape=(4,)),
        max=lambda nd, x: nd.max(x, axis=1),
        pick=lambda nd, x: nd.pick(x, nd.array([0, 2, 1])),
        take=lambda nd, x: nd.take(x, nd.array([2, 2])),
        where=lambda nd, x: nd.where(x > 1, x, -x),
        brackets=lambda nd, x: x[[0, 2], ::-1],
    ),
    "sequences": _gradients(
        mask=lambda nd, x: nd.SequenceMask(x, _lengths(nd), use_sequence_length=True, value=-1),
        mask_of_whole_lengths=lambda nd, x: nd.SequenceMask(
            x, _lengths(nd, "int32"), use_sequence_length=True, value=-1
        ),
        mask_of_nothing=lambda nd, x: nd.SequenceMask(x),
        last=lambda nd, x: nd.SequenceLast(x, _lengths(nd, "int32"), use_sequence_length=True),
        reverse=lambda nd, x: nd.SequenceReverse(
            x.expand_dims(2), _lengths(nd, "int32"), use_sequence_length=True
        ),
        reverse_all=lambda nd, x: nd.SequenceReverse(x.expand_dims(2)),
    ),
    "sums_and_products": _gradients(
        add_n=lambda nd, x: nd.add_n(x, x * 2, x),
        cumsum=lambda nd, x: nd.cumsum(x, axis=0),
        nansum=lambda nd, x: nd.nansum(x, axis=1),
        norm=lambda nd, x: nd.norm(x, ord=1, axis=1),
        prod=lambda nd, x: nd.prod(x, axis=1),
        power=lambda nd, x: x**3,
        power_fraction=lambda nd, x: x**2.5,
        times_a_fraction=lambda nd, x: x * 2.5,
        multiplied_gradient=lambda nd, x: nd.contrib.gradientmultiplier(x, scalar=2.5),
        round_ste=lambda nd, x: nd.contrib.round_ste(x) * nd.contrib.sign_ste(x),
        scatter_plus=lambda nd, x: nd._internal._scatter_plus_scalar(x, scalar=2) * x,
        make_loss=lambda nd, x: nd.make_loss(x),
    ),
    "the_same_elsewhere": _gradients(
        to_int64=lambda nd, x: x.astype("int64"),
        to_float64=lambda nd, x: x.astype("float64") * 1.5,
        amp_cast=lambda nd, x: nd.amp_cast(x, dtype="float32"),
        amp_multicast=lambda nd, x: nd.amp_multicast(x, x, num_outputs=2)[1],
        cast_storage=lambda nd, x: nd.cast_storage(x, stype="default") * 2,
        depth_to_space=lambda nd, x: nd.depth_to_space(x.reshape((1, 9, 1, 1)), block_size=3),
        space_to_depth=lambda nd, x: nd.space_to_depth(_picture(x), block_size=3),
        image_crop=lambda nd, x: nd.image.crop(x.expand_dims(2), x=1, y=0, width=2, height=2),
        rnn_param_concat=lambda nd, x: nd._internal._rnn_param_concat(x.reshape(-1), x[0], dim=0),
    ),
    "int64": _gradients(
        "int64", clip=lambda nd, x: nd.clip(x, -1, 3), topk=lambda nd, x: nd.topk(x, ret_typ="value")
    ),
    "uint8": _gradients(
        "uint8",
        clip=lambda nd, x: nd.clip(x, 2, 4),
        maximum=lambda nd, x: nd.maximum(x, 3),
        sum=lambda nd, x: x.sum(),
    ),
}
