"""Inputs of every operator whose shapes do not fit are refused by inference with an error of ours: a ShapeError."""

from __future__ import annotations

import pytest
from tests.parity.types import ROWS

import rebind as mx

Shape = tuple[int, ...]


def changed(shape: Shape) -> list[Shape]:
    """Return a shape with other sizes, with more and with fewer axes."""
    found = [tuple(size + 3 for size in shape), (*shape, 5), shape[:-1], (7, *shape[1:])]
    return [each for each in found if shape and each]


@pytest.mark.parametrize("name", ROWS)
def test_inference_of_shapes_that_do_not_fit(name: str) -> None:
    symbol = ROWS[name].symbol(mx)
    shapes = {each: tuple(given.shape) for each, given in ROWS[name].inputs.items()}
    for each, shape in shapes.items():
        for other in changed(shape):
            try:
                symbol.infer_shape(**{**shapes, each: other})
            except mx.errors.ShapeError as error:
                assert str(error).startswith(f"{ROWS[name].operator} 'op': "), error
            except mx.errors.ParameterError as error:
                assert "box_n" in name and "coord_start" in str(error)  # a position in the last axis


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        ({"a": (3, 4), "b": (3, 5)}, "y ('b') must have shape (3, 4) to match x (3, 4); got (3, 5)"),
        ({"c": (5,), "a": (3, 4)}, "condition ('c') must have shape (3,) to match x (3, 4); got (5,)"),
        ({"c": (5, 4), "a": (3, 4)}, "condition ('c') must have shape (3, 4) to match x (3, 4); got (5, 4)"),
        (
            {"c": (3, 4, 1), "a": (3, 4)},
            "condition ('c') must have shape (3, 4) to match x (3, 4); got (3, 4, 1)",
        ),
    ],
)
def test_where(shapes: dict[str, Shape], says: str) -> None:
    chosen = mx.sym.where(mx.sym.var("c"), mx.sym.var("a"), mx.sym.var("b"), name="w")
    for ask in (chosen.infer_shape, lambda **given: chosen.simple_bind(mx.cpu(), **given)):
        with pytest.raises(mx.errors.ShapeError) as caught:
            ask(**shapes)
        assert str(caught.value) == f"where 'w': {says}"
