"""Shapes under `np_shape`: files of the other rule, and messages, in which no number stands for a user's size."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from tests.parity.numpy_shapes import ROWS

import rebind as mx

# Larger than what any operator makes of the small sizes that are tried here.
STAND_IN = re.compile(r"\d{4,}")


def wrong_shapes(case: object) -> Iterator[dict[str, tuple[int, ...]]]:
    """Shapes of which most do not fit: with sizes of 0, one input has other sizes, or other axes."""
    full = {name: tuple(given.shape) for name, given in case.inputs.items()}  # type: ignore[attr-defined]
    for name, shape in full.items():
        for wrong in ((0, *shape), (0, *shape[1:-1], 7), shape[:-1], (7, 0), (0,)):
            yield {**full, name: wrong}
            first = next(iter(full))
            yield {**full, first: (0, *full[first][1:]), name: wrong}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("numpy_shapes", [False, True])
def test_messages_have_the_users_sizes(row: str, numpy_shapes: bool) -> None:
    case = ROWS[row]
    for shapes in wrong_shapes(case):
        try:
            with mx.util.np_shape(numpy_shapes):
                case.symbol(mx).infer_shape_partial(**shapes)
        except mx.MXNetError as error:
            assert not STAND_IN.search(str(error)), (shapes, str(error))


def test_the_size_of_an_empty_array_is_in_the_message() -> None:
    joined = mx.sym.concat(mx.sym.var("x"), mx.sym.var("y"), dim=0, name="joined")
    with mx.util.np_shape(), pytest.raises(mx.MXNetError) as caught:
        (joined + mx.sym.var("z")).infer_shape(x=(0, 3), y=(2, 3), z=(5, 3))
    assert "(2, 3)" in str(caught.value) and "(5, 3)" in str(caught.value)


def test_unknown_sizes_of_an_older_file_are_unknown() -> None:
    """MXNet 1.9.1 writes [-1,3] for the attribute, and leaves the parameters of operators as they are."""
    older = (mx.sym.var("v", shape=(0, 3)) + mx.sym.var("x")).tojson()
    with mx.util.np_shape():
        network = mx.sym.load_json(older)
        assert network.attr_dict()["v"]["__shape__"] == "[-1,3]"
        assert network.infer_shape(x=(2, 3)) == ([(2, 3), (2, 3)], [(2, 3)], [])
        newer = (mx.sym.var("v", shape=(0, 3)) + mx.sym.var("x")).tojson()
        assert mx.sym.load_json(newer).attr_dict()["v"]["__shape__"] == "(0, 3)"
    assert mx.sym.load_json(older).attr_dict()["v"]["__shape__"] == "(0, 3)"


@pytest.mark.parametrize(
    ("make", "unknown", "evaluated"),
    [
        (lambda: mx.sym.zeros(()), (), ()),
        (lambda: mx.sym.zeros((-1, 3)), (-1, 3), None),
        (lambda: mx.sym.zeros(None), None, None),
        (lambda: mx.sym.random.uniform(), None, None),
        (lambda: mx.sym.zeros((0, 3)), (0, 3), (0, 3)),
        (lambda: mx.sym.random.uniform(shape=(0, 3)), (0, 3), (0, 3)),
    ],
)
def test_creators(make: object, unknown: object, evaluated: object) -> None:
    """As MXNet 1.9.1 answers; but what it evaluates without a shape is an error here, not an array of no elements."""
    with mx.util.np_shape():
        assert make().infer_shape_partial()[1] == [unknown]  # type: ignore[operator]
        if evaluated is not None:
            assert make().eval()[0].shape == evaluated  # type: ignore[operator]
            return
        with pytest.raises(mx.MXNetError, match="shape must be given in full, as it cannot be inferred"):
            make().eval()  # type: ignore[operator]
