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


@pytest.mark.parametrize(
    ("spec", "keywords", "size"),
    [
        pytest.param("circle", {"size": 3}, 3, id="name"),
        pytest.param('["disc", {"size": 4}]', {}, 4, id="json"),
    ],
)
def test_create(spec, keywords, size) -> None:
    assert registry().create(spec, **keywords).size == size


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


class Tool(Shape):
    pass


register, alias = get_register_func(Tool, "tool"), get_alias_func(Tool, "tool")
create = get_create_func(Tool, "tool")


@alias("beater", "Mallet")
@register
class Hammer(Tool):
    pass


def test_functions_under_mxnets_names_register() -> None:
    class Gear(Shape):
        pass

    assert get_registry(Gear) == {}
    assert get_registry(Tool) == {"hammer": Hammer, "beater": Hammer, "mallet": Hammer}


@pytest.mark.parametrize(
    ("create", "mine"), [(registry().create, Shape()), (create, Hammer())], ids=["Registry", "function"]
)
def test_an_instance_is_given_back(create, mine) -> None:
    assert create(mine) is mine


@pytest.mark.parametrize(
    ("arguments", "keywords", "size"),
    [
        (("HAMMER",), {}, 1),
        (('["mallet", {}]',), {}, 1),
        (({"tool": "beater"},), {}, 1),
        (('{"tool": "beater"}',), {}, 1),
        (('["mallet", {"size": 2}]',), {}, 2),
        (({"tool": "beater", "size": 2},), {}, 2),
        (('{"tool": "beater", "size": 2}',), {}, 2),
        (("hammer",), {"size": 3}, 3),
        ((), {"tool": "hammer", "size": 3}, 3),
        (("hammer", 3), {}, 3),
    ],
    ids=str,
)
def test_functions_under_mxnets_names_create(arguments, keywords, size) -> None:
    assert create(*arguments, **keywords).size == size


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        pytest.param(
            lambda: register(int),
            TypeError,
            r"tool\.register: must be a subclass of Tool; got <class 'int'>",
            id="another-class",
        ),
        pytest.param(create, TypeError, "tool: must be given, a name or an instance", id="nothing"),
        pytest.param(
            lambda: create({"size": 1}),
            TypeError,
            "tool: a dict must hold 'tool' and all arguments; got",
            id="dict-without-a-name",
        ),
        pytest.param(
            lambda: create("{"),
            ValueError,
            r'tool: text must be JSON such as \{"tool": "name"\}; got',
            id="no-json",
        ),
        pytest.param(lambda: create("wheel"), ValueError, "no tool 'wheel'", id="unknown-name"),
    ],
)
def test_mistakes_of_functions_under_mxnets_names(call, error, says) -> None:
    with pytest.raises(error, match=says):
        call()
