"""Shapes that follow from half-known ones. What MXNet finds too is recorded in tests/parity/snippets."""

import pytest

import rebind as mx


@pytest.mark.parametrize(
    ("make", "shapes", "found"),
    [
        pytest.param(
            lambda a, b: mx.sym.broadcast_sub(a, b), [(0, 3, 4), (0, 0, 0)], (0, 3, 4), id="broadcast"
        ),
        pytest.param(lambda a, b: mx.sym.broadcast_sub(a, b), [(0, 1), (2, 0)], (2, 0), id="broadcast a one"),
        pytest.param(
            lambda a, b: mx.sym.broadcast_sub(a, b), [(0,), (2, 1)], (2, 0), id="broadcast fewer axes"
        ),
        pytest.param(lambda a: mx.sym.Flatten(a), [(0,) * 6], (0, 0), id="many unknown axes"),
        pytest.param(lambda a: mx.sym.stack(a, a, axis=1), [(0, 3)], (0, 2, 3), id="stack"),
        pytest.param(lambda a, b: mx.sym.where(a, b, mx.sym.var("c")), [(0, 3), (2, 0)], (2, 3), id="where"),
        pytest.param(
            lambda a, b: mx.sym.where(a, b, mx.sym.var("c")), [(0,), (2, 3)], (2, 3), id="where, rows"
        ),
    ],
)
def test_what_follows_from_half_known_shapes(make, shapes, found):
    """More than MXNet finds: whatever the unknown sizes are, the result has these."""
    net = make(*(mx.sym.var(name, shape=shape) for name, shape in zip("ab", shapes, strict=False)))
    assert net.infer_shape_partial()[1] == [found]
