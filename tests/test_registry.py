"""Registries."""

from __future__ import annotations

import pytest

from rebind.errors import MXNetError
from rebind.registry import (
    Registry,
    get_alias_func,
    get_create_func,
    get_register_func,
    get_registry,
)


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
    with pytest.warns(UserWarning, match="replaces"):

        @shapes.register("circle")
        class Other(Shape):
            pass

    assert shapes["circle"] is Other


def test_functions_under_mxnets_names() -> None:
    class Tool(Shape):
        pass

    register, alias = get_register_func(Tool, "tool"), get_alias_func(Tool, "tool")
    create = get_create_func(Tool, "tool")
    assert get_registry(Tool) == {}

    @alias("beater", "Mallet")
    @register
    class Hammer(Tool):
        pass

    assert get_registry(Tool) == {"hammer": Hammer, "beater": Hammer, "mallet": Hammer}
    mine = Hammer()
    assert create(mine) is mine
    for spec in ("HAMMER", '["mallet", {}]', {"tool": "beater"}, '{"tool": "beater"}'):
        assert create(spec).size == 1, spec
    for spec in ('["mallet", {"size": 2}]', {"tool": "beater", "size": 2}, '{"tool": "beater", "size": 2}'):
        assert create(spec).size == 2, spec
    assert (
        create("hammer", size=3).size == create(tool="hammer", size=3).size == create("hammer", 3).size == 3
    )


def test_mistakes_of_functions_under_mxnets_names() -> None:
    class Gear(Shape):
        pass

    create = get_create_func(Gear, "gear")
    with pytest.raises(TypeError, match=r"gear\.register: must be a subclass of Gear; got <class 'int'>"):
        get_register_func(Gear, "gear")(int)
    with pytest.raises(TypeError, match="gear: must be given, a name or an instance"):
        create()
    with pytest.raises(TypeError, match="gear: a dict must hold 'gear' and all arguments; got"):
        create({"size": 1})
    with pytest.raises(ValueError, match=r'gear: text must be JSON such as \{"gear": "name"\}; got'):
        create("{")
    with pytest.raises(ValueError, match="no gear 'wheel'"):
        create("wheel")
