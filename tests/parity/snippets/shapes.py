"""Inference of half-known shapes, under both rules of shapes, and what symbols' JSON says of them."""

from __future__ import annotations

from typing import Any

PYTHON2_JSON = {"(8, 3, 3, 3)": "(8L, 3L, 3L, 3L)", "(3, 3)": "(3L, 3L)"}


def _partial(make: Any, **shapes: tuple[int, ...]) -> Any:
    """Return a snippet that infers the shapes of an operator applied to variables of half-known shapes."""

    def run(mx: Any) -> Any:
        return make(
            mx.sym, *(mx.sym.var(name, shape=shape) for name, shape in shapes.items())
        ).infer_shape_partial()

    return run


def _numpy_shapes(run: Any) -> Any:
    def snippet(mx: Any) -> Any:
        with mx.util.np_shape():
            return run(mx)

    return snippet


def _from_python2(mx: Any) -> Any:
    data = mx.sym.var("data", shape=(8, 3, 3, 3))
    text = mx.sym.Convolution(data, kernel=(3, 3), num_filter=2, name="c").tojson()
    for new, old in PYTHON2_JSON.items():
        text = text.replace(new, old)
    return mx.sym.load_json(text).infer_shape()


def _rows_by_leading_axes(mx: Any) -> Any:
    chosen = mx.sym.where(mx.sym.var("c"), mx.sym.var("x"), mx.sym.var("y"))
    arrays = {
        "c": mx.nd.array([[1, 0], [0, 1]]),
        "x": mx.nd.ones((2, 2, 2)),
        "y": mx.nd.zeros((2, 2, 2)),
    }
    return chosen.bind(mx.cpu(), arrays).forward()[0]


SNIPPETS = {
    "broadcast_of_five_unknown_axes": _partial(
        lambda S, a, b: S.broadcast_sub(a, b), a=(0, 0, 0, 0, 0), b=(0, 0, 0, 0, 0)
    ),
    "unary_of_seven_unknown_axes": _partial(lambda S, a: S.exp(a), a=(0,) * 7),
    "reshape_of_unknown_axes": _partial(lambda S, a: S.Reshape(a, shape=(0, -1)), a=(0, 0, 0, 0, 0)),
    "slice_axis_of_an_unknown_axis": _partial(lambda S, a: S.slice_axis(a, axis=0, begin=0, end=2), a=(0, 4)),
    "slice_axis_of_a_known_axis": _partial(
        lambda S, a: S.slice_axis(a, axis=1, begin=-3, end=None), a=(0, 4)
    ),
    "slice_of_an_unknown_axis": _partial(lambda S, a: S.slice(a, begin=(0, 1), end=(2, 3)), a=(0, 4)),
    "slice_channel_of_a_half_known_shape": _partial(
        lambda S, a, b: S.Group(
            [
                S.SliceChannel(a, num_outputs=2, axis=1, squeeze_axis=True, name="s")[0] + b,
            ]
        ),
        a=(0, 2, 5),
        b=(2, 5),
    ),
    "dot": _partial(lambda S, a, b: S.dot(a, b), a=(0, 3), b=(3, 4)),
    "mean": _partial(lambda S, a: S.mean(a, axis=1), a=(0, 3, 4)),
    "concat": _partial(lambda S, a, b: S.Concat(a, b, dim=1, name="c"), a=(0, 3), b=(0, 4)),
    "convolution": _partial(
        lambda S, a: S.Convolution(a, kernel=(3, 3), num_filter=2, name="c"), a=(0, 3, 0, 0)
    ),
    "reshape_to_rows": _partial(lambda S, a: S.Reshape(a, shape=(-1, 24)), a=(0, 3, 8)),
    "recurrent": _partial(
        lambda S, a: S.RNN(a, state_size=3, num_layers=1, mode="lstm", name="r"), a=(0, 0, 5)
    ),
    "nothing_is_known": lambda mx: mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2).infer_shape(),
    "numpy_shapes_unknown_size": _numpy_shapes(_partial(lambda S, a: S.exp(a), a=(-1, 3))),
    "numpy_shapes_unknown_shape": _numpy_shapes(lambda mx: mx.sym.exp(mx.sym.var("x")).infer_shape_partial()),
    "numpy_shapes_layer": _numpy_shapes(
        _partial(lambda S, a: S.FullyConnected(a, num_hidden=2, name="f"), a=(-1, 3))
    ),
    "numpy_shapes_without_axes": _numpy_shapes(lambda mx: mx.sym.exp(mx.sym.var("x")).infer_shape(x=())),
    "numpy_shapes_not_all_known": _numpy_shapes(
        lambda mx: mx.sym.exp(mx.sym.var("x")).infer_shape(x=(-1, 3))
    ),
    "numpy_shapes_json": _numpy_shapes(lambda mx: mx.sym.var("x", shape=(-1, 3)).tojson()),
    "numpy_shapes_zero_beside_unknown": _numpy_shapes(
        _partial(lambda S, a, b: S.concat(a, b, dim=0), a=(0, 3), b=(2, -1))
    ),
    "numpy_shapes_zero_declared": _numpy_shapes(lambda mx: (mx.sym.var("x", shape=(0, 3)) * 2).infer_shape()),
    "numpy_shapes_zero_in_a_chain": _numpy_shapes(
        lambda mx: mx.sym.sum(
            mx.sym.Flatten(mx.sym.slice_axis(mx.sym.var("x"), axis=1, begin=1, end=3)), axis=0
        ).infer_shape(x=(0, 4, 5))
    ),
    "numpy_shapes_zero_features": _numpy_shapes(
        lambda mx: mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="f").infer_shape(x=(4, 0))
    ),
    "numpy_shapes_zero_from_a_consumer": _numpy_shapes(
        lambda mx: (mx.sym.exp(mx.sym.var("x")) + mx.sym.var("y")).infer_shape(x=(-1, 3), y=(0, 3))
    ),
    "numpy_shapes_zero_against_two": _numpy_shapes(
        lambda mx: (mx.sym.exp(mx.sym.var("x")) + mx.sym.var("y")).infer_shape(x=(2, 3), y=(0, 3))
    ),
    "numpy_shapes_bound_without_rows": _numpy_shapes(
        lambda mx: (mx.sym.exp(mx.sym.var("x")) * 2).bind(mx.cpu(), {"x": mx.nd.zeros((0, 3))}).forward()[0]
    ),
    "numpy_shapes_bound_without_axes": _numpy_shapes(
        lambda mx: (mx.sym.exp(mx.sym.var("x")) * 2).bind(mx.cpu(), {"x": mx.nd.array(0)}).forward()[0]
    ),
    "shapes_as_python2_wrote_them": _from_python2,
    "cumsum_json": lambda mx: mx.sym.cumsum(mx.sym.var("x"), axis=0, name="c").tojson(),
    "where_by_leading_axes": _rows_by_leading_axes,
}
