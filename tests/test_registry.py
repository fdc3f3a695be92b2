"""Registries."""

from __future__ import annotations

import pytest

from rebind.errors import MXNetError
from rebind.registry import Registry


class Shape:
    def __init__(self, size: int = 1) -> None:
        self.size = size


def registry() -> Registry:
    shapes: Registry = Registry("shape", Shape)

    @shapes.register
    class Circle(Shape):
        pass

    shapes.alias("disc")(Circle)
    return shapes


def test_names_do_not_mind_case() -> None:
    shapes = registry()
    assert shapes["CIRCLE"] is shapes["Disc"] and "cirCLE" in shapes and 3 not in shapes
    assert sorted(shapes) == ["circle", "disc"]


def test_create() -> None:
    shapes = registry()
    assert shapes.create("circle", size=3).size == 3
    assert shapes.create('["disc", {"size": 4}]').size == 4
    mine = Shape()
    assert shapes.create(mine) is mine


@pytest.mark.parametrize(
    ("spec", "keywords", "kind", "says"),
    [
        ("cirkle", {}, ValueError, "no shape 'cirkle'; did you mean 'circle'? Registered: circle, disc."),
        (3, {}, TypeError, "must be a name or an instance; got 3"),
        (Shape(), {"size": 1}, TypeError, "takes no further arguments"),
        ("[", {}, ValueError, 'must be JSON such as ["name", {}]'),
        ("[1]", {}, ValueError, 'must be JSON such as ["name", {}]'),
    ],
)
def test_mistakes(spec, keywords, kind, says) -> None:
    with pytest.raises(kind) as caught:
        registry().create(spec, **keywords)
    assert says in str(caught.value) and isinstance(caught.value, MXNetError)


def test_a_name_taken_over_warns() -> None:
    shapes = registry()
    with pytest.warns(UserWarning, match="takes the place of"):

        @shapes.register("circle")
        class Other(Shape):
            pass

    assert shapes["circle"] is Other
